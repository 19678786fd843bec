# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Takes a member out of a pool, and restores it exactly as it was.

By its IP configuration, which names its pools; by an entry of the pool, which names its address; or by the `adminState`
of that entry. Records tell which, as `load_balancer_member` and `application_gateway_member` return them.

Source: https://learn.microsoft.com/azure/load-balancer/backend-pool-management and
https://learn.microsoft.com/azure/load-balancer/admin-state-overview
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

from .answers import Json, has_failed
from .client import COMPUTE_API_VERSION, ArmClient, Permission, Write
from .errors import ArmError, OperationFailed, OutOfTime
from .ip_configurations import (
    ADDRESS,
    INSTANCE,
    INTERFACE,
    NETWORK_API_VERSION,
    ON_BALANCERS,
    ON_GATEWAYS,
    READ_INTERFACE,
    canonical,
    configurations_of,
    interfaces_of_model,
    lower,
)
from .permissions import READ_INSTANCES

DOWN = "Down"

_NETWORK_ROLE = "Network Contributor"
_COMPUTE_ROLE = "Virtual Machine Contributor"
_WRITE_INSTANCE = Permission("Microsoft.Compute/virtualMachineScaleSets/virtualMachines/write", _COMPUTE_ROLE)
_WRITE_INTERFACE = Permission("Microsoft.Network/networkInterfaces/write", _NETWORK_ROLE)
READ_POOL = Permission("Microsoft.Network/loadBalancers/backendAddressPools/read", "Reader")
_READ_BALANCER = Permission("Microsoft.Network/loadBalancers/read", "Reader")
_WRITE_POOL = Permission("Microsoft.Network/loadBalancers/backendAddressPools/write", _NETWORK_ROLE)

# Read-only parts.
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


def entries_of(pool: Json) -> list[Json]:
    return list((pool.get("properties") or {}).get("loadBalancerBackendAddresses") or [])


def read_pool(client: ArmClient, pool: str) -> Json:
    """A pool of a load balancer, as its balancer shows it where it may not be read itself.

    Virtual Machine Contributor may join a pool, and read the balancer, not the pool.

    :raises ArmError: if Azure does not say
    """
    try:
        return client.get(pool, READ_POOL, NETWORK_API_VERSION)
    except ArmError as error:
        if error.status != 403:
            raise
    balancer, _kind, name = pool.rsplit("/", 2)
    shown = client.get(balancer, _READ_BALANCER, NETWORK_API_VERSION).get("properties") or {}
    pools: dict[str, Json] = {str(one.get("name")).lower(): one for one in shown.get("backendAddressPools") or []}
    return pools.get(name.lower(), {})


def only_lets_out(pool: Json) -> bool:
    """Whether a pool serves outbound rules alone: who leaves it loses no client, but the way out.

    Source: https://learn.microsoft.com/azure/load-balancer/egress-only
    """
    rules = pool.get("properties") or {}
    return bool(rules.get("outboundRules")) and not (rules.get("loadBalancingRules") or rules.get("inboundNatRules"))


def interface_of(entry: Json) -> str:
    """The IP configuration of an entry of a pool. Empty for an entry that is an address."""
    reference = (entry.get("properties") or {}).get("networkInterfaceIPConfiguration") or {}
    return str(reference.get("id") or "")


def address_of(entry: Json) -> str:
    return canonical(str((entry.get("properties") or {}).get("ipAddress") or ""))


def admin_state_of(entry: Json) -> str:
    return str((entry.get("properties") or {}).get("adminState") or "None")


def by_resource(records: Iterable[Json]) -> Iterator[tuple[str, str, list[Json]]]:
    """One resource to write: kind, id and records."""
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
    """Read, change and write a resource; also as it is, if Network could not put it into effect. False if it needed
    neither."""
    read, write, api_version = {
        INTERFACE: (READ_INTERFACE, _WRITE_INTERFACE, NETWORK_API_VERSION),
        INSTANCE: (READ_INSTANCES, _WRITE_INSTANCE, COMPUTE_API_VERSION),
        "pool": (READ_POOL, _WRITE_POOL, NETWORK_API_VERSION),
    }[kind]

    def plan(document: Json, etag: str | None) -> tuple[bool, Write]:
        outcomes = [change_one(document) for change_one in changes]
        is_wanted = any(outcomes) or (kind != INSTANCE and has_failed(document))
        if not is_wanted or dry_run:
            return is_wanted, None
        body = _body(kind, document)
        return True, lambda: client.write("PUT", path, body, etag, write, api_version=api_version)

    is_changed, _answer = client.edit(path, read, plan, api_version)
    return is_changed


def _body(kind: str, document: Json) -> Json:
    if kind == INSTANCE:
        # A PUT of an instance keeps the properties that it leaves out, so read-only ones need not be sent.
        properties = {"networkProfileConfiguration": document["properties"]["networkProfileConfiguration"]}
        return {**{key: document[key] for key in ("location", "tags") if key in document}, "properties": properties}
    properties = {key: value for key, value in document["properties"].items() if key not in _NOT_TO_BE_SENT}
    if kind == "pool":
        properties["loadBalancerBackendAddresses"] = [_entry_to_send(entry) for entry in entries_of(document)]
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
    entries = entries_of(document)
    if record["kind"] == ADDRESS:
        staying = [one for one in entries if interface_of(one) or address_of(one) != address_of(record["entry"])]
        document["properties"]["loadBalancerBackendAddresses"] = staying
        return len(staying) < len(entries)
    return _set_admin_states([entry for entry in entries if _is_meant(entry, record)], DOWN)


def put_back(warnings: list[str], record: Json, document: Json) -> bool:
    if record["kind"] in (INTERFACE, INSTANCE):
        found = _find_configurations(document, record)
        if not found:
            raise ArmError(
                "%s no longer has the IP configuration %r, which was in %s. Add it to the pool by hand"
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
    entries = entries_of(document)
    if record["kind"] == ADDRESS:
        if any(address_of(entry) == address_of(record["entry"]) for entry in entries):
            return False
        document["properties"]["loadBalancerBackendAddresses"] = [*entries, record["entry"]]
        return True
    ours = [entry for entry in entries if _is_meant(entry, record)]
    if not ours:
        warnings.append("the VM is no longer in %s: there is no adminState to restore" % record["pool"])
    return _set_admin_states(ours, record["admin_state"])


def restore_all(
    client: ArmClient, records: Iterable[Json], failures: list[ArmError], warnings: list[str], dry_run: bool
) -> Iterator[bool]:
    """Restore each record as far as Azure lets it: a failure in one pool does not keep the machine from the others.

    :param failures: receives what failed
    :returns: whether a resource was changed, of one after the other
    """
    waiting = list(by_resource(records))
    for kind, resource, ours in waiting:
        try:
            yield edit(client, kind, resource, [functools.partial(put_back, warnings, one) for one in ours], dry_run)
        except ArmError as error:
            if len(ours) > 1 and not (error.may_have_begun or isinstance(error, (OperationFailed, OutOfTime))):
                # Azure refuses all of a resource where one of its pools is gone.
                waiting += [(kind, resource, [one]) for one in ours]
            else:
                failures.append(error)


def raise_all(failures: Sequence[ArmError]) -> None:
    """Raise what failed, if anything did, as one error."""
    if not failures:
        return
    failure = failures[0]
    if len(failures) > 1:
        failure = ArmError("; ".join(dict.fromkeys(map(str, failures))))
        failure.may_have_begun = any(error.may_have_begun for error in failures)
    raise failure


def _where(record: Json) -> str:
    return ON_GATEWAYS if "/applicationgateways/" in record["pool"].lower() else ON_BALANCERS


def _find_configurations(document: Json, record: Json) -> list[Json]:
    if record["kind"] == INSTANCE:
        interfaces = [one for one in interfaces_of_model(document) if one.get("name") == record.get("interface")]
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
    where = interface_of(entry)
    if where:
        return where.lower() == str(record.get("ip_configuration")).lower()
    return bool(record.get("address")) and address_of(entry) == canonical(record["address"])


def _set_admin_states(entries: Iterable[Json], state: str) -> bool:
    changed = False
    for entry in entries:
        if admin_state_of(entry) != state:
            entry.setdefault("properties", {})["adminState"] = state
            changed = True
    return changed
