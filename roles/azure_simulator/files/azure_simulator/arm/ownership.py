# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the resource of Microsoft.Compute that a path names, and refuses unknown ones in Azure's words."""

from __future__ import annotations

from .errors import no_such_entity, not_found
from .resources import AvailabilitySet, ComputeResources, Machine, ScaleSet, compute_id, plain_location
from .routing import ArmRequest


def is_listed(request: ArmRequest, subscription: str, group: str, location: str) -> bool:
    """Whether the list of a subscription, or of a resource group or a location in it, holds such a resource."""
    names = request.names
    return (
        names["subscription"].lower() == subscription.lower()
        and names.get("group", group).lower() == group.lower()
        and plain_location(names.get("location", location)) == plain_location(location)
    )


class ResourceLookup:
    """Finds what the names in a request's path stand for."""

    def __init__(self, resources: ComputeResources) -> None:
        self._resources = resources

    @staticmethod
    def set_id(request: ArmRequest) -> str:
        """The key of the scale set that is named, whether there is one or not."""
        names = request.names
        return compute_id(names["subscription"], names["group"], "virtualMachineScaleSets", names["set"]).lower()

    def scale_set(self, request: ArmRequest) -> ScaleSet:
        """The scale set."""
        scale_set = self._resources.sets.get(self.set_id(request))
        if scale_set is None:
            names = request.names
            raise not_found("Microsoft.Compute/virtualMachineScaleSets", names["set"], names["group"])
        return scale_set

    def instance(self, request: ArmRequest) -> tuple[ScaleSet, Machine]:
        """The instance, and its set."""
        scale_set = self.scale_set(request)
        wanted = request.names["instance"].lower()
        for instance_id, machine in scale_set.machines.items():
            if instance_id.lower() == wanted:
                return scale_set, machine
        raise no_such_entity()

    def vms(self) -> list[Machine]:
        """All VMs of their own: instances of uniform sets are none."""
        return [m for m in self._resources.machines.values() if m.vm.instance_number is None]

    @staticmethod
    def place(request: ArmRequest) -> str:
        """The id of the VM that is named, whether there is one or not."""
        return compute_id(request.names["subscription"], request.names["group"], "virtualMachines", request.names["vm"])

    def vm(self, request: ArmRequest) -> Machine:
        """The VM."""
        place = self.place(request)
        machine = self._resources.machine_at(place)
        if machine is None and place.lower() in self._resources.evicted:
            raise no_such_entity()
        if machine is None:
            raise not_found("Microsoft.Compute/virtualMachines", request.names["vm"], request.names["group"])
        return machine

    @staticmethod
    def availability_set_id(request: ArmRequest) -> str:
        """The key of the availability set that is named, whether there is one or not."""
        names = request.names
        return compute_id(names["subscription"], names["group"], "availabilitySets", names["name"]).lower()

    def availability_set(self, request: ArmRequest) -> AvailabilitySet:
        """The availability set."""
        found = self._resources.availability_sets.get(self.availability_set_id(request))
        if found is None:
            raise not_found("Microsoft.Compute/availabilitySets", request.names["name"], request.names["group"])
        return found
