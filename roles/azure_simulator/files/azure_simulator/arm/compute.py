# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Microsoft.Compute: scale sets, instances, VMs and availability sets over HTTP."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from . import versions
from .actions import refuse_flexible
from .config import NOBODY, ScaleSetConfig, duration
from .documents import show_instance, show_member, show_set, show_status, show_vm
from .errors import ArmError, invalid, linked_forbidden, precondition_failed
from .lifecycle import check_hooks, complete_hooks
from .operations import Operation
from .ownership import ResourceLookup, is_listed
from .policies import check_policy, check_switch
from .resources import ComputeResources, Machine, ScaleSet, enabled, iso, merge, plain_location
from .routing import COMPUTE, GROUP, INSTANCE, SET, SUBSCRIPTION, VM, ArmAnswer, ArmRequest, Links, Pager, Router

_LOCATION = f"{SUBSCRIPTION}/locations/{{location}}"

_OF_SUBSCRIPTION = re.compile(r"/subscriptions/([^/]+)/", re.IGNORECASE)
_MEMBERS_OF = re.compile(r"'virtualMachineScaleSet/id'\s+eq\s+(?P<quote>'?)(?P<id>/[^']*)(?P=quote)", re.IGNORECASE)
_MEMBERS_OF_EXAMPLE = "'virtualMachineScaleSet/id' eq '{id of the scale set}'"
"""The one filter of VMs that Compute has."""

_OS_IMAGE_TIMEOUT = "PT15M"


class Compute:
    """The handlers of the provider."""

    def __init__(self, resources: ComputeResources, links: Links, pager: Pager) -> None:
        self._resources = resources
        self._links = links
        self._pager = pager
        self._lookup = ResourceLookup(resources)

    def routes(self, router: Router) -> None:
        """Add the routes."""
        for method, template, handler, *query in (
            ("GET", f"{SUBSCRIPTION}/virtualMachineScaleSets", self.list_sets),
            ("GET", f"{GROUP}/virtualMachineScaleSets", self.list_sets),
            ("GET", f"{_LOCATION}/virtualMachineScaleSets", self.list_sets),
            ("GET", SET, self.get_set),
            ("PUT", SET, self.put_set),
            ("PATCH", SET, self.patch_set),
            ("DELETE", SET, self.delete_set),
            ("POST", f"{SET}/manualupgrade", self.upgrade),
            ("POST", f"{SET}/delete", self.delete_instances),
            ("GET", f"{SET}/virtualMachines", self.list_instances, "$expand"),
            ("GET", INSTANCE, self.get_instance, "$expand"),
            ("PUT", INSTANCE, self.put_instance),
            ("DELETE", INSTANCE, self.delete_instance),
            ("POST", f"{INSTANCE}/simulateEviction", self.evict_instance),
            ("GET", f"{SUBSCRIPTION}/virtualMachines", self.list_vms, "statusOnly", "$filter", "$expand"),
            ("GET", f"{GROUP}/virtualMachines", self.list_vms, "$filter", "$expand"),
            ("GET", f"{_LOCATION}/virtualMachines", self.list_vms),
            ("GET", VM, self.get_vm, "$expand"),
            ("PATCH", VM, self.patch_vm),
            ("DELETE", VM, self.delete_vm),
            ("POST", f"{VM}/simulateEviction", self.evict_vm),
        ):
            router.add(method, template, COMPUTE, handler, query)

    # -- scale sets ---------------------------------------------------------------------------------

    def list_sets(self, request: ArmRequest) -> ArmAnswer:
        """All sets of a subscription, or of a resource group or a location in it."""
        sets = [s for s in self._resources.sets.values() if is_listed(request, s.subscription, s.group, s.location)]
        return self._pager.page(request, [show_set(s, request.version) for s in sets])

    def get_set(self, request: ArmRequest) -> ArmAnswer:
        """One set."""
        scale_set = self._lookup.scale_set(request)
        return ArmAnswer(200, show_set(scale_set, request.version), self._etag(scale_set, request))

    def patch_set(self, request: ArmRequest) -> ArmAnswer:
        """Merge a few members into a set."""
        scale_set = self._lookup.scale_set(request)
        document = request.document()
        properties = document.get("properties", {})
        versions.check_members(
            properties, "VirtualMachineScaleSetUpdateProperties", versions.SET_UPDATE, request.version
        )
        self._match(request, scale_set)
        merged = copy.deepcopy(scale_set.properties)
        merge(merged, properties)
        _check_set(merged, scale_set.properties)
        return self._change_set(request, scale_set, merged, document)

    def put_set(self, request: ArmRequest) -> ArmAnswer:
        """Replace a set, or create it."""
        document = request.document()
        properties = document.get("properties") or {}
        versions.check_members(properties, "VirtualMachineScaleSetProperties", versions.SET, request.version)
        existing = self._resources.sets.get(self._lookup.set_id(request))
        _check_set(properties, existing.properties if existing is not None else {})
        if not isinstance(document.get("location"), str):
            message = "The location property is required for this definition."
            raise ArmError(400, "LocationRequired", message, "location")
        if existing is None:
            return self._create_set(request, document)
        self._check_image(request, properties)
        self._match(request, existing)
        if plain_location(document["location"]) != existing.location:
            raise ArmError(
                409,
                "InvalidResourceLocation",
                f"The resource '{existing.name}' already exists in location '{existing.location}'.",
            )
        mode = properties.get("orchestrationMode", existing.properties["orchestrationMode"])
        if mode != existing.properties["orchestrationMode"]:
            raise ArmError(
                409,
                "PropertyChangeNotAllowed",
                "Changing property 'orchestrationMode' is not allowed.",
                "orchestrationMode",
            )
        kept = {key: existing.properties[key] for key in ("orchestrationMode", "uniqueId", "timeCreated")}
        replaced = {**copy.deepcopy(properties), **kept}
        replaced.pop("provisioningState", None)
        replaced.setdefault("singlePlacementGroup", existing.properties.get("singlePlacementGroup"))
        replaced.setdefault("virtualMachineProfile", {})
        _keep_image(replaced, existing.properties)
        return self._change_set(request, existing, replaced, {"tags": {}, **document})

    def _check_image(self, request: ArmRequest, properties: Mapping[str, Any]) -> None:
        """Refuse an image of another tenant, changed or not, as Azure's check of linked resources does."""
        image = str(_image_of(properties).get("id", ""))
        match = _OF_SUBSCRIPTION.match(image)
        if match is not None and match[1].lower() not in self._resources.subscriptions():
            raise linked_forbidden(
                request.caller,
                "Microsoft.Compute/virtualMachineScaleSets/write",
                request.path,
                "Microsoft.Compute/galleries/images/versions/read",
                image,
            )

    def _change_set(
        self, request: ArmRequest, scale_set: ScaleSet, properties: dict[str, Any], document: Mapping[str, Any]
    ) -> ArmAnswer:
        def change() -> None:
            _complete(properties)
            created = scale_set.profile.get("timeCreated")
            scale_set.properties = properties
            if created is not None:
                scale_set.profile["timeCreated"] = created
            if "tags" in document:
                scale_set.tags = dict(document["tags"] or {})
            if "sku" in document:
                merge(scale_set.sku, document["sku"] or {})

        operation = self._resources.change_set(scale_set, change, request.wanted)
        return self._under_way(request, scale_set, operation, 200)

    def _create_set(self, request: ArmRequest, document: dict[str, Any]) -> ArmAnswer:
        properties = copy.deepcopy(document.get("properties") or {})
        sku = document.get("sku") or {}
        config = ScaleSetConfig(
            name=request.names["set"],
            resource_group=request.names["group"],
            subscription_id=request.names["subscription"],
            location=plain_location(document["location"]),
            flexible=properties.get("orchestrationMode") == "Flexible",
            upgrade_mode="Manual",
            spot=False,
            zones=tuple(document.get("zones") or ()),
            vm_size=sku.get("name", "Standard_D2s_v5"),
            terminate_notification=None,
            outdated=frozenset(),
            tags=document.get("tags") or {},
            properties={},
            new_addresses=(),
        )
        properties.setdefault("orchestrationMode", "Uniform")
        properties.setdefault("upgradePolicy", {"mode": "Manual"})
        properties.setdefault("singlePlacementGroup", not config.flexible)
        _complete(properties)
        world = self._resources.world
        properties["timeCreated"] = iso(world.clock.wall(world.now))
        properties["uniqueId"] = NOBODY
        scale_set = ScaleSet(config, properties, world.now)
        merge(scale_set.sku, sku)
        operation = self._resources.create_set(scale_set, int(sku.get("capacity", 0)), request.wanted)
        return self._under_way(request, scale_set, operation, 201)

    def _under_way(self, request: ArmRequest, scale_set: ScaleSet, operation: Operation, status: int) -> ArmAnswer:
        headers = self._links.asynchronous(request, operation, scale_set.subscription)
        body = show_set(scale_set, request.version)
        return ArmAnswer(status, body, {**headers, **self._etag(scale_set, request)})

    def delete_set(self, request: ArmRequest) -> ArmAnswer:
        """Delete a set and all its instances."""
        scale_set = self._resources.sets.get(self._lookup.set_id(request))
        if scale_set is None:
            return ArmAnswer(204)
        operation = self._resources.delete_set(scale_set, request.wanted)
        return ArmAnswer(202, None, self._links.accepted(request, operation, scale_set.subscription))

    def upgrade(self, request: ArmRequest) -> ArmAnswer:
        """Bring instances to the latest model."""
        scale_set = self._lookup.scale_set(request)
        operation = self._resources.upgrade(scale_set, _instance_ids(request), request.wanted)
        return ArmAnswer(202, None, self._links.accepted(request, operation, scale_set.subscription))

    def delete_instances(self, request: ArmRequest) -> ArmAnswer:
        """Delete several instances."""
        scale_set = self._lookup.scale_set(request)
        machines = self._resources.instances(scale_set, _instance_ids(request))
        operation = self._resources.delete(machines, scale_set.resource_id, scale_set.location, request.wanted)
        return ArmAnswer(202, None, self._links.accepted(request, operation, scale_set.subscription))

    # -- instances ----------------------------------------------------------------------------------

    def list_instances(self, request: ArmRequest) -> ArmAnswer:
        """All instances of a set. The list of a flexible set shows little: its members are VMs."""
        scale_set = self._lookup.scale_set(request)
        if scale_set.flexible:
            if "$expand" in request.query:
                refuse_flexible(scale_set, "VirtualMachineScaleSets.virtualMachines.GET")
            bare = [show_member(m) for m in scale_set.machines.values()]
            return self._pager.page(request, bare)
        with_view = _wants_view(request)
        shown = [
            show_instance(scale_set, m, self._resources, request.version, with_view)
            for m in scale_set.machines.values()
        ]
        return self._pager.page(request, shown)

    def get_instance(self, request: ArmRequest) -> ArmAnswer:
        """One instance."""
        scale_set, machine = self._lookup.instance(request)
        refuse_flexible(scale_set, "VirtualMachineScaleSets.virtualMachines.GET")
        shown = show_instance(scale_set, machine, self._resources, request.version, _wants_view(request))
        return ArmAnswer(200, shown, self._etag(machine, request))

    def put_instance(self, request: ArmRequest) -> ArmAnswer:
        """Change an instance's network or protection, without its set. Absent members stay, except for the tags."""
        scale_set, machine = self._lookup.instance(request)
        refuse_flexible(scale_set, "VirtualMachineScaleSets.virtualMachines.PUT")
        document = request.document()
        self._match(request, machine)
        self._resources.refuse_if_deleting(machine)
        properties = document.get("properties") or {}
        if "networkProfileConfiguration" in properties:
            machine.network = copy.deepcopy(properties["networkProfileConfiguration"] or {})
        if "protectionPolicy" in properties:
            machine.properties["protectionPolicy"] = copy.deepcopy(properties["protectionPolicy"] or {})
        machine.tags = dict(document.get("tags") or {})
        operation = self._change_machine(request, machine, scale_set.location)
        headers = self._links.asynchronous(request, operation, scale_set.subscription)
        body = show_instance(scale_set, machine, self._resources, request.version)
        return ArmAnswer(200, body, {**headers, **self._etag(machine, request)})

    def delete_instance(self, request: ArmRequest) -> ArmAnswer:
        """Delete one instance."""
        scale_set, machine = self._lookup.instance(request)
        operation = self._resources.delete([machine], scale_set.resource_id, scale_set.location, request.wanted)
        return ArmAnswer(202, None, self._links.accepted(request, operation, scale_set.subscription))

    def evict_instance(self, request: ArmRequest) -> ArmAnswer:
        """Evict a Spot instance."""
        _unused, machine = self._lookup.instance(request)
        self._resources.evict(machine)
        return ArmAnswer(204)

    # -- VMs ------------------------------------------------------------------------------------------

    def list_vms(self, request: ArmRequest) -> ArmAnswer:
        """All VMs of a subscription, or of a resource group or a location in it; or a scale set's members among them.

        Instances of uniform sets are no VMs here.
        """
        machines = [
            m
            for m in self._lookup.vms()
            if is_listed(request, m.vm.subscription_id, m.vm.resource_group, m.vm.location)
        ]
        text = request.query.get("$filter")
        if _says(request, "statusOnly") is not None:
            if _says(request, "statusOnly") != "true" or text is not None or "$expand" in request.query:
                raise invalid("statusOnly", "The value of parameter statusOnly is invalid: it is 'true', and alone.")
            return self._pager.page(request, [show_status(m, self._resources) for m in machines])
        if text is not None:
            match = _MEMBERS_OF.fullmatch(text.strip())
            if match is None:
                raise invalid("$filter", f"The $filter '{text}' is invalid: allowed is {_MEMBERS_OF_EXAMPLE}.")
            owner = self._resources.sets.get(match["id"].lower())
            machines = [m for m in machines if owner is not None and self._resources.set_of(m) is owner]
        elif "$expand" in request.query:
            raise invalid("$expand", f"$expand needs a $filter here, which is {_MEMBERS_OF_EXAMPLE}.")
        with_view = _wants_view(request)
        return self._pager.page(request, [show_vm(m, self._resources, request.version, with_view) for m in machines])

    def get_vm(self, request: ArmRequest) -> ArmAnswer:
        """One VM."""
        machine = self._lookup.vm(request)
        return ArmAnswer(
            200, show_vm(machine, self._resources, request.version, _wants_view(request)), self._etag(machine, request)
        )

    def patch_vm(self, request: ArmRequest) -> ArmAnswer:
        """Merge a few members into a VM."""
        machine = self._lookup.vm(request)
        document = request.document()
        patch = dict(document.get("properties") or {})
        versions.check_members(patch, "Properties", versions.MACHINE, request.version)
        self._match(request, machine)
        self._resources.refuse_if_deleting(machine)
        profile = copy.deepcopy(machine.events_profile)
        if "scheduledEventsProfile" in patch:
            merge(profile, patch.pop("scheduledEventsProfile") or {})
            _check_profile(profile)
            _complete_profile(profile)
        if "scheduledEventsPolicy" in patch and machine.vm.scale_set:
            _refuse_policy_of_member(machine)
        policy = copy.deepcopy(machine.properties)
        merge(policy, patch)
        check_policy(policy.get("scheduledEventsPolicy"))
        machine.events_profile, machine.properties = profile, policy
        if "tags" in document:
            machine.tags = dict(document["tags"] or {})
        operation = self._change_machine(request, machine, machine.vm.location)
        headers = self._links.asynchronous(request, operation, machine.vm.subscription_id)
        return ArmAnswer(
            200, show_vm(machine, self._resources, request.version), {**headers, **self._etag(machine, request)}
        )

    def delete_vm(self, request: ArmRequest) -> ArmAnswer:
        """Delete a VM."""
        machine = self._resources.machine_at(self._lookup.place(request))
        if machine is None:
            return ArmAnswer(204)
        operation = self._resources.delete([machine], machine.vm.resource_id, machine.vm.location, request.wanted)
        return ArmAnswer(202, None, self._links.accepted(request, operation, machine.vm.subscription_id))

    def evict_vm(self, request: ArmRequest) -> ArmAnswer:
        """Evict a Spot VM."""
        self._resources.evict(self._lookup.vm(request))
        return ArmAnswer(204)

    def _change_machine(self, request: ArmRequest, machine: Machine, location: str) -> Operation:
        machine.etag += 1
        machine.provisioning_state = "Updating"

        def done(status: str) -> None:
            if machine.provisioning_state == "Updating":
                machine.provisioning_state = status

        seconds = self._resources.config.operation_seconds
        return self._resources.begin("update", machine.vm.resource_id, location, done, request.wanted, seconds)

    # -- ETags ------------------------------------------------------------------------------------------------

    @staticmethod
    def _etag(resource: ScaleSet | Machine, request: ArmRequest) -> dict[str, str]:
        return {"ETag": f'"{resource.etag}"'} if request.version >= versions.ETAGS_SINCE else {}

    @staticmethod
    def _match(request: ArmRequest, resource: ScaleSet | Machine) -> None:
        """Refuse to change a resource that has changed since it was read."""
        if request.concurrent_edit:
            resource.etag += 1
        given = request.headers.get("If-Match")
        current = f'"{resource.etag}"'
        if request.version >= versions.ETAGS_SINCE and given not in (None, "*", current):
            raise precondition_failed(str(given), current)


def _refuse_policy_of_member(machine: Machine) -> None:
    """A VM in a scale set has the set's policy, and none of its own.

    Source: https://learn.microsoft.com/azure/virtual-machines/scheduled-events-resource-graph, which gives no words.
    """
    raise ArmError(
        400,
        "OperationNotAllowed",
        f"The property 'scheduledEventsPolicy' cannot be set on VM '{machine.name}', which is in the Virtual Machine "
        f"Scale Set '{machine.vm.scale_set}'. Set it on the Virtual Machine Scale Set.",
    )


def _says(request: ArmRequest, name: str) -> str | None:
    """The value of a query parameter, in whatever case."""
    return next((value.lower() for key, value in request.query.items() if key.lower() == name.lower()), None)


def _wants_view(request: ArmRequest) -> bool:
    """Whether to show instance views as well. Refuses any other value of `$expand`."""
    expand = _says(request, "$expand")
    if expand not in (None, "instanceview"):
        raise invalid("$expand", "The value of parameter $expand is not supported here: known is instanceView.")
    return expand is not None


def _image_of(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    storage = (properties.get("virtualMachineProfile") or {}).get("storageProfile") or {}
    return storage.get("imageReference") or {}


def _keep_image(properties: dict[str, Any], before: Mapping[str, Any]) -> None:
    """A model that is written without its image keeps its present image."""
    storage = properties["virtualMachineProfile"].get("storageProfile")
    if isinstance(storage, dict) and "imageReference" not in storage and _image_of(before):
        storage["imageReference"] = copy.deepcopy(_image_of(before))


def _instance_ids(request: ArmRequest) -> list[str]:
    document = request.document()
    if "instanceIds" not in document:
        raise invalid("instanceIds", "Required parameter 'instanceIds' is missing (null).")
    ids = document["instanceIds"]
    if not isinstance(ids, list) or not ids or not all(isinstance(item, str) for item in ids):
        raise invalid("instanceIds", "The value of parameter instanceIds is invalid.")
    return list(ids)


# -- what values may be ----------------------------------------------------------------------------------------


def _check_set(properties: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    profile = properties.get("virtualMachineProfile") or {}
    _check_profile(profile.get("scheduledEventsProfile"))
    check_policy(properties.get("scheduledEventsPolicy"))
    check_hooks(properties, before)


def _check_profile(profile: object) -> None:
    """Refuse notifications with impossible timeouts."""
    if not isinstance(profile, dict):
        return
    terminate = profile.get("terminateNotificationProfile")
    if isinstance(terminate, dict):
        check_switch(terminate, "enable", "terminateNotificationProfile")
        given = terminate.get("notBeforeTimeout")
        seconds = 300 if given is None else duration(given)
        if seconds is None or not 300 <= seconds <= 900:
            raise invalid(
                "terminateNotificationProfile.notBeforeTimeout",
                f"The value '{given}' of parameter 'terminateNotificationProfile.notBeforeTimeout' is out of range. "
                "The value must be between 'PT5M' and 'PT15M', both inclusive.",
            )
    image = profile.get("osImageNotificationProfile")
    if isinstance(image, dict):
        check_switch(image, "enable", "osImageNotificationProfile")
        given = image.get("notBeforeTimeout")
        if given is not None and duration(given) != duration(_OS_IMAGE_TIMEOUT):
            raise invalid(
                "osImageNotificationProfile.notBeforeTimeout",
                f"The value '{given}' of parameter 'osImageNotificationProfile.notBeforeTimeout' is invalid. "
                "The value must be 'PT15M'.",
            )


def _complete(properties: dict[str, Any]) -> None:
    profile = properties.get("virtualMachineProfile") or {}
    _complete_profile(profile.get("scheduledEventsProfile"))
    complete_hooks(properties)


def _complete_profile(profile: object) -> None:
    """Fill in the timeouts that Compute fills in, and drop a notification that is off, as Compute does."""
    if not isinstance(profile, dict):
        return
    for name, default in (
        ("terminateNotificationProfile", "PT5M"),
        ("osImageNotificationProfile", _OS_IMAGE_TIMEOUT),
    ):
        if isinstance(profile.get(name), dict):
            profile[name].setdefault("notBeforeTimeout", default)
            if not enabled(profile[name].get("enable")):
                del profile[name]
