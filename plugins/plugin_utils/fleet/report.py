# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What is told to the operator: lines of text."""

import itertools
from collections.abc import Mapping
from typing import NamedTuple

from ...module_utils.scheduled_events.document import Event
from .plan import Case, Entry, Plan
from .treatment import notice_of


class Result(NamedTuple):
    """What became of a host."""

    steps: tuple[str, ...] = ()
    """What was done, in words."""
    approved: Mapping[str, int | None] = {}
    """Ids of the events that were approved in its batch, and the seconds of notice that were left."""
    outcome: str = ""
    """How the wait for the end of its events ended, in words."""
    gave_up: bool = False
    """Whether that wait took too long."""
    restored: bool = False
    unprepared: bool = False
    """Whether it was in service when its event started."""
    failures: tuple[str, ...] = ()
    """What went wrong."""


def describe_plan(plan: Plan, now: float) -> list[str]:
    """Tell what was announced, and in which order it will be met."""
    lines = [_describe_case(case, now) for case in plan.cases]
    for number, batch in enumerate(plan.batches, 1):
        hosts = [_describe_host(name, plan.hosts[name]) for name in batch]
        lines.append("Batch %d of %d: %s" % (number, len(plan.batches), ", ".join(hosts)))
        waiting = sorted((plan.patient[name], name) for name in batch if name in plan.patient)
        for until, group in itertools.groupby(waiting, key=lambda one: one[0]):
            names = [name for _until, name in group]
            lines.append(
                "Batch %d of %d: %s would be hit before a turn of %s own: out as soon as there is room, and in any case"
                " in %d s"
                % (
                    number,
                    len(plan.batches),
                    " and ".join(names),
                    "its" if len(names) == 1 else "their",
                    max(0, until - now),
                )
            )
    lines += plan.shortfalls
    lines += ["%s: left alone: %s" % (name, why) for name, why in plan.passed_over.items()]
    if plan.unanswered:
        lines.append("No answer from: %s" % ", ".join(plan.unanswered))
    return lines or ["Nothing is announced for these hosts."]


def describe_results(plan: Plan, results: Mapping[str, Result]) -> dict[str, list[str]]:
    """Tell what became of each host.

    :param results: by host, for the planned hosts and those that did not answer. A planned host without any was lost on
        the way
    :returns: `lines`, one for each host; `failures`, one line for each
    """
    lines = []
    failures = []
    planned = [name for batch in plan.batches for name in batch]
    held = [name for name in plan.held if name not in planned]
    named = {*planned, *held, *plan.passed_over}
    lines += ["%s: left alone: %s" % (name, why) for name, why in plan.passed_over.items()]
    for name in [*planned, *held, *(name for name in results if name not in named)]:
        if name in held:
            lines.append("%s: FAILED: left in service: %s" % (name, plan.held[name]))
            failures.append("%s: left in service: %s" % (name, plan.held[name]))
            continue
        result = results.get(name) or Result(failures=("lost on the way: it may still be out of rotation. Run again",))
        events = plan.hosts[name].events if name in plan.hosts else ()
        ids = {event.event_id.lower() for event in events}
        wrong = list(result.failures) + ([result.outcome] if result.gave_up else [])
        wrong += ["hit while in service: its event started before it was made ready"] if result.unprepared else []
        told = list(result.steps)
        told += [_describe_approval(left) for event_id, left in result.approved.items() if event_id.lower() in ids]
        told += [result.outcome] if result.outcome and not result.gave_up else []
        told += [_describe_return(plan.hosts[name])] if result.restored else []
        told += ["FAILED: %s" % text for text in wrong]
        what = ", ".join("%s %s" % (event.event_type, event.event_id) for event in events)
        lines.append("%s: %s: %s" % (name, what or "no event", "; ".join(told) or "nothing done"))
        failures += ["%s: %s" % (name, text) for text in wrong]
    return {"lines": lines or ["Nothing had to be done."], "failures": failures}


def _describe_host(name: str, entry: Entry) -> str:
    if entry.agent:
        return "%s (left to its agent)" % name
    return name if entry.remove else "%s (to be put back)" % name


def _describe_case(case: Case, now: float) -> str:
    event = case.event
    hosts = [*case.hosts] + ["the VM %s" % name for name in case.outsiders]
    line = "%s %s: %s, %s" % (event.event_type, event.event_id, " and ".join(hosts), _describe_notice(event, now))
    if case.left_alone:
        return "%s: left alone, %s" % (line, case.left_alone)
    if case.agents and notice_of(event, now) is not None:
        return "%s: %s" % (line, case.withheld)
    return "%s: will not be approved, %s" % (line, case.withheld) if case.withheld else line


def _describe_notice(event: Event, now: float) -> str:
    notice = notice_of(event, now)
    if notice is None:
        return "has status %s" % event.event_status
    return "may start at any moment" if event.not_before is None else "starts in %d s" % notice


def _describe_return(entry: Entry) -> str:
    return "in rotation, its agent says" if entry.agent else "put back"


def _describe_approval(left: int | None) -> str:
    return "approved" if left is None else "approved with %d s of notice left" % left
