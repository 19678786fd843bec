# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run on a fleet in memory, which is killed at every order, and whose answers are lost at every order."""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.advance import (
    advance,
    begin,
    begin_turn,
    hand_over,
    may_be_handed_over,
    still_leased,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.demand import Demand, DemandKind
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Host
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import Policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.progress import watch
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.report import Result, describe_plan
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.run import Order, OrderReport, Run, Step
from ansible_collections.foghorn.azure_events.tests.sizes import sample
from hypothesis import given
from hypothesis import strategies as st

from .conftest import NOW, event

LASTS = 300.0  # seconds for which an event stays listed after its start
LOOKS_EVERY = 60.0
MOST_ORDERS = 2000


class Machine:
    """What is kept on a host, and how it is."""

    def __init__(self) -> None:
        self.in_rotation = True
        self.serving = True
        self.lease: object = None
        self.claim: set[str] | None = None
        """The ids whose approval may have been sent; None: it is not claimed."""
        self.tried: dict[str, str] = {}
        self.by_hand = False
        self.breaks_at: set[Step] = set()
        self.heals_at = math.inf
        """Seconds since the epoch."""
        self.stopped_at: float | None = None
        self.unplugged = False
        self.rests_on_probe = False
        self.is_confirmed = True


class World:
    """Azure, and the machines of a fleet."""

    def __init__(self, now: float, count: int, events: Iterable[Event], minimum: int = 2) -> None:
        self.now = now
        self.policy = Policy(minimum_in_service=str(minimum), approve_within=86400)
        self.machines = {f"h{number}": Machine() for number in range(count)}
        self.events = {event.event_id: event for event in events}
        self.ends: dict[str, float] = {}
        self.approvals: list[str] = []
        self.hit_in_service: list[str] = []
        self.least = count
        self.orders: list[tuple[str, Step]] = []
        self.step_seconds = self.return_seconds = 0.0
        """How long steps on a host may take on the way out, and back."""
        self.happens: dict[tuple[str, Step], Callable[[], None]] = {}
        """What happens right before an order is first carried out."""

    def hosts_of(self, event: Event) -> list[str]:
        return [name.replace("vm_", "h") for name in event.resources]

    def is_out(self, name: str) -> bool:
        return not self.machines[name].in_rotation

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for one in list(self.events.values()):
            if one.event_id in self.ends:
                if self.now >= self.ends[one.event_id]:
                    del self.events[one.event_id]
            elif one.not_before is not None and one.not_before.timestamp() <= self.now:
                self.start(one)

    def start(self, event: Event) -> None:
        self.events[event.event_id] = event._replace(event_status="Started", not_before=None)
        self.ends[event.event_id] = self.now + LASTS
        self.hit_in_service += [name for name in self.hosts_of(event) if not self.is_out(name)]

    def withdraw(self, event_id: str) -> None:
        del self.events[event_id]

    def approve(self, event_id: str) -> None:
        event = self.events[event_id]
        for name in self.hosts_of(event):
            machine = self.machines[name]
            assert self.is_out(name), f"{event_id} is approved while {name} serves"
            assert event.event_type == "Freeze" or not machine.serving, f"{name} is not stopped"
            assert machine.claim is not None, f"nothing tells the next run of the approval on {name}"
            assert event_id in machine.claim
        self.approvals.append(event_id)
        self.start(event)

    def listed(self, name: str) -> list[Event]:
        return [event for event in self.events.values() if name in self.hosts_of(event)]

    def read(self, name: str, run_id: object) -> Host:
        machine = self.machines[name]
        if machine.unplugged:
            return Host(name)
        leased = "another run" if machine.lease not in (None, run_id) else ""
        return Host(
            name,
            name.replace("h", "vm_"),
            tuple(self.listed(name)),
            needs_restore=machine.claim is not None,
            is_drained=machine.by_hand,
            leased=leased,
            approving=tuple(machine.claim or ()),
            step_seconds=self.step_seconds,
            return_seconds=self.return_seconds,
            rests_on_probe=machine.rests_on_probe,
        )

    def carry_out(self, order: Order, run_id: object) -> OrderReport:
        """Do what is ordered, and say what became of it."""
        assert not order.pause or order.do is Step.LEASE, "it would pause with the lease in hand"
        self.pass_time(order.pause)
        self.happens.pop((order.host, order.do), lambda: None)()
        self.orders.append((order.host, order.do))
        self.least = min(self.least, sum(one.in_rotation for one in self.machines.values()))
        machine = self.machines[order.host]
        if order.do is Step.ASK:
            failure = "Read the events: no answer" if machine.unplugged else ""
            return OrderReport(order.host, order.do, failure, reading=self.read(order.host, run_id))
        if order.do is Step.WATCH:
            assert order.progress is not None
            seen = None if machine.unplugged else self.listed(order.host)
            return OrderReport(order.host, order.do, progress=watch(order.progress, seen, self.policy, self.now, 5))
        if machine.unplugged or (order.do in machine.breaks_at and self.now < machine.heals_at):
            return OrderReport(order.host, order.do, failure=f"{order.do.value}: it broke")
        act: Callable[..., dict[str, Any]] = getattr(self, f"_{order.do.value}")
        return OrderReport(order.host, order.do, **act(machine, order, run_id))

    def _lease(self, machine: Machine, _order: Order, run_id: object) -> dict[str, Any]:
        if machine.lease not in (None, run_id):
            return {"refused": "another run"}
        machine.lease, machine.claim = run_id, machine.claim or set()
        return {}

    def _drain(self, machine: Machine, order: Order, _run_id: object) -> dict[str, Any]:
        machine.in_rotation = False
        return {"listed": self.listed(order.host), "is_confirmed": machine.is_confirmed}

    def _stop(self, machine: Machine, _order: Order, _run_id: object) -> dict[str, Any]:
        machine.serving = False
        machine.stopped_at = self.now
        return {}

    def _note(self, machine: Machine, order: Order, _run_id: object) -> dict[str, Any]:
        assert machine.claim is not None
        machine.claim |= set(order.event_ids)
        return {}

    def _approve(self, _machine: Machine, order: Order, _run_id: object) -> dict[str, Any]:
        for event_id in order.event_ids:
            self.approve(event_id)
        return {"approved": dict.fromkeys(order.event_ids, 100)}

    def _restore(self, machine: Machine, order: Order, _run_id: object) -> dict[str, Any]:
        if machine.by_hand:
            machine.lease = machine.claim = None
            return {"refused": "by hand"}
        assert all(event.event_status == "Scheduled" for event in self.listed(order.host))
        machine.serving = machine.in_rotation = True
        machine.lease = machine.claim = None
        machine.tried = {event_id: why for event_id, why in order.tried.items() if why}
        return {}

    def _release(self, machine: Machine, _order: Order, _run_id: object) -> dict[str, Any]:
        machine.lease = None
        return {}

    def _wait(self, *_: object) -> dict[str, Any]:
        return {}

    _after_batch = _see_back = _wait

    def is_as_before(self) -> bool:
        """Whether all is in service, and nothing is left to be undone."""
        return all(
            machine.in_rotation and machine.serving and machine.claim is None and machine.lease is None
            for machine in self.machines.values()
        )


class Killed(Exception):
    """The controller is gone."""


def play(
    world: World,
    kill_at: int = 0,
    lose_at: int = 0,
    has_more: bool = False,
    between: Callable[[Run], Run] = lambda run: run,
    demand: DemandKind | None = None,
) -> Mapping[str, Result]:
    """Take the fleet through a whole run, and say what became of its hosts.

    :param kill_at: which order is the last that is carried out; nobody hears what became of it
    :param lose_at: the answer to which order is lost
    :param between: where the run is kept while orders are carried out
    """
    return ended_run(world, demand, kill_at, lose_at, has_more, between).results()


def ended_run(
    world: World,
    demand: DemandKind | None = None,
    kill_at: int = 0,
    lose_at: int = 0,
    has_more: bool = False,
    between: Callable[[Run], Run] = lambda run: run,
) -> Run:
    """Take the fleet through a whole run, see `play`."""
    run_id = object()
    hosts = [world.read(name, run_id) for name in world.machines]
    run = begin(hosts, world.policy, world.now, has_more, demand=demand)
    reports: list[OrderReport] = []
    given = 0
    while True:
        run, orders = advance(run, reports, world.now)
        run = between(run)
        assert len({order.do for order in orders} - {Step.WATCH, Step.WAIT}) <= 1, "orders of one kind at a time"
        if not orders:
            assert run.is_turn_over, {name: host.step for name, host in run.hosts.items()}
            if run.is_over:
                return run
            run, reports = begin_turn(run, run.turn + 1), []
            continue
        for order in orders:
            assert order.do is not Step.WATCH or order.until is None or order.until > world.now, "it would end at once"
        if all(order.do in (Step.WATCH, Step.WAIT) for order in orders):
            world.pass_time(max(1, min([LOOKS_EVERY, *(order.until - world.now for order in orders if order.until)])))
        reports = []
        for order in orders:
            given += 1
            assert given < MOST_ORDERS, world.orders[-20:]
            report = world.carry_out(order, run_id)
            world.pass_time(1)
            if given == kill_at:
                raise Killed
            reports.append(_lost(report, world) if given == lose_at else report)


def disturbed(whole: World) -> list[int]:
    """At which orders to disturb a run like this one: at each, or at a sample with each kind of order."""
    return sample(range(1, len(whole.orders) + 1), lambda at: whole.orders[at - 1][1])


def _lost(report: OrderReport, world: World) -> OrderReport:
    """The same, where nobody has heard of it."""
    if report.did is Step.ASK:
        return OrderReport(report.host, report.did, failure="its answer was lost")
    if report.did is Step.WATCH:
        assert report.progress is not None
        return report._replace(progress=watch(report.progress, None, world.policy, world.now, 5))
    return OrderReport(report.host, report.did, failure="its answer was lost")


def end_leases(world: World) -> None:
    """What is known to be dead is taken over."""
    for machine in world.machines.values():
        machine.lease = None


def make_world() -> World:
    """Five hosts, of which two share a reboot, one is frozen, one is rebooted, and one redeployed later."""
    events = [
        event(resources=("vm_0", "vm_1"), event_id="shared", notice=3000),
        event("Freeze", ("vm_2",), event_id="freeze", notice=3100, duration=60),
        event(resources=("vm_3",), event_id="own", notice=3200),
        event("Redeploy", ("vm_4",), event_id="later", notice=3300),
    ]
    return World(NOW, 5, events)


def test_given_a_fleet_when_nothing_goes_wrong_then_every_event_is_approved_once_and_all_are_back() -> None:
    world = make_world()

    results = play(world)

    assert world.is_as_before()
    assert sorted(world.approvals) == ["freeze", "later", "own", "shared"]
    assert (world.hit_in_service, world.least) == ([], 2)
    assert {name: (result.restored, result.failures) for name, result in results.items()} == {
        f"h{number}": (True, ()) for number in range(5)
    }
    assert ("h2", Step.STOP) not in world.orders


def test_given_a_host_that_is_stopped_then_its_lease_need_not_outlast_the_connections_that_have_ended() -> None:
    world = make_world()
    world.step_seconds, world.return_seconds = 700, 30
    seconds: dict[Step, set[float]] = {}

    def note(run: Run) -> Run:
        ahead = {host.step for host in run.hosts.values()}
        for step in ahead - {Step.IDLE, Step.DONE}:
            seconds.setdefault(step, set()).add(run.longest_step)
        return run

    play(world, between=note)

    assert seconds[Step.LEASE] == seconds[Step.DRAIN] == seconds[Step.STOP] == {700}
    assert seconds[Step.WATCH] == seconds[Step.RESTORE] == {30}


def test_given_a_fleet_when_the_controller_is_killed_at_any_order_then_the_next_run_brings_all_through() -> None:
    whole = make_world()
    play(whole)
    assert len(whole.orders) >= 40
    for count in disturbed(whole):
        world = make_world()
        with pytest.raises(Killed):
            play(world, kill_at=count)
        end_leases(world)
        play(world)
        assert world.is_as_before(), count
        assert (world.hit_in_service, len(world.approvals), world.least) == ([], 4, 2), count


def test_given_a_fleet_when_any_answer_is_lost_then_nothing_is_approved_too_soon_and_later_runs_end_it() -> None:
    whole = make_world()
    play(whole)
    for lost in disturbed(whole):
        world = make_world()
        first = play(world, lose_at=lost)
        end_leases(world)
        host, step = world.orders[lost - 1]
        if step not in (Step.WATCH, Step.WAIT, Step.RELEASE, Step.ASK, Step.LEASE, Step.DRAIN):
            assert "its answer was lost" in first[host].failures, (lost, step)
        for _run in range(5):
            world.pass_time(2000)
            play(world)
        assert world.is_as_before(), (lost, step, host)
        assert world.least >= 2, (lost, step, host)


def test_given_hosts_that_share_an_event_when_a_step_fails_on_one_then_it_is_never_approved() -> None:
    world = make_world()
    world.machines["h1"].breaks_at = {Step.STOP}

    results = play(world)

    assert "shared" not in world.approvals
    assert results["h1"].failures == ("stop: it broke",)
    assert results["h0"].restored


@pytest.mark.parametrize("step", [Step.LEASE, Step.DRAIN])
def test_given_a_removal_that_fails_for_a_while_when_there_is_time_then_its_event_is_approved_without_a_failure(
    step: Step,
) -> None:
    world = World(NOW, 2, [event(resources=("vm_0",), event_id="own", notice=900)], minimum=1)
    world.machines["h0"].breaks_at, world.machines["h0"].heals_at = {step}, NOW + 300

    result = play(world)["h0"]

    assert (world.approvals, result.failures, result.restored) == (["own"], (), True)
    # Each attempt renews the lease, which would not last for all of them.
    steps = [one for host, one in world.orders if host == "h0"]
    assert steps.count(Step.LEASE) > 10
    assert all(after is not Step.DRAIN for before, after in itertools.pairwise(steps) if before is Step.DRAIN)


@pytest.mark.parametrize("event_type", ["Reboot", "Preempt", "Terminate"])
@pytest.mark.parametrize("notice", [40, 300, 900])
def test_given_a_removal_that_fails_for_good_when_the_event_begins_anyway_then_services_are_stopped_in_time(
    event_type: str, notice: float
) -> None:
    world = World(NOW, 2, [event(event_type, ("vm_0",), event_id="own", notice=notice)], minimum=1)
    machine = world.machines["h0"]
    machine.breaks_at = {Step.DRAIN}

    result = play(world)["h0"]

    assert machine.stopped_at is not None
    assert machine.stopped_at <= NOW + notice - min(world.policy.margin, notice / 10)
    assert (world.approvals, result.failures) == ([], ("drain: it broke",))


def test_given_a_removal_that_fails_for_good_when_the_event_is_far_off_then_nothing_is_stopped_and_it_is_back() -> None:
    world = World(NOW, 2, [event(resources=("vm_0",), event_id="own", notice=7200)], minimum=1)
    world.machines["h0"].breaks_at = {Step.DRAIN}

    result = play(world)["h0"]

    assert (world.machines["h0"].stopped_at, result.restored) == (None, True)
    assert world.now < NOW + 120


def test_given_a_removal_that_is_attempted_again_then_only_hosts_that_share_its_event_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = event(resources=("vm_0", "vm_1"), event_id="shared", notice=900)
    world = World(NOW, 4, [shared, event(resources=("vm_2",), event_id="own", notice=900)], minimum=1)
    world.machines["h0"].breaks_at, world.machines["h0"].heals_at = {Step.DRAIN}, NOW + 300
    approved_at: dict[str, float] = {}
    start = world.start

    def note_and_start(one: Event) -> None:
        approved_at.setdefault(one.event_id, world.now)
        start(one)

    monkeypatch.setattr(world, "start", note_and_start)

    results = play(world)

    assert world.approvals == ["own", "shared"]
    assert approved_at["own"] < NOW + 60
    assert approved_at["shared"] > NOW + 300
    assert all(result.failures == () and result.restored for result in results.values())


def test_given_a_removal_that_fails_when_its_event_is_withdrawn_then_it_is_not_attempted_again() -> None:
    own = event(resources=("vm_0",), event_id="own", notice=900)
    run = begin([Host("h0", "vm_0", (own,))], Policy(), NOW)
    run, _orders = advance(run, [], NOW)
    run, _orders = advance(run, [OrderReport("h0", Step.LEASE)], NOW)

    run, orders = advance(run, [OrderReport("h0", Step.DRAIN, failure="503", listed=[])], NOW)

    assert [order.do for order in orders] == [Step.RESTORE]


def test_given_no_time_for_stopping_when_a_host_is_out_then_its_services_have_some_all_the_same() -> None:
    own = event(resources=("vm_0",), event_id="own", notice=60)
    run = begin([Host("h0", "vm_0", (own,))], Policy(), NOW)
    run, _orders = advance(run, [], NOW)
    run, _orders = advance(run, [OrderReport("h0", Step.LEASE)], NOW)

    _run, orders = advance(run, [OrderReport("h0", Step.DRAIN, listed=[own])], NOW + 59)

    assert [(order.do, order.host_plan and order.host_plan.stopped_by) for order in orders] == [(Step.STOP, NOW + 89)]


def test_given_warnings_of_several_steps_then_the_result_has_each_of_them_once() -> None:
    own = event(resources=("vm_0",), event_id="own", notice=3000)
    run = begin([Host("h0", "vm_0", (own,)), Host("h1", "vm_1")], Policy(minimum_in_service="1"), NOW)
    run, _orders = advance(run, [], NOW)
    run, _orders = advance(run, [OrderReport("h0", Step.LEASE)], NOW)
    run, _orders = advance(run, [OrderReport("h0", Step.DRAIN, listed=[own], warnings=("a",))], NOW)

    run, _orders = advance(run, [OrderReport("h0", Step.STOP, warnings=("b", "a"))], NOW)

    assert run.results()["h0"].warnings == ("a", "b")


def test_given_a_host_that_somebody_takes_out_by_hand_meanwhile_then_it_stays_out_and_that_is_reported() -> None:
    world = make_world()
    world.happens["h3", Step.WATCH] = lambda: setattr(world.machines["h3"], "by_hand", True)

    result = play(world)["h3"]

    assert (result.stays_out, result.restored, result.failures) == ("by hand", False, ())
    assert world.machines["h3"].lease is None


def test_given_a_host_that_another_run_leases_first_then_it_is_left_alone_and_others_of_its_batch_go_on() -> None:
    world = make_world()
    world.happens["h0", Step.LEASE] = lambda: setattr(world.machines["h0"], "lease", "another")

    result = play(world)["h0"]

    assert (result.steps, result.failures) == (("left alone: another run",), ())
    assert {"freeze", "own"} <= set(world.approvals)
    assert "shared" not in world.approvals


def test_given_an_event_that_is_withdrawn_while_its_host_is_drained_then_no_service_is_stopped_and_it_is_back() -> None:
    world = make_world()
    world.happens["h3", Step.DRAIN] = lambda: world.withdraw("own")

    result = play(world)["h3"]

    assert ("h3", Step.STOP) not in world.orders
    assert (result.restored, result.outcome) == (True, "withdrawn while it was drained: no service was stopped")


@pytest.mark.parametrize("rests_on_probe", [True, False])
def test_given_a_removal_that_nothing_confirms_when_nothing_else_prepares_the_host_then_its_event_is_not_approved(
    rests_on_probe: bool,
) -> None:
    world = make_world()
    world.machines["h3"].rests_on_probe = rests_on_probe
    world.machines["h3"].is_confirmed = False

    result = play(world)["h3"]

    assert ("own" in world.approvals) is not rests_on_probe
    # Its services are stopped anyway.
    assert ("h3", Step.STOP) in world.orders
    assert any("did not answer with 200 before the removal" in what for what in result.failures) is rests_on_probe
    assert world.is_as_before()


def left_by_an_earlier_run(now: float, roles: Iterable[str]) -> World:
    """A fleet in which each host is in service, hit by an event with 285 or 3,000 s of notice, evicted, or out: its
    event is over, or is over soon, or late.
    """
    roles = list(roles)
    notices = {"hit": 285.0, "far": 3000.0, "evicted": 30.0}
    events = [
        event("Preempt" if role == "evicted" else "Reboot", (f"vm_{number}",), notices.get(role), event_id=f"e{number}")
        for number, role in enumerate(roles)
        if role not in ("in service", "over")
    ]
    world = World(now, len(roles), events, minimum=len(roles) - 1)
    world.return_seconds = 10
    for number, role in enumerate(roles):
        machine, event_id = world.machines[f"h{number}"], f"e{number}"
        if role in ("over", "soon over", "late over"):
            machine.in_rotation = machine.serving = False
            machine.claim = {event_id}
        if role in ("soon over", "late over"):
            world.events[event_id] = world.events[event_id]._replace(event_status="Started", not_before=None)
            world.ends[event_id] = now + (100 if role == "soon over" else 1000)
    return world


ROLES = ("in service", "over", "soon over", "late over", "hit", "far", "evicted")
FLEETS_LEFT = sample(list(itertools.product(ROLES, repeat=4)), lambda roles: tuple(sorted(roles)))


def test_given_hosts_that_an_earlier_run_left_out_then_whoever_can_return_in_time_is_back_before_another_leaves() -> (
    None
):
    for roles in FLEETS_LEFT:
        world = left_by_an_earlier_run(NOW, roles)
        left_with: dict[str, list[str]] = {}

        def look(name: str, world: World = world, left_with: dict[str, list[str]] = left_with) -> None:
            left_with[name] = [other for other in world.machines if other != name and world.is_out(other)]

        for name in world.machines:
            world.happens[name, Step.DRAIN] = partial(look, name)
        play(world)

        assert world.hit_in_service == [], roles
        for name, out in left_with.items():
            role = roles[int(name[1])]
            could_return = {"hit": ("over", "soon over"), "far": ("over", "soon over", "late over")}.get(role, ())
            assert [other for other in out if roles[int(other[1])] in could_return] == [], (roles, name)


def test_given_no_time_for_a_return_then_who_is_hit_leaves_first() -> None:
    world = left_by_an_earlier_run(NOW, ["over", "evicted", "in service"])

    results = play(world)

    assert [results[name].was_out for name in ("h0", "h1")] == [True, False]
    steps = [order for order in world.orders if order[1] in (Step.APPROVE, Step.RESTORE)]
    assert steps[:2] == [("h1", Step.APPROVE), ("h0", Step.RESTORE)]


def test_given_a_return_that_fails_then_who_is_hit_leaves_in_time() -> None:
    world = left_by_an_earlier_run(NOW, ["over", "hit", "in service"])
    world.machines["h0"].breaks_at = {Step.LEASE, Step.RESTORE}

    play(world)

    # Once a step has failed, nothing more is approved.
    assert (world.approvals, world.hit_in_service) == ([], [])
    assert world.machines["h1"].stopped_at is not None


def test_given_a_prediction_when_hosts_return_first_then_all_is_predicted_without_a_wait() -> None:
    world = left_by_an_earlier_run(NOW, ["over", "soon over", "hit", "in service"])
    run = begin([world.read(name, None) for name in world.machines], world.policy, world.now, predicts=True)
    reports: list[OrderReport] = []
    done = set()

    while not run.is_over:
        run, orders = advance(run, reports, world.now)
        done |= {order.do for order in orders}
        if not orders:
            break
        reports = [OrderReport(order.host, order.do, listed=world.listed(order.host)) for order in orders]

    assert run.is_over
    assert done.isdisjoint({Step.WAIT, Step.WATCH})
    assert {name: run.hosts[name].host_plan is not None for name in run.hosts} == {
        "h0": True,
        "h1": True,
        "h2": True,
        "h3": False,
    }


def test_given_something_to_be_done_after_each_batch_then_it_is_done_once_for_each_host_when_all_are_back() -> None:
    world = make_world()

    play(world, has_more=True)

    after = [place for place, (_host, step) in enumerate(world.orders) if step is Step.AFTER_BATCH]
    assert len(after) == 5
    assert world.is_as_before()


@pytest.mark.parametrize(
    ("later", "failures", "steps"),
    [
        (0.0, (), ("left alone: no event is pending any more",)),
        (9000.0, ("hit while in service: Reboot e1, which was to start at",), ()),
    ],
)
def test_given_an_event_that_is_gone_when_its_batch_comes_then_it_is_reported_whether_it_has_hit_the_host(
    later: float, failures: tuple[str, ...], steps: tuple[str, ...]
) -> None:
    events = [event(resources=(f"vm_{n}",), event_id=f"e{n}", notice=notice) for n, notice in ((0, 3000), (1, 9000))]
    world = World(NOW, 3, events, minimum=2)

    def gone() -> None:
        world.withdraw("e1")
        world.now += later

    world.happens["h0", Step.RESTORE] = gone
    result = play(world)["h1"]

    assert tuple(text.partition(" 2026")[0] for text in result.failures) == failures
    assert result.steps == steps


def test_given_a_step_that_failed_when_later_hosts_can_wait_then_they_stay_in_service() -> None:
    events = [event(resources=(f"vm_{n}",), event_id=f"e{n}", notice=9000) for n in (0, 1)]
    world = World(NOW, 3, events, minimum=2)
    world.machines["h0"].breaks_at = {Step.STOP}

    results = play(world)

    assert results["h1"].failures[0].startswith("left in service: steps failed on h0")
    assert ("h1", Step.LEASE) not in world.orders
    assert world.is_as_before()


def test_given_a_host_that_is_lost_after_its_approval_then_the_run_ends_and_says_so() -> None:
    world = make_world()
    world.happens["h3", Step.WATCH] = lambda: setattr(world.machines["h3"], "unplugged", True)

    result = play(world)["h3"]

    assert result.gave_up
    assert result.outcome.startswith("has not answered for")
    assert not result.restored


def test_given_a_host_that_does_not_answer_then_it_is_asked_again_and_fails_the_run() -> None:
    world = make_world()
    world.machines["h4"].unplugged = True

    assert play(world)["h4"].failures == ("Read the events: no answer",)
    assert ("h4", Step.ASK) in world.orders


def test_given_a_host_that_never_answers_then_it_counts_as_no_failure_that_would_stop_the_others() -> None:
    world = make_world()
    world.machines["h4"].unplugged = True

    play(world)

    assert sorted(world.approvals) == ["freeze", "own", "shared"]


def test_given_a_host_that_answers_late_then_the_report_has_what_was_done_to_it_and_its_event() -> None:
    world = make_world()
    world.machines["h4"].unplugged = True
    world.happens["h4", Step.ASK] = lambda: setattr(world.machines["h4"], "unplugged", False)

    report = ended_run(world).report()

    assert [event["event_id"] for event in report.hosts["h4"]["events"]] == ["later"]
    assert "over; restored" in next(line for line in report.lines if line.startswith("h4: "))


def test_given_a_deletion_when_it_is_over_then_its_host_stays_out_without_a_lease_and_that_is_no_failure() -> None:
    world = World(NOW, 2, [event("Terminate", ("vm_0",), event_id="D", notice=900)], minimum=1)

    report = ended_run(world).report()

    assert (world.approvals, world.is_out("h0"), world.machines["h0"].lease) == (["D"], True, None)
    assert report.by_host == {}
    assert "kept out of rotation" in report.lines[0]


def test_given_hosts_that_are_off_on_purpose_then_they_are_named_and_fail_nothing() -> None:
    hosts = [Host(f"h{n}", f"vm_{n}", (event(resources=(f"vm_{n}",)),) if n == 0 else ()) for n in range(2)]

    run = begin(hosts, Policy(minimum_in_service="1"), NOW, off=("h2", "h3"))

    assert run.plan.batches == [["h0"]]
    assert run.plan.groups == ("all: 2 of 2 in service, 1 must stay",)
    assert "off on purpose, and not asked: h2, h3" in describe_plan(run.plan, NOW)
    report = run.report()
    assert "h2: off on purpose" in report.lines
    assert report.hosts["h3"]["steps"] == ["off on purpose"]
    assert "h2" not in report.by_host


def test_given_no_events_when_something_would_fail_then_the_run_says_so_and_fails_for_that_host() -> None:
    broken = Host("h0", "vm_0", would_fail=("no unit ngnix",))
    hit = Host("h2", "vm_2", (event(resources=("vm_2",)),), would_fail=("no unit ngnix",))

    report = begin([broken, Host("h1", "vm_1"), hit], Policy(), NOW).report()

    assert report.by_host["h0"] == ["would fail if it were hit: no unit ngnix"]
    assert "h0: no event: FAILED: would fail if it were hit: no unit ngnix" in report.lines
    # What is hit fails at the step itself, if it does.
    assert list(report.by_host) == ["h2", "h0"]
    assert "would fail" not in report.by_host["h2"][0]


def test_given_a_prediction_then_all_goes_through_the_plan_once_and_nothing_is_noted_or_watched() -> None:
    events = [event(resources=(f"vm_{number}",), event_id=f"e{number}", notice=1500) for number in range(4)]
    world = World(NOW, 4, events, minimum=3)
    run = begin([world.read(name, None) for name in world.machines], world.policy, NOW, predicts=True)
    given: list[Step] = []
    for turn in range(len(run.plan.turns)):
        run = begin_turn(run, turn)
        run, orders = advance(run, [], NOW)
        while orders:
            given += [order.do for order in orders]
            done = [
                OrderReport(order.host, order.do, reading=world.read(order.host, None))
                if order.do is Step.ASK
                else OrderReport(order.host, order.do, approved=dict.fromkeys(order.event_ids, 100))
                for order in orders
            ]
            run, orders = advance(run, done, NOW)

    assert run.is_over
    assert given.count(Step.LEASE) == 4
    assert {Step.NOTE, Step.WATCH, Step.WAIT, Step.RESTORE, Step.RELEASE}.isdisjoint(given)
    assert run.report().by_host == {}
    assert all("would be prepared" in line for line in run.report().lines)


def test_given_hosts_that_the_operator_wants_moved_then_each_is_moved_when_it_is_ready_and_restored() -> None:
    world = World(NOW, 4, [], minimum=1)
    world.policy = Policy(minimum_in_service="1", max_failed=9)
    world.machines["h1"].breaks_at = {Step.STOP}
    world.machines["h2"].by_hand = True
    hosts = [
        world.read(name, None)._replace(demand=Demand(DemandKind.MOVE, name) if name != "h3" else None)
        for name in world.machines
    ]
    run = begin(hosts, world.policy, NOW, demand=DemandKind.MOVE)
    given: list[tuple[str, Step]] = []
    run, orders = advance(run, [], NOW)
    while orders:
        given += [(order.host, order.do) for order in orders]
        done = [
            OrderReport(order.host, order.do, may_still_move=False)
            if order.do is Step.MOVE
            else world.carry_out(order, None)
            for order in orders
        ]
        run, orders = advance(run, done, NOW)

    assert ("h0", Step.MOVE) in given
    assert ("h1", Step.MOVE) not in given
    assert [step for host, step in given if host == "h1"][-1] is Step.RESTORE
    # The owner who took it out must restore it.
    assert [step for host, step in given if host == "h2"][-1] is Step.RELEASE
    assert run.results()["h0"].restored
    assert {"h0", "h2"}.isdisjoint(run.report().by_host), "what was moved and stays out was not cut short"
    assert not {Step.NOTE, Step.APPROVE, Step.WATCH} & {step for _host, step in given}


def test_given_a_host_that_azure_may_still_move_then_it_stays_out_and_its_lease_ends() -> None:
    hosts = [Host("h0", "vm_0", demand=Demand(DemandKind.MOVE, "h0")), Host("h1", "vm_1")]
    run = begin(hosts, Policy(minimum_in_service="1"), NOW, demand=DemandKind.MOVE)
    run, orders = advance(run, [], NOW)
    while orders[0].do is not Step.MOVE:
        run, orders = advance(run, [OrderReport(order.host, order.do) for order in orders], NOW)

    run, orders = advance(run, [OrderReport("h0", Step.MOVE, "it may still move", may_still_move=True)], NOW)

    assert [order.do for order in orders] == [Step.RELEASE]


# -- a run of updates: all of its hosts are ready, or it is cancelled


class Updates(World):
    """Four hosts, of which an update manager is about to update two."""

    def __init__(self, now: float, minimum: int = 2) -> None:
        super().__init__(now, 4, [], minimum)
        self.ready_by = now + 1000
        self.is_cancelled = False

    def read(self, name: str, run_id: object) -> Host:
        all_of = ("h0", "h1")
        demand = Demand(DemandKind.UPDATE, "updates", self.ready_by, all_of) if name in all_of else None
        return super().read(name, run_id)._replace(demand=demand)

    def _cancel(self, _machine: Machine, _order: Order, _run_id: object) -> dict[str, Any]:
        self.is_cancelled = True
        return {}

    def _restore(self, machine: Machine, order: Order, run_id: object) -> dict[str, Any]:
        assert self.is_cancelled, "it would be updated in service"
        return super()._restore(machine, order, run_id)

    def are_ready(self) -> bool:
        """Whether the hosts are out as the update manager needs them, free of leases, and the others in service."""
        out = [self.machines["h0"], self.machines["h1"]]
        others = [self.machines["h2"], self.machines["h3"]]
        return all(
            not machine.in_rotation and not machine.serving and machine.claim is not None and machine.lease is None
            for machine in out
        ) and all(machine.in_rotation and machine.claim is None for machine in others)


def test_given_updates_when_all_hosts_can_be_drained_then_they_stay_out_without_a_lease() -> None:
    world = Updates(NOW)

    results = play(world, demand=DemandKind.UPDATE)

    assert world.are_ready()
    assert not world.is_cancelled
    assert world.least == 2
    assert all(
        results[name].failures == () and "restore_owner=updates" in results[name].outcome for name in ("h0", "h1")
    )


def test_given_updates_when_another_run_leases_a_host_first_then_the_others_are_not_even_drained() -> None:
    world = Updates(NOW)
    world.happens["h1", Step.LEASE] = lambda: setattr(world.machines["h1"], "lease", "alice")

    play(world, demand=DemandKind.UPDATE)

    assert world.is_cancelled
    assert Step.DRAIN not in {step for _host, step in world.orders}
    assert world.machines["h0"].lease is None


@pytest.mark.parametrize("step", [Step.LEASE, Step.DRAIN, Step.STOP, Step.NOTE])
def test_given_updates_when_a_step_fails_on_one_host_then_they_are_cancelled_and_both_are_back(step: Step) -> None:
    world = Updates(NOW)
    world.machines["h1"].breaks_at = {step}

    results = play(world, demand=DemandKind.UPDATE)

    assert world.is_cancelled
    assert world.is_as_before()
    assert any(f"{step.value}: it broke" in failure for failure in results["h1"].failures)


def test_given_updates_and_no_time_for_another_attempt_when_a_removal_fails_then_the_other_host_is_not_stopped() -> (
    None
):
    world = Updates(NOW)
    world.ready_by = NOW + 3
    world.machines["h1"].breaks_at = {Step.DRAIN}

    play(world, demand=DemandKind.UPDATE)

    assert world.is_cancelled
    assert world.is_as_before()
    assert ("h0", Step.STOP) not in world.orders


def test_given_updates_when_a_removal_fails_once_then_it_is_attempted_again_and_all_are_ready() -> None:
    world = Updates(NOW)
    world.machines["h1"].breaks_at, world.machines["h1"].heals_at = {Step.DRAIN}, NOW + 20

    play(world, demand=DemandKind.UPDATE)

    assert world.are_ready()


def test_given_updates_that_cannot_be_cancelled_when_a_step_fails_then_what_is_drained_stays_out() -> None:
    world = Updates(NOW)
    world.machines["h0"].breaks_at = {Step.CANCEL}
    world.machines["h1"].breaks_at = {Step.STOP}

    results = play(world, demand=DemandKind.UPDATE)

    assert [world.is_out(name) for name in ("h0", "h1")] == [True, True]
    assert all(machine.lease is None for machine in world.machines.values())
    assert "could not be cancelled" in results["h0"].outcome


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda world: setattr(world, "policy", Policy(minimum_in_service="3")), "or none does, and 4 of 4 hosts"),
        (lambda world: setattr(world.machines["h3"], "by_hand", True), "3 of 4 hosts are in service, and 2 must stay"),
        (lambda world: setattr(world.machines["h1"], "unplugged", True), "h1 cannot: it has not answered"),
        (lambda world: setattr(world.machines["h1"], "lease", "alice"), "h1 cannot: another run"),
        (lambda world: setattr(world, "ready_by", NOW), "it had to be ready by 2026-09-19T18:00:00Z"),
    ],
    ids=["minimum", "others out", "silent", "leased", "late"],
)
def test_given_updates_when_they_may_not_go_together_then_none_of_the_hosts_is_touched_and_the_reason_is_reported(
    spoil: Callable[[Updates], None], why: str
) -> None:
    world = Updates(NOW)
    spoil(world)

    run = ended_run(world, DemandKind.UPDATE)

    assert {step for _host, step in world.orders} <= {Step.ASK}
    assert why in run.report().by_host["h0"][0]
    assert run.is_cancelled is None, "the playbook does, whether there is a plan or not"


@pytest.mark.parametrize("late", ["h1", "h3"], ids=["that is updated", "without which there is no room"])
def test_given_updates_when_a_host_answers_late_then_all_that_are_updated_go_together(late: str) -> None:
    world = Updates(NOW)
    world.machines[late].unplugged = True
    world.happens[late, Step.ASK] = lambda: setattr(world.machines[late], "unplugged", False)

    play(world, demand=DemandKind.UPDATE)

    assert world.are_ready()


def test_given_updates_and_room_when_a_host_that_is_not_updated_is_silent_then_nobody_waits_for_its_answer() -> None:
    world = Updates(NOW, minimum=1)
    world.machines["h3"].unplugged = True
    hosts = [world.read(name, None) for name in world.machines]

    _run, orders = advance(begin(hosts, world.policy, NOW, demand=DemandKind.UPDATE), [], NOW)

    assert [(order.host, order.do) for order in orders] == [("h0", Step.LEASE), ("h1", Step.LEASE)]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"would_fail": ("no unit ngnix",)}, "no unit ngnix"),
        ({"skip_reason": "it stands alone"}, "it stands alone"),
        ({"leased": "another run works on it"}, "another run works on it"),
        ({"held": "another balancer"}, "another balancer"),
        # It is not asked again.
        ({"leased": "another run works on it", "vm_name": None}, "it has not answered"),
    ],
)
def test_given_updates_when_a_host_cannot_go_then_none_is_touched_and_the_reason_is_reported(
    change: dict[str, Any], why: str
) -> None:
    demand = Demand(DemandKind.UPDATE, "updates", NOW + 1000, ("h0", "h1"))
    hosts = [Host(f"h{number}", f"vm_{number}", demand=demand) for number in range(2)]
    hosts[1] = hosts[1]._replace(**change)
    run = begin([*hosts, Host("h2", "vm_2"), Host("h3", "vm_3")], Policy(), NOW, demand=DemandKind.UPDATE)

    assert run.plan.held["h0"] == "all hosts of the run go or none does, and h1 cannot: %s" % why
    assert run.plan.turns == []


def test_given_updates_when_the_controller_is_killed_at_any_order_then_the_next_run_has_all_ready() -> None:
    whole = Updates(NOW)
    play(whole, demand=DemandKind.UPDATE)
    assert len(whole.orders) >= 8
    for count in disturbed(whole):
        world = Updates(NOW)
        with pytest.raises(Killed):
            play(world, kill_at=count, demand=DemandKind.UPDATE)
        end_leases(world)
        play(world, demand=DemandKind.UPDATE)
        assert world.are_ready(), count
        assert (world.is_cancelled, world.least) == (False, 2), count


def test_given_updates_when_any_answer_is_lost_then_all_are_ready_or_cancelled_and_back_unless_known_out() -> None:
    whole = Updates(NOW)
    play(whole, demand=DemandKind.UPDATE)
    for lost in disturbed(whole):
        world = Updates(NOW)
        results = play(world, lose_at=lost, demand=DemandKind.UPDATE)
        host, step = world.orders[lost - 1]
        if step in (Step.RELEASE, Step.LEASE, Step.DRAIN):
            assert world.are_ready(), lost
            continue
        assert world.is_cancelled, (lost, step)
        assert any("its answer was lost" in failure for failure in results[host].failures), (lost, step)
        assert all(
            machine.in_rotation and machine.serving and machine.claim is None for machine in world.machines.values()
        ), lost


@pytest.mark.parametrize("broken", [Step.LEASE, Step.DRAIN, Step.STOP])
def test_given_updates_that_are_cancelled_when_the_controller_is_killed_then_the_next_run_restores_what_is_out(
    broken: Step,
) -> None:
    def updates() -> Updates:
        world = Updates(NOW)
        world.machines["h1"].breaks_at = {broken}
        return world

    whole = updates()
    play(whole, demand=DemandKind.UPDATE)
    for count in disturbed(whole):
        world = updates()
        with pytest.raises(Killed):
            play(world, kill_at=count, demand=DemandKind.UPDATE)
        end_leases(world)
        play(world, demand=DemandKind.UPDATE)
        assert world.is_cancelled, count
        assert world.is_as_before(), count


def test_given_hosts_that_an_earlier_run_has_drained_when_the_updates_cannot_be_done_then_they_are_restored() -> None:
    world = Updates(NOW)
    play(world, demand=DemandKind.UPDATE)
    world.machines["h1"].unplugged = True

    play(world, demand=DemandKind.UPDATE)

    assert world.is_cancelled
    assert not world.is_out("h0")
    assert world.machines["h0"].claim is None


def test_given_updates_in_a_prediction_then_nothing_is_cancelled_and_nothing_kept_out() -> None:
    world = Updates(NOW)
    hosts = [world.read(name, None) for name in world.machines]
    run = begin(hosts, world.policy, NOW, predicts=True, demand=DemandKind.UPDATE)
    given: set[Step] = set()
    run, orders = advance(run, [], NOW)
    while orders:
        given |= {order.do for order in orders}
        run, orders = advance(run, [OrderReport(order.host, order.do) for order in orders], NOW)

    assert given == {Step.LEASE, Step.DRAIN, Step.STOP}
    assert run.report().by_host == {}


def test_given_a_batch_that_was_cut_short_when_the_next_begins_then_its_hosts_have_failed_and_leases_end() -> None:
    events = [event(resources=(f"vm_{n}",), event_id=f"e{n}", notice=9000) for n in (0, 1)]
    world = World(NOW, 3, events, minimum=2)
    run = begin([world.read(name, None) for name in world.machines], world.policy, NOW)
    run, orders = advance(run, [], NOW)
    run, _orders = advance(run, [world.carry_out(order, None) for order in orders], NOW)

    run = begin_turn(run, 1)

    assert run.hosts["h0"].reading.failed
    assert [(order.host, order.do) for order in still_leased(run)] == [("h0", Step.RELEASE)]
    run, orders = advance(run, [], NOW)
    assert [(order.host, order.do) for order in orders] == [("h1", Step.ASK)]
    assert "was interrupted" in run.report().by_host["h0"][0]


def test_given_a_host_that_is_back_before_others_begin_to_wait_then_these_are_asked_and_taken_at_once() -> None:
    events = [event(resources=(f"vm_{number}",), event_id=f"e{number}", notice=1500) for number in range(4)]
    world = World(NOW, 4, events, minimum=3)
    world.policy = world.policy._replace(max_failed=9, begin_within=60.0)
    # What could not be stopped goes back at once: its event is far off.
    world.machines["h2"].breaks_at = {Step.STOP}

    play(world)

    back = world.orders.index(("h2", Step.RESTORE))
    assert world.orders[back + 1] == ("h3", Step.ASK)
    assert ("h3", Step.LEASE) in world.orders[back:]
    assert ("h3", Step.WAIT) not in world.orders


@pytest.mark.parametrize("step", [Step.WATCH, Step.WAIT])
def test_given_a_wait_that_fails_then_it_is_not_ordered_again_and_again(step: Step) -> None:
    events = [event(resources=(f"vm_{number}",), event_id=f"e{number}", notice=1500) for number in range(4)]
    world = World(NOW, 4, events, minimum=3)
    run = begin([world.read(name, None) for name in world.machines], world.policy, NOW)
    failed: list[str] = []
    for turn in range(len(run.plan.turns)):
        run, orders = advance(begin_turn(run, turn), [], world.now)
        while orders:
            failed += [order.host for order in orders if order.do is step]
            reports = [
                OrderReport(order.host, order.do, "no such option")
                if order.do is step
                else world.carry_out(order, None)
                for order in orders
            ]
            world.pass_time(60)
            run, orders = advance(run, reports, world.now)

    assert failed
    assert len(failed) == len(set(failed))
    assert all("no such option" in run.report().by_host[host] for host in failed)
    assert still_leased(run) == []


def test_given_a_report_of_what_was_not_ordered_then_it_is_refused() -> None:
    world = make_world()
    run: Run = begin([world.read(name, None) for name in world.machines], world.policy, world.now)

    with pytest.raises(ValueError, match="h0 reports APPROVE, and is at"):
        advance(run, [OrderReport("h0", Step.APPROVE)], world.now)


def test_given_only_agents_to_watch_then_the_run_may_be_handed_over_and_names_the_next() -> None:
    reboots = [event(resources=(f"vm_{number}",), notice=600) for number in range(2)]
    agent = {"in_rotation": True, "events": []}
    run = begin([Host(f"h{n}", f"vm_{n}", (reboots[n],), agent=agent) for n in range(2)], Policy(), NOW)
    assert not may_be_handed_over(run, NOW)

    run, orders = advance(run, [], NOW)
    assert {order.do for order in orders} == {Step.WATCH}
    assert may_be_handed_over(run, NOW)
    over = hand_over(run, "job 17 goes on with it")

    assert over.is_over or begin_turn(over, len(over.plan.turns) - 1).is_over
    assert advance(over, [], NOW)[1] == []
    assert over.report().by_host == {}
    assert all("left alone: job 17 goes on with it" in line for line in over.report().lines)


@pytest.mark.parametrize("left", ["needs_restore", "unanswered", "in_service", "prediction", "demand"])
def test_given_a_host_with_an_order_in_this_run_then_the_run_is_not_handed_over(left: str) -> None:
    agent = {"in_rotation": True, "events": []}
    reboot = event(resources=("vm_0",), notice=600)
    others = {
        "needs_restore": Host("h1", "vm_1", needs_restore=True),
        "unanswered": Host("h1"),
        "in_service": Host("h1", "vm_1", (event(resources=("vm_1",), notice=600),)),
    }
    hosts = [Host("h0", "vm_0", (reboot,), agent=agent)] + ([others[left]] if left in others else [])
    demand = DemandKind.MOVE if left == "demand" else None
    run = begin(hosts, Policy(minimum_in_service="0"), NOW, predicts=left == "prediction", demand=demand)
    if left in others:
        assert {name for turn in run.plan.turns for name in turn} == {"h0", "h1"}

    run, _orders = advance(run, [], NOW)
    assert not may_be_handed_over(run, NOW)
    # Those of a run that only watches.
    watching = {name: host.at(Step.WATCH)._replace(is_given=True) for name, host in run.hosts.items()}
    assert not may_be_handed_over(run._replace(hosts=watching), NOW)


def test_given_a_host_that_waits_for_room_then_the_run_is_handed_over_only_as_long_as_another_can_begin_in_time() -> (
    None
):
    run = begin([Host("h0", "vm_0", (event(resources=("vm_0",)),))], Policy(), NOW)
    waiting = run.hosts["h0"].at(Step.WAIT)._replace(is_given=True, until=NOW + 301)
    run = run._replace(hosts={"h0": waiting})

    assert may_be_handed_over(run, NOW)
    assert not may_be_handed_over(run, NOW + 2)
    assert not may_be_handed_over(run._replace(hosts={"h0": waiting._replace(is_leased=True)}), NOW)


def test_given_batches_that_have_not_come_when_a_run_is_handed_over_then_none_of_their_hosts_is_asked() -> None:
    world = make_world()
    run = begin([world.read(name, None) for name in world.machines], world.policy, world.now)
    assert len(run.plan.turns) > 1
    run = hand_over(run, "job 17")

    for turn in range(len(run.plan.turns)):
        run = begin_turn(run, turn)
        run, orders = advance(run, [], world.now)
        assert orders == []
    assert run.is_over
    assert run.report().by_host == {}


def test_given_a_host_with_an_agent_then_it_is_watched_and_nothing_else_is_ordered() -> None:
    agent = {"in_rotation": True, "events": []}
    reboot = event(resources=("vm_0",), notice=600)
    run = begin([Host("h0", "vm_0", (reboot,), agent=agent), Host("h1", "vm_1")], Policy(), NOW)

    run, (order,) = advance(run, [], NOW)
    assert (order.host, order.do) == ("h0", Step.WATCH)
    assert order.progress is not None
    over = watch(order.progress, [], Policy(), NOW + 700, 5)
    run, (order,) = advance(run, [OrderReport("h0", Step.WATCH, progress=over)], NOW + 700)
    assert order.do is Step.SEE_BACK
    run, orders = advance(run, [OrderReport("h0", Step.SEE_BACK, failure="its agent has not restored it")], NOW + 700)

    assert (orders, run.is_over) == ([], True)
    assert run.results()["h0"].failures == ("its agent has not restored it",)
    assert not run.results()["h0"].restored


def test_given_a_host_that_is_silent_when_it_is_given_up_or_gone_then_nothing_is_ordered_that_it_cannot_answer() -> (
    None
):
    run = begin([Host("h0", "vm_0", (event("Preempt", ("vm_0",), notice=60),)), Host("h1", "vm_1")], Policy(), NOW)
    orders: list[Order] = []
    while not any(order.do is Step.WATCH for order in orders):
        run, orders = advance(run, [OrderReport(order.host, order.do) for order in orders], NOW)
    (watched,) = orders
    assert watched.progress is not None

    silent = watch(watched.progress, None, Policy(), NOW + 700, 5)
    run, orders = advance(run, [OrderReport("h0", Step.WATCH, progress=silent)], NOW + 700)

    assert run.hosts["h0"].is_leased
    assert (silent["silent"], orders, still_leased(run)) == (True, [], [])


def test_given_a_host_that_another_run_has_taken_over_then_it_is_left_to_that() -> None:
    world = make_world()
    run_id = object()
    run = begin([world.read(name, run_id) for name in world.machines], world.policy, world.now)
    reports: list[OrderReport] = []
    while not any(report.did is Step.WATCH for report in reports):
        run, orders = advance(run, reports, world.now)
        reports = [world.carry_out(order, run_id) for order in orders]
    run, _orders = advance(run, [report._replace(refused="another run has it") for report in reports], world.now)

    assert {run.hosts[report.host].step for report in reports} <= {Step.DONE, Step.AFTER_BATCH}
    assert all("another run has it" in run.hosts[report.host].result.failures for report in reports)


@given(
    members=st.lists(st.sets(st.integers(0, 4), min_size=1, max_size=3), min_size=1, max_size=4),
    types=st.lists(st.sampled_from(["Reboot", "Redeploy", "Freeze"]), min_size=4, max_size=4),
    notices=st.lists(st.integers(400, 9000), min_size=4, max_size=4),
    minimum=st.integers(0, 4),
    broken=st.dictionaries(
        st.integers(0, 4), st.sampled_from([Step.LEASE, Step.DRAIN, Step.STOP, Step.NOTE, Step.APPROVE]), max_size=2
    ),
    kill_at=st.integers(1, 60),
)
def test_given_any_fleet_when_steps_break_and_the_controller_is_killed_then_nothing_is_approved_unprepared(
    members: list[set[int]],
    types: list[str],
    notices: list[int],
    minimum: int,
    broken: dict[int, Step],
    kill_at: int,
) -> None:
    events = [
        event(kind, tuple(f"vm_{number}" for number in sorted(hit)), event_id=f"e{index}", notice=notice)
        for index, (hit, kind, notice) in enumerate(zip(members, types, notices, strict=False))
    ]
    world = World(NOW, 5, events, minimum)
    for number, step in broken.items():
        world.machines[f"h{number}"].breaks_at = {step}

    # The world itself refuses an approval for a host that serves, or of which the next run would not know.
    with contextlib.suppress(Killed):
        play(world, kill_at)
    end_leases(world)
    for machine in world.machines.values():
        machine.breaks_at = set()
    for _run in range(3):
        play(world)
        end_leases(world)
        world.pass_time(9000)
    play(world)

    assert world.is_as_before()
    assert len(world.approvals) == len(set(world.approvals))


def test_given_a_round_when_numbered_then_ansible_takes_the_number_for_text() -> None:
    run = begin([Host("h0", "vm_0", (event(resources=("vm_0",)),))], Policy(), NOW)._replace(given=10)

    # What ansible-core before 2.19 does with jinja2_native.
    with pytest.raises((SyntaxError, ValueError)):
        ast.literal_eval(run.number)
