# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instance metadata: what a VM learns about itself, as each api-version shows it."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any, Union

from .machines import VmConfig
from .world import Scope

VERSIONS = (
    "2017-03-01",
    "2017-04-02",
    "2017-08-01",
    "2017-10-01",
    "2017-12-01",
    "2018-02-01",
    "2018-04-02",
    "2018-10-01",
    "2019-02-01",
    "2019-03-11",
    "2019-04-30",
    "2019-06-01",
    "2019-06-04",
    "2019-08-01",
    "2019-08-15",
    "2019-11-01",
    "2020-06-01",
    "2020-07-15",
    "2020-09-01",
    "2020-10-01",
    "2020-12-01",
    "2021-01-01",
    "2021-02-01",
    "2021-03-01",
    "2021-05-01",
    "2021-08-01",
    "2021-10-01",
    "2021-11-01",
    "2021-11-15",
    "2021-12-13",
    "2023-07-01",
    "2023-11-15",
    "2024-03-15",
    "2024-07-17",
    "2025-04-07",
)
"""The api-versions of everything but scheduled events, oldest first."""

Tree = Union[str, dict[str, Any], list[Any]]

_COMPUTE_SINCE = {
    "additionalCapabilities": "2021-11-01",
    "azEnvironment": "2018-10-01",
    "customData": "2019-02-01",
    "evictionPolicy": "2020-12-01",
    "extendedLocation": "2021-03-01",
    "host": "2021-11-15",
    "hostGroup": "2021-11-15",
    "isHostCompatibilityLayerVm": "2020-06-01",
    "licenseType": "2020-09-01",
    "osProfile": "2020-07-15",
    "physicalZone": "2023-11-15",
    "placementGroupId": "2017-08-01",
    "plan": "2018-04-02",
    "platformSubFaultDomain": "2021-10-01",
    "priority": "2020-12-01",
    "provider": "2018-10-01",
    "publicKeys": "2018-04-02",
    "resourceGroupName": "2017-08-01",
    "resourceId": "2019-03-11",
    "securityProfile": "2020-06-01",
    "storageProfile": "2019-06-01",
    "subscriptionId": "2017-08-01",
    "tags": "2017-08-01",
    "tagsList": "2019-06-04",
    "userData": "2021-01-01",
    "virtualMachineScaleSet": "2021-03-01",
    "vmScaleSetName": "2017-12-01",
    "zone": "2017-12-01",
}
"""The api-version that brought each field of ``compute``; the others were there from the beginning."""

_DETAIL_SINCE = {
    ("osProfile", "disablePasswordAuthentication"): "2020-10-01",
    ("securityProfile", "encryptionAtHost"): "2021-11-01",
    ("securityProfile", "securityType"): "2021-12-13",
    ("storageProfile", "resourceDisk"): "2021-02-01",
}


def tree(vm: VmConfig, scope: Scope, version: str) -> dict[str, Any]:
    """The whole of /metadata/instance; every value is a text, those that do not apply are empty."""
    compute = {name: value for name, value in _compute(vm, scope).items() if version >= _COMPUTE_SINCE.get(name, "")}
    for (name, detail), since in _DETAIL_SINCE.items():
        if version < since and name in compute:
            del compute[name][detail]
    return {"compute": compute, "network": _network(vm)}


def walk(root: Tree, keys: Sequence[str]) -> Tree | None:
    """What lies below ``keys``: names in objects, numbers in lists. None when nothing does."""
    node: Tree | None = root
    for key in keys:
        if isinstance(node, dict):
            node = node.get(key)
        elif isinstance(node, list):
            node = node[int(key)] if key.isdecimal() and int(key) < len(node) else None
        else:
            return None
    return node


def as_text(node: Tree) -> str:
    """``format=text``: a value as it is; of an object or list what one may ask for next, a line each."""
    if isinstance(node, str):
        return node
    if isinstance(node, dict):
        return "\n".join(name if isinstance(value, str) else f"{name}/" for name, value in node.items())
    return "\n".join(str(number) if isinstance(value, str) else f"{number}/" for number, value in enumerate(node))


def _compute(vm: VmConfig, scope: Scope) -> dict[str, Any]:
    group = f"/subscriptions/{vm.subscription_id}/resourceGroups/{vm.resource_group}/providers/Microsoft.Compute"
    windows = vm.os_type == "Windows"
    flexible = vm.scale_set and vm.instance_number is None
    image = {
        "publisher": "MicrosoftWindowsServer" if windows else "Canonical",
        "offer": "WindowsServer" if windows else "ubuntu-24_04-lts",
        "sku": "2022-datacenter" if windows else "server",
    }
    return {
        "additionalCapabilities": {"hibernationEnabled": "false"},
        "azEnvironment": "AzurePublicCloud",
        "customData": "",
        "evictionPolicy": "Delete" if vm.spot else "",
        "extendedLocation": {"name": "", "type": ""},
        "host": {"id": ""},
        "hostGroup": {"id": ""},
        "isHostCompatibilityLayerVm": "false",
        "licenseType": "",
        "location": vm.location,
        "name": vm.name,
        "offer": image["offer"],
        "osProfile": {
            "adminUsername": "azureuser",
            "computerName": vm.computer_name,
            "disablePasswordAuthentication": "" if windows else "true",
        },
        "osType": vm.os_type,
        "physicalZone": f"{vm.location}-az{vm.zone}" if vm.zone else "",
        "placementGroupId": vm.placement_group or (scope.key if vm.scale_set else ""),
        "plan": {"name": "", "product": "", "publisher": ""},
        "platformFaultDomain": str(vm.fault_domain),
        "platformSubFaultDomain": "",
        "platformUpdateDomain": str(vm.update_domain),
        "priority": "Spot" if vm.spot else ("Regular" if vm.scale_set else ""),
        "provider": "Microsoft.Compute",
        "publicKeys": [],
        "publisher": image["publisher"],
        "resourceGroupName": vm.resource_group,
        "resourceId": vm.resource_id,
        "securityProfile": {
            "encryptionAtHost": "false",
            "secureBootEnabled": "true",
            "securityType": "TrustedLaunch",
            "virtualTpmEnabled": "true",
        },
        "sku": image["sku"],
        "storageProfile": {
            "dataDisks": [],
            "imageReference": {"id": "", "version": "latest", **image},
            "osDisk": {
                "caching": "ReadWrite",
                "createOption": "FromImage",
                "diskSizeGB": "30",
                "managedDisk": {
                    "id": f"{group}/disks/{vm.name}_OsDisk",
                    "storageAccountType": "Premium_LRS",
                },
                "name": f"{vm.name}_OsDisk",
                "osType": vm.os_type,
                "writeAcceleratorEnabled": "false",
            },
            "resourceDisk": {"size": "0"},
        },
        "subscriptionId": vm.subscription_id,
        "tags": ";".join(f"{name}:{value}" for name, value in vm.tags.items()),
        "tagsList": [{"name": name, "value": value} for name, value in vm.tags.items()],
        "userData": "",
        "version": "latest",
        "virtualMachineScaleSet": {"id": f"{group}/virtualMachineScaleSets/{vm.scale_set}" if flexible else ""},
        "vmId": vm.vm_id,
        "vmScaleSetName": vm.scale_set,
        "vmSize": vm.vm_size,
        "zone": vm.zone,
    }


def _network(vm: VmConfig) -> dict[str, Any]:
    version = ipaddress.ip_address(vm.address).version
    prefix = {4: 24, 6: 64}[version]
    subnet = ipaddress.ip_network(f"{vm.address}/{prefix}", strict=False).network_address
    interface: dict[str, Any] = {
        "ipv4": {"ipAddress": [], "subnet": []},
        "ipv6": {"ipAddress": []},
        "macAddress": vm.mac_address,
    }
    if version == 4:
        interface["ipv4"]["ipAddress"].append({"privateIpAddress": vm.address, "publicIpAddress": ""})
        interface["ipv4"]["subnet"].append({"address": str(subnet), "prefix": str(prefix)})
    else:
        interface["ipv6"]["ipAddress"].append({"privateIpAddress": vm.address})
    return {"interface": [interface]}
