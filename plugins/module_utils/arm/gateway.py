# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of application_gateway_member and application_gateway_member_info.

A machine is in a backend pool of an Application Gateway because an IP configuration of its interface names the pool,
or because the pool has its address or name. The latter is part of the gateway, which Azure changes as a whole only, in
minutes: so what is to be taken out, or restored, is a list of records, of as many machines as there are.

What Azure does about writers who meet, and what this does therefore:

* A PUT that comes while another is at work cancels it ("CanceledAndSupersededDueToAnotherOperation"), and
  `provisioningState` tells only for a moment that one is. With the ETag of what was read nothing is lost that way: the
  later PUT has the content of the earlier. Whose PUT was cancelled reads again, and writes again if it has to.
* Two that come at the same time are told apart with 429 RetryableError: repeated as it was, without its ETag, the PUT
  would revert the other's change.
* A PUT starts a gateway that was stopped. So a stopped one is left alone.
* What an api-version does not know yet it does not show, and a PUT without it takes it away: the newest is used.
* `data` and `password` of certificates are never shown ("only applicable in PUT request"), and certificates that the
  gateway has need none in a PUT, as Get-AzApplicationGateway | Set-AzApplicationGateway has always worked.

Source: https://learn.microsoft.com/rest/api/application-gateway/application-gateways,
https://learn.microsoft.com/azure/application-gateway/application-gateway-faq,
https://github.com/Azure/azure-cli/issues/21156, https://github.com/Azure/azure-cli/issues/28615,
https://github.com/Azure/azure-cli/issues/32961 and https://github.com/Azure/azure-rest-api-specs/issues/7475
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..scheduled_events.deadline import Deadline
from ..scheduled_events.errors import OptionError
from .answers import Answer, Json, has_failed, is_updating, shorten
from .client import POLL_INTERVAL, ArmClient, Permission, Write, reporting
from .errors import ArmError, Busy, NotFound, UnknownVersion
from .ip_configurations import (
    ADDRESS,
    GROUP,
    INSTANCE,
    INTERFACE,
    check_pool,
    check_record,
    check_vm_id,
    find_addresses,
    find_ip_configurations,
    lower,
)
from .members import by_resource, edit, raise_all, restore_all, take_out
from .records import Record

GATEWAY_API_VERSION = "2026-03-01"

KINDS = (INTERFACE, INSTANCE, ADDRESS)
RECORD = "application_gateway"
"""The kind of the records."""
DEFAULT_WAIT = 300.0  # seconds

_POOL = re.compile(
    "(%s)/backendAddressPools/([^/?#]+)\\Z" % (GROUP + r"/Microsoft\.Network/applicationGateways/[^/?#]+"),
    re.IGNORECASE,
)
_ROLE = "Network Contributor"
_READ = Permission("Microsoft.Network/applicationGateways/read", "Reader")
_WRITE = Permission("Microsoft.Network/applicationGateways/write", _ROLE)
_HEALTH = Permission("Microsoft.Network/applicationGateways/backendhealth/action", _ROLE)

# Every PUT is refused while a gateway has both a WAF policy and the firewall settings from before it had one.
# Source: https://github.com/Azure/azure-cli/issues/15520
_TWO_FIREWALLS = "ApplicationGatewayWafConfigurationCannotBeChangedWithWafPolicy"

# The specification says Up. The service says Healthy.
_UP = "Up"
_UP_AS_WELL = "healthy"

# Read-only parts, wherever they are in the properties.
_NOT_TO_BE_SENT = frozenset(
    [
        "etag",
        "provisioningState",
        "backendIPConfigurations",
        "publicCertData",
        "validatedCertData",
        "clientCertIssuerDN",
        # Permissions for the gateway itself, and for its identity.
        "operationalState",
        "resourceGuid",
        "privateEndpointConnections",
        "defaultPredefinedSslPolicy",
    ]
)
# Elsewhere the same names are settings: entraJWTValidationConfigs tells whose tokens a gateway lets pass.
_NOT_TO_BE_SENT_OF_IDENTITY = frozenset(["principalId", "clientId", "tenantId"])


class GatewaySearch(NamedTuple):
    """Which machine to look for, and where."""

    vm_id: str | None
    addresses: tuple[str, ...]
    """In lower case: IP addresses and names under which pools may have the machine."""
    pools: tuple[str, ...] | None
    """None: all pools that its interfaces name."""


class GatewayOrder(NamedTuple):
    """What to change."""

    machine: GatewaySearch
    """The only machine whose records are accepted. With neither id nor addresses: those of any machine."""
    records: tuple[Json, ...]
    out: bool
    """Whether to remove the records, or to restore them."""
    wait: bool
    wait_timeout: float
    """Seconds."""


class GatewayChange(NamedTuple):
    """What was done, or in check mode would be."""

    changed: bool
    remaining: list[str]
    """The addresses or names that the gateway is still draining."""
    warnings: tuple[str, ...] = ()
    found: tuple[Json, ...] = ()
    """What `keep` has seen."""


def read_search(options: Mapping[str, Any]) -> GatewaySearch:
    """Check the options of a search.

    :raises OptionError: on the first that is wrong
    """
    search = _read_machine(options)
    if search.vm_id is None and not search.addresses:
        raise OptionError("vm_id, addresses: set at least one, to name the machine")
    if search.addresses and search.pools is None:
        raise OptionError("addresses: needs pools. Name the pools in pools")
    return search


def read_order(options: Mapping[str, Any]) -> GatewayOrder:
    """Check the options of a change.

    :raises OptionError: on the first that is wrong
    """
    machine = _read_machine(options)
    remove, restore, is_by_record = options.get("remove"), options.get("restore"), bool(options.get("as_recorded"))
    is_found = bool(options.get("record_only")) and not is_by_record
    if [remove is not None, restore is not None, is_by_record, is_found].count(True) != 1:
        raise OptionError(
            "remove, restore, as_recorded, record_only: give exactly one of them, the first two with the members that "
            "application_gateway_member_info returned; or the last two"
        )
    if options["wait_timeout"] < 0:
        raise OptionError("wait_timeout: %g is less than 0 seconds" % options["wait_timeout"])
    if is_found:
        return GatewayOrder(read_search(options), (), True, False, 0)
    option = "restore" if remove is None else "remove"
    records = tuple(_read_record(option, record) for record in options.get(option) or ())
    for record in records:
        if machine.pools is not None and record["pool"].lower() not in lower(machine.pools):
            raise OptionError("%s: %s is not one of pools, and is left alone" % (option, record["pool"]))
    return GatewayOrder(machine, records, remove is not None, bool(options["wait"]), options["wait_timeout"])


def keep(client: ArmClient, search: GatewaySearch, record: Record) -> GatewayChange:
    """Write down in which pools the machine is, and change nothing.

    :raises OptionError: if that cannot be written
    :raises ArmError: if Azure refuses or fails
    """
    found = find(client, search)
    record.add_values(found, _identify)
    return GatewayChange(False, [], found=tuple(found))


def restore_recorded(client: ArmClient, order: GatewayOrder, record: Record, dry_run: bool = False) -> GatewayChange:
    """Restore what is written down.

    :raises OptionError: if that cannot be read
    :raises ArmError: as `carry_out`
    :raises Unfinished: as `carry_out`
    """
    records = tuple(_read_record("record", one) for one in record.values())
    if record.only or not records:
        return GatewayChange(False, [])
    return carry_out(client, order._replace(records=records), dry_run)


def _identify(record: Json) -> Hashable:
    """What tells a member from another one, however it was when it was seen."""
    parts = ("kind", "pool", "resource", "interface", "ip_configuration")
    return (*(str(record.get(part) or "").lower() for part in parts), _server_of(record.get("entry") or {}).lower())


def carry_out(client: ArmClient, order: GatewayOrder, dry_run: bool = False) -> GatewayChange:
    """Remove or restore.

    :param dry_run: decide, but change nothing, and wait for nothing
    :raises OptionError: if a record belongs to another machine than the one that was named
    :raises ArmError: if Azure refuses or fails, or if the gateway does not report a restored member as healthy in time
    :raises Unfinished: in the same cases, after a change was made. Changes that were made before stay: the same order
        may be carried out again. If one record cannot be restored, the others are
    """
    gateways = _Gateways(client)
    if order.machine.vm_id is not None or order.machine.addresses:
        _check_owner(client, order.machine, order.records)
    warnings: list[str] = []
    failures: list[ArmError] = []
    changed = False
    remaining: list[str] = []

    def so_far() -> GatewayChange:
        return GatewayChange(changed, remaining, tuple(dict.fromkeys(warnings)))

    with reporting(client, lambda: so_far() if changed else None):
        by_reference = [record for record in order.records if record["kind"] != ADDRESS]
        if order.out:
            for kind, resource, ours in by_resource(by_reference):
                changes = [functools.partial(take_out, record) for record in ours]
                changed |= edit(client, kind, resource, changes, dry_run)
        else:
            for one in restore_all(client, by_reference, failures, warnings, dry_run):
                changed |= one
        for gateway, ours in _by_gateway(record for record in order.records if record["kind"] == ADDRESS):
            try:
                changed |= gateways.edit(gateway, ours, order.out, failures, dry_run)
            except ArmError as error:
                if order.out:
                    raise
                failures.append(error)
        raise_all(failures)
        if order.wait and not dry_run:
            remaining = _wait(gateways, order.records, order.out, order.wait_timeout)
    return so_far()


def _read_machine(options: Mapping[str, Any]) -> GatewaySearch:
    vm_id, pools = options.get("vm_id"), options.get("pools")
    if vm_id is not None:
        check_vm_id("vm_id", vm_id)
    if pools is not None and not pools:
        raise OptionError("pools: is empty. Name pools, or leave it out for all that the VM's interfaces name")
    for pool in pools or ():
        check_pool("pools", pool, _POOL, "applicationGateways")
    addresses = tuple(one.lower() for one in options.get("addresses") or ())
    return GatewaySearch(vm_id, addresses, None if pools is None else tuple(pools))


def _split(pool: str) -> tuple[str, str]:
    """The id of a pool's gateway, and the pool's name."""
    match = _POOL.match(pool)
    if match is None:
        raise AssertionError("ids of pools are checked when they are read")
    return match.group(1), match.group(2)


def _by_gateway(records: Iterable[Json]) -> Iterator[tuple[str, list[Json]]]:
    grouped: dict[str, list[Json]] = {}
    for record in records:
        grouped.setdefault(_split(record["pool"])[0].lower(), []).append(record)
    for ours in grouped.values():
        yield _split(ours[0]["pool"])[0], ours


def _read_record(option: str, record: Mapping[str, Any]) -> Json:
    check_record(option, record, KINDS, _POOL, "applicationGateways")
    if record["kind"] == ADDRESS and not _server_of(record.get("entry") or {}):
        raise OptionError("%s: entry has neither ipAddress nor fqdn. Give the entry as the pool had it" % option)
    return {key: value for key, value in record.items() if value is not None}


def _check_owner(client: ArmClient, machine: GatewaySearch, records: Iterable[Json]) -> None:
    """Refuse records that are not of the machine which was named."""
    resources, addresses = set(), set(machine.addresses)
    if machine.vm_id is not None:
        ip_configurations = list(find_ip_configurations(client, machine.vm_id))
        resources = lower([machine.vm_id, *(ip.resource for ip in ip_configurations)])
        addresses |= lower(find_addresses(client, machine.vm_id, ip_configurations))
    for record in records:
        if record["kind"] == ADDRESS:
            named, is_own = _server_of(record["entry"]), _server_of(record["entry"]).lower() in addresses
        else:
            named, is_own = record["resource"], record["resource"].lower() in resources
        if not is_own:
            raise OptionError("%s does not belong to the machine that vm_id and addresses name" % named)


# -- where the machine is -----------------------------------------------------------------------------------


def find(client: ArmClient, search: GatewaySearch) -> list[Json]:
    """Read by which records the machine is in the pools.

    :raises ArmError: if Azure refuses or fails
    """
    gateways, vm_id = _Gateways(client), search.vm_id
    ip_configurations = [] if vm_id is None else list(find_ip_configurations(client, vm_id))
    named = None if search.pools is None else lower(search.pools)
    found: list[Json] = []
    addresses: set[str] | None = None
    if vm_id is not None and (search.pools is not None or any(ip.gateway_pools for ip in ip_configurations)):
        addresses = lower(find_addresses(client, vm_id, ip_configurations))
    for ip in ip_configurations:
        for pool in ip.gateway_pools:
            if named is None or pool.lower() in named:
                found.append(
                    {
                        "kind": ip.kind,
                        "pool": pool,
                        "resource": ip.resource,
                        "interface": ip.interface,
                        "ip_configuration": ip.name,
                        # An instance does not show which of its addresses belongs to which configuration.
                        "servers": [ip.address] if ip.address else sorted(addresses or ()),
                    }
                )
    candidates = {*search.addresses, *(addresses or ())}
    for pool in search.pools or ():
        for entry in gateways.entries(pool):
            if _server_of(entry).lower() in candidates:
                server = _server_of(entry)
                found.append({"kind": ADDRESS, "pool": pool, "entry": entry, "servers": [server]})
    return found


def _server_of(entry: Mapping[str, Any]) -> str:
    """The key of a member in a pool: its IP address or name. The gateway's health uses it as well."""
    return str(entry.get("ipAddress") or entry.get("fqdn") or "")


class _Gateways:
    """The gateways of one order, in the newest api-version that the cloud has."""

    def __init__(self, client: ArmClient) -> None:
        self.client = client
        self._version = GATEWAY_API_VERSION
        self._seen: dict[str, Json] = {}

    def entries(self, pool: str) -> list[Json]:
        """The members of a pool by address.

        :raises ArmError: if there is no such pool
        """
        gateway, _name = _split(pool)
        if gateway.lower() not in self._seen:
            self._seen[gateway.lower()] = self._in_version(lambda: self.client.get(gateway, _READ, self._version))
        return list(_entries(_pool_in(self._seen[gateway.lower()], pool)))

    def edit(self, gateway: str, records: list[Json], out: bool, failures: list[ArmError], dry_run: bool) -> bool:
        """Take out or restore these, in one PUT; False if all was as it should be, and in effect.

        :param failures: receives the pools that are gone: they keep nothing from being restored in the others
        """
        gone: list[ArmError] = []

        def plan(document: Json, etag: str | None) -> tuple[bool, Write]:
            gone.clear()
            outcomes = []
            for record in records:
                try:
                    outcomes.append(_change_pool(document, record, out))
                except NotFound as error:
                    if out:
                        raise
                    gone.append(error)
            is_wanted = any(outcomes) or has_failed(document)
            if not is_wanted or dry_run:
                return is_wanted, None
            return True, lambda: self._write(gateway, document, etag)

        is_changed, _answer = self._in_version(lambda: self.client.edit(gateway, _READ, plan, self._version))
        failures += gone
        return bool(is_changed)

    def _write(self, gateway: str, document: Json, etag: str | None) -> Answer:
        properties = document.get("properties") or {}
        if properties.get("operationalState") in ("Stopped", "Stopping"):
            raise ArmError(
                "%s is stopped, and Azure would start it if its pools were written. Start it, or leave it out" % gateway
            )
        if is_updating(document):
            # A PUT would cancel the operation that is under way.
            raise Busy("%s is being updated by another operation" % gateway)
        try:
            return self.client.write("PUT", gateway, _body(document), etag, _WRITE, api_version=self._version)
        except ArmError as error:
            if error.code != _TWO_FIREWALLS:
                raise
            raise type(error)(
                "%s. Its webApplicationFirewallConfiguration was sent as it was read. Azure accepts no change of a"
                " gateway that has it beside a policy: set it to null" % str(error).rstrip("."),
                error.status,
                error.code,
            ) from None

    def health(self, gateway: str) -> Json:
        """The gateway's view of its members: an operation of its own."""
        answer = self._in_version(
            lambda: self.client.post_when_free(
                gateway + "/backendhealth", None, _HEALTH, self._version, repeatable=True
            )
        )
        return answer.content if isinstance(answer.content, dict) else {}

    def _in_version(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except UnknownVersion as error:
            known = [version for version in error.supported if version <= GATEWAY_API_VERSION]
            if not known or max(known) == self._version:
                raise
            self._version = max(known)
        return ask()


def _pool_in(document: Json, pool: str) -> Json:
    _gateway, name = _split(pool)
    pools = (document.get("properties") or {}).get("backendAddressPools") or []
    for one in pools:
        if str(one.get("name")).lower() == name.lower():
            found: Json = one
            return found
    known = ", ".join(str(one.get("name")) for one in pools) or "none"
    raise NotFound("%s: the gateway has no such pool. It has %s" % (pool, known))


def _entries(pool: Json) -> list[Json]:
    return list((pool.get("properties") or {}).get("backendAddresses") or [])


def _change_pool(document: Json, record: Json, out: bool) -> bool:
    pool = _pool_in(document, record["pool"])
    entries = _entries(pool)
    others = [entry for entry in entries if _server_of(entry).lower() != _server_of(record["entry"]).lower()]
    if out == (len(others) == len(entries)):
        return False
    pool.setdefault("properties", {})["backendAddresses"] = others if out else [*entries, record["entry"]]
    return True


def _body(document: Json) -> Json:
    body = {key: value for key, value in document.items() if key not in ("etag", "type")}
    body["properties"] = _without(_NOT_TO_BE_SENT, document["properties"])
    if "identity" in document:
        body["identity"] = _without(_NOT_TO_BE_SENT_OF_IDENTITY, document["identity"])
    return body


def _without(names: Collection[str], value: Any) -> Any:
    if isinstance(value, list):
        return [_without(names, one) for one in value]
    if not isinstance(value, dict):
        return value
    is_resource = "id" in value and "properties" in value
    return {
        key: _without(names, one)
        for key, one in value.items()
        if key not in names and not (is_resource and key == "type")
    }


# -- what the gateway says of them --------------------------------------------------------------------------


def _wait(gateways: _Gateways, records: Iterable[Json], out: bool, seconds: float) -> list[str]:
    """Wait until the gateway has drained the removed members, or finds the restored ones healthy. Returns what it
    still drains when time is up.

    :raises ArmError: if what came is not up by then
    """
    limit = Deadline(seconds)
    remaining: list[str] = []
    for gateway, ours in _by_gateway(records):
        while True:
            health = gateways.health(gateway)
            states = {
                (record["pool"].lower(), name): state for record in ours for name, state in _states(health, record)
            }
            late = {pool_and_name: state for pool_and_name, state in states.items() if out or state != _UP}
            if not late:
                break
            if limit.remaining() < POLL_INTERVAL:
                remaining += sorted({name for _pool, name in late})
                break
            gateways.client.wait(POLL_INTERVAL, "%s still has %s" % (gateway, _say(late)))
        if late and not out:
            raise ArmError(
                "%s did not find the restored machine healthy within %g s: %s. Does the machine serve requests "
                "and answer the probe?" % (gateway, seconds, _say(late))
            )
    return remaining


def _say(states: Mapping[tuple[str, str], str]) -> str:
    return ", ".join("%s (%s)" % (name, state) for (_pool, name), state in sorted(states.items()))


def _states(health: Json, record: Json) -> Iterator[tuple[str, str]]:
    """The gateway's view of the servers of a record: the address, and the worst state of all its settings."""
    found: dict[str, str] = {}
    for pool in health.get("backendAddressPools") or []:
        if str((pool.get("backendAddressPool") or {}).get("id")).lower() != record["pool"].lower():
            continue
        for settings in pool.get("backendHttpSettingsCollection") or []:
            for server in settings.get("servers") or []:
                name, state = str(server.get("address") or ""), _state_of(server)
                if _is_meant(server, name, record) and found.get(name, _UP) == _UP:
                    found[name] = state
    yield from found.items()


def _state_of(server: Json) -> str:
    state, reason = str(server.get("health") or "Unknown"), server.get("healthProbeLog")
    if state.lower() in (_UP.lower(), _UP_AS_WELL):
        return _UP
    return "%s: %s" % (state, shorten(reason).rstrip(".")) if reason else state


def _is_meant(server: Json, name: str, record: Json) -> bool:
    where = str((server.get("ipConfiguration") or {}).get("id") or "")
    if where and record.get("resource"):
        return where.lower().startswith(record["resource"].lower() + "/")
    return name.lower() in lower(record.get("servers") or [_server_of(record.get("entry") or {})])
