# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Microsoft.Network: network interfaces, load balancers and application gateways, as far as pools go."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import uuid
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Callable

from ..machines import VmConfig
from ..world import DELETED, RUNNING, Change, World
from .actions import refuse_flexible
from .config import ArmConfig, PoolsConfig
from .errors import ArmError, etag_mismatch, no_such_child, not_found, superseded
from .operations import Operation, Operations
from .outcomes import CANCELED, FAILED, Ending
from .ownership import ResourceLookup, is_listed
from .resources import ComputeResources, Machine, ScaleSet, compute_id, network_id
from .routing import COMPUTE, INSTANCE, SET, ArmAnswer, ArmRequest, Links, Pager, Router

PROVIDER = "Microsoft.Network"

NICS = "networkInterfaces"
BALANCERS = "loadBalancers"
GATEWAYS = "applicationGateways"

_GROUP = "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network"
_ALL = "/subscriptions/{subscription}/providers/Microsoft.Network"
_POOL = f"{_GROUP}/loadBalancers/{{name}}/backendAddressPools"
_INSTANCE_NICS = f"{INSTANCE}/networkInterfaces"

_ADMIN_STATES = ("None", "Up", "Down")
_RULES = ("loadBalancingRules", "outboundRules", "inboundNatRules")
# Parts of a balancer that are read-only.
_WORKED_OUT = ("provisioningState", "backendIPConfigurations", "loadBalancerBackendAddresses", "outboundRule", *_RULES)
_DRAIN_SECONDS = 60
_UPDATING = "Updating"
# A gateway shows that it is being updated for a moment only, though that takes minutes.
_SHOWN_FOR = 1.0  # simulated seconds

ON_BALANCERS, ON_GATEWAYS = "loadBalancerBackendAddressPools", "applicationGatewayBackendAddressPools"

Document = dict[str, Any]


def pool_id(resource: PoolsConfig, kind: str, pool: str) -> str:
    """The id of a backend pool."""
    owner = network_id(resource.subscription_id, resource.resource_group, kind, resource.name)
    return f"{owner}/backendAddressPools/{pool}"


def pools_of(config: ArmConfig, members: Iterable[str]) -> list[str]:
    """The load balancer pools that any of these VMs is in from the beginning."""
    wanted = set(members)
    return [
        pool_id(balancer, BALANCERS, pool)
        for balancer in config.load_balancers
        for pool, names in balancer.pools.items()
        if wanted & set(names)
    ]


class Resource:
    """Something of Network: its document without what is worked out, and how often it was written."""

    def __init__(self, kind: str, owner: tuple[str, str], name: str, location: str, properties: Document) -> None:
        self.kind = kind
        self.subscription, self.group = owner
        self.name = name
        self.location = location
        self.tags: dict[str, str] = {}
        self.properties = properties
        self.version = 1
        self.provisioning_state = "Succeeded"
        self.admin_states: dict[str, str] = {}  # of a load balancer's members, by pool and name
        self.addressed: dict[str, list[Document]] = {}  # by pool: members that are addresses and not interfaces
        self.settle()
        self.draining: dict[tuple[str, str], float] = {}  # of a gateway's members, by pool and address: until when
        self.operation: Operation | None = None  # the latest that changes it
        self.certificates: set[str] = set()  # those whose data the gateway has

    @property
    def resource_id(self) -> str:
        """Its id."""
        return network_id(self.subscription, self.group, self.kind, self.name)

    def settle(self) -> None:
        """Direct the traffic by what was written. This happens when the operation has ended."""
        self.in_effect = copy.deepcopy((self.properties, self.admin_states, self.addressed))


class Network:
    """The handlers of the provider, and what they handle."""

    def __init__(
        self,
        config: ArmConfig,
        compute: ComputeResources,
        vms: Mapping[str, VmConfig],
        operations: Operations,
        links: Links,
        pager: Pager,
    ) -> None:
        self._config = config
        self._compute = compute
        self._lookup = ResourceLookup(compute)
        self._world: World = compute.world
        self._operations = operations
        self._links = links
        self._pager = pager
        self._resources: dict[str, Resource] = {}
        self._addresses = {vm.address: vm.handle for vm in vms.values()}
        for machine in compute.machines.values():
            if machine.vm.instance_number is None:
                self._add_nic(machine)
        for balancer in config.load_balancers:
            self._add(BALANCERS, balancer, _balancer(balancer))
        for gateway in config.application_gateways:
            self._add(GATEWAYS, gateway, _gateway(gateway, vms))
        compute.appeared.append(self._add_nic)
        self._world.listen(self._heard)

    def routes(self, router: Router) -> None:
        """Make them known."""
        for kind in (NICS, BALANCERS, GATEWAYS):
            router.add("GET", f"{_ALL}/{kind}", PROVIDER, functools.partial(self.list_all, kind=kind))
            router.add("GET", f"{_GROUP}/{kind}", PROVIDER, functools.partial(self.list_all, kind=kind))
            router.add("GET", f"{_GROUP}/{kind}/{{name}}", PROVIDER, functools.partial(self.get, kind=kind))
            router.add("PUT", f"{_GROUP}/{kind}/{{name}}", PROVIDER, functools.partial(self.put, kind=kind))
        router.add("GET", _POOL, PROVIDER, self.list_pools)
        router.add("GET", f"{_POOL}/{{pool}}", PROVIDER, self.get_pool)
        router.add("PUT", f"{_POOL}/{{pool}}", PROVIDER, self.put_pool)
        router.add("POST", f"{_GROUP}/applicationGateways/{{name}}/backendhealth", PROVIDER, self.health)
        router.add("GET", f"{SET}/networkInterfaces", COMPUTE, self.list_set_nics)
        for action, state in (("start", "Running"), ("stop", "Stopped")):
            power = functools.partial(self.power, state=state)
            router.add("POST", f"{_GROUP}/applicationGateways/{{name}}/{action}", PROVIDER, power)
        router.add("GET", _INSTANCE_NICS, COMPUTE, self.list_instance_nics)
        router.add("GET", f"{_INSTANCE_NICS}/{{nic}}", COMPUTE, self.get_instance_nic)

    # -- how it begins ------------------------------------------------------------------------------

    def _add(self, kind: str, config: PoolsConfig, properties: Document) -> None:
        owner = (config.subscription_id, config.resource_group)
        resource = Resource(kind, owner, config.name, config.location, properties)
        self._resources[resource.resource_id.lower()] = resource

    def _add_nic(self, machine: Machine) -> None:
        """Every VM but the instances of uniform sets has an interface of its own."""
        vm = machine.vm
        if vm.instance_number is not None:
            return
        owner = (vm.subscription_id, vm.resource_group)
        scale_set = self._compute.set_of(machine)
        pools = pools_of(self._config, [vm.handle] if scale_set is None else list(_handles(scale_set)))
        properties: Document = {
            "ipConfigurations": [
                {
                    "name": "ipconfig1",
                    "properties": {
                        "privateIPAddress": vm.address,
                        "privateIPAllocationMethod": "Dynamic",
                        "subnet": {"id": network_id(*owner, "virtualNetworks", "vnet/subnets/default")},
                        "primary": True,
                        "privateIPAddressVersion": "IPv4",
                        "loadBalancerBackendAddressPools": [{"id": pool} for pool in pools],
                    },
                }
            ],
            "dnsSettings": {"dnsServers": [], "appliedDnsServers": []},
            "macAddress": "-".join(vm.mac_address[i : i + 2] for i in range(0, 12, 2)),
            "primary": True,
            "enableAcceleratedNetworking": False,
            "enableIPForwarding": False,
            "virtualMachine": {"id": compute_id(*owner, "virtualMachines", vm.name)},
        }
        nic = Resource(NICS, owner, f"{vm.name}-nic", vm.location, properties)
        self._resources[nic.resource_id.lower()] = nic
        self._addresses[vm.address] = vm.handle

    def _heard(self, change: Change) -> None:
        """A machine's interface goes with it."""
        if change.kind == "impact" and change.what == DELETED and change.vm is not None:
            vm = self._world.vms[change.vm].config
            key = network_id(vm.subscription_id, vm.resource_group, NICS, f"{vm.name}-nic").lower()
            self._resources.pop(key, None)

    # -- reading ------------------------------------------------------------------------------------

    def list_all(self, request: ArmRequest, kind: str) -> ArmAnswer:
        """All resources of a kind in a subscription, or in a resource group."""
        found = [
            self._show(one)
            for one in self._resources.values()
            if one.kind == kind and is_listed(request, one.subscription, one.group, one.location)
        ]
        return self._pager.page(request, found)

    def get(self, request: ArmRequest, kind: str) -> ArmAnswer:
        """One resource."""
        shown = self._show(self._find(request, kind))
        return ArmAnswer(200, shown, {"ETag": shown["etag"]})

    def _find(self, request: ArmRequest, kind: str) -> Resource:
        names = request.names
        key = network_id(names["subscription"], names["group"], kind, names["name"]).lower()
        if key not in self._resources:
            raise not_found(f"Microsoft.Network/{kind}", names["name"], names["group"])
        return self._resources[key]

    # -- writing ------------------------------------------------------------------------------------

    def put(self, request: ArmRequest, kind: str) -> ArmAnswer:
        """Replace a resource; only those that are there already."""
        resource = self._find(request, kind)
        document = request.document()
        self._match(request, resource)
        properties = copy.deepcopy(document.get("properties") or {})
        self._check_references(resource, properties)
        if kind == NICS:
            request.wanted = self._ending(resource) or request.wanted
            _check_interface(properties)
            for fixed in ("virtualMachine", "macAddress"):
                properties[fixed] = resource.properties[fixed]
            self._leave_gateways(resource.properties, properties)
        if kind == GATEWAYS:
            _keep_certificates(resource, properties)
            self._drain(resource, properties, _addresses(resource.properties), set(_addresses(properties)))
            # Whatever its value was before.
            properties["operationalState"] = "Running"
        _strip(properties)
        resource.properties = properties
        resource.tags = dict(document.get("tags") or {})
        operation = self._change(request, resource)
        return self._under_way(request, resource, operation, self._show(resource))

    def _ending(self, nic: Resource) -> Ending | None:
        """How it ends to write an interface of a machine that is being deleted: it is accepted, and fails later.

        Source: https://github.com/sassoftware/viya4-iac-azure/issues/140
        """
        machine = self._compute.machine_at(nic.properties["virtualMachine"]["id"])
        try:
            if machine is not None:
                self._compute.refuse_if_deleting(machine)
        except ArmError as error:
            return Ending(FAILED, error)
        return None

    def _change(self, request: ArmRequest, resource: Resource) -> Operation:
        resource.version += 1
        resource.provisioning_state = _UPDATING

        def done(status: str) -> None:
            if resource.operation is not operation:
                return
            resource.provisioning_state = status
            if status == "Succeeded":
                resource.settle()

        operation = self._begin("update", request, resource, done)
        before, resource.operation = resource.operation, operation
        if resource.kind == GATEWAYS and before is not None and not before.over:
            self._operations.end(before, CANCELED, superseded(before.operation_id, operation.operation_id))
        return operation

    def _begin(self, kind: str, request: ArmRequest, resource: Resource, done: Callable[[str], None]) -> Operation:
        seconds, wanted = self._config.operation_seconds, request.wanted
        return self._operations.begin(
            kind, resource.resource_id, PROVIDER, resource.location, done, seconds, wanted=wanted
        )

    def _under_way(self, request: ArmRequest, resource: Resource, operation: Operation, shown: Document) -> ArmAnswer:
        headers = self._links.asynchronous(request, operation, resource.subscription)
        return ArmAnswer(200, shown, {**headers, **self._links.again(operation)})

    def _match(self, request: ArmRequest, resource: Resource) -> None:
        if request.concurrent_edit:
            resource.version += 1
        given = request.headers.get("If-Match")
        current = self._etag(resource)
        if given not in (None, "*", current):
            raise etag_mismatch(str(given), current, resource.resource_id)

    def _check_references(self, resource: Resource, properties: Document) -> None:
        """Refuse an interface that names a pool which does not exist."""
        if resource.kind != NICS:
            return
        for pool in (*_pools_named(properties), *_pools_named(properties, ON_GATEWAYS)):
            owner, _unused, name = pool.rpartition("/backendAddressPools/")
            balancer = self._resources.get(owner.lower())
            known = [p["name"].lower() for p in balancer.properties["backendAddressPools"]] if balancer else []
            if name.lower() not in known:
                raise ArmError(
                    400,
                    "InvalidResourceReference",
                    f"Resource {pool} referenced by resource {resource.resource_id} was not found. Please make sure "
                    "that the referenced resource exists, and that both resources are in the same region.",
                )

    # -- load balancers -----------------------------------------------------------------------------

    def list_pools(self, request: ArmRequest) -> ArmAnswer:
        """A load balancer's pools."""
        return self._pager.page(
            request, self._show(self._find(request, BALANCERS))["properties"]["backendAddressPools"]
        )

    def get_pool(self, request: ArmRequest) -> ArmAnswer:
        """One pool, with who is in it."""
        shown = self._show_pool(request)
        return ArmAnswer(200, shown, {"ETag": shown["etag"]})

    def put_pool(self, request: ArmRequest) -> ArmAnswer:
        """Set the adminState of members, and the members that are addresses. Interfaces determine the other members."""
        resource = self._find(request, BALANCERS)
        self._show_pool(request)
        self._match(request, resource)
        pool = request.names["pool"].lower()
        addresses = (request.document().get("properties") or {}).get("loadBalancerBackendAddresses") or []
        states = {}
        addressed = []
        joined = self._members(f"{resource.resource_id}/backendAddressPools/{pool}")
        members = {_entry_name(where): name for name, where in joined}
        for number, address in enumerate(addresses):
            state = (address.get("properties") or {}).get("adminState") or "None"
            if state not in _ADMIN_STATES:
                message = f"Error converting value '{state}' to type 'LoadBalancerBackendAddressAdminState'."
                raise ArmError(
                    400,
                    "InvalidRequestFormat",
                    "Cannot parse the request.",
                    details=[{"code": "InvalidJson", "message": message}],
                )
            states[f"{pool}/{members.get(address.get('name'), address.get('name'))}"] = state
            # Microsoft's own clients do not send back which interface it is: the name says it.
            if address.get("name") not in members:
                addressed.append(_by_address(address, number))
        left_out = members.keys() - {address.get("name") for address in addresses}
        if members and (addressed or left_out):
            raise _interfaces_say(request.path)
        for machine in self._compute.machines.values():
            member = f"{pool}/{machine.name}"
            if machine.name in members.values() and states.get(member, "None") != resource.admin_states.get(
                member, "None"
            ):
                self._compute.refuse_if_deleting(machine)
        resource.admin_states.update(states)
        resource.addressed[pool] = addressed
        operation = self._change(request, resource)
        return self._under_way(request, resource, operation, self._show_pool(request))

    def _show_pool(self, request: ArmRequest) -> Document:
        shown = self._show(self._find(request, BALANCERS))
        wanted = request.names["pool"].lower()
        for pool in shown["properties"]["backendAddressPools"]:
            if pool["name"].lower() == wanted:
                return dict(pool)
        raise no_such_child(f"{shown['id']}/backendAddressPools/{request.names['pool']}")

    def _members(self, pool: str, where: str = ON_BALANCERS) -> Iterator[tuple[str, str]]:
        """The name and the IP configuration of each member that joins a pool through an interface."""
        pool = pool.lower()
        for machine in self._compute.machines.values():
            scale_set = self._compute.set_of(machine)
            if scale_set is None or scale_set.flexible:
                continue
            for interface, configuration, pools in _configurations(machine.network, where):
                if pool in pools:
                    nic = f"{_instance_id(scale_set, machine)}/networkInterfaces/{interface}"
                    yield machine.name, f"{nic}/ipConfigurations/{configuration}"
        for resource in self._resources.values():
            if resource.kind != NICS:
                continue
            for configuration in resource.properties.get("ipConfigurations") or []:
                named = [p["id"].lower() for p in configuration["properties"].get(where) or []]
                if pool in named:
                    vm = resource.properties["virtualMachine"]["id"].rpartition("/")[2]
                    yield vm, f"{resource.resource_id}/ipConfigurations/{configuration['name']}"

    def in_service(self, balancer: str, pool: str) -> dict[str, str]:
        """What the data path goes by: the adminState of every member of a pool, by the VM's handle.

        A gateway's have none.
        """
        states: dict[str, str] = {}
        for resource in self._resources.values():
            if resource.kind not in (BALANCERS, GATEWAYS) or resource.name.lower() != balancer.lower():
                continue
            properties, admin_states, addressed = resource.in_effect
            pool_id_ = f"{resource.resource_id}/backendAddressPools/{pool}".lower()
            if resource.kind == GATEWAYS:
                states.update(dict.fromkeys(self._behind(pool_id_, properties), "None"))
                continue
            for machine in self._compute.machines.values():
                if pool_id_ in self._pools_in_effect(machine):
                    state = admin_states.get(f"{pool.lower()}/{machine.name}", "None")
                    states[machine.vm.handle] = state
            for entry in addressed.get(pool.lower(), []):
                handle = self._addresses.get(entry["properties"].get("ipAddress", ""))
                if handle is not None:
                    states[handle] = entry["properties"].get("adminState", "None")
        return states

    def _behind(self, pool: str, properties: Document) -> Iterator[str]:
        """The members that a gateway with these properties serves from a pool, by the handle. None while it is
        stopped.
        """
        if properties["operationalState"] != "Running":
            return
        for name, address in _addresses(properties):
            handle = self._handle(address)
            if handle is not None and pool.endswith(f"/{name}".lower()):
                yield handle
        for machine in self._compute.machines.values():
            if pool in self._pools_in_effect(machine, ON_GATEWAYS):
                yield machine.vm.handle

    def _pools_in_effect(self, machine: Machine, where: str = ON_BALANCERS) -> set[str]:
        vm = machine.vm
        if vm.instance_number is not None:
            return {pool for _nic, _name, pools in _configurations(machine.network, where) for pool in pools}
        key = network_id(vm.subscription_id, vm.resource_group, NICS, f"{vm.name}-nic").lower()
        nic = self._resources.get(key)
        return set() if nic is None else {pool.lower() for pool in _pools_named(nic.in_effect[0], where)}

    def _handle(self, address: str) -> str | None:
        """The machine with this address or name: a name begins with the VM's name."""
        first = address.partition(".")[0]
        return self._addresses.get(address) or (first if first in self._world.vms else None)

    # -- application gateways -----------------------------------------------------------------------

    def _drain(
        self,
        gateway: Resource,
        properties: Document,
        before: Iterable[tuple[str, str]],
        staying: Container[tuple[str, str]],
    ) -> None:
        """Members that leave a pool are drained first, if the gateway is configured for it."""
        settings = properties.get("backendHttpSettingsCollection") or []
        draining = [(s.get("properties") or {}).get("connectionDraining") or {} for s in settings]
        seconds = max((d.get("drainTimeoutInSec", _DRAIN_SECONDS) for d in draining if d.get("enabled")), default=0)
        for member in before:
            if member not in staying and seconds:
                gateway.draining[member] = self._world.now + seconds

    def _leave_gateways(self, before: Document, after: Document) -> None:
        """Treat the address of an interface in the pools of gateways that it no longer names."""
        address = before["ipConfigurations"][0]["properties"]["privateIPAddress"]
        staying = {pool.lower() for pool in _pools_named(after, ON_GATEWAYS)}
        for pool in _pools_named(before, ON_GATEWAYS):
            owner, _unused, name = pool.rpartition("/backendAddressPools/")
            if pool.lower() not in staying:
                gateway = self._resources[owner.lower()]
                self._drain(gateway, gateway.properties, [(name, address)], ())

    def power(self, request: ArmRequest, state: str) -> ArmAnswer:
        """Start or stop a gateway."""
        resource = self._find(request, GATEWAYS)
        resource.properties["operationalState"] = state
        operation = self._change(request, resource)
        return ArmAnswer(202, None, self._links.located(request, operation, resource.subscription))

    def health(self, request: ArmRequest) -> ArmAnswer:
        """The gateway's view of its members, worked out in an operation of its own."""
        resource = self._find(request, GATEWAYS)

        def work_out(_status: str) -> None:
            operation.result = self._health(resource)

        operation = self._begin("backendHealth", request, resource, work_out)
        return ArmAnswer(202, None, self._links.located(request, operation, resource.subscription))

    def _health(self, resource: Resource) -> Document:
        now = self._world.now
        settings = resource.properties.get("backendHttpSettingsCollection") or []
        pools = []
        for pool in resource.properties.get("backendAddressPools") or []:
            addresses = [address for name, address in _addresses(resource.properties) if name == pool["name"]]
            servers: list[Document] = [{"address": one, **self._probed(one)} for one in addresses]
            for vm, where in self._members(f"{resource.resource_id}/backendAddressPools/{pool['name']}", ON_GATEWAYS):
                address = next(a for a, handle in self._addresses.items() if self._world.vms[handle].config.name == vm)
                addresses.append(address)
                servers.append({"address": address, "ipConfiguration": {"id": where}, **self._probed(address)})
            servers += [
                {"address": address, "health": "Draining"}
                for (name, address), until in resource.draining.items()
                if name.lower() == pool["name"].lower() and now < until and address not in addresses
            ]
            collection = [
                {
                    "backendHttpSettings": {"id": f"{resource.resource_id}/backendHttpSettingsCollection/{s['name']}"},
                    "servers": servers,
                }
                for s in settings
            ]
            pools.append(
                {
                    "backendAddressPool": {"id": f"{resource.resource_id}/backendAddressPools/{pool['name']}"},
                    "backendHttpSettingsCollection": collection,
                }
            )
        return {"backendAddressPools": pools}

    def _probed(self, address: str) -> Document:
        vm = self._world.vms.get(self._handle(address) or "")
        if vm is None:
            return {"health": "Unknown"}
        # The specification lists Up and Down; the service returns these.
        if vm.state == RUNNING:
            return {"health": "Healthy"}
        return {"health": "Unhealthy", "healthProbeLog": "Cannot connect to server."}

    # -- interfaces of instances --------------------------------------------------------------------

    def list_set_nics(self, request: ArmRequest) -> ArmAnswer:
        """The interfaces of all instances of a uniform set: to be read only."""
        scale_set = self._lookup.scale_set(request)
        refuse_flexible(scale_set, "VirtualMachineScaleSets.networkInterfaces.GET")
        nics = [nic for machine in scale_set.machines.values() for nic in _instance_nics(scale_set, machine)]
        return self._pager.page(request, nics)

    def list_instance_nics(self, request: ArmRequest) -> ArmAnswer:
        """The interfaces of an instance of a uniform set: to be read only."""
        scale_set, machine = self._uniform(request)
        return self._pager.page(request, list(_instance_nics(scale_set, machine)))

    def get_instance_nic(self, request: ArmRequest) -> ArmAnswer:
        """One of them."""
        scale_set, machine = self._uniform(request)
        for nic in _instance_nics(scale_set, machine):
            if nic["name"].lower() == request.names["nic"].lower():
                return ArmAnswer(200, nic, {"ETag": nic["etag"]})
        raise not_found("Microsoft.Network/networkInterfaces", request.names["nic"], request.names["group"])

    def _uniform(self, request: ArmRequest) -> tuple[ScaleSet, Machine]:
        scale_set, machine = self._lookup.instance(request)
        refuse_flexible(scale_set, "VirtualMachineScaleSets.virtualMachines.networkInterfaces.GET")
        return scale_set, machine

    # -- what is shown ------------------------------------------------------------------------------

    def _content(self, resource: Resource) -> Document:
        """The properties with ids and members, but without ETags and states."""
        properties = copy.deepcopy(resource.properties)
        for collection, items in properties.items():
            if not isinstance(items, list):
                continue
            for item in items:
                if isinstance(item, dict) and "name" in item:
                    item["id"] = f"{resource.resource_id}/{collection}/{item['name']}"
                    item["type"] = f"Microsoft.Network/{resource.kind}/{collection}"
                    item.setdefault("properties", {})
        if resource.kind == GATEWAYS:
            for pool in properties["backendAddressPools"]:
                joined = [{"id": where} for _unused, where in self._members(pool["id"], ON_GATEWAYS)]
                if joined:
                    pool["properties"]["backendIPConfigurations"] = joined
            for certificate in properties.get("sslCertificates") or []:
                if certificate["name"] in resource.certificates:
                    certificate["properties"]["publicCertData"] = "MIIC"
        if resource.kind == BALANCERS:
            for pool in properties["backendAddressPools"]:
                pool["properties"].update(self._members_shown(resource, pool))
                pool["properties"].update(_rules_of(pool["id"], properties))
        return properties

    def _members_shown(self, resource: Resource, pool: Document) -> Document:
        """The members of a load balancer's pool, as the pool shows them."""
        members = list(self._members(pool["id"]))
        name = pool["name"].lower()
        entries = [
            *(_backend_address(where, resource.admin_states.get(f"{name}/{vm}")) for vm, where in members),
            *copy.deepcopy(resource.addressed.get(name, [])),
        ]
        for entry in entries:
            entry["id"] = f"{pool['id']}/loadBalancerBackendAddresses/{entry['name']}"
            entry["type"] = f"{pool['type']}/loadBalancerBackendAddresses"
        return {
            "backendIPConfigurations": [{"id": where} for _unused, where in members],
            "loadBalancerBackendAddresses": entries,
        }

    def _etag(self, resource: Resource) -> str:
        state = resource.provisioning_state
        return _hash_etag([resource.resource_id, resource.version, state, self._content(resource)])

    def _show(self, resource: Resource) -> Document:
        etag = self._etag(resource)
        properties = self._content(resource)
        state = resource.provisioning_state
        if resource.kind == GATEWAYS and state == _UPDATING and resource.operation is not None:
            is_shown = self._world.now < resource.operation.started + _SHOWN_FOR
            state = state if is_shown else "Succeeded"
        for items in properties.values():
            if isinstance(items, list):
                for item in items:
                    if isinstance(item, dict) and "id" in item and "properties" in item:
                        entries = item["properties"].get("loadBalancerBackendAddresses") or []
                        for one in (item, *entries):
                            one["etag"] = etag
                            one["properties"]["provisioningState"] = state
        properties["provisioningState"] = state
        shown: Document = {
            "name": resource.name,
            "id": resource.resource_id,
            "etag": etag,
            "type": f"Microsoft.Network/{resource.kind}",
            "location": resource.location,
            "tags": resource.tags,
            "properties": properties,
        }
        if resource.kind == BALANCERS:
            shown["sku"] = {"name": "Standard", "tier": "Regional"}
        return shown


def _balancer(config: PoolsConfig) -> Document:
    frontend = network_id(config.subscription_id, config.resource_group, "publicIPAddresses", f"{config.name}-ip")
    return {
        "frontendIPConfigurations": [{"name": "frontend", "properties": {"publicIPAddress": {"id": frontend}}}],
        "backendAddressPools": [{"name": pool, "properties": {}} for pool in config.pools],
        "loadBalancingRules": [],
        "probes": [],
        "inboundNatRules": [],
        "outboundRules": [],
    }


def _gateway(config: PoolsConfig, vms: Mapping[str, VmConfig]) -> Document:
    return {
        "sku": {"name": "Standard_v2", "tier": "Standard_v2", "capacity": 2},
        "operationalState": "Running",
        "sslCertificates": [],
        "backendAddressPools": [
            {
                "name": pool,
                "properties": {"backendAddresses": [{"ipAddress": vms[name].address} for name in names if name in vms]},
            }
            for pool, names in config.pools.items()
        ],
        "backendHttpSettingsCollection": [
            {
                "name": "settings",
                "properties": {
                    "port": 80,
                    "protocol": "Http",
                    "cookieBasedAffinity": "Disabled",
                    "requestTimeout": 30,
                    "connectionDraining": {"enabled": True, "drainTimeoutInSec": _DRAIN_SECONDS},
                },
            }
        ],
    }


def _handles(scale_set: ScaleSet) -> Iterator[str]:
    return (machine.vm.handle for machine in scale_set.machines.values())


def _instance_nics(scale_set: ScaleSet, machine: Machine) -> Iterator[Document]:
    """The interfaces of an instance of a uniform set."""
    for interface in machine.network.get("networkInterfaceConfigurations") or []:
        nic = f"{_instance_id(scale_set, machine)}/networkInterfaces/{interface['name']}"
        etag = _hash_etag(interface)
        properties = copy.deepcopy(interface.get("properties") or {})
        for configuration in properties.get("ipConfigurations") or []:
            configuration |= {"id": f"{nic}/ipConfigurations/{configuration['name']}", "etag": etag}
            configuration.setdefault("properties", {})["privateIPAddress"] = machine.vm.address
        properties |= {
            "provisioningState": "Succeeded",
            "virtualMachine": {"id": _instance_id(scale_set, machine)},
        }
        yield {"name": interface["name"], "id": nic, "etag": etag, "properties": properties}


def _instance_id(scale_set: ScaleSet, machine: Machine) -> str:
    return f"{scale_set.resource_id}/virtualMachines/{machine.instance_id}"


def _configurations(network: Document, where: str = ON_BALANCERS) -> Iterator[tuple[str, str, list[str]]]:
    """Interface, IP configuration and the ids of its pools, in lower case."""
    for interface in network.get("networkInterfaceConfigurations") or []:
        for configuration in (interface.get("properties") or {}).get("ipConfigurations") or []:
            pools = (configuration.get("properties") or {}).get(where) or []
            yield interface["name"], configuration["name"], [pool["id"].lower() for pool in pools]


def _pools_named(properties: Document, where: str = ON_BALANCERS) -> Iterator[str]:
    for configuration in properties.get("ipConfigurations") or []:
        for pool in (configuration.get("properties") or {}).get(where) or []:
            yield pool["id"]


def _check_interface(properties: Document) -> None:
    """Refuse an interface that could not carry traffic."""
    if not properties.get("ipConfigurations"):
        message = "A network interface must have at least one IP configuration."
        raise ArmError(400, "NetworkInterfaceMustHaveAtLeastOneIpConfiguration", message)


def _keep_certificates(gateway: Resource, properties: Document) -> None:
    """Keep the fact that a certificate has data, which is never shown again and need not be sent again."""
    names = set()
    for certificate in properties.get("sslCertificates") or []:
        name, inner = certificate["name"], certificate.setdefault("properties", {})
        data = inner.pop("data", None)
        inner.pop("password", None)
        inner.pop("publicCertData", None)
        if data or name in gateway.certificates:
            names.add(name)
        elif not inner.get("keyVaultSecretId"):
            raise ArmError(
                400,
                "ApplicationGatewaySslCertificateDataMustBeSpecified",
                f"Data or KeyVaultSecretId must be specified for Certificate {gateway.resource_id}/sslCertificates/"
                f"{name}.",
            )
    gateway.certificates = names


def _addresses(properties: Document) -> Iterator[tuple[str, str]]:
    """The pool and address of each member of a gateway's pools."""
    for pool in properties.get("backendAddressPools") or []:
        for address in (pool.get("properties") or {}).get("backendAddresses") or []:
            yield pool["name"], address.get("ipAddress") or address.get("fqdn") or ""


def _backend_address(where: str, state: str | None) -> Document:
    properties: Document = {"networkInterfaceIPConfiguration": {"id": where}}
    if state is not None:
        properties["adminState"] = state
    return {"name": _entry_name(where), "properties": properties}


def _interfaces_say(pool: str) -> ArmError:
    """A pool whose members are what interfaces say cannot have others, nor fewer.

    Source: https://github.com/hashicorp/terraform-provider-azurerm/issues/10496
    """
    return ArmError(
        400,
        "ModificationOfNICIpConfigBackendPoolNotSupported",
        f"Operation on backend pool {pool} not allowed since it adds/modifies/deletes backend address pool members "
        "that are specified with a network interface IP configuration.",
    )


def _entry_name(where: str) -> str:
    """The name of a member that joins by an IP configuration: of an instance's it is a GUID."""
    parts = where.split("/")
    if "virtualMachineScaleSets" in parts:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, where))
    return f"{parts[4]}_{parts[-3]}{parts[-1]}"


def _by_address(entry: Document, number: int) -> Document:
    """An address in a pool, as the service stores it."""
    properties = entry.get("properties") or {}
    if not properties.get("ipAddress"):
        message = f"Backend address {entry.get('name')} has neither an IP address nor a network interface."
        raise ArmError(400, "InvalidRequestFormat", message)
    kept = ("ipAddress", "virtualNetwork", "subnet", "adminState")
    return {
        "name": entry.get("name") or f"address{number}",
        "properties": {key: copy.deepcopy(properties[key]) for key in kept if properties.get(key) is not None},
    }


def _rules_of(pool_id: str, properties: Document) -> Document:
    """The balancer's rules that send to a pool, as the pool shows them."""
    told: Document = {}
    for collection in _RULES:
        rules = [
            {"id": rule["id"]}
            for rule in properties.get(collection) or []
            if pool_id.lower()
            in (
                str(one.get("id")).lower()
                for one in [
                    rule["properties"].get("backendAddressPool") or {},
                    *(rule["properties"].get("backendAddressPools") or []),
                ]
            )
        ]
        if rules:
            told[collection] = rules
    if "outboundRules" in told:
        told["outboundRule"] = told["outboundRules"][0]
    return told


def _strip(properties: Document) -> None:
    """Drop the read-only parts that clients send back."""
    properties.pop("provisioningState", None)
    for items in properties.values():
        if not isinstance(items, list):
            continue
        for item in items:
            if isinstance(item, dict):
                for name in ("id", "etag", "type"):
                    item.pop(name, None)
                if isinstance(item.get("properties"), dict):
                    for name in _WORKED_OUT:
                        item["properties"].pop(name, None)


def _hash_etag(content: Any) -> str:
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()
    return f'W/"{uuid.UUID(bytes=digest[:16])}"'
