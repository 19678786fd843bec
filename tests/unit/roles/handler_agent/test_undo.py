# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was taken out is restored by what was written down then, whatever the configuration says now.

Runs on Python 3.6 and later.
"""

import json
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional

import pytest
from foghorn_agent.config import parse_config
from foghorn_agent.decide.policy import COMMAND, HOOKS, WAIT_CONNECTIONS, Plan, Step
from foghorn_agent.decide.state import State, apply, replay
from foghorn_agent.decide.undo import Undo, read_undo, undo_as_json, undo_of
from foghorn_agent.http.bodies import fields_of
from rehearsal import POLICY, QUORUM, UNIT_POLICY, Life, Rehearsal

OTHER: Dict[str, Any] = {
    "drain": [{"command": ["/bin/flush"], "name": "flush"}],
    "restore": [{"command": ["/bin/hooks"], "name": "hooks"}, POLICY["restore"][1]],
    "approve": "never",
}
LONG = Life("Reboot", notice=100.0, linger=20.0)


def reloaded(rehearsal: Rehearsal, policies: List[Dict[str, Any]], is_killed: bool) -> Rehearsal:
    """Another configuration, by a reload or by a restart."""
    rehearsal.config = parse_config({"policies": policies, "quorum": QUORUM})
    if is_killed:
        rehearsal.kill()
    else:
        rehearsal.running.use(rehearsal.config)
    return rehearsal


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ([{"name": "nothing"}], ["start", "register"]),
        ([dict(OTHER, match={"event_types": ["Freeze"]}), {"name": "nothing"}], ["start", "register"]),
        # What was begun under the other is undone as that has it, too, each step once.
        ([OTHER], ["start", "hooks", "register"]),
    ],
)
def test_given_a_policy_that_is_another_in_the_middle_of_an_event_when_it_is_over_then_what_was_done_is_undone(
    policies: List[Dict[str, Any]], expected: List[str], is_killed: bool
) -> None:
    rehearsal = Rehearsal([LONG], policy=dict(POLICY, approve="never"))
    rehearsal.run_until(30.0)
    assert rehearsal.steps() == ["deregister", "wait", "stop"]
    reloaded(rehearsal, policies, is_killed).run()
    assert rehearsal.steps("restore") == expected
    assert rehearsal.restored == 1
    assert not rehearsal.stopped


def test_given_an_event_of_which_no_step_ran_when_another_is_restored_then_only_that_is_undone() -> None:
    empty = dict(OTHER, drain=[], match={"event_types": ["Freeze"]})
    rehearsal = Rehearsal([LONG, Life("Freeze", event_id="E-2")])
    rehearsal.run_until(1.0)
    reloaded(rehearsal, [empty, POLICY], False).run()
    assert rehearsal.steps("restore") == ["start", "register"]


@pytest.mark.parametrize("runs", [True, False])
def test_given_a_policy_without_the_unit_when_it_is_over_then_the_unit_is_started_if_it_ran(runs: bool) -> None:
    rehearsal = Rehearsal([LONG], policy=dict(UNIT_POLICY, approve="never"))
    rehearsal.unit_is_active = runs
    rehearsal.run_until(30.0)
    reloaded(rehearsal, [{"name": "nothing"}], False).run()
    assert rehearsal.steps("restore") == (["start"] if runs else []) + ["register"]
    assert rehearsal.unit_is_active is runs


def test_given_a_kill_at_any_point_when_the_next_start_has_no_policies_then_what_was_begun_is_undone() -> None:
    def life(kill_at: Optional[int]) -> Rehearsal:
        one = Rehearsal([LONG._replace(notice=40.0)], kill_at, 1.0, policy=dict(UNIT_POLICY, approve="never"))
        one.longest_journal = 9
        one.run_until(30.0)
        if kill_at is not None:
            one.config = parse_config({"policies": [{"name": "nothing"}], "quorum": QUORUM})
            if one.agent is not None:
                one.kill()
        return one.run()

    for kill_at, _back_after in life(None).kills(1.0):
        one = life(kill_at)
        assert not one.touched, kill_at
        assert one.unit_is_active, kill_at
        assert not one.state.is_out, kill_at


def test_given_a_journal_without_undo_records_when_the_event_is_over_then_the_present_plan_undoes_it() -> None:
    rehearsal = Rehearsal([LONG], policy=dict(UNIT_POLICY, approve="never"))
    rehearsal.run_until(30.0)
    rehearsal.kill()
    for record in rehearsal.records:
        record.pop("undo", None)
    rehearsal.run()
    assert rehearsal.steps("restore") == ["start", "register"]


def test_given_a_stop_that_was_not_checked_and_a_later_one_of_the_same_unit_when_restored_then_it_ran() -> None:
    again = {"stop": "web", "name": "stop"}
    rehearsal = Rehearsal([LONG], policy=dict(UNIT_POLICY, shutdown=[again, again], approve="never"))
    rehearsal.step_seconds["stop"] = 8.0
    rehearsal.tick_until(lambda: rehearsal.steps("shutdown") == ["stop", "stop"])
    rehearsal.kill()
    rehearsal.records = [record for record in rehearsal.records if record["kind"] != "found"]
    rehearsal.azure.happenings[0].ended = rehearsal.now
    rehearsal.run()
    assert rehearsal.steps("restore") == ["start", "register"]


def test_given_an_undo_when_written_and_read_then_it_is_the_same_and_what_is_new_in_it_is_left_out() -> None:
    steps = (
        Step(COMMAND, "start", 30.0, starts="web.service"),
        Step(WAIT_CONNECTIONS, "wait", 5.0, ports=(80,), ignored=("127.0.0.1",)),
        Step(HOOKS, "hooks", 300.0, hook_timeout=3.0),
    )
    undo = Undo(steps, (("web.service", "key"),))
    content = json.loads(json.dumps(undo_as_json(undo)))
    assert read_undo(content) == undo
    later = {"steps": [dict(each, mood="good") for each in content["steps"]], "stops": [["web.service", "key", 3]]}
    assert read_undo(dict(later, more=[])) == undo


def test_given_two_plans_when_both_were_begun_then_the_second_comes_last_and_nothing_twice() -> None:
    def plan(*names: str) -> Plan:
        return Plan("p", restore=tuple(Step(COMMAND, name, 1.0, (name,)) for name in names))

    undo = undo_of(plan("a", "b", "c")).left_over(undo_of(plan("d", "b")))
    assert [step.name for step in undo.steps] == ["a", "c", "d", "b"]


def test_given_a_step_that_starts_again_when_nothing_else_undoes_it_then_it_is_written_down_once() -> None:
    rehearsal = Rehearsal([LONG], policy=dict(POLICY, approve="never")).run()
    undone = [record["name"] for record in rehearsal.history if record["kind"] == "step_begun" and "undo" in record]
    assert undone == ["deregister"]
    assert replay(rehearsal.history) == apply(State(), *rehearsal.history)


def test_given_a_stopped_unit_and_a_step_that_fails_when_reported_then_both_are_named() -> None:
    rehearsal = Rehearsal([LONG], policy=dict(UNIT_POLICY, approve="never"))
    rehearsal.failing = {"wait"}
    rehearsal.run_until(90.0)
    ends = [record for record in rehearsal.told if record["kind"] == "stage" and record["state"] != "begun"]
    assert [(record["stage"], record["state"]) for record in ends] == [("drain", "failed"), ("shutdown", "succeeded")]
    assert ends[0]["failed"][0].startswith("wait: exit status 1")
    assert "stopped" not in ends[0]
    assert ends[1]["stopped"] == ["web.service"]
    time_of_it = datetime(2026, 1, 1, tzinfo=timezone.utc)
    texts = [fields_of(end["stage"], end, None, "web_0", "E-1", time_of_it)["text"] for end in ends]
    assert texts == [
        "web_0: drain failed (E-1); did not end well: wait: exit status 1",
        "web_0: shutdown succeeded (E-1); stopped: web.service",
    ]
