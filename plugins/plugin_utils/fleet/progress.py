# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Whether the events of a host are over, and whether it may be restored.

An event that is over, or was withdrawn, is no longer listed; that it has started says nothing about its end.
A host that is being deleted stops answering.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from ...module_utils.scheduled_events.event import Event
from .clocks import time_of_day
from .plan import HostPlan
from .policy import Policy, begins_soon, does_not_wait, start_of
from .silence import remedy_for

Progress = dict[str, Any]


def begin_watch(host_plan: HostPlan, approved: Iterable[str], failed: bool, policy: Policy, now: float) -> Progress:
    """Start to wait for the end of a host's events.

    :param host_plan: what the plan says of the host
    :param approved: ids of all events that were approved, or may have been: an answer can be lost
    :param failed: whether a step failed on this host
    :returns: `over`; `restore`, whether the host may go back then; `outcome`, in words; and what `watch` needs
    """
    were_approved = {event_id.lower() for event_id in (*approved, *host_plan.approving)}
    awaited = [
        event
        for event in host_plan.events
        # An agent approves when it is ready, which may be at any moment.
        if host_plan.agent or event.event_id.lower() in were_approved or begins_soon(event, policy, now)
    ]
    starts = [start for start in map(start_of, awaited) if start is not None]
    if awaited:
        outcome = ""
    elif host_plan.withdrawn and not host_plan.events:
        outcome = "withdrawn while it was drained: no service was stopped"
    elif failed:
        outcome = "restored, because a step failed and the event is far off"
    elif host_plan.events:
        outcome = "restored, because the event was not approved and is far off"
    else:
        outcome = "no event is pending any more"
    return {
        "over": not awaited,
        "restore": not awaited,
        "outcome": outcome,
        "awaited": [event.event_id.lower() for event in awaited],
        "final": any(event.is_final for event in awaited),
        "deleted_from": _deleted_from(awaited, were_approved, now),
        "by_agent": host_plan.agent,
        "started": any(not event.is_scheduled for event in awaited),
        "may_start_at": (now if host_plan.agent or were_approved.intersection(_ids(awaited)) else min(starts or [now])),
        "missing_since": None,
        "began_at": now,
        "gives_up_at": max(now, min(max(starts or [now]), now + policy.begin_within)) + policy.end_timeout,
        "silent_since": None,
        "why_silent": "",
        "gave_up": False,
        "silent": False,
        "told": "",
        "told_at": now,
    }


def watch(
    progress: Mapping[str, Any],
    events: Sequence[Event] | None,
    policy: Policy,
    now: float,
    confirm_after: float,
    why_silent: str = "",
) -> Progress:
    """Take the result of one more poll into account.

    :param events: those that are listed for the host; None if it, or its metadata service, did not answer
    :param confirm_after: seconds after which a deletion that is no longer listed is looked at once more, before
        it is taken for withdrawn
    :param why_silent: why nobody answered, in words
    :returns: the new state
    """
    silent_since = progress["silent_since"] if events is None else None
    if events is None and silent_since is None:
        silent_since = now
    why_silent = "" if events is not None else _why_silent(progress["why_silent"], why_silent)
    known = dict(progress, silent_since=silent_since, why_silent=why_silent)
    if events is None:
        after = _look_at_silence(known, now)
    else:
        after = _look_at(
            known, [event for event in events if _concerns(event, progress, policy, now)], now, confirm_after
        )
    if not after["over"] and now >= progress["gives_up_at"]:
        after["gave_up"] = True
        after["outcome"] = "not over yet, the host keeps its state: run again"
    elif (
        not after["over"]
        and silent_since is not None
        and now >= _waits_for_answer_until(progress, silent_since, policy)
    ):
        # An approved event may have begun long before its time: waiting for that time would change nothing.
        after["gave_up"] = True
        after["outcome"] = "has not answered for %d s, the host keeps its state: run again%s" % (
            now - silent_since,
            _because(after["why_silent"]),
        )
    return after


def _why_silent(before: str, why: str) -> str:
    """The message about a silence: the first reason, until the operator has to do something else."""
    return before if before and remedy_for(before) == remedy_for(why) else why


def _because(why_silent: str) -> str:
    told = [text for text in (why_silent, remedy_for(why_silent)) if text]
    return " (%s)" % "; ".join(told) if told else ""


def _waits_for_answer_until(progress: Mapping[str, Any], silent_since: float, policy: Policy) -> float:
    return float(max(silent_since, progress["may_start_at"]) + policy.end_timeout)


def describe_wait(progress: Mapping[str, Any], events: Sequence[Event] | None, policy: Policy) -> str:
    """Say what is waited for, since when, and for how long at most; or how the wait has ended.

    :param events: those that were listed for the host at the last look; None if nobody answered
    """
    if progress["over"] or progress["gave_up"]:
        return str(progress["outcome"])
    listed = [event for event in events or () if event.event_id.lower() in progress["awaited"]]
    told = ["%s %s (%s)" % (event.event_type, event.event_id, event.event_status) for event in listed]
    if events is None:
        told = [
            "it to answer again: neither it nor its metadata service does%s" % _because(progress["why_silent"]),
        ]
    limit = progress["gives_up_at"]
    if progress["silent_since"] is not None:
        limit = min(limit, _waits_for_answer_until(progress, progress["silent_since"], policy))
    return "waits for %s since %s, until %s at most" % (
        " and ".join(told or ["another poll for what is no longer listed"]),
        time_of_day(progress["began_at"]),
        time_of_day(limit),
    )


def _look_at_silence(progress: Progress, now: float) -> Progress:
    if progress["final"] and (progress["started"] or now >= progress["may_start_at"]):
        return dict(progress, over=True, restore=False, silent=True, outcome="deleted: it no longer answers")
    return dict(progress)


def _look_at(progress: Progress, listed: list[Event], now: float, confirm_after: float) -> Progress:
    if listed:
        return dict(
            progress,
            missing_since=None,
            started=progress["started"] or any(not event.is_scheduled for event in listed),
            final=progress["final"] or any(event.is_final for event in listed),
            deleted_from=_earlier(progress["deleted_from"], _deleted_from(listed, (), now)),
        )
    if not progress["final"]:
        was_withdrawn = not progress["started"] and now < progress["may_start_at"]
        return dict(progress, over=True, restore=True, outcome="withdrawn" if was_withdrawn else "over")
    if progress["started"]:
        return dict(
            progress, over=True, restore=False, outcome="no longer listed after it started: kept out of rotation"
        )
    missing_since = progress["missing_since"]
    if missing_since is None:
        return dict(progress, missing_since=now)
    if now < missing_since + confirm_after:
        return dict(progress)
    deleted_from = progress["deleted_from"]
    # An agent knows what it has approved, and decides itself whether to restore the host.
    if deleted_from is not None and missing_since >= deleted_from and not progress["by_agent"]:
        said = "no longer listed, and may have happened: kept out of rotation"
        return dict(progress, over=True, restore=False, outcome=said)
    return dict(progress, over=True, restore=True, outcome="withdrawn")


def _deleted_from(events: Iterable[Event], approved: Container[str], now: float) -> float | None:
    """From when on the machine may be deleted; None if it will not be."""
    starts = [
        now if event.event_id.lower() in approved else start_of(event) or now for event in events if event.is_final
    ]
    return min(starts, default=None)


def _earlier(one: float | None, other: float | None) -> float | None:
    return min((instant for instant in (one, other) if instant is not None), default=None)


def _concerns(event: Event, progress: Mapping[str, Any], policy: Policy, now: float) -> bool:
    """Whether the host must stay out for this event: it was planned for, or has been announced since and does not
    wait.
    """
    if event.event_id.lower() in progress["awaited"]:
        return True
    return does_not_wait(event, policy, now)


def _ids(events: Iterable[Event]) -> list[str]:
    return [event.event_id.lower() for event in events]
