# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts go when, and what is to be done with each?

Azure names VMs, an inventory names hosts: what connects them is the name in Azure that each host has
learned from its own metadata service.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...module_utils.scheduled_events.document import Event, in_order_of_urgency
from .agent import AgentDict, has_taken_out, is_at_work_on
from .treatment import Policy, deadline_of, is_forced, is_known, needs_stop, notice_of, start_of


class PlanError(ValueError):
    """The hosts, or what the operator decided, make no sense. The message says what to change."""


class Host(NamedTuple):
    """What is known of one host of the inventory."""

    name: str
    vm_name: str | None = None
    """Its name in Azure; None if it did not answer."""
    events: tuple[Event, ...] = ()
    was_left: bool = False
    """Whether an earlier run has left it out of rotation."""
    stop_seconds: float = 0.0
    """How long its services may take to stop, all together."""
    agent: AgentDict | None = None
    """What its handler agent says of itself; None without one. With one, everything is left to it."""


class Case(NamedTuple):
    """An event, and what it means for these hosts."""

    event: Event
    hosts: tuple[str, ...]
    outsiders: tuple[str, ...]
    agents: tuple[str, ...]
    """Those of the hosts that are left to their agents."""
    withheld: str
    """Why it must not be approved; empty when it may."""
    left_alone: str
    """Why nothing at all is done about it now; empty when something is."""
    approver: str | None
    """The host that approves it, if it is approved."""


class Entry(NamedTuple):
    """What is done with a host in a batch. Instants are seconds since the epoch."""

    vm_name: str
    events: tuple[Event, ...]
    """Those that are met. Without any the host is put back."""
    agent: bool
    """Whether all is left to its agent."""
    remove: bool
    """Whether it is taken out of rotation."""
    stop: bool
    """Whether its services are stopped."""
    drained_by: float
    stopped_by: float
    final: bool
    """Whether it is to be deleted."""


class Plan(NamedTuple):
    """What is done with all hosts of a play."""

    batches: Sequence[Sequence[str]]
    """Host names in order."""
    hosts: Mapping[str, Entry]
    """What is done with each host in a batch, by its name."""
    cases: Sequence[Case]
    """All events, in order of urgency."""
    unanswered: Sequence[str]
    """The hosts that nothing is known of."""


def make_plan(hosts: Sequence[Host], policy: Policy, now: float, together: bool = False) -> Plan:
    """Decide about all hosts at once.

    :param hosts: all hosts of the play, in the order of the inventory
    :param now: seconds since the epoch
    :param together: these hosts are one batch already; then each that answered is in `hosts`
    :raises PlanError: if two hosts are the same VM, or the minimum in service is neither a number nor a percentage
    """
    minimum = _minimum_in_service(policy.minimum_in_service, len(hosts))
    cases = _cases(hosts, policy, now)
    ahead = [case for case in cases if not case.left_alone]
    waiting = {name for case in ahead for name in case.hosts}
    idle_again = [host.name for host in hosts if host.was_left and host.vm_name and host.name not in waiting]
    unanswered = [host.name for host in hosts if host.vm_name is None]
    if together:
        batches = [[host.name for host in hosts if host.vm_name is not None]]
    else:
        # What an agent keeps out for something far off is out of service as well.
        out = [host.name for host in hosts if host.agent and has_taken_out(host.agent) and host.name not in waiting]
        room = len(hosts) - len(unanswered) - len(out) - minimum
        batches = _batches(_units(hosts, ahead, now), idle_again, room, policy, now)
    mine: dict[str, list[Case]] = {name: [] for batch in batches for name in batch}
    for case in ahead:
        for name in case.hosts:
            mine[name].append(case)
    by_name = {host.name: host for host in hosts}
    entries = {name: _entry(by_name[name], of_host, policy, now) for name, of_host in mine.items()}
    for batch in batches:
        _keep_pace(batch, entries)
    return Plan(batches, entries, cases, unanswered)


def approvals(plan: Plan, ready: Iterable[str]) -> dict[str, list[str]]:
    """Say which host approves which events: each event once, and only if all of its hosts are ready.

    :param ready: the hosts on which everything went well
    :returns: lists of event ids by host name, without the hosts that approve nothing
    """
    are_ready = set(ready)
    chosen: dict[str, list[str]] = {}
    for case in plan.cases:
        if not case.withheld and not case.left_alone and case.approver and are_ready.issuperset(case.hosts):
            chosen.setdefault(case.approver, []).append(case.event.event_id)
    return chosen


def _minimum_in_service(text: str, count: int) -> int:
    digits = str(text).strip()
    percent = digits.endswith("%")
    digits = digits[:-1].strip() if percent else digits
    if not digits.isdigit() or (percent and int(digits) > 100):
        raise PlanError(
            "handle_events_minimum_in_service: %r is neither a number of hosts nor a percentage: write for example"
            " 2, or 50%%" % (text,)
        )
    return -(-int(digits) * count // 100) if percent else int(digits)


def _cases(hosts: Sequence[Host], policy: Policy, now: float) -> list[Case]:
    """All events of all hosts, each once, the most urgent first."""
    by_vm_name: dict[str, Host] = {}
    order = {host.name: number for number, host in enumerate(hosts)}
    events: dict[str, Event] = {}
    for host in hosts:
        if host.vm_name is None:
            continue
        other = by_vm_name.setdefault(host.vm_name.lower(), host)
        if other is not host:
            raise PlanError(
                "%s and %s are both the VM %s in Azure. Leave one of them out of handle_events_hosts, or check that"
                " each asks its own metadata service" % (other.name, host.name, host.vm_name)
            )
        for event in host.events:
            # Two hosts are never asked at the same instant: once started for one, it has started.
            known = events.get(event.event_id.lower())
            if known is None or known.is_scheduled:
                events[event.event_id.lower()] = event
    cases = []
    for event in in_order_of_urgency(events.values()):
        names = {name.lower(): name for name in event.resources}
        members = sorted((by_vm_name[key] for key in names if key in by_vm_name), key=lambda member: order[member.name])
        if members:
            cases.append(
                _case(event, members, [names[key] for key in sorted(names) if key not in by_vm_name], policy, now)
            )
    return cases


def _case(event: Event, members: Sequence[Host], outsiders: Sequence[str], policy: Policy, now: float) -> Case:
    agents = {member.name: member.agent for member in members if member.agent is not None}
    withheld = _why_withheld(event, outsiders, tuple(agents), policy)
    at_work = any(is_at_work_on(agent, event.event_id) for agent in agents.values())
    return Case(
        event=event,
        hosts=tuple(member.name for member in members),
        outsiders=tuple(outsiders),
        agents=tuple(agents),
        withheld=withheld,
        left_alone="" if at_work else _why_left_alone(event, withheld, policy, now),
        # Without outsiders there always is one.
        approver=next((member.name for member in members if event.is_led_by(member.vm_name or "")), None),
    )


def _why_withheld(event: Event, outsiders: Sequence[str], agents: Sequence[str], policy: Policy) -> str:
    if not event.is_scheduled:
        return "it has started already"
    if agents:
        return "it is left to the agent of %s" % " and ".join(agents)
    if not policy.approve:
        return "handle_events_approve is false"
    if not is_known(event):
        return "its type is not known"
    if outsiders:
        return "it also hits %s, not in the play or not answering" % ", ".join(outsiders)
    return ""


def _why_left_alone(event: Event, withheld: str, policy: Policy, now: float) -> str:
    if event.is_freeze_of_at_most(policy.tolerated_freeze):
        return "a freeze of %d s is tolerated" % (event.duration_in_seconds or 0)
    notice = notice_of(event, now)
    if withheld and notice is not None and notice >= policy.begin_within:
        return "it is not approved, because %s, and does not begin within %g s" % (withheld, policy.begin_within)
    return ""


class _Unit(NamedTuple):
    """Hosts that must go together, and why they must."""

    hosts: list[str]
    cases: list[Case]


def _units(hosts: Sequence[Host], cases: Sequence[Case], now: float) -> list[_Unit]:
    """Put together what shares events, directly or through others; the most urgent first."""
    order = {host.name: index for index, host in enumerate(hosts)}
    units: list[_Unit] = []
    for case in cases:
        apart = []
        joined = _Unit(list(case.hosts), [case])
        for unit in units:
            if not set(unit.hosts).isdisjoint(case.hosts) or _start_together(case, unit.cases, now):
                joined = _Unit(sorted(set(unit.hosts + joined.hosts), key=order.__getitem__), unit.cases + joined.cases)
            else:
                apart.append(unit)
        units = [*apart, joined]
    # Cases are in order of urgency.
    rank = {case.event.event_id: number for number, case in enumerate(cases)}
    return sorted(units, key=lambda unit: min(rank[case.event.event_id] for case in unit.cases))


def _start_together(case: Case, others: Iterable[Case], now: float) -> bool:
    """Azure lets none of the Terminates of one instant begin early until all of them are approved."""
    return _is_waiting_terminate(case, now) and any(
        _is_waiting_terminate(other, now) and start_of(other.event) == start_of(case.event) for other in others
    )


def _is_waiting_terminate(case: Case, now: float) -> bool:
    return case.event.event_type == "Terminate" and notice_of(case.event, now) is not None


def _batches(
    units: Sequence[_Unit], idle_again: Sequence[str], capacity: int, policy: Policy, now: float
) -> list[list[str]]:
    # Agents do not wait for a turn either.
    forced = [unit for unit in units if any(case.agents or is_forced(case.event, policy, now) for case in unit.cases)]
    first = [name for unit in forced for name in unit.hosts] + list(idle_again)
    batches = [first] if first else []
    # The others of a batch would have to keep pace with what begins soon, unless that is only watched.
    is_open = not any(
        case.event.is_scheduled and is_forced(case.event, policy, now) and set(case.hosts).difference(case.agents)
        for unit in forced
        for case in unit.cases
    )
    for unit in units:
        if unit in forced:
            continue
        if batches and is_open and len(batches[-1]) + len(unit.hosts) <= capacity:
            batches[-1] += unit.hosts
        else:
            batches.append(list(unit.hosts))
            is_open = True
    return batches


def _entry(host: Host, cases: Sequence[Case], policy: Policy, now: float) -> Entry:
    """What is done with a host, until when. Without cases it is put back."""
    is_ours = host.agent is None
    stopping = [case.event for case in cases if is_ours and needs_stop(case.event)]
    ready_by = min([deadline_of(case.event, policy, now) for case in cases] or [now])
    stop_by = min([deadline_of(event, policy, now) for event in stopping] or [now])
    for_stopping = min(host.stop_seconds, (stop_by - now) / 2) if stopping else 0.0
    return Entry(
        vm_name=host.vm_name or "",
        events=tuple(case.event for case in cases),
        agent=not is_ours,
        remove=is_ours and bool(cases),
        stop=bool(stopping),
        drained_by=max(now, min(ready_by, stop_by - for_stopping) if stopping else ready_by),
        stopped_by=stop_by,
        final=any(case.event.is_final for case in cases),
    )


def _keep_pace(batch: Sequence[str], entries: dict[str, Entry]) -> None:
    """Hosts of a batch move together: none waits for connections longer than the most urgent one can."""
    pace = min(
        [
            entries[name].drained_by
            for name in batch
            if entries[name].remove and all(event.is_scheduled for event in entries[name].events)
        ]
        or [math.inf]
    )
    for name in batch:
        entries[name] = entries[name]._replace(drained_by=min(entries[name].drained_by, pace))
