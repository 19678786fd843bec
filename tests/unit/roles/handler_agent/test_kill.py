# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent is killed at every point at which it writes its journal or talks to IMDS, for every type of event.

The rehearsal itself asserts, at every moment: no approval before its stages have succeeded, no restore in the
middle of maintenance, no restore of what was not removed. What is left to assert here is the end.
"""

from typing import Optional

import pytest
from rehearsal import DEALLOCATED, UNAPPROVED, UNHARMED, UNIT_POLICY, Life, Rehearsal

LIVES = {
    "freeze": Life("Freeze"),
    "reboot": Life("Reboot"),
    "terminate": Life("Terminate"),
    "preempt": Life("Preempt", notice=30.0),
    "preempt of a machine that is started again later": Life("Preempt", notice=30.0, impact=60.0, fate=DEALLOCATED),
    "preempt that is over before the machine is back": Life(
        "Preempt", notice=30.0, impact=60.0, linger=30.0, fate=DEALLOCATED
    ),
    "terminate withdrawn during its shutdown": Life("Terminate", withdrawn_after=7.0),
    "preempt withdrawn during its drain": Life("Preempt", notice=30.0, withdrawn_after=2.0),
    "reboot withdrawn, just when it was approved": Life("Reboot", withdrawn_after=10.0),
    "reboot that takes a minute to come back": Life("Reboot", impact=60.0, linger=90.0),
    "reboot that is over before the machine is back": Life("Reboot", impact=60.0, linger=30.0),
}
MANY_OF_OTHERS = [
    Life("Freeze", announced_at=20.0 + 5.0 * n, resources=("db_1",), event_id="X-%d" % n) for n in range(9)
]
# Back as fast as systemd brings it back; and only after the event has gone its way without it.
BACK_AFTER = (1.0, 150.0)


@pytest.mark.parametrize("name", sorted(LIVES))
def test_given_a_kill_at_any_point_when_the_agent_is_back_then_nothing_is_lost(name: str) -> None:
    life = LIVES[name]
    whole = Rehearsal([life]).run()
    assert whole.edges > 40
    for kill_at, back_after in whole.kills(*BACK_AFTER):
        where = "killed at edge %d of %d, back after %g s" % (kill_at, whole.edges, back_after)
        rehearsal = Rehearsal([life], kill_at, back_after)
        try:
            rehearsal.run()
        except AssertionError as error:
            raise AssertionError("%s: %s" % (where, error)) from error
        if rehearsal.deleted:
            assert not rehearsal.restored, where
        else:
            assert not rehearsal.touched, "left out of rotation: " + where
            assert not rehearsal.state.is_out, where
        if back_after < 2 and life.withdrawn_after is None:
            assert rehearsal.approvals, "never approved: " + where


@pytest.mark.parametrize("is_active", [True, False])
def test_given_a_kill_at_any_point_when_a_unit_ran_before_then_it_is_started_and_otherwise_not(is_active: bool) -> None:
    life = Life("Freeze", notice=40.0, linger=8.0)

    def machine(kill_at: Optional[int] = None) -> Rehearsal:
        one = Rehearsal([life], kill_at, 1.0, UNIT_POLICY)
        one.unit_is_active = is_active
        return one.run()

    for kill_at, _back_after in machine().kills(1.0):
        one = machine(kill_at)
        assert one.unit_is_active is is_active, "killed at edge %d" % kill_at
        assert ("start" in one.steps("restore")) is is_active, "killed at edge %d" % kill_at
        assert not one.state.is_out


def test_given_a_unit_that_the_plan_never_came_to_stop_when_it_is_over_then_it_is_not_started() -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=300.0, withdrawn_after=2.0)], policy=UNIT_POLICY)
    rehearsal.unit_is_active = False
    rehearsal.run()
    assert rehearsal.steps() == ["deregister", "register"]


def test_given_a_machine_that_ended_when_it_boots_long_after_then_it_is_alive_and_comes_back() -> None:
    rehearsal = Rehearsal([Life("Preempt", notice=30.0, fate=UNHARMED)])
    rehearsal.run_until(5.0)
    rehearsal.tick_until(lambda: any(one.over for one in rehearsal.state.tracked))
    rehearsal.reboot(7200.0)
    rehearsal.run_until(rehearsal.now + 7200.0)
    assert rehearsal.restored == 0
    rehearsal.run_until(rehearsal.now + 10.0)
    assert rehearsal.restored == 1
    assert not rehearsal.state.is_out


def test_given_a_machine_that_ended_when_it_boots_again_and_the_event_is_still_listed_then_it_stays_out() -> None:
    rehearsal = Rehearsal([Life("Preempt", notice=30.0, impact=10.0, linger=100.0, fate=DEALLOCATED)])
    rehearsal.tick_until(lambda: rehearsal.boots == 1)
    rehearsal.run_until(rehearsal.now + 80.0)
    assert rehearsal.state.is_out
    assert rehearsal.steps("restore") == []
    rehearsal.run_until(rehearsal.now + 30.0)
    assert rehearsal.restored == 1


def test_given_a_machine_that_runs_on_for_minutes_after_it_ended_then_it_comes_back_and_says_so() -> None:
    rehearsal = Rehearsal([Life("Terminate", notice=60.0, fate=UNHARMED)])
    rehearsal.run_until(5.0)
    rehearsal.tick_until(lambda: any(one.over for one in rehearsal.state.tracked))
    ended_at = rehearsal.now
    rehearsal.run_until(ended_at + 290.0)
    assert rehearsal.steps("restore") == []
    rehearsal.run_until(ended_at + 320.0)
    assert rehearsal.restored == 1
    assert rehearsal.messages("is still running")


@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
def test_given_a_clock_that_was_an_hour_off_when_it_is_corrected_then_the_deadline_is_the_right_one(
    seconds: float,
) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=60.0)])
    rehearsal.step_seconds["stop"] = 500.0
    rehearsal.wall_step = seconds
    rehearsal.run_until(4.0)
    rehearsal.wall_step = 0.0
    rehearsal.run_until(9.0)
    begun = {record["name"]: record["seconds"] for record in rehearsal.written("step_begun")}
    # Announced at 3, begun at 8, 60 seconds of notice, 2 of margin.
    assert begun["stop"] == 53.0
    rehearsal.run_until(70.0)
    assert rehearsal.approvals == []


@pytest.mark.parametrize("is_killed", [False, True])
def test_given_the_service_was_enabled_again_when_another_event_follows_then_the_doubt_keeps_its_full_length(
    is_killed: bool,
) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=290.0), *MANY_OF_OTHERS], policy=UNAPPROVED)
    rehearsal.run_until(8.0)
    assert rehearsal.state.incarnation == 3
    rehearsal.azure.forget(2.0)
    hidden = rehearsal.happenings[0]
    hidden.affects = lambda vm_name: False  # type: ignore[method-assign]  # noqa: ARG005
    show = hidden.as_event
    hidden.as_event = lambda: show()._replace(resources=("web_9",))  # type: ignore[method-assign]
    # Its number is soon greater than it ever was.
    rehearsal.run_until(100.0)
    assert rehearsal.azure.incarnation > 3
    if is_killed:
        rehearsal.kill()
    rehearsal.run_until(290.0)
    assert rehearsal.state.is_out
    assert rehearsal.steps("restore") == []
