# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The report for the operator, as lines of text."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.scheduled_events.dates import format_date
from ...module_utils.scheduled_events.event import Event
from .clocks import as_utc
from .event_plans import EventPlan
from .plan import HostPlan, Plan
from .policy import notice_of
from .silence import explain


class Moment(NamedTuple):
    """When an order was given, or all was done."""

    at: float
    """Seconds since the epoch."""
    step: str


class Result(NamedTuple):
    """The result of a run for a host."""

    steps: tuple[str, ...] = ()
    """What was done, in words."""
    approved: Mapping[str, int | None] = {}
    """The ids of the events that were approved in its batch, and the seconds of notice that were left."""
    not_approved: Mapping[str, str] = {}
    """The ids of the events of its batch that were not approved, and why, in words."""
    outcome: str = ""
    """How the wait for the end of its events ended, in words."""
    gave_up: bool = False
    """Whether that wait took too long."""
    restored: bool = False
    stays_out: str = ""
    """Who else wants it out of rotation, so that it was not restored, in words."""
    unprepared: bool = False
    """Whether it was in service when its event started."""
    failures: tuple[str, ...] = ()
    """What went wrong."""
    remaining: tuple[str, ...] = ()
    """Where connections or sessions were still open when there was no time left to wait for them."""
    warnings: tuple[str, ...] = ()
    """What the operator must know although it is no failure, in words."""
    still_out: str = ""
    """Who else keeps it out of rotation, in words; empty if nobody does."""
    was_out: bool = False
    """Whether an earlier run had taken it out, and had not restored it, when this run began."""
    skipped: bool = False
    """Whether nothing had to be done to it in its batch."""
    is_to_return: bool = False
    """Whether it was to be restored."""
    predicted: bool = False
    """Whether this is a prediction, in check mode."""
    timeline: tuple[Moment, ...] = ()
    """What was done when, of the steps that take it out and bring it back."""

    def with_warnings(self, warnings: Sequence[str]) -> "Result":
        """The same, with these warnings, each of them once."""
        return self._replace(warnings=tuple(dict.fromkeys([*self.warnings, *warnings])))


class Report(NamedTuple):
    """The report at the end."""

    lines: list[str]
    """One for each host."""
    failures: list[str]
    """One for each thing that went wrong, with its host."""
    by_host: dict[str, list[str]]
    """What went wrong on each host on which anything did."""
    hosts: dict[str, dict[str, Any]]
    """The report for programs: the result of each host, by its name."""


_OFF = "off on purpose"
_CUT_SHORT = (
    "its batch did not run, or was interrupted, for example by meta: end_play in your own tasks: it "
    "may still be out of rotation, and its event approved. Run again"
)


def describe_plan(plan: Plan, now: float) -> list[str]:
    """Describe what is announced, and the order in which the hosts are prepared."""
    lines = [_describe_event(event_plan, now) for event_plan in plan.event_plans]
    for number, batch in enumerate(plan.batches, 1):
        hosts = [_describe_host(name, plan.hosts[name]) for name in batch]
        lines.append("Batch %d of %d: %s" % (number, len(plan.batches), ", ".join(hosts)))
        waiting = sorted((plan.deferred[name], name) for name in batch if name in plan.deferred)
        for until, group in itertools.groupby(waiting, key=lambda one: one[0]):
            names = [name for _until, name in group]
            lines.append(
                "Batch %d of %d: %s would be hit before %s own batch: out as soon as there is room, and in any case"
                " in %d s"
                % (
                    number,
                    len(plan.batches),
                    " and ".join(names),
                    "its" if len(names) == 1 else "their",
                    max(0, until - now),
                )
            )
    lines += ["%s: left in service: %s" % (name, why) for name, why in plan.held.items() if name in plan.demanded]
    lines += ["%s: %s" % (name, why) for name, why in plan.abandoned.items()]
    lines += ["%s: %s" % (name, why) for name, why in plan.unhandled.items()]
    lines += plan.shortfalls
    lines += [
        "%s: left alone: %s" % (name, why) for name, why in plan.passed_over.items() if name not in plan.abandoned
    ]
    lines += [
        "Waiting: %s, until %s at most: %s" % (name, as_utc(plan.deferred[name]), why)
        for name, why in plan.why_waiting.items()
    ]
    lines += ["Hit while in service: %s: %s" % (name, what) for name, what in plan.missed.items()]
    if plan.off:
        lines.append("%s, and not asked: %s" % (_OFF, ", ".join(plan.off)))
    if plan.unanswered:
        lines.append("No answer from: %s" % ", ".join(plan.unanswered))
    return [*(lines or ["Nothing is announced for these hosts."]), *plan.groups, *plan.remarks]


def describe_results(plan: Plan, results: Mapping[str, Result]) -> Report:
    """Tell what became of each host.

    :param results: by host, for the planned hosts and those that did not answer. A planned host without any was lost on
        the way
    """
    lines: list[str] = []
    by_host: dict[str, list[str]] = {}
    hosts: dict[str, dict[str, Any]] = {}

    def fail(name: str, why: str) -> None:
        by_host[name] = [why]
        hosts[name] = _as_record((), Result(), by_host[name])
        lines.append("%s: FAILED: %s" % (name, why))

    planned = [name for batch in plan.batches for name in batch]
    held = [name for name in plan.held if name not in planned]
    named = {*planned, *held, *plan.passed_over, *plan.unhandled, *plan.abandoned}
    for name, why in {**plan.abandoned, **plan.passed_over}.items():
        demand = plan.demanded.get(name)
        failure = plan.abandoned.get(name) or ("left alone: %s" % why if demand and demand.kind.must_be_met else "")
        if failure:
            fail(name, failure)
        else:
            lines.append("%s: left alone: %s" % (name, why))
    for name, why in plan.unhandled.items():
        fail(name, why)
    for name in [*planned, *held, *(name for name in results if name not in named)]:
        if name in held:
            fail(name, "left in service: %s" % plan.held[name])
            continue
        result = results.get(name) or Result(
            failures=("the run lost this host: it may still be out of rotation. Run again",)
        )
        events = plan.hosts[name].events if name in plan.hosts else ()
        ids = {event.event_id.lower() for event in events}
        wrong = [explain(text) for text in result.failures] + ([result.outcome] if result.gave_up else [])
        wrong += ["hit while in service: its event started before it was prepared"] if result.unprepared else []
        wrong = wrong or ([_CUT_SHORT] if name in plan.hosts and _is_cut_short(result) else [])
        approved = {event_id: left for event_id, left in result.approved.items() if event_id.lower() in ids}
        refused = [why for event_id, why in result.not_approved.items() if event_id.lower() in ids]
        told = ["already out when the run began"] if result.was_out else []
        told += result.steps
        told += ["connections remained: %s" % ", ".join(result.remaining)] if result.remaining else []
        told += ["WARNING: %s" % text for text in result.warnings]
        told += [_describe_approval(left, result.predicted) for left in approved.values()]
        told += ["not approved: %s" % why for why in refused]
        told += _describe_unapproved(plan.hosts.get(name), result) if wrong and name in results else []
        told += [result.outcome] if result.outcome and not result.gave_up else []
        told += ["still out %s" % result.stays_out] if result.stays_out else []
        told += [_describe_return(plan.hosts[name])] if result.restored else []
        told += _predict_return(plan.hosts[name]) if result.predicted and name in plan.hosts else []
        told += ["still out: %s" % result.still_out] if result.still_out and not result.stays_out else []
        told += ["FAILED: %s" % text for text in wrong]
        what = ", ".join("%s %s" % (event.event_type, event.event_id) for event in events)
        demand = plan.hosts[name].demand if name in plan.hosts else None
        what = what or (demand.kind.reason if demand else "no event")
        lines.append("%s: %s: %s" % (name, what, "; ".join(told) or "nothing done"))
        if wrong:
            by_host[name] = wrong
        hosts[name] = _as_record(events, result._replace(approved=approved), wrong)
    for name in plan.off:
        lines.append("%s: %s" % (name, _OFF))
        hosts[name] = _as_record((), Result((_OFF,)), ())
    return Report(
        lines=lines or ["Nothing had to be done."],
        failures=["%s: %s" % (name, text) for name, wrong in by_host.items() for text in wrong],
        by_host=by_host,
        hosts=hosts,
    )


def _is_cut_short(result: Result) -> bool:
    """Whether a planned host has no outcome, and no failure explains that."""
    if result.predicted or result.skipped or result.restored or result.stays_out:
        return False
    return not result.outcome or result.is_to_return


def _as_record(events: Sequence[Event], result: Result, failures: Sequence[str]) -> dict[str, Any]:
    return {
        "events": [
            {
                "event_id": event.event_id,
                "event_type": event.event_type,
                "not_before": None if event.not_before is None else format_date(event.not_before),
            }
            for event in events
        ],
        "steps": list(result.steps),
        "approved": [{"event_id": name, "seconds_until_start": left} for name, left in result.approved.items()],
        "outcome": result.outcome,
        "was_out": result.was_out,
        "restored": result.restored,
        "connections_remained": list(result.remaining),
        "warnings": list(result.warnings),
        "still_out": result.still_out,
        "hit_unprepared": result.unprepared,
        "timeline": [{"at": as_utc(moment.at), "step": moment.step} for moment in result.timeline],
        "failures": list(failures),
    }


def _describe_host(name: str, host_plan: HostPlan) -> str:
    if host_plan.agent:
        return "%s (left to its agent)" % name
    if host_plan.idle_agent:
        return "%s (not left to its agent, which has no policy for it)" % name
    return name if host_plan.remove else "%s (to be restored)" % name


def _describe_event(event_plan: EventPlan, now: float) -> str:
    event = event_plan.event
    hosts = [*event_plan.hosts] + ["the VM %s" % name for name in event_plan.outsiders]
    line = "%s %s: %s, %s" % (event.event_type, event.event_id, " and ".join(hosts), _describe_notice(event, now))
    if event_plan.skip_reason:
        return "%s: left alone, %s" % (line, event_plan.skip_reason)
    if event_plan.waits_for_answers:
        return "%s: will be approved if the hosts that have not answered yet answer and are ready" % line
    if event_plan.agents and notice_of(event, now) is not None:
        return "%s: %s" % (line, event_plan.withheld)
    return "%s: will not be approved, %s" % (line, event_plan.withheld) if event_plan.withheld else line


def _describe_notice(event: Event, now: float) -> str:
    if event.is_advisory:
        return "may be followed by an eviction"
    notice = notice_of(event, now)
    if notice is None:
        return "has status %s" % event.event_status
    return "may start at any moment" if event.not_before is None else "starts in %d s" % notice


def _describe_unapproved(host_plan: HostPlan | None, result: Result) -> list[str]:
    """The events of a host that failed which nobody has approved: Azure begins them all the same."""
    # An earlier run may have approved those of a host that it took out.
    if host_plan is None or host_plan.agent or result.predicted or result.was_out:
        return []
    told = {event_id.lower() for event_id in (*result.approved, *result.not_approved)}
    return [
        "not approved: %s begins by itself, %s"
        % (
            event.event_id,
            "at any moment" if event.not_before is None else "at its NotBefore, %s" % format_date(event.not_before),
        )
        for event in host_plan.events
        if event.is_scheduled and not event.is_advisory and event.event_id.lower() not in told
    ]


def _describe_return(host_plan: HostPlan) -> str:
    return "in rotation, its agent says" if host_plan.agent else "restored"


def _predict_return(host_plan: HostPlan) -> list[str]:
    if host_plan.agent or host_plan.final:
        return []
    return ["would be restored" if host_plan.is_return else "would be restored when it is over"]


def _describe_approval(left: int | None, predicted: bool) -> str:
    done = "would be approved" if predicted else "approved"
    return done if left is None else "%s with %d s of notice left" % (done, left)
