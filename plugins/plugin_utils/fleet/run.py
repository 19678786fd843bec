# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""A run on a fleet: it takes the work done so far, the hosts' reports and the time, and returns the next orders.

Nothing here asks or changes a host. Orders are carried out elsewhere, one at a time on a host and many at once on the
fleet, and whatever becomes of one is reported. A run may die after any order: the next one learns from what is written
down on the hosts.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from ...module_utils.scheduled_events.event import Event
from .completeness import hold_unsound
from .demand import DemandKind
from .host import Host
from .plan import HostPlan, Plan, approvals, attempts, make_plan, who_goes_first
from .policy import Policy, begins_soon
from .progress import Progress, begin_watch
from .recheck import recheck
from .report import Moment, Report, Result, describe_results


class Step(Enum):
    """Where a host is in a run. Most steps are orders: something is to be done on the host, and reported."""

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
    MOVE = "move"
    """Do what is demanded: have Azure move it, or replace its disk, and wait until that is done."""
    CANCEL = "cancel"
    """Cancel the run of updates, for all hosts."""
    PREPARED = "prepared"
    """Prepared for its event or demand, or not: a step may have failed."""
    NOTE = "note"
    """See that it is still out, and write down on it which events are about to be approved."""
    NOTED = "noted"
    APPROVE = "approve"
    """Approve `event_ids`."""
    APPROVED = "approved"
    WATCH = "watch"
    """Follow `progress` until it is over, or any other host has news, and renew the lease."""
    SEE_BACK = "see_back"
    """Wait until its agent says that it is in rotation."""
    RESTORE = "restore"
    """Start its services, put it in rotation, and give up its claim and its lease."""
    RELEASE = "release"
    """End its lease, and leave it out."""
    AFTER_BATCH = "after_batch"
    """Do what the operator wants done after the batch."""
    DONE = "done"

    @property
    def is_order(self) -> bool:
        """Whether it is carried out on the host."""
        return self not in _BETWEEN_ORDERS


# Seconds that a job in a queue may take until it has begun and asked all hosts.
_TAKEN_UP_WITHIN = 300.0

# The services have not stopped yet: the longest steps are ahead of the host.
_ON_THE_WAY_OUT = frozenset({Step.IDLE, Step.ASK, Step.ASKED, Step.WAIT, Step.LEASE, Step.DRAIN, Step.STOP})

# Seconds between two attempts to take a host out, at most.
_PAUSE = 10.0
# Seconds for which that is attempted again where nothing begins soon: a later run does the rest.
_TRIED_FOR = 60.0
# Seconds for stopping services where none are left: an event may begin later than announced, or have begun without
# having hit the host yet.
_LEAST_FOR_STOPPING = 30.0

# An approval has begun.
_APPROVING = frozenset({Step.NOTE, Step.NOTED, Step.APPROVE, Step.APPROVED})

# These steps are repeated so often that their times say nothing.
_IN_SERVICE = frozenset({Step.ASK, Step.WAIT, Step.AFTER_BATCH})

_UNCONFIRMED = (
    "load_balancer_removal_health_probe_url did not answer with 200 before the removal either: nothing confirms that"
    " the host is out of rotation, and nothing is stopped on it: correct the URL, or repair the service"
)

_UNTIL_RESTORED = "stays out of rotation until the playbook restore runs with restore_owner=updates"

_BETWEEN_ORDERS = frozenset({Step.IDLE, Step.ASKED, Step.PREPARED, Step.NOTED, Step.APPROVED, Step.DONE})

# All orders given at a time are of one of these kinds. A host that returns makes room for others, and a wait delays
# nobody.
_IN_ORDER = (
    {Step.RESTORE},
    {Step.SEE_BACK},
    {Step.RELEASE},
    {Step.CANCEL},
    {Step.APPROVE},
    {Step.NOTE},
    {Step.MOVE},
    {Step.STOP},
    {Step.DRAIN},
    {Step.LEASE},
    {Step.ASK},
    {Step.AFTER_BATCH},
    {Step.WATCH, Step.WAIT},
)


class Order(NamedTuple):
    """What is to be done on a host next."""

    host: str
    do: Step
    number: str = ""
    """The round of orders that it belongs to, which the report repeats."""
    host_plan: HostPlan | None = None
    """What is planned for it."""
    is_ours: bool = False
    """Whether this run works on the host, and not its agent."""
    known: Sequence[Event] = ()
    """The events that are known of it."""
    was_silent: bool = False
    """For `ASK`: whether the host answered before and its metadata service did not, which gets more time."""
    event_ids: tuple[str, ...] = ()
    """The events to note or to approve."""
    as_seen: Sequence[Event] = ()
    """For `APPROVE`: the events as they were when the decision was made."""
    until: float | None = None
    """For `WATCH` and `WAIT`: when it ends at the latest, in seconds since the epoch."""
    progress: Progress | None = None
    """How far a watch has come."""
    tried: Mapping[str, str] = {}
    """For `RESTORE`: why each event's attempt was in vain, by its id; an empty text if it was not."""
    take_over: str = ""
    """For `LEASE`: the lease that may be taken over."""
    leaves_out: bool = False
    """For `RELEASE`: whether the host stays out because it is to be deleted."""
    has_own_tasks: bool = True
    """Whether the operator's own tasks run with it."""
    pause: float = 0.0
    """For `LEASE`: seconds to wait before it."""
    then: Sequence["Order"] = ()
    """What is to be done right after it if it succeeds, see chains.py."""


class OrderReport(NamedTuple):
    """The outcome of an order. A lost answer is a failure."""

    host: str
    did: Step
    failure: str = ""
    """What went wrong, in words."""
    refused: str = ""
    """Who else works on the host, or wants it out, in words. That is no failure."""
    reading: Host | None = None
    """For `ASK`: what is known of the host now."""
    listed: Sequence[Event] | None = None
    """For `DRAIN`: the events that are listed for the host now; None if nobody answered."""
    remaining: tuple[str, ...] = ()
    """For `DRAIN`: where connections remained."""
    is_confirmed: bool = True
    """For `DRAIN`: whether the probe endpoint succeeded before the removal, so that its failure confirms it."""
    warnings: tuple[str, ...] = ()
    """What the operator must know although it is no failure, in words."""
    approved: Mapping[str, int | None] = {}
    """For `APPROVE`: the ids of approved events, and the seconds of notice that were left."""
    not_approved: Mapping[str, str] = {}
    """For `APPROVE`: the ids of events that were not approved, and why, in words."""
    progress: Progress | None = None
    """For `WATCH`: how far it has come. For `MOVE`: its `outcome`, in words."""
    is_cut_short: bool = False
    """Whether the host has left the play, for example by `meta: end_host` in one of the operator's tasks."""
    may_still_move: bool = False
    """For `MOVE`: whether Azure may still move the host, although nothing says so."""
    link: int = 0
    """How many orders the host has carried out right before it, in the same round."""


class HostRun(NamedTuple):
    """The state of one host in a run."""

    reading: Host
    step: Step = Step.IDLE
    is_given: bool = False
    """Whether the order of this step was given and nothing was reported yet."""
    then: tuple[Step, ...] = ()
    """The orders that were given with it, to be carried out one after the other as long as they succeed."""
    host_plan: HostPlan | None = None
    left_to: str = ""
    """Why it is left alone, in words. Then nothing of its plan is done."""
    is_ready: bool = False
    is_leased: bool = False
    pause: float = 0.0
    """Seconds to wait before it is leased, because an attempt to take it out has failed."""
    progress: Progress | None = None
    tried: Mapping[str, str] = {}
    until: float | None = None
    event_ids: tuple[str, ...] = ()
    is_finished: bool = False
    """Whether the tasks after its batch have run."""
    timeline: tuple[Moment, ...] = ()
    result: Result = Result()
    """Its result, without the parts that the other fields say."""

    def at(self, step: Step) -> "HostRun":
        """The host at another step."""
        return self._replace(step=step, is_given=False, then=())

    def failing(self, what: str) -> "HostRun":
        """The host after a failure."""
        return self._replace(
            result=self.result._replace(failures=(*self.result.failures, what)),
            reading=self.reading._replace(failed=True),
        )

    def noting(self, now: float) -> "HostRun":
        """The host with the time at which it came to its step, if that step takes it out or back."""
        is_known = bool(self.timeline) and self.timeline[-1].step == self.step.value
        if is_known or self.step in _IN_SERVICE or (self.step is Step.DONE and not self.timeline):
            return self
        return self._replace(timeline=(*self.timeline, Moment(now, self.step.value)))

    @property
    def is_ours(self) -> bool:
        """Whether this run works on it, and not its agent."""
        return (
            self.host_plan is not None and not self.left_to and (self.reading.needs_restore or not self.host_plan.agent)
        )

    @property
    def is_silent(self) -> bool:
        """Whether it has not answered lately. Its lease then ends by itself."""
        progress = self.progress or {}
        return bool(progress.get("silent") or progress.get("silent_since"))

    @property
    def longest_step(self) -> float:
        """Seconds that the longest task ahead of it may take."""
        if self.step in _ON_THE_WAY_OUT:
            return self.reading.step_seconds
        # Its services may take as long to start as to stop.
        return 0.0 if self.step is Step.DONE else self.reading.return_seconds + self.reading.stop_seconds

    @property
    def leaves_out(self) -> bool:
        """Whether it stays out because it is to be deleted."""
        progress = self.progress or {}
        return bool(progress.get("final") and progress.get("over")) and not self.is_silent


class Run(NamedTuple):
    """A run and its progress."""

    policy: Policy
    plan: Plan
    """The plan for all hosts, with which the run began."""
    hosts: Mapping[str, HostRun]
    turn: int = 0
    """The number of its turn."""
    batch: Plan | None = None
    """The latest decision for hosts of this turn."""
    taken: tuple[str, ...] = ()
    """The hosts of that decision that are on their way to the approval of their events."""
    given: int = 0
    """How many rounds of orders were given in this turn."""
    has_more: bool = False
    """Whether the operator has tasks that run after each batch."""
    predicts: bool = False
    """Whether nothing is changed: the run says what would be done, and waits for nothing."""
    demand: DemandKind | None = None
    """What is demanded of the run; None if it is about events. For a demand, nothing is approved or watched."""
    is_cancelled: bool | None = None
    """Whether the run of updates could be cancelled; None if nothing has tried to."""
    handed_over: str = ""
    """Who goes on with the run, in words: no further host is asked or taken out."""

    @property
    def has_own_tasks(self) -> bool:
        """Whether it runs tasks of the operator's. The playbook restore, which ends an update, would not undo them."""
        return self.demand is not DemandKind.UPDATE

    @property
    def number(self) -> str:
        """Which round of orders was given last.

        It is no Python literal: with jinja2_native, ansible-core before 2.19 makes 0.1 of the text 0.10.
        """
        return "%d/%d" % (self.turn, self.given)

    @property
    def is_turn_over(self) -> bool:
        """Whether nothing is left to be done in this turn."""
        return not self.plan.turns or all(self.hosts[name].step is Step.DONE for name in self.plan.turns[self.turn])

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be done."""
        return self.turn + 1 >= len(self.plan.turns) and self.is_turn_over

    @property
    def longest_step(self) -> float:
        """Seconds that a lease must last at least: the hosts of a turn move together."""
        return max((self.hosts[name].longest_step for name in self.plan.turns[self.turn]), default=0.0)

    def report(self) -> Report:
        """What became of each host that was planned for, that did not answer, or that somebody else has taken out."""
        late = {
            name: host.host_plan for name, host in self.hosts.items() if host.host_plan and name in self.plan.unanswered
        }
        return describe_results(self.plan._replace(hosts={**self.plan.hosts, **late}), self.results())

    def results(self) -> dict[str, Result]:
        """The results by host, as far as the plan does not say them."""
        planned = [name for turn in self.plan.turns for name in turn]
        # There is something to say of other hosts as well.
        more = [name for name, host in self.hosts.items() if host.reading.kept_out_by or host.reading.would_fail]
        return {name: self._result(name) for name in dict.fromkeys([*planned, *more])}

    def _result(self, name: str) -> Result:
        host = self.hosts[name]
        planned = self.plan.hosts.get(name)
        progress = host.progress or {}
        if host.left_to:
            steps: tuple[str, ...] = ("left alone: %s" % host.left_to,)
        elif planned is not None and planned.agent:
            steps = ("left to its agent",)
        else:
            steps = ("would be prepared" if self.predicts else "prepared",) if host.is_ready else ()
        failures = host.result.failures
        demand = host.reading.demand
        if host.left_to and not failures and demand is not None and demand.kind.must_be_met:
            failures = ("left alone: %s" % host.left_to,)
        if planned is None and not host.host_plan:
            # A quiet run finds what would break at night.
            failures = (*failures, *("would fail if it were hit: %s" % what for what in host.reading.would_fail))
        return host.result._replace(
            failures=failures,
            steps=steps,
            outcome=str(progress.get("outcome", "")),
            gave_up=bool(progress.get("gave_up")),
            is_to_return=bool(progress.get("over") and progress.get("restore")),
            skipped=bool(host.left_to),
            still_out=host.result.stays_out or host.reading.kept_out_by,
            predicted=self.predicts,
            timeline=host.timeline,
        )


def begin(
    hosts: Sequence[Host],
    policy: Policy,
    now: float,
    has_more: bool = False,
    predicts: bool = False,
    demand: DemandKind | None = None,
    remarks: Sequence[str] = (),
    off: Sequence[str] = (),
) -> Run:
    """Plan for all hosts that were asked.

    :param now: seconds since the epoch
    :param has_more: whether something is to be done after each batch
    :param predicts: whether nothing is to be changed
    :param demand: what is demanded of the run; None if it is about events
    :param remarks: what balancers have not answered, in words
    :param off: the hosts that are off on purpose, which are not among `hosts`
    :raises PlanError: see `hold_unsound` and `make_plan`
    """
    hosts = hold_unsound(hosts, policy, remarks)
    plan = make_plan(hosts, policy, now)
    plan = plan._replace(remarks=(*plan.remarks, *remarks), off=tuple(off))
    first = set(plan.turns[0]) if plan.turns else set()
    # Hosts that have not answered are asked again, with more time.
    at = {
        host.name: Step.IDLE if host.name not in first else Step.ASK if host.vm_name is None else Step.ASKED
        for host in hosts
    }
    of_host = {host.name: HostRun(host, at[host.name], result=Result(was_out=host.needs_restore)) for host in hosts}
    return Run(policy, plan, of_host, has_more=has_more, predicts=predicts, demand=demand)


def begin_turn(run: Run, turn: int) -> Run:
    """Go on with a turn, even if the turns before it were cut short."""
    while run.turn < turn:
        here, ahead = run.plan.turns[run.turn], run.plan.turns[run.turn + 1]
        cut = {name: _cut_short(run.hosts[name]) for name in here if run.hosts[name].step is not Step.DONE}
        asked = {} if run.handed_over else {name: run.hosts[name].at(Step.ASK) for name in ahead}
        run = run._replace(hosts={**run.hosts, **cut, **asked}, turn=run.turn + 1, batch=None, taken=(), given=0)
    return run


def may_be_handed_over(run: Run, now: float) -> bool:
    """Whether the run only waits for agents or for room, so that another run can do the rest.

    Whatever this run has done to a host, or an earlier one, it brings to its end itself, and it does not leave a host
    in service that is to be drained before the other run has begun.
    """
    left = [host for host in run.hosts.values() if host.step not in (Step.DONE, Step.IDLE)]
    planned = [run.hosts[name] for turn in run.plan.turns for name in turn]
    return (
        not run.predicts
        and run.demand is None
        and bool(left)
        and all(host.step in (Step.WATCH, Step.WAIT) for host in left)
        and not any(host.step is Step.WATCH and host.is_ours for host in left)
        and not any(host.step is Step.WAIT and (host.until or 0.0) < now + _TAKEN_UP_WITHIN for host in left)
        and not any(host.is_leased for host in run.hosts.values())
        and not any(host.reading.needs_restore or host.reading.vm_name is None for host in planned)
    )


def hand_over(run: Run, to: str) -> Run:
    """End a run at once.

    :param to: who goes on with its hosts, in words
    """
    left = {
        name: run.hosts[name]._replace(left_to=to).at(Step.DONE)
        for turn in run.plan.turns[run.turn :]
        for name in turn
        if run.hosts[name].step is not Step.DONE
    }
    return run._replace(hosts={**run.hosts, **left}, handed_over=to)


def still_leased(run: Run) -> list[Order]:
    """Orders to end the leases that are still held at the end, for example in turns that were cut short."""
    return [
        _order(run, name, host.at(Step.RELEASE), None)
        for name, host in run.hosts.items()
        if host.is_leased and not host.is_silent
    ]


def advance(run: Run, reports: Iterable[OrderReport], now: float) -> tuple[Run, list[Order]]:
    """Process reports, and give the next orders.

    :param reports: of orders that were given, in any order, each once
    :param now: seconds since the epoch
    :returns: the run, and orders for hosts that have none, all of one kind
    """
    by_link: dict[int, list[OrderReport]] = {0: []}
    for report in reports:
        by_link.setdefault(report.link, []).append(report)
    for link in sorted(by_link):
        run = _settle(run, by_link[link] if link == 0 else _expected(run, by_link[link]), now)
    return _give(run, now)


def _expected(run: Run, reports: Iterable[OrderReport]) -> list[OrderReport]:
    """Reports of orders that came right after others, without those of hosts that should have done something else."""
    return [report for report in reports if run.hosts[report.host].step is report.did]


def _settle(run: Run, reports: Iterable[OrderReport], now: float) -> Run:
    """Process reports, and go on with hosts that have to go on together."""
    hosts = dict(run.hosts)
    for report in reports:
        host = hosts[report.host]
        if report.link:
            # A drain begins as soon as the host is leased. The others after the one before them take no time.
            at = host.timeline[-1].at if report.did is Step.DRAIN and host.timeline else now
            host = host.noting(at)._replace(is_given=True)
        hosts[report.host] = _take_in(host, report, run, now)
        if report.did is Step.CANCEL and not report.is_cut_short:
            run = run._replace(is_cancelled=not report.failure)
    if any(host.result.restored and not run.hosts[name].result.restored for name, host in hosts.items()):
        # There is now room for hosts that were about to wait for it.
        hosts |= {
            name: hosts[name].at(Step.ASK)
            for name in hosts
            if hosts[name].step in (Step.WAIT, Step.ASKED) and not hosts[name].is_given
        }
    run = run._replace(hosts=hosts)
    while True:
        further = _go_on(run, now)
        if further is run:
            return run
        run = further


def _give(run: Run, now: float) -> tuple[Run, list[Order]]:
    ahead = {name: host for name, host in run.hosts.items() if host.step.is_order and not host.is_given}
    kind = next((kind for kind in _IN_ORDER if any(host.step in kind for host in ahead.values())), set())
    run = run._replace(given=run.given + 1)
    waiting = [host.until for host in ahead.values() if host.step is Step.WAIT and host.until is not None]
    until = min(waiting, default=None)
    orders = [_order(run, name, host, until) for name, host in ahead.items() if host.step in kind]
    given = {order.host: run.hosts[order.host].noting(now)._replace(is_given=True) for order in orders}
    done = {name: host.noting(now) for name, host in run.hosts.items() if host.step is Step.DONE}
    return run._replace(hosts={**run.hosts, **done, **given}), orders


def _order(run: Run, name: str, host: HostRun, until: float | None) -> Order:
    progress = host.progress or {}
    return Order(
        host=name,
        do=host.step,
        number=run.number,
        host_plan=host.host_plan,
        is_ours=host.is_ours,
        known=host.reading.events,
        # One that did not answer at all gets no more time.
        was_silent=name in run.plan.unanswered and host.reading.clock is not None,
        event_ids=host.event_ids,
        as_seen=[event_plan.event for event_plan in run.batch.event_plans]
        if host.step is Step.APPROVE and run.batch
        else (),
        until=until,
        progress=host.progress,
        # An event that has come to its end is no attempt in vain.
        tried=dict.fromkeys(host.tried, "") if progress.get("awaited") else host.tried,
        take_over=host.reading.take_over,
        leaves_out=host.leaves_out,
        has_own_tasks=run.has_own_tasks,
        pause=host.pause if host.step is Step.LEASE else 0.0,
    )


def _take_in(host: HostRun, report: OrderReport, run: Run, now: float) -> HostRun:
    """Apply a report to its host."""
    if host.step is not report.did or not host.is_given:
        raise ValueError("%s reports %s, and is at %s" % (report.host, report.did.name, host.step.name))
    if report.is_cut_short:
        return _cut_short(host)
    if report.did is Step.ASK:
        return _after_ask(host, report)
    if report.did is Step.DRAIN:
        # Before it is decided whether there is another attempt: its event may be gone.
        host = host._replace(host_plan=recheck(_host_plan(host), report.listed, run.policy, now))
    host = host._replace(result=host.result.with_warnings(report.warnings))
    if report.failure:
        again = _once_more(host, report, run, now)
        if again is not None:
            return again
        host = host.failing(report.failure)
    if report.did is Step.DRAIN:
        return _after_drain(host, report, run.policy, now)
    if report.did is Step.MOVE and run.predicts:
        return _predicted(host)
    return _AFTER[report.did](host, report)


def _once_more(host: HostRun, report: OrderReport, run: Run, now: float) -> HostRun | None:
    """The host with another attempt to take it out, as long as there is time; None if there is no other attempt.

    An attempt begins with the lease, which would not last for several.
    """
    if report.did not in (Step.LEASE, Step.DRAIN) or report.refused or run.predicts:
        return None
    host_plan = _host_plan(host)
    is_gone = bool(host_plan.withdrawn) and not host_plan.events
    until = host_plan.drained_by
    if not any(begins_soon(event, run.policy, now) for event in host_plan.events):
        until = min(until, host.timeline[0].at + _TRIED_FOR)
    pause = min(_PAUSE, (until - now) / 4)
    return None if is_gone or pause < 1 else host._replace(pause=pause).at(Step.LEASE)


def _cut_short(host: HostRun) -> HostRun:
    return host._replace(reading=host.reading._replace(failed=True)).at(Step.DONE)


def _after_ask(host: HostRun, report: OrderReport) -> HostRun:
    """A host that could not be asked has failed at no step, and does not stop the others."""
    known = report.reading or host.reading._replace(vm_name=None)
    result = host.result._replace(failures=(report.failure,) if report.failure else ())
    reading = known._replace(failed=host.reading.failed, held=host.reading.held)
    return host.at(Step.ASKED)._replace(reading=reading, result=result)


def _after_lease(host: HostRun, report: OrderReport) -> HostRun:
    host_plan = _host_plan(host)
    if report.refused or report.failure:
        why = report.refused or report.failure
        return host._replace(left_to=why, reading=host.reading._replace(leased=why)).at(Step.DONE)
    # It counts as out until the opposite is known: the next batches rely on that.
    reading = host.reading._replace(is_out=True)
    return host._replace(reading=reading, is_leased=True).at(Step.DRAIN if host_plan.remove else Step.PREPARED)


def _after_drain(host: HostRun, report: OrderReport, policy: Policy, now: float) -> HostRun:
    """Connections take minutes to end. Services are not stopped for an event that is gone by then, but for one that
    begins soon even if its host could not leave rotation.
    """
    host_plan = _host_plan(host)
    # A demand is often for a host whose service has failed. Nothing is approved for it.
    is_unconfirmed = host.reading.rests_on_probe and not report.is_confirmed and not host_plan.demand
    if is_unconfirmed and not report.failure:
        host = host.failing(_UNCONFIRMED)
    is_ready = not report.failure and not is_unconfirmed and not host_plan.withdrawn
    result = host.result._replace(remaining=report.remaining)
    stops = host_plan.stop and (not report.failure or any(begins_soon(one, policy, now) for one in host_plan.events))
    host_plan = host_plan._replace(stopped_by=max(host_plan.stopped_by, now + _LEAST_FOR_STOPPING))
    host = host._replace(host_plan=host_plan, is_ready=is_ready, result=result)
    return host.at(Step.STOP if stops else Step.PREPARED)


def _ready_unless_failed(host: HostRun, report: OrderReport) -> HostRun:
    return host._replace(is_ready=host.is_ready and not report.failure)


def _after_approve(host: HostRun, report: OrderReport) -> HostRun:
    approved = dict(report.approved)
    if report.failure:
        # The request may have arrived while its answer was lost.
        approved |= dict.fromkeys(set(host.event_ids).difference(report.not_approved))
    result = host.result._replace(approved=approved, not_approved=dict(report.not_approved))
    return host._replace(result=result).at(Step.APPROVED)


def _after_move(host: HostRun, report: OrderReport) -> HostRun:
    """If Azure was not asked, or refused, the machine runs as before."""
    if not report.failure:
        host = host._replace(progress=report.progress or {"outcome": "moved to another host"})
    return _back_unless(host, report.may_still_move)


def _back_unless(host: HostRun, may_still_move: bool) -> HostRun:
    # A host that was out before is restored by whoever took it out.
    return host.at(Step.RELEASE if may_still_move or host.reading.is_drained else Step.RESTORE)


def _predicted(host: HostRun) -> HostRun:
    return host._replace(reading=host.reading._replace(is_out=False), is_leased=False).at(Step.DONE)


def _after_watch(host: HostRun, report: OrderReport) -> HostRun:
    if report.refused:
        return host.failing(report.refused)._replace(left_to=report.refused, is_leased=False).at(Step.DONE)
    if report.failure:
        # Otherwise it would be ordered again and again.
        return host.at(Step.RELEASE if host.is_ours else Step.DONE)
    return _followed(host._replace(progress=report.progress or host.progress))


def _followed(host: HostRun) -> HostRun:
    """Go on with what has become of the events of a host."""
    progress = host.progress or {}
    if not progress["over"] and not progress["gave_up"]:
        return host.at(Step.WATCH)
    host = host._replace(reading=host.reading._replace(failed=host.reading.failed or bool(progress["gave_up"])))
    if progress["over"] and progress["restore"]:
        if host.is_ours:
            return host.at(Step.RESTORE)
        # An agent can only say so if it answers.
        return host.at(Step.SEE_BACK if "in_rotation" in (host.reading.agent or {}) else Step.DONE)
    return host.at(Step.RELEASE if host.is_ours and not host.is_silent else Step.DONE)


def _after_return(host: HostRun, report: OrderReport) -> HostRun:
    is_back = not report.failure and not report.refused
    reading = host.reading
    if is_back:
        reading = reading._replace(is_out=False, needs_restore=False, agent=None)
    result = host.result._replace(restored=is_back, stays_out=report.refused)
    # This run's claim and lease are given up, even if others want the host out.
    host = host._replace(reading=reading, result=result, is_leased=host.is_leased and bool(report.failure))
    return host.at(Step.RELEASE if host.is_leased else Step.DONE)


_AFTER: Mapping[Step, Callable[[HostRun, OrderReport], HostRun]] = {
    # Otherwise a wait that fails would be ordered again and again.
    Step.WAIT: lambda host, report: host.at(Step.DONE if report.failure else Step.ASK),
    Step.LEASE: _after_lease,
    Step.STOP: lambda host, report: _ready_unless_failed(host, report).at(Step.PREPARED),
    Step.MOVE: _after_move,
    Step.CANCEL: lambda host, _report: host.at(Step.PREPARED),
    Step.NOTE: lambda host, report: _ready_unless_failed(host, report).at(Step.NOTED),
    Step.APPROVE: _after_approve,
    Step.WATCH: _after_watch,
    Step.SEE_BACK: _after_return,
    Step.RESTORE: _after_return,
    Step.RELEASE: lambda host, _report: host._replace(is_leased=False).at(Step.DONE),
    Step.AFTER_BATCH: lambda host, _report: host.at(Step.DONE),
}


def _host_plan(host: HostRun) -> HostPlan:
    if host.host_plan is None:
        raise LookupError("%s: nothing is planned for it" % host.reading.name)
    return host.host_plan


def _go_on(run: Run, now: float) -> Run:
    """Take the one step that several hosts have to take together, if they can; return the same run if there is none."""
    if not run.plan.turns:
        return run
    here = {name: run.hosts[name] for name in run.plan.turns[run.turn]}
    if run.taken and run.batch is not None:
        return _go_on_together(run, run.batch, {name: run.hosts[name] for name in _together(run, run.batch)}, now)
    undecided = [name for name, host in here.items() if host.step is Step.ASKED]
    # A host that is about to be back makes room.
    pending = (Step.ASK, Step.WAIT, Step.RESTORE, Step.SEE_BACK)
    if undecided and not any(host.step in pending for host in here.values()):
        return _choose(run, undecided, now)
    finishing = {
        name: host._replace(is_finished=True).at(Step.AFTER_BATCH)
        for name, host in here.items()
        if run.is_turn_over and run.has_more and run.has_own_tasks and host.is_ours and not host.is_finished
    }
    return run._replace(hosts={**run.hosts, **finishing}) if finishing else run


def _choose(run: Run, names: Sequence[str], now: float) -> Run:
    """Decide which hosts of the turn are taken now, which wait in it, and which stay as they are."""
    others = [host.reading for name, host in run.hosts.items() if name not in set(names)]
    batch = make_plan(
        [run.hosts[name].reading for name in names],
        run.policy,
        now,
        others,
        # A prediction waits for nothing: hosts that would go later go now.
        dict.fromkeys(run.plan.deferred, 0.0) if run.predicts else run.plan.deferred,
        run.plan.events_of_hosts(),
    )
    first = who_goes_first(batch, {name: run.hosts[name].reading for name in batch.hosts}, now)
    if first:
        return _choose(run, first, now)
    run = run._replace(plan=run.plan._replace(deferred={**batch.deferred, **run.plan.deferred}))
    if run.predicts and batch.deferred:
        return _choose(run, names, now)
    hosts = dict(run.hosts)
    for name in names:
        hosts[name] = _decided(hosts[name], batch, run.predicts)
    return run._replace(hosts=hosts, batch=batch, taken=tuple(batch.hosts))


def _decided(host: HostRun, batch: Plan, predicts: bool) -> HostRun:
    name = host.reading.name
    host_plan = batch.hosts.get(name)
    if host_plan is not None:
        result = host.result._replace(unprepared=host_plan.unprepared and not predicts)
        host = host._replace(host_plan=host_plan, result=result)
        return host.at(Step.LEASE if host.is_ours else Step.PREPARED)
    if name in batch.deferred:
        return host._replace(until=batch.deferred[name]).at(Step.WAIT)
    if name in batch.held:
        return host.failing("left in service: %s" % batch.held[name]).at(Step.DONE)
    if name in batch.missed:
        return host.failing("hit while in service: %s" % batch.missed[name]).at(Step.DONE)
    return host._replace(left_to=batch.passed_over.get(name, "")).at(Step.DONE)


def _together(run: Run, batch: Plan) -> Sequence[str]:
    """The taken hosts that go on together: one that is attempted again delays those only that share events with it."""
    if run.demand is not None:
        return run.taken
    if any(run.hosts[name].step in _APPROVING for name in run.taken):
        return [name for name in run.taken if run.hosts[name].step in {*_APPROVING, Step.DONE}]
    again = {name for name in run.taken if run.hosts[name].pause and run.hosts[name].step in _ON_THE_WAY_OUT}
    known = 0
    while len(again) > known:
        known = len(again)
        for event_plan in batch.event_plans:
            if not again.isdisjoint(event_plan.hosts):
                again |= set(event_plan.hosts)
    return [name for name in run.taken if name not in again] or run.taken


def _go_on_together(run: Run, batch: Plan, taken: Mapping[str, HostRun], now: float) -> Run:
    """Go on with hosts that move together: an event is approved once all of its hosts are ready."""
    if run.demand is DemandKind.UPDATE:
        return _all_or_none(run, taken)
    steps = {host.step for host in taken.values()}
    ready = [name for name, host in taken.items() if host.is_ready and host.step is not Step.DONE]
    if Step.PREPARED in steps and steps <= {Step.PREPARED, Step.DONE}:
        if run.demand is not None:
            return _move_or_return(run, taken)
        # In a prediction no host is leased.
        of_host = {} if run.predicts else _approved_on(batch, approvals(batch, ready))
        return _move(run, taken, {name: (Step.NOTE, of_host[name]) for name in of_host}, Step.NOTED)
    if Step.NOTED in steps and steps <= {Step.NOTED, Step.DONE}:
        of_host = {name: tuple(ids) for name, ids in approvals(batch, ready).items()}
        return _move(run, taken, {name: (Step.APPROVE, of_host[name]) for name in of_host}, Step.APPROVED)
    if steps <= {Step.APPROVED, Step.DONE}:
        return _begin_to_watch(run, batch, taken, now)
    return run


def _approved_on(batch: Plan, chosen: Mapping[str, Collection[str]]) -> dict[str, tuple[str, ...]]:
    """For each host, its events that are about to be approved, by any host."""
    ids = {event_id for of_host in chosen.values() for event_id in of_host}
    found: dict[str, tuple[str, ...]] = {}
    for event_plan in batch.event_plans:
        if event_plan.event.event_id in ids:
            for name in event_plan.hosts:
                found[name] = (*found.get(name, ()), event_plan.event.event_id)
    return found


def _move(run: Run, taken: Mapping[str, HostRun], to: Mapping[str, tuple[Step, tuple[str, ...]]], others: Step) -> Run:
    moved = {
        name: host._replace(event_ids=to[name][1]).at(to[name][0]) if name in to else host.at(others)
        for name, host in taken.items()
        if host.step is not Step.DONE
    }
    return run._replace(hosts={**run.hosts, **moved})


def _move_or_return(run: Run, taken: Mapping[str, HostRun]) -> Run:
    moved = {
        name: host.at(Step.MOVE) if host.is_ready else _predicted(host) if run.predicts else _back_unless(host, False)
        for name, host in taken.items()
        if host.step is not Step.DONE
    }
    return run._replace(hosts={**run.hosts, **moved}, taken=())


def _all_or_none(run: Run, taken: Mapping[str, HostRun]) -> Run:
    """Keep all hosts out of rotation if every host of the demand is ready; otherwise cancel the demand and restore
    them.

    If it cannot be cancelled, hosts stay out: it begins, and would hit them in service.
    """
    ahead = {name: host for name, host in taken.items() if host.step is not Step.DONE}
    if any(host.result.failures or host.left_to for host in taken.values()):
        # Once one host has failed, the remaining steps need not be done to the others.
        spared = {
            name: host.at(Step.PREPARED)
            for name, host in ahead.items()
            if host.step in (Step.DRAIN, Step.STOP) and not host.is_given
        }
        if spared:
            return run._replace(hosts={**run.hosts, **spared})
    if any(host.step not in (Step.PREPARED, Step.NOTED) for host in ahead.values()):
        return run
    wanted = {name for host in taken.values() if host.reading.demand for name in host.reading.demand.all_of}
    is_met = all(name in ahead and ahead[name].is_ready for name in wanted)
    if is_met and not run.predicts and any(host.step is Step.PREPARED for host in ahead.values()):
        # The first may have waited long for the last.
        return run._replace(hosts={**run.hosts, **{name: host.at(Step.NOTE) for name, host in ahead.items()}})
    if ahead and not run.predicts and not is_met and run.is_cancelled is None:
        name, host = next(iter(ahead.items()))
        return run._replace(hosts={**run.hosts, name: host.at(Step.CANCEL)})
    ended = {name: _kept_out_or_back(host, run, is_met) for name, host in ahead.items()}
    return run._replace(hosts={**run.hosts, **ended}, taken=())


def _kept_out_or_back(host: HostRun, run: Run, is_met: bool) -> HostRun:
    if run.predicts:
        return _predicted(host)
    if run.is_cancelled:
        return host.at(Step.RESTORE)
    why = _UNTIL_RESTORED if is_met else "%s. The run of updates could not be cancelled" % _UNTIL_RESTORED
    return host._replace(progress={"outcome": why}).at(Step.RELEASE)


def _begin_to_watch(run: Run, batch: Plan, taken: Mapping[str, HostRun], now: float) -> Run:
    approved = {event_id: left for host in taken.values() for event_id, left in host.result.approved.items()}
    refused = {event_id: why for host in taken.values() for event_id, why in host.result.not_approved.items()}
    failures = {name: host.result.failures for name, host in taken.items()}
    tried = attempts(batch, failures, approved)
    moved = {}
    for name, host in taken.items():
        if host.step is Step.DONE:
            continue
        host = host._replace(result=host.result._replace(approved=approved, not_approved=refused))
        if run.predicts:
            moved[name] = _predicted(host)
            continue
        progress = begin_watch(_host_plan(host), approved, bool(host.result.failures), run.policy, now)
        moved[name] = _followed(host._replace(progress=progress, tried=tried.get(name, {})))
    return run._replace(hosts={**run.hosts, **moved}, taken=tuple(name for name in run.taken if name not in taken))
