# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resources of Compute: scale sets, their instances, VMs, availability sets, and what their owner may do to them.

A model without HTTP. It acts on the world (a deletion raises Terminate, an eviction Preempt) and
hears from it when machines are gone.
"""

from __future__ import annotations

import copy
import math
import random
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any, Callable

from ..events import CANCELED as WITHDRAWN
from ..events import EventSpec
from ..faults import FaultQueue
from ..machines import VmConfig
from ..world import DELETED, Change, World
from .config import ArmConfig, ResourceConfig, ScaleSetConfig, duration
from .errors import ArmError, conflict, marked_for_deletion
from .faults import ArmFaultPlan
from .operations import Operation, Operations
from .outcomes import CANCELED, SUCCEEDED, Ending

CREATING = "Creating"
UPDATING = "Updating"
DELETING = "Deleting"
COMPLETED_MAINTENANCE = "MaintenanceCompleted"

BATCH_PERCENT = 20
UNHEALTHY_PERCENT = 20


def iso(instant: float) -> str:
    """A wall-clock instant as Compute writes it."""
    return datetime.fromtimestamp(instant, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f0+00:00")


def merge(into: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Merge a PATCH: objects member by member, null removes, everything else is replaced."""
    for name, value in patch.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, dict) and isinstance(into.get(name), dict):
            merge(into[name], value)
        else:
            into[name] = copy.deepcopy(value)


def enabled(text: object) -> bool:
    """A switch as Compute reads it: true, or the word for it."""
    return text is True or (isinstance(text, str) and text.lower() == "true")


def notification(seconds: str) -> dict[str, Any]:
    """A scheduledEventsProfile with terminate notifications."""
    return {"terminateNotificationProfile": {"notBeforeTimeout": seconds, "enable": True}}


class Machine:
    """A VM as its owner sees it: an instance of a scale set, or one that stands alone."""

    def __init__(self, vm: VmConfig, instance_id: str, created: float) -> None:
        self.vm = vm
        self.instance_id = instance_id
        self.created = created
        self.events_profile: dict[str, Any] = {}
        self.properties: dict[str, Any] = {}
        self.network: dict[str, Any] = {}  # its networkProfileConfiguration, in a uniform set
        self.tags: dict[str, str] = dict(vm.tags)
        self.window: Window | None = None
        self.model = 0
        self.image: dict[str, Any] = {}  # what its disk was made of last, where it was upgraded
        self.disks = 0  # how many it had before this one
        self.etag = 1
        self.provisioning_state = SUCCEEDED

    @property
    def name(self) -> str:
        """The VM's name, as in an event's Resources."""
        return self.vm.name

    @property
    def handle(self) -> str:
        """What it is called here."""
        return self.vm.handle

    def notice(self) -> float | None:
        """The seconds that a Terminate would give it; None when its deletion raises none."""
        profile = self.events_profile.get("terminateNotificationProfile") or {}
        if self.vm.spot or not enabled(profile.get("enable")):
            return None
        return duration(profile.get("notBeforeTimeout", "PT5M"))


class Window:
    """Planned maintenance of a machine's host: when its owner may begin it, and when Azure will. Instants simulated."""

    def __init__(self, self_service: tuple[float, float], scheduled: tuple[float, float]) -> None:
        self.self_service = self_service
        self.scheduled = scheduled
        self.result = "None"
        self.message = ""

    def is_open(self, now: float) -> bool:
        """Whether the owner may begin it now."""
        begin, end = self.self_service
        return begin <= now < end and self.result != COMPLETED_MAINTENANCE

    def show(self, now: float, when: Callable[[float], str]) -> dict[str, Any]:
        """The `maintenanceRedeployStatus` of an instance view."""
        shown = {
            "isCustomerInitiatedMaintenanceAllowed": self.is_open(now),
            "preMaintenanceWindowStartTime": when(self.self_service[0]),
            "preMaintenanceWindowEndTime": when(self.self_service[1]),
            "maintenanceWindowStartTime": when(self.scheduled[0]),
            "maintenanceWindowEndTime": when(self.scheduled[1]),
            "lastOperationResultCode": self.result,
        }
        return {**shown, "lastOperationMessage": self.message} if self.message else shown


class Rolling:
    """A rolling upgrade: its batches, and how far it is. Instants are simulated."""

    def __init__(
        self, pending: list[Machine], started: float, policy: dict[str, Any], image: dict[str, Any] | None
    ) -> None:
        self.pending = pending
        self.running: list[Machine] = []
        self.successful = 0
        self.failed = 0
        self.total = len(pending)
        self.started = started
        self.code = "RollingForward"
        self.last_action = "Start"
        self.last_action_at = started
        self.policy = policy
        self.image = image  # what an upgrade of the image brings; None: it is another one
        self.started_by = "User"
        self.ended: float | None = None
        self.error: ArmError | None = None

    @property
    def over(self) -> bool:
        """True once it has ended, in whatever way."""
        return self.code != "RollingForward"

    @property
    def batch_size(self) -> int:
        """The most instances of a batch."""
        percent: float = self.policy.get("maxBatchInstancePercent", BATCH_PERCENT)
        return max(1, math.floor(self.total * percent / 100))


class ScaleSet:
    """A scale set: its model, and instances that may not have it yet."""

    def __init__(self, config: ScaleSetConfig, properties: dict[str, Any], created: float) -> None:
        self.config = config
        self.name = config.name
        self.group = config.resource_group
        self.subscription = config.subscription_id
        self.location = config.location
        self.flexible = config.flexible
        self.created = created
        self.properties = properties
        self.tags: dict[str, str] = dict(config.tags)
        self.sku: dict[str, Any] = {"name": config.vm_size, "tier": "Standard", "capacity": 0}
        self.zones = list(config.zones)
        self.model = 1
        self.etag = 1
        self.provisioning_state = SUCCEEDED
        self.machines: dict[str, Machine] = {}
        self.rolling: Rolling | None = None
        self.os_upgrades: list[Rolling] = []
        self.repairs_suspended = False
        self.operation: Operation | None = None
        self.addresses = list(config.new_addresses)
        self.next_number = 0

    @property
    def profile(self) -> dict[str, Any]:
        """The virtualMachineProfile: the model that an instance gets when it is updated."""
        profile: dict[str, Any] = self.properties.setdefault("virtualMachineProfile", {})
        return profile

    @property
    def mode(self) -> str:
        """Manual, Automatic or Rolling."""
        return str(self.properties.get("upgradePolicy", {}).get("mode", "Manual"))

    @property
    def repairs(self) -> str:
        """What its automatic repairs do, as the instance view says it."""
        if not enabled((self.properties.get("automaticRepairsPolicy") or {}).get("enabled")):
            return "NotRunning"
        return "Suspended" if self.repairs_suspended else "Running"

    @property
    def tells_health(self) -> bool:
        """Whether Compute knows which instances are healthy: by a probe in a uniform set, or by the extension."""
        extensions = (self.profile.get("extensionProfile") or {}).get("extensions") or []
        types = [str((one.get("properties") or {}).get("type")).lower() for one in extensions]
        probe = (self.profile.get("networkProfile") or {}).get("healthProbe")
        return any(one.startswith("applicationhealth") for one in types) or bool(probe and not self.flexible)

    def latest(self, machine: Machine) -> bool:
        """Whether an instance has the latest model."""
        return machine.model == self.model

    def give_latest(self, machine: Machine) -> None:
        """Let an instance have the model as it is now."""
        machine.model = self.model
        machine.events_profile = copy.deepcopy(self.profile.get("scheduledEventsProfile") or {})
        machine.network = copy.deepcopy(self.profile.get("networkProfile") or {})
        machine.network.pop("networkApiVersion", None)
        machine.etag += 1

    @property
    def resource_id(self) -> str:
        """Its id."""
        return compute_id(self.subscription, self.group, "virtualMachineScaleSets", self.name)

    def id_of(self, machine: Machine) -> str:
        """The id of an instance: in a flexible set that of a VM."""
        if self.flexible:
            return machine.vm.resource_id
        return f"{self.resource_id}/virtualMachines/{machine.instance_id}"

    @property
    def unprotected(self) -> list[Machine]:
        """The instances that the set itself may change: those without protection from its actions."""
        return [m for m in self.machines.values() if m.provisioning_state != DELETING and _is_unprotected(m)]


class AvailabilitySet:
    """An availability set."""

    def __init__(self, subscription: str, group: str, name: str, location: str) -> None:
        self.subscription = subscription
        self.group = group
        self.name = name
        self.location = location
        self.tags: dict[str, str] = {}
        self.sku: dict[str, Any] = {"name": "Aligned"}
        self.properties: dict[str, Any] = {"platformUpdateDomainCount": 5, "platformFaultDomainCount": 3}

    @property
    def resource_id(self) -> str:
        """Its id."""
        return compute_id(self.subscription, self.group, "availabilitySets", self.name)


def plain_location(location: str) -> str:
    """A location as Compute compares it: "West Europe" is westeurope."""
    return location.lower().replace(" ", "")


def compute_id(subscription: str, group: str, kind: str, name: str) -> str:
    """The id of something of Microsoft.Compute."""
    return f"/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute/{kind}/{name}"


def network_id(subscription: str, group: str, kind: str, name: str) -> str:
    """The id of something of Microsoft.Network."""
    return f"/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/{kind}/{name}"


class ComputeResources:
    """Everything the subscriptions hold of Compute."""

    def __init__(
        self,
        config: ArmConfig,
        vms: Mapping[str, VmConfig],
        world: World,
        operations: Operations,
        faults: FaultQueue[ArmFaultPlan],
        seed: int,
        pools_of: Callable[[Iterable[str]], list[str]],
        adopt: Callable[[VmConfig], None],
    ) -> None:
        self.config = config
        self.world = world
        self.operations = operations
        self.faults = faults
        self.sets: dict[str, ScaleSet] = {}
        self.machines: dict[str, Machine] = {}  # by lower-case handle
        self._by_id: dict[str, Machine] = {}  # by lower-case id in Resource Manager
        self.evicted: set[str] = set()  # lower-case ids of VMs that an eviction has deleted
        self.availability_sets: dict[str, AvailabilitySet] = {}
        self._set_of: dict[str, ScaleSet] = {}
        self._seed = seed
        self._pools_of = pools_of
        self.appeared: list[Callable[[Machine], None]] = []
        """The listener for machines that are created after the start."""
        self._adopt = adopt
        for set_config in config.scale_sets:
            members = [vm.handle for vm in vms.values() if _belongs(vm, set_config)]
            scale_set = ScaleSet(set_config, self._set_properties(set_config, members), world.now)
            self.sets[scale_set.resource_id.lower()] = scale_set
        for vm in vms.values():
            self._settle(vm, config.virtual_machines.get(vm.handle))
        for window in config.maintenance_windows:
            begin = world.now + window.begins
            end = begin + window.self_service
            for name in window.vms:
                self.machines[name.lower()].window = Window((begin, end), (end, end + window.scheduled))
        world.listen(self._heard)

    # -- how it begins ----------------------------------------------------------------------------

    def _settle(self, vm: VmConfig, config: ResourceConfig | None) -> None:
        scale_set = next((s for s in self.sets.values() if _belongs(vm, s.config)), None)
        machine = self._new_machine(vm, scale_set)
        if scale_set is not None:
            scale_set.give_latest(machine)
            if vm.handle in scale_set.config.outdated:
                machine.model = 0
                machine.events_profile = {}
            scale_set.sku["capacity"] += 1
        if config is not None:
            if config.terminate_notification is not None:
                machine.events_profile = notification(config.terminate_notification)
            merge(machine.properties, config.properties)
            merge(machine.events_profile, machine.properties.pop("scheduledEventsProfile", {}))
        machine.etag = 1
        if vm.availability_set:
            key = compute_id(vm.subscription_id, vm.resource_group, "availabilitySets", vm.availability_set).lower()
            if key not in self.availability_sets:
                found = AvailabilitySet(vm.subscription_id, vm.resource_group, vm.availability_set, vm.location)
                own = self.config.availability_sets.get(vm.availability_set)
                merge(found.properties, own.properties if own is not None else {})
                self.availability_sets[key] = found

    def _new_machine(self, vm: VmConfig, scale_set: ScaleSet | None) -> Machine:
        number = vm.instance_number
        machine = Machine(vm, vm.name if number is None else str(number), self.world.now)
        self.machines[vm.handle.lower()] = machine
        self._by_id[vm.resource_id.lower()] = machine
        if scale_set is not None:
            self._set_of[vm.handle.lower()] = scale_set
            scale_set.machines[machine.instance_id] = machine
            scale_set.next_number = max(scale_set.next_number, (number or 0) + 1)
        return machine

    def _set_properties(self, config: ScaleSetConfig, members: Iterable[str]) -> dict[str, Any]:
        chance = random.Random(f"{self._seed}/scale set/{config.resource_group}/{config.name}".lower())
        created = iso(self.world.clock.wall(self.world.now))
        upgrade: dict[str, Any] = {"mode": config.upgrade_mode}
        if config.upgrade_mode == "Rolling":
            upgrade["rollingUpgradePolicy"] = {
                "maxBatchInstancePercent": BATCH_PERCENT,
                "maxUnhealthyInstancePercent": UNHEALTHY_PERCENT,
                "maxUnhealthyUpgradedInstancePercent": UNHEALTHY_PERCENT,
                "pauseTimeBetweenBatches": "PT0S",
            }
        profile: dict[str, Any] = {
            "osProfile": {"computerNamePrefix": config.name, "adminUsername": "azureuser", "secrets": []},
            "storageProfile": {
                "osDisk": {"osType": "Linux", "createOption": "FromImage", "caching": "ReadWrite", "diskSizeGB": 30},
                "imageReference": {
                    "publisher": "Canonical",
                    "offer": "ubuntu-24_04-lts",
                    "sku": "server",
                    "version": "latest",
                },
            },
            "networkProfile": {"networkInterfaceConfigurations": [self._interface(config, members)]},
            "timeCreated": created,
        }
        if config.flexible:
            profile["networkProfile"]["networkApiVersion"] = "2020-11-01"
        if config.spot:
            profile |= {"priority": "Spot", "evictionPolicy": "Delete"}
        if config.terminate_notification is not None:
            profile["scheduledEventsProfile"] = notification(config.terminate_notification)
        properties: dict[str, Any] = {
            "singlePlacementGroup": not config.flexible,
            "orchestrationMode": "Flexible" if config.flexible else "Uniform",
            "upgradePolicy": upgrade,
            "virtualMachineProfile": profile,
            "platformFaultDomainCount": 1 if config.flexible else 5,
            "uniqueId": str(uuid.UUID(int=chance.getrandbits(128), version=4)),
            "timeCreated": created,
        }
        if not config.flexible:
            properties |= {"overprovision": False, "doNotRunExtensionsOnOverprovisionedVMs": False}
        merge(properties, config.properties)
        return properties

    def _interface(self, config: ScaleSetConfig, members: Iterable[str]) -> dict[str, Any]:
        members = list(members)
        group = (config.subscription_id, config.resource_group)
        return {
            "name": f"{config.name}-nic",
            "properties": {
                "primary": True,
                "enableAcceleratedNetworking": False,
                "enableIPForwarding": False,
                "dnsSettings": {"dnsServers": []},
                "ipConfigurations": [
                    {
                        "name": f"{config.name}-ip",
                        "properties": {
                            "primary": True,
                            "privateIPAddressVersion": "IPv4",
                            "subnet": {"id": network_id(*group, "virtualNetworks", "vnet/subnets/default")},
                            "loadBalancerBackendAddressPools": [{"id": pool} for pool in self._pools_of(members)],
                            "applicationGatewayBackendAddressPools": [],
                        },
                    }
                ],
            },
        }

    # -- who is who ---------------------------------------------------------------------------------

    def set_of(self, machine: Machine) -> ScaleSet | None:
        """The scale set that a machine is an instance of."""
        return self._set_of.get(machine.handle.lower())

    def policy_owner(self, vm: VmConfig) -> tuple[str, str, dict[str, Any]]:
        """Kind, name and properties of the resource whose scheduledEventsPolicy counts: the scale set, the
        availability set or the VM. A VM of a set follows the set's.
        """
        owner = (vm.subscription_id, vm.resource_group)
        if vm.scale_set:
            for scale_set in self.sets.values():
                if (scale_set.subscription, scale_set.group, scale_set.name) == (*owner, vm.scale_set):
                    return "virtualMachineScaleSets", scale_set.name, scale_set.properties
        elif vm.availability_set:
            for found in self.availability_sets.values():
                if (found.subscription, found.group, found.name) == (*owner, vm.availability_set):
                    return "availabilitySets", found.name, found.properties
        machine = self.machines.get(vm.handle.lower())
        return "virtualMachines", vm.name, machine.properties if machine is not None else {}

    def members_of(self, found: AvailabilitySet) -> list[Machine]:
        """The VMs in an availability set."""
        place = (found.subscription, found.group, found.name)
        return [
            m
            for m in self.machines.values()
            if (m.vm.subscription_id, m.vm.resource_group, m.vm.availability_set) == place
        ]

    def machine_at(self, resource_id: str) -> Machine | None:
        """The machine with this id, in any case."""
        return self._by_id.get(resource_id.lower())

    def groups(self, subscription: str) -> set[str]:
        """The names of a subscription's resource groups, in lower case."""
        subscription = subscription.lower()
        found = {s.group.lower() for s in self.sets.values() if s.subscription.lower() == subscription}
        found |= {
            m.vm.resource_group.lower() for m in self.machines.values() if m.vm.subscription_id.lower() == subscription
        }
        for resource in (*self.config.load_balancers, *self.config.application_gateways):
            if resource.subscription_id.lower() == subscription:
                found.add(resource.resource_group.lower())
        return found

    def subscriptions(self) -> set[str]:
        """All subscriptions, in lower case."""
        found = {s.subscription.lower() for s in self.sets.values()}
        found |= {m.vm.subscription_id.lower() for m in self.machines.values()}
        found |= {r.subscription_id.lower() for r in (*self.config.load_balancers, *self.config.application_gateways)}
        return found

    # -- operations -----------------------------------------------------------------------------------

    def begin(
        self,
        kind: str,
        target: str,
        location: str,
        done: Callable[[str], None],
        wanted: Ending | None,
        seconds: float | None = None,
        waits_for: Iterable[str] = (),
    ) -> Operation:
        """Begin an operation of Compute, as `Operations.begin` does."""
        return self.operations.begin(kind, target, "Microsoft.Compute", location, done, seconds, waits_for, wanted)

    def preempt(self, scale_set: ScaleSet) -> None:
        """A newer change to a set ends an older one."""
        if scale_set.operation is not None and not scale_set.operation.over:
            self.operations.end(
                scale_set.operation,
                CANCELED,
                ArmError(
                    409,
                    "OperationPreempted",
                    "Operation execution has been preempted by a more recent operation.",
                ),
            )

    # -- changes of a scale set -----------------------------------------------------------------------

    def change_set(self, scale_set: ScaleSet, change: Callable[[], None], wanted: Ending | None) -> Operation:
        """Change a set; its instances follow as the upgrade policy has it."""
        self.preempt(scale_set)
        before = copy.deepcopy(scale_set.profile)
        capacity = scale_set.sku["capacity"]
        change()
        if before != scale_set.profile:
            scale_set.model += 1
            scale_set.profile["timeCreated"] = iso(self.world.clock.wall(self.world.now))
        scale_set.etag += 1
        scale_set.provisioning_state = UPDATING
        gone = self._resize(scale_set, capacity)

        def done(status: str) -> None:
            scale_set.provisioning_state = status
            for machine in scale_set.machines.values():
                if machine.provisioning_state == CREATING:
                    machine.provisioning_state = SUCCEEDED
            if status == SUCCEEDED:
                self._roll_out(scale_set)

        scale_set.operation = self.begin(
            "update", scale_set.resource_id, scale_set.location, done, wanted, self.config.operation_seconds, gone
        )
        return scale_set.operation

    def create_set(self, scale_set: ScaleSet, capacity: int, wanted: Ending | None) -> Operation:
        """Bring a set into being, with as many instances."""
        self.sets[scale_set.resource_id.lower()] = scale_set
        scale_set.provisioning_state = CREATING
        scale_set.sku["capacity"] = capacity
        self._resize(scale_set, 0)

        def done(status: str) -> None:
            scale_set.provisioning_state = status
            for machine in scale_set.machines.values():
                machine.provisioning_state = SUCCEEDED

        scale_set.operation = self.begin(
            "create", scale_set.resource_id, scale_set.location, done, wanted, self.config.operation_seconds
        )
        return scale_set.operation

    def _resize(self, scale_set: ScaleSet, capacity: int) -> list[str]:
        """Follow a change of capacity. Returns the names of the instances that are deleted."""
        wanted = int(scale_set.sku["capacity"])
        for _unused in range(wanted - capacity):
            self._grow(scale_set)
        if wanted >= capacity:
            return []
        staying = [m for m in scale_set.machines.values() if m.provisioning_state != DELETING]
        leaving = staying[wanted - capacity :]
        for machine in leaving:
            self._let_go(machine)
        return [machine.handle for machine in leaving]

    def _grow(self, scale_set: ScaleSet) -> None:
        number = scale_set.next_number
        scale_set.next_number += 1
        chance = random.Random(f"{self._seed}/instance/{scale_set.resource_id}/{number}".lower())
        tail = str(number)
        while scale_set.flexible and tail.isdecimal():
            # Digits alone would be the name of an instance of a uniform set.
            tail = f"{chance.getrandbits(32):08x}"
        name = f"{scale_set.name}_{tail}"
        taken = name in self.world.vms or name.lower() in self.machines
        vm = VmConfig(
            name=name,
            alias=f"{scale_set.subscription}/{scale_set.group}/{name}" if taken else "",
            address=scale_set.addresses.pop(0) if scale_set.addresses else "",
            vm_id=str(uuid.UUID(int=chance.getrandbits(128), version=4)),
            client_id=str(uuid.UUID(int=chance.getrandbits(128), version=4)),
            resource_group=scale_set.group,
            subscription_id=scale_set.subscription,
            location=scale_set.location,
            zone=scale_set.zones[number % len(scale_set.zones)] if scale_set.zones else "",
            scale_set=scale_set.name,
            vm_size=str(scale_set.sku.get("name", "Standard_D2s_v5")),
            spot=scale_set.profile.get("priority") in ("Spot", "SpotPlus"),
            computer_name=name,
        )
        machine = self._new_machine(vm, scale_set)
        machine.provisioning_state = CREATING
        scale_set.give_latest(machine)
        self._adopt(vm)
        for hear in self.appeared:
            hear(machine)

    # -- to the latest model ----------------------------------------------------------------------------

    def _roll_out(self, scale_set: ScaleSet) -> None:
        """Act on a change of the model as the upgrade policy says."""
        outdated = self._outdated(scale_set)
        if scale_set.mode == "Automatic":
            for machine in outdated:
                self._update(scale_set, machine)
        elif scale_set.mode == "Rolling" and outdated:
            if scale_set.rolling is not None and not scale_set.rolling.over:
                self._stop_rolling(scale_set, scale_set.rolling)
            self._begin_rolling(scale_set, None, None)

    def _outdated(self, scale_set: ScaleSet) -> list[Machine]:
        """The instances that the set itself may update to the latest model."""
        return [machine for machine in scale_set.unprotected if not scale_set.latest(machine)]

    def _update(self, scale_set: ScaleSet, machine: Machine) -> None:
        """Bring an instance to the latest model, which takes its time."""
        machine.provisioning_state = UPDATING

        def done() -> None:
            self.updated(scale_set, machine)

        self.world.at(self.world.now + self.config.instance_seconds, done)

    def updated(self, scale_set: ScaleSet, machine: Machine) -> bool:
        """Update an instance to the latest model, unless a fault prevents it. Returns whether it was updated."""
        if machine.provisioning_state == DELETING:
            return True
        machine.provisioning_state = SUCCEEDED
        if self.faults.strike(lambda plan: plan.holds_back(machine.handle)) is not None:
            return False
        scale_set.give_latest(machine)
        return True

    def upgrade(self, scale_set: ScaleSet, instance_ids: list[str], wanted: Ending | None) -> Operation:
        """Bring instances to the latest model: these, or all for ``*``."""
        if scale_set.rolling is not None and not scale_set.rolling.over:
            raise conflict(
                f"The operation 'manualupgrade' is not allowed: a rolling upgrade of '{scale_set.name}' is in progress."
            )
        machines = self.instances(scale_set, instance_ids)
        for machine in machines:
            machine.provisioning_state = UPDATING

        def done(status: str) -> None:
            for machine in machines:
                if status == SUCCEEDED:
                    self.updated(scale_set, machine)
                elif machine.provisioning_state == UPDATING:
                    machine.provisioning_state = status

        return self.begin(
            "manualupgrade", scale_set.resource_id, scale_set.location, done, wanted, self.config.instance_seconds
        )

    def instances(self, scale_set: ScaleSet, instance_ids: list[str]) -> list[Machine]:
        """The instances of these ids; refuses ids that do not exist."""
        if instance_ids == ["*"]:
            return [m for m in scale_set.machines.values() if m.provisioning_state != DELETING]
        by_id = {key.lower(): machine for key, machine in scale_set.machines.items()}
        missing = [key for key in instance_ids if key.lower() not in by_id]
        if missing:
            raise ArmError(
                400,
                "InvalidParameter",
                f"The provided instanceId {missing[0]} is not an active Virtual Machine Scale Set VM instanceId.",
                "instanceIds",
            )
        return [by_id[key.lower()] for key in instance_ids]

    def start_rolling(self, scale_set: ScaleSet, of_image: bool, wanted: Ending | None) -> Operation:
        """Upgrade all outdated instances batch by batch; the operation ends when the upgrade does.

        Source of what Azure refuses: for the health, https://github.com/hashicorp/terraform-provider-azurerm/pull/5430;
        for the image, the troubleshooting guide of Service Fabric, at
        https://github.com/Azure/Service-Fabric-Troubleshooting-Guides, with its 409. That a second one is refused while
        one runs, nobody has recorded: it is what Azure answers in general to a second operation.
        """
        if not scale_set.tells_health:
            raise ArmError(
                400,
                "BadRequest",
                "Rolling Upgrade mode is not supported for this Virtual Machine Scale Set because a health probe or "
                "health extension was not provided.",
            )
        if scale_set.rolling is not None and not scale_set.rolling.over:
            raise conflict(f"A rolling upgrade of '{scale_set.name}' is in progress already.")
        image = (scale_set.profile.get("storageProfile") or {}).get("imageReference") or {}
        if of_image and not (_follows_latest(image) and any(map(_is_unprotected, scale_set.machines.values()))):
            raise conflict(
                "The OS Rolling Upgrade API cannot be used on a Virtual Machine Scale Set unless the Virtual Machine "
                "Scale Set has some unprotected instances which have imageReference.version set to latest."
            )
        return self._begin_rolling(scale_set, dict(image) if of_image else None, wanted)

    def _begin_rolling(self, scale_set: ScaleSet, image: dict[str, Any] | None, wanted: Ending | None) -> Operation:
        policy = dict(scale_set.properties.get("upgradePolicy", {}).get("rollingUpgradePolicy") or {})
        rolling = scale_set.rolling = Rolling(self._outdated(scale_set), self.world.now, policy, image)
        if image is not None:
            scale_set.os_upgrades.append(rolling)
        operation = self.begin(
            "rollingUpgrade", scale_set.resource_id, scale_set.location, lambda _status: None, wanted
        )
        self._next_batch(scale_set, rolling, operation)
        return operation

    def _next_batch(self, scale_set: ScaleSet, rolling: Rolling, operation: Operation) -> None:
        if rolling.over:
            return
        if not rolling.pending:
            self.end_rolling(rolling, "Completed")
            self.operations.end(operation)
            return
        size = rolling.batch_size
        rolling.running, rolling.pending = rolling.pending[:size], rolling.pending[size:]
        for machine in rolling.running:
            machine.provisioning_state = UPDATING
        self.world.at(
            self.world.now + self.config.instance_seconds, lambda: self._batch_done(scale_set, rolling, operation)
        )

    def _batch_done(self, scale_set: ScaleSet, rolling: Rolling, operation: Operation) -> None:
        for machine in rolling.running:
            if self.updated(scale_set, machine):
                rolling.successful += 1
            else:
                rolling.failed += 1
        rolling.running = []
        self.go_on(rolling, lambda: self._next_batch(scale_set, rolling, operation))
        if rolling.error is not None:
            self.operations.end(operation, "Failed", rolling.error)

    def go_on(self, rolling: Rolling, next_batch: Callable[[], None]) -> None:
        """Begin the next batch after the pause, or end the upgrade if too many instances have failed."""
        if rolling.over:
            return
        allowed = rolling.policy.get("maxUnhealthyUpgradedInstancePercent", UNHEALTHY_PERCENT)
        if rolling.failed * 100 > allowed * max(1, rolling.successful + rolling.failed):
            message = (
                "Rolling Upgrade failed after exceeding the MaxUnhealthyUpgradedInstancePercent value defined in the "
                "RollingUpgradePolicy."
            )
            self.fail_rolling(rolling, "MaxUnhealthyUpgradedInstancePercentExceededInRollingUpgrade", message)
            return
        pause = duration(rolling.policy.get("pauseTimeBetweenBatches")) or 0
        self.world.at(self.world.now + pause, next_batch)

    def fail_rolling(self, rolling: Rolling, code: str, message: str) -> None:
        """End a rolling upgrade with an error."""
        rolling.error = ArmError(409, code, message)
        self.end_rolling(rolling, "Faulted")

    def cancel_rolling(self, scale_set: ScaleSet, wanted: Ending | None) -> Operation:
        """Call a rolling upgrade off; the batch under way is still finished."""
        rolling = scale_set.rolling
        if rolling is None or rolling.over:
            raise conflict("There is no ongoing Rolling Upgrade to cancel.")
        self._stop_rolling(scale_set, rolling)
        return self.begin(
            "cancel", scale_set.resource_id, scale_set.location, lambda _s: None, wanted, self.config.operation_seconds
        )

    def end_rolling(self, rolling: Rolling, code: str) -> None:
        """End a rolling upgrade."""
        rolling.code = code
        rolling.ended = self.world.now

    def _stop_rolling(self, scale_set: ScaleSet, rolling: Rolling) -> None:
        self.end_rolling(rolling, "Cancelled")
        rolling.last_action = "Cancel"
        rolling.last_action_at = self.world.now
        for operation in self.operations.all():
            if operation.kind == "rollingUpgrade" and operation.target == scale_set.resource_id:
                self.operations.end(
                    operation, CANCELED, ArmError(409, "OperationCanceled", "The rolling upgrade was canceled.")
                )

    # -- the end of machines --------------------------------------------------------------------------------

    def delete(self, machines: list[Machine], target: str, location: str, wanted: Ending | None) -> Operation:
        """Delete machines. The operation ends when they are gone, which is when their Terminate events are over."""
        operation = self.begin(
            "delete", target, location, lambda _status: None, wanted, waits_for=[machine.handle for machine in machines]
        )
        for machine in machines:
            scale_set = self.set_of(machine)
            if scale_set is not None and machine.provisioning_state != DELETING:
                scale_set.sku["capacity"] -= 1
            self._let_go(machine)
        if not machines:
            self.operations.end(operation)
        return operation

    def delete_set(self, scale_set: ScaleSet, wanted: Ending | None) -> Operation:
        """Delete a set with all that is in it."""
        self.preempt(scale_set)
        scale_set.provisioning_state = DELETING
        machines = list(scale_set.machines.values())

        def done(status: str) -> None:
            if status == SUCCEEDED:
                self.sets.pop(scale_set.resource_id.lower(), None)
            else:
                scale_set.provisioning_state = status

        operation = self.begin(
            "delete",
            scale_set.resource_id,
            scale_set.location,
            done,
            wanted,
            seconds=None if machines else self.config.operation_seconds,
            waits_for=[machine.handle for machine in machines],
        )
        for machine in machines:
            self._let_go(machine)
        return operation

    def _let_go(self, machine: Machine) -> None:
        """Announce a Terminate if the machine's own model says so; without it, it goes soon."""
        if machine.provisioning_state == DELETING:
            return
        machine.provisioning_state = DELETING
        notice = machine.notice()
        if notice is None:
            self.world.at(self.world.now + self.config.operation_seconds, lambda: self.world.remove_vm(machine.handle))
        else:
            life = self.world.lives["Terminate"]._replace(notice=notice)
            self.world.create(EventSpec("Terminate", (machine.handle,), life))

    def refuse_if_deleting(self, machine: Machine, operation: str = "startTenantUpdate") -> None:
        """Refuse to change a machine that is being deleted, or an interface of it."""
        is_announced = any(
            event.event_type == "Terminate" and event.listed and machine.handle in event.resources
            for event in self.world.events.values()
        )
        if machine.provisioning_state == DELETING or is_announced:
            raise marked_for_deletion(machine.name, operation)

    def evict(self, machine: Machine) -> None:
        """Really evict a Spot machine."""
        if not machine.vm.spot:
            raise conflict(
                f"The operation 'simulateEviction' is not allowed on VM '{machine.name}': it is not a Spot VM."
            )
        if machine.provisioning_state == DELETING:
            raise conflict(f"VM '{machine.name}' is being deleted.")
        self.world.create(EventSpec("Preempt", (machine.handle,), self.world.lives["Preempt"]))

    def _heard(self, change: Change) -> None:
        """A machine is gone, or stays after all because its Terminate was withdrawn."""
        if change.event is not None and change.what == WITHDRAWN and change.event.event_type == "Terminate":
            self._spare(change.event.resources)
        if change.what != DELETED or change.vm is None:
            return
        machine = self.machines.pop(change.vm.lower())
        self._by_id.pop(machine.vm.resource_id.lower(), None)
        if change.event is not None and change.event.event_type == "Preempt":
            self.evicted.add(machine.vm.resource_id.lower())
        scale_set = self._set_of.pop(change.vm.lower(), None)
        if scale_set is not None:
            scale_set.machines.pop(machine.instance_id, None)
            if machine.provisioning_state != DELETING:
                scale_set.sku["capacity"] -= 1
        self.operations.gone(machine.handle)

    def _spare(self, names: Iterable[str]) -> None:
        for name in names:
            machine = self.machines.get(name.lower())
            if machine is None or self.world.vms[name].deleted or machine.provisioning_state != DELETING:
                continue
            machine.provisioning_state = SUCCEEDED
            scale_set = self.set_of(machine)
            if scale_set is not None:
                scale_set.sku["capacity"] += 1
            self.operations.spared(name)

    # -- at a glance ------------------------------------------------------------------------------------------

    def record(self) -> dict[str, Any]:
        """Scale sets and VMs, for the control API."""
        names = [scale_set.name.lower() for scale_set in self.sets.values()]
        return {
            scale_set.name if names.count(scale_set.name.lower()) == 1 else scale_set.resource_id: {
                "resource_id": scale_set.resource_id,
                "provisioning_state": scale_set.provisioning_state,
                "capacity": scale_set.sku["capacity"],
                "instances": {
                    machine.handle: {
                        "latest_model": scale_set.latest(machine),
                        "provisioning_state": machine.provisioning_state,
                        "terminate_notice": machine.notice(),
                    }
                    for machine in scale_set.machines.values()
                },
            }
            for scale_set in self.sets.values()
        }


def _belongs(vm: VmConfig, config: ScaleSetConfig) -> bool:
    return (
        vm.scale_set.lower() == config.name.lower()
        and vm.resource_group.lower() == config.resource_group.lower()
        and vm.subscription_id.lower() == config.subscription_id.lower()
    )


def _is_unprotected(machine: Machine) -> bool:
    return not enabled((machine.properties.get("protectionPolicy") or {}).get("protectFromScaleSetActions"))


def _follows_latest(image: Mapping[str, Any]) -> bool:
    """Whether new versions of the image are taken; one of a gallery is named by its id, with or without a version."""
    image_id = str(image.get("id") or "").lower()
    return image.get("version") == "latest" or ("/images/" in image_id and "/versions/" not in image_id)
