# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Takes the reports of a run's hosts and the time, and says what each host does next."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from .completeness import hold_unsound
from .demand import DemandKind
from .host import Host
from .outcomes import back_unless, cut_short, followed, plan_of, predicted, take_in
from .plan import Plan, approvals, attempts, make_plan, who_goes_first
from .policy import Policy
from .progress import begin_watch
from .report import Result
from .run import ON_THE_WAY_OUT, HostRun, Order, OrderReport, Run, Step

# Seconds that a job in a queue may take until it has begun and asked all hosts.
_TAKEN_UP_WITHIN = 300.0

# An approval has begun.
_APPROVING = frozenset({Step.NOTE, Step.NOTED, Step.APPROVE, Step.APPROVED})

_UNTIL_RESTORED = "stays out of rotation until the playbook restore runs with restore_owner=updates"

# All orders given at a time are of one of these kinds. A host that returns makes room for others, and a wait delays
# nobody.
IN_ORDER = (
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
        cut = {name: cut_short(run.hosts[name]) for name in here if run.hosts[name].step is not Step.DONE}
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
            at = host.timeline[-1].at if report.did is Step.DRAIN else now
            host = host.noting(at)._replace(is_given=True)
        hosts[report.host] = take_in(host, report, run, now)
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
    ahead = {name: host for name, host in run.hosts.items() if not host.is_given}
    kind = next((kind for kind in IN_ORDER if any(host.step in kind for host in ahead.values())), set())
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
    again = {name for name in run.taken if run.hosts[name].pause and run.hosts[name].step in ON_THE_WAY_OUT}
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
        name: host.at(Step.MOVE) if host.is_ready else predicted(host) if run.predicts else back_unless(host, False)
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
        return predicted(host)
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
            moved[name] = predicted(host)
            continue
        progress = begin_watch(plan_of(host), approved, bool(host.result.failures), run.policy, now)
        moved[name] = followed(host._replace(progress=progress, tried=tried.get(name, {})))
    return run._replace(hosts={**run.hosts, **moved}, taken=tuple(name for name in run.taken if name not in taken))
