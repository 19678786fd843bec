# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Plans when each host leaves rotation, and what is done with it.

Azure names VMs, an inventory names hosts: what connects them is the name in Azure that each host has
learned from its own metadata service.
"""

import bisect
import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...module_utils.scheduled_events.approval import UNKNOWN_VMS
from ...module_utils.scheduled_events.event import Event, NameKey, in_order_of_urgency, name_key
from .agent import AgentDict, has_taken_out, is_at_work_on
from .clocks import ClockReading, as_utc, why_controller_is_wrong, why_wrong
from .demand import Demand
from .policy import (
    Policy,
    Rule,
    deadline_of,
    is_forced,
    is_known,
    needs_stop,
    notice_of,
    remarks_on,
    rule_for,
    start_of,
    why_never,
    why_not_yet,
)

# Connections and services together get at least this long if they may take it, half of it each. Seconds.
_LEAST_FOR_ENDING = 60.0
# Asking again may take this long, unless the operator says otherwise. Seconds.
_ASKING_AGAIN = 150.0


class PlanError(ValueError):
    """The hosts, or the operator's decisions, make no sense. The message says what to change."""


class Attempt(NamedTuple):
    """An attempt in vain: a host was taken out for an event, and a step failed on it or on another of its hosts."""

    event_id: str
    seconds_ago: float
    reason: str
    """What went wrong, in words."""


def describe_attempt(attempt: Attempt) -> str:
    """Say for which event, when, and what went wrong."""
    return "drained in vain for %s %d s ago: %s" % (attempt.event_id, attempt.seconds_ago, attempt.reason)


class Host(NamedTuple):
    """What is known of one host of the inventory."""

    name: str
    vm_name: str | None = None
    """Its name in Azure; None if it did not answer."""
    events: tuple[Event, ...] = ()
    was_left: bool = False
    """Whether an earlier run has left it out of rotation."""
    settle_seconds: float = 0.0
    """How long its balancers take to notice that it is out."""
    connection_seconds: float = 0.0
    """How long its connections may then take to end."""
    stop_seconds: float = 0.0
    """How long its services may take to stop, all together."""
    return_seconds: float = 0.0
    """How long its return to rotation takes."""
    step_seconds: float = 0.0
    """The longest that any one task on it may take."""
    agent: AgentDict | None = None
    """What its handler agent says of itself; None without one. An agent handles everything itself."""
    groups: tuple[str, ...] = ("",)
    """Groups of hosts that do the same work: the minimum in service holds for each group. None: it counts nowhere."""
    resource_id: str = ""
    """Its id in Azure, as it says itself; empty if it did not."""
    clock: ClockReading | None = None
    """What its clock said; None if that is not known."""
    held: str = ""
    """Why it stays in service whatever is announced, in words: it may be wrong about itself or about the time."""
    left_alone: str = ""
    """Why it is never taken out of rotation, in words: it balances for the others."""
    minimum: str | None = None
    """The minimum in service of its group; None for that of the policy."""
    expected: int | None = None
    """The operator's number of hosts in its group; None if there is none."""
    beside: tuple[str, ...] = ()
    """Names that do the same work, as balancers or the inventory say, and that are not hosts of this run."""
    is_out: bool = False
    """Whether this run has taken it out and not brought it back."""
    is_drained: bool = False
    """Whether somebody else has taken it out of rotation. This run will not bring it back."""
    kept_out_by: str = ""
    """Who did, in words."""
    is_down: bool = False
    """Whether its balancers say that it is not in service, for no known reason."""
    failed: bool = False
    """Whether a step of this run has failed on it."""
    leased: str = ""
    """Who else works on it, in words; empty if nobody does. Then it is left alone."""
    take_over: str = ""
    """The lease that may be taken over, because its run is dead or the operator says so."""
    abandoned: str = ""
    """Why it may stay out although it is leased, in words: nobody knows whether the other run is alive."""
    left_out: str = ""
    """Why it stays out although none of its events is listed any more; empty if it returns."""
    approving: tuple[str, ...] = ()
    """Ids of events that an earlier run has approved, or may have."""
    tried: tuple[Attempt, ...] = ()
    """The attempts of earlier runs that were in vain."""
    seen: Mapping[str, float] = {}
    """By the id of an event in lower case, how many seconds ago a run first took the host out for it."""
    is_prepared: bool = True
    """Whether anything is stopped on it, or anything confirms that it is out of rotation."""
    idle_agent: bool = False
    """Whether it has an agent that has nothing to do for its events, so that it is treated like a host without an
    agent.
    """
    would_fail: tuple[str, ...] = ()
    """What would fail on it if it were hit, in words, as far as that can be known beforehand."""
    demand: Demand | None = None
    """The demand for it. A host with a demand has no events."""
    not_demanded: str = ""
    """Why the demand of this run is not for it, in words; empty if it is for it, or if there is nothing to say."""

    @property
    def is_in_service(self) -> bool:
        """Whether it does its work, as far as is known. A host that did not answer does not count."""
        by_agent = self.agent is not None and has_taken_out(self.agent)
        is_away = self.is_out or self.is_drained or self.was_left or by_agent or bool(self.leased) or self.is_down
        return self.vm_name is not None and not is_away


class EventPlan(NamedTuple):
    """An event, and what it means for these hosts."""

    event: Event
    hosts: tuple[str, ...]
    outsiders: tuple[str, ...]
    agents: tuple[str, ...]
    """The hosts that are left to their agents."""
    withheld: str
    """Why it must not be approved; empty if it may be."""
    left_alone: str
    """Why nothing is done about it now; empty if something is."""
    approver: str | None
    """The host that approves it, if it is approved."""
    may_begin: bool = False
    """Whether an earlier run has approved it, or may have."""
    was_in_vain: bool = False
    """Whether it is left alone because its hosts were taken out in vain lately."""
    waits_for_answers: bool = False
    """Whether it also hits VMs that may be hosts without an answer so far, and could be approved together with them."""


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
    """Why hosts that another run has leased may stay out, in words, by their names."""
    demanded: Mapping[str, Demand] = {}
    """The demands for hosts, met or not, by their names."""

    @property
    def involved(self) -> list[str]:
        """The hosts that the final report names, without hosts that others have taken out."""
        return list(dict.fromkeys([*self.unanswered, *self.hosts, *self.held, *self.abandoned]))

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
    doubted = _hold_doubtful([*hosts, *(rest or ())])
    hosts, others = doubted[: len(hosts)], doubted[len(hosts) :]
    groups = count_groups(doubted, policy)
    event_plans = _event_plans(hosts, policy, now, None if rest is None else others)
    ahead = [event_plan for event_plan in event_plans if not event_plan.left_alone]
    by_name = {host.name: host for host in hosts}
    everybody = {host.name: host for host in doubted}
    units = [
        *_units(hosts, ahead, policy, now, deferred or {}),
        *_demanded_units(everybody, hosts, groups, rest is None),
    ]
    blocked = {name: why for unit in units for name, why in _why_blocked(everybody, groups, unit, now).items()}
    units = [unit for unit in units if unit.hosts[0] not in blocked]
    for name in [name for name in blocked if by_name[name].demand and by_name[name].was_left]:
        # An earlier run took it out for a demand that is not met now: it is restored.
        by_name[name] = by_name[name]._replace(demand=None)
        del blocked[name]
    waiting: dict[str, str] = {}
    if rest is None:
        batches, held, brought_forward, together = _batches(by_name, units, blocked, groups, policy, now)
        until = brought_forward
    else:
        batches, held, waiting = _this_batch(by_name, units, blocked, groups, policy, others, deferred or {}, now)
        brought_forward, together = {}, None
        until = {name: unit.begins_by for unit in units for name in unit.hosts if name in waiting}
        stop = _why_stopped(others, policy)
        event_plans = [event_plan._replace(withheld=event_plan.withheld or stop) for event_plan in event_plans]
    absent = dict.fromkeys(waiting, "waits for its batch") | held
    event_plans = [
        event_plan if event_plan.left_alone else event_plan._replace(left_alone=absent.get(event_plan.hosts[0], ""))
        for event_plan in event_plans
    ]
    ahead = [event_plan for event_plan in event_plans if not event_plan.left_alone]
    mine: dict[str, list[EventPlan]] = {name: [] for batch in batches for name in batch}
    for event_plan in ahead:
        for name in event_plan.hosts:
            mine[name].append(event_plan)
    host_plans = {name: _host_plan(by_name[name], of_host, policy, now) for name, of_host in mine.items()}
    for batch in batches:
        _keep_pace([name for name in batch if name not in brought_forward], host_plans)
    _make_way(by_name, host_plans, until if waiting else {}, policy, now)
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
            *("%s: %s" % (host.name, host.held or host.left_alone) for host in hosts if host.held or host.left_alone),
        ),
        groups=tuple(group.summarize() for group in groups.values()),
        why_waiting=waiting,
        missed=missed,
        abandoned={host.name: host.abandoned for host in hosts if host.abandoned},
        demanded={host.name: host.demand for host in hosts if host.demand is not None},
    )


def _hold_doubtful(hosts: Sequence[Host]) -> list[Host]:
    """Hold back hosts whose clock is wrong, and hosts that claim to be the same VM.

    Of hosts that say to be one VM, only the first counts in its groups. Two VMs may have one name in two resource
    groups: then their ids tell them apart.
    """
    of_vm: dict[NameKey, list[Host]] = {}
    for host in hosts:
        if host.vm_name is not None:
            of_vm.setdefault(name_key(host.vm_name), []).append(host)
    twins: dict[str, Host] = {}
    for same_name in of_vm.values():
        for host in same_name if len(same_name) > 1 else ():
            other = next((one for one in same_name if one is not host and not _are_known_to_differ(one, host)), None)
            if other is not None:
                twins[host.name] = other
    found = []
    counted: set[str] = set()
    for host in hosts:
        twin = twins.get(host.name)
        if twin is not None:
            first = min(host.name, twin.name)
            why = (
                "%s and %s both report to be the VM %s: leave one of them out of handle_events_hosts, or"
                " check that each asks its own metadata service" % (first, max(host.name, twin.name), host.vm_name)
            )
            host = host._replace(held=why, groups=() if twin.name in counted else host.groups)
            counted.add(host.name)
        elif host.clock is not None and not host.held:
            host = host._replace(held=why_wrong(host.clock))
        found.append(host)
    return found


def _are_known_to_differ(one: Host, other: Host) -> bool:
    return bool(one.resource_id and other.resource_id) and one.resource_id.lower() != other.resource_id.lower()


def _why_blocked(
    by_name: Mapping[str, Host], groups: Mapping[str, "GroupState"], unit: "_Unit", now: float
) -> dict[str, str]:
    """Why the hosts of a unit stay in service because one of them cannot leave it."""
    if unit.all_of:
        return _why_none_goes(by_name, groups, unit, now)
    held = next((by_name[name] for name in unit.hosts if by_name[name].held), None)
    if held is None:
        return {}
    return {
        name: by_name[name].held or "its event also hits %s, which is held back: %s" % (held.name, held.held)
        for name in unit.hosts
    }


def _why_none_goes(
    by_name: Mapping[str, Host], groups: Mapping[str, "GroupState"], unit: "_Unit", now: float
) -> dict[str, str]:
    """Why the hosts of an all-or-none unit stay in service; empty if they leave it.

    :param by_name: all hosts of the play
    """
    reasons = {name: _why_not_ready(by_name.get(name), unit.awaits_answers) for name in unit.all_of}
    cannot = {name: why for name, why in reasons.items() if why}
    if cannot:
        culprit, why = next(iter(cannot.items()))
        together = "all hosts of the run go or none does, and %s cannot: %s" % (culprit, why)
        return {name: cannot.get(name, together) for name in unit.hosts}
    is_new = any(not by_name[name].was_left for name in unit.hosts)
    if is_new and now >= unit.deadline:
        return dict.fromkeys(unit.hosts, "it had to be ready by %s" % as_utc(unit.deadline))
    away = _away(by_name, groups, unit.awaits_answers)
    shortage = _Capacity(by_name, groups, away).shortage(unit, is_empty=False)
    if shortage is None:
        return {}
    return dict.fromkeys(
        unit.hosts,
        "all hosts of the run go or none does, and %s: see handle_events_minimum_in_service" % shortage.describe(),
    )


def _why_not_ready(host: Host | None, awaits_answers: bool) -> str:
    """Why a host cannot be taken out for a demand, in words; empty if it can."""
    if host is None:
        return "it is not among the hosts of this run"
    if host.vm_name is None and not awaits_answers:
        return "it has not answered"
    return host.leased or host.left_alone or host.held or "; ".join(host.would_fail)


def _away(by_name: Mapping[str, Host], groups: Mapping[str, "GroupState"], awaits_answers: bool) -> list[str]:
    """Hosts that are not in service. If answers are awaited, hosts without one may be."""
    away = [name for group in groups.values() for name in group.away]
    return [name for name in away if not awaits_answers or by_name[name].vm_name is not None]


def _why_stopped(rest: Sequence[Host], policy: Policy) -> str:
    """Why nothing that can wait is begun any more, and nothing is approved; empty if there is no reason."""
    failed = [host.name for host in rest if host.failed]
    if len(failed) <= policy.max_failed:
        return ""
    return "steps failed on %s, and handle_events_max_failed is %d" % (", ".join(failed), policy.max_failed)


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
        name: event_plan.left_alone
        for event_plan in reversed(event_plans)
        for name in event_plan.hosts
        if event_plan.was_in_vain or (is_turn and event_plan.left_alone)
    }
    if is_turn:
        reasons = {host.name: "no event is pending any more" for host in hosts} | reasons
    reasons |= {host.name: host.left_alone for host in hosts if host.left_alone and (host.events or host.demand)}
    reasons |= {host.name: host.not_demanded for host in hosts if host.not_demanded}
    return {
        host.name: host.leased or host.left_out or reasons[host.name]
        for host in hosts
        if host.leased or ((host.left_out or host.name in reasons) and host.name not in named)
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
            and not event_plan.left_alone
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
        if event_plan.left_alone:
            continue
        wrong = ["%s: %s" % (name, failures[name][-1]) for name in event_plan.hosts if failures.get(name)]
        in_vain = not event_plan.withheld and name_key(event_plan.event.event_id) not in may_begin
        for name in event_plan.hosts:
            found.setdefault(name, {})[event_plan.event.event_id] = "; ".join(wrong) if in_vain else ""
    return found


class GroupState(NamedTuple):
    """Hosts that do the same work."""

    name: str
    size: int
    minimum: int
    """How many must stay in service."""
    in_service: int
    """How many are in service now."""
    away: frozenset[str]
    """The hosts that are not in service."""

    def summarize(self) -> str:
        """Say how many there are, how many are in service, and how many must stay."""
        return "%s: %d of %d in service, %d must stay" % (self.name or "all", self.in_service, self.size, self.minimum)

    def describe(self) -> str:
        """Say why no further host can be spared."""
        of_group = " of %s" % self.name if self.name else ""
        if self.minimum > self.size:
            return "handle_events_minimum_in_service is %d, and there are only %d hosts%s" % (
                self.minimum,
                self.size,
                of_group,
            )
        return "%d of %d hosts%s are in service, and %d must stay" % (
            self.in_service,
            self.size,
            of_group,
            self.minimum,
        )


def members_of_groups(hosts: Sequence[Host]) -> dict[str, list[Host]]:
    """Say which hosts each group has, by its name. A host that did not answer may be of any group, and counts in
    each.
    """
    members: dict[str, list[Host]] = {}
    for host in hosts:
        for group in host.groups:
            members.setdefault(group, []).append(host)
    if len(members) > 1:
        lost = [host for host in members.get("", ()) if is_of_unknown_group(host)]
        answered = [host for host in members.pop("", ()) if not is_of_unknown_group(host)]
        members = {name: [*of_group, *lost] for name, of_group in members.items()}
        if answered:
            members[""] = [*answered, *lost]
    return members


def count_groups(hosts: Sequence[Host], policy: Policy) -> dict[str, GroupState]:
    members = members_of_groups(hosts)
    groups = {}
    names = {name: {host.name for host in of_group} for name, of_group in members.items()}
    for name, of_group in members.items():
        texts = {str(policy.minimum_in_service if host.minimum is None else host.minimum): host for host in of_group}
        if len(texts) > 1:
            (one, first), (other, second) = list(texts.items())[:2]
            raise PlanError(
                "handle_events_minimum_in_service: %s on %s, %s on %s, which are in one group: %r. Give hosts of a"
                " group the same, or hosts that do other work another handle_events_group"
                % (one, first.name, other, second.name, name)
            )
        away = frozenset(host.name for host in of_group if not host.is_in_service)
        is_part = any(len(other) > len(of_group) and names[name] <= names[of] for of, other in members.items())
        minimum = _minimum_in_service(next(iter(texts)), len(of_group), is_part)
        groups[name] = GroupState(name, len(of_group), minimum, len(of_group) - len(away), away)
    return groups


def is_of_unknown_group(host: Host) -> bool:
    """Whether a host may be of any group, because it did not answer and nothing else tells its group."""
    return host.vm_name is None and host.groups == ("",)


def read_minimum(text: str) -> tuple[int, bool]:
    """Read how many hosts stay in service: a number, and whether it is a percentage.

    :raises PlanError: if it is neither
    """
    digits = text.strip()
    percent = digits.endswith("%")
    digits = digits[:-1].strip() if percent else digits
    if not (digits.isascii() and digits.isdecimal()) or (percent and int(digits) > 100):
        raise PlanError(
            "handle_events_minimum_in_service: %r is neither a number of hosts nor a percentage: write for example"
            " 2, or 50%%" % (text,)
        )
    return int(digits), percent


def _minimum_in_service(text: str, count: int, is_part: bool) -> int:
    """How many hosts of a group stay in service.

    :param is_part: whether another group has all its hosts, and more. A number is meant for that one
    """
    number, percent = read_minimum(text)
    if percent:
        # Rounded up. Unless it is 100 %, one host may always go: otherwise a fleet of one could never be maintained.
        return count if number == 100 else min(-(-number * count // 100), count - 1)
    # A number larger than the group holds back this group only.
    return min(number, count - 1) if is_part else number


def _event_plans(hosts: Sequence[Host], policy: Policy, now: float, rest: Sequence[Host] | None) -> list[EventPlan]:
    """All events of all hosts, each once, the most urgent first."""
    others = _Others(
        busy={name_key(host.vm_name) for host in hosts if host.vm_name is not None and host.leased},
        elsewhere={name_key(host.vm_name) for host in rest or () if host.vm_name is not None},
        alone={name_key(host.vm_name) for host in hosts if host.vm_name is not None and host.left_alone},
        may_answer=rest is None and any(host.vm_name is None and not host.leased for host in hosts),
    )
    by_vm_name: dict[NameKey, list[Host]] = {}
    order = {host.name: number for number, host in enumerate(hosts)}
    events: dict[NameKey, Event] = {}
    for host in hosts:
        if host.vm_name is None or host.leased or host.left_alone:
            continue
        by_vm_name.setdefault(name_key(host.vm_name), []).append(host)
        for event in host.events:
            # Two hosts are never asked at the same instant. An event that has started for one host has started for
            # all.
            known = events.get(name_key(event.event_id))
            if known is None or known.is_scheduled:
                events[name_key(event.event_id)] = event
    event_plans = []
    for event in in_order_of_urgency(events.values()):
        names = {name_key(name): name for name in event.resources}
        hit = [host for key in names for host in _hit_of(by_vm_name.get(key, []), event)]
        if event.is_of_unknown_vms:
            # It is shown for the hosts that list it.
            hit = [host for same_name in by_vm_name.values() for host in same_name if event in host.events]
        members = sorted(hit, key=lambda member: order[member.name])
        if members:
            outsiders = {key: name for key, name in sorted(names.items()) if key not in by_vm_name}
            event_plans.append(_case(event, members, outsiders, others, policy, now))
    return event_plans


def _hit_of(same_name: Sequence[Host], event: Event) -> Sequence[Host]:
    """Which of the hosts with the name of a VM an event hits: if there are two such VMs, each lists its own events."""
    return [
        host for host in same_name if len(same_name) == 1 or _is_among(event, (one.event_id for one in host.events))
    ]


class _Others(NamedTuple):
    """What is known of VMs beside the hosts that are planned for."""

    busy: Container[NameKey]
    """VMs that another run works on."""
    elsewhere: Container[NameKey]
    """VMs that are hosts of the play, and not of the batch."""
    alone: Container[NameKey]
    """VMs that are always left alone."""
    may_answer: bool
    """Whether there are hosts without an answer that are asked again."""


def _case(
    event: Event,
    members: Sequence[Host],
    outsiders: Mapping[NameKey, str],
    others: _Others,
    policy: Policy,
    now: float,
) -> EventPlan:
    agents = {member.name: member.agent for member in members if member.agent is not None}
    rule = rule_for(event, policy, now, max(member.seen.get(event.event_id.lower(), 0.0) for member in members))
    withheld = _why_withheld(event, outsiders, others, tuple(agents), rule, now) or _why_unprepared(members, rule)
    may_begin = any(_is_among(event, member.approving) for member in members)
    is_under_way = not event.is_of_unknown_vms and (
        may_begin or any(is_at_work_on(agent, event.event_id) for agent in agents.values())
    )
    left_alone = "" if is_under_way else _why_left_alone(event, withheld, rule, policy, now)
    waits_for_answers = (
        others.may_answer
        and not is_under_way
        and any(key not in others.busy for key in outsiders)
        and not _why_withheld(event, {}, others, tuple(agents), rule, now)
        and not _why_left_alone(event, "", rule, policy, now)
    )
    left_alone = "" if waits_for_answers else left_alone
    not_again = "" if is_under_way or left_alone else _why_not_again(event, members, policy, now)
    return EventPlan(
        event=event,
        hosts=tuple(member.name for member in members),
        outsiders=tuple(outsiders.values()),
        agents=tuple(agents),
        withheld=withheld,
        left_alone=left_alone or not_again,
        # Without outsiders there is always an approver.
        approver=next((member.name for member in members if event.is_led_by(member.vm_name or "")), None),
        may_begin=may_begin,
        was_in_vain=bool(not_again),
        waits_for_answers=waits_for_answers,
    )


def _is_among(event: Event, event_ids: Iterable[str]) -> bool:
    return name_key(event.event_id) in map(name_key, event_ids)


def _why_withheld(
    event: Event, outsiders: Mapping[NameKey, str], others: _Others, agents: Sequence[str], rule: Rule, now: float
) -> str:
    if event.is_advisory:
        return "it is advisory"
    if event.is_of_unknown_vms:
        return UNKNOWN_VMS
    if not event.is_scheduled:
        return "it has started already"
    if agents:
        return "it is left to the agent of %s" % " and ".join(agents)
    if not is_known(event):
        return "its type is not known"
    busy = [name for key, name in outsiders.items() if key in others.busy]
    elsewhere = [name for key, name in outsiders.items() if key in others.elsewhere and name not in busy]
    alone = [name for key, name in outsiders.items() if key in others.alone and name not in busy]
    unknown = [name for name in outsiders.values() if name not in busy and name not in elsewhere and name not in alone]
    if unknown:
        return "it also hits %s, not in the play or not answering" % ", ".join(unknown)
    if alone:
        return "it also hits %s, which is left alone" % ", ".join(alone)
    if busy:
        return "it also hits %s, where another run is at work" % ", ".join(busy)
    if elsewhere:
        return "it also hits %s, which is in another batch: run again" % ", ".join(elsewhere)
    return why_never(rule, now) or why_not_yet(event, rule, now)


def _why_unprepared(members: Sequence[Host], rule: Rule) -> str:
    """Why an event must not be approved whose hosts nothing would prepare, unless the operator says so."""
    names = [member.name for member in members if not member.is_prepared]
    if not names or rule.says_when_ready:
        return ""
    return (
        "nothing is stopped on %s and nothing confirms that it is out of rotation: set graceful_shutdown_services,"
        " load_balancer_removal_health_probe_url or a balancer in load_balancer_removal_methods, or approve: when_ready"
        " in a policy of handle_events_policies" % " and ".join(names)
    )


def _why_left_alone(event: Event, withheld: str, rule: Rule, policy: Policy, now: float) -> str:
    if event.is_of_unknown_vms:
        return UNKNOWN_VMS
    if rule.ignore:
        return "the policy %s says so" % rule.name if rule.name else "advisory: no policy names the type"
    if withheld and withheld == why_not_yet(event, rule, now):
        return withheld
    if event.is_freeze_of_at_most(policy.tolerated_freeze):
        return "a freeze of %d s is tolerated" % (event.duration_in_seconds or 0)
    notice = notice_of(event, now)
    if withheld and notice is not None and notice >= policy.begin_within:
        return "it is not approved, because %s, and does not begin within %g s" % (withheld, policy.begin_within)
    return ""


def _why_not_again(event: Event, members: Sequence[Host], policy: Policy, now: float) -> str:
    """Why an event is left to a later run: an attempt was in vain lately, and there is time. Empty if it is not."""
    notice = notice_of(event, now)
    attempts = [one for member in members for one in member.tried if _is_among(event, [one.event_id])]
    latest = min(attempts, key=lambda one: one.seconds_ago, default=None)
    if latest is None or notice is None or notice < policy.begin_within or latest.seconds_ago >= policy.retry_after:
        return ""
    return (
        "its hosts were drained in vain %d s ago, because of %s: next attempt in %d s, or at once with "
        "handle_events_retry_after=0" % (latest.seconds_ago, latest.reason, policy.retry_after - latest.seconds_ago)
    )


class _Unit(NamedTuple):
    """Hosts that must leave rotation together, and why."""

    hosts: list[str]
    event_plans: list[EventPlan]
    does_not_wait: bool
    """Whether the platform, or an agent, takes one of its hosts before a turn could come."""
    is_quick: bool
    """Whether other hosts of the batch would have to hurry as well."""
    deadline: float
    """When the first of its events starts, minus the margin; seconds since the epoch."""
    begins_by: float
    """When its preparation must begin to be done before the first event starts; seconds since the epoch."""
    is_demanded: bool = False
    """Whether its hosts leave rotation for a demand instead of events."""
    all_of: tuple[str, ...] = ()
    """All hosts of the demand if all of them go or none; empty otherwise."""
    awaits_answers: bool = False
    """Whether the decision waits until the hosts without an answer are asked again."""

    @property
    def waits_for_answers(self) -> bool:
        """Whether it can wait for the hosts without an answer, and should be planned together with them."""
        is_shared = any(event_plan.waits_for_answers for event_plan in self.event_plans)
        return not self.does_not_wait and (is_shared or self.awaits_answers)

    def begins_anyway(self, policy: Policy, now: float) -> bool:
        """Whether one of its events begins soon, approved or not."""
        starting = [
            notice_of(event_plan.event, now) for event_plan in self.event_plans if not event_plan.event.is_advisory
        ]
        return any(notice is None or notice < policy.begin_within for notice in starting)


def _units(
    hosts: Sequence[Host],
    event_plans: Sequence[EventPlan],
    policy: Policy,
    now: float,
    deferred: Mapping[str, float] | None = None,
) -> list[_Unit]:
    """Put together hosts that share events, directly or through others; the most urgent first."""
    leader_of = {host.name: host.name for host in hosts}

    def find(name: str) -> str:
        while leader_of[name] != name:
            leader_of[name] = leader_of[leader_of[name]]
            name = leader_of[name]
        return name

    terminates: dict[float, str] = {}
    for event_plan in event_plans:
        for name in event_plan.hosts[1:]:
            leader_of[find(name)] = find(event_plan.hosts[0])
        start = _start_of_terminate(event_plan, now)
        if start is not None:
            # Azure lets no Terminate of an instant begin early until all Terminates of that instant are approved.
            leader_of[find(terminates.setdefault(start, event_plan.hosts[0]))] = find(event_plan.hosts[0])
    of_unit: dict[str, list[EventPlan]] = {}
    for event_plan in event_plans:
        of_unit.setdefault(find(event_plan.hosts[0]), []).append(event_plan)
    members: dict[str, list[str]] = {}
    for host in hosts:
        members.setdefault(find(host.name), []).append(host.name)
    # Event plans are in order of urgency, and so are the units that they begin.
    by_name = {host.name: host for host in hosts}
    return [
        _unit([by_name[name] for name in members[leader]], unit, policy, now, deferred or {})
        for leader, unit in of_unit.items()
    ]


def _demanded_units(
    by_name: Mapping[str, Host], hosts: Sequence[Host], groups: Mapping[str, GroupState], may_answer: bool
) -> list[_Unit]:
    """Put together hosts whose demands are of one batch, in the order of the inventory.

    A demand waits until there is room, however long that takes.

    :param by_name: all hosts of the play
    :param hosts: those that are planned for
    :param may_answer: whether hosts that have not answered are asked again
    """
    of_batch: dict[str, list[Host]] = {}
    for host in hosts:
        if host.demand is not None and host.vm_name is not None and not host.leased and not host.left_alone:
            of_batch.setdefault(host.demand.batch, []).append(host)
    units = []
    for members in of_batch.values():
        demand = members[0].demand
        unit = _Unit(
            hosts=[member.name for member in members],
            event_plans=[],
            does_not_wait=False,
            is_quick=False,
            deadline=demand.ready_by if demand else math.inf,
            begins_by=math.inf,
            is_demanded=True,
            all_of=demand.all_of if demand else (),
        )
        if unit.all_of and may_answer:
            silent = [name for name, host in by_name.items() if host.vm_name is None and not host.leased]
            shortage = _Capacity(by_name, groups, _away(by_name, groups, False)).shortage(unit, is_empty=False)
            is_awaited = bool(silent) and (shortage is not None or not set(silent).isdisjoint(unit.all_of))
            unit = unit._replace(awaits_answers=is_awaited)
        units.append(unit)
    return units


def _unit(
    members: Sequence[Host], event_plans: list[EventPlan], policy: Policy, now: float, deferred: Mapping[str, float]
) -> _Unit:
    least = max(member.settle_seconds + min(_for_ending(member), _LEAST_FOR_ENDING) for member in members)
    deadline = min(deadline_of(event_plan.event, policy, now) for event_plan in event_plans)
    # A recommendation waits for its turn for any length of time, because its event has no known start.
    starting = [event_plan.event for event_plan in event_plans if not event_plan.event.is_advisory]
    begins_by = min((deadline_of(event, policy, now) for event in starting), default=math.inf) - least
    is_deferred = all(member.name in deferred for member in members)
    if is_deferred:
        # The margin shrinks with the notice: the first limit holds.
        begins_by = min([begins_by] + [deferred[member.name] for member in members])
    forced = [
        event_plan
        for event_plan in event_plans
        if _cannot_wait(event_plan.event, begins_by if is_deferred else None, policy, now)
    ]
    return _Unit(
        hosts=[member.name for member in members],
        event_plans=event_plans,
        # Agents do not wait for a turn, and neither do approved events.
        does_not_wait=bool(forced) or any(event_plan.agents or event_plan.may_begin for event_plan in event_plans),
        is_quick=any(
            event_plan.event.is_scheduled and bool(set(event_plan.hosts).difference(event_plan.agents))
            for event_plan in forced
        ),
        deadline=deadline,
        begins_by=begins_by,
    )


def _cannot_wait(event: Event, begins_by: float | None, policy: Policy, now: float) -> bool:
    """Whether the platform acts before a turn could come, or, for a host that waits in its batch, before it could be
    prepared.

    :param begins_by: when it must begin, if it waits in its batch
    """
    if begins_by is None or event.event_type == "Preempt" or event.is_advisory or not event.is_scheduled:
        return is_forced(event, policy, now)
    return now >= begins_by


def _for_ending(host: Host) -> float:
    return host.connection_seconds + host.stop_seconds


def _start_of_terminate(event_plan: EventPlan, now: float) -> float | None:
    if event_plan.event.event_type != "Terminate" or notice_of(event_plan.event, now) is None:
        return None
    return start_of(event_plan.event) or 0.0


class _Capacity:
    """How many more hosts of each group may leave service."""

    def __init__(self, by_name: Mapping[str, Host], groups: Mapping[str, GroupState], away: Iterable[str]) -> None:
        self._by_name = by_name
        self._groups = groups
        self._out: dict[str, set[str]] = {name: set() for name in groups}
        self.take(away)

    def take(self, names: Iterable[str]) -> None:
        """Count these hosts as out."""
        for name in names:
            host = self._by_name[name]
            for out in self._out.values() if is_of_unknown_group(host) else [self._out[one] for one in host.groups]:
                out.add(name)

    def shortage(self, unit: _Unit, is_empty: bool) -> GroupState | None:
        """The first group that cannot spare its hosts of this unit.

        :param is_empty: whether the unit would have the batch for itself. Then hosts that the platform takes at one
            instant may be more than there is room for, if all others are in service: no waiting would change that
        """
        for name in sorted({name for host in unit.hosts for name in self._by_name[host].groups}):
            group = self._groups[name]
            capacity = group.size - group.minimum
            mine = {host for host in unit.hosts if name in self._by_name[host].groups}
            others = len(self._out[name] - mine)
            is_beyond_all_capacity = is_empty and len(mine) > capacity > 0 and others == 0
            if not mine.issubset(self._out[name]) and others + len(mine) > capacity and not is_beyond_all_capacity:
                return group
        return None


def _batches(
    by_name: Mapping[str, Host],
    units: Sequence[_Unit],
    blocked: Mapping[str, str],
    groups: Mapping[str, GroupState],
    policy: Policy,
    now: float,
) -> tuple[list[list[str]], dict[str, str], dict[str, float], int | None]:
    """Make batches: first units that do not wait and hosts that are only restored, then the others, as there is room.

    What may share its event with hosts that have not answered yet goes before the others, in one batch, so that it can
    be approved when these are asked again in it; unless somebody cannot wait for that.

    :returns: the batches; why hosts are in none although they are hit; until when hosts can wait that were brought
        forward to an earlier one; and in which batch those are asked again that have not answered, if in any
    """
    waiting = {name for unit in units for name in unit.hosts}.union(blocked)
    idle_again = [host.name for host in by_name.values() if _is_to_be_put_back(host) and host.name not in waiting]
    # Hosts that are hit or only restored are expected to be back after their batch.
    stay_away = [
        name
        for group in groups.values()
        for name in group.away
        if name in blocked or (name not in waiting and name not in idle_again)
    ]
    first = [unit for unit in units if unit.does_not_wait]
    batches = [first] if first or idle_again else []
    capacity = _Capacity(by_name, groups, stay_away + idle_again + [name for unit in first for name in unit.hosts])
    is_open = bool(batches) and not any(unit.is_quick for unit in first)
    held = dict(blocked)
    together = _together(by_name, units, groups, stay_away, now)
    if together:
        batches.append(together)
        capacity, is_open = (
            _Capacity(by_name, groups, stay_away + [name for unit in together for name in unit.hosts]),
            True,
        )
    for unit in units:
        if unit.does_not_wait or unit in together:
            continue
        if is_open and capacity.shortage(unit, is_empty=False) is None:
            batches[-1].append(unit)
            capacity.take(unit.hosts)
            continue
        alone = _Capacity(by_name, groups, stay_away)
        shortage = alone.shortage(unit, is_empty=not unit.is_demanded)
        if shortage is not None:
            held.update(dict.fromkeys(unit.hosts, _why_held(shortage.describe(), unit, policy)))
            continue
        batches.append([unit])
        capacity, is_open = alone, True
        capacity.take(unit.hosts)
    brought_forward = _bring_forward(by_name, batches, idle_again, policy, now)
    named = [[name for unit in batch for name in unit.hosts] for batch in batches]
    if idle_again:
        named[0] = (
            [name for unit in first for name in unit.hosts]
            + idle_again
            + [name for unit in batches[0][len(first) :] for name in unit.hosts]
        )
    at = next((number for number, batch in enumerate(batches) if together and together[0] in batch), None)
    # A batch that was brought forward to urgent units goes without the hosts that have not answered.
    return named, held, brought_forward, None if at == 0 and (first or idle_again) else at


def _together(
    by_name: Mapping[str, Host],
    units: Sequence[_Unit],
    groups: Mapping[str, GroupState],
    stay_away: Iterable[str],
    now: float,
) -> list[_Unit]:
    """Which units are planned together with the hosts that have not answered yet, as many as there is room for."""
    if any(
        unit.begins_by < now + _ASKING_AGAIN for unit in units if not unit.does_not_wait and not unit.waits_for_answers
    ):
        return []
    # Hosts that answer are assumed to be in service.
    capacity = _Capacity(by_name, groups, [name for name in stay_away if by_name[name].vm_name is not None])
    chosen: list[_Unit] = []
    for unit in units:
        if unit.waits_for_answers and capacity.shortage(unit, not chosen and not unit.is_demanded) is None:
            capacity.take(unit.hosts)
            chosen.append(unit)
    return chosen


def _bring_forward(
    by_name: Mapping[str, Host], batches: list[list[_Unit]], idle_again: Sequence[str], policy: Policy, now: float
) -> dict[str, float]:
    """Move units that would begin too late to the last batch that begins in time, even if all before take their full
    time.

    It waits there until there is room, and goes without when its time has come: then the platform takes it in any case.

    :param batches: are changed
    :param idle_again: the hosts of the first batch that are only restored
    :returns: until when hosts can wait, by their names
    """
    moved: dict[str, float] = {}
    is_settled = False
    while not is_settled:
        is_settled = True
        begins = _begins(by_name, batches, idle_again, policy, now)
        for number in range(1, len(batches)):
            late = [unit for unit in batches[number] if unit.begins_by < begins[number]]
            for unit in late:
                in_time = max(bisect.bisect_right(begins, unit.begins_by, hi=number) - 1, 0)
                batches[in_time].append(unit)
                moved.update(dict.fromkeys(unit.hosts, unit.begins_by))
                is_settled = False
            if late:
                batches[number] = [unit for unit in batches[number] if unit.begins_by >= begins[number]]
        batches[1:] = [batch for batch in batches[1:] if batch]
    for batch in batches:
        # If all units that began sooner have been moved away, this batch is a turn of its own.
        if batch and all(name in moved for unit in batch for name in unit.hosts):
            for name in batch[0].hosts:
                del moved[name]
    return moved


def _begins(
    by_name: Mapping[str, Host],
    batches: Sequence[Sequence[_Unit]],
    idle_again: Sequence[str],
    policy: Policy,
    now: float,
) -> list[float]:
    """When each batch begins if the batches before it take their full time."""
    begins = [now]
    for number, batch in enumerate(batches[:-1]):
        back = max([by_name[name].return_seconds for name in idle_again if number == 0] or [0.0])
        begins.append(max([begins[-1] + back] + [_end(by_name, unit, begins[-1], policy, now) for unit in batch]))
    return begins


def _end(by_name: Mapping[str, Host], unit: _Unit, begin: float, policy: Policy, now: float) -> float:
    """When the hosts of a unit are back in rotation if everything takes its full time."""
    hosts = [by_name[name] for name in unit.hosts]
    # A demand has no start to wait for: it takes as long as its steps do.
    limit = min((deadline_of(event_plan.event, policy, now) for event_plan in unit.event_plans), default=math.inf)
    ready = min(begin + max(host.settle_seconds + _for_ending(host) for host in hosts), max(limit, begin))
    # An event that nobody approves begins at its announced time.
    starts = [now + (notice_of(event_plan.event, now) or 0.0) for event_plan in unit.event_plans if event_plan.withheld]
    return max([ready, *starts]) + policy.listed_for + max(host.return_seconds for host in hosts)


def _this_batch(
    by_name: Mapping[str, Host],
    units: Sequence[_Unit],
    blocked: Mapping[str, str],
    groups: Mapping[str, GroupState],
    policy: Policy,
    rest: Sequence[Host],
    deferred: Collection[str],
    now: float,
) -> tuple[list[list[str]], dict[str, str], dict[str, str]]:
    """Take the batch as it is, except for hosts that would now leave too few in service.

    When steps have failed, what begins soon in any case is taken all the same: as there is room, it is drained.

    :returns: the batch; why hosts are not in it although they are hit; and why others wait in it
    """
    everybody = dict(by_name, **{host.name: host for host in rest})
    capacity = _Capacity(everybody, groups, [name for group in groups.values() for name in group.away])
    # A host whose time has come goes without room, and must not take the room of a host that is hit before it.
    pressing = max(
        (unit.deadline for unit in units if unit.does_not_wait and set(unit.hosts).issubset(deferred)),
        default=-math.inf,
    )
    first = [unit for unit in units if unit.does_not_wait or unit.deadline <= pressing]
    others = [unit for unit in units if not unit.does_not_wait and unit.deadline > pressing]
    for unit in first:
        capacity.take(unit.hosts)
    stop = _why_stopped(rest, policy)
    held = dict(blocked)
    waiting: dict[str, str] = {}
    is_empty = not first
    is_hurried = any(unit.is_quick for unit in first)
    for unit in others:
        is_deferred = set(unit.hosts).issubset(deferred)
        shortage = capacity.shortage(unit, is_empty and not unit.is_demanded)
        reason = shortage.describe() if shortage is not None else ""
        if stop and not unit.begins_anyway(policy, now):
            reason = stop
        if is_deferred and (reason or is_hurried):
            waiting.update(dict.fromkeys(unit.hosts, reason or "others of the batch have no time to wait for it"))
        elif reason:
            held.update(dict.fromkeys(unit.hosts, _why_held(reason, unit, policy)))
        else:
            capacity.take(unit.hosts)
            is_empty = False
    absent = {**held, **waiting}
    hit = {name for unit in units for name in unit.hosts}
    taken = [name for name, host in by_name.items() if name not in absent and (name in hit or _is_to_be_put_back(host))]
    return [taken], held, waiting


def _is_to_be_put_back(host: Host) -> bool:
    # It may have been taken out for an event whose VMs cannot be read.
    is_unclear = any(event.is_of_unknown_vms for event in host.events)
    return host.was_left and host.vm_name is not None and not host.leased and not host.left_out and not is_unclear


def _why_held(reason: str, unit: _Unit, policy: Policy) -> str:
    has_end = bool(policy.urgent_within) and not unit.is_demanded
    until = " until less than %g s of notice are left" % policy.urgent_within if has_end else ""
    return "%s: stays in service%s" % (reason, until)


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
            event_plan.event.event_id for event_plan in event_plans if _is_among(event_plan.event, host.approving)
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
    policy: Policy,
    now: float,
) -> None:
    """Limit the wait for connections, so that hosts are back before others of their group must leave.

    Where a short wait would not do either, they wait as if there were no others.
    """
    for name, host_plan in host_plans.items():
        host = by_name[name]
        limits = [until for other, until in waiting.items() if set(by_name[other].groups).intersection(host.groups)]
        if not limits or not host_plan.remove:
            continue
        stopping = min(host.stop_seconds, _LEAST_FOR_ENDING / 2)
        latest = min(limits) - policy.listed_for - host.return_seconds - stopping
        if latest >= now + host.settle_seconds + min(host.connection_seconds, _LEAST_FOR_ENDING / 2):
            host_plans[name] = host_plan._replace(drained_by=min(host_plan.drained_by, latest))
