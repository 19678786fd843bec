# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does the loop do with what comes?

Runs on Python 3.6 and later.
"""

import functools
import gc
import itertools
import time
from datetime import datetime, timezone
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import pytest
from edge_helpers import COMPUTE, EVENTS, Clock, MetadataService
from foghorn_agent.act import running
from foghorn_agent.act.running import Running, StepContext
from foghorn_agent.config import Config, Imds, parse_config
from foghorn_agent.decide.decisions import Work
from foghorn_agent.decide.outcome import StepOutcome
from foghorn_agent.decide.policy import DRAIN
from foghorn_agent.decide.state import replay
from foghorn_agent.http.status import as_table
from foghorn_agent.io import log as levels
from foghorn_agent.io.clock import Clocks
from foghorn_agent.io.imds_session import ImdsSession
from foghorn_core.scheduled_events.dates import format_date
from foghorn_core.scheduled_events.document import Document
from foghorn_core.scheduled_events.errors import DocumentError, Refused
from rehearsal import (
    DEALLOCATED,
    POLICY,
    QUORUM,
    UNAPPROVED,
    UNHARMED,
    VM_NAME,
    Life,
    Rehearsal,
    fleet_of,
    tick_all,
)

# --- memory ---------------------------------------------------------------------------------------


def test_given_an_event_when_the_last_one_is_forgotten_then_and_only_then_memory_is_given_back() -> None:
    rehearsal = Rehearsal([Life("Freeze", linger=5.0), Life("Reboot", announced_at=300.0, event_id="E-2")])
    rehearsal.tick()
    had_events: List[Tuple[float, int]] = []

    def note(phase: str, info: Dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            had_events.append((rehearsal.now, len(rehearsal.state.tracked)))

    gc.disable()
    gc.callbacks.append(note)
    try:
        rehearsal.run()
        rehearsal.run_until(rehearsal.now + 100.0)
    finally:
        gc.callbacks.remove(note)
        gc.enable()

    assert [tracked for _at, tracked in had_events] == [0, 0]
    assert had_events[0][0] < 300.0 < had_events[1][0]


# --- nothing is configured ------------------------------------------------------------------------

# The natural choice on Spot: the other types are left to the default policies.
EVICTIONS: Dict[str, Any] = dict(POLICY, match={"event_types": ["Preempt"]})
HOOKS_ALONE: Dict[str, Any] = {stage: [{"hooks": True, "name": "hooks"}] for stage in ("drain", "shutdown", "restore")}
NOTHING = (
    "nothing is configured for %s: no policy has more than hooks for it, and no hook prepares this machine; it is not"
    " approved"
)


@pytest.mark.parametrize("policy", [EVICTIONS, dict(HOOKS_ALONE, approve="when_ready")])
def test_given_no_policy_and_no_hook_for_an_event_when_it_comes_then_nobody_approves_and_all_say_so(
    policy: Dict[str, Any],
) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=policy)
    rehearsal.run_until(590.0)
    assert not rehearsal.state.is_out
    status = rehearsal.status()
    assert [(one["nothing_configured"], one["ready"], one["willing"]) for one in status["events"]] == [
        (True, False, False)
    ]
    assert "withheld  E-1: %s\n" % (NOTHING % "Reboot") in as_table(status)
    assert rehearsal.messages().count("Reboot is not approved now: " + NOTHING % "Reboot") == 1

    # As for all that nobody approves, the drain begins five minutes before the start.
    rehearsal.run_until(700.0)
    assert rehearsal.state.is_out
    assert rehearsal.status()["events"][0]["nothing_configured"]
    rehearsal.run()
    assert rehearsal.approvals == []
    assert rehearsal.steps(DRAIN) == ["hooks"]


@pytest.mark.parametrize("stage", ["drain", "shutdown"])
def test_given_a_hook_and_no_policy_when_an_event_comes_then_it_is_approved_once_the_hook_has_succeeded(
    stage: str,
) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy={"match": {"event_types": ["Preempt"]}})
    rehearsal.stages_with_hooks.add(stage)
    rehearsal.run_until(4.0)
    assert not rehearsal.status()["events"][0]["nothing_configured"]
    rehearsal.run()
    assert [event_id for _at, event_id in rehearsal.approvals] == ["E-1"]
    assert rehearsal.approvals[0][0] < 30.0


def test_given_a_hook_that_failed_when_nothing_else_is_configured_then_it_is_not_said_that_there_is_none() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=60.0)], policy=EVICTIONS)
    rehearsal.stages_with_hooks.add("drain")
    rehearsal.failing.add("hooks")
    rehearsal.run_until(35.0)
    assert rehearsal.state.tracked[0].flawed
    assert not rehearsal.status()["events"][0]["nothing_configured"]
    rehearsal.run()
    assert rehearsal.approvals == []


def test_given_a_policy_of_hooks_alone_that_ignores_failures_when_the_hook_fails_then_it_is_approved() -> None:
    policy = dict(HOOKS_ALONE, approve="when_ready", on_failure="ignore")
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=policy)
    rehearsal.stages_with_hooks.add("drain")
    rehearsal.failing.add("hooks")
    rehearsal._steps_before.clear()
    rehearsal.run()
    assert [event_id for _at, event_id in rehearsal.approvals] == ["E-1"]


def test_given_a_hook_that_comes_after_its_stage_has_ended_when_ready_otherwise_then_nobody_approves() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=250.0)], policy=EVICTIONS)
    rehearsal.run_until(20.0)
    assert rehearsal.state.is_out
    rehearsal.stages_with_hooks.update(["drain", "shutdown"])
    rehearsal.run()
    assert rehearsal.approvals == []


@pytest.mark.parametrize("stages", [["drain"], []])
def test_given_an_agent_that_is_killed_anywhere_when_a_hook_or_none_prepares_then_it_approves_just_the_one(
    stages: List[str],
) -> None:
    for kill_at in range(1, 60, 3):
        policy = {"match": {"event_types": ["Preempt"]}}
        rehearsal = Rehearsal([Life("Reboot", notice=60.0)], kill_at=kill_at, policy=policy)
        rehearsal.stages_with_hooks.update(stages)
        rehearsal.longest_journal = 5
        rehearsal.run()
        assert bool(rehearsal.approvals) == bool(stages), kill_at


@pytest.mark.parametrize("event_type", ["Freeze", "Migrate"])
def test_given_an_event_that_the_default_never_approves_when_there_is_no_hook_then_that_is_reported(
    event_type: str,
) -> None:
    rehearsal = Rehearsal([Life(event_type, notice=400.0)], policy=EVICTIONS)
    rehearsal.run_until(20.0)
    assert NOTHING % event_type + "  E-1\n" in as_table(rehearsal.status())
    assert rehearsal.messages().count(NOTHING % event_type) == 1


def test_given_many_events_without_a_plan_when_the_loop_runs_then_each_directory_is_checked_once() -> None:
    lives = [Life("Reboot", notice=900.0, event_id="E-%d" % number) for number in range(50)]
    rehearsal = Rehearsal(lives, policy=EVICTIONS)
    rehearsal.run_until(10.0)
    looked_at: List[str] = []

    def has_hooks(stage: str) -> bool:
        looked_at.append(stage)
        return False

    rehearsal.running._approvals._has_hooks = has_hooks
    rehearsal.running.turn()
    assert sorted(looked_at) == ["drain", "shutdown"]


def test_given_a_custom_policy_without_steps_when_it_approves_then_it_means_it() -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=900.0)], policy={"approve": "when_ready"})
    rehearsal.tick_until(lambda: rehearsal.approvals)
    assert not rehearsal.status()["events"][0]["nothing_configured"]


def test_given_two_machines_of_which_one_has_nothing_configured_when_they_share_an_event_then_nobody_approves() -> None:
    lives = [Life("Reboot", notice=120.0, resources=("web_0", "web_1"))]
    one, other = fleet_of(["web_0", "web_1"], lives)
    other.config = one.config._replace(rules=tuple(rule for rule in one.config.rules if rule.plan.is_default))
    while one.now < 100.0:
        tick_all([one, other])
    assert one.approvals == other.approvals == []


# --- the pace -------------------------------------------------------------------------------------


def test_given_nothing_to_do_when_the_loop_runs_then_the_poll_continues_by_itself_and_the_loop_sleeps() -> None:
    rehearsal = Rehearsal()
    rehearsal.run_until(10.0)
    rehearsal.poll_worker.is_held = True
    rehearsal.tick()
    assert rehearsal.running.turn() == 10.0
    assert rehearsal.poll_worker.jobs[0] is None
    assert rehearsal.poll_worker.jobs[-1] == Document(rehearsal.azure.incarnation, ())


def test_given_a_record_that_the_disk_did_not_take_when_the_poll_continues_alone_then_the_loop_tries_again() -> None:
    rehearsal = Rehearsal()
    rehearsal.run_until(10.0)
    rehearsal.disk_is_full = True
    rehearsal.azure.incarnation += 1
    rehearsal.tick()
    assert rehearsal.running.turn() == 1.0


@pytest.mark.parametrize("what", ["an event", "an event that is over", "problem", "doubt"])
def test_given_an_event_in_progress_when_polled_then_the_loop_receives_each_answer(what: str) -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=20.0, linger=5.0)] if "event" in what else [])
    rehearsal.run_until(10.0)
    if what == "an event that is over":
        rehearsal.failing = {step["name"] for step in POLICY["restore"]}
        rehearsal.tick_until(lambda: any(one.over for one in rehearsal.state.tracked))
    elif what == "problem":
        rehearsal.silent = True
        rehearsal.tick(2.0)
    elif what == "doubt":
        rehearsal.azure.incarnation = 0
        rehearsal.tick(2.0)
    rehearsal.tick()
    assert rehearsal.poll_worker.jobs[-1] is None


def test_given_a_step_under_way_when_the_loop_runs_then_the_next_iteration_comes_soon() -> None:
    rehearsal = Rehearsal([Life("Reboot")])
    rehearsal.run_until(4.0)
    assert rehearsal.running.turn() < 0.5


def test_given_ten_minutes_without_events_when_polled_once_a_second_then_neither_log_nor_journal_grow() -> None:
    rehearsal = Rehearsal()
    rehearsal.run_until(5.0)
    said, written = list(rehearsal.log), list(rehearsal.history)
    rehearsal.run_until(605.0)
    assert len(rehearsal.poll_worker.jobs) >= 600
    assert rehearsal.log == said
    assert rehearsal.history == written


def test_given_a_poll_that_continues_by_itself_when_a_client_asks_then_what_it_heard_counts() -> None:
    rehearsal = Rehearsal()
    rehearsal.run_until(10.0)
    answered = len(rehearsal.poll_worker.jobs)
    rehearsal.poll_stats.unchanged, rehearsal.poll_stats.last_answer = 7, rehearsal.wall() + 7.0

    for _time in range(2):
        metrics = rehearsal.answer("/metrics")[1]
        assert 'foghorn_polls_total{result="answered"} %d.0\n' % (answered + 7) in metrics
        assert "foghorn_last_answer_timestamp_seconds %r\n" % rehearsal.poll_stats.last_answer in metrics
    last_answer = datetime.fromtimestamp(rehearsal.wall() + 7.0, timezone.utc)
    assert rehearsal.status()["last_answer"] == format_date(last_answer)


# --- IMDS with problems --------------------------------------------------------------------------------


def test_given_an_imds_that_fails_for_a_while_when_logged_then_once_when_it_begins_and_once_when_it_ends() -> None:
    rehearsal = Rehearsal()
    rehearsal.run_until(5.0)
    rehearsal.silent = True
    rehearsal.run_until(60.0)
    assert rehearsal.status()["problems"]["IMDS"] == "silent"
    rehearsal.silent = False
    rehearsal.run_until(65.0)
    assert rehearsal.status()["problems"]["IMDS"] is None
    assert rehearsal.messages("IMDS") == [
        "IMDS cannot be read: silent",
        "IMDS answers again",
    ]


def test_given_an_event_that_was_accepted_when_repeating_it_is_refused_then_it_is_not_sent_in_every_iteration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=600.0)])
    # Others have yet to agree, so that the event does not begin.
    monkeypatch.setattr(rehearsal.azure, "approve", lambda _event_id, _vm_name: None)
    rehearsal.run_until(30.0)
    assert len(rehearsal.approvals) == 1
    rehearsal.refusing = True
    rehearsal.run_until(400.0)
    sent = [record["at"] for record in rehearsal.written("approving")]
    assert len(sent) > 10
    assert min(later - at for at, later in zip(sent, sent[1:])) >= 2.0


def test_given_lost_approvals_when_they_are_repeated_then_at_increasing_intervals_up_to_half_a_minute() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)])
    rehearsal.lost_answers = 1000
    rehearsal.run_until(300.0)
    sent = [record["at"] for record in rehearsal.written("approving")]
    waits = [later - at for at, later in zip(sent, sent[1:])]
    assert waits[:4] == [2.0, 4.0, 8.0, 16.0]
    assert set(waits[4:]) == {30.0}


def test_given_an_approval_under_way_when_it_takes_long_then_no_other_is_sent() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=600.0)])
    rehearsal.lost_answers = 1
    rehearsal.run_until(11.0)
    rehearsal.approve_worker.is_held = True
    rehearsal.run_until(120.0)
    assert rehearsal.approve_worker.jobs == [["E-1"]]
    rehearsal.approve_worker.is_held = False
    rehearsal.run_until(125.0)
    assert len(rehearsal.approvals) == 1


def test_given_an_event_that_was_over_when_it_is_listed_again_then_it_is_prepared_again() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)])
    rehearsal.step_seconds["register"] = 60.0
    rehearsal.lost_answers = 1000
    rehearsal.run_until(20.0)
    # By an incarnation that goes on, so that there is no doubt.
    rehearsal.azure.hidden_until = 30.0
    rehearsal.run_until(29.0)
    assert rehearsal.steps("restore") == ["start", "register"]
    rehearsal.lost_answers = 0
    rehearsal.run_until(60.0)
    assert rehearsal.steps("shutdown") == ["stop", "stop"]
    assert len(rehearsal.approvals) == 1


def test_given_ten_thousand_events_of_others_when_one_is_ours_then_it_is_handled_in_time() -> None:
    lives = [Life("Reboot", event_id="X-%d" % index, resources=("db_%d" % index,)) for index in range(10000)]
    rehearsal = Rehearsal([*lives, Life("Reboot")])
    rehearsal.run_until(14.0)
    assert len(rehearsal.azure.listed) >= 10000
    assert rehearsal.approvals == [(12.0, "E-1")]
    assert [record["event"]["EventId"] for record in rehearsal.written("seen")] == ["E-1"]


def test_given_ten_thousand_events_of_ours_when_announced_at_once_then_each_iteration_of_the_loop_stays_short() -> None:
    lives = [Life("Freeze", notice=600.0, event_id="E-%d" % index) for index in range(10000)]
    rehearsal = Rehearsal(
        [*lives, Life("Preempt", announced_at=4.0, event_id="URGENT")], policy={"drain": [], "begin_before": 604800}
    )
    longest = 0.0
    for _second in range(6):
        began = time.process_time()
        rehearsal.tick()
        longest = max(longest, time.process_time() - began)
    assert [record["kind"] for record in rehearsal.history].count("stage") == 2 * 10001
    assert rehearsal.status()["events"][-1]["event_id"] == "URGENT"
    assert all(event["phase"] == "ready" for event in rehearsal.status()["events"])
    # The limit for six iterations, with the rehearsed Azure's own work. Scanning all events in each would take minutes.
    assert longest < 60.0


# --- steps ------------------------------------------------------------------------------------------


def test_given_a_restore_step_that_fails_then_it_is_retried_at_increasing_intervals_until_it_succeeds() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=30.0, linger=5.0)])
    rehearsal.failing = {"register"}
    rehearsal.run_until(300.0)
    tried = [at for at, _stage, name in rehearsal.steps_begun if name == "register"]
    waits = [later - at for at, later in zip(tried, tried[1:])]
    assert len(waits) >= 3
    assert waits == sorted(waits)
    assert waits[0] >= 5.0
    rehearsal.failing = set()
    rehearsal.run_until(1000.0)
    assert rehearsal.restored == 1
    assert rehearsal.steps().count("start") == 1


def test_given_an_event_far_ahead_that_nobody_may_approve_when_it_is_near_then_the_drain_begins() -> None:
    rehearsal = Rehearsal([Life("Redeploy", notice=1000.0)], policy=dict(POLICY, approve="never"))
    rehearsal.run_until(700.0)
    assert not rehearsal.state.is_out
    assert rehearsal.steps() == []
    rehearsal.run_until(704.0)
    assert rehearsal.state.is_out
    rehearsal.run_until(720.0)
    assert rehearsal.steps() == ["deregister", "wait", "stop"]


def test_given_a_policy_that_says_when_to_begin_when_it_approves_then_it_begins_and_approves_then() -> None:
    rehearsal = Rehearsal([Life("Redeploy", notice=1000.0)], policy=dict(POLICY, begin_before=100))
    rehearsal.run_until(902.0)
    assert rehearsal.steps() == []
    rehearsal.run_until(920.0)
    assert rehearsal.steps() == ["deregister", "wait", "stop"]
    assert len(rehearsal.approvals) == 1


@pytest.mark.parametrize("change", [{"event_status": "Started"}, {"not_before": None}])
def test_given_an_event_that_may_begin_at_any_moment_when_nobody_may_approve_it_then_the_drain_begins_at_once(
    change: Dict[str, Any],
) -> None:
    rehearsal = Rehearsal([Life("Redeploy", notice=1000.0)], policy=dict(POLICY, approve="never"))
    rehearsal.run_until(20.0)
    as_event = rehearsal.happenings[0].as_event
    rehearsal.happenings[0].as_event = lambda: as_event()._replace(**change)  # type: ignore[method-assign]
    rehearsal.run_until(22.0)
    assert rehearsal.state.is_out


def test_given_a_drain_that_has_begun_when_the_start_is_put_off_then_it_continues() -> None:
    rehearsal = Rehearsal([Life("Redeploy", notice=302.0)], policy=dict(POLICY, approve="never"))
    rehearsal.run_until(6.0)
    assert rehearsal.steps() == ["deregister"]
    happening = rehearsal.happenings[0]
    happening.life = happening.life._replace(notice=5000.0)
    rehearsal.run_until(30.0)
    assert rehearsal.steps() == ["deregister", "wait", "stop"]


def test_given_an_event_of_days_ahead_when_another_is_over_then_the_machine_is_restored_in_between() -> None:
    lives = [Life("Redeploy", notice=2000.0, event_id="LATER"), Life("Freeze", notice=20.0, linger=5.0)]
    rehearsal = Rehearsal(lives, policy=dict(POLICY, approve="never"))
    rehearsal.run_until(60.0)
    assert rehearsal.restored == 1
    assert not rehearsal.state.is_out


@pytest.mark.parametrize("seconds", [-3600.0, 3600.0])
def test_given_a_clock_that_is_corrected_when_a_drain_is_put_off_then_it_begins_by_the_right_time(
    seconds: float,
) -> None:
    rehearsal = Rehearsal([Life("Redeploy", notice=500.0)], policy=dict(POLICY, approve="never"))
    # Until it is put right, the clock says something else.
    rehearsal.wall_step = -seconds
    rehearsal.run_until(10.0)
    rehearsal.wall_step = 0.0
    if seconds > 0:
        rehearsal.run_until(202.0)
        assert rehearsal.steps() == []
    rehearsal.run_until(205.0)
    assert rehearsal.steps()[:1] == ["deregister"]


def test_given_a_step_that_fails_once_when_it_is_tried_again_then_the_event_is_approved() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)])
    rehearsal.failing = {"deregister"}
    rehearsal.run_until(7.0)
    rehearsal.failing = set()
    rehearsal.run_until(30.0)
    assert rehearsal.steps() == ["deregister", "deregister", "wait", "stop"]
    assert len(rehearsal.approvals) == 1
    assert [record["kind"] for record in rehearsal.history].count("step_tried") == 1


def test_given_a_step_that_keeps_failing_then_it_is_retried_at_increasing_intervals_within_its_time() -> None:
    rehearsal = Rehearsal([Life("Preempt", notice=30.0)])
    rehearsal.step_seconds = dict.fromkeys(rehearsal.step_seconds, 0.0)
    rehearsal.failing = {"deregister"}
    rehearsal.run_until(32.0)
    tried = [at for at, _stage, name in rehearsal.steps_begun if name == "deregister"]
    assert [later - at for at, later in zip(tried, tried[1:])] == [1.0, 2.0, 4.0]
    assert rehearsal.steps()[-2:] == ["wait", "stop"]
    ended = [record["name"] for record in rehearsal.written("step_ended")]
    assert ended == ["deregister", "wait", "stop"]
    assert rehearsal.approvals == []


def test_given_a_step_that_waits_to_be_tried_again_when_an_eviction_comes_then_that_goes_first() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0), Life("Preempt", announced_at=70.0, event_id="URGENT")])
    rehearsal.failing = {"deregister"}
    rehearsal.step_seconds["deregister"] = 0.0
    rehearsal.run_until(55.0)
    rehearsal.failing = set()
    rehearsal.run_until(71.0)
    begun = rehearsal.written("step_begun")
    assert begun[-1]["event_id"] == "URGENT"


def test_given_a_step_under_way_when_its_event_comes_nearer_then_it_is_cut_short() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=UNAPPROVED)
    rehearsal.step_seconds["wait"] = 55.0
    rehearsal.run_until(10.0)
    happening = rehearsal.happenings[0]
    happening.life = happening.life._replace(notice=20.0)
    rehearsal.run_until(22.0)
    ended = rehearsal.written("step_ended")
    assert [(record["name"], record["succeeded"]) for record in ended] == [("deregister", True), ("wait", False)]


@pytest.mark.parametrize("is_reloaded", [False, True])
def test_given_a_started_event_when_polled_or_reloaded_then_the_half_minute_does_not_begin_again(
    is_reloaded: bool,
) -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=0.0, linger=120.0)])
    rehearsal.step_seconds = dict.fromkeys(rehearsal.step_seconds, 55.0)
    rehearsal.silent = True
    rehearsal.run_until(10.0)
    rehearsal.silent = False
    rehearsal.run_until(20.0)
    if is_reloaded:
        rehearsal.running.use(rehearsal.config)
    rehearsal.run_until(43.0)
    assert [record["name"] for record in rehearsal.written("step_ended")] == ["deregister", "wait", "stop"]


def test_given_steps_that_take_no_time_when_an_event_is_seen_then_all_of_them_run_in_that_iteration() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)])
    rehearsal.step_seconds = dict.fromkeys(rehearsal.step_seconds, 0.0)
    rehearsal.run_until(3.0)
    assert rehearsal.steps() == ["deregister", "wait", "stop"]
    assert rehearsal.approvals == [(3.0, "E-1")]


def test_given_a_step_under_way_when_the_agent_stops_then_it_is_ended_and_its_end_is_waited_for() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)])
    rehearsal.run_until(4.0)
    agent = rehearsal.running
    assert not agent.is_idle()
    agent.stop()
    assert agent.is_idle()


EVICTED = [Life("Reboot", notice=900.0), Life("Preempt", notice=30.0, announced_at=10.0, event_id="URGENT")]


@pytest.mark.parametrize(("dying_seconds", "latest"), [(0.0, 10.0), (0.3, 10.4), (60.0, 10.6)])
def test_given_a_step_that_will_not_end_when_an_eviction_takes_over_then_its_own_begin_after_it_and_within_a_second(
    dying_seconds: float, latest: float
) -> None:
    rehearsal = Rehearsal(EVICTED, policy=UNAPPROVED)
    rehearsal.step_seconds["wait"] = 55.0
    rehearsal.dying_seconds = dying_seconds
    rehearsal.run_until(10.0)
    for _tenth in range(20):
        rehearsal.tick(0.1)
    begun = [(at, name) for at, _stage, name in rehearsal.steps_begun if at >= 10.0]
    assert begun[0][1] == "deregister"
    assert 10.0 + min(dying_seconds, 0.5) <= begun[0][0] <= latest + 0.001
    assert rehearsal.messages().count("drain: wait is ended: taken over by a more urgent event") == 1
    # What was taken over has neither succeeded nor failed.
    assert [record["name"] for record in rehearsal.written("step_ended")] == ["deregister"]


def test_given_a_step_that_will_not_end_when_its_event_is_withdrawn_then_the_restore_waits_for_its_end() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0, withdrawn_after=7.0)], policy=UNAPPROVED)
    rehearsal.step_seconds["wait"] = 55.0
    rehearsal.dying_seconds = 60.0
    rehearsal.run_until(40.0)
    assert next((at, name) for at, stage, name in rehearsal.steps_begun if stage == "restore") == (15.0, "start")
    assert rehearsal.restored == 1


def test_given_a_step_that_is_ending_when_an_eviction_comes_then_it_is_killed_sooner() -> None:
    lives = [
        Life("Reboot", notice=900.0, event_id="LATE"),
        Life("Reboot", notice=100.0, announced_at=9.0, event_id="SOONER"),
        Life("Preempt", notice=30.0, announced_at=10.0, event_id="URGENT"),
    ]
    rehearsal = Rehearsal(lives, policy=UNAPPROVED)
    rehearsal.step_seconds["wait"] = 55.0
    rehearsal.dying_seconds = 60.0
    rehearsal.run_until(10.0)
    for _tenth in range(10):
        rehearsal.tick(0.1)
    begun = [record["event_id"] for record in rehearsal.written("step_begun")]
    assert begun == ["LATE", "LATE", "URGENT"]


def test_given_a_step_of_an_event_that_is_forgotten_when_it_ends_then_nothing_happens() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)])
    rehearsal.run_until(4.0)
    agent = rehearsal.running
    assert agent._work._running is not None
    work = agent._work._running.work
    # Its place was taken by another machine's identity in the meantime.
    agent._recorder.state = agent.state._replace(tracked=())
    written = list(rehearsal.history)
    agent._work._note_outcome(work, StepOutcome(True, "", "", 1.0))
    assert rehearsal.history == written


# --- a configuration that changes in the middle -------------------------------------------------------


def changed(rehearsal: Rehearsal, **stages: Any) -> Rehearsal:
    """Restart the agent with another policy."""
    rehearsal.config = parse_config({"policies": [dict(POLICY, **stages)], "quorum": QUORUM})
    rehearsal.kill()
    return rehearsal


FLUSH = {"command": ["/bin/flush"], "name": "flush"}


def test_given_a_drain_under_way_when_a_step_is_put_before_those_that_are_done_then_it_runs_and_they_do_not() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=UNAPPROVED)
    rehearsal.run_until(7.0)
    assert rehearsal.steps("drain") == ["deregister", "wait"]
    changed(rehearsal, drain=[FLUSH, *POLICY["drain"]]).run_until(60.0)
    assert rehearsal.steps("drain") == ["deregister", "wait", "flush", "wait"]


def test_given_a_machine_that_is_ready_when_a_stage_gets_another_step_then_it_is_ready_once_that_has_run_too() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=UNAPPROVED)
    rehearsal.run_until(30.0)
    assert [one["ready"] for one in rehearsal.status()["events"]] == [True]
    rehearsal.step_seconds["flush"] = 20.0
    changed(rehearsal, shutdown=[*POLICY["shutdown"], FLUSH]).run_until(35.0)
    assert [(one["phase"], one["ready"]) for one in rehearsal.status()["events"]] == [("shutdown", False)]
    assert rehearsal.approvals == []
    rehearsal.run_until(60.0)
    assert rehearsal.steps() == ["deregister", "wait", "stop", "flush"]
    assert len(rehearsal.approvals) == 1


def test_given_a_restore_that_fails_when_its_step_is_corrected_then_the_new_one_runs() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=30.0, linger=5.0)])
    rehearsal.failing = {"register"}
    rehearsal.run_until(100.0)
    corrected = {"command": ["/bin/register", "--force"], "name": "register"}
    rehearsal.failing = set()
    changed(rehearsal, restore=[POLICY["restore"][0], corrected]).run_until(110.0)
    assert rehearsal.restored == 1
    assert rehearsal.steps().count("start") == 1


# --- the journal with problems -------------------------------------------------------------------------


FULL = "the journal cannot be written: No space left on device"


AWAY = "the journal is away"


@pytest.mark.parametrize(("trouble", "since", "problem"), [("disk_is_full", 1.0, FULL), ("journal_is_away", 0.0, AWAY)])
def test_given_a_journal_that_cannot_be_written_when_an_event_comes_then_it_is_approved_only_once_it_is_written_down(
    trouble: str, since: float, problem: str
) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=300.0)])
    rehearsal.run_until(since)
    setattr(rehearsal, trouble, True)
    rehearsal.run_until(100.0)
    assert rehearsal.steps() == ["deregister", "wait", "stop"]
    assert rehearsal.approve_worker.jobs == []
    status = rehearsal.status()
    assert status["problems"]["journal"] == problem
    assert [event["ready"] for event in status["events"]] == [False]
    assert rehearsal.messages(priority=levels.ERROR) == [problem + ": nothing is approved until it can be"]
    assert rehearsal.answer("/healthz") == (200, "running\njournal: %s\n" % problem)
    metrics = rehearsal.answer("/metrics")[1]
    assert 'foghorn_problems{with="journal"} 1.0\n' in metrics
    assert "foghorn_journal_unwritten 0.0" not in metrics
    assert len(rehearsal.poll_worker.jobs) == 100

    setattr(rehearsal, trouble, False)
    rehearsal.run_until(101.0)
    assert rehearsal.status()["problems"]["journal"] is None
    assert "the journal can be written again" in rehearsal.messages()
    assert rehearsal.approvals == [(101.0, "E-1")]
    assert [record["kind"] for record in rehearsal.history].count("seen") == 1


def test_given_a_disk_that_is_full_when_the_approval_is_due_then_it_is_sent_once_it_is_written_down() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=300.0)])
    rehearsal.run_until(11.0)
    agent = rehearsal.running
    journal = agent._edges.journal
    write = journal.append

    def full_from_the_approval_on(*records: Any) -> Optional[str]:
        rehearsal.disk_is_full = rehearsal.disk_is_full or any(record["kind"] == "approving" for record in records)
        return write(*records)

    journal.append = full_from_the_approval_on  # type: ignore[method-assign]
    rehearsal.run_until(50.0)
    assert rehearsal.approve_worker.jobs == []
    journal.append = write  # type: ignore[method-assign]
    rehearsal.disk_is_full = False
    rehearsal.run_until(52.0)
    assert rehearsal.approvals == [(51.0, "E-1")]


def test_given_a_journal_that_is_large_when_it_starts_again_then_a_kill_after_it_loses_nothing() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=300.0, linger=60.0)])
    rehearsal.longest_journal = 3
    rehearsal.run_until(10.0)
    rehearsal.kill()
    rehearsal.run()
    assert rehearsal.restored == 1
    assert len(rehearsal.records) <= 5 < len(rehearsal.history)


def test_given_a_machine_out_of_rotation_when_its_journal_comes_back_late_then_it_is_restored_anyway() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=60.0, linger=30.0)])
    rehearsal.run_until(20.0)
    assert rehearsal.state.is_out
    rehearsal.back_after = 100.0
    rehearsal.kill()
    rehearsal.journal_is_away = True
    rehearsal.run_until(140.0)
    assert rehearsal.azure.is_over
    assert rehearsal.restored == 0
    rehearsal.journal_is_away = False
    rehearsal.tick_until(lambda: rehearsal.restored)
    assert not rehearsal.state.is_out
    rehearsal.tick(1.0)
    assert replay(rehearsal.records) == rehearsal.state


def test_given_a_journal_that_stays_away_when_much_happens_then_what_is_kept_for_it_stays_bounded() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=UNAPPROVED)
    rehearsal.journal_is_away = True
    rehearsal.run_until(20.0)
    recorder = rehearsal.running._recorder
    for _time in range(3):
        recorder.commit(*({"kind": "clock", "by": 0.0} for _record in range(900)))
        rehearsal.tick()
    assert len(recorder.unwritten) <= 1000
    assert replay(recorder.unwritten) == rehearsal.state


# --- another configuration --------------------------------------------------------------------------


def test_given_a_drain_under_way_when_another_configuration_is_used_then_what_is_still_wanted_runs_on() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=300.0)])
    rehearsal.run_until(4.0)
    assert rehearsal.steps() == ["deregister"]
    flush = {"command": ["/bin/flush"], "name": "flush"}
    shutdown = [*POLICY["shutdown"], flush]
    rehearsal.running.use(parse_config({"policies": [dict(POLICY, approve="when_ready", shutdown=shutdown)]}))
    rehearsal.run_until(30.0)
    assert rehearsal.steps() == ["deregister", "wait", "stop", "flush"]
    assert [event_id for _at, event_id in rehearsal.approvals] == ["E-1"]


def test_given_a_drain_put_off_when_the_new_configuration_wants_it_at_once_then_it_begins() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=3000.0)], policy=dict(POLICY, begin_before=300))
    rehearsal.run_until(20.0)
    assert rehearsal.steps() == []
    rehearsal.running.use(parse_config({"policies": [dict(POLICY, approve="when_ready")]}))
    rehearsal.run_until(22.0)
    assert rehearsal.steps() == ["deregister"]


def test_given_a_longer_margin_when_the_configuration_is_used_then_what_is_running_ends_the_sooner() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=100.0)], policy=UNAPPROVED)
    rehearsal.step_seconds["deregister"] = 1000.0
    rehearsal.run_until(10.0)
    rehearsal.running.use(parse_config({"policies": [dict(UNAPPROVED, margin=80)]}))
    rehearsal.run_until(45.0)
    assert "wait" in rehearsal.steps()


# --- who this machine is ----------------------------------------------------------------------------


def test_given_a_first_start_then_no_boot_is_reported() -> None:
    rehearsal = Rehearsal()
    rehearsal.run_until(5.0)
    assert "the machine has booted" not in rehearsal.messages()
    assert [record["kind"] for record in rehearsal.told] == ["identity"]
    rehearsal.reboot(2.0)
    rehearsal.run_until(10.0)
    assert rehearsal.messages().count("the machine has booted") == 1
    assert [record["kind"] for record in rehearsal.told] == ["identity", "boot"]


def test_given_a_clone_when_it_boots_with_an_event_then_the_boot_is_noticed() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=UNAPPROVED)
    rehearsal.records = [
        {"kind": "boot", "boot_id": "boot-of-the-original", "at": 0.0},
        {"kind": "identity", "vm_id": "the original", "vm_name": "web_7", "at": 0.0},
    ]
    rehearsal.run_until(20.0)
    assert rehearsal.state.vm_id == "id of web_0"
    rehearsal.reboot(1.0)
    rehearsal.run_until(40.0)
    assert rehearsal.steps("shutdown") == ["stop", "stop"]


def test_given_a_machine_out_of_rotation_when_imds_does_not_say_its_id_then_nothing_is_forgotten() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=UNAPPROVED)
    rehearsal.run_until(10.0)
    known, rehearsal.vm_id = rehearsal.vm_id, None
    rehearsal.kill()
    rehearsal.run_until(20.0)
    assert rehearsal.state.is_out
    assert rehearsal.state.vm_id == known
    assert rehearsal.steps("drain") == ["deregister", "wait"]


# --- the session ---------------------------------------------------------------------------------------


NO_EVENTS = (200, {"DocumentIncarnation": 3, "Events": []})


def session(url: str, vm_name: Optional[str] = None) -> ImdsSession:
    # A clock that stands still: no answer here is waited for.
    return ImdsSession(Config(imds=Imds(endpoint=url, vm_name=vm_name)), Clocks(Clock(), Clock()))


def test_given_the_first_poll_when_it_was_answered_then_who_this_machine_is_is_not_asked_again() -> None:
    with MetadataService({COMPUTE: (200, {"name": "web_0", "vmId": "abc"}), EVENTS: NO_EVENTS}) as imds:
        one = session(imds.url)
        assert one.poll(None)[:2] == ("abc", "web_0")
        assert one.poll(None).document.incarnation == 3
        assert imds.asked == [COMPUTE, EVENTS, EVENTS]


def test_given_a_document_that_is_known_when_polled_then_it_is_asked_on_at_the_pace_until_another_comes() -> None:
    slept: List[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            imds.answers[EVENTS] = (200, {"DocumentIncarnation": 4, "Events": []})

    with MetadataService({COMPUTE: (200, {"name": "web_0"}), EVENTS: NO_EVENTS}) as imds:
        wall = Clock()
        one = ImdsSession(Config(imds=Imds(endpoint=imds.url, poll_interval=0.5)), Clocks(Clock(), wall), sleep)
        known = one.poll(None).document
        assert one.poll_stats.unchanged == 0
        assert one.poll(known).document.incarnation == 4
    assert slept == [0.5, 0.5, 0.5]
    assert (one.poll_stats.unchanged, one.poll_stats.last_answer) == (3, wall())


def test_given_a_session_that_was_closed_when_polled_then_it_is_asked_no_more_than_once() -> None:
    with MetadataService({COMPUTE: (200, {"name": "web_0"}), EVENTS: NO_EVENTS}) as imds:
        one = session(imds.url)
        known = one.poll(None).document
        one.close()
        assert one.poll(known).document is known
        assert imds.asked == [COMPUTE, EVENTS, EVENTS]


def test_given_a_configured_name_when_polled_then_it_takes_precedence_over_what_imds_says() -> None:
    with MetadataService({COMPUTE: (200, {"name": "web_0", "vmId": 5}), EVENTS: NO_EVENTS}) as imds:
        poll = session(imds.url, "web_9").poll(None)
        assert (poll[:2], poll.other_name) == ((None, "web_9"), "web_0")
        assert session(imds.url, "WEB_0").poll(None).other_name is None


@pytest.mark.parametrize("compute", [(404, {}), (500, {}), (200, [])])
def test_given_unavailable_metadata_when_a_name_is_configured_then_it_is_sufficient(compute: Tuple[int, Any]) -> None:
    # Each read of this clock is half a second later than the last, so that there is little to wait for.
    monotonic = functools.partial(next, itertools.count(0.0, 0.5))
    with MetadataService({COMPUTE: compute, EVENTS: NO_EVENTS}) as imds:
        one = ImdsSession(Config(imds=Imds(endpoint=imds.url, vm_name="web_9")), Clocks(monotonic, Clock()))
        assert one.poll(None)[:2] == (None, "web_9")
        asked = len(imds.asked)
        one.poll(None)
        assert imds.asked[asked:] == [EVENTS]


def test_given_an_imds_without_instance_metadata_when_no_name_is_configured_then_it_is_an_error() -> None:
    with pytest.raises(Refused), MetadataService({COMPUTE: (404, {}), EVENTS: NO_EVENTS}) as imds:
        session(imds.url).poll(None)


@pytest.mark.parametrize("compute", [{}, {"name": ""}, {"name": 3}])
def test_given_an_imds_that_does_not_say_the_name_when_polled_then_the_error_names_the_remedy(compute: Any) -> None:
    error = pytest.raises(DocumentError, match=r"set imds\.vm_name")
    with error, MetadataService({COMPUTE: (200, compute), EVENTS: NO_EVENTS}) as imds:
        session(imds.url).poll(None)


def test_given_events_to_approve_when_they_arrived_then_the_session_says_which() -> None:
    with MetadataService({EVENTS: (200, {})}) as imds:
        assert session(imds.url).approve(["E-1", "E-2"]) == ["E-1", "E-2"]


# --- what others see --------------------------------------------------------------------------------


def test_given_a_drain_when_it_begins_then_the_probe_fails_and_when_the_machine_is_restored_it_succeeds() -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=20.0, linger=10.0)])
    seen: List[Tuple[float, Optional[int]]] = []
    while len(seen) < 120:
        rehearsal.tick()
        seen.append((rehearsal.now, rehearsal.answer("/readyz")[0] if rehearsal.agent else None))
    out = [now for now, status in seen if status == 503]
    assert out[0] == 3.0
    assert [status for now, status in seen if now < out[0] or now > out[-1]].count(200) == len(seen) - len(out)
    assert rehearsal.restored == 1


def test_given_a_missing_path_when_asked_then_there_is_no_answer() -> None:
    rehearsal = Rehearsal()
    rehearsal.run_until(1.0)
    assert rehearsal.running.respond("/drain") is None


def test_given_an_event_when_it_is_handled_then_each_change_is_reported_and_logged_once() -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=60.0)])
    rehearsal.run()
    told = [record.get("stage", record["kind"]) for record in rehearsal.told]
    assert told == [
        "identity", "seen", "drain", "drain", "shutdown", "shutdown", "approving", "approved", "changed",
        "over", "restore", "restore",
    ]  # fmt: skip
    assert "Freeze of %s is announced: Scheduled" % VM_NAME in rehearsal.messages()
    assert "the event is over: ended" in rehearsal.messages()
    assert "approving E-1" in rehearsal.messages()


# --- how it ended -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("life", "outcome"),
    [
        (Life("Reboot", notice=30.0), "completed"),
        (Life("Reboot", notice=300.0, withdrawn_after=10.0), "withdrawn"),
        (Life("Preempt", notice=30.0, impact=60.0, fate=DEALLOCATED), "survived"),
        (Life("Terminate", notice=30.0, fate=UNHARMED), "survived"),
    ],
)
def test_given_an_event_that_is_over_when_the_machine_is_restored_then_all_are_notified_how_it_ended(
    life: Life, outcome: str
) -> None:
    rehearsal = Rehearsal([life], policy=UNAPPROVED)
    works: List[Work] = []
    begins = rehearsal.step_begins
    rehearsal.step_begins = lambda work: (works.append(work), begins(work))[1]  # type: ignore[method-assign, func-returns-value]
    rehearsal.run_until(500.0)
    assert {work.outcome for work in works if work.stage == "restore"} == {outcome}
    assert {work.outcome for work in works if work.stage != "restore"} == {""}
    told = [record for record in rehearsal.told if record.get("stage") == "restore"]
    assert [record["state"] for record in told] == ["begun", "succeeded"]
    back_from = [{"event_id": "E-1", "event_type": life.event_type, "outcome": outcome}]
    assert [record["back_from"] for record in told] == [back_from, back_from]
    assert "restore succeeded: %s E-1 %s" % (life.event_type, outcome) in rehearsal.messages()


def test_given_two_events_when_the_machine_is_restored_once_then_it_is_reported_how_each_ended() -> None:
    rehearsal = Rehearsal(
        [Life("Freeze", notice=60.0), Life("Reboot", notice=300.0, withdrawn_after=120.0, event_id="E-2")],
        policy=UNAPPROVED,
    )
    rehearsal.run()
    (done,) = [record for record in rehearsal.told if record.get("stage") == "restore" and record["state"] != "begun"]
    assert [(one["event_id"], one["outcome"]) for one in done["back_from"]] == [
        ("E-1", "completed"),
        ("E-2", "withdrawn"),
    ]


# --- how long it took -------------------------------------------------------------------------------


def seconds_of(rehearsal: Rehearsal, stage: str, result: str = "succeeded") -> Tuple[float, int]:
    labels = '{stage="%s",result="%s"} ' % (stage, result)
    text = rehearsal.answer("/metrics")[1]
    total, count = (text.partition("foghorn_stage_seconds_%s%s" % (what, labels))[2] for what in ("sum", "count"))
    return float(total.split()[0]), int(count.split()[0])


def test_given_an_event_that_was_handled_when_asked_then_the_metrics_show_how_long_each_stage_took() -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=60.0)])
    rehearsal.run()
    assert seconds_of(rehearsal, "drain") == (5.0, 1)
    assert seconds_of(rehearsal, "shutdown") == (4.0, 1)
    assert seconds_of(rehearsal, "restore") == (5.0, 1)


def test_given_a_stage_that_fails_when_asked_then_it_is_counted_by_itself() -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=20.0)])
    rehearsal.step_seconds["wait"] = 100.0
    rehearsal.run()
    assert seconds_of(rehearsal, "drain") == (0.0, 0)
    assert seconds_of(rehearsal, "drain", "failed")[1] == 1


def test_given_a_drain_by_hand_when_asked_then_it_counts_from_when_it_was_asked_for() -> None:
    rehearsal = Rehearsal()
    rehearsal.run_until(5.0)
    rehearsal.ask("drain")
    rehearsal.run_until(20.0)
    assert seconds_of(rehearsal, "drain") == (6.0, 1)


# --- a dry run --------------------------------------------------------------------------------------


def test_given_a_dry_run_when_an_event_comes_then_it_is_only_said_what_would_be_done() -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=60.0)], settings={"dry_run": True})
    rehearsal.run_until(10.0)
    assert rehearsal.steps_begun == []
    assert rehearsal.approvals == []
    assert rehearsal.answer("/readyz") == (200, "in rotation; dry run: would be out of rotation\n")
    assert rehearsal.answer("/healthz") == (200, "running\ndry run: nothing is done\n")
    assert rehearsal.messages().count("would approve Freeze") == 1
    status = rehearsal.status()
    assert (status["in_rotation"], status["dry_run"]) == (True, {"in_rotation": False})
    assert as_table(status).startswith("web_0  in rotation  DRY RUN: nothing is done, or it would be OUT OF ROTATION\n")
    metrics = rehearsal.answer("/metrics")[1].splitlines()
    assert {"foghorn_dry_run 1.0", "foghorn_in_rotation 1.0"} <= set(metrics)
    assert 'foghorn_dry_run_would_total{what="drain"} 2.0' in metrics
    assert 'foghorn_dry_run_would_total{what="approve"} 1.0' in metrics
    # Nothing that looks like work that was done.
    assert not [line for line in metrics if line.startswith(("foghorn_steps_total", "foghorn_approvals_total"))]
    assert 'foghorn_stage_seconds_count{stage="drain",result="succeeded"} 0' in metrics
    # What it does not approve begins at its NotBefore.
    assert rehearsal.run().happenings[0].started == 63.0
    assert rehearsal.answer("/readyz") == (200, "in rotation; dry run: would be in rotation\n")
    assert "restore succeeded: Freeze E-1 completed" in rehearsal.messages()


def test_given_a_dry_run_when_a_check_of_the_application_fails_then_the_probe_still_answers_200() -> None:
    check = {"tcp": 1, "name": "web", "failures": 1}
    rehearsal = Rehearsal(settings={"dry_run": True, "ready_checks": [check]})
    rehearsal.run_until(3.0)
    answer = rehearsal.answer("/readyz")
    rehearsal.running.stop()
    assert answer == (200, "in rotation; dry run: would be not ready: web\n")


def test_given_a_dry_run_when_other_members_ask_then_they_hear_neither_ready_nor_willing() -> None:
    names = ("web_0", "web_1")
    dry, other = fleet_of(names, [Life("Reboot", notice=100.0, resources=names)])
    dry.config = dry.config._replace(dry_run=True)
    tick_all([dry, other], 40)
    (event,) = dry.status()["events"]
    assert (event["ready"], event["willing"], event["approves"]) == (False, False, False)
    assert other.status()["events"][0]["ready"] is True
    assert other.approvals == dry.approvals == []
    assert "would approve Reboot" in dry.messages()


def test_given_a_dry_run_when_a_manual_command_is_given_then_the_answer_says_that_nothing_is_done() -> None:
    rehearsal = Rehearsal(settings={"dry_run": True})
    rehearsal.run_until(3.0)
    assert rehearsal.ask("drain") == "dry run: would be: out of rotation until it is restored by hand"


def test_given_a_dry_run_that_is_wanted_when_what_was_begun_continues_then_nothing_is_approved() -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=60.0)])
    rehearsal.run_until(4.0)
    rehearsal.running.note_dry_run(True)
    rehearsal.run_until(30.0)
    assert rehearsal.steps() == ["deregister", "wait", "stop"]
    assert rehearsal.status()["events"][0]["withheld"] == "a dry run is requested"
    rehearsal.run()
    assert rehearsal.approvals == []
    assert rehearsal.restored == 1


# --- a service that counts from the start -------------------------------------------------------------


@pytest.mark.parametrize("is_killed", [False, True])
def test_given_an_event_that_is_missing_under_the_same_number_when_polled_then_it_has_time_to_be_listed_again(
    is_killed: bool,
) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=UNAPPROVED)
    rehearsal.run_until(60.0)
    if is_killed:
        rehearsal.kill()
    number = rehearsal.azure.incarnation
    rehearsal.azure.forget(200.0)
    rehearsal.azure.incarnation = number
    rehearsal.run_until(250.0)
    assert rehearsal.state.tracked[0].over is None
    rehearsal.run_until(300.0)
    assert rehearsal.steps("restore") == []


def test_given_an_event_that_stays_missing_under_the_same_number_when_five_minutes_are_over_then_so_is_it() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=UNAPPROVED)
    rehearsal.run_until(60.0)
    number = rehearsal.azure.incarnation
    rehearsal.azure.forget(2000.0)
    rehearsal.azure.incarnation = number
    rehearsal.run_until(355.0)
    assert rehearsal.steps("restore") == []
    rehearsal.run_until(375.0)
    assert rehearsal.restored == 1


# --- hooks ------------------------------------------------------------------------------------------


class HookChild:
    """A hook of a rehearsed machine: takes its time by the clock of the rehearsal."""

    fileno = staticmethod(lambda: -1)

    def __init__(
        self,
        rehearsal: "HookRehearsal",
        argv: List[str],
        limit: float,
        reason: str,
        clock: Callable[[], float],
        is_cut: bool,
    ) -> None:
        self.argv = argv
        self._rehearsal = rehearsal
        self._clock = clock
        self._began = clock()
        self._limit, self._reason, self._is_cut = limit, reason, is_cut
        rehearsal.hooks_begun.append((clock(), argv[0]))

    def poll(self) -> Optional[StepOutcome]:
        took = self._clock() - self._began
        wanted = self._rehearsal.hooks[self.argv[0]]
        if took >= self._limit and wanted > self._limit:
            return StepOutcome(False, self._reason, "", took, self._is_cut)
        if took < wanted:
            return None
        failed = self.argv[0] in self._rehearsal.failing
        return StepOutcome(not failed, "exit status 1" if failed else "", "", took)

    def shorten(self, seconds: float, reason: str) -> None:
        self._limit, self._reason, self._is_cut = self._clock() - self._began + seconds, reason, True

    def end(self, reason: str, _grace: Optional[float] = None) -> None:
        self.shorten(0.0, reason)


class HookRehearsal(Rehearsal):
    """A machine whose shutdown, of 300 s at most, is a directory of hooks.

    :param hooks: their names, and how many seconds each takes
    """

    def __init__(self, life: Life, hooks: Dict[str, float], failing: Sequence[str] = (), **details: Any) -> None:
        details.setdefault("restore", [])
        policy = dict(POLICY, drain=[], shutdown=[{"hooks": True, "name": "hooks"}], **details)
        super().__init__([life], policy=policy)
        # Some of these tests want an approval after a failure.
        self._steps_before.clear()
        self.stages_with_hooks.add("shutdown")
        self.hooks = hooks
        self.failing = set(failing)
        self.hooks_begun: List[Tuple[float, str]] = []

    def start_step(self, work: Work, vm_name: str) -> Running:
        assert self.agent is not None
        return Running(work, vm_name, StepContext("/hooks", lambda: self.now, note_hook=self.agent.note_hook))

    @property
    def names(self) -> List[str]:
        """Of the hooks that were begun, in the order in which they were."""
        return [name for _at, name in self.hooks_begun]

    @property
    def ends(self) -> List[Tuple[bool, str]]:
        """Of the steps that have ended: whether they succeeded, and the reason why not."""
        return [(record["succeeded"], record["reason"]) for record in self.history if record["kind"] == "step_ended"]


Hooks = Callable[..., HookRehearsal]


@pytest.fixture
def with_hooks(monkeypatch: pytest.MonkeyPatch) -> Hooks:
    def begin(life: Life, hooks: Dict[str, float], failing: Sequence[str] = (), **details: Any) -> HookRehearsal:
        rehearsal = HookRehearsal(life, hooks, failing, **details)

        def child(argv: List[str], _environment: Any, _stdin: Any, *limits: Any, **details: Any) -> HookChild:
            del details["make_room"]
            return HookChild(rehearsal, argv, *limits, **details)

        monkeypatch.setattr(running, "hook_commands", lambda _directory: sorted(hooks))
        monkeypatch.setattr(running, "Child", child)
        return rehearsal

    return begin


REBOOT = Life("Reboot", notice=900.0)
EVICTION = Life("Preempt", notice=30.0)
SHARE_IS_UP = "10-x: cut off, to leave the following hooks time before the deadline"


def test_given_a_hook_that_keeps_failing_when_an_eviction_is_near_then_those_after_it_run_in_time(
    with_hooks: Hooks,
) -> None:
    rehearsal = with_hooks(EVICTION, {"10-x": 0.0, "20-stop-db": 5.0, "30-last": 1.0}, ["10-x"])
    rehearsal.tick_until(lambda: "20-stop-db" in rehearsal.names)
    # A third of 28 s.
    began = rehearsal.hooks_begun[0][0]
    assert [(at - began, name) for at, name in rehearsal.hooks_begun] == [
        (0.0, "10-x"),
        (1.0, "10-x"),
        (3.0, "10-x"),
        (7.0, "10-x"),
        (7.0, "20-stop-db"),
    ]
    given_up = "shutdown: hooks: hook 10-x: exit status 1 is abandoned, and the next hooks run"
    assert rehearsal.messages(priority=levels.ERROR) == [given_up]
    assert [(one["error"], one["is_tried_again"]) for one in rehearsal.status()["failing"]] == [
        ("10-x: exit status 1", False)
    ]
    rehearsal.run_until(32.0)
    assert rehearsal.names[-2:] == ["20-stop-db", "30-last"]
    assert rehearsal.ends == [(False, "10-x: exit status 1")]
    assert [one["error"] for one in rehearsal.status()["failing"]] == ["10-x: exit status 1"]
    assert rehearsal.approvals == []


def test_given_hooks_that_keep_failing_when_time_is_plentiful_then_each_is_tried_for_its_share_and_all_are_named(
    with_hooks: Hooks,
) -> None:
    rehearsal = with_hooks(REBOOT, {"10-x": 1.0, "20-y": 1.0, "30-z": 1.0}, ["10-x", "30-z"])
    rehearsal.tick_until(lambda: rehearsal.ends)
    first = {name: at for at, name in reversed(rehearsal.hooks_begun)}
    last = {name: at for at, name in rehearsal.hooks_begun}
    assert 60.0 < last["10-x"] - first["10-x"] < 100.0
    assert rehearsal.names.count("20-y") == 1
    # The last one has all that is left.
    assert last["30-z"] - first["30-z"] > 150.0
    assert last["30-z"] - first["10-x"] < 300.0
    assert rehearsal.ends == [(False, "10-x: exit status 1; 30-z: exit status 1")]
    rehearsal.run_until(400.0)
    assert rehearsal.approvals == []


def test_given_a_hook_that_fails_once_when_it_is_tried_again_then_those_after_it_run_and_the_event_is_approved(
    with_hooks: Hooks,
) -> None:
    rehearsal = with_hooks(REBOOT, {"10-x": 1.0, "20-y": 50.0}, ["10-x"])
    rehearsal.tick_until(lambda: rehearsal.names)
    rehearsal.tick_until(lambda: rehearsal.status()["failing"])
    rehearsal.failing = set()
    rehearsal.tick_until(lambda: "20-y" in rehearsal.names)
    assert rehearsal.status()["failing"] == []
    rehearsal.tick_until(lambda: rehearsal.approvals)
    assert rehearsal.names == ["10-x", "10-x", "20-y"]
    assert rehearsal.ends == [(True, "")]


def test_given_a_hook_of_a_restore_that_fails_once_when_those_after_it_run_then_it_is_no_failure_any_more(
    with_hooks: Hooks,
) -> None:
    restore = [{"hooks": True, "name": "hooks"}]
    rehearsal = with_hooks(Life("Freeze", notice=60.0), {"10-x": 1.0, "20-y": 50.0}, restore=restore)
    rehearsal.run_until(1.0)
    rehearsal.tick_until(lambda: any(one.over for one in rehearsal.state.tracked))
    rehearsal.failing = {"10-x"}
    rehearsal.tick_until(lambda: rehearsal.status()["failing"])
    rehearsal.failing = set()
    rehearsal.tick_until(lambda: rehearsal.names[-1] == "20-y")
    assert rehearsal.status()["failing"] == []


@pytest.mark.parametrize("notice", [900.0, 250.0])
def test_given_a_slow_hook_when_at_least_half_of_the_time_is_there_then_it_may_take_more_than_its_share(
    with_hooks: Hooks, notice: float
) -> None:
    rehearsal = with_hooks(Life("Reboot", notice=notice), {"10-x": 200.0, "20-y": 5.0, "30-z": 5.0})
    rehearsal.tick_until(lambda: rehearsal.approvals)
    assert rehearsal.names == ["10-x", "20-y", "30-z"]
    assert rehearsal.ends == [(True, "")]


def test_given_a_hook_that_hangs_when_time_is_plentiful_then_it_may_take_all_that_the_step_has(
    with_hooks: Hooks,
) -> None:
    rehearsal = with_hooks(REBOOT, {"10-x": 9999.0, "20-y": 5.0})
    rehearsal.tick_until(lambda: rehearsal.ends)
    assert rehearsal.names == ["10-x"]
    assert rehearsal.ends == [(False, "10-x: timed out after 300 s, its timeout")]


@pytest.mark.parametrize("on_failure", ["finish", "stop", "ignore"])
def test_given_a_hook_that_hangs_when_time_is_short_then_those_after_it_have_theirs_and_nothing_is_approved(
    with_hooks: Hooks, on_failure: str
) -> None:
    rehearsal = with_hooks(EVICTION, {"10-x": 9999.0, "20-y": 5.0}, on_failure=on_failure)
    rehearsal.run_until(32.0)
    began = rehearsal.hooks_begun[0][0]
    assert [(at - began, name) for at, name in rehearsal.hooks_begun] == [(0.0, "10-x"), (14.0, "20-y")]
    assert rehearsal.ends == [(False, SHARE_IS_UP)]
    assert rehearsal.approvals == []


def test_given_a_hook_that_hangs_when_it_is_tried_again_in_short_time_then_it_has_no_more_than_its_share(
    with_hooks: Hooks,
) -> None:
    rehearsal = with_hooks(EVICTION, {"10-x": 2.0, "20-y": 5.0}, ["10-x"])
    rehearsal.tick_until(lambda: rehearsal.names == ["10-x", "10-x"])
    rehearsal.hooks["10-x"] = 9999.0
    rehearsal.run_until(32.0)
    assert rehearsal.hooks_begun[-1][0] - rehearsal.hooks_begun[0][0] == 14.0
    assert rehearsal.ends == [(False, SHARE_IS_UP)]


def test_given_a_hook_that_hangs_when_its_event_begins_then_those_after_it_have_their_share_of_what_is_hoped_for(
    with_hooks: Hooks,
) -> None:
    rehearsal = with_hooks(Life("Reboot", notice=900.0, impact=60.0), {"10-x": 9999.0, "20-y": 5.0})
    rehearsal.tick_until(lambda: rehearsal.names)
    rehearsal.azure.happenings[0].started = rehearsal.now
    started = rehearsal.now
    rehearsal.tick_until(lambda: "20-y" in rehearsal.names)
    assert 14.0 <= rehearsal.now - started <= 17.0


@pytest.mark.parametrize(
    ("hooks", "failing", "begun", "why"),
    [
        ({"10-x": 0.0, "20-y": 5.0}, "10-x", {"10-x"}, "10-x: exit status 1"),
        # After one that hung.
        (
            {"10-x": 9999.0, "20-y": 1.0, "30-z": 1.0},
            "20-y",
            {"10-x", "20-y"},
            SHARE_IS_UP + "; 20-y: exit status 1",
        ),
    ],
)
def test_given_a_hook_that_fails_for_good_when_the_plan_stops_then_those_after_it_do_not_run(
    with_hooks: Hooks, hooks: Dict[str, float], failing: str, begun: Set[str], why: str
) -> None:
    rehearsal = with_hooks(EVICTION, hooks, [failing], on_failure="stop")
    rehearsal.run_until(32.0)
    assert set(rehearsal.names) == begun
    assert rehearsal.ends == [(False, why)]
    assert rehearsal.state.tracked[0].halted
    assert rehearsal.approvals == []


def test_given_a_hook_that_fails_for_good_when_failures_are_ignored_then_those_after_it_run_and_it_is_approved(
    with_hooks: Hooks,
) -> None:
    rehearsal = with_hooks(REBOOT, {"10-x": 1.0, "20-y": 5.0}, ["10-x"], on_failure="ignore")
    rehearsal.tick_until(lambda: rehearsal.approvals)
    assert rehearsal.names[-1] == "20-y"
    assert rehearsal.ends == [(False, "10-x: exit status 1")]


def test_given_a_hook_that_was_given_up_when_the_agent_is_killed_then_it_is_not_begun_again_and_still_counts(
    with_hooks: Hooks,
) -> None:
    rehearsal = with_hooks(REBOOT, {"10-x": 1.0, "20-y": 10.0}, ["10-x"])
    rehearsal.tick_until(lambda: "20-y" in rehearsal.names)
    begun = len(rehearsal.names)
    rehearsal.kill_at = rehearsal.edges + 1
    rehearsal.tick_until(lambda: rehearsal.ends)
    assert rehearsal.names[begun:] == ["20-y"]
    assert rehearsal.ends == [(False, "10-x: exit status 1")]


def test_given_a_hook_that_waits_to_be_tried_again_when_its_share_is_over_meanwhile_then_the_next_one_begins(
    with_hooks: Hooks,
) -> None:
    rehearsal = with_hooks(EVICTION, {"10-x": 0.0, "20-y": 1.0}, ["10-x"])
    rehearsal.tick_until(lambda: len(rehearsal.names) == 3)
    # The machine was held up in between.
    rehearsal.tick(13.0)
    assert rehearsal.names[3:] == ["20-y"]


def test_given_hooks_after_one_that_was_given_up_when_there_is_no_time_left_for_them_then_the_step_has_failed(
    with_hooks: Hooks,
) -> None:
    rehearsal = with_hooks(REBOOT, {"10-x": 1.0, "20-y": 10.0}, ["10-x"], on_failure="ignore")
    rehearsal.tick_until(lambda: "20-y" in rehearsal.names)
    agent = rehearsal.running
    # As if a more urgent event had gone first.
    agent._work._let_go()
    rehearsal.tick(300.0)
    assert rehearsal.ends == [(False, "10-x: exit status 1; no time is left for the other hooks")]
    assert rehearsal.approvals == []
