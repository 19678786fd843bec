# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has been done?

Runs on Python 3.6 and later.
"""

import json
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional

import pytest
from foghorn_agent.decide.policy import Step
from foghorn_agent.decide.state import (
    BEGUN,
    ENDED,
    FAILED,
    SUCCEEDED,
    WITHDRAWN,
    Failure,
    Hold,
    HookFailure,
    Progress,
    State,
    Tracked,
    apply,
    replay,
    summarise,
)
from foghorn_agent.decide.undo import Undo
from foghorn_core.scheduled_events.document import event_as_azure
from foghorn_core.scheduled_events.event import Event
from hypothesis import given
from hypothesis import strategies as st
from rehearsal import VM_NAME, Life, Rehearsal

START = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
NAMED = State(vm_id="id", vm_name=VM_NAME, boot_id="boot-0")

LIVES = [
    Life("Freeze"),
    Life("Reboot"),
    Life("Terminate"),
    Life("Preempt", notice=30.0, withdrawn_after=2.0),
    Life("Reboot", impact=60.0, linger=30.0),
]


@pytest.mark.parametrize("failing", [None, "wait", "start"])
@pytest.mark.parametrize("life", LIVES, ids=lambda life: "%s %s" % (life.event_type, life.withdrawn_after))
def test_given_every_state_of_a_life_when_it_is_summarised_then_the_summary_rebuilds_it(
    life: Life, failing: Optional[str]
) -> None:
    rehearsal = Rehearsal([life])
    rehearsal.failing = {failing} if failing else set()
    rehearsal.run_until(150.0)
    state = State()
    states = set()
    for record in rehearsal.history:
        state = apply(state, record)
        states.add(str(state))
        assert replay(json.loads(json.dumps(summarise(state)))) == state
    assert len(states) >= 10


@given(st.data())
def test_given_any_state_when_it_is_summarised_then_the_summary_rebuilds_it(data: Any) -> None:
    # What a document is read for: its reader leaves no other characters in an event.
    letters = st.text("aZ0_-é ", min_size=1, max_size=5)
    text = st.one_of(st.none(), letters)
    progress = st.builds(
        Progress,
        st.sampled_from(("pending", BEGUN, SUCCEEDED, FAILED)),
        st.lists(st.text(max_size=3)).map(tuple),
        st.booleans(),
        st.lists(letters, max_size=2).map(tuple),
    )
    seconds = st.floats(0, 900)
    step = st.builds(
        Step,
        kind=letters,
        name=letters,
        timeout=seconds,
        argv=st.lists(letters, max_size=2).map(tuple),
        ports=st.lists(st.integers(1, 65535), max_size=2).map(tuple),
        ignored=st.lists(letters, max_size=2).map(tuple),
        stops=letters,
        starts=letters,
        hook_timeout=st.one_of(st.none(), seconds),
    )
    undo = st.builds(
        Undo,
        steps=st.lists(step, max_size=2).map(tuple),
        stops=st.lists(st.tuples(letters, letters), max_size=2).map(tuple),
    )
    one_event = st.builds(
        Event,
        event_id=letters,
        event_type=st.sampled_from(("Reboot", "Unheard of")),
        event_status=st.sampled_from(("Scheduled", "Started")),
        resources=st.lists(letters.filter(lambda name: name[0] != "_"), max_size=3).map(tuple),
        not_before=st.one_of(st.none(), st.just(START)),
        description=text,
        event_source=text,
        resource_type=text,
        duration_in_seconds=st.one_of(st.none(), st.integers(-1, 9)),
        other_fields=st.dictionaries(st.just("OfALaterVersion"), st.integers(0, 9)),
    )
    tracked = st.builds(
        Tracked,
        first=one_event,
        event=one_event,
        notice=st.one_of(st.none(), st.floats(-1e6, 1e6)),
        seen_at=st.floats(0, 1e9),
        drain=progress,
        shutdown=progress,
        looked=st.lists(st.text(max_size=3), max_size=2).map(tuple),
        began=st.booleans(),
        flawed=st.booleans(),
        halted=st.booleans(),
        approvals=st.integers(0, 9),
        accepted=st.booleans(),
        started=st.booleans(),
        rebooted=st.booleans(),
        survived=st.booleans(),
        failures=st.lists(st.builds(Failure, letters, letters, letters), max_size=2).map(tuple),
        over=st.sampled_from((None, ENDED, WITHDRAWN)),
        undo=st.one_of(st.none(), undo),
    )
    state = data.draw(
        st.builds(
            State,
            vm_id=text,
            vm_name=text,
            boot_id=text,
            incarnation=st.one_of(st.none(), st.integers(0, 99)),
            tracked=st.lists(tracked, max_size=3, unique_by=lambda one: one.event_id.lower()).map(tuple),
            restore=progress,
            found=st.dictionaries(st.text(max_size=3), st.booleans(), max_size=2).map(lambda one: tuple(one.items())),
            in_doubt=st.booleans(),
            hold=st.one_of(
                st.none(), st.builds(Hold, since=st.floats(0, 1e9), until=st.one_of(st.none(), st.floats(0, 1e9)))
            ),
            forgotten=st.lists(letters, max_size=2).map(tuple),
            # They are counted in the journal that they are in.
            unreadable=st.just(0),
        )
    )
    assert replay(json.loads(json.dumps(summarise(state)))) == state


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "unheard of"},
        {},
        {"kind": None},
        {"kind": []},
        {"kind": "seen"},
        {"kind": "seen", "event": {}, "notice": None, "at": 1.0},
        {"kind": "tracked", "first": 3},
        {"kind": "approving", "event_ids": None},
        {"kind": "summary", "vm_id": None, "vm_name": None, "boot_id": None, "incarnation": 1, "restore": 5},
    ],
)
def test_given_a_record_that_cannot_be_understood_when_replayed_then_it_is_counted_and_else_changes_nothing(
    record: Any,
) -> None:
    records = [{"kind": "identity", "vm_id": "id", "vm_name": VM_NAME}, {"kind": "boot", "boot_id": "boot-0"}]
    is_tracked = record.get("kind") == "tracked"
    damaged = NAMED._replace(unreadable=1, is_incomplete=True, was_out=is_tracked)
    assert replay([records[0], record, records[1]]) == damaged


@pytest.mark.parametrize("stage", ["drain", "restore"])
def test_given_hooks_that_have_succeeded_when_replayed_then_they_are_known_until_their_step_has_ended(
    stage: str,
) -> None:
    event = event_as_azure(Event("E-1", "Reboot", "Scheduled", (VM_NAME,), START))
    hook = {"kind": "hook_ended", "event_id": "e-1", "stage": stage, "step": "key", "succeeded": True}
    records: List[Dict[str, Any]] = [
        {"kind": "seen", "event": event, "notice": 900.0, "at": 5.0},
        {"kind": "stage", "event_id": "E-1", "stage": stage, "state": "begun"},
        dict(hook, hook="10-a"),
        dict(hook, hook="20-b"),
    ]
    state = replay(records)
    assert state.progress("E-1", stage).hooks == ("10-a", "20-b")
    assert replay(json.loads(json.dumps(summarise(state)))) == state
    result = {"succeeded": True, "reason": "", "forbids_approval": False, "ends_plan": False, "name": "hooks"}
    state = replay([*records, dict(hook, **dict(result, kind="step_ended"))])
    assert state.progress("E-1", stage) == Progress("begun", ("key",))


HOOK_ENDED: Dict[str, Any] = {"kind": "hook_ended", "event_id": "E-1", "stage": "drain", "step": "key"}
GIVEN_UP: Dict[str, Any] = {"name": "hooks", "succeeded": False, "reason": "exit status 1", "cut_off": True}


def test_given_a_hook_that_was_given_up_when_replayed_then_it_has_ended_and_why_is_known_until_its_step_has() -> None:
    event = event_as_azure(Event("E-1", "Reboot", "Scheduled", (VM_NAME,), START))
    records: List[Dict[str, Any]] = [
        {"kind": "seen", "event": event, "notice": 900.0, "at": 5.0},
        {"kind": "stage", "event_id": "E-1", "stage": "drain", "state": "begun"},
        dict(HOOK_ENDED, hook="10-a", **GIVEN_UP),
        dict(HOOK_ENDED, hook="20-b", succeeded=True),
    ]
    state = replay(records)
    assert state.progress("E-1", "drain").hooks == ("10-a", "20-b")
    assert state.progress("E-1", "drain").hook_failures == (HookFailure("hooks", "10-a: exit status 1", True),)
    assert replay(json.loads(json.dumps(summarise(state)))) == state
    ended = dict(HOOK_ENDED, kind="step_ended", forbids_approval=True, ends_plan=False, **GIVEN_UP)
    assert replay([*records, ended]).progress("E-1", "drain") == Progress("begun", ("key",), True)


def test_given_hooks_that_have_succeeded_when_the_machine_boots_then_what_they_did_may_be_undone() -> None:
    event = event_as_azure(Event("E-1", "Reboot", "Scheduled", (VM_NAME,), START))
    records: List[Dict[str, Any]] = [
        {"kind": "boot", "boot_id": "boot-0"},
        {"kind": "seen", "event": event, "notice": 900.0, "at": 5.0},
        {"kind": "stage", "event_id": "E-1", "stage": "drain", "state": "begun"},
        dict(HOOK_ENDED, hook="10-a", succeeded=True),
        dict(HOOK_ENDED, hook="20-b", **GIVEN_UP),
        {"kind": "boot", "boot_id": "boot-1"},
        # It was for another reason.
        {"kind": "changed", "event": event, "event_id": "E-1"},
    ]
    assert replay(records).progress("E-1", "drain") == Progress("begun")
    assert replay(records).progress("E-9", "drain") == Progress()


def seen(event_id: str = "E-1", status: str = "Scheduled", kind: str = "seen") -> Dict[str, Any]:
    event = event_as_azure(Event(event_id, "Reboot", status, (VM_NAME,)))
    return {"kind": kind, "event": event, "notice": 900.0, "at": 1.0}


def test_given_a_unit_that_ran_when_it_is_found_at_rest_later_then_it_ran_anyway() -> None:
    found = {"kind": "found", "event_id": "E-1", "stage": "shutdown", "step": "stop", "unit": "web.service"}
    state = apply(NAMED, seen(), dict(found, runs=True), dict(found, runs=False))
    assert state.found == (("web.service", True),)
    state = apply(NAMED, seen(), dict(found, runs=False), dict(found, runs=True))
    assert state.found == (("web.service", True),)
    # The next time, it may have been stopped on purpose.
    assert apply(state, {"kind": "stage", "stage": "restore", "state": SUCCEEDED, "back_from": []}).found == ()


def test_given_all_that_was_done_when_the_machine_boots_for_another_reason_then_it_is_only_out() -> None:
    step: Dict[str, Any] = {"event_id": "E-1", "stage": "shutdown", "step": "stop", "name": "stop", "reason": "exit 1"}
    before = apply(
        NAMED,
        seen(),
        {"kind": "stage", "event_id": "E-1", "stage": "drain", "state": BEGUN},
        dict(step, kind="found", unit="web.service", runs=True),
        dict(HOOK_ENDED, hook="10-a", succeeded=True),
        dict(step, kind="step_ended", succeeded=False, forbids_approval=True, ends_plan=True),
        {"kind": "approving", "event_ids": ["E-1"]},
        {"kind": "approved", "event_ids": ["E-1"]},
    )
    (one,) = apply(before, {"kind": "boot", "boot_id": "boot-1"}, seen(kind="changed")).tracked
    assert one == Tracked(one.first, one.event, 900.0, 1.0, drain=Progress(BEGUN))


def test_given_a_former_name_when_an_event_has_it_then_it_hits_this_machine_only_if_it_is_known_already() -> None:
    renamed = apply(NAMED, seen(), {"kind": "identity", "vm_id": "id", "vm_name": "another"})
    known, new = (Event(event_id, "Reboot", "Scheduled", (VM_NAME,)) for event_id in ("E-1", "E-2"))
    assert (renamed.hits_me(known), renamed.hits_me(new)) == (True, False)


def test_given_an_event_that_has_started_when_it_is_listed_as_scheduled_again_then_it_has_started_anyway() -> None:
    state = apply(NAMED, seen(), seen(status="Started", kind="changed"), seen(kind="changed"))
    assert state.tracked[0].started
    assert state.tracked[0].event.is_scheduled


def test_given_a_restore_that_is_half_done_when_the_machine_boots_then_it_starts_again() -> None:
    restore = {"kind": "stage", "stage": "restore", "state": BEGUN}
    ended = {"kind": "step_ended", "stage": "restore", "step": "start", "succeeded": True}
    half_done = apply(NAMED, seen(), restore, ended, dict(ended, step="register", succeeded=False))
    assert half_done.restore == Progress(BEGUN, ("start",))
    assert half_done.restore_failed == ("register",)
    booted = apply(half_done, {"kind": "boot", "boot_id": "boot-1"})
    assert (booted.restore, booted.restore_failed) == (Progress(), ())
    assert apply(half_done, {"kind": "boot", "boot_id": "boot-0"}) == half_done
