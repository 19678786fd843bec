# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resources of Microsoft.Compute as Resource Manager shows them, in each of its versions."""

from __future__ import annotations

import copy
from typing import Any

from . import versions
from .resources import AvailabilitySet, ComputeResources, Machine, ScaleSet, compute_id, iso, network_id
from .views import instance_view


def show_set(scale_set: ScaleSet, version: str) -> dict[str, Any]:
    """A scale set."""
    properties = versions.hide_members(copy.deepcopy(scale_set.properties), versions.SET, version)
    properties["provisioningState"] = scale_set.provisioning_state
    shown: dict[str, Any] = {
        "name": scale_set.name,
        "id": scale_set.resource_id,
        "type": "Microsoft.Compute/virtualMachineScaleSets",
        "location": scale_set.location,
        "tags": scale_set.tags,
        "sku": dict(scale_set.sku),
    }
    if scale_set.zones:
        shown["zones"] = scale_set.zones
    if version >= versions.ETAGS_SINCE:
        shown["etag"] = f'"{scale_set.etag}"'
    shown["properties"] = properties
    return shown


def show_instance(
    scale_set: ScaleSet, machine: Machine, resources: ComputeResources, version: str, with_view: bool = False
) -> dict[str, Any]:
    """An instance of a uniform set."""
    vm = machine.vm
    world = resources.world
    instance_id = f"{scale_set.resource_id}/virtualMachines/{machine.instance_id}"
    nic = f"{instance_id}/networkInterfaces/{scale_set.name}-nic"
    properties: dict[str, Any] = {
        "latestModelApplied": scale_set.latest(machine),
        "modelDefinitionApplied": "VirtualMachineScaleSet",
        "networkProfileConfiguration": copy.deepcopy(machine.network),
        "hardwareProfile": {"vmSize": vm.vm_size},
        "vmId": vm.vm_id,
        "osProfile": {"computerName": vm.computer_name, "adminUsername": "azureuser"},
        "storageProfile": _storage(scale_set, machine),
        "networkProfile": {"networkInterfaces": [{"id": nic, "properties": {"primary": True}}]},
        "provisioningState": machine.provisioning_state,
        "timeCreated": iso(world.clock.wall(machine.created)),
        **copy.deepcopy(machine.properties),
    }
    if vm.spot:
        properties |= {"priority": "Spot", "evictionPolicy": "Delete"}
    if with_view:
        properties["instanceView"] = instance_view(machine, resources)
    shown: dict[str, Any] = {
        "name": vm.name,
        "id": instance_id,
        "type": "Microsoft.Compute/virtualMachineScaleSets/virtualMachines",
        "location": scale_set.location,
        "tags": machine.tags,
        "instanceId": machine.instance_id,
        "sku": {"name": vm.vm_size, "tier": "Standard"},
        "properties": properties,
    }
    return _placed(shown, machine, version)


def _placed(shown: dict[str, Any], machine: Machine, version: str) -> dict[str, Any]:
    """A machine with its zone, and with its ETag where the version has one."""
    if machine.vm.zone:
        shown["zones"] = [machine.vm.zone]
    if version >= versions.ETAGS_SINCE:
        shown["etag"] = f'"{machine.etag}"'
    return shown


def show_member(machine: Machine) -> dict[str, Any]:
    """A member of a flexible set, as the set's own list shows it."""
    return {
        "name": machine.name,
        "id": machine.vm.resource_id,
        "location": machine.vm.location,
        "instanceId": machine.instance_id,
    }


def show_vm(machine: Machine, resources: ComputeResources, version: str, with_view: bool = False) -> dict[str, Any]:
    """A VM of its own."""
    vm = machine.vm
    world = resources.world
    group = (vm.subscription_id, vm.resource_group)
    properties: dict[str, Any] = {
        "hardwareProfile": {"vmSize": vm.vm_size},
        "vmId": vm.vm_id,
        "osProfile": {"computerName": vm.computer_name, "adminUsername": "azureuser"},
        "networkProfile": {
            "networkInterfaces": [
                {"id": network_id(*group, "networkInterfaces", f"{vm.name}-nic"), "properties": {"primary": True}}
            ]
        },
        "provisioningState": machine.provisioning_state,
        "timeCreated": iso(world.clock.wall(machine.created)),
        **copy.deepcopy(machine.properties),
    }
    if machine.events_profile:
        properties["scheduledEventsProfile"] = copy.deepcopy(machine.events_profile)
    if vm.availability_set:
        properties["availabilitySet"] = {"id": compute_id(*group, "availabilitySets", vm.availability_set.upper())}
    if vm.scale_set:
        properties["virtualMachineScaleSet"] = {"id": compute_id(*group, "virtualMachineScaleSets", vm.scale_set)}
    if vm.spot:
        properties |= {"priority": "Spot", "evictionPolicy": "Delete"}
    if with_view:
        properties["instanceView"] = instance_view(machine, resources)
    shown: dict[str, Any] = {
        "name": vm.name,
        "id": compute_id(*group, "virtualMachines", vm.name),
        "type": "Microsoft.Compute/virtualMachines",
        "location": vm.location,
        "tags": machine.tags,
        "properties": versions.hide_members(properties, versions.MACHINE, version),
    }
    return _placed(shown, machine, version)


def show_status(machine: Machine, resources: ComputeResources) -> dict[str, Any]:
    """A VM with what it is doing, and little else."""
    vm = machine.vm
    return {
        "name": vm.name,
        "id": vm.resource_id,
        "type": "Microsoft.Compute/virtualMachines",
        "location": vm.location,
        "properties": {
            "vmId": vm.vm_id,
            "provisioningState": machine.provisioning_state,
            "instanceView": instance_view(machine, resources),
        },
    }


def show_availability_set(found: AvailabilitySet, resources: ComputeResources, version: str) -> dict[str, Any]:
    """An availability set, and who is in it."""
    members = [{"id": m.vm.resource_id.upper()} for m in resources.members_of(found)]
    properties = versions.hide_members(copy.deepcopy(found.properties), versions.AVAILABILITY_SET, version)
    return {
        "name": found.name,
        "id": found.resource_id,
        "type": "Microsoft.Compute/availabilitySets",
        "location": found.location,
        "tags": found.tags,
        "sku": dict(found.sku),
        "properties": {**properties, "virtualMachines": members},
    }


def _storage(scale_set: ScaleSet, machine: Machine) -> dict[str, Any]:
    """What an instance's disk was made of; an upgrade of the image gives it another one."""
    storage = copy.deepcopy(scale_set.profile.get("storageProfile") or {})
    image = {**(storage.get("imageReference") or {}), **machine.image}
    if machine.image:
        image["exactVersion"] = image["version"]
    return {
        "imageReference": image,
        "osDisk": {**(storage.get("osDisk") or {}), "name": f"{machine.name}_OsDisk_{machine.disks + 1}"},
    }
