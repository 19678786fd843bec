# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What does load_balancer_member do, from start to end?

A machine is in a pool of a load balancer because an IP configuration of its interface names the pool, or because the
pool names its address. It leaves by that being taken out, or by its `adminState` in the pool being set to Down. What
is taken out is recorded, so that exactly this can be restored.

Source: https://learn.microsoft.com/azure/load-balancer/backend-pool-management and
https://learn.microsoft.com/azure/load-balancer/admin-state-overview
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError
from .answers import Json
from .client import COMPUTE_API_VERSION, ArmClient, Permission, Write
from .errors import ArmError

# Old enough for clouds that lag behind, and it knows adminState (since 2021-08-01).
NETWORK_API_VERSION = "2024-05-01"
# The interfaces of a scale set's instances are Compute's, in versions of Network's; this is their last.
INSTANCE_INTERFACES_API_VERSION = "2018-10-01"

MEMBERSHIP, ADMIN_STATE = "membership", "admin_state"
METHODS = (MEMBERSHIP, ADMIN_STATE)

INTERFACE, INSTANCE, ADDRESS = "interface", "instance", "address"
KINDS = (INTERFACE, INSTANCE, ADDRESS, ADMIN_STATE)

ON_BALANCERS, ON_GATEWAYS = "loadBalancerBackendAddressPools", "applicationGatewayBackendAddressPools"
"""Where an IP configuration names its pools: those of load balancers, and those of application gateways."""

_DOWN = "Down"
_ADMIN_STATES = ("None", "Up", _DOWN)

GROUP = r"/subscriptions/[^/?#]+/resourceGroups/[^/?#]+/providers"
_POOL = re.compile(GROUP + r"/Microsoft\.Network/loadBalancers/[^/?#]+/backendAddressPools/[^/?#]+\Z", re.IGNORECASE)
INTERFACE_ID = re.compile(GROUP + r"/Microsoft\.Network/networkInterfaces/[^/?#]+\Z", re.IGNORECASE)
VM_ID = re.compile(GROUP + r"/Microsoft\.Compute/virtualMachines/[^/?#]+\Z", re.IGNORECASE)
INSTANCE_ID = re.compile(
    GROUP + r"/Microsoft\.Compute/virtualMachineScaleSets/[^/?#]+/virtualMachines/[0-9]+\Z", re.IGNORECASE
)

_NETWORK_ROLE = "Network Contributor"
_COMPUTE_ROLE = "Virtual Machine Contributor"
_READ_VM = Permission("Microsoft.Compute/virtualMachines/read", "Reader")
_READ_INSTANCE = Permission("Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read", "Reader")
_WRITE_INSTANCE = Permission("Microsoft.Compute/virtualMachineScaleSets/virtualMachines/write", _COMPUTE_ROLE)
READ_INTERFACE = Permission("Microsoft.Network/networkInterfaces/read", "Reader")
_WRITE_INTERFACE = Permission("Microsoft.Network/networkInterfaces/write", _NETWORK_ROLE)
_READ_POOL = Permission("Microsoft.Network/loadBalancers/backendAddressPools/read", "Reader")
_WRITE_POOL = Permission("Microsoft.Network/loadBalancers/backendAddressPools/write", _NETWORK_ROLE)

# What the service works out itself.
_NOT_TO_BE_SENT = (
    "provisioningState",
    "backendIPConfigurations",
    "loadBalancingRules",
    "outboundRule",
    "outboundRules",
    "inboundNatRules",
    "inboundNatRulesPortMapping",
    "networkInterfaceIPConfiguration",
)


class Order(NamedTuple):
    """What is to be done."""

    vm_id: str | None
    """None: `restore` says all."""
    pools: tuple[str, ...] | None
    """None: all that its interfaces name."""
    method: str
    remove: bool
    restore: tuple[Json, ...] | None
    """None, and nothing to remove: only read."""


class MembershipChange(NamedTuple):
    """What was done, or in check mode would be."""

    changed: bool
    before: list[Json]
    """What was, or would be, taken out, for `restore`."""
    warnings: tuple[str, ...] = ()


def read_order(options: Mapping[str, Any]) -> Order:
    """Check the options.

    :raises OptionError: on the first that cannot be meant
    """
    vm_id, pools, restore = options.get("vm_id"), options.get("pools"), options.get("restore")
    if vm_id is not None:
        check_vm_id("vm_id", vm_id)
    if pools is not None and not pools:
        raise OptionError("pools: is empty. Name pools, or leave it out for all that the VM's interfaces name")
    for pool in pools or ():
        _check_pool("pools", pool)
    if vm_id is None and restore is None:
        raise OptionError("vm_id, restore: give one of them at least: which VM, or what was found before")
    if restore is not None and options.get("remove"):
        raise OptionError("restore: does not go with remove. Leave out one of them")
    records = None if restore is None else tuple(_read_record(record) for record in restore)
    order = Order(
        vm_id, None if pools is None else tuple(pools), options["method"], bool(options.get("remove")), records
    )
    if pools is not None:
        named = lower(pools)
        for record in records or ():
            if record["pool"].lower() not in named:
                raise OptionError("restore: %s is not one of pools, and is not joined" % record["pool"])
    return order


def carry_out(client: ArmClient, order: Order, dry_run: bool = False) -> MembershipChange:
    """Do what is ordered.

    :param dry_run: decide, but change nothing
    :raises OptionError: if something is to be restored that is not of the VM which was named
    :raises ArmError: if that fails. What was changed before stays so: the same order may be carried out again. What can
        be restored is, also where something else cannot
    """
    if order.restore is not None:
        return _restore(client, order, dry_run)
    if order.vm_id is None:
        raise AssertionError("an order names a VM, or restores a record that does")
    before = _find(client, order)
    if order.remove and not dry_run:
        _remove(client, before)
    return MembershipChange(bool(order.remove and before), before)


def check_vm_id(option: str, vm_id: str) -> None:
    """Refuse what is no id of a VM, or of an instance of a uniform scale set.

    :raises OptionError: if it is none
    """
    if not (VM_ID.match(vm_id) or INSTANCE_ID.match(vm_id)):
        raise OptionError(
            "%s: %r is not the id of a VM, which is /subscriptions/…/resourceGroups/…/providers/Microsoft.Compute/"
            "virtualMachines/NAME, or …/virtualMachineScaleSets/NAME/virtualMachines/ID" % (option, vm_id)
        )


def _check_pool(option: str, pool: Any) -> None:
    if not isinstance(pool, str) or not _POOL.match(pool):
        raise OptionError(
            "%s: %r is not the id of a pool, which is /subscriptions/…/resourceGroups/…/providers/Microsoft.Network/"
            "loadBalancers/NAME/backendAddressPools/NAME" % (option, pool)
        )


def _read_record(record: Mapping[str, Any]) -> Json:
    kind = record.get("kind")
    if kind not in KINDS:
        raise OptionError("restore: kind %r is not one of %s" % (kind, ", ".join(KINDS)))
    _check_pool("restore: pool", record.get("pool"))
    resource = record.get("resource") or ""
    expected = {INTERFACE: INTERFACE_ID, INSTANCE: INSTANCE_ID}.get(kind)
    if expected is not None and not expected.match(resource):
        raise OptionError("restore: resource %r is not the id of an %s" % (resource, kind))
    if kind == ADMIN_STATE and record.get("admin_state") not in _ADMIN_STATES:
        raise OptionError(
            "restore: admin_state %r is not one of %s" % (record.get("admin_state"), ", ".join(_ADMIN_STATES))
        )
    if kind == ADDRESS and not record.get("entry"):
        raise OptionError("restore: entry is missing: what was in the pool?")
    return {key: value for key, value in record.items() if value is not None}


# -- where the machine is -----------------------------------------------------------------------------------


class Seat(NamedTuple):
    """An IP configuration of the machine."""

    kind: str
    resource: str
    """The id of what is written to change it."""
    interface: str
    """The name of the interface; of an instance, whose model has several."""
    name: str
    address: str
    """Private; empty: not known from here."""
    pools: tuple[str, ...]
    """Of load balancers."""
    gateway_pools: tuple[str, ...]


def _find(client: ArmClient, order: Order) -> list[Json]:
    """What has to be taken out, so that the machine is in none of the pools."""
    vm_id = str(order.vm_id)
    seats = list(find_seats(client, vm_id))
    named = None if order.pools is None else lower(order.pools)
    if order.method == MEMBERSHIP:
        found = [
            {
                "kind": seat.kind,
                "pool": pool,
                "resource": seat.resource,
                "interface": seat.interface,
                "ip_configuration": seat.name,
            }
            for seat in seats
            for pool in seat.pools
            if named is None or pool.lower() in named
        ]
        by_interface = lower(record["pool"] for record in found)
        for pool in order.pools or ():
            if pool.lower() not in by_interface:
                found += _entries_by_address(client, vm_id, seats, pool)
        return found
    pools = order.pools or list(dict.fromkeys(pool for seat in seats for pool in seat.pools))
    return [record for pool in pools for record in _entries_in_service(client, vm_id, seats, pool)]


def find_seats(client: ArmClient, vm_id: str) -> Iterator[Seat]:
    if INSTANCE_ID.match(vm_id):
        yield from _seats_of_instance(client.get(vm_id, _READ_INSTANCE), vm_id)
        return
    profile = (client.get(vm_id, _READ_VM).get("properties") or {}).get("networkProfile") or {}
    for reference in profile.get("networkInterfaces") or []:
        interface = client.get(str(reference["id"]), READ_INTERFACE, NETWORK_API_VERSION)
        for configuration in configurations_of(interface):
            properties = configuration.get("properties") or {}
            yield Seat(
                INTERFACE,
                str(reference["id"]),
                "",
                str(configuration.get("name")),
                str(properties.get("privateIPAddress") or ""),
                pools_of(configuration, ON_BALANCERS),
                pools_of(configuration, ON_GATEWAYS),
            )


def _seats_of_instance(instance: Json, vm_id: str) -> Iterator[Seat]:
    for interface in _interfaces_of_model(instance):
        for configuration in configurations_of(interface):
            yield Seat(
                INSTANCE,
                vm_id,
                str(interface.get("name")),
                str(configuration.get("name")),
                "",
                pools_of(configuration, ON_BALANCERS),
                pools_of(configuration, ON_GATEWAYS),
            )


def _interfaces_of_model(instance: Json) -> list[Json]:
    network = (instance.get("properties") or {}).get("networkProfileConfiguration") or {}
    return list(network.get("networkInterfaceConfigurations") or [])


def configurations_of(interface: Json) -> list[Json]:
    """The IP configurations of an interface, as Network or Compute shows it."""
    return list((interface.get("properties") or {}).get("ipConfigurations") or [])


def pools_of(configuration: Json, where: str) -> tuple[str, ...]:
    """The ids of the pools that an IP configuration names, `ON_BALANCERS` or `ON_GATEWAYS`."""
    properties = configuration.get("properties") or {}
    return tuple(str(pool["id"]) for pool in properties.get(where) or [])


def find_addresses(client: ArmClient, vm_id: str, seats: Sequence[Seat]) -> set[str]:
    """The private addresses of the machine."""
    if not INSTANCE_ID.match(vm_id):
        return {seat.address for seat in seats if seat.address}
    listed = client.list_all(vm_id + "/networkInterfaces", READ_INTERFACE, INSTANCE_INTERFACES_API_VERSION)
    return {
        str((configuration.get("properties") or {}).get("privateIPAddress"))
        for interface in listed
        for configuration in configurations_of(interface)
        if (configuration.get("properties") or {}).get("privateIPAddress")
    }


def _entries(pool: Json) -> list[Json]:
    return list((pool.get("properties") or {}).get("loadBalancerBackendAddresses") or [])


def _by_interface(entry: Json) -> str:
    """The IP configuration that an entry of a pool stands for; empty for one that is an address of its own."""
    reference = (entry.get("properties") or {}).get("networkInterfaceIPConfiguration") or {}
    return str(reference.get("id") or "")


def _address_of(entry: Json) -> str:
    return str((entry.get("properties") or {}).get("ipAddress") or "")


def _entries_by_address(client: ArmClient, vm_id: str, seats: Sequence[Seat], pool: str) -> Iterator[Json]:
    shown = client.get(pool, _READ_POOL, NETWORK_API_VERSION)
    candidates = [entry for entry in _entries(shown) if _address_of(entry) and not _by_interface(entry)]
    if candidates:
        addresses = find_addresses(client, vm_id, seats)
        for entry in candidates:
            if _address_of(entry) in addresses:
                yield {"kind": ADDRESS, "pool": pool, "resource": vm_id, "entry": entry}


def _entries_in_service(client: ArmClient, vm_id: str, seats: Sequence[Seat], pool: str) -> Iterator[Json]:
    shown = client.get(pool, _READ_POOL, NETWORK_API_VERSION)
    owners = lower([vm_id + "/networkInterfaces/", *(seat.resource + "/" for seat in seats)])
    addresses: set[str] | None = None
    for entry in _entries(shown):
        where = _by_interface(entry)
        if where:
            is_ours = where.lower().startswith(tuple(owners))
        else:
            if addresses is None:
                addresses = find_addresses(client, vm_id, seats)
            is_ours = _address_of(entry) in addresses
        state = _admin_state(entry)
        if is_ours and state != _DOWN:
            yield {
                "kind": ADMIN_STATE,
                "pool": pool,
                "resource": vm_id,
                "ip_configuration": where,
                "address": "" if where else _address_of(entry),
                "admin_state": state,
            }


def _admin_state(entry: Json) -> str:
    return str((entry.get("properties") or {}).get("adminState") or "None")


# -- out and back -------------------------------------------------------------------------------------------


def _remove(client: ArmClient, records: Iterable[Json]) -> None:
    for kind, resource, ours in by_resource(records):
        edit(client, kind, resource, [functools.partial(take_out, record) for record in ours])


def _restore(client: ArmClient, order: Order, dry_run: bool) -> MembershipChange:
    records = order.restore or ()
    if order.vm_id is not None:
        own = lower([order.vm_id])
        if any(record["kind"] == INTERFACE for record in records):
            own |= lower(seat.resource for seat in find_seats(client, order.vm_id))
        for record in records:
            if str(record.get("resource")).lower() not in own:
                raise OptionError("restore: %s is not of the VM %s" % (record.get("resource"), order.vm_id))
    changed = False
    warnings: list[str] = []
    failures: list[ArmError] = []
    for kind, resource, ours in by_resource(records):
        changes = [functools.partial(put_back, warnings, record) for record in ours]
        try:
            changed |= edit(client, kind, resource, changes, dry_run)
        except ArmError as error:
            # What became of one pool keeps the machine out of no other.
            failures.append(error)
    if len(failures) > 1:
        raise ArmError("; ".join(dict.fromkeys(map(str, failures)))) from failures[0]
    if failures:
        raise failures[0]
    return MembershipChange(changed, [], tuple(dict.fromkeys(warnings)))


def by_resource(records: Iterable[Json]) -> Iterator[tuple[str, str, list[Json]]]:
    """What is written in one go: kind, id and records."""
    grouped: dict[tuple[str, str], list[Json]] = {}
    ids: dict[tuple[str, str], str] = {}
    for record in records:
        kind = record["kind"] if record["kind"] in (INTERFACE, INSTANCE) else "pool"
        written = record["pool"] if kind == "pool" else record["resource"]
        key = (kind, written.lower())
        ids.setdefault(key, written)
        grouped.setdefault(key, []).append(record)
    for key, ours in grouped.items():
        yield key[0], ids[key], ours


def edit(
    client: ArmClient, kind: str, path: str, changes: Sequence[Callable[[Json], bool]], dry_run: bool = False
) -> bool:
    """Read, change and write a resource; False if it was as it should be."""
    read, write, api_version = {
        INTERFACE: (READ_INTERFACE, _WRITE_INTERFACE, NETWORK_API_VERSION),
        INSTANCE: (_READ_INSTANCE, _WRITE_INSTANCE, COMPUTE_API_VERSION),
        "pool": (_READ_POOL, _WRITE_POOL, NETWORK_API_VERSION),
    }[kind]

    def plan(document: Json, etag: str | None) -> tuple[bool, Write]:
        outcomes = [change_one(document) for change_one in changes]
        if not any(outcomes) or dry_run:
            return any(outcomes), None
        body = _body(kind, document)
        return True, lambda: client.write("PUT", path, body, etag, write, api_version=api_version)

    is_changed, _answer = client.edit(path, read, plan, api_version)
    return is_changed


def _body(kind: str, document: Json) -> Json:
    if kind == INSTANCE:
        # What a PUT of an instance leaves out of its properties stays; so nothing is sent that is only echoed.
        properties = {"networkProfileConfiguration": document["properties"]["networkProfileConfiguration"]}
        return {**{key: document[key] for key in ("location", "tags") if key in document}, "properties": properties}
    properties = {key: value for key, value in document["properties"].items() if key not in _NOT_TO_BE_SENT}
    if kind == "pool":
        properties["loadBalancerBackendAddresses"] = [_entry_to_send(entry) for entry in _entries(document)]
    kept = {key: value for key, value in document.items() if key not in ("etag", "type")}
    return {**kept, "properties": properties}


def _entry_to_send(entry: Json) -> Json:
    properties = entry.get("properties") or {}
    kept = {key: value for key, value in properties.items() if key not in _NOT_TO_BE_SENT}
    return {"name": entry.get("name"), "properties": kept}


def take_out(record: Json, document: Json) -> bool:
    if record["kind"] in (INTERFACE, INSTANCE):
        changed = False
        for configuration in _find_configurations(document, record):
            pools = configuration["properties"].get(_where(record)) or []
            staying = [pool for pool in pools if pool["id"].lower() != record["pool"].lower()]
            changed |= len(staying) < len(pools)
            configuration["properties"][_where(record)] = staying
        return changed
    entries = _entries(document)
    if record["kind"] == ADDRESS:
        staying = [one for one in entries if _by_interface(one) or _address_of(one) != _address_of(record["entry"])]
        document["properties"]["loadBalancerBackendAddresses"] = staying
        return len(staying) < len(entries)
    return _set_admin_states([entry for entry in entries if _is_meant(entry, record)], _DOWN)


def put_back(warnings: list[str], record: Json, document: Json) -> bool:
    if record["kind"] in (INTERFACE, INSTANCE):
        found = _find_configurations(document, record)
        if not found:
            raise ArmError(
                "%s has no IP configuration %r any more, which was in %s. Put it in the pool by hand"
                % (record["resource"], record.get("ip_configuration"), record["pool"])
            )
        changed = False
        for configuration in found:
            pools = list(configuration["properties"].get(_where(record)) or [])
            if record["pool"].lower() not in lower(pool["id"] for pool in pools):
                pools.append({"id": record["pool"]})
                changed = True
            configuration["properties"][_where(record)] = pools
        return changed
    entries = _entries(document)
    if record["kind"] == ADDRESS:
        if any(_address_of(entry) == _address_of(record["entry"]) for entry in entries):
            return False
        document["properties"]["loadBalancerBackendAddresses"] = [*entries, record["entry"]]
        return True
    ours = [entry for entry in entries if _is_meant(entry, record)]
    if not ours:
        warnings.append("the VM is not in %s any more: there is no adminState to be set back" % record["pool"])
    return _set_admin_states(ours, record["admin_state"])


def _where(record: Json) -> str:
    return ON_GATEWAYS if "/applicationgateways/" in record["pool"].lower() else ON_BALANCERS


def _find_configurations(document: Json, record: Json) -> list[Json]:
    if record["kind"] == INSTANCE:
        interfaces = [one for one in _interfaces_of_model(document) if one.get("name") == record.get("interface")]
    else:
        interfaces = [document]
    found = [
        configuration
        for interface in interfaces
        for configuration in configurations_of(interface)
        if configuration.get("name") == record.get("ip_configuration")
    ]
    for configuration in found:
        configuration.setdefault("properties", {})
    return found


def _is_meant(entry: Json, record: Json) -> bool:
    where = _by_interface(entry)
    if where:
        return where.lower() == str(record.get("ip_configuration")).lower()
    return bool(record.get("address")) and _address_of(entry) == record["address"]


def _set_admin_states(entries: Iterable[Json], state: str) -> bool:
    changed = False
    for entry in entries:
        if _admin_state(entry) != state:
            entry.setdefault("properties", {})["adminState"] = state
            changed = True
    return changed


def lower(texts: Iterable[str]) -> set[str]:
    return {text.lower() for text in texts}
