# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A unit that was stopped for an event, and that something starts again before the approval.

Runs on Python 3.6 and later.
"""

from types import SimpleNamespace
from typing import Any

import pytest
from foghorn_agent.act.still_down import StillDown, works_of
from foghorn_agent.decide.decisions import Work
from foghorn_agent.decide.outcome import StepOutcome
from foghorn_agent.decide.policy import Plan, Step
from foghorn_agent.decide.state import Failure, Tracked
from foghorn_core.scheduled_events.event import Event
from rehearsal import UNIT_POLICY, Life, Rehearsal

WITHHELD = dict(UNIT_POLICY, check=[{"command": ["/bin/alerts.exe"], "name": "alerts"}])


def held(**life: Any) -> Rehearsal:
    """A machine that is ready, and whose event a check keeps from being approved."""
    rehearsal = Rehearsal([Life("Reboot", notice=300.0, **life)], policy=WITHHELD)
    rehearsal.unit_is_active = True
    rehearsal.failing = {"alerts"}
    rehearsal.run_until(100.0)
    assert rehearsal.steps("shutdown").count("stop") == 1
    assert not rehearsal.unit_is_active
    return rehearsal


def test_given_a_unit_that_runs_again_when_its_event_may_be_approved_then_it_is_stopped_once_more_before() -> None:
    rehearsal = held()
    rehearsal.unit_is_active = True
    rehearsal.failing = set()

    rehearsal.tick_until(lambda: rehearsal.approvals)

    assert rehearsal.steps("shutdown").count("stop") == 2
    assert not rehearsal.unit_is_active
    rehearsal.run()
    # It ran before the event.
    assert rehearsal.unit_is_active


def test_given_a_stop_that_failed_when_its_event_may_be_approved_then_the_plan_and_not_the_unit_decides() -> None:
    event = Event("E-1", "Reboot", "Scheduled", ("web_0",))
    failed, stopped = (Step("command", name, 1.0, stops=name + ".service") for name in ("a", "b"))
    one = Tracked(event, event, failures=(Failure("drain", "a", "exit status 1"),))
    assert [work.step for work in works_of(one, Plan("it", (failed,), (stopped,)))] == [stopped]


def test_given_a_unit_that_always_runs_again_then_its_event_is_not_approved_until_it_is_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rehearsal = held()
    is_done = rehearsal.step_is_done

    def starts_again(work: Work) -> None:
        is_done(work)
        rehearsal.unit_is_active = True

    monkeypatch.setattr(rehearsal, "step_is_done", starts_again)
    rehearsal.unit_is_active = True
    rehearsal.failing = set()

    rehearsal.run_until(140.0)

    assert rehearsal.approvals == []
    (event,) = rehearsal.status()["events"]
    assert "runs again, although it was stopped twice" in event["withheld"]
    assert event["willing"] is False
    assert rehearsal.steps("shutdown").count("stop") == 2

    rehearsal.unit_is_active = False
    rehearsal.run_until(160.0)

    assert len(rehearsal.approvals) == 1


@pytest.mark.parametrize("name", ["a", "b"])
def test_given_two_units_when_one_runs_again_and_again_then_the_other_does_not_clear_their_event(name: str) -> None:
    event = Event("E-1", "Reboot", "Scheduled", ("web_0",))
    one = Tracked(event, event)
    plan = Plan("it", tuple(Step("command", each, 1.0, stops=each + ".service") for each in ("a", "b")))
    active = {name}

    def look(work: Work) -> Any:
        said = "active" if work.step.name in active else "inactive"
        return SimpleNamespace(work=work, poll=lambda: StepOutcome(True, "", said, 0.0))

    def is_cleared(now: float) -> bool:
        for _turn in range(9):
            looks.turn([(one, plan)], now)
            if looks.is_clear(one, plan, now):
                return True
        return False

    recorder: Any = SimpleNamespace(log=lambda *_what, **_fields: None)
    looks = StillDown(recorder, look)
    assert not is_cleared(1.0)
    assert "%s.service runs again, although it was stopped twice" % name in str(looks.problem_with("E-1"))
    active.clear()
    assert is_cleared(9.0)
