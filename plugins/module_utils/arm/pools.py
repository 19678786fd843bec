# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The pools of load balancers and application gateways that many VMs are in.

One list of interfaces answers for all VMs of a resource group, and one for all instances of a uniform scale set. Pools
that name an address, and no interface, are not seen from here.

Source: https://learn.microsoft.com/rest/api/virtualnetwork/network-interfaces/list
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .answers import Json
from .client import ArmClient
from .ip_configurations import (
    INSTANCE_ID,
    INSTANCE_INTERFACES_API_VERSION,
    NETWORK_API_VERSION,
    ON_BALANCERS,
    ON_GATEWAYS,
    READ_INTERFACE,
    check_vm_id,
    configurations_of,
    find_ip_configurations,
    pools_of,
)


def read_vm_ids(options: Mapping[str, Any]) -> list[str]:
    """Check the option `vm_ids`.

    :raises OptionError: on the first that is no id of a VM
    """
    for vm_id in options["vm_ids"]:
        check_vm_id("vm_ids", vm_id)
    return list(options["vm_ids"])


def find_pools(client: ArmClient, vm_ids: Sequence[str]) -> tuple[list[list[str]], dict[str, list[str]]]:
    """The ids of the pools that each VM is in, and of the VMs in each of these pools.

    :returns: one list for each of the VMs, in their order; and by the id of a pool the ids of the VMs that are known to
        be in it: those of the resource groups and scale sets of `vm_ids`
    :raises ArmError: if Azure does not say
    """
    found: dict[str, list[str]] = {}
    spelled = {vm_id.lower(): vm_id for vm_id in vm_ids}
    for path, version in _lists(vm_ids):
        for interface in client.list_all(path, READ_INTERFACE, version):
            owner = ((interface.get("properties") or {}).get("virtualMachine") or {}).get("id")
            if owner:
                spelled.setdefault(str(owner).lower(), str(owner))
                found.setdefault(str(owner).lower(), []).extend(_pools_of(interface))
    for vm_id in vm_ids:
        # Its interfaces may be in another resource group.
        if vm_id.lower() not in found:
            ip_configurations = find_ip_configurations(client, vm_id)
            found[vm_id.lower()] = [pool for ip in ip_configurations for pool in (*ip.pools, *ip.gateway_pools)]
    of_vms = [list(dict.fromkeys(found[vm_id.lower()])) for vm_id in vm_ids]
    members: dict[str, dict[str, None]] = {pool: {} for of_vm in of_vms for pool in of_vm}
    keys = {pool.lower(): pool for pool in members}
    for owner, of_owner in found.items():
        for pool in of_owner:
            if pool.lower() in keys:
                members[keys[pool.lower()]][spelled[owner]] = None
    return of_vms, {pool: list(of_pool) for pool, of_pool in members.items()}


def _lists(vm_ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The lists in which the interfaces of the VMs are, with their version, each once."""
    seen = set()
    for vm_id in vm_ids:
        if INSTANCE_ID.match(vm_id):
            path, version = vm_id.rpartition("/virtualMachines/")[0], INSTANCE_INTERFACES_API_VERSION
        else:
            path = "/".join(vm_id.split("/")[:5]) + "/providers/Microsoft.Network"
            version = NETWORK_API_VERSION
        if path.lower() not in seen:
            seen.add(path.lower())
            yield path + "/networkInterfaces", version


def _pools_of(interface: Json) -> Iterator[str]:
    for configuration in configurations_of(interface):
        for where in (ON_BALANCERS, ON_GATEWAYS):
            yield from pools_of(configuration, where)
