# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Units: the hosts that must leave rotation together, for events that they share or for a demand."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from ...module_utils.scheduled_events.event import Event
from .clocks import as_utc
from .event_plans import EventPlan
from .groups import Capacity, GroupState, away_hosts
from .host import Host
from .policy import Policy, begins_soon, deadline_of, is_forced

# Connections and services together get at least this long if they may take it, half of it each. Seconds.
LEAST_FOR_ENDING = 60.0


class Unit(NamedTuple):
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
    """When its preparation must begin to be done before the first event starts, in seconds since the epoch; minus
    infinity if nothing that it waited for would change when its hosts leave.
    """
    least: float = 0.0
    """Seconds that its preparation takes at least."""
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
        starting = [event_plan.event for event_plan in self.event_plans if not event_plan.event.is_advisory]
        return any(begins_soon(event, policy, now) for event in starting)


def units_of_events(
    hosts: Sequence[Host],
    event_plans: Sequence[EventPlan],
    policy: Policy,
    now: float,
    deferred: Mapping[str, float] | None = None,
) -> list[Unit]:
    """Put together hosts that share events, directly or through others; the most urgent first."""
    leader_of = {host.name: host.name for host in hosts}

    def find(name: str) -> str:
        while leader_of[name] != name:
            leader_of[name] = leader_of[leader_of[name]]
            name = leader_of[name]
        return name

    terminates: dict[datetime | None, str] = {}
    for event_plan in event_plans:
        event, first = event_plan.event, event_plan.hosts[0]
        for name in event_plan.hosts[1:]:
            leader_of[find(name)] = find(first)
        if event.event_type == "Terminate" and event.is_scheduled:
            # Azure lets no Terminate of an instant begin early until all Terminates of that instant are approved.
            leader_of[find(terminates.setdefault(event.not_before, first))] = find(first)
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


def units_of_demands(
    by_name: Mapping[str, Host], hosts: Sequence[Host], groups: Mapping[str, GroupState], may_answer: bool
) -> list[Unit]:
    """Put together hosts whose demands are of one batch, in the order of the inventory.

    A demand waits until there is room, however long that takes.

    :param by_name: all hosts of the play
    :param hosts: those that are planned for
    :param may_answer: whether hosts that have not answered are asked again
    """
    of_batch: dict[str, list[Host]] = {}
    for host in hosts:
        if host.demand is not None and host.vm_name is not None and not host.leased and not host.skip_reason:
            of_batch.setdefault(host.demand.batch, []).append(host)
    units = []
    for members in of_batch.values():
        demand = members[0].demand
        unit = Unit(
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
            shortage = Capacity(by_name, groups, away_hosts(by_name, groups, False)).shortage(
                unit.hosts, may_exceed=False
            )
            is_awaited = bool(silent) and (shortage is not None or not set(silent).isdisjoint(unit.all_of))
            unit = unit._replace(awaits_answers=is_awaited)
        units.append(unit)
    return units


def _unit(
    members: Sequence[Host], event_plans: list[EventPlan], policy: Policy, now: float, deferred: Mapping[str, float]
) -> Unit:
    least = max(member.settle_seconds + min(seconds_for_ending(member), LEAST_FOR_ENDING) for member in members)
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
    # Agents do not wait for a turn, and neither do approved events.
    goes_by_itself = any(event_plan.agents or event_plan.may_begin for event_plan in event_plans)
    is_at_any_moment = any(one.event.event_type == "Preempt" or not one.event.is_scheduled for one in forced)
    return Unit(
        hosts=[member.name for member in members],
        event_plans=event_plans,
        does_not_wait=bool(forced) or goes_by_itself,
        is_quick=any(
            event_plan.event.is_scheduled and bool(set(event_plan.hosts).difference(event_plan.agents))
            for event_plan in forced
        ),
        deadline=deadline,
        begins_by=-math.inf if goes_by_itself or is_at_any_moment else begins_by,
        least=least,
    )


def _cannot_wait(event: Event, begins_by: float | None, policy: Policy, now: float) -> bool:
    """Whether the platform acts before a turn could come, or, for a host that waits in its batch, before it could be
    prepared.

    :param begins_by: when it must begin, if it waits in its batch
    """
    if begins_by is None or event.event_type == "Preempt" or event.is_advisory:
        return is_forced(event, policy, now)
    return now >= begins_by


def seconds_for_ending(host: Host) -> float:
    return host.connection_seconds + host.stop_seconds


def why_blocked(
    by_name: Mapping[str, Host], groups: Mapping[str, GroupState], unit: Unit, now: float
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
    by_name: Mapping[str, Host], groups: Mapping[str, GroupState], unit: Unit, now: float
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
    is_new = any(not by_name[name].needs_restore for name in unit.hosts)
    if is_new and now >= unit.deadline:
        return dict.fromkeys(unit.hosts, "it had to be ready by %s" % as_utc(unit.deadline))
    away = away_hosts(by_name, groups, unit.awaits_answers)
    shortage = Capacity(by_name, groups, away).shortage(unit.hosts, may_exceed=False)
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
    return host.leased or host.skip_reason or host.held or "; ".join(host.would_fail)
