# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The messages for an operator who watches a run: a line for each change of a host, and the current state of the
fleet.
"""

from collections.abc import Iterator, Mapping

from .balancers import few
from .clocks import time_of_day
from .demand import NO_LIMIT
from .groups import GroupState, count_groups
from .policy import start_of
from .run import HostRun, Run, Step


def changes(before: Run, after: Run, now: float) -> list[str]:
    """Describe the changes between two decisions, a line for each host and change.

    :param now: seconds since the epoch
    """
    groups = count_groups([host.reading for host in after.hosts.values()], after.policy)
    return [
        "%s %s" % (name, what)
        for name, host in after.hosts.items()
        for what in _of_host(before.hosts[name], host, after, groups, now)
    ]


def summary(run: Run) -> str:
    """Say in one line how many hosts of each group are in service, and what the run waits for."""
    groups = count_groups([host.reading for host in run.hosts.values()], run.policy)
    told = [
        "%s %d/%d (at least %d)" % (group.name or "all", group.in_service, group.size, group.minimum)
        for group in groups.values()
    ]
    waiting = [
        "%s %s" % (name, _WAITS[step] % _limits(host))
        for name, host in run.hosts.items()
        for step in (host.step, *host.then)
        if host.is_given and step in _WAITS
    ]
    return " · ".join([*told, *(["waiting: " + few(waiting)] if waiting else [])])


def out(run: Run) -> list[str]:
    """The hosts that are out of rotation, or about to leave it, and that a run has to restore."""
    return [
        name
        for name, host in run.hosts.items()
        if not (run.predicts or host.result.restored or host.leaves_out)
        and (
            host.reading.needs_restore
            or Step.DRAIN in host.then
            or any(moment.step in _TAKES_OUT for moment in host.timeline)
        )
    ]


def _of_host(before: HostRun, host: HostRun, run: Run, groups: Mapping[str, GroupState], now: float) -> Iterator[str]:
    for failure in host.result.failures[len(before.result.failures) :]:
        yield "FAILED: %s" % failure
    if host.left_to and not before.left_to:
        yield "left alone: %s" % host.left_to
    # A waiting host is asked repeatedly.
    if host.step is Step.WAIT and before.until != host.until:
        why = run.batch.why_waiting.get(host.reading.name, "") if run.batch else ""
        yield "waits until %s at most: %s" % (_time(host.until), why or "there is no room yet")
    if host.step is Step.LEASE and host.then and not (before.step is Step.LEASE and before.is_given):
        yield "leaves rotation: %s" % _ahead(host, now)
    has_failed = len(host.result.failures) > len(before.result.failures)
    if before.step is not host.step and not has_failed:
        yield from _done(before, host, run, groups, now)


def _done(before: HostRun, host: HostRun, run: Run, groups: Mapping[str, GroupState], now: float) -> Iterator[str]:
    """The result of the order that a host has carried out."""
    would = "would be " if run.predicts else ""
    if before.step is Step.LEASE and host.is_leased and host.step is Step.DRAIN:
        yield "leaves rotation: %s" % _ahead(host, now)
    elif Step.DRAIN in (before.step, *before.then) and not host.left_to and not run.predicts:
        yield "out of rotation (%s)" % _counted(host, groups)
    elif before.step is Step.STOP:
        yield "%sstopped" % would
    if Step.APPROVE in (before.step, *before.then):
        for event_id in host.event_ids:
            if event_id in host.result.approved:
                left = host.result.approved[event_id]
                yield "%sapproved %s%s" % (would, event_id, "" if left is None else ", %d s before its start" % left)
            elif event_id in host.result.not_approved:
                yield "not approved %s: %s" % (event_id, host.result.not_approved[event_id])
    if before.step is Step.CANCEL:
        yield "the run of updates is cancelled"
    elif before.step is Step.MOVE and not run.predicts:
        yield str((host.progress or {}).get("outcome", ""))
    if host.result.restored and not before.result.restored:
        is_seen = host.reading.is_seen or before.step is Step.SEE_BACK
        what = "back in rotation" if is_seen else "restored, and nobody was asked whether it is in rotation"
        yield "%s (%s)" % (what, _counted(host, groups))
    elif host.result.stays_out and not before.result.stays_out:
        yield "stays out %s" % host.result.stays_out


def _ahead(host: HostRun, now: float) -> str:
    """The next step of a host, and the time until it."""
    if host.host_plan is not None and host.host_plan.demand is not None:
        return host.host_plan.reason
    told = []
    for event in host.host_plan.events if host.host_plan else ():
        start = start_of(event) if event.is_scheduled else None
        told.append(event.event_type if start is None else "%s in %d s" % (event.event_type, max(0, start - now)))
    return ", ".join(told) or "no event is pending any more"


def _counted(host: HostRun, groups: Mapping[str, GroupState]) -> str:
    mine = [groups[name] for name in host.reading.groups if name in groups]
    return "; ".join(
        "%s%d of %d out, %d must stay"
        % ("%s: " % group.name if len(mine) > 1 else "", group.size - group.in_service, group.size, group.minimum)
        for group in mine
    )


def _limits(host: HostRun) -> dict[str, str]:
    """The time until which a host may need for its step."""
    host_plan = host.host_plan
    return {
        "until": _time(host.until),
        "drained_by": _limit(host_plan.drained_by if host_plan else None),
        "stopped_by": _limit(host_plan.stopped_by if host_plan else None),
    }


def _limit(instant: float | None) -> str:
    # A service that is to stop within some seconds has its limit that much earlier.
    has_limit = instant is None or instant < NO_LIMIT / 2
    return " until %s" % _time(instant) if has_limit else ""


def _time(instant: float | None) -> str:
    return "any moment" if instant is None else time_of_day(instant)


_TAKES_OUT = (Step.DRAIN.value, Step.STOP.value, Step.MOVE.value)
_WAITS = {
    Step.WAIT: "for room until %(until)s",
    Step.DRAIN: "for its connections%(drained_by)s",
    Step.STOP: "for its services to stop%(stopped_by)s",
    Step.MOVE: "for Azure",
    Step.WATCH: "for the end of its event",
    Step.SEE_BACK: "for its agent",
    Step.RESTORE: "for its services to start",
}
