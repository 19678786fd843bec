# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""A run on a fleet: what was done so far, what hosts have reported, and the time go in; the next orders come out.

Nothing here asks or changes a host. Orders are carried out elsewhere, one at a time on a host and many at once on the
fleet, and whatever becomes of one is reported. A run may die after any order: the next one learns from what is written
down on the hosts.

The playbooks do not use it yet: they still decide by themselves, by the same functions.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from ...module_utils.scheduled_events.document import Event
from .completeness import check_complete
from .plan import Entry, Host, Plan, approvals, attempts, make_plan
from .progress import Progress, begin_watch
from .report import Result
from .second_look import look_again
from .treatment import Policy


class Step(Enum):
    """Where a host is in a run. Most are orders: something is to be done there, and reported."""

    IDLE = "idle"
    """Its turn has not come."""
    ASK = "ask"
    """Read its events and who wants it out."""
    ASKED = "asked"
    WAIT = "wait"
    """Stay in service until its events change, any host has news, or `until`."""
    LEASE = "lease"
    """Lease it and claim it, in one step."""
    DRAIN = "drain"
    """Take it out of rotation, wait for its connections, then read its events again."""
    STOP = "stop"
    """Stop its services."""
    PREPARED = "prepared"
    """Or not: a step may have failed."""
    NOTE = "note"
    """Write down on it which events are about to be approved."""
    NOTED = "noted"
    APPROVE = "approve"
    """Approve `event_ids`."""
    APPROVED = "approved"
    WATCH = "watch"
    """Follow `progress` until it is over, or any other host has news; and renew the lease."""
    SEE_BACK = "see_back"
    """Wait until its agent says that it is in rotation."""
    PUT_BACK = "put_back"
    """Start its services, put it in rotation, and give up claim and lease."""
    RELEASE = "release"
    """End its lease, and leave it out."""
    AFTER_BATCH = "after_batch"
    """Do what the operator wants done after the batch."""
    DONE = "done"

    @property
    def is_order(self) -> bool:
        """Whether it is carried out on the host."""
        return self not in _BETWEEN_ORDERS


_BETWEEN_ORDERS = frozenset({Step.IDLE, Step.ASKED, Step.PREPARED, Step.NOTED, Step.APPROVED, Step.DONE})


class Order(NamedTuple):
    """What is to be done on a host next."""

    host: str
    do: Step
    entry: Entry | None = None
    """What is planned for it."""
    event_ids: tuple[str, ...] = ()
    """Those to be noted, or approved."""
    until: float | None = None
    """When a wait ends at the latest, in seconds since the epoch."""
    progress: Progress | None = None
    """How far a watch has come."""
    tried: Mapping[str, str] = {}
    """What is remembered of events that it was taken out for: why in vain, by id; empty where it was not."""


class OrderReport(NamedTuple):
    """What became of an order. An answer that was lost is a failure."""

    host: str
    did: Step
    failure: str = ""
    """What went wrong, in words."""
    refused: str = ""
    """Who else is at work on the host, or wants it out, in words. That is no failure."""
    reading: Host | None = None
    """Of `ASK`: what is known of it now."""
    listed: Sequence[Event] | None = None
    """Of `DRAIN`: the events that are listed for it now; None if nobody answered."""
    remaining: tuple[str, ...] = ()
    """Of `DRAIN`: where connections remained."""
    approved: Mapping[str, int | None] = {}
    """Of `APPROVE`: the ids that were, and the seconds of notice that were left."""
    not_approved: Mapping[str, str] = {}
    """Of `APPROVE`: the ids that were not, and why, in words."""
    progress: Progress | None = None
    """Of `WATCH`: how far it has come."""


class HostRun(NamedTuple):
    """How a run stands to one host."""

    reading: Host
    step: Step = Step.IDLE
    is_given: bool = False
    """Whether the order of this step was given, and nothing was reported yet."""
    entry: Entry | None = None
    is_ready: bool = False
    progress: Progress | None = None
    tried: Mapping[str, str] = {}
    until: float | None = None
    event_ids: tuple[str, ...] = ()
    is_finished: bool = False
    """Whether what comes after its batch was done."""
    result: Result = Result()

    def at(self, step: Step) -> "HostRun":
        """The same, at another step."""
        return self._replace(step=step, is_given=False)

    def failing(self, what: str) -> "HostRun":
        """The same, after something went wrong."""
        return self._replace(
            result=self.result._replace(failures=(*self.result.failures, what)),
            reading=self.reading._replace(failed=True),
        )

    @property
    def is_ours(self) -> bool:
        """Whether this run works on it, and not its agent."""
        return self.entry is not None and (self.reading.was_left or not self.entry.agent)


class Run(NamedTuple):
    """A run, as far as it has come."""

    policy: Policy
    plan: Plan
    """That for all hosts, with which it began."""
    hosts: Mapping[str, HostRun]
    turn: int = 0
    """Which of the plan's turns it is at."""
    batch: Plan | None = None
    """What was decided last for hosts of this turn."""
    taken: tuple[str, ...] = ()
    """The hosts that were taken then, until what of theirs is approved was approved."""
    has_more: bool = False
    """Whether the operator wants something done after each batch."""

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be done."""
        return self.turn >= len(self.plan.turns)

    def results(self) -> dict[str, Result]:
        """What became of each host that was planned for, or that did not answer."""
        return {name: self.hosts[name].result for turn in self.plan.turns for name in turn}


def begin(hosts: Sequence[Host], policy: Policy, now: float, has_more: bool = False) -> Run:
    """Plan for all hosts, which have been asked.

    :param now: seconds since the epoch
    :param has_more: whether something is to be done after each batch
    :raises PlanError: see `check_complete` and `make_plan`
    """
    check_complete(hosts)
    plan = make_plan(hosts, policy, now)
    first = set(plan.turns[0]) if plan.turns else set()
    # Who has not answered is asked again, with more time.
    at = {
        host.name: Step.IDLE if host.name not in first else Step.ASK if host.vm_name is None else Step.ASKED
        for host in hosts
    }
    return Run(policy, plan, {host.name: HostRun(host, at[host.name]) for host in hosts}, has_more=has_more)


def advance(run: Run, reports: Iterable[OrderReport], now: float) -> tuple[Run, list[Order]]:
    """Take reports into account, and give the next orders.

    :param reports: of orders that were given, in any order, each once
    :param now: seconds since the epoch
    :returns: the run, and orders for hosts that have none
    """
    hosts = dict(run.hosts)
    for report in reports:
        hosts[report.host] = _take_in(hosts[report.host], report, run.policy, now)
    run = run._replace(hosts=hosts)
    while True:
        further = _go_on(run, now)
        if further is run:
            break
        run = further
    orders = [
        Order(name, host.step, host.entry, host.event_ids, host.until, host.progress, host.tried)
        for name, host in run.hosts.items()
        if host.step.is_order and not host.is_given
    ]
    given = {order.host: run.hosts[order.host]._replace(is_given=True) for order in orders}
    return run._replace(hosts={**run.hosts, **given}), orders


def _take_in(host: HostRun, report: OrderReport, policy: Policy, now: float) -> HostRun:
    """What a report changes for its host."""
    if host.step is not report.did or not host.is_given:
        raise ValueError("%s reports %s, and is at %s" % (report.host, report.did.name, host.step.name))
    if report.failure:
        host = host.failing(report.failure)
    if report.did is Step.DRAIN:
        return _after_drain(host, report, policy, now)
    return _AFTER[report.did](host, report)


def _after_ask(host: HostRun, report: OrderReport) -> HostRun:
    known = report.reading or host.reading._replace(vm_name=None)
    return host.at(Step.ASKED)._replace(reading=known._replace(failed=host.reading.failed))


def _after_wait(host: HostRun, _report: OrderReport) -> HostRun:
    return host.at(Step.ASK)


def _after_lease(host: HostRun, report: OrderReport) -> HostRun:
    entry = _entry(host)
    if report.refused or report.failure:
        reading = host.reading._replace(leased=report.refused or report.failure)
        left = ("left alone: %s" % report.refused,) if report.refused else ()
        return host._replace(reading=reading, entry=None, result=host.result._replace(steps=left)).at(Step.DONE)
    # Until the contrary is seen: the next batches count on it.
    reading = host.reading._replace(is_out=True)
    result = host.result._replace(unprepared=entry.unprepared)
    return host._replace(reading=reading, result=result).at(Step.DRAIN if entry.remove else Step.PREPARED)


def _after_drain(host: HostRun, report: OrderReport, policy: Policy, now: float) -> HostRun:
    """Connections take minutes to end, and services are not stopped for what is not ahead any more."""
    entry = look_again(_entry(host), report.listed, policy, now)
    is_ready = not report.failure and not entry.withdrawn
    result = host.result._replace(remaining=report.remaining)
    host = host._replace(entry=entry, is_ready=is_ready, result=result)
    return host.at(Step.STOP if entry.stop and not report.failure else Step.PREPARED)


def _after_stop(host: HostRun, report: OrderReport) -> HostRun:
    return host._replace(is_ready=host.is_ready and not report.failure).at(Step.PREPARED)


def _after_note(host: HostRun, report: OrderReport) -> HostRun:
    return host._replace(is_ready=host.is_ready and not report.failure).at(Step.NOTED)


def _after_approve(host: HostRun, report: OrderReport) -> HostRun:
    approved = dict(report.approved)
    if report.failure:
        # The request may have arrived, and only its answer been lost.
        approved |= dict.fromkeys(set(host.event_ids).difference(report.not_approved))
    result = host.result._replace(approved=approved, not_approved=dict(report.not_approved))
    return host._replace(result=result).at(Step.APPROVED)


def _after_watch(host: HostRun, report: OrderReport) -> HostRun:
    if report.refused:
        return host.failing(report.refused)._replace(entry=None).at(Step.DONE)
    return _followed(host._replace(progress=report.progress or host.progress))


def _followed(host: HostRun) -> HostRun:
    """Go on with what has become of the events of a host."""
    progress = host.progress or {}
    result = host.result._replace(outcome=str(progress["outcome"]), gave_up=bool(progress["gave_up"]))
    host = host._replace(result=result)
    if progress["over"] and progress["restore"]:
        return host.at(Step.PUT_BACK if host.is_ours else Step.SEE_BACK)
    if not progress["over"] and not progress["gave_up"]:
        return host.at(Step.WATCH)
    reading = host.reading._replace(failed=host.reading.failed or bool(progress["gave_up"]))
    return host._replace(reading=reading).at(Step.RELEASE if host.is_ours else Step.DONE)


def _after_return(host: HostRun, report: OrderReport) -> HostRun:
    is_back = not report.failure and not report.refused
    reading = host.reading
    if is_back:
        reading = reading._replace(is_out=False, was_left=False, agent=None)
    result = host.result._replace(restored=is_back, stays_out=report.refused)
    host = host._replace(reading=reading, result=result)
    return host.at(Step.DONE if is_back or report.did is Step.SEE_BACK else Step.RELEASE)


def _after_all(host: HostRun, _report: OrderReport) -> HostRun:
    return host.at(Step.DONE)


_AFTER: Mapping[Step, Callable[[HostRun, OrderReport], HostRun]] = {
    Step.ASK: _after_ask,
    Step.WAIT: _after_wait,
    Step.LEASE: _after_lease,
    Step.STOP: _after_stop,
    Step.NOTE: _after_note,
    Step.APPROVE: _after_approve,
    Step.WATCH: _after_watch,
    Step.SEE_BACK: _after_return,
    Step.PUT_BACK: _after_return,
    Step.RELEASE: _after_all,
    Step.AFTER_BATCH: _after_all,
}


def _entry(host: HostRun) -> Entry:
    if host.entry is None:
        raise LookupError("%s: nothing is planned for it" % host.reading.name)
    return host.entry


def _go_on(run: Run, now: float) -> Run:
    """Do the one thing that waits for several hosts and need not wait any longer; the same run if there is none."""
    if run.is_over:
        return run
    here = {name: run.hosts[name] for name in run.plan.turns[run.turn]}
    if run.taken and run.batch is not None:
        return _go_on_together(run, run.batch, {name: run.hosts[name] for name in run.taken}, now)
    undecided = [name for name, host in here.items() if host.step is Step.ASKED]
    # Who is about to be back makes room.
    pending = (Step.ASK, Step.WAIT, Step.PUT_BACK, Step.SEE_BACK)
    if undecided and not any(host.step in pending for host in here.values()):
        return _choose(run, undecided, now)
    if all(host.step is Step.DONE for host in here.values()):
        finishing = {
            name: host._replace(is_finished=True).at(Step.AFTER_BATCH)
            for name, host in here.items()
            if run.has_more and host.is_ours and not host.is_finished
        }
        return run._replace(hosts={**run.hosts, **finishing}) if finishing else _next_turn(run)
    return run


def _choose(run: Run, names: Sequence[str], now: float) -> Run:
    """Decide which hosts of the turn are taken now, which wait in it, and which stay as they are."""
    others = [host.reading for name, host in run.hosts.items() if name not in set(names)]
    batch = make_plan(
        [run.hosts[name].reading for name in names],
        run.policy,
        now,
        others,
        run.plan.patient,
        run.plan.events_of_hosts(),
    )
    hosts = dict(run.hosts)
    for name in names:
        hosts[name] = _decided(hosts[name], batch)
    return run._replace(hosts=hosts, batch=batch, taken=tuple(batch.hosts))


def _decided(host: HostRun, batch: Plan) -> HostRun:
    name = host.reading.name
    entry = batch.hosts.get(name)
    if entry is not None:
        host = host._replace(entry=entry)
        return host.at(Step.LEASE if host.is_ours else Step.PREPARED)
    if name in batch.patient:
        return host._replace(until=batch.patient[name]).at(Step.WAIT)
    if name in batch.held:
        return host.failing("left in service: %s" % batch.held[name]).at(Step.DONE)
    if name in batch.missed:
        return host.failing("hit while in service: %s" % batch.missed[name]).at(Step.DONE)
    if name in batch.passed_over:
        left = ("left alone: %s" % batch.passed_over[name],)
        return host._replace(result=host.result._replace(steps=left)).at(Step.DONE)
    return host.failing("Read the events: no answer").at(Step.DONE)


def _go_on_together(run: Run, batch: Plan, taken: Mapping[str, HostRun], now: float) -> Run:
    """Go on with hosts that move together: an event is approved once all of its hosts are ready."""
    steps = {host.step for host in taken.values()}
    ready = [name for name, host in taken.items() if host.is_ready and host.step is not Step.DONE]
    if Step.PREPARED in steps and steps <= {Step.PREPARED, Step.DONE}:
        of_host = _approved_on(batch, approvals(batch, ready))
        return _move(run, taken, {name: (Step.NOTE, of_host[name]) for name in of_host}, Step.NOTED)
    if Step.NOTED in steps and steps <= {Step.NOTED, Step.DONE}:
        of_host = {name: tuple(ids) for name, ids in approvals(batch, ready).items()}
        return _move(run, taken, {name: (Step.APPROVE, of_host[name]) for name in of_host}, Step.APPROVED)
    if steps <= {Step.APPROVED, Step.DONE}:
        return _begin_to_watch(run, batch, taken, now)
    return run


def _approved_on(batch: Plan, chosen: Mapping[str, Collection[str]]) -> dict[str, tuple[str, ...]]:
    """By host, the events that hit it and are about to be approved, by whomever."""
    ids = {event_id for of_host in chosen.values() for event_id in of_host}
    found: dict[str, tuple[str, ...]] = {}
    for case in batch.cases:
        if case.event.event_id in ids:
            for name in case.hosts:
                found[name] = (*found.get(name, ()), case.event.event_id)
    return found


def _move(run: Run, taken: Mapping[str, HostRun], to: Mapping[str, tuple[Step, tuple[str, ...]]], others: Step) -> Run:
    moved = {
        name: host._replace(event_ids=to[name][1]).at(to[name][0]) if name in to else host.at(others)
        for name, host in taken.items()
        if host.step is not Step.DONE
    }
    return run._replace(hosts={**run.hosts, **moved})


def _begin_to_watch(run: Run, batch: Plan, taken: Mapping[str, HostRun], now: float) -> Run:
    approved = {event_id: left for host in taken.values() for event_id, left in host.result.approved.items()}
    refused = {event_id: why for host in taken.values() for event_id, why in host.result.not_approved.items()}
    failures = {name: host.result.failures for name, host in taken.items()}
    tried = attempts(batch, failures, approved)
    moved = {}
    for name, host in taken.items():
        if host.step is Step.DONE:
            continue
        progress = begin_watch(_entry(host), approved, bool(host.result.failures), run.policy, now)
        result = host.result._replace(approved=approved, not_approved=refused)
        moved[name] = _followed(host._replace(progress=progress, tried=tried.get(name, {}), result=result))
    return run._replace(hosts={**run.hosts, **moved}, taken=())


def _next_turn(run: Run) -> Run:
    turn = run.turn + 1
    names = run.plan.turns[turn] if turn < len(run.plan.turns) else ()
    asked = {name: run.hosts[name].at(Step.ASK) for name in names}
    return run._replace(hosts={**run.hosts, **asked}, turn=turn, batch=None)
