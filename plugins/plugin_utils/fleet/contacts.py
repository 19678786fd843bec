# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Which hosts are asked themselves after Azure was asked about all of them.

Those that are hit, those that an earlier run may have left out of rotation, and those of which Azure's silence means
nothing. The minimum in service holds for the others of their groups as well: a balancer counts these, or they are asked
too. On a host that is asked, its own metadata service has the last word.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.arm.machines import read_reference
from ...module_utils.scheduled_events.errors import OptionError
from ...module_utils.scheduled_events.event import name_key
from ...module_utils.scheduled_events.text import plain
from .balancers import few, find_places
from .host import PlanError
from .reading import UNREADABLE, note_host

VARIABLES = (
    "handle_events_group",
    "handle_events_minimum_in_service",
    "handle_events_expected_hosts",
    "handle_events_is_off",
    "handle_events_state_directory",
    "handle_events_vm_id",
    "load_balancer_removal_methods",
    "load_balancer_removal_haproxy_hosts",
    "load_balancer_removal_haproxy_server",
    "load_balancer_removal_haproxy_socket",
    "load_balancer_removal_haproxy_backends",
    "load_balancer_removal_azure_host",
    "load_balancer_removal_azure_pools",
    "load_balancer_removal_azure_vm_id",
    "load_balancer_removal_gateway_pools",
    "id",
    "powerstate",
)
"""What must be known of a host that is not asked."""

_HIT = "Azure lists events for them"
_LEFT = "an earlier run may have left them out"
_DOWN = "HAProxy does not have them in service"
_TWIN = "several have one resource id"
_NO_ID = "they have no resource id: set handle_events_vm_id"

Raw = Mapping[str, Any]


class Contacts(NamedTuple):
    """Which hosts are asked, and what is known of the others."""

    names: tuple[str, ...]
    """The hosts that are asked themselves, in the order of the inventory."""
    resting: Sequence[Raw]
    """The hosts that are not asked and that count in their groups, as `read_host` reads them."""
    lines: tuple[str, ...]
    """Messages for the operator."""


def note_resting(name: str, variables: Raw, refused: str = "") -> dict[str, Any]:
    """Note what the operator's variables say of a host that is not asked, as `read_host` reads it.

    :param variables: those of `VARIABLES` that it has
    :param refused: why they are not the operator's, in words; then nothing of them counts
    """
    variables = {} if refused else variables
    ids = (variables.get(one) for one in ("handle_events_vm_id", "load_balancer_removal_azure_vm_id", "id"))
    vm_id = next((str(one).strip() for one in ids if one), "")
    try:
        # The inventory may give an id of any type.
        vm_name = read_reference(vm_id).name if vm_id.startswith("/") else ""
        why = ""
    except OptionError as error:
        vm_name, why = "", "their resource id is none: %s" % error
    known = {
        one.replace("load_balancer_removal_", "").replace("handle_events_", ""): value
        for one, value in variables.items()
    }
    try:
        noted = note_host(
            name,
            answer={"vm_name": vm_name, "resource_id": vm_id} if vm_name else {},
            lease_view={},
            traces=(),
            is_marked=False,
            agent={},
            policy={one: known.get(one, "") for one in ("minimum_in_service", "expected_hosts")},
            variables={**known, "azure_vm_id": vm_id or None},
        )
    except UNREADABLE as error:
        # Where the hosts are asked, their variables are checked first, and mistakes are named.
        return note_resting(name, {}, "their variables cannot be read: %s" % error)
    return dict(noted, why_asked=plain(refused or why))


def choose_contacts(
    hosts: Sequence[Raw], answers: Sequence[Raw], announced: Raw, noted: Mapping[str, str], keeps_list: bool = True
) -> Contacts:
    """Choose whom to ask.

    :param hosts: all hosts of the run, from `note_resting`
    :param answers: what haproxy_server_info returned of each balancer
    :param announced: what vm_events_info returned, or any failure
    :param noted: the hosts that an earlier run has noted as out: by the name of each, the id of its VM or nothing
    :param keeps_list: whether that list outlasts this run
    :raises PlanError: if Azure was not asked, or its silence means nothing for any host
    """
    remedy = "Correct that, or set handle_events_ask to machines"
    try:
        hit = {str(one["vm_id"]) for one in announced["hit"]}
        unlisted = {str(one["vm_id"]): str(one["reason"]) for one in announced["unlisted"]}
    except (LookupError, TypeError):
        said = plain(str(announced.get("msg") or "no answer"))
        raise PlanError("handle_events_ask: Azure was not asked for events: %s. %s" % (said, remedy)) from None
    of_id: dict[str, list[str]] = {}
    for host in hosts:
        if host["resource_id"]:
            of_id.setdefault(host["resource_id"].lower(), []).append(host["name"])
    places = find_places(hosts, answers)
    noted_ids = {vm_id.lower() for vm_id in noted.values() if vm_id}
    why: dict[str, str] = {}
    for host in hosts:
        name, vm_id = host["name"], host["resource_id"] or ""
        if host["is_off"]:
            continue
        reason = (
            host["why_asked"]
            or (_NO_ID if not vm_id else "")
            or (_HIT if vm_id in hit else "")
            or (_LEFT if name in noted or vm_id.lower() in noted_ids else "")
            or unlisted.get(vm_id, "")
            or (_TWIN if len(of_id.get(vm_id.lower(), ())) > 1 else "")
            or (_DOWN if not all((places.get(name) or {}).values()) else "")
        )
        if reason:
            why[name] = reason
    if hosts and not any(host["resource_id"] and host["resource_id"] not in unlisted for host in hosts):
        first = next(iter(unlisted.values()), _NO_ID)
        raise PlanError(
            "handle_events_ask: Azure lists the events of no host of the run: %s. The playbook doctor names "
            "the cause. %s" % (first, remedy)
        )
    uncounted = [host for host in hosts if not host["is_off"] and not places.get(host["name"]) and not host["azure"]]
    if uncounted and not keeps_list:
        raise PlanError(
            "handle_events_out_directory is not set: the jobs of a controller run in containers that are "
            "deleted after the job, and for %s no balancer shows a later job which hosts this one left out. "
            "Set it to a directory that all jobs share, or handle_events_ask to machines"
            % few([host["name"] for host in uncounted])
        )
    names = tuple(host["name"] for host in hosts if host["name"] in why)
    return Contacts(names, [host for host in hosts if host["name"] not in why], tuple(_lines(hosts, why, hit)))


def others_to_ask(resting: Sequence[Raw], asked: Sequence[Raw], answers: Sequence[Raw]) -> list[str]:
    """Name the others that are to be asked before there is a plan.

    Those that are hit as well, for Azure may not list yet what a machine does; and those whom nobody counts, in the
    groups of hosts for which there is something to do.

    :param resting: from `choose_contacts`
    :param asked: what the hosts have answered that were asked, from `note_host`
    :param answers: what haproxy_server_info returned of each balancer
    """
    places = find_places([*resting, *asked], answers)
    groups = {group for host in asked if host["events"] or host["needs_restore"] for group in _groups(host, places)}
    hit = {name_key(str(vm)) for host in asked for event in host["events"] for vm in event.get("resources") or ()}
    return [
        host["name"]
        for host in resting
        if not host["is_off"]
        and (
            name_key(host["vm_name"]) in hit
            or (not (places.get(host["name"]) or host["azure"]) and groups.intersection(_groups(host, places)))
        )
    ]


def describe_others(names: Sequence[str]) -> list[str]:
    """Say which hosts are asked because no balancer counts their groups."""
    if not names:
        return []
    what = "a machine says that they are hit, or no balancer counts the groups of those that are"
    return [f"{len(names):,} of them asked anyway, because {what}: {few(names)}"]


def is_back(host: Raw) -> bool:
    """Whether the host's answer shows that no run has left it out, and none is working on it."""
    return bool(host["vm_name"]) and not host["needs_restore"] and not host["leased"]


def share_a_group(resting: Sequence[Raw], asked: Sequence[Raw]) -> list[Raw]:
    """Leave out the resting hosts that are in no group of the asked hosts, by their `groups`."""
    groups = {group for host in asked for group in host["groups"]}
    return [host for host in resting if groups.intersection(host["groups"])]


def _groups(host: Raw, places: Mapping[str, Mapping[tuple[str, str], bool]]) -> Iterable[Any]:
    """What a host may do the same work as others by: its groups, or more than these.

    Which scale set a host is in, only the host says that was asked: without pools it may be in any.
    """
    if host["group"]:
        return [host["group"]]
    known = places.get(host["name"]) or [pool for pool in host["pools"] if pool.startswith(("backend ", "pool "))]
    return list(known) or [""]


def _lines(hosts: Sequence[Raw], why: Mapping[str, str], hit: Collection[str]) -> Iterable[str]:
    yield "Azure was asked about {:,} hosts: it lists events for {:,} of them".format(
        sum(1 for host in hosts if host["resource_id"]), sum(1 for host in hosts if host["resource_id"] in hit)
    )
    reasons: dict[str, list[str]] = {}
    for name, reason in why.items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        yield f"{len(names):,} asked themselves, because {reason}: {few(names)}"
    others = len(hosts) - len(why)
    if others:
        yield f"{others:,} others not asked: their variables and services were not checked"
