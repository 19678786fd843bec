# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked for by hand, beside everything else that happens to the machine.

The rehearsal asserts at every moment that nothing is restored that somebody keeps out, and that nothing is approved
that somebody holds. Runs on Python 3.6 and later.
"""

from typing import Any, List, Optional

import pytest
from foghorn_agent.config import parse_config
from foghorn_agent.decide.manual import RequestError, parse_period, records_of
from foghorn_agent.decide.policy import default_rules, manual_plan
from foghorn_agent.decide.state import State, replay, summarise
from foghorn_agent.http.status import as_table
from rehearsal import POLICY, Life, Rehearsal

DRAINED = ["deregister", "wait"]


def rehearsal_of(*lives: Life, **more: Any) -> Rehearsal:
    one = Rehearsal(lives, **more)
    one.run_until(2.0)
    return one


def insist(one: Rehearsal, request: str) -> None:
    """Ask until there is an answer, as whoever types it would."""
    while one.agent is None or one.ask(request) is None:
        one.tick()


# --- drain and restore ------------------------------------------------------------------------------


def test_given_nothing_announced_when_it_is_drained_by_hand_then_it_is_out_at_once_and_its_drain_runs() -> None:
    rehearsal = rehearsal_of()
    assert rehearsal.ask("drain") == "out of rotation until it is restored by hand"
    assert rehearsal.state.is_out
    rehearsal.run_until(30.0)
    assert rehearsal.steps("drain") == DRAINED
    assert rehearsal.steps("shutdown") == []
    assert rehearsal.approvals == []
    status = rehearsal.status()
    assert status["drained_by_hand"] == {"since": "2026-01-01T00:00:02Z", "drain": "succeeded"}
    assert status["events"] == []
    assert "by hand  drained since 2026-01-01T00:00:02Z: drain succeeded\n" in as_table(status)


def test_given_a_drain_by_hand_when_it_is_asked_for_again_then_nothing_runs_twice() -> None:
    rehearsal = rehearsal_of()
    rehearsal.ask("drain")
    rehearsal.run_until(30.0)
    rehearsal.ask("drain")
    rehearsal.run_until(60.0)
    assert rehearsal.steps() == DRAINED


def test_given_a_drain_by_hand_when_it_is_restored_then_it_is_back() -> None:
    rehearsal = rehearsal_of()
    rehearsal.ask("drain")
    rehearsal.run_until(30.0)
    assert rehearsal.ask("restore") == "is being restored to rotation"
    rehearsal.run_until(60.0)
    assert rehearsal.restored == 1
    assert not rehearsal.state.is_out
    assert rehearsal.state.tracked == ()
    assert rehearsal.ask("restore") == "in rotation"


def test_given_a_silent_imds_when_it_is_drained_by_hand_then_that_needs_no_answer() -> None:
    rehearsal = Rehearsal()
    rehearsal.silent = True
    rehearsal.run_until(2.0)
    rehearsal.ask("drain")
    rehearsal.run_until(30.0)
    assert rehearsal.steps("drain") == DRAINED
    rehearsal.ask("restore")
    rehearsal.run_until(60.0)
    assert not rehearsal.state.is_out


def test_given_an_event_that_is_over_when_somebody_keeps_the_machine_out_then_it_stays_out() -> None:
    rehearsal = rehearsal_of(Life("Reboot"))
    rehearsal.run_until(5.0)
    rehearsal.ask("drain")
    rehearsal.run()
    assert rehearsal.happenings[0].ended is not None
    assert len(rehearsal.approvals) == 1
    assert rehearsal.steps("restore") == []
    rehearsal.ask("restore")
    rehearsal.run_until(rehearsal.now + 30.0)
    assert rehearsal.restored == 1
    assert not rehearsal.state.is_out


def test_given_an_event_when_it_is_restored_by_hand_then_the_event_keeps_it_out_and_is_named() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=600.0), policy=dict(POLICY, approve="never", begin_before=86400))
    rehearsal.ask("drain")
    rehearsal.run_until(60.0)
    assert rehearsal.ask("restore") == "still out of rotation, for Reboot E-1"
    rehearsal.run_until(120.0)
    assert rehearsal.steps("restore") == []
    assert rehearsal.state.is_out


def test_given_a_slow_drain_by_hand_when_an_event_comes_then_the_event_goes_first() -> None:
    rehearsal = rehearsal_of(Life("Freeze", notice=60.0, announced_at=10.0))
    rehearsal.step_seconds["deregister"] = 50.0
    rehearsal.ask("drain")
    rehearsal.run_until(15.0)
    begun = [record for record in rehearsal.records if record["kind"] == "step_begun"]
    assert [record["event_id"] for record in begun] == ["manual", "E-1"]


def test_given_a_boot_when_the_machine_was_drained_by_hand_then_it_stays_out_and_drains_once_more() -> None:
    rehearsal = rehearsal_of()
    rehearsal.ask("drain")
    rehearsal.run_until(30.0)
    rehearsal.reboot(20.0)
    rehearsal.run_until(80.0)
    assert rehearsal.state.is_out
    assert rehearsal.steps() == DRAINED * 2


def test_given_a_kill_at_any_point_when_it_was_drained_by_hand_then_it_stays_out_until_it_is_restored() -> None:
    def life(kill_at: Optional[int]) -> Rehearsal:
        one = Rehearsal([Life("Freeze", notice=12.0, linger=4.0)], kill_at, 1.0)
        one.longest_journal = 12
        one.run_until(2.0)
        insist(one, "drain")
        one.run_until(32.0)
        assert one.agent is None or one.state.is_out, kill_at
        assert one.steps("restore") == [], kill_at
        insist(one, "restore")
        one.run_until(44.0)
        one.tick_until(lambda: one.agent is not None and not one.state.is_out)
        return one

    for kill_at, _back_after in life(None).kills(1.0):
        assert not life(kill_at).touched, kill_at


def test_given_a_full_disk_when_it_is_drained_by_hand_then_it_is_out_and_the_answer_says_what_a_restart_does() -> None:
    rehearsal = rehearsal_of()
    rehearsal.disk_is_full = True
    said = rehearsal.ask("drain")
    assert said is not None
    assert "is lost when the agent restarts" in said
    assert rehearsal.state.is_out


# --- which plan -------------------------------------------------------------------------------------


def plan_of(*policies: Any) -> List[str]:
    plan = manual_plan(parse_config({"policies": list(policies)}).rules)
    assert plan.shutdown is None
    return [step.name for step in plan.steps("drain")]


def test_given_no_policy_when_it_is_drained_by_hand_then_the_hooks_run() -> None:
    plan = manual_plan(default_rules())
    assert [step.kind for step in plan.steps("drain") + plan.steps("restore")] == ["hooks", "hooks"]


def test_given_policies_when_it_is_drained_by_hand_then_the_one_for_a_reboot_is_taken() -> None:
    freeze = {"match": {"event_types": ["Freeze"]}, "drain": [{"pause": 1, "name": "freeze"}]}
    reboot = {"match": {"event_types": ["Reboot"]}, "drain": [{"pause": 1, "name": "reboot"}]}
    assert plan_of(freeze, reboot) == ["reboot"]


def test_given_a_policy_for_it_when_it_is_drained_by_hand_then_that_is_taken() -> None:
    everything = {"drain": [{"pause": 1, "name": "everything"}]}
    manual = {"match": {"event_types": ["manual"]}, "drain": [{"pause": 1, "name": "manual"}]}
    assert plan_of(everything, manual) == ["manual"]


def test_given_a_policy_that_drains_nothing_when_it_is_drained_by_hand_then_it_is_out_anyway() -> None:
    rehearsal = rehearsal_of(policy={"match": {"event_types": ["Reboot"]}})
    rehearsal.ask("drain")
    rehearsal.run_until(10.0)
    assert rehearsal.state.is_out
    rehearsal.ask("restore")
    rehearsal.run_until(20.0)
    assert not rehearsal.state.is_out


# --- hold and release -------------------------------------------------------------------------------


def test_given_a_hold_when_an_event_is_ready_then_it_is_approved_only_after_the_release() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=280.0))
    assert rehearsal.ask("hold") == "nothing is approved until it is released"
    rehearsal.run_until(100.0)
    assert rehearsal.steps("shutdown") == ["stop"]
    (event,) = rehearsal.status()["events"]
    assert (event["ready"], event["willing"], event["withheld"]) == (True, False, "held by hand until it is released")
    assert rehearsal.ask("release") == "approvals are no longer withheld by hand"
    rehearsal.run_until(104.0)
    assert len(rehearsal.approvals) == 1


def test_given_a_hold_for_a_time_when_that_has_passed_then_it_is_approved() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=280.0))
    assert rehearsal.ask("hold", seconds=60.0) == "nothing is approved until 2026-01-01T00:01:02Z"
    rehearsal.is_held = False
    rehearsal.run_until(60.0)
    assert rehearsal.approvals == []
    rehearsal.tick_until(lambda: rehearsal.approvals)
    assert rehearsal.now == 62.0
    assert [record["kind"] for record in rehearsal.history if record["kind"] in ("held", "released")] == [
        "held",
        "released",
    ]


def test_given_an_approval_that_was_sent_when_it_is_held_then_the_answer_says_that_it_is_too_late() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=600.0))
    rehearsal.refusing = True
    rehearsal.tick_until(lambda: any(one.approvals for one in rehearsal.state.tracked))
    said = rehearsal.ask("hold")
    assert said is not None
    assert said.endswith("; Reboot E-1 may begin at any moment: it was approved before")


# --- forget -----------------------------------------------------------------------------------------


def test_given_an_event_when_it_is_forgotten_then_it_is_undone_and_never_approved_however_long_it_is_listed() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=900.0, impact=0.0))
    rehearsal.failing = {"wait"}
    rehearsal.tick_until(lambda: rehearsal.steps("shutdown"))
    assert rehearsal.ask("forget", event_id="E-1") == "is being restored to rotation"
    rehearsal.run_until(rehearsal.now + 60.0)
    assert rehearsal.happenings[0].is_listed
    assert not rehearsal.state.is_out
    assert rehearsal.approvals == []
    rehearsal.kill()
    rehearsal.run_until(rehearsal.now + 60.0)
    assert not rehearsal.state.is_out
    assert rehearsal.state.forgotten == ("e-1",)
    rehearsal.tick_until(lambda: rehearsal.azure.is_over)
    rehearsal.run_until(rehearsal.now + 5.0)
    assert not rehearsal.state.forgotten


def test_given_an_eviction_that_did_not_take_it_when_it_is_forgotten_then_the_machine_is_back_at_once() -> None:
    rehearsal = rehearsal_of(Life("Preempt", notice=30.0, fate="unharmed"))
    rehearsal.run_until(5.0)
    rehearsal.tick_until(lambda: any(one.over for one in rehearsal.state.tracked))
    rehearsal.ask("forget", event_id="E-1")
    rehearsal.run_until(rehearsal.now + 20.0)
    assert rehearsal.restored == 1


def test_given_an_unknown_event_when_it_is_to_be_forgotten_then_the_known_ones_are_named() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=900.0))
    rehearsal.ask("drain")
    with pytest.raises(RequestError, match="E-9 is not an event of this machine: there are none now"):
        rehearsal.ask("forget", event_id="E-9")
    rehearsal.run_until(5.0)
    with pytest.raises(RequestError, match="manual is not an event of this machine: there are E-1"):
        rehearsal.ask("forget", event_id="manual")


# --- requests ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("90s", 90.0), ("15m", 900.0), ("2h", 7200.0), ("30d", 2592000.0)]
)
def test_given_a_time_when_read_then_it_is_in_seconds(text: str, seconds: float) -> None:
    assert parse_period(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "31d", "2 h", "-2h", "1w", "1.5h", "99999999s", "2h\n"])
def test_given_no_time_when_read_then_it_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="expected a time like 90s, 15m, 2h or 7d, up to 30d"):
        parse_period(text)


@pytest.mark.parametrize("seconds", [True, "60", 0, -1, 1e9])
def test_given_a_hold_for_no_time_when_asked_then_it_is_refused(seconds: Any) -> None:
    with pytest.raises(RequestError, match="seconds: expected a number"):
        records_of(State(), {"request": "hold", "seconds": seconds}, 0.0)


def test_given_no_request_when_asked_then_it_is_refused() -> None:
    with pytest.raises(
        RequestError, match="'approve' is not a request: expected one of drain, restore, hold, release, forget"
    ):
        records_of(State(), {"request": "approve"}, 0.0)


def test_given_nothing_held_when_it_is_released_then_nothing_is_written() -> None:
    assert records_of(State(), {"request": "release"}, 0.0) == []


def test_given_all_of_it_when_the_journal_is_condensed_then_nothing_of_it_is_lost() -> None:
    state = replay(
        [
            {"kind": "identity", "vm_id": "1", "vm_name": "web_0"},
            {"kind": "manual", "wanted": True, "at": 5.0},
            {"kind": "held", "until": 9.0, "at": 6.0},
            {"kind": "forgotten", "event_id": "E-1", "at": 7.0},
            {"kind": "forgotten", "event_id": "e-1", "at": 8.0},
        ]
    )
    assert state.forgotten == ("e-1",)
    assert replay(summarise(state)) == state
