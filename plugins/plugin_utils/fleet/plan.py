# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Plans when each host leaves rotation, and what is done with it.

It puts together what the other rooms decide: event_plans.py about events, units.py and batches.py about the order.
"""

import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...module_utils.scheduled_events.event import Event, name_key
from .balancers import few
from .batches import make_batches, take_batch, why_stopped
from .clocks import as_utc, why_controller_is_wrong
from .demand import Demand
from .event_plans import EventPlan, is_among, plan_events, unhandled
from .groups import GroupState, count_groups
from .host import Host, PlanError, hold_doubtful
from .policy import LISTED_FOR, Policy, deadline_of, needs_stop, remarks_on, start_of
from .units import LEAST_FOR_ENDING, units_of_demands, units_of_events, why_blocked


class HostPlan(NamedTuple):
    """What is done with a host in a batch. Times are seconds since the epoch."""

    vm_name: str
    events: tuple[Event, ...]
    """The events that it leaves rotation for. Without any, and without a demand, it is only restored."""
    agent: bool
    """Whether everything is left to its agent."""
    remove: bool
    """Whether it is taken out of rotation."""
    stop: bool
    """Whether its services are stopped."""
    drained_by: float
    stopped_by: float
    final: bool
    """Whether it is to be deleted."""
    unprepared: bool
    """Whether it was in service when its event started."""
    idle_agent: bool = False
    """Whether it has an agent that has nothing to do for its events."""
    approving: tuple[str, ...] = ()
    """Ids of its events that an earlier run has approved, or may have."""
    withdrawn: tuple[str, ...] = ()
    """Ids of its events that were withdrawn while it was drained."""
    demand: Demand | None = None
    """The demand that it leaves rotation for."""
    begins_by: float = math.inf
    """When its preparation must begin."""

    @property
    def reason(self) -> str:
        """Why the host is out of rotation, as it is noted on the host; empty if it is only to be restored."""
        if self.demand is not None:
            return self.demand.kind.reason
        return ", ".join("%s %s" % (event.event_type, event.event_id) for event in self.events)

    @property
    def is_return(self) -> bool:
        """Whether the host is only to be restored."""
        return not self.events and self.demand is None


class Plan(NamedTuple):
    """What is done with all hosts of a play."""

    batches: Sequence[Sequence[str]]
    """Host names in order."""
    hosts: Mapping[str, HostPlan]
    """What is done with each host in a batch, by its name."""
    event_plans: Sequence[EventPlan]
    """All events, in order of urgency."""
    unanswered: Sequence[str]
    """The hosts that have not answered."""
    held: Mapping[str, str]
    """Why hosts that are hit stay in service for now, by their names."""
    shortfalls: Sequence[str]
    """Where the platform takes more hosts than the minimum in service allows, in words."""
    passed_over: Mapping[str, str] = {}
    """Why hosts are left alone, by their names: another run works on them, they are being deleted, or an attempt was
    in vain lately.
    """
    turns: Sequence[Sequence[str]] = ()
    """The batches, with the hosts that have not answered in one of them or in a turn of their own."""
    deferred: Mapping[str, float] = {}
    """The hosts that wait in their batch for room, and until when at most, in seconds since the epoch: they were
    brought forward, because their event would start before a turn of their own.
    """
    remarks: Sequence[str] = ()
    """What is probably a mistake in the policies or the hosts, in words."""
    groups: Sequence[str] = ()
    """For each group, how many hosts are in service and how many must stay, in words."""
    why_waiting: Mapping[str, str] = {}
    """Why hosts wait in their batch, in words, by their names."""
    missed: Mapping[str, str] = {}
    """What hit hosts of a batch in service before their turn came, in words, by their names."""
    abandoned: Mapping[str, str] = {}
    """Why hosts may stay out that another run has leased, or that have lost their records, in words, by their names."""
    demanded: Mapping[str, Demand] = {}
    """The demands for hosts, met or not, by their names."""
    unhandled: Mapping[str, str] = {}
    """What hits hosts that nothing handles, and why, in words, by their names."""
    off: tuple[str, ...] = ()
    """The hosts that are off on purpose: they are not asked, and count nowhere."""

    @property
    def involved(self) -> list[str]:
        """The hosts that the final report names, without hosts that others have taken out."""
        return list(dict.fromkeys([*self.unanswered, *self.hosts, *self.held, *self.abandoned, *self.unhandled]))

    def events_of_hosts(self) -> dict[str, Sequence[Event]]:
        """The events of each host in a batch, by its name."""
        return {name: host_plan.events for name, host_plan in self.hosts.items()}


def make_plan(
    hosts: Sequence[Host],
    policy: Policy,
    now: float,
    rest: Sequence[Host] | None = None,
    deferred: Mapping[str, float] | None = None,
    planned: Mapping[str, Sequence[Event]] | None = None,
) -> Plan:
    """Decide about all hosts at once, or about those of one batch.

    :param hosts: all hosts of the play, in the order of the inventory; or those of a batch
    :param now: seconds since the epoch
    :param rest: if `hosts` are a batch, all others of the play as they are now; then the batch is taken as it is, but
        for what would leave fewer in service than the minimum. Without it, batches are made
    :param deferred: hosts of the batch that wait in it until there is room, and until when at most, in seconds since
        the epoch: what an earlier plan says in its `deferred`
    :param planned: the events that were planned for the hosts of a batch before its turn came, by their names
    :raises PlanError: if the controller's clock is wrong, or the minimum in service makes no sense
    """
    if rest is None:
        wrong = why_controller_is_wrong({host.name: host.clock for host in hosts if host.clock is not None})
        if wrong:
            raise PlanError(wrong)
    doubted = hold_doubtful([*hosts, *(rest or ())])
    hosts, others = doubted[: len(hosts)], doubted[len(hosts) :]
    groups = count_groups(doubted, policy)
    event_plans = plan_events(hosts, policy, now, None if rest is None else others)
    ahead = [event_plan for event_plan in event_plans if not event_plan.skip_reason]
    by_name = {host.name: host for host in hosts}
    everybody = {host.name: host for host in doubted}
    units = [
        *units_of_events(hosts, ahead, policy, now, deferred or {}),
        *units_of_demands(everybody, hosts, groups, rest is None),
    ]
    blocked = {name: why for unit in units for name, why in why_blocked(everybody, groups, unit, now).items()}
    units = [unit for unit in units if unit.hosts[0] not in blocked]
    for name in [name for name in blocked if by_name[name].demand and by_name[name].needs_restore]:
        # An earlier run took it out for a demand that is not met now: it is restored.
        by_name[name] = by_name[name]._replace(demand=None)
        del blocked[name]
    waiting: dict[str, str] = {}
    if rest is None:
        batches, held, brought_forward, together = make_batches(by_name, units, blocked, groups, policy, now)
        until = brought_forward
    else:
        batches, held, waiting = take_batch(by_name, units, blocked, groups, policy, others, deferred or {}, now)
        brought_forward, together = {}, None
        until = {name: unit.begins_by for unit in units for name in unit.hosts if name in waiting}
        stop = why_stopped(others, policy)
        event_plans = [event_plan._replace(withheld=event_plan.withheld or stop) for event_plan in event_plans]
    absent = dict.fromkeys(waiting, "waits for its batch") | held
    event_plans = [
        event_plan if event_plan.skip_reason else event_plan._replace(skip_reason=absent.get(event_plan.hosts[0], ""))
        for event_plan in event_plans
    ]
    ahead = [event_plan for event_plan in event_plans if not event_plan.skip_reason]
    mine: dict[str, list[EventPlan]] = {name: [] for batch in batches for name in batch}
    for event_plan in ahead:
        for name in event_plan.hosts:
            mine[name].append(event_plan)
    begins_by = {name: min(unit.begins_by, unit.deadline) for unit in units for name in unit.hosts}
    host_plans = {
        name: _host_plan(by_name[name], of_host, policy, now)._replace(begins_by=begins_by.get(name, math.inf))
        for name, of_host in mine.items()
    }
    for batch in batches:
        _keep_pace([name for name in batch if name not in brought_forward], host_plans)
    _make_way(by_name, host_plans, until if waiting else {}, now)
    missed = _missed(hosts, planned or {}, {*host_plans, *held, *waiting}, now)
    unanswered = [host.name for host in hosts if host.vm_name is None and not host.leased]
    return Plan(
        batches=batches,
        hosts=host_plans,
        event_plans=event_plans,
        unanswered=unanswered,
        held=held,
        shortfalls=_shortfalls(by_name, batches, host_plans, groups, brought_forward),
        deferred=until,
        passed_over=_passed_over(
            hosts, event_plans, {*host_plans, *held, *waiting, *unanswered, *missed}, is_turn=rest is not None
        ),
        turns=_turns(batches, unanswered, together),
        remarks=(
            *remarks_on(policy),
            *_remarks_on(hosts),
            *("%s: %s" % (host.name, remark) for host in hosts for remark in host.remarks),
        ),
        groups=tuple(group.summarize() for group in groups.values()),
        why_waiting=waiting,
        missed=missed,
        abandoned={
            host.name: host.abandoned for host in hosts if host.abandoned and host.name not in {**host_plans, **held}
        },
        demanded={host.name: host.demand for host in hosts if host.demand is not None},
        unhandled=_describe_unhandled(hosts, policy, now),
    )


def _describe_unhandled(hosts: Sequence[Host], policy: Policy, now: float) -> dict[str, str]:
    found = {}
    for host in hosts:
        hit = ["%s %s" % (event.event_type, event.event_id) for event in unhandled(host, policy, now)]
        if hit:
            found[host.name] = "%s: %s" % (" and ".join(hit), host.unmanaged)
    return found


def _remarks_on(hosts: Sequence[Host]) -> list[str]:
    """Say why hosts stay in service whatever is announced, a line for each reason."""
    of_reason: dict[str, list[str]] = {}
    for host in hosts:
        if host.held or host.skip_reason:
            of_reason.setdefault(host.held or host.skip_reason, []).append(host.name)
    return ["%s: %s" % (few(names), why) for why, names in of_reason.items()]


def _missed(
    hosts: Sequence[Host], planned: Mapping[str, Sequence[Event]], met: Container[str], now: float
) -> dict[str, str]:
    """Say which hosts of a batch were hit before their turn came, and by what, in words."""
    found = {}
    for host in hosts:
        if host.name in met or host.leased or (host.vm_name is not None and not host.is_in_service):
            continue
        listed = {name_key(event.event_id) for event in host.events}
        for event in planned.get(host.name, ()):
            start = start_of(event)
            if name_key(event.event_id) not in listed and (not event.is_scheduled or (start or now) <= now):
                at = "" if start is None else ", which was to start at %s" % as_utc(start)
                found[host.name] = "%s %s%s, is not listed any more" % (event.event_type, event.event_id, at)
    return found


def _passed_over(
    hosts: Sequence[Host], event_plans: Sequence[EventPlan], named: Container[str], is_turn: bool
) -> dict[str, str]:
    """Why hosts are left alone, except for hosts whose event says so already.

    :param is_turn: whether the turn of these hosts has come: then there is something to be said of each
    """
    reasons = {
        name: event_plan.skip_reason
        for event_plan in reversed(event_plans)
        for name in event_plan.hosts
        if event_plan.was_in_vain or (is_turn and event_plan.skip_reason)
    }
    if is_turn:
        reasons = {host.name: "no event is pending any more" for host in hosts} | reasons
    reasons |= {
        host.name: host.skip_reason
        for host in hosts
        if host.skip_reason and not host.unmanaged and (host.events or host.demand)
    }
    reasons |= {host.name: host.not_demanded for host in hosts if host.not_demanded}
    return {
        host.name: host.leased or host.keep_out_reason or reasons[host.name]
        for host in hosts
        if host.leased or ((host.keep_out_reason or host.name in reasons) and host.name not in named)
    }


def _turns(batches: Sequence[Sequence[str]], unanswered: Sequence[str], together: int | None) -> list[list[str]]:
    """Say which hosts go in which turn, and in which turn hosts that have not answered are asked again.

    :param together: the batch of those whose events may hit them as well; None if there is none
    """
    turns = [list(batch) for batch in batches]
    if together is not None:
        turns[together] += unanswered
    else:
        # Anything urgent comes first.
        turns.insert(1, list(unanswered))
    return [turn for turn in turns if turn]


def who_goes_first(batch: Plan, by_name: Mapping[str, Host], now: float) -> list[str]:
    """The hosts of a batch that are only to be restored, and those that cannot wait for that; nobody if no other is in
    it.

    :param by_name: the hosts of the batch
    """
    first = {name for name, host_plan in batch.hosts.items() if host_plan.is_return}
    returning = [by_name[name] for name in first]
    # Services may take as long to start as to stop.
    back = max((host.return_seconds + min(host.stop_seconds, LEAST_FOR_ENDING / 2) for host in returning), default=0.0)
    ahead, free_at = set(batch.hosts).difference(first), now
    while first and (pressing := {name for name in ahead if batch.hosts[name].begins_by < free_at + back}):
        first, ahead = first | pressing, ahead - pressing
        leaving = [batch.hosts[name] for name in pressing if by_name[name].is_in_service and batch.hosts[name].remove]
        free_at = max([free_at, *(max(host_plan.drained_by, host_plan.stopped_by) for host_plan in leaving)])
    return [name for name in batch.hosts if name in first] if first and ahead else []


def approvals(plan: Plan, ready: Iterable[str]) -> dict[str, list[str]]:
    """Say which host approves which events: each event once, and only if all of its hosts are ready.

    :param ready: the hosts on which everything went well
    :returns: lists of event ids by host name, without the hosts that approve nothing
    """
    are_ready = set(ready)
    chosen: dict[str, list[str]] = {}
    for event_plan in plan.event_plans:
        if (
            not event_plan.withheld
            and not event_plan.skip_reason
            and event_plan.approver
            and are_ready.issuperset(event_plan.hosts)
        ):
            chosen.setdefault(event_plan.approver, []).append(event_plan.event.event_id)
    return chosen


def attempts(plan: Plan, failures: Mapping[str, Sequence[str]], approved: Iterable[str]) -> dict[str, dict[str, str]]:
    """Say which attempts were in vain, as is noted on the hosts.

    :param failures: what went wrong on each host, in words, by its name
    :param approved: ids of the events that were approved, or may have been
    :returns: by host, for all events of the plan that hit it and were met: what went wrong, by the event's id; an
        empty text where nothing is to be remembered
    """
    may_begin = set(map(name_key, approved))
    found: dict[str, dict[str, str]] = {}
    for event_plan in plan.event_plans:
        if event_plan.skip_reason:
            continue
        wrong = ["%s: %s" % (name, failures[name][-1]) for name in event_plan.hosts if failures.get(name)]
        in_vain = not event_plan.withheld and name_key(event_plan.event.event_id) not in may_begin
        for name in event_plan.hosts:
            found.setdefault(name, {})[event_plan.event.event_id] = "; ".join(wrong) if in_vain else ""
    return found


def _shortfalls(
    by_name: Mapping[str, Host],
    batches: Sequence[Sequence[str]],
    host_plans: Mapping[str, HostPlan],
    groups: Mapping[str, GroupState],
    brought_forward: Collection[str],
) -> list[str]:
    told = []
    for number, batch in enumerate(batches, 1):
        for name, group in groups.items():
            mine = [host for host in batch if name in by_name[host].groups and not host_plans[host].is_return]
            at_once = [host for host in mine if host not in brought_forward]
            later = [host for host in mine if host in brought_forward]
            # Hosts of an earlier batch are expected to be back.
            away = group.away.difference(host_plans)
            of_group = " of %s" % name if name else ""
            left = group.size - len(away.union(at_once))
            if at_once and left < group.minimum:
                told.append(
                    "Batch %d leaves %d of %d hosts%s in service, fewer than %d, because the platform or an agent takes"
                    " %s" % (number, left, group.size, of_group, group.minimum, " and ".join(at_once))
                )
            left = group.size - len(away.union(mine))
            if later and left < group.minimum:
                told.append(
                    "Batch %d may leave %d of %d hosts%s in service, fewer than %d, because the platform takes %s"
                    " at a time of its own" % (number, left, group.size, of_group, group.minimum, " and ".join(later))
                )
    return told


def _host_plan(host: Host, event_plans: Sequence[EventPlan], policy: Policy, now: float) -> HostPlan:
    """What is done with a host, and until when. Without event plans and without a demand it is only restored."""
    is_ours = host.agent is None
    deadlines = [deadline_of(event_plan.event, policy, now) for event_plan in event_plans]
    stopping = [
        deadline_of(event_plan.event, policy, now)
        for event_plan in event_plans
        if is_ours and needs_stop(event_plan.event)
    ]
    if host.demand is not None:
        deadlines, stopping = [host.demand.ready_by], [host.demand.ready_by]
    ready_by = min(deadlines, default=now)
    stop_by = min(stopping, default=now)
    for_stopping = min(host.stop_seconds, (stop_by - now) / 2) if stopping else 0.0
    return HostPlan(
        vm_name=host.vm_name or "",
        events=tuple(event_plan.event for event_plan in event_plans),
        agent=not is_ours,
        remove=is_ours and bool(deadlines),
        stop=bool(stopping),
        drained_by=max(now, min(ready_by, stop_by - for_stopping) if stopping else ready_by),
        stopped_by=stop_by,
        final=any(event_plan.event.is_final for event_plan in event_plans),
        unprepared=is_ours and host.is_in_service and any(event_plan.event.is_started for event_plan in event_plans),
        idle_agent=host.idle_agent,
        approving=tuple(
            event_plan.event.event_id for event_plan in event_plans if is_among(event_plan.event, host.approving)
        ),
        demand=host.demand,
    )


def _keep_pace(batch: Sequence[str], host_plans: dict[str, HostPlan]) -> None:
    """Hosts of a batch move together: none waits longer for connections than the most urgent one can."""
    pace = min(
        [
            host_plans[name].drained_by
            for name in batch
            if host_plans[name].remove and all(event.is_scheduled for event in host_plans[name].events)
        ]
        or [math.inf]
    )
    for name in batch:
        host_plans[name] = host_plans[name]._replace(drained_by=min(host_plans[name].drained_by, pace))


def _make_way(
    by_name: Mapping[str, Host],
    host_plans: dict[str, HostPlan],
    waiting: Mapping[str, float],
    now: float,
) -> None:
    """Limit the wait for connections, so that hosts are back before others of their group must leave, or else are at
    least prepared by then.

    Where a short wait would not do either, they wait as if there were no others.
    """
    for name, host_plan in host_plans.items():
        host = by_name[name]
        limits = [until for other, until in waiting.items() if set(by_name[other].groups).intersection(host.groups)]
        if not limits or not host_plan.remove:
            continue
        stopping = min(host.stop_seconds, LEAST_FOR_ENDING / 2)
        prepared = min(limits) - stopping
        shortest = now + host.settle_seconds + min(host.connection_seconds, LEAST_FOR_ENDING / 2)
        for latest in (prepared - LISTED_FOR - host.return_seconds, prepared):
            if latest >= shortest:
                host_plans[name] = host_plan._replace(drained_by=min(host_plan.drained_by, latest))
                break
