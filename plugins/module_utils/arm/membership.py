# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of load_balancer_member and load_balancer_member_info.

A machine is in a pool of a load balancer because an IP configuration of its interface names the pool, or because the
pool names its address. It leaves by that being taken out, or by its `adminState` in the pool being set to Down. What
is taken out is recorded, so that exactly this can be restored.

Source: https://learn.microsoft.com/azure/load-balancer/backend-pool-management and
https://learn.microsoft.com/azure/load-balancer/admin-state-overview
"""

from __future__ import annotations

import functools
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError
from .answers import Json
from .client import ArmClient, reporting
from .errors import ArmError, OperationFailed
from .ip_configurations import (
    ADDRESS,
    GROUP,
    INSTANCE,
    INTERFACE,
    NETWORK_API_VERSION,
    IpConfiguration,
    check_pool,
    check_record,
    check_vm_id,
    find_addresses,
    find_ip_configurations,
    lower,
)
from .members import (
    DOWN,
    READ_POOL,
    address_of,
    admin_state_of,
    by_resource,
    edit,
    entries_of,
    interface_of,
    only_lets_out,
    raise_all,
    read_pool,
    restore_all,
    take_out,
)
from .records import Record

MEMBERSHIP, ADMIN_STATE = "membership", "admin_state"
METHODS = (MEMBERSHIP, ADMIN_STATE)
KINDS = (INTERFACE, INSTANCE, ADDRESS, ADMIN_STATE)
_ADMIN_STATES = ("None", "Up", DOWN)
RECORD = "azure_load_balancer"
"""The kind of the records."""
_POOL = re.compile(GROUP + r"/Microsoft\.Network/loadBalancers/[^/?#]+/backendAddressPools/[^/?#]+\Z", re.IGNORECASE)


class MemberSearch(NamedTuple):
    """Which memberships to read."""

    vm_id: str
    pools: tuple[str, ...] | None
    """None: all that the VM's interfaces name, but for those that only let it out."""
    method: str
    """One of `METHODS`: the memberships themselves, or those that are not `DOWN`."""


class Order(NamedTuple):
    """The wanted change: one of the two is None, or both, if the record says what is restored."""

    remove: MemberSearch | None
    restore: tuple[Json, ...] | None
    restore_to: str | None = None
    """The id of the only VM whose records are accepted. None: that of any VM."""


class MembershipChange(NamedTuple):
    """What was done, or in check mode would be."""

    changed: bool
    before: list[Json]
    """The records of the removed memberships, or in check mode of those to remove, for `restore`. After a failure with
    those that Azure may have removed."""
    warnings: tuple[str, ...] = ()


def read_search(options: Mapping[str, Any]) -> MemberSearch:
    """Check the options of a search.

    :raises OptionError: on the first that is wrong
    """
    vm_id = options.get("vm_id")
    if vm_id is None:
        raise OptionError("vm_id: is missing. Give the id of the VM, or of the instance")
    check_vm_id("vm_id", vm_id)
    return MemberSearch(vm_id, _read_pools(options.get("pools")), options["method"])


def read_order(options: Mapping[str, Any]) -> Order:
    """Check the options of a change.

    :raises OptionError: on the first that is wrong
    """
    restore, is_by_record = options.get("restore"), bool(options.get("as_recorded"))
    if [bool(options.get("remove")), restore is not None, is_by_record].count(True) != 1:
        raise OptionError(
            "remove, restore, as_recorded: give exactly one: remove=true, restore with the members that were removed, "
            "or as_recorded=true with their record. To only read, use load_balancer_member_info"
        )
    if is_by_record:
        return Order(None, None)
    if restore is None:
        return Order(read_search(options), None)
    vm_id, pools = options.get("vm_id"), _read_pools(options.get("pools"))
    if vm_id is not None:
        check_vm_id("vm_id", vm_id)
    records = tuple(_read_record(record) for record in restore)
    for record in records:
        if pools is not None and record["pool"].lower() not in lower(pools):
            raise OptionError("restore: %s is not one of pools, and is not joined" % record["pool"])
    return Order(None, records, vm_id)


def carry_out(client: ArmClient, order: Order, dry_run: bool = False, record: Record | None = None) -> MembershipChange:
    """Remove or restore.

    :param dry_run: decide, but change nothing
    :param record: where what was found is written down first, and what says what is restored
    :raises OptionError: if a record to be restored belongs to another VM than the one that was named, or if none can be
        written or read
    :raises Unfinished: if Azure refuses or fails after a change was made. Changes that were made before stay: the same
        order may be carried out again. If one record cannot be restored, the others are
    :raises ArmError: if Azure refuses or fails before that
    """
    if order.remove is None and order.restore is None and record is not None:
        order = Order(None, tuple(_read_record(one) for one in record.values()))
    if order.remove is None:
        return _restore(client, order, dry_run)
    before = find(client, order.remove)
    if record is not None and record.is_wanted:
        record.add_values(before, _identify)
    if not dry_run:
        _remove(client, before)
    return MembershipChange(bool(before), before)


def _read_pools(pools: Sequence[str] | None) -> tuple[str, ...] | None:
    if pools is None:
        return None
    if not pools:
        raise OptionError("pools: is empty. Name pools, or leave it out for all that the VM's interfaces name")
    for pool in pools:
        check_pool("pools", pool, _POOL, "loadBalancers")
    return tuple(pools)


def _read_record(record: Mapping[str, Any]) -> Json:
    check_record("restore", record, KINDS, _POOL, "loadBalancers")
    kind = record["kind"]
    if kind == ADMIN_STATE and record.get("admin_state") not in _ADMIN_STATES:
        raise OptionError(
            "restore: admin_state %r is not one of %s" % (record.get("admin_state"), ", ".join(_ADMIN_STATES))
        )
    if kind == ADDRESS and not record.get("entry"):
        raise OptionError("restore: entry is missing. Give the entry as the pool had it")
    return {key: value for key, value in record.items() if value is not None}


def _identify(record: Json) -> Hashable:
    """What tells a membership from another one, however it was when it was seen."""
    parts = ("kind", "pool", "resource", "interface", "ip_configuration", "address")
    return (*(str(record.get(part) or "").lower() for part in parts), address_of(record.get("entry") or {}))


def find(client: ArmClient, search: MemberSearch) -> list[Json]:
    """Read by which records the machine is in the pools.

    :raises ArmError: if Azure refuses or fails
    """
    vm_id = search.vm_id
    ip_configurations = list(find_ip_configurations(client, vm_id))
    shown: dict[str, Json] = {}
    if search.pools is None:
        joined = dict.fromkeys(pool for ip in ip_configurations for pool in ip.pools)
        shown = {pool: _read_pool(client, pool) for pool in joined}
    pools = search.pools or [pool for pool in shown if not only_lets_out(shown[pool])]
    named = lower(pools)
    if search.method == MEMBERSHIP:
        found = [
            {
                "kind": ip.kind,
                "pool": pool,
                "resource": ip.resource,
                "interface": ip.interface,
                "ip_configuration": ip.name,
            }
            for ip in ip_configurations
            for pool in ip.pools
            if pool.lower() in named
        ]
        by_interface = lower(record["pool"] for record in found)
        for pool in search.pools or ():
            if pool.lower() not in by_interface:
                found += _entries_by_address(client, vm_id, ip_configurations, pool)
        return found
    found = []
    for pool in pools:
        document = shown.get(pool) or client.get(pool, READ_POOL, NETWORK_API_VERSION)
        found += _entries_in_service(client, vm_id, ip_configurations, pool, document)
    return found


def _read_pool(client: ArmClient, pool: str) -> Json:
    """A pool. Empty: it cannot be read, and may serve clients."""
    try:
        return read_pool(client, pool)
    except ArmError as error:
        if error.status not in (400, 403, 404):
            raise
        # The right to leave it does not include the right to read it, and a cloud may not have the api-version.
        return {}


def _entries_by_address(
    client: ArmClient, vm_id: str, ip_configurations: Sequence[IpConfiguration], pool: str
) -> Iterator[Json]:
    shown = client.get(pool, READ_POOL, NETWORK_API_VERSION)
    candidates = [entry for entry in entries_of(shown) if address_of(entry) and not interface_of(entry)]
    if candidates:
        addresses = find_addresses(client, vm_id, ip_configurations)
        for entry in candidates:
            if address_of(entry) in addresses:
                yield {"kind": ADDRESS, "pool": pool, "resource": vm_id, "entry": entry}


def _entries_in_service(
    client: ArmClient, vm_id: str, ip_configurations: Sequence[IpConfiguration], pool: str, shown: Json
) -> Iterator[Json]:
    owners = lower([vm_id + "/networkInterfaces/", *(ip.resource + "/" for ip in ip_configurations)])
    addresses: set[str] | None = None
    for entry in entries_of(shown):
        where = interface_of(entry)
        if where:
            is_ours = where.lower().startswith(tuple(owners))
        else:
            if addresses is None:
                addresses = find_addresses(client, vm_id, ip_configurations)
            is_ours = address_of(entry) in addresses
        state = admin_state_of(entry)
        if is_ours and state != DOWN:
            yield {
                "kind": ADMIN_STATE,
                "pool": pool,
                "resource": vm_id,
                "ip_configuration": where,
                "address": "" if where else address_of(entry),
                "admin_state": state,
            }


def _remove(client: ArmClient, records: Iterable[Json]) -> None:
    removed: list[Json] = []
    ours: list[Json] = []
    has_failed = False

    def so_far() -> MembershipChange | None:
        before = [*removed, *(ours if has_failed or client.may_have_begun else [])]
        return MembershipChange(bool(removed), before) if before else None

    with reporting(client, so_far):
        for kind, resource, ours in by_resource(records):
            try:
                edit(client, kind, resource, [functools.partial(take_out, record) for record in ours])
            except OperationFailed:
                # What was accepted is what Azure shows, whatever became of the operation.
                has_failed = True
                raise
            removed += ours


def _restore(client: ArmClient, order: Order, dry_run: bool) -> MembershipChange:
    records = order.restore or ()
    if order.restore_to is not None:
        own = lower([order.restore_to])
        if any(record["kind"] == INTERFACE for record in records):
            own |= lower(ip.resource for ip in find_ip_configurations(client, order.restore_to))
        for record in records:
            if str(record.get("resource")).lower() not in own:
                raise OptionError(
                    "restore: %s does not belong to the VM %s" % (record.get("resource"), order.restore_to)
                )
    changed = False
    warnings: list[str] = []
    failures: list[ArmError] = []

    def so_far() -> MembershipChange:
        return MembershipChange(changed, [], tuple(dict.fromkeys(warnings)))

    with reporting(client, lambda: so_far() if changed else None):
        for one in restore_all(client, records, failures, warnings, dry_run):
            changed |= one
        raise_all(failures)
    return so_far()
