# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run reports while it goes on: each change of a host once, and the state of the fleet."""

from __future__ import annotations

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.advance import advance, begin
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.news import changes, out, summary
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.run import OrderReport, Run, Step

from .conftest import NOW, event
from .test_advance import World, play


def told(world: World) -> tuple[list[str], list[str]]:
    """All that a whole run reports: of its hosts, and of the fleet."""
    lines: list[str] = []
    states: list[str] = []
    runs = [begin([world.read(name, None) for name in world.machines], world.policy, world.now)]

    def between(run: Run) -> Run:
        lines.extend(changes(runs[-1], run, world.now))
        runs.append(run)
        states.append(summary(run))
        return run

    play(world, between=between)
    return lines, states


def test_given_a_host_that_leaves_and_returns_then_each_change_is_reported_once_with_the_number_of_hosts_out() -> None:
    reboot = event(resources=("vm_0",), event_id="E", notice=3000)

    lines, states = told(World(NOW, 3, [reboot], minimum=1))

    # The plan was reported before, and the action that watches reports this.
    assert lines == [
        "h0 leaves rotation: Reboot in 2999 s",
        "h0 out of rotation (1 of 3 out, 1 must stay)",
        "h0 stopped",
        "h0 approved E, 100 s before its start",
        "h0 back in rotation (0 of 3 out, 1 must stay)",
    ]
    assert states[0] == "all 3/3 (at least 1)"
    assert any(state.startswith("all 2/3 (at least 1) · waiting: h0 for its connections until ") for state in states)
    assert states[-1] == "all 3/3 (at least 1)"


def test_given_a_host_on_its_way_then_it_counts_as_out_from_its_drain_until_it_is_restored() -> None:
    world = World(NOW, 3, [event(resources=("vm_0",), event_id="E", notice=3000)], minimum=1)
    seen: list[tuple[list[str], bool]] = []

    def between(run: Run) -> Run:
        seen.append((out(run), world.is_out("h0")))
        return run

    play(world, between=between)

    assert [names for names, is_out in seen if is_out and names != ["h0"]] == []
    assert seen[-1] == ([], False)


def test_given_a_host_of_which_nobody_was_asked_whether_it_is_back_then_nothing_says_that_it_is() -> None:
    world = World(NOW, 3, [event(resources=("vm_0",), event_id="E", notice=3000)], minimum=1)
    run = begin([world.read(name, None)._replace(is_seen=False) for name in world.machines], world.policy, NOW)
    host = run.hosts["h0"]
    returning = run._replace(hosts={**run.hosts, "h0": host.at(Step.RESTORE)})
    back = host._replace(result=host.result._replace(restored=True)).at(Step.DONE)

    lines = changes(returning, run._replace(hosts={**run.hosts, "h0": back}), NOW)

    assert lines == [
        "h0 restored, and nobody was asked whether it is in rotation (0 of 3 out, 1 must stay)",
    ]


def test_given_hosts_that_wait_for_room_then_it_is_reported_once_why_and_until_when() -> None:
    events = [event(resources=(f"vm_{number}",), event_id=f"e{number}", notice=1500) for number in range(4)]

    lines, states = told(World(NOW, 4, events, minimum=3))

    waits = [line for line in lines if " waits until " in line]
    assert [line.split()[0] for line in waits] == ["h3"]
    assert "3 must stay" in waits[0]
    assert any("h3 for room until " in state for state in states)


def test_given_a_step_that_fails_then_the_failure_is_reported_and_not_its_completion() -> None:
    world = World(NOW, 3, [event(resources=("vm_0",), event_id="E", notice=30000)], minimum=1)
    world.machines["h0"].breaks_at = {Step.STOP}

    lines, _states = told(world)

    assert "h0 FAILED: stop: it broke" in lines
    assert "h0 stopped" not in lines
    assert lines[-1] == "h0 back in rotation (0 of 3 out, 1 must stay)"


def test_given_an_approval_that_was_refused_then_it_is_reported_why() -> None:
    world = World(NOW, 2, [event(resources=("vm_0",), event_id="E", notice=3000)], minimum=0)
    run = begin([world.read(name, None) for name in world.machines], world.policy, NOW)
    run, orders = advance(run, [], NOW)
    while orders[0].do is not Step.APPROVE:
        run, orders = advance(run, [world.carry_out(order, None) for order in orders], NOW)

    after, _orders = advance(run, [OrderReport("h0", Step.APPROVE, not_approved={"E": "it has changed"})], NOW)

    assert changes(run, after, NOW) == ["h0 not approved E: it has changed"]
