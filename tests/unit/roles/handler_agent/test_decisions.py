# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes next?

Runs on Python 3.6 and later.
"""

import json
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest
from foghorn_agent.config import parse_config
from foghorn_agent.decide.decisions import (
    MemberStatus,
    Work,
    awaiting_approval,
    ended,
    is_ready,
    next_work,
    observe,
    plan_of,
    remembered,
    restarted,
    restore_steps,
    seconds_before_start,
    to_approve,
    transitions,
)
from foghorn_agent.decide.outcome import StepOutcome
from foghorn_agent.decide.policy import FINISH, IGNORE, STOP, Plan, Rule
from foghorn_agent.decide.state import BEGUN, ENDED, FAILED, SUCCEEDED, WITHDRAWN, Progress, State, apply
from foghorn_core.scheduled_events.document import Document, event_as_azure, parse_document
from foghorn_core.scheduled_events.event import Event, name_key
from rehearsal import POLICY, QUORUM, VM_NAME

START = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
NOW = START.timestamp() - 900.0
RULES = parse_config({"policies": [POLICY], "quorum": QUORUM}).rules
NOBODY: Any = frozenset()
AGREES = MemberStatus(True, True, True)


def event(event_id: str = "E-1", **details: Any) -> Event:
    fields: Dict[str, Any] = {"event_type": "Reboot", "event_status": "Scheduled", "not_before": START}
    fields.update({"resources": (VM_NAME,)}, **details)
    return Event(event_id, **fields)


def document(*events: Event, incarnation: int = 1) -> Document:
    return Document(incarnation, events)


def taken_in(state: State, one: Document, in_doubt: bool = False) -> State:
    for record in observe(state, one, NOW, in_doubt):
        state = apply(state, record)
    return state


NAMED = State(vm_id="id", vm_name=VM_NAME, boot_id="boot-0")


# --- what a document says ---------------------------------------------------------------------------


def test_given_an_event_when_first_seen_then_its_notice_is_what_is_left_then() -> None:
    one = taken_in(NAMED, document(event())).tracked[0]
    assert one.notice == 900.0
    assert one.seen_at == NOW
    assert not one.started


def test_given_an_event_that_is_started_when_first_seen_then_it_has_no_notice() -> None:
    one = taken_in(NAMED, document(event(event_status="Started", not_before=None))).tracked[0]
    assert one.notice is None
    assert one.started


def test_given_the_same_document_when_seen_again_then_there_is_nothing_new() -> None:
    state = taken_in(NAMED, document(event()))
    assert observe(state, document(event()), NOW + 1, False) == []


def test_given_a_document_that_lists_an_event_twice_when_seen_then_it_is_one_event() -> None:
    assert len(taken_in(NAMED, document(event(), event())).tracked) == 1


def test_given_an_id_in_other_case_when_seen_again_then_it_is_the_same_event() -> None:
    state = taken_in(NAMED, document(event("ABC")))
    assert [one.event_id for one in taken_in(state, document(event("abc"))).tracked] == ["abc"]


@pytest.mark.parametrize(
    ("status", "after", "how"),
    [
        ("Scheduled", document(incarnation=2), WITHDRAWN),
        pytest.param("Scheduled", document(event(resources=("vm_9",)), incarnation=2), WITHDRAWN, id="for others now"),
        ("Started", document(incarnation=2), ENDED),
    ],
)
def test_given_an_event_that_is_not_listed_any_more_then_it_has_ended_if_it_had_begun_and_else_was_withdrawn(
    status: str, after: Document, how: str
) -> None:
    state = taken_in(NAMED, document(event(event_status=status)))
    assert observe(state, after, NOW, False) == [
        {"kind": "over", "event_id": "E-1", "how": how},
        {"kind": "incarnation", "incarnation": 2},
    ]


def test_given_an_event_that_has_started_when_the_machine_has_booted_since_then_each_document_adds_nothing() -> None:
    started = event(event_status="Started", not_before=None)
    state = apply(taken_in(NAMED, document(started)), {"kind": "boot", "boot_id": "another"})
    assert observe(state, document(started), NOW, False) == []


def test_given_an_event_that_is_not_listed_any_more_when_the_machine_has_booted_since_then_it_has_ended() -> None:
    # The reboot itself: nobody was there to see it start, and it was over before the agent ran again.
    state = apply(taken_in(NAMED, document(event())), {"kind": "boot", "boot_id": "another"})
    assert observe(state, document(incarnation=1), NOW, False) == [{"kind": "over", "event_id": "E-1", "how": ENDED}]


def test_given_doubt_when_an_event_is_not_listed_then_it_is_not_over_and_the_incarnation_is_not_taken() -> None:
    state = taken_in(NAMED, document(event(), incarnation=9))
    assert observe(state, document(incarnation=1), NOW, True) == []


LISTED, ANOTHER = event(), event(event_id="E-2")


@pytest.mark.parametrize(
    ("before", "after", "is_anew"),
    [
        (None, document(incarnation=1), False),
        (document(LISTED, incarnation=5), document(incarnation=7), False),
        (document(LISTED, incarnation=5), document(incarnation=2), True),
        (document(LISTED, incarnation=5), document(LISTED, incarnation=4), True),
        (document(LISTED, incarnation=5), document(LISTED, incarnation=5), False),
        (document(LISTED, incarnation=5), document(incarnation=5), True),
        (document(LISTED, incarnation=5), document(ANOTHER, incarnation=5), True),
        # Nothing is missing: a document with more events under the same number does no harm.
        (document(LISTED, incarnation=5), document(LISTED, ANOTHER, incarnation=5), False),
        (document(incarnation=5), document(incarnation=5), False),
    ],
)
def test_given_a_document_when_it_cannot_follow_the_one_before_then_the_service_was_enabled_again(
    before: Optional[Document], after: Document, is_anew: bool
) -> None:
    assert restarted(before, after) is is_anew


def test_given_a_journal_when_the_agent_starts_then_its_last_document_is_known() -> None:
    assert remembered(NAMED) is None
    state = taken_in(NAMED, document(event(), event(event_id="E-2"), incarnation=4))
    state = apply(state, {"kind": "manual", "wanted": True, "at": NOW})
    before = remembered(state)
    assert before is not None
    assert (before.incarnation, [one.event_id for one in before.events]) == (4, ["E-1", "E-2"])


def test_given_an_event_that_was_not_touched_when_it_is_over_then_it_is_forgotten() -> None:
    state = taken_in(taken_in(NAMED, document(event())), document(incarnation=2))
    assert state.tracked == ()


def test_given_a_boot_when_the_boot_id_was_not_known_before_then_nothing_happens() -> None:
    state = taken_in(State(vm_name=VM_NAME), document(event()))
    assert not apply(state, {"kind": "boot", "boot_id": "boot-0"}).tracked[0].rebooted


def test_given_another_boot_when_an_event_is_over_already_then_only_the_others_have_rebooted() -> None:
    state = taken_in(NAMED, document(event("E-1"), event("E-2")))
    state = apply(state, {"kind": "stage", "event_id": "E-1", "stage": "drain", "state": BEGUN})
    state = apply(taken_in(state, document(event("E-2"), incarnation=2)), {"kind": "boot", "boot_id": "boot-1"})
    assert [(one.event_id, one.over, one.rebooted) for one in state.tracked] == [
        ("E-1", WITHDRAWN, False),
        ("E-2", None, True),
    ]


# --- what comes next --------------------------------------------------------------------------------


def work_for(state: State, left: Optional[float] = 900.0) -> Optional[Work]:
    return next_work(state, RULES, {one.event_id: left for one in state.tracked})


def due(state: State, left: Optional[float] = 900.0) -> Work:
    work = work_for(state, left)
    assert work is not None
    return work


def steps_to_the_end(state: State) -> Tuple[List[Tuple[str, str]], State]:
    """The steps that come one after the other when all succeed, and the state after them."""
    names = []
    while work_for(state) is not None:
        names.append((due(state).stage, due(state).step.name))
        state = finished(state)
    return names, state


def advanced(state: State) -> State:
    """With every transition that is due."""
    state = apply(state, *transitions(state, RULES))
    assert transitions(state, RULES) == []
    return state


def outcome(succeeded: bool, cut_off: bool = False) -> StepOutcome:
    return StepOutcome(succeeded, "" if succeeded else "said why", "", 1.23456, cut_off)


def finished(state: State, succeeded: bool = True, cut_off: bool = False) -> State:
    work = due(state)
    state = apply(state, {"kind": "step_begun", "event_id": work.event.event_id, "stage": work.stage})
    one = state.find(work.event.event_id)
    assert one is not None
    return advanced(apply(state, ended(work, plan_of(RULES, one), outcome(succeeded, cut_off))))


def test_given_an_event_when_all_succeeds_then_its_steps_come_one_after_the_other_and_it_is_ready() -> None:
    state = advanced(taken_in(NAMED, document(event())))
    assert state.is_out
    names, state = steps_to_the_end(state)
    assert names == [("drain", "deregister"), ("drain", "wait"), ("shutdown", "stop")]
    assert is_ready(state.tracked[0], plan_of(RULES, state.tracked[0]))
    assert [one.event_id for one in to_approve(state, RULES, {}, NOBODY)] == ["E-1"]


@pytest.mark.parametrize("listed", [7, None, {"EventId": "e-1", "Resources": 7}, {"EventId": 7, "EventType": "Reboot"}])
def test_trap_3_given_a_machine_that_is_out_when_the_resources_of_its_event_are_unreadable_then_it_stays_out_unapproved(
    listed: object,
) -> None:
    state = advanced(taken_in(NAMED, document(event())))
    content = json.dumps({"DocumentIncarnation": 2, "Events": [listed]})
    state = taken_in(state, parse_document(content))
    while work_for(advanced(state)) is not None:
        state = finished(advanced(state))
    assert [(one.event_id, one.over, one.event.event_status) for one in state.tracked] == [("E-1", None, "Unreadable")]
    assert state.is_out
    assert to_approve(advanced(state), RULES, {}, NOBODY) == []
    assert taken_in(state, parse_document(content)) == state
    assert [one.event for one in taken_in(state, document(event())).tracked if one.over is None] == [event()]
    assert [one.over for one in taken_in(state, document()).tracked] == ["withdrawn"]


def test_given_an_event_with_unreadable_resources_when_seen_then_nothing_is_done_and_others_are_over() -> None:
    unreadable = {"EventId": "B", "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": "web_0"}
    listed = parse_document(json.dumps({"DocumentIncarnation": 2, "Events": [unreadable]}))
    assert taken_in(NAMED, listed).tracked == ()
    state = taken_in(advanced(taken_in(NAMED, document(event()))), listed)
    assert [one.over for one in state.tracked] == ["withdrawn"]


@pytest.mark.parametrize("name", ["EventId", "EventStatus"])
def test_trap_3_given_a_machine_that_is_out_when_its_event_cannot_be_read_any_more_then_it_stays_out_unapproved(
    name: str,
) -> None:
    state = advanced(taken_in(NAMED, document(event())))
    listed = dict(event_as_azure(event()), **{name: 7})
    state = taken_in(state, parse_document(json.dumps({"DocumentIncarnation": 2, "Events": [listed]})))
    while work_for(advanced(state)) is not None:
        state = finished(advanced(state))
    assert [one.event.event_status for one in state.tracked if one.over is None] == ["Unreadable"]
    assert state.is_out
    assert state.restore == Progress()
    assert to_approve(advanced(state), RULES, {}, NOBODY) == []
    assert [one.event for one in taken_in(state, document(event())).tracked if one.over is None] == [event()]


def given_first_step_failed(rules: Sequence[Rule]) -> State:
    state = taken_in(NAMED, document(event()))
    state = apply(state, *transitions(state, rules))
    work = next_work(state, rules, {})
    assert work is not None
    state = apply(state, ended(work, plan_of(rules, state.tracked[0]), outcome(False)))
    return apply(state, *transitions(state, rules))


def test_given_a_step_that_fails_when_the_plan_stops_then_nothing_follows_and_nothing_is_approved() -> None:
    rules = parse_config({"policies": [dict(POLICY, on_failure="stop")], "quorum": QUORUM}).rules
    state = given_first_step_failed(rules)
    assert next_work(state, rules, {}) is None
    assert (state.tracked[0].drain.state, state.tracked[0].shutdown) == (FAILED, Progress())
    assert to_approve(state, rules, {}, NOBODY) == []


def test_given_a_step_that_fails_when_the_plan_continues_then_the_rest_follows_and_nothing_is_approved() -> None:
    state = finished(advanced(taken_in(NAMED, document(event()))), succeeded=False)
    state = finished(state)
    assert state.tracked[0].drain.state == FAILED
    work = due(state)
    assert work.stage == "shutdown"
    state = finished(state)
    assert state.tracked[0].shutdown.state == SUCCEEDED
    assert work_for(state) is None
    assert to_approve(state, RULES, {}, NOBODY) == []


@pytest.mark.parametrize("on_failure", [IGNORE, FINISH])
def test_given_hooks_alone_that_have_failed_when_the_plan_ignores_that_then_the_event_is_approved(
    on_failure: str,
) -> None:
    policy = {"drain": [{"hooks": True}], "approve": "when_ready", "on_failure": on_failure}
    rules = parse_config({"policies": [policy]}).rules
    state = given_first_step_failed(rules)
    assert bool(to_approve(state, rules, {}, NOBODY)) is (on_failure == IGNORE)


def test_given_a_step_that_has_failed_when_the_configuration_drops_its_stage_then_nothing_is_approved() -> None:
    drained = finished(finished(advanced(taken_in(NAMED, document(event())))))
    state = finished(drained, succeeded=False)
    rules = parse_config({"policies": [{**POLICY, "shutdown": None}], "quorum": QUORUM}).rules
    state = apply(state, *transitions(state, rules))
    assert next_work(state, rules, {}) is None
    assert to_approve(state, rules, {}, NOBODY) == []


@pytest.mark.parametrize(
    ("left", "margin", "seconds"),
    [(900.0, 10.0, 890.0), (30.0, 2.0, 28.0), (12.0, 10.0, 6.0), (0.0, 10.0, 30.0), (-500.0, 10.0, 30.0)],
)
def test_given_a_start_when_it_is_near_or_past_then_there_is_time_anyway(
    left: float, margin: float, seconds: float
) -> None:
    assert seconds_before_start(left, margin) == seconds


@pytest.mark.parametrize(
    ("on_failure", "succeeded", "cut_off", "forbids", "ends"),
    [
        (STOP, False, False, True, True),
        (STOP, False, True, True, False),
        (FINISH, False, False, True, False),
        (FINISH, False, True, True, False),
        (IGNORE, False, False, False, False),
        (IGNORE, False, True, True, False),
        (STOP, True, False, False, False),
        (FINISH, True, False, False, False),
        (IGNORE, True, False, False, False),
    ],
)
def test_given_the_end_of_a_step_when_it_is_judged_then_by_how_it_ended_and_what_the_plan_says(
    on_failure: str, succeeded: bool, cut_off: bool, forbids: bool, ends: bool
) -> None:
    work = due(advanced(taken_in(NAMED, document(event()))))
    record = ended(work, Plan("any", on_failure=on_failure), outcome(succeeded, cut_off))
    assert (record["forbids_approval"], record["ends_plan"], record["seconds"]) == (forbids, ends, 1.235)


def test_given_little_time_when_a_step_of_the_drain_is_due_then_the_shutdown_has_its_share() -> None:
    state = advanced(taken_in(NAMED, document(event())))
    # Three steps of 60 seconds.
    assert due(state, 90.0).seconds == 30.0
    assert due(finished(state), 90.0).seconds == 45.0
    assert due(finished(finished(state)), 30.0).seconds == 30.0


def test_given_no_time_when_the_shutdown_is_due_then_it_is_run_anyway() -> None:
    state = advanced(taken_in(NAMED, document(event())))
    drain = due(state, -5.0)
    assert drain.seconds < 0
    assert drain.is_cut
    shutdown = due(finished(finished(state)), -5.0)
    assert (shutdown.stage, shutdown.seconds, shutdown.is_cut) == ("shutdown", 60.0, False)
    assert [due(finished(finished(state)), left).seconds for left in (0.0, 0.5)] == [60.0, 0.5]


def test_given_an_event_that_is_over_when_nothing_else_is_listed_then_the_machine_is_restored_step_by_step() -> None:
    state = finished(advanced(taken_in(NAMED, document(event()))))
    state = taken_in(state, document(incarnation=2))
    (begun,) = transitions(state, RULES)
    assert begun["back_from"] == [{"event_id": "E-1", "event_type": "Reboot", "outcome": WITHDRAWN}]
    state = advanced(state)
    assert state.restore.state == BEGUN
    assert due(state).outcome == WITHDRAWN
    names, state = steps_to_the_end(state)
    assert names == [("restore", "start"), ("restore", "register")]
    assert state.tracked == ()


def test_given_a_restore_under_way_when_another_event_needs_the_machine_out_then_it_is_given_up() -> None:
    state = finished(advanced(taken_in(NAMED, document(event()))))
    state = finished(advanced(taken_in(state, document(incarnation=2))))
    assert state.restore == Progress(BEGUN, ('["command","/bin/start.exe"]',))
    state = taken_in(state, document(event("E-2"), incarnation=3))
    # The order of the transitions does not matter.
    state = advanced(state)
    assert state.restore == Progress()
    work = due(state)
    assert (work.event.event_id, work.stage) == ("E-2", "drain")


def test_given_a_restore_under_way_when_the_machine_is_drained_by_hand_then_it_is_given_up() -> None:
    state = finished(advanced(taken_in(NAMED, document(event()))))
    state = advanced(taken_in(state, document(incarnation=2)))
    given_up = transitions(apply(state, {"kind": "manual", "wanted": True, "at": NOW}), RULES)[0]
    assert (given_up["state"], [one["event_id"] for one in given_up["back_from"]]) == (FAILED, ["E-1"])


@pytest.mark.parametrize("event_type", ["Terminate", "Preempt"])
@pytest.mark.parametrize(("status", "is_restored"), [("Scheduled", True), ("Started", False)])
def test_given_a_deletion_when_it_is_over_then_the_machine_is_restored_only_if_it_was_withdrawn(
    event_type: str, status: str, is_restored: bool
) -> None:
    state = finished(advanced(taken_in(NAMED, document(event(event_type=event_type)))))
    state = taken_in(state, document(event(event_type=event_type, event_status=status), incarnation=2))
    state = advanced(taken_in(state, document(incarnation=3)))
    assert (work_for(state) is not None) is is_restored


def test_given_two_events_with_the_same_restore_when_both_are_over_then_each_step_is_run_once() -> None:
    state = taken_in(NAMED, document(event("E-1"), event("E-2")))
    state = finished(finished(finished(finished(advanced(state)))))
    assert [one.began for one in state.tracked] == [True, True]
    assert [step.name for step in restore_steps(state, RULES).values()] == ["start", "register"]


def test_given_a_preempt_when_another_event_is_nearer_or_started_then_the_preempt_goes_first() -> None:
    soon = START - timedelta(seconds=600)
    others = [event("E-1", not_before=soon), event("E-2", event_status="Started", not_before=None)]
    state = advanced(taken_in(NAMED, document(*others, event("E-3", event_type="Preempt"))))
    work = due(state)
    assert work.event.event_id == "E-3"


@pytest.mark.parametrize(
    ("details", "order"),
    [
        (({"not_before": START}, {"not_before": START - timedelta(seconds=1)}), "E-2"),
        (({"not_before": START}, {"not_before": None}), "E-2"),
        (({"not_before": START}, {"event_status": "Started"}), "E-2"),
        (({}, {}), "E-1"),
    ],
)
def test_given_two_events_when_asked_what_comes_next_then_the_one_that_begins_first(
    details: Tuple[Dict[str, Any], Dict[str, Any]], order: str
) -> None:
    state = advanced(taken_in(NAMED, document(event("E-1", **details[0]), event("E-2", **details[1]))))
    work = due(state)
    assert work.event.event_id == order


def test_given_a_machine_that_has_booted_for_an_unknown_reason_then_no_stage_continues_and_nothing_is_approved() -> (
    None
):
    for before in (advanced(taken_in(NAMED, document(event()))), ready_for(event())):
        state = apply(before, {"kind": "boot", "boot_id": "boot-1"})
        assert work_for(state) is None
        assert transitions(state, RULES) == []
        assert to_approve(state, RULES, {}, NOBODY) == []


# --- who approves -----------------------------------------------------------------------------------


def ready_for(*events: Event) -> State:
    return steps_to_the_end(advanced(taken_in(NAMED, document(*events))))[1]


SHARED = ("web_1", VM_NAME.upper(), "web_2")


@pytest.mark.parametrize(
    ("ready", "silent", "is_approved"),
    [
        ((), (), False),
        (("web_1", "web_2"), (), False),
        (("web_1", "web_2"), ("web_1",), True),
        (("web_1", "web_2"), ("web_2",), False),
        (("web_2",), ("web_1",), False),
        (("web_1",), ("web_1", "web_2"), False),
    ],
)
def test_given_a_shared_event_when_this_machine_is_the_second_then_it_approves_only_in_place_of_the_first(
    ready: Sequence[str], silent: Sequence[str], is_approved: bool
) -> None:
    state = ready_for(event(resources=SHARED))
    approved = to_approve(
        state, RULES, {"e-1": dict.fromkeys(map(name_key, ready), AGREES)}, frozenset(map(name_key, silent))
    )
    assert bool(approved) is is_approved


def test_given_a_name_that_only_looks_like_a_members_when_it_is_ready_then_it_does_not_count_for_that_member() -> None:
    state = ready_for(event(resources=(VM_NAME, "disk_1")))
    # The kelvin sign: its lower case is an ordinary k.
    words = {"e-1": {name_key("dis\u212a_1"): AGREES}}
    assert to_approve(state, RULES, words, NOBODY) == []


def test_given_a_name_that_is_no_longer_in_the_event_when_all_others_are_ready_then_it_does_not_approve() -> None:
    state = ready_for(event(resources=SHARED))
    moved = event(resources=("web_1", "web_2"))
    state = state._replace(tracked=tuple(one._replace(event=moved) for one in state.tracked))
    everybody = dict.fromkeys([name_key("web_1"), name_key("web_2")], AGREES)
    assert to_approve(state, RULES, {"e-1": everybody}, frozenset(everybody)) == []


@pytest.mark.parametrize(
    ("word", "is_approved"),
    [
        (MemberStatus(True, True, False), True),
        (MemberStatus(True, False, False), False),
        (MemberStatus(False, True, False), False),
        (MemberStatus(True, True, True), False),
    ],
)
def test_given_a_leader_that_would_not_approve_when_asked_then_the_next_does_if_the_leader_is_ready_and_willing(
    word: MemberStatus, is_approved: bool
) -> None:
    state = ready_for(event(resources=("web_1", VM_NAME)))
    assert bool(to_approve(state, RULES, {"e-1": {name_key("web_1"): word}}, NOBODY)) is is_approved


@pytest.mark.parametrize("approve", ["never", "when_ready", "quorum"])
def test_given_a_shared_event_when_all_members_agree_then_only_a_plan_with_a_quorum_lets_it_be_approved(
    approve: str,
) -> None:
    rules = parse_config({"policies": [dict(POLICY, approve=approve)], "quorum": QUORUM}).rules
    state = ready_for(event(resources=(VM_NAME, "web_1")))
    words = {"e-1": {name_key("web_1"): AGREES}}
    assert bool(to_approve(state, rules, words, NOBODY)) is (approve == "quorum")


def test_given_several_events_that_are_ready_when_approved_then_all_that_are_not_withheld_in_order_of_urgency() -> None:
    state = ready_for(event("E-1"), event("E-2", not_before=START - timedelta(seconds=9)))
    assert [one.event_id for one in to_approve(state, RULES, {}, NOBODY)] == ["E-2", "E-1"]
    assert [one.event_id for one in to_approve(state, RULES, {}, NOBODY, withheld=["E-2"])] == ["E-1"]


@pytest.mark.parametrize("approve", ["never", "when_ready", "quorum"])
def test_given_an_event_of_this_machine_alone_when_ready_then_only_never_keeps_it_from_being_approved(
    approve: str,
) -> None:
    rules = parse_config({"policies": [dict(POLICY, approve=approve)], "quorum": QUORUM}).rules
    state = ready_for(event())
    assert bool(to_approve(state, rules, {}, NOBODY)) is (approve != "never")


@pytest.mark.parametrize("approve", ["never", "when_ready"])
def test_given_an_event_and_a_drain_by_hand_when_asked_what_may_be_approved_then_never_the_drain(approve: str) -> None:
    rules = parse_config({"policies": [dict(POLICY, approve=approve)], "quorum": QUORUM}).rules
    state = apply(taken_in(NAMED, document(event())), {"kind": "manual", "wanted": True, "at": NOW})
    awaited = [one.event_id for one, _plan in awaiting_approval(state, rules)]
    assert awaited == ([] if approve == "never" else ["E-1"])
    begun = ready_for(event())
    for listed in ([event(event_status="Started")], []):
        assert awaiting_approval(taken_in(begun, document(*listed, incarnation=2)), rules) == []


def test_given_an_event_that_is_ready_when_the_configuration_adds_a_step_then_it_is_not_ready_any_more() -> None:
    more = [*POLICY["shutdown"], {"command": ["/bin/sync.exe"], "name": "sync"}]
    rules = parse_config({"policies": [dict(POLICY, shutdown=more)], "quorum": QUORUM}).rules
    state = ready_for(event())
    assert to_approve(state, rules, {}, NOBODY) == []
    assert [one["state"] for one in transitions(state, rules)] == [BEGUN]


@pytest.mark.parametrize(
    "listed", [[event(event_status="Started")], [event(event_status="Unheard of")], []], ids=["started", "else", "over"]
)
def test_given_an_event_that_is_not_scheduled_any_more_when_it_was_ready_then_it_is_not_approved(
    listed: List[Event],
) -> None:
    state = taken_in(ready_for(event()), document(*listed, incarnation=2))
    assert to_approve(state, RULES, {}, NOBODY) == []


def test_given_steps_under_way_when_compared_then_they_are_the_same_whatever_their_time() -> None:
    state = advanced(taken_in(NAMED, document(event("E-1"))))
    one, other = due(state, 900.0), due(state, 10.0)
    assert one != other
    assert one.is_same_as(other)
    assert not one.is_same_as(None)
    assert not one.is_same_as(other._replace(key="another"))
    assert not one.is_same_as(other._replace(event=event("E-2")))
