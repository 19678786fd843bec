# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Orders that hosts carry out in one round, in the fleets of test_advance.py: killed and disturbed at every order."""

from __future__ import annotations

from functools import partial

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.advance import advance, begin, begin_turn
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.chains import chain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.news import changes, out, summary
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.run import Order, OrderReport, Run, Step

from .conftest import NOW, event
from .test_advance import Killed, World, _lost, disturbed, end_leases


class Rounds:
    """A whole run, in rounds."""

    def __init__(self, world: World, kill_at: int = 0, lose_at: int = 0) -> None:
        self.world = world
        self.chains: list[tuple[Step, ...]] = []
        """Of each round, the longest."""
        self._disturb = (kill_at, lose_at)
        self._given = 0
        self._run_id = object()

    def play(self) -> Run:
        world = self.world
        run = begin([world.read(name, self._run_id) for name in world.machines], world.policy, world.now)
        reports: list[OrderReport] = []
        while True:
            run, orders = advance(run, reports, world.now)
            if not orders and run.is_over:
                return run
            if not orders:
                run, reports = begin_turn(run, run.turn + 1), []
                continue
            run, orders, longest = chain(run, orders, world.now)
            assert longest >= run.longest_step
            if all(order.do in (Step.WATCH, Step.WAIT) for order in orders):
                world.pass_time(60)
            self.chains.append(max(((one.do, *(then.do for then in one.then)) for one in orders), key=len))
            reports = self._carry_out(orders)

    def _carry_out(self, orders: list[Order]) -> list[OrderReport]:
        """All hosts do the first, then all the second, as Ansible has it."""
        reports: list[OrderReport] = []
        stopped: set[str] = set()
        for link in range(max(len(order.then) for order in orders) + 1):
            for order in orders:
                if order.host in stopped or link > len(order.then):
                    continue
                report = self._do(order if link == 0 else order.then[link - 1])._replace(link=link)
                reports.append(report)
                if report.failure or report.refused:
                    stopped.add(order.host)
        return reports

    def _do(self, order: Order) -> OrderReport:
        self._given += 1
        report = self.world.carry_out(order, self._run_id)
        self.world.pass_time(1)
        kill_at, lose_at = self._disturb
        if self._given == kill_at:
            raise Killed
        return _lost(report, self.world) if self._given == lose_at else report


def make_world() -> World:
    """Four hosts, each with an event of its own, of which one is deleted."""
    events = [
        event(kind, (f"vm_{number}",), event_id=f"e{number}", notice=3000 + 100 * number)
        for number, kind in enumerate(("Reboot", "Redeploy", "Freeze", "Reboot"))
    ]
    return World(NOW, 4, events)


def test_given_events_of_one_host_each_when_handled_then_each_batch_takes_two_rounds_until_its_approval() -> None:
    world = make_world()
    rounds = Rounds(world)

    run = rounds.play()

    assert (Step.LEASE, Step.DRAIN) in rounds.chains
    assert (Step.STOP, Step.NOTE, Step.APPROVE) in rounds.chains
    assert world.is_as_before()
    assert (sorted(world.approvals), world.hit_in_service) == (["e0", "e1", "e2", "e3"], [])
    for result in run.results().values():
        assert [moment.step for moment in result.timeline[:2]] == ["lease", "drain"]
        assert result.timeline[0].at == result.timeline[1].at


def test_given_a_shared_event_when_handled_then_no_host_claims_an_approval_before_the_others_are_ready() -> None:
    world = World(NOW, 4, [event(resources=("vm_0", "vm_1"), event_id="shared", notice=3000)])
    world.machines["h1"].breaks_at = {Step.STOP}
    rounds = Rounds(world)

    rounds.play()

    assert (Step.STOP, Step.NOTE, Step.APPROVE) not in rounds.chains
    assert not {Step.NOTE, Step.APPROVE} & {do for _host, do in world.orders}
    assert (world.approvals, world.hit_in_service) == ([], [])


@pytest.mark.parametrize("step", [Step.LEASE, Step.DRAIN, Step.STOP, Step.NOTE])
def test_given_an_order_that_fails_then_the_host_does_nothing_that_was_to_follow(step: Step) -> None:
    world = make_world()
    world.machines["h0"].breaks_at = {step}

    run = Rounds(world).play()

    done = [do for host, do in world.orders if host == "h0"]
    assert step in done
    assert Step.APPROVE not in done
    assert "e0" not in world.approvals
    assert "e1" in world.approvals
    assert any("it broke" in text for text in (*run.results()["h0"].failures, run.hosts["h0"].left_to))


@pytest.mark.parametrize("disturb", ["kill_at", "lose_at"])
def test_given_a_run_that_is_disturbed_at_any_order_when_another_follows_then_all_are_back_and_none_was_hit_in_service(
    disturb: str,
) -> None:
    whole = make_world()
    Rounds(whole).play()

    for at in disturbed(whole):
        world = make_world()
        play = partial(Rounds(world, **{disturb: at}).play)
        try:
            play()
        except Killed:
            end_leases(world)
        world.pass_time(7200)
        end_leases(world)
        Rounds(world).play()

        assert world.is_as_before(), (disturb, at)
        assert len(world.approvals) == len(set(world.approvals)), (disturb, at)


def test_given_a_drain_in_the_round_of_its_lease_when_shown_then_the_operator_sees_it_while_it_lasts() -> None:
    world = World(NOW, 3, [event(resources=("vm_0",), event_id="E", notice=3000)])
    planned = begin([world.read(name, "run") for name in world.machines], world.policy, NOW)
    run, orders, _longest = chain(*advance(planned, [], NOW), NOW)
    (order,) = orders
    shown = (changes(planned, run, NOW), summary(run), out(run))
    done = [
        OrderReport("h0", Step.LEASE),
        OrderReport("h0", Step.DRAIN, listed=world.listed("h0"), link=1),
    ]
    after, _orders = advance(run, done, NOW + 60)
    refused, _orders = advance(run, [OrderReport("h0", Step.LEASE, refused="another run")], NOW)

    assert [then.do for then in order.then] == [Step.DRAIN]
    assert shown[0] == ["h0 leaves rotation: Reboot in 3000 s"]
    assert "waiting: h0 for its connections" in shown[1]
    assert shown[2] == ["h0"]
    assert changes(run, after, NOW + 60) == ["h0 out of rotation (1 of 3 out, 2 must stay)"]
    assert out(after) == ["h0"]
    assert (changes(run, refused, NOW), out(refused)) == (["h0 left alone: another run"], [])
