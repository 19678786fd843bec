# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens when the agent's identity, its record or the time changes under it.

Runs on Python 3.6 and later.
"""

import json
from typing import Any, Dict, List, Optional

import pytest
from foghorn_agent.config import parse_config
from foghorn_agent.decide.doubts import describe_source_vm, doubt_about_name, doubt_about_policies, doubt_about_records
from foghorn_agent.decide.state import State, apply, replay, summarise
from foghorn_agent.io.clock import Clocks, Steps
from foghorn_agent.io.imds_session import Poll
from foghorn_core.scheduled_events.document import event_as_azure
from foghorn_core.scheduled_events.errors import Refused
from foghorn_core.scheduled_events.event import Event
from rehearsal import DEALLOCATED, POLICY, QUORUM, UNHARMED, UNIT_POLICY, Life, Rehearsal, fleet_of, tick_all

UNAPPROVED = dict(UNIT_POLICY, approve="never", begin_before=604800)
GARBAGE = {"kind": "unreadable"}


# --- records ----------------------------------------------------------------------------------------


def drained(longest_journal: Optional[int] = None) -> Rehearsal:
    """A machine that is out of rotation with its service stopped, and whose agent has just been killed."""
    rehearsal = Rehearsal([Life("Reboot", notice=100.0, linger=20.0)], policy=UNAPPROVED)
    rehearsal.longest_journal = longest_journal
    rehearsal.run_until(30.0)
    assert rehearsal.steps() == ["deregister", "wait", "stop"]
    rehearsal.kill()
    return rehearsal


@pytest.mark.parametrize("longest_journal", [None, 10])
def test_given_any_record_that_is_damaged_when_the_agent_is_back_then_a_machine_that_is_out_never_says_that_it_is_in(
    longest_journal: Optional[int],
) -> None:
    for place in range(len(drained(longest_journal).records)):
        for damaged in (GARBAGE, {"kind": "of a later version"}, None):
            rehearsal = drained(longest_journal)
            if damaged is None:
                del rehearsal.records[place]
            else:
                rehearsal.records[place] = damaged
            state = replay(rehearsal.records)
            where = "%r at %d of %r" % (damaged, place, [one["kind"] for one in rehearsal.records])
            assert state.is_out, where
            if damaged is not None:
                assert state.is_incomplete, where
                rehearsal.run()
                assert rehearsal.steps("restore") == [], where
                assert rehearsal.answer("/readyz")[0] == 503, where
                assert rehearsal.approvals == [], where


def test_given_a_record_that_is_damaged_when_all_is_ready_then_nothing_is_approved_and_all_say_why() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=100.0)])
    rehearsal.run_until(5.0)
    rehearsal.kill()
    rehearsal.records.insert(2, {"kind": "unheard of"})
    before = list(rehearsal.records)
    rehearsal.run_until(60.0)
    assert rehearsal.steps()[-1] == "stop"
    assert rehearsal.approvals == []
    assert "1 records of the journal cannot be read" in rehearsal.answer("/healthz")[1]
    assert 'foghorn_problems{with="records"} 1.0' in rehearsal.answer("/metrics")[1]
    status = rehearsal.status()
    assert "nothing is approved or restored" in status["problems"]["records"]
    assert status["events"][0]["withheld"] == "records of the journal are missing"
    assert rehearsal.kept_aside[: len(before)] == before
    assert len(rehearsal.messages("records of the journal cannot be read")) == 1


def test_given_a_record_that_is_damaged_when_the_machine_was_put_in_order_then_restore_ends_the_doubt() -> None:
    rehearsal = drained()
    rehearsal.records[5] = GARBAGE
    rehearsal.run()
    assert rehearsal.state.is_out
    rehearsal.ask("restore")
    rehearsal.run_until(rehearsal.now + 30.0)
    assert not rehearsal.state.is_out
    assert rehearsal.restored == 1
    assert "records" not in rehearsal.answer("/healthz")[1]
    rehearsal.kill()
    rehearsal.run_until(rehearsal.now + 10.0)
    assert not rehearsal.state.is_out


def test_given_a_doubt_when_the_journal_is_condensed_then_it_stays() -> None:
    rehearsal = drained()
    rehearsal.records[5] = GARBAGE
    state = replay(rehearsal.records)
    again = replay(json.loads(json.dumps(summarise(state))))
    assert again == state._replace(unreadable=0)
    assert again.is_incomplete
    assert "a journal before this one" in (doubt_about_records(again, "/x") or "")


def test_given_damage_that_lies_before_a_restore_when_replayed_then_it_is_reported_and_stops_nothing() -> None:
    rehearsal = Rehearsal([Life("Reboot")]).run()
    rehearsal.records[4] = GARBAGE
    state = replay(rehearsal.records)
    assert (state.unreadable, state.is_incomplete, state.is_out) == (1 + _orphans(rehearsal.records), False, False)
    assert "their events are over" in (doubt_about_records(state, "/x") or "")


def _orphans(records: List[Dict[str, Any]]) -> int:
    """The records that tell of an event that is not known, with the damage taken out."""
    return replay([record for record in records if record != GARBAGE]).unreadable


def test_given_fields_that_a_later_version_has_added_when_replayed_then_nothing_is_lost() -> None:
    rehearsal = drained()
    state = replay(rehearsal.records)
    summary = json.loads(json.dumps(summarise(state._replace(hold=None))))
    for record in [*rehearsal.records, *summary]:
        record["mood"] = {"a": [1]}
    later = [dict(record) for record in summary]
    later[0].update(hold=[1.0, 2.0, "why"], restore=[*later[0]["restore"], "more"])
    later[1].update(failures=[["drain", "wait", "exit 1", "more"]], drain=[*later[1]["drain"], "more"])
    read = replay(later)
    assert read.unreadable == 0
    assert replay(rehearsal.records) == state
    assert read.tracked[0].failures[0].reason == "exit 1"
    assert read.hold is not None


# --- another name, another VM -----------------------------------------------------------------------


@pytest.mark.parametrize("is_killed", [False, True])
def test_given_a_vm_that_is_renamed_when_its_event_is_still_listed_then_it_is_tracked_on(is_killed: bool) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=100.0, linger=20.0)], policy=UNAPPROVED)
    rehearsal.run_until(30.0)
    assert rehearsal.azure.machines.pop("web_0") is rehearsal
    rehearsal.vm_id, rehearsal.vm_name = "id of web_0", "shop_0"
    if is_killed:
        rehearsal.kill()
    rehearsal.run_until(90.0)
    assert rehearsal.state.vm_name == "shop_0"
    assert rehearsal.state.is_out
    assert rehearsal.steps("restore") == []
    assert (
        "identity: this VM is now called shop_0, and was called web_0 when E-1 was announced"
        in rehearsal.answer("/healthz")[1]
    )
    rehearsal.run_until(200.0)
    assert rehearsal.steps("restore") == ["start", "register"]
    assert doubt_about_name(rehearsal.state) is None


def test_given_a_renamed_vm_when_only_a_drain_by_hand_and_an_event_that_is_over_know_its_old_name_then_no_doubt() -> (
    None
):
    state = apply(
        replay(drained().records),
        {"kind": "over", "event_id": "E-1", "how": "withdrawn"},
        {"kind": "manual", "wanted": True, "at": 40.0},
        {"kind": "identity", "vm_id": "id of web_0", "vm_name": "shop_0"},
    )
    assert [one.event.resources for one in state.tracked] == [("web_0",), ("web_0",)]
    assert doubt_about_name(state) is None


def test_given_the_disk_of_a_machine_that_was_drained_by_hand_when_a_clone_starts_then_nothing_runs_there() -> None:
    original = Rehearsal(policy=UNAPPROVED)
    original.run_until(3.0)
    original.ask("drain")
    original.run_until(30.0)
    clone = Rehearsal(vm_name="web_9", policy=UNAPPROVED)
    clone.records, clone.boots, clone.silent = list(original.records), 7, True
    clone.run_until(60.0)
    assert clone.steps() == []
    assert clone.answer("/readyz")[0] == 503
    clone.silent = False
    clone.run_until(90.0)
    assert clone.steps() == []
    assert clone.answer("/readyz")[0] == 200
    assert clone.messages("this disk belonged to another VM, web_0, while that was out of rotation for Manual manual")
    assert "identity: this disk belonged to another VM" in clone.answer("/healthz")[1]
    clone.ask("restore")
    assert "identity" not in clone.answer("/healthz")[1]


def test_given_the_disk_of_a_machine_with_a_damaged_journal_when_a_clone_starts_then_it_has_no_doubt_of_its_own() -> (
    None
):
    clone = Rehearsal([Life("Freeze", resources=("web_9",))], vm_name="web_9")
    clone.records, clone.boots, clone.silent = [*drained().records, GARBAGE], 7, True
    clone.run_until(5.0)
    assert "nothing is approved or restored" in clone.answer("/healthz")[1]
    clone.silent = False
    clone.tick_until(lambda: clone.approvals)
    assert "records" not in clone.answer("/healthz")[1]


def test_given_a_clone_whose_configuration_names_the_other_vm_when_it_starts_then_the_mistake_is_reported() -> None:
    clone = Rehearsal([Life("Freeze", resources=("web_9",))])
    clone.other_name = "web_9"
    clone.run_until(30.0)
    problem = "imds.vm_name is web_0, and IMDS calls this VM web_9: events of that name are ignored"
    assert problem in clone.answer("/healthz")[1]
    assert len(clone.messages(problem)) == 1


def test_given_a_clone_of_a_machine_whose_unit_was_stopped_when_it_is_reported_then_the_unit_is_named() -> None:
    untouched = event_as_azure(Event("E-2", "Freeze", "Scheduled", ("web_0",)))
    state = apply(
        replay(drained().records),
        {"kind": "seen", "event": untouched, "notice": None, "at": 40.0},
        {"kind": "found", "event_id": "E-1", "stage": "shutdown", "step": "db", "unit": "db.service", "runs": False},
    )
    told = describe_source_vm(state)
    assert "out of rotation for Reboot E-1; it had stopped web.service; none" in told
    assert describe_source_vm(State()) == "this disk belonged to another VM, of an unknown name"
    assert "for unknown work" in describe_source_vm(State(was_out=True))


def test_given_a_machine_that_boots_when_it_was_drained_by_hand_and_imds_is_silent_then_whoever_asks_is_obeyed() -> (
    None
):
    rehearsal = Rehearsal(policy=UNAPPROVED)
    rehearsal.run_until(3.0)
    rehearsal.ask("drain")
    rehearsal.run_until(30.0)
    rehearsal.silent = True
    rehearsal.reboot(5.0)
    rehearsal.run_until(60.0)
    assert rehearsal.steps("drain") == ["deregister", "wait"]
    rehearsal.ask("restore")
    rehearsal.run_until(90.0)
    assert rehearsal.steps("restore") == ["start", "register"]


# --- what is gone without having been seen to start -------------------------------------------------


def vanished(rehearsal: Rehearsal) -> float:
    """The event is no longer listed, and nobody saw it start."""
    rehearsal.happenings[0].ended = rehearsal.now
    return rehearsal.now


@pytest.mark.parametrize("event_type", ["Preempt", "Terminate"])
@pytest.mark.parametrize("is_approved", [True, False])
def test_given_what_takes_the_machine_when_it_is_not_listed_any_more_then_45_seconds_pass_before_it_is_restored(
    event_type: str, is_approved: bool
) -> None:
    life = Life(event_type, notice=40.0, fate=UNHARMED)
    rehearsal = Rehearsal([life], policy=POLICY if is_approved else UNAPPROVED)
    if is_approved:
        rehearsal.tick_until(lambda: rehearsal.approvals)
    else:
        rehearsal.run_until(42.0)
        rehearsal.happenings[0].life = life._replace(notice=41.0)
        rehearsal.run_until(43.0)
    gone_at = vanished(rehearsal)
    rehearsal.run_until(gone_at + 44.0)
    assert rehearsal.steps("restore") == []
    assert rehearsal.state.is_out
    rehearsal.run_until(gone_at + 60.0)
    assert rehearsal.restored == 1


def test_given_such_a_doubt_when_the_agent_starts_again_then_it_has_its_full_length() -> None:
    rehearsal = Rehearsal([Life("Preempt", notice=40.0, fate=UNHARMED)])
    rehearsal.tick_until(lambda: rehearsal.approvals)
    gone_at = vanished(rehearsal)
    rehearsal.run_until(gone_at + 30.0)
    rehearsal.kill()
    rehearsal.run_until(gone_at + 70.0)
    assert rehearsal.steps("restore") == []
    rehearsal.run_until(gone_at + 100.0)
    assert rehearsal.restored == 1


def test_given_such_a_doubt_when_the_event_is_listed_once_more_then_it_starts_again() -> None:
    rehearsal = Rehearsal([Life("Preempt", notice=300.0, fate=UNHARMED)])
    rehearsal.refusing = True
    rehearsal.run_until(30.0)
    for seconds in (30.0, 30.0):
        rehearsal.azure.hidden_until = rehearsal.now + seconds
        rehearsal.azure.incarnation += 50
        rehearsal.run_until(rehearsal.now + seconds + 2.0)
    assert rehearsal.steps("restore") == []


def test_given_a_machine_that_has_booted_when_what_was_to_take_it_is_gone_then_it_is_restored_at_once() -> None:
    rehearsal = Rehearsal([Life("Preempt", notice=30.0, impact=20.0, linger=5.0, fate=DEALLOCATED)])
    rehearsal.tick_until(lambda: rehearsal.boots == 1)
    back_at = rehearsal.now + 20.0
    rehearsal.run_until(back_at + 10.0)
    assert rehearsal.restored == 1


def test_given_a_preempt_that_was_not_approved_when_it_is_withdrawn_before_its_time_then_it_is_restored_at_once() -> (
    None
):
    rehearsal = Rehearsal([Life("Preempt", notice=300.0, withdrawn_after=20.0)], policy=UNAPPROVED)
    rehearsal.run_until(24.0)
    assert rehearsal.steps("restore") == ["start"]


# --- an approval that is refused --------------------------------------------------------------------


def test_given_one_approval_that_is_refused_when_others_are_ready_then_they_are_approved_one_by_one() -> None:
    lives = [Life("Reboot", notice=300.0, event_id="E-%d" % number) for number in (1, 2, 3)]
    rehearsal = Rehearsal(lives)
    rehearsal.step_seconds = dict.fromkeys(rehearsal.step_seconds, 0.0)
    asked: List[List[str]] = []

    def refusing(event_ids: Any) -> Any:
        asked.append(list(event_ids))
        if "E-2" in event_ids:
            raise Refused("POST was refused: 400", 1, "400 Bad Request", 400)
        return event_ids

    rehearsal._approve = refusing  # type: ignore[method-assign]
    rehearsal.run_until(60.0)
    assert asked[:4] == [["E-1", "E-2", "E-3"], ["E-1"], ["E-2"], ["E-3"]]
    # The one goes on being tried, ever more seldom; the others are asked for once more only after half a minute.
    assert asked[4:].count(["E-2"]) == 4
    assert asked[4:].count(["E-1", "E-3"]) == 1
    assert [one.accepted for one in rehearsal.state.tracked] == [True, False, True]


def test_given_an_answer_that_gets_lost_when_several_are_ready_then_they_are_sent_together_again() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=300.0, event_id="E-%d" % number) for number in (1, 2)])
    rehearsal.step_seconds = dict.fromkeys(rehearsal.step_seconds, 0.0)
    rehearsal.lost_answers = 2
    rehearsal.tick_until(lambda: rehearsal.approvals)
    assert [job for job in rehearsal.approve_worker.jobs if job != ["E-1", "E-2"]] == []


# --- the clock --------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [3600.0, -3600.0])
def test_given_a_hold_for_20_minutes_when_the_clock_is_corrected_then_it_ends_after_20_minutes(step: float) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900000.0)], policy=UNAPPROVED)
    rehearsal.run_until(2.0)
    rehearsal.ask("hold", seconds=1200)
    rehearsal.run_until(10.0)
    rehearsal.wall_step = step
    for _time in range(118):
        rehearsal.tick(10.0)
    assert rehearsal.state.hold is not None
    assert (
        "clock: the wall clock was set %s by" % ("forward" if step > 0 else "back") in rehearsal.answer("/healthz")[1]
    )
    rehearsal.is_held = False
    rehearsal.run_until(1206.0)
    assert rehearsal.state.hold is None


@pytest.mark.parametrize("ahead", [-1.7e9, -3600.0, 600.0])
def test_given_a_hold_for_20_minutes_when_a_boot_sets_the_clock_wrong_for_a_while_then_it_ends_after_20_minutes(
    ahead: float,
) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900000.0)], policy=UNAPPROVED)
    rehearsal.run_until(2.0)
    rehearsal.ask("hold", seconds=1200)
    rehearsal.run_until(10.0)
    rehearsal.wall_step = ahead
    rehearsal.reboot(20.0)
    rehearsal.run_until(60.0)
    rehearsal.wall_step = 0.0
    rehearsal.run_until(1190.0)
    assert rehearsal.state.hold is not None
    rehearsal.is_held = False
    rehearsal.run_until(1206.0)
    assert rehearsal.state.hold is None


def test_given_nothing_that_goes_by_the_clock_when_it_is_corrected_then_that_is_no_problem() -> None:
    rehearsal = Rehearsal()
    rehearsal.run_until(5.0)
    rehearsal.wall_step = 60.0
    rehearsal.run_until(10.0)
    assert rehearsal.messages("the wall clock was set forward by 60 s")
    assert "clock" not in rehearsal.answer("/healthz")[1]


def test_given_a_hold_when_the_clock_is_corrected_then_that_is_a_problem_until_it_is_released() -> None:
    rehearsal = Rehearsal()
    rehearsal.run_until(5.0)
    rehearsal.ask("hold")
    rehearsal.wall_step = 60.0
    rehearsal.run_until(10.0)
    assert "clock: the wall clock was set forward by 60 s" in rehearsal.answer("/healthz")[1]
    rehearsal.ask("release")
    assert "clock" not in rehearsal.answer("/healthz")[1]


def test_given_clocks_that_part_slowly_when_checked_then_only_a_whole_second_is_a_step() -> None:
    now = {"wall": 100.0, "monotonic": 5.0}
    steps = Steps(Clocks(lambda: now["monotonic"], lambda: now["wall"]))
    now["wall"] += 0.75
    assert steps.look() == 0.0
    now["wall"] += 0.5
    assert steps.look() == 1.25
    assert steps.look() == 0.0
    now["wall"] -= 7.0
    assert steps.look() == -7.0


# --- the age of words -------------------------------------------------------------------------------


def test_given_a_held_member_that_is_cut_off_when_the_leader_is_ready_later_then_its_old_answer_is_ignored() -> None:
    names = ["web_0", "web_1"]
    leader, member = fleet_of(names, [Life("Reboot", notice=120.0, resources=tuple(names))])
    leader.step_seconds["stop"] = 30.0
    tick_all([leader, member], 25)
    promise = member.ask("hold")
    member.is_unreachable = True
    assert promise is not None
    assert "; another member may approve Reboot E-1 within 7 s, based on earlier answers" in promise
    tick_all([leader, member], 60)
    assert leader.approvals == member.approvals == []
    assert leader.status()["events"][0]["waiting_for"] == [{"vm_name": "web_1", "reason": "unreachable"}]


def test_given_a_service_that_was_enabled_again_when_the_agent_restarts_then_the_doubt_has_its_full_length() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=3000.0)], policy=UNAPPROVED)
    rehearsal.run_until(30.0)
    rehearsal.azure.forget(10000.0)
    rehearsal.run_until(230.0)
    rehearsal.kill()
    rehearsal.run_until(530.0)
    assert rehearsal.state.is_out
    assert rehearsal.steps("restore") == []


# --- policies ---------------------------------------------------------------------------------------


FOR_REBOOTS: Dict[str, Any] = dict(POLICY, match={"event_types": ["Reboot"]})
UNPREPARED = "no policy and no hook prepares this machine for %s: add one"


@pytest.mark.parametrize(
    ("policies", "has_hooks", "problem"),
    [
        ([POLICY], False, None),
        ([FOR_REBOOTS], False, UNPREPARED % "Preempt, Terminate, Redeploy"),
        ([FOR_REBOOTS], True, None),
        # A freeze is over without anybody's approval.
        ([dict(POLICY, match={"event_types": ["Reboot", "Redeploy", "Terminate", "Preempt"]})], False, None),
        (
            [dict(FOR_REBOOTS, drain=[{"hooks": True}], shutdown=[], restore=[])],
            False,
            UNPREPARED % "Preempt, Terminate, Redeploy, Reboot",
        ),
        (
            [dict(POLICY, match={"event_types": ["Reboot", "Quench", "Manual"]})],
            True,
            "Quench is not an event type that this version knows",
        ),
        ([], False, None),
    ],
)
def test_given_policies_that_leave_types_out_or_name_unknown_ones_then_that_is_reported(
    policies: List[Dict[str, Any]], has_hooks: bool, problem: Optional[str]
) -> None:
    rules = parse_config({"policies": policies, "quorum": QUORUM}).rules
    assert doubt_about_policies(rules, has_hooks) == problem


def test_given_other_policies_when_in_force_then_what_they_leave_out_is_found_anew() -> None:
    rehearsal = Rehearsal(policy=FOR_REBOOTS)
    rehearsal.run_until(2.0)
    assert "policies: no policy and no hook prepares this machine for Preempt" in rehearsal.answer("/healthz")[1]
    assert 'foghorn_problems{with="policies"} 1.0' in rehearsal.answer("/metrics")[1]
    rehearsal.stages_with_hooks = {"drain"}
    rehearsal.running.use(rehearsal.config)
    assert "policies" not in rehearsal.answer("/healthz")[1]


def test_given_a_name_that_was_asked_long_ago_when_the_event_is_listed_under_another_then_it_is_asked_first() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=100.0, linger=20.0)], policy=UNAPPROVED)
    rehearsal.run_until(30.0)
    life, poll = rehearsal.happenings[0].life, rehearsal._poll
    rehearsal.poll_stats.is_identity_wanted = False

    def asked_long_ago(job: Any) -> Poll:
        is_new = rehearsal.poll_stats.is_identity_wanted
        return poll(job)._replace(vm_name="shop_0" if is_new else "web_0", is_identity_new=is_new)

    rehearsal.poll_worker._function = asked_long_ago
    rehearsal.happenings[0].life = life._replace(resources=("shop_0",))
    rehearsal.run_until(60.0)
    assert rehearsal.state.vm_name == "shop_0"
    assert rehearsal.state.is_out
    assert rehearsal.steps("restore") == []
