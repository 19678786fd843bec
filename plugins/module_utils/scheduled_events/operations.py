# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of the modules and the lookup that read and approve events.

One function for each, from options that were checked to the result that is returned. They reach the
outside through an `ImdsClient` and the clocks they are given, and know nothing of Ansible.
"""

import time
from datetime import datetime, timezone
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from .approval import (
    NOT_LISTED,
    Verdict,
    describe_wait,
    explain_late,
    explain_refusal,
    for_vm,
    judge,
    unlisted,
    waiting_terminates,
    why_another,
    why_over,
)
from .client import ImdsClient
from .deadline import Deadline
from .document import Document, event_as_dict
from .errors import ApprovalRefused, DocumentError, ImdsError, Refused, StillScheduled
from .event import STARTED, Event, in_order_of_urgency, same_name
from .options import ConnectionOptions
from .selection import Selection, affecting_any_of

_POLL_INTERVAL = 1.0  # seconds; Microsoft recommends one request a second

EventDict = Dict[str, Any]


class Clocks(NamedTuple):
    """The time, as the operations see it."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    utc_now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)


class Listing(NamedTuple):
    """The chosen events, as they are returned."""

    vm_name: str
    scale_set: Optional[str]
    """The name of its scale set. Empty if it is in none, None if the VM was not asked for its identity."""
    resource_id: Optional[str]
    """Its id in Azure. Empty if the metadata service does not know it, None if the VM was not asked for its identity.
    """
    vm_id: Optional[str]
    """Its unique id, as above. A VM that is made again under the same name has another one."""
    document_incarnation: int
    events: List[EventDict]


class Approval(NamedTuple):
    """What an approval did, or in check mode would do."""

    changed: bool
    vm_name: str
    approved: List[EventDict]
    not_approved: List[EventDict]
    """Each with its `reason`."""
    events: List[EventDict]
    """The chosen events as they were last read."""
    before: Dict[str, str]
    """Status of each chosen event, by its id."""
    after: Dict[str, str]
    """The same as last read; where it was not read again, what is expected."""
    warnings: List[str]


def open_client(connection: ConnectionOptions) -> ImdsClient:
    """Make the client that these options describe."""
    return ImdsClient(connection.endpoint, connection.api_version, connection.connect_timeout)


def list_events(
    client: ImdsClient,
    connection: ConnectionOptions,
    selection: Selection,
    vm_names: Sequence[str] = (),
    clocks: Clocks = Clocks(),
) -> Listing:
    """Read the events of this VM's scope and choose among them.

    :param vm_names: only events that hit one of these; none: all
    :raises ImdsError, DocumentError: see `ImdsClient`
    """
    identity, document = _read(client, connection, Deadline(connection.timeout, clocks.monotonic))
    vm_name, scale_set, resource_id, vm_id = identity
    events = _choose(document, selection, vm_name)
    if vm_names:
        events = affecting_any_of(events, vm_names)
    listed = _as_dicts(events, vm_name, clocks.utc_now())
    return Listing(vm_name, scale_set, resource_id, vm_id, document.incarnation, listed)


def approve_events(
    client: ImdsClient,
    connection: ConnectionOptions,
    selection: Selection,
    scope: str,
    wait_timeout: Optional[float] = None,
    dry_run: bool = False,
    clocks: Clocks = Clocks(),
    as_seen: Sequence[Event] = (),
) -> Approval:
    """Approve the chosen events, as far as the scope allows, in one request.

    What is under way already, or no longer listed, is left out with the reason.

    :param scope: see `approval.judge`
    :param wait_timeout: seconds to wait until each approved event has started or is gone; None: do not wait
    :param dry_run: decide, but approve nothing
    :param as_seen: what the machines were prepared for. One of these that is now of another type, or hits other VMs,
        is not approved
    :raises ApprovalRefused: if the scope is `own` and an event that hits others was chosen; nothing was approved then
    :raises StillScheduled: if the wait ran out
    :raises ImdsError, DocumentError: see `ImdsClient`
    """
    deadline = Deadline(connection.timeout, clocks.monotonic)
    (vm_name, *_others), document = _read(client, connection, deadline)
    chosen = _choose(document, selection, vm_name)
    judgement = judge(chosen, for_vm(vm_name), scope)
    if judgement.refused:
        raise ApprovalRefused(
            explain_refusal(
                judgement.refused,
                "this VM is " + vm_name,
                "Choose only events that hit this VM and no other; or, when all of their VMs are ready, set scope to"
                " leader or any",
            )
        )

    another = tuple(Verdict(event, why_another(event, as_seen)) for event in judgement.approve)
    approved = tuple(verdict.event for verdict in another if not verdict.reason)
    not_approved = judgement.not_approved + tuple(verdict for verdict in another if verdict.reason)
    missing = unlisted(selection.event_ids, chosen, document.events)
    warnings = [describe_wait(waiting) for waiting in waiting_terminates(approved, document.events)]
    before = {event.event_id: event.event_status for event in chosen}
    expected = "Scheduled, approved" if wait_timeout is None else STARTED
    after = dict(before, **{event.event_id: expected for event in approved})
    late = []  # type: List[Event]
    problem = ""
    if approved and not dry_run:
        approved, overtaken, document = _send(client, approved, document, deadline)
        not_approved += overtaken
        if wait_timeout is not None:
            document, late, problem = _wait_for_start(client, connection, approved, document, wait_timeout, clocks)
            after.update((event.event_id, _status_now(event, document)) for event in approved)
        still = [verdict for verdict in overtaken if _is_scheduled(verdict.event, document)]
        warnings += ["event %s was not approved: %s" % (verdict.event.event_id, verdict.reason) for verdict in still]
        sent = approved + tuple(verdict.event for verdict in overtaken)
        after.update(
            (event.event_id, _status_now(event, document))
            for event in sent
            if event not in approved or not _is_scheduled(event, document)
        )

    now = clocks.utc_now()
    result = Approval(
        changed=bool(approved),
        vm_name=vm_name,
        approved=_as_dicts(approved, vm_name, now),
        not_approved=[dict(event_as_dict(event, vm_name, now), reason=reason) for event, reason in not_approved]
        + missing,
        events=_as_dicts([one for one in (_find(event, document) for event in chosen) if one], vm_name, now),
        before=before,
        after=after,
        warnings=warnings,
    )
    if late:
        raise StillScheduled(
            explain_late(
                [event.event_id for event in late],
                wait_timeout or 0,
                problem,
                "wait longer with wait_timeout, or watch it with scheduled_events_info",
            ),
            result,
        )
    return result


def _read(
    client: ImdsClient, connection: ConnectionOptions, deadline: Deadline
) -> Tuple[Tuple[str, Optional[str], Optional[str], Optional[str]], Document]:
    identity = (connection.vm_name, None, None, None) if connection.vm_name else client.read_identity(deadline)
    return identity, client.read_document(deadline)


def _choose(document: Document, selection: Selection, vm_name: str) -> List[Event]:
    return [event for event in document.events if selection.chooses(event, vm_name)]


def _send(
    client: ImdsClient, approved: Tuple[Event, ...], document: Document, deadline: Deadline
) -> Tuple[Tuple[Event, ...], Tuple[Verdict, ...], Document]:
    """Approve all in one request; if IMDS refuses, without those that began or ended since they were read, and if it
    refuses although none did, one by one: one that it does not take must not keep the others from being approved.

    One that is over because IMDS has acted on a request, and the answer was lost, was approved.
    """
    overtaken = ()  # type: Tuple[Verdict, ...]
    left = approved
    while left:
        try:
            client.approve([event.event_id for event in left], deadline)
            break
        except Refused as error:
            document = client.read_document(deadline)
            over = tuple(event for event in left if not _is_scheduled(event, document))
            if not over:
                overtaken += _send_each(client, left, error, deadline)
                break
            if not error.may_have_acted:
                overtaken += tuple(Verdict(event, _why_over(event, document)) for event in over)
            left = tuple(event for event in left if event not in over)
    too_late = [verdict.event for verdict in overtaken]
    return tuple(event for event in approved if event not in too_late), overtaken, document


def _send_each(
    client: ImdsClient, events: Tuple[Event, ...], error: Refused, deadline: Deadline
) -> Tuple[Verdict, ...]:
    """Approve them one by one after all were refused together.

    :param error: how they were refused
    :returns: those that are refused alone as well
    :raises Refused: if that is each of them, or there is only one
    """
    refused = ()  # type: Tuple[Verdict, ...]
    for event in events if len(events) > 1 else ():
        try:
            client.approve([event.event_id], deadline)
        except Refused as alone:
            refused += (Verdict(event, "refused: %s" % alone),)
    if len(refused) == len(events) or len(events) == 1:
        raise error
    return refused


def _wait_for_start(
    client: ImdsClient,
    connection: ConnectionOptions,
    approved: Tuple[Event, ...],
    document: Document,
    wait_timeout: float,
    clocks: Clocks,
) -> Tuple[Document, List[Event], str]:
    """Poll until none of the approved events is still scheduled.

    :returns: the last document; the events that have not started; what went wrong with the last read, if anything
    """
    limit = Deadline(wait_timeout, clocks.monotonic)
    late = list(approved)
    problem = ""
    while late and limit.remaining() > 0:
        clocks.sleep(min(_POLL_INTERVAL, limit.remaining()))
        patience = max(_POLL_INTERVAL, min(connection.timeout, limit.remaining()))
        try:
            document = client.read_document(Deadline(patience, clocks.monotonic))
        except (ImdsError, DocumentError) as error:
            # The approval was sent: a failure now must not hide that, and the next poll may succeed.
            problem = str(error)
            continue
        problem = ""
        late = [event for event in late if _is_scheduled(event, document)]
    return document, late, problem


def _find(event: Event, document: Document) -> Optional[Event]:
    for listed in document.events:
        if same_name(listed.event_id, event.event_id):
            return listed
    return None


def _is_scheduled(event: Event, document: Document) -> bool:
    listed = _find(event, document)
    return listed is not None and listed.is_scheduled


def _status_now(event: Event, document: Document) -> str:
    listed = _find(event, document)
    return listed.event_status if listed else "gone"


def _why_over(event: Event, document: Document) -> str:
    listed = _find(event, document)
    return why_over(listed) if listed else NOT_LISTED


def _as_dicts(events: Iterable[Event], vm_name: str, now: datetime) -> List[EventDict]:
    return [event_as_dict(event, vm_name, now) for event in in_order_of_urgency(events)]
