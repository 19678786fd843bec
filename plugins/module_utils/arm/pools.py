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
from typing import Any, NamedTuple

from .answers import Json
from .client import ArmClient
from .errors import ArmError
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
    lower,
    pools_of,
)
from .members import DOWN, admin_state_of, entries_of, interface_of, only_lets_out, read_pool
from .permissions import READ_INSTANCES, READ_MACHINES
from .rollout import states_in

_OFF = ("stopping", "stopped", "deallocating", "deallocated")


class Pools(NamedTuple):
    """The pools of VMs."""

    of_vms: list[list[str]]
    """The ids of the pools of each VM that was asked for, in their order."""
    members: dict[str, list[str]]
    """By the id of a pool, the ids of the VMs that are known to be in it."""
    out_of_service: dict[str, list[str]]
    """By the id of a pool, those of its members that get no new connections: their `adminState` is `DOWN`, or they were
    not asked for, and are stopped or deallocated."""


def read_vm_ids(options: Mapping[str, Any]) -> list[str]:
    """Check the option `vm_ids`.

    :raises OptionError: on the first that is no id of a VM
    """
    for vm_id in options["vm_ids"]:
        check_vm_id("vm_ids", vm_id)
    return list(options["vm_ids"])


def find_pools(client: ArmClient, vm_ids: Sequence[str]) -> Pools:
    """Find the pools that each VM is in, and the VMs in each of these pools.

    Members are known if they are of the resource groups and scale sets of `vm_ids`.

    :raises ArmError: if Azure does not say
    """
    found: dict[str, list[str]] = {}
    spelled = {vm_id.lower(): vm_id for vm_id in vm_ids}
    owners: dict[str, str] = {}
    for path, version in _lists(vm_ids):
        for interface in client.list_all(path, READ_INTERFACE, version):
            owner = ((interface.get("properties") or {}).get("virtualMachine") or {}).get("id")
            if owner:
                spelled.setdefault(str(owner).lower(), str(owner))
                found.setdefault(str(owner).lower(), []).extend(_pools_of(interface))
                owners[str(interface.get("id")).lower()] = str(owner).lower()
    for vm_id in vm_ids:
        # Its interfaces may be in another resource group.
        if vm_id.lower() not in found:
            ip_configurations = find_ip_configurations(client, vm_id)
            found[vm_id.lower()] = [pool for ip in ip_configurations for pool in (*ip.pools, *ip.gateway_pools)]
    of_vms = [list(dict.fromkeys(found[vm_id.lower()])) for vm_id in vm_ids]
    shown = {pool: _read_pool(client, pool) for pool in dict.fromkeys(pool for of_vm in of_vms for pool in of_vm)}
    of_vms = [[pool for pool in of_vm if not only_lets_out(shown[pool])] for of_vm in of_vms]
    members: dict[str, dict[str, None]] = {pool: {} for of_vm in of_vms for pool in of_vm}
    keys = {pool.lower(): pool for pool in members}
    for owner, of_owner in found.items():
        for pool in of_owner:
            if pool.lower() in keys:
                members[keys[pool.lower()]][spelled[owner]] = None
    of_pools = {pool: list(of_pool) for pool, of_pool in members.items()}
    return Pools(of_vms, of_pools, _out_of_service(client, lower(vm_ids), of_pools, owners, shown))


def _out_of_service(
    client: ArmClient,
    known: set[str],
    members: Mapping[str, Sequence[str]],
    owners: Mapping[str, str],
    shown: Mapping[str, Json],
) -> dict[str, list[str]]:
    strangers = dict.fromkeys(one for of_pool in members.values() for one in of_pool if one.lower() not in known)
    off = {one for one in strangers if _is_off(client, one)}
    found = {}
    for pool, of_pool in members.items():
        down = _down_in(shown[pool], owners)
        absent = [one for one in of_pool if one in off or one.lower() in down]
        if absent:
            found[pool] = absent
    return found


def _is_off(client: ArmClient, vm_id: str) -> bool:
    """Whether a VM is known not to run."""
    needs = READ_INSTANCES if INSTANCE_ID.match(vm_id) else READ_MACHINES
    try:
        view = client.get(vm_id + "/instanceView", needs)
    except ArmError:
        return False
    return states_in({"instanceView": view}).get("powerstate") in _OFF


def _read_pool(client: ArmClient, pool: str) -> Json:
    """A pool of a load balancer. Empty: it is of a gateway, or cannot be read, and nothing is taken out for it."""
    if "/loadbalancers/" not in pool.lower():
        return {}
    try:
        return read_pool(client, pool)
    except ArmError:
        return {}


def _down_in(pool: Json, owners: Mapping[str, str]) -> set[str]:
    """The ids, in lower case, of the VMs that a pool of a load balancer is known to give no new connections."""
    states: dict[str, set[str]] = {}
    for entry in entries_of(pool):
        owner = owners.get(interface_of(entry).lower().partition("/ipconfigurations/")[0])
        if owner is not None:
            states.setdefault(owner, set()).add(admin_state_of(entry))
    return {owner for owner, of_owner in states.items() if of_owner == {DOWN}}


def _lists(vm_ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The lists in which the interfaces of the VMs are, with their version, each once."""
    seen = set()
    for vm_id in vm_ids:
        instance = INSTANCE_ID.match(vm_id)
        if instance:
            path, version = instance[1], INSTANCE_INTERFACES_API_VERSION
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
