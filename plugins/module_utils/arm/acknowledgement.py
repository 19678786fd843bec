# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of scheduled_event_acknowledge.

It approves events from outside of the VMs. It means the same as an approval inside: the event may begin, on
all of its VMs at once. So it keeps the same guards, with the VMs that the user speaks for in the place of "this
VM", and knows what is over already.

Source: https://learn.microsoft.com/rest/api/maintenance/scheduled-events/acknowledge
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import NamedTuple
from urllib.parse import quote

from ..scheduled_events.approval import (
    Mandate,
    describe_wait,
    explain_late,
    explain_refusal,
    judge,
    unlisted,
    waiting_terminates,
)
from ..scheduled_events.document import event_as_dict
from ..scheduled_events.selection import Selection
from .answers import Json
from .client import POLL_INTERVAL, ArmClient
from .errors import ArmError, OutOfTime, Unfinished, UnknownVersion
from .machines import Reference, check_known, check_unambiguous, hits_any, in_group, is_meant, subscriptions_to_read
from .permissions import ACKNOWLEDGE
from .resource_graph import ListedEvent, list_events

# The newest version that a cloud has is used. The oldest has no list of events.
LIST_API_VERSIONS = ("2025-11-01", "2025-10-01-preview")
API_VERSIONS = (*LIST_API_VERSIONS, "2023-10-01-preview")
# The status where a list has several outcomes. It need not say which event each is of: so each is sent alone then.
# Source: https://github.com/Azure/azure-powershell/pull/29769
_PARTLY = 207


class Acknowledgement(NamedTuple):
    """What was done, or in check mode would be."""

    changed: bool
    approved: list[Json]
    not_approved: list[Json]
    """Each with its `reason`."""
    before: dict[str, str]
    """Status of each chosen event, by its id."""
    after: dict[str, str]
    warnings: list[str]


def acknowledge(
    client: ArmClient,
    subscriptions: Sequence[str],
    selection: Selection,
    vms: Sequence[Reference],
    scope: str,
    wait: bool = False,
    dry_run: bool = False,
    resource_group: str | None = None,
) -> Acknowledgement:
    """Approve the chosen events, as far as the scope allows.

    :param subscriptions: empty: those of `vms`, as far as their ids say, and the client's own
    :param vms: those that the user speaks for
    :param resource_group: only events of this one; None: of all that the subscriptions hold
    :param scope: see `approval`
    :param wait: until each approved event has started or is over, within the client's time limit
    :param dry_run: decide, but approve nothing
    :raises Unfinished: if Azure took the approval of some of the events, and not that of others, or if they have not
        started when the wait is over
    :raises OptionError: if one of the VMs may be any of several, or is not known; nothing was approved then
    :raises ArmError: if that fails, or the scope refuses one; nothing was approved then
    """
    # A name alone must not be looked up in every subscription that the sign-in happens to see.
    subscriptions = subscriptions_to_read(subscriptions, client.known_subscription_id, vms) or [client.subscription_id]
    everything = list_events(client, subscriptions, finished=True)
    listed = in_group(everything, resource_group)
    check_unambiguous(
        vms, listed, "vm_names", "Give the id of the one that is ready in place of its name, or set resource_group"
    )
    check_known(client, subscriptions, vms, listed, resource_group, "vm_names")
    chosen = choose(listed, selection, vms)
    # Several subscriptions may list one event: events are equal if they were read as equal.
    by_event = {id(one.event): one for one in chosen}
    who = ", ".join(map(str, vms)) or "none"
    judgement = judge(
        (one.event for one in chosen),
        Mandate(lambda event, name: is_meant(vms, by_event[id(event)], name), "any of vm_names (%s)" % who),
        scope,
    )
    if judgement.refused:
        raise ArmError(
            explain_refusal(
                judgement.refused,
                "vm_names are " + who,
                "Name all VMs that are ready in vm_names, choose other events, or set scope to leader or any",
            )
        )
    approved = [by_event[id(event)] for event in judgement.approve]
    before = {one.event.event_id: one.event.event_status for one in chosen}
    after = dict(before, **{one.event.event_id: "Scheduled, approved" for one in approved})
    late: list[str] = []
    problem = ""
    failed: list[tuple[ListedEvent, ArmError]] = []
    if approved and not dry_run:
        approved, failed = _send(client, approved)
        after.update((one.event.event_id, one.event.event_status) for one, _error in failed)
        if wait and not failed:
            status, problem = _wait_for_start(client, subscriptions, approved)
            after.update(status)
            late = [event_id for event_id, now in status.items() if now == "Scheduled"]
    result = Acknowledgement(
        changed=bool(approved),
        approved=_as_dicts(approved),
        not_approved=[
            *(dict(_as_dict(by_event[id(event)]), reason=reason) for event, reason in judgement.not_approved),
            *(dict(_as_dict(one), reason=str(error)) for one, error in failed),
            *unlisted(selection.event_ids, [one.event for one in chosen], [one.event for one in everything]),
        ],
        before=before,
        after=after,
        warnings=[
            describe_wait(waiting)
            for waiting in waiting_terminates(
                [one.event for one in approved], [one.event for one in everything if not one.is_finished]
            )
        ],
    )
    if failed:
        errors = [error for _one, error in failed]
        raise Unfinished("; ".join(dict.fromkeys(map(str, errors))), result) from max(
            errors, key=lambda error: error.may_have_begun
        )
    if late:
        raise Unfinished(explain_late(late, client.deadline.seconds, problem, "wait longer with timeout"), result)
    return result


def choose(listed: Iterable[ListedEvent], selection: Selection, vms: Sequence[Reference]) -> list[ListedEvent]:
    """The chosen events: those that were named, otherwise those that hit one of the VMs and are not over."""
    return [
        one
        for one in listed
        if selection.chooses(one.event, "")
        and (selection.event_ids is not None or (not one.is_finished and (not vms or hits_any(vms, one))))
    ]


def listed_as_dict(one: ListedEvent, now: datetime) -> Json:
    """Write an event as the module and the lookup return it: seen from no VM, and with its resource."""
    seen = event_as_dict(one.event, "", now)
    for of_a_vm in ("affects_this_vm", "this_vm_leads"):
        del seen[of_a_vm]
    return dict(seen, resource_id=one.resource_id, location=one.location, zones=list(one.zones))


def _send(
    client: ArmClient, approve: Sequence[ListedEvent]
) -> tuple[list[ListedEvent], list[tuple[ListedEvent, ArmError]]]:
    """One request for each resource: the single form, or the list where it has several events.

    What becomes of one event keeps no other from being approved: its time may be short.

    :returns: what is approved; and what is not, with the reason
    :raises ArmError: if nothing is
    """
    by_resource: dict[str, list[ListedEvent]] = {}
    for one in approve:
        by_resource.setdefault(one.resource_id.lower(), []).append(one)
    approved: list[ListedEvent] = []
    failed: list[tuple[ListedEvent, ArmError]] = []
    for events in by_resource.values():
        path = events[0].resource_id + "/providers/Microsoft.Maintenance/scheduledevents"
        if len(events) > 1:
            try:
                listed = {"value": [one.event.event_id for one in events]}
                if _post(client, path, listed, LIST_API_VERSIONS) != _PARTLY:
                    approved += events
                    continue
            except UnknownVersion:
                # A cloud without the list may have the single form.
                pass
            except ArmError as error:
                failed += [(one, error) for one in events]
                continue
        for one in events:
            try:
                _post(client, "%s/%s/acknowledge" % (path, quote(one.event.event_id, safe="")), None, API_VERSIONS)
                approved.append(one)
            except ArmError as error:
                failed.append((one, error))
    if failed and not approved:
        raise failed[0][1]
    return approved, failed


def _post(client: ArmClient, path: str, body: Json | None, versions: Sequence[str]) -> int:
    """Send it in the newest of these versions that the cloud has. Returns the status of the answer."""
    *newer, oldest = versions
    # It is no long-running operation, as which 207 would count as a failure.
    for version in newer:
        try:
            return client.post_when_free(path, body, ACKNOWLEDGE, version, wait=False, repeatable=True).status
        except UnknownVersion:
            continue
    return client.post_when_free(path, body, ACKNOWLEDGE, oldest, wait=False, repeatable=True).status


def _wait_for_start(
    client: ArmClient, subscriptions: Sequence[str], approved: Sequence[ListedEvent]
) -> tuple[dict[str, str], str]:
    """Ask Resource Graph until none of them is scheduled any more, or time is up.

    :returns: the last status of each; what went wrong with the last read, if anything
    """
    status = {one.event.event_id: "Scheduled" for one in approved}
    problem = ""
    while "Scheduled" in status.values():
        try:
            client.wait(POLL_INTERVAL, "the events had not started")
            listed = {
                one.event.event_id.lower(): one.event.event_status
                for one in list_events(client, subscriptions, finished=True)
            }
        except OutOfTime:
            break
        except ArmError as error:
            # The approval was sent: a failure now must not hide that, and the next read may work.
            problem = str(error)
            continue
        problem = ""
        status = {event_id: listed.get(event_id.lower(), "gone") for event_id in status}
    return status, problem


def _as_dicts(listed: Iterable[ListedEvent]) -> list[Json]:
    return [_as_dict(one) for one in listed]


def _as_dict(one: ListedEvent) -> Json:
    return listed_as_dict(one, datetime.now(timezone.utc))
