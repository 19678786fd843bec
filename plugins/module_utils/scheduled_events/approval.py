# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Who may approve which?

An approval starts the event for *all* of its resources, at once. So a VM approves its own events only,
and an event that several VMs share only once, when all of them are ready.

Source: https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events#start-an-event
"""

from typing import Iterable, List, NamedTuple, Sequence, Tuple

from .document import Event, in_order_of_urgency, same_name

OWN = "own"
LEADER = "leader"
ANY = "any"
SCOPES = (OWN, LEADER, ANY)

NOT_LISTED = "not listed: it has ended, was withdrawn or never was"


class Verdict(NamedTuple):
    """An event that is not to be approved, and why."""

    event: Event
    reason: str


class Judgement(NamedTuple):
    """What a VM may do about the events that were chosen, each list in order of urgency."""

    approve: Tuple[Event, ...]
    """May be approved now."""
    not_approved: Tuple[Verdict, ...]
    """Nothing to approve, or not for this VM to approve."""
    refused: Tuple[Verdict, ...]
    """To ask for them is a mistake: nothing at all should be approved."""


class WaitingTerminate(NamedTuple):
    """A Terminate that Azure holds back, although it is approved."""

    event: Event
    waits_for: Tuple[Event, ...]
    """These have to be approved too, or to run out of time, before it starts."""


def judge(events: Iterable[Event], vm_name: str, scope: str) -> Judgement:
    """Decide which of the chosen events the VM `vm_name` may approve.

    :param scope: `own`: only what hits this VM, anything else is refused; `leader`: only what hits this
        VM as the first of its resources, anything else is left out; `any`: everything
    """
    if scope not in SCOPES:
        raise ValueError("scope: %r is not one of %s" % (scope, ", ".join(SCOPES)))
    approve = []  # type: List[Event]
    not_approved = []  # type: List[Verdict]
    refused = []  # type: List[Verdict]
    for event in in_order_of_urgency(events):
        # First, and whatever the status: a wrong id is a mistake before the event starts and after.
        if scope == OWN and not event.affects(vm_name):
            refused.append(Verdict(event, _does_not_affect(event, vm_name)))
        elif not event.is_scheduled:
            not_approved.append(Verdict(event, why_over(event)))
        elif scope == LEADER and not event.is_led_by(vm_name):
            reason = (
                "led by %s, not by %s" % (event.leader, vm_name)
                if event.affects(vm_name)
                else _does_not_affect(event, vm_name)
            )
            not_approved.append(Verdict(event, reason))
        else:
            approve.append(event)
    return Judgement(tuple(approve), tuple(not_approved), tuple(refused))


def why_over(event: Event) -> str:
    """Why an event that is no longer scheduled needs no approval."""
    return "already started" if event.is_started else "its status is %s: nothing to approve" % event.event_status


def waiting_terminates(approved: Sequence[Event], listed: Iterable[Event]) -> List[WaitingTerminate]:
    """Find the Terminates among `approved` that Azure will not start early, and what each waits for.

    Azure starts Terminates in the order of their `NotBefore`: one waits for every earlier one, and for
    every one of the same instant, that is neither approved nor out of time. Whether another VM has
    approved its own is not in the document, so those are named here as well.
    """
    unapproved = [
        event
        for event in listed
        if event.event_type == "Terminate"
        and event.is_scheduled
        and not any(same_name(event.event_id, one.event_id) for one in approved)
    ]
    waiting = []
    for event in approved:
        if event.event_type == "Terminate":
            waits_for = tuple(other for other in unapproved if not _starts_after(other, event))
            if waits_for:
                waiting.append(WaitingTerminate(event, tuple(in_order_of_urgency(waits_for))))
    return waiting


def _starts_after(one: Event, other: Event) -> bool:
    # An unknown start may be any: it counts as one that holds the other back.
    return one.not_before is not None and other.not_before is not None and one.not_before > other.not_before


def _does_not_affect(event: Event, vm_name: str) -> str:
    return "does not affect %s, but %s" % (vm_name, ", ".join(event.resources) or "nothing that it names")
