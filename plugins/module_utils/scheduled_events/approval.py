# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Which events may be approved, and by whom.

An approval starts the event for *all* of its resources, at once. So it is given on behalf of the machines that are
ready: inside a VM of that one, from outside of those that the user names. What a scope means is the same for both:

* `own`: only events that hit machines spoken for, and no other. To ask for anything else is a mistake, and refused
* `leader`: only events whose first resource is spoken for. When every machine of a shared event does this, one of
  them approves it; it is for the user to know that all are ready
* `any`: every event

An event that is only advisory is in no scope: its approval has no effect. Nor is one of which cannot be read whom it
hits.

Source: https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events#start-an-event
"""

from typing import Callable, Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from .event import Event, NameKey, in_order_of_urgency, name_key, same_name

OWN = "own"
LEADER = "leader"
ANY = "any"
SCOPES = (OWN, LEADER, ANY)

ADVISORY = "advisory"
UNKNOWN_VMS = "its list of VMs cannot be read"
NOT_LISTED = "not listed: it has ended, was withdrawn or never existed"


class Mandate(NamedTuple):
    """On behalf of which machines an approval is given."""

    covers: Callable[[Event, str], bool]
    """Whether the machine of this name, of those that this event hits, is one of them."""
    who: str
    """What they are called in reasons."""


class Verdict(NamedTuple):
    """An event that is not to be approved, and why."""

    event: Event
    reason: str


class Judgement(NamedTuple):
    """What may be done about the events that were chosen, each list in order of urgency."""

    approve: Tuple[Event, ...]
    """May be approved now."""
    not_approved: Tuple[Verdict, ...]
    """Nothing to approve, or not for these machines to approve."""
    refused: Tuple[Verdict, ...]
    """To ask for them is a mistake: nothing at all should be approved."""


class WaitingTerminate(NamedTuple):
    """A Terminate that Azure holds back, although it is approved."""

    event: Event
    waits_for: Tuple[Event, ...]
    """These have to be approved too, or to run out of time, before it starts."""


def for_vm(vm_name: str) -> Mandate:
    """Speak for one machine, as a VM does for itself: it is told of no other machine of its name."""
    return Mandate(lambda _event, name: same_name(name, vm_name), vm_name)


def judge(events: Iterable[Event], mandate: Mandate, scope: str) -> Judgement:
    """Decide which of the chosen events may be approved on behalf of these machines.

    :param scope: `own`, `leader` or `any`, as above
    """
    if scope not in SCOPES:
        raise ValueError("scope: %r is not one of %s" % (scope, ", ".join(SCOPES)))
    approve = []  # type: List[Event]
    not_approved = []  # type: List[Verdict]
    refused = []  # type: List[Verdict]
    for event in in_order_of_urgency(events):
        others = [name for name in event.resources if not mandate.covers(event, name)]
        if event.is_advisory:
            not_approved.append(Verdict(event, ADVISORY))
        elif event.is_of_unknown_vms:
            not_approved.append(Verdict(event, UNKNOWN_VMS))
        # Then, and whatever the status: a wrong id is a mistake before the event starts and after.
        elif scope == OWN and len(others) == len(event.resources):
            refused.append(Verdict(event, _does_not_affect(event, mandate)))
        elif not event.is_scheduled:
            not_approved.append(Verdict(event, why_over(event)))
        elif scope == OWN and others:
            refused.append(Verdict(event, "affects %s as well" % ", ".join(others)))
        elif scope == LEADER and (event.leader is None or event.leader in others):
            not_approved.append(Verdict(event, _not_led(event, mandate, others)))
        else:
            approve.append(event)
    return Judgement(tuple(approve), tuple(not_approved), tuple(refused))


def explain_refusal(refused: Sequence[Verdict], speaker: str, remedy: str) -> str:
    """Say why nothing at all was approved.

    :param speaker: for whom the approval was asked: `this VM is web_0`
    :param remedy: what to do instead, in a whole sentence
    """
    return (
        "Nothing was approved, because scope is own and %s, but these were chosen: %s. An approval lets Azure begin on"
        " every VM of the event. %s"
        % (speaker, "; ".join("%s, which %s" % (event.event_id, reason) for event, reason in refused), remedy)
    )


def unlisted(
    event_ids: Optional[Sequence[str]], chosen: Iterable[Event], listed: Iterable[Event]
) -> List[Dict[str, str]]:
    """The ids that were asked for by name but not chosen, each once and with the reason."""
    are_listed = {name_key(event.event_id) for event in listed}
    answered = {name_key(event.event_id) for event in chosen}
    missing = []
    for event_id in event_ids or ():
        if name_key(event_id) not in answered:
            answered.add(name_key(event_id))
            reason = "left out by the other filters" if name_key(event_id) in are_listed else NOT_LISTED
            missing.append({"event_id": event_id, "reason": reason})
    return missing


def explain_late(late: Iterable[str], seconds: float, problem: str, remedy: str) -> str:
    """Say that approved events have not started in time.

    :param late: their ids
    :param problem: what went wrong when they were looked at last; empty: nothing
    :param remedy: what to do, after a colon
    """
    return "Approved, but not started within %g s: %s%s. Azure starts an approved event when it can: %s" % (
        seconds,
        ", ".join(late),
        " (%s)" % problem if problem else "",
        remedy,
    )


def why_over(event: Event) -> str:
    """Why an event that is no longer scheduled needs no approval."""
    return "already started" if event.is_started else "its status is %s: nothing to approve" % event.event_status


def why_another(event: Event, as_seen: Iterable[Event]) -> str:
    """Why an event is not the one for which the machines were prepared; empty if it is, or nobody has said.

    An update under the same id may make a Reboot of a Freeze, and hit one more machine.
    """
    for seen in as_seen:
        if same_name(seen.event_id, event.event_id) and _nature(seen) != _nature(event):
            return "it has changed: it was a %s of %s when it was prepared for, and is a %s of %s" % (
                seen.event_type,
                ", ".join(seen.resources),
                event.event_type,
                ", ".join(event.resources),
            )
    return ""


def _nature(event: Event) -> Tuple[str, FrozenSet[NameKey]]:
    return event.event_type, frozenset(name_key(name) for name in event.resources)


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


def describe_wait(waiting: WaitingTerminate) -> str:
    """Say what a Terminate waits for."""
    return "Terminate %s does not start before these are approved too, or reach their NotBefore: %s" % (
        _describe(waiting.event),
        ", ".join(_describe(event) for event in waiting.waits_for),
    )


def _describe(event: Event) -> str:
    return "%s of %s" % (event.event_id, " and ".join(event.resources))


def _starts_after(one: Event, other: Event) -> bool:
    # An unknown start may be any: it counts as one that holds the other back.
    return one.not_before is not None and other.not_before is not None and one.not_before > other.not_before


def _not_led(event: Event, mandate: Mandate, others: Sequence[str]) -> str:
    if len(others) == len(event.resources):
        return _does_not_affect(event, mandate)
    return "led by %s, not by %s" % (event.leader, mandate.who)


def _does_not_affect(event: Event, mandate: Mandate) -> str:
    return "does not affect %s, but %s" % (mandate.who, ", ".join(event.resources) or "no VM that it names")
