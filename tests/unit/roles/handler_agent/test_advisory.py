# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The notice before the notice: an eviction that is only likely.

Runs on Python 3.6 and later.
"""

from typing import Any, Dict, List, Optional

import pytest
from rehearsal import DEALLOCATED, POLICY, Life, Rehearsal

ADVICE = "SpotRebalanceRecommendation"
ADVISED: Dict[str, Any] = dict(POLICY, match={"event_types": [ADVICE]}, approve="when_ready", shutdown=[])
OTHERS: Dict[str, Any] = dict(POLICY, match={"event_types": ["Preempt"]})


def advice(listed_for: float = 60.0, **details: Any) -> Life:
    return Life(ADVICE, notice=1e6, withdrawn_after=listed_for, event_id="ADVICE", **details)


def machine(lives: List[Life], *policies: Dict[str, Any], kill_at: Optional[int] = None) -> Rehearsal:
    return Rehearsal(lives, kill_at, 1.0, settings={"policies": list(policies)})


def test_given_no_policy_that_names_it_when_an_eviction_is_likely_then_it_is_reported_and_nothing_is_done() -> None:
    rehearsal = machine([advice()], POLICY)
    rehearsal.run_until(50.0)
    assert rehearsal.steps() == []
    assert not rehearsal.state.is_out
    assert [one.event_id for one in rehearsal.state.tracked] == ["ADVICE"]
    assert [record["kind"] for record in rehearsal.told] == ["identity", "seen"]
    assert rehearsal.messages(ADVICE)
    rehearsal.run()
    assert rehearsal.state.tracked == ()
    assert rehearsal.approve_worker.jobs == []


def test_given_a_policy_that_names_it_when_it_comes_then_it_drains_and_is_back_ten_minutes_after_it_is_gone() -> None:
    rehearsal = machine([advice()], ADVISED)
    rehearsal.run_until(62.0)
    assert rehearsal.steps() == ["deregister", "wait"]
    gone_at = 64.0
    rehearsal.run_until(gone_at + 590.0)
    assert rehearsal.state.is_out
    rehearsal.run_until(gone_at + 620.0)
    assert rehearsal.restored == 1
    assert rehearsal.approve_worker.jobs == []


def test_given_a_custom_time_when_it_is_gone_then_the_machine_is_back_after_that() -> None:
    rehearsal = machine([advice()], dict(ADVISED, advice_holds_for=0))
    rehearsal.run_until(75.0)
    assert rehearsal.restored == 1


@pytest.mark.parametrize("announced_at", [40.0, 100.0])
def test_given_a_drain_on_advice_when_the_eviction_comes_then_it_continues_from_there(announced_at: float) -> None:
    preempt = Life("Preempt", notice=30.0, announced_at=announced_at, event_id="E-1")
    rehearsal = machine([advice(), preempt], ADVISED, OTHERS)
    # What was done for the one holds for the other.
    rehearsal.done["E-1"] = {"deregister", "wait"}
    rehearsal.run_until(announced_at + 3.0)
    assert rehearsal.steps() == ["deregister", "wait", "stop"]
    rehearsal.run()
    assert rehearsal.deleted
    assert [record["kind"] for record in rehearsal.written("approving")] == ["approving"]


def test_given_a_drain_on_advice_that_failed_when_the_eviction_comes_then_it_is_run_again() -> None:
    preempt = Life("Preempt", notice=60.0, announced_at=400.0, event_id="E-1", fate=DEALLOCATED)
    deregister, wait = ADVISED["drain"]
    rehearsal = machine([advice(900.0), preempt], dict(ADVISED, drain=[dict(deregister, timeout=5), wait]), OTHERS)
    rehearsal.failing = {"deregister"}
    rehearsal.run_until(380.0)
    rehearsal.failing = set()
    begun = rehearsal.steps().count("deregister")
    rehearsal.run_until(404.0)
    assert rehearsal.steps().count("deregister") == begun + 1


def test_given_a_kill_at_any_point_when_advice_goes_by_then_the_machine_is_back_in_the_end() -> None:
    policy = dict(ADVISED, advice_holds_for=20)

    for kill_at, _back_after in machine([advice(30.0)], policy).run().kills(1.0):
        one = machine([advice(30.0)], policy, kill_at=kill_at).run()
        assert not one.touched, kill_at
        assert not one.state.is_out, kill_at


def test_given_a_machine_that_boots_after_advice_when_it_is_gone_then_it_is_back_at_once() -> None:
    rehearsal = machine([advice(60.0)], ADVISED)
    rehearsal.run_until(50.0)
    rehearsal.reboot(30.0)
    rehearsal.run_until(100.0)
    assert not rehearsal.state.is_out
