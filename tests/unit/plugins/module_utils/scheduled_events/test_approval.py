# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may approve which?"""

from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Optional, Tuple

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.approval import (
    NOT_LISTED,
    SCOPES,
    UNKNOWN_VMS,
    Mandate,
    Verdict,
    explain_late,
    for_vm,
    judge,
    unlisted,
    waiting_terminates,
    why_another,
    why_over,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import (
    UNREADABLE,
    Event,
    in_order_of_urgency,
)
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.scheduled_events import strategies
from hypothesis import given
from hypothesis import strategies as st

NOON = datetime(2026, 11, 3, 12, tzinfo=timezone.utc)


def event(event_id: str, *resources: str, **fields: Any) -> Event:
    """A scheduled Reboot of these VMs, but for the given fields."""
    return Event(event_id, "Reboot", "Scheduled", resources, NOON)._replace(**fields)


MINE = event("mine", "web_1")
LED = event("led", "WEB_1", "web_2")
FOLLOWED = event("followed", "web_2", "web_1")
OTHERS = event("others", "web_2", "web_10")
STARTED = event("started", "web_1", event_status="Started")


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("resources", [("web_1",), ("web_2", "web_1"), ("web_2",), ()])
def test_given_an_advisory_event_then_it_is_left_alone_whatever_the_scope(
    scope: str, resources: Tuple[str, ...]
) -> None:
    advisory = event("advisory", *resources, event_type="SpotRebalanceRecommendation")

    assert judge([advisory], for_vm("web_1"), scope) == ((), (Verdict(advisory, "advisory"),), ())


@pytest.mark.parametrize("scope", SCOPES)
def test_given_an_unreadable_list_of_vms_then_the_event_is_left_alone_whatever_the_scope(scope: str) -> None:
    anybodys = event("anybodys", other_fields={UNREADABLE + "Resources": 5})

    assert judge([anybodys], for_vm("web_1"), scope) == ((), (Verdict(anybodys, UNKNOWN_VMS),), ())


class TestWhatWasPreparedFor:
    def test_given_an_event_as_it_was_seen_then_there_is_nothing_to_say(self) -> None:
        moved = LED._replace(event_id="Led", resources=("web_2", "Web_1"), not_before=NOON + timedelta(seconds=60))

        assert why_another(moved, [MINE, LED]) == ""
        assert why_another(MINE, []) == ""

    @pytest.mark.parametrize(
        ("changed", "reason"),
        [
            (
                {"event_type": "Redeploy"},
                "it was a Reboot of web_1 when it was prepared for, and is a Redeploy of web_1",
            ),
            (
                {"resources": ("web_1", "web_2")},
                "it was a Reboot of web_1 when it was prepared for, and is a Reboot of web_1, web_2",
            ),
        ],
    )
    def test_given_another_type_or_another_vm_then_it_is_not_what_was_prepared_for(
        self, changed: Dict[str, Any], reason: str
    ) -> None:
        assert why_another(MINE._replace(**changed), [MINE]) == "it has changed: " + reason


class TestScopeOwn:
    def test_given_an_event_that_hits_this_vm_alone_then_it_is_approved(self) -> None:
        assert judge([MINE], for_vm("WEB_1"), "own") == ((MINE,), (), ())

    @pytest.mark.parametrize("shared", [LED, FOLLOWED])
    def test_given_an_event_that_hits_another_as_well_then_it_is_refused(self, shared: Event) -> None:
        assert judge([shared], for_vm("web_1"), "own") == ((), (), (Verdict(shared, "affects web_2 as well"),))

    def test_given_an_event_that_hits_another_as_well_has_started_then_there_is_nothing_to_refuse(self) -> None:
        started = LED._replace(event_status="Started")

        assert judge([started], for_vm("web_1"), "own") == ((), (Verdict(started, "already started"),), ())

    def test_given_an_event_of_others_then_it_is_refused(self) -> None:
        judgement = judge([MINE, OTHERS], for_vm("web_1"), "own")

        assert judgement.approve == (MINE,)
        assert judgement.refused == (Verdict(OTHERS, "does not affect web_1, but web_2, web_10"),)

    def test_given_a_started_event_of_others_then_it_is_a_mistake_anyway(self) -> None:
        started = OTHERS._replace(event_status="Started")

        assert judge([started], for_vm("web_1"), "own").refused == (
            Verdict(started, "does not affect web_1, but web_2, web_10"),
        )

    def test_given_an_event_that_names_nobody_then_it_is_refused(self) -> None:
        assert judge([event("nobody")], for_vm("web_1"), "own").refused[0].reason == (
            "does not affect web_1, but no VM that it names"
        )

    def test_given_an_event_that_has_started_then_it_is_left_out(self) -> None:
        judgement = judge([STARTED], for_vm("web_1"), "own")

        assert judgement.not_approved == (Verdict(STARTED, "already started"),)
        assert (judgement.approve, judgement.refused) == ((), ())


class TestScopeLeader:
    def test_given_events_that_this_vm_leads_then_they_are_approved(self) -> None:
        judgement = judge([MINE, LED], for_vm("web_1"), "leader")

        assert judgement.approve == tuple(in_order_of_urgency([MINE, LED]))

    def test_given_an_event_that_another_leads_then_it_is_left_out_and_the_leader_named(self) -> None:
        assert judge([FOLLOWED], for_vm("web_1"), "leader") == (
            (),
            (Verdict(FOLLOWED, "led by web_2, not by web_1"),),
            (),
        )

    def test_given_an_event_of_others_then_it_is_left_out(self) -> None:
        judgement = judge([OTHERS], for_vm("web_1"), "leader")

        assert judgement.not_approved == (Verdict(OTHERS, "does not affect web_1, but web_2, web_10"),)
        assert judgement.refused == ()


class TestScopeAny:
    def test_given_any_scheduled_events_then_all_are_approved_the_most_urgent_first(self) -> None:
        urgent = event("urgent", "web_9", not_before=NOON - timedelta(seconds=1))

        judgement = judge([OTHERS, MINE, urgent], for_vm("web_1"), "any")

        assert [one.event_id for one in judgement.approve] == ["urgent", "mine", "others"]

    def test_given_events_that_are_not_scheduled_then_they_are_left_out_with_the_reason(self) -> None:
        paused = event("paused", "web_2", event_status="Paused")

        assert judge([STARTED, paused], for_vm("web_1"), "any").not_approved == (
            Verdict(STARTED, "already started"),
            Verdict(paused, "its status is Paused: nothing to approve"),
        )


class TestSeveralMachines:
    """From outside a user speaks for several, and knows them by more than a name."""

    READY = Mandate(lambda event, name: (event.event_id, name) in {("led", "WEB_1"), ("led", "web_2")}, "those")

    def test_given_all_vms_of_an_event_are_named_then_it_is_own(self) -> None:
        assert judge([LED], self.READY, "own").approve == (LED,)

    def test_given_the_same_names_where_others_are_meant_then_it_is_not_own_and_not_led(self) -> None:
        reason = "does not affect those, but web_2, web_1"

        assert judge([FOLLOWED], self.READY, "own").refused == (Verdict(FOLLOWED, reason),)
        assert judge([FOLLOWED], self.READY, "leader").not_approved == (Verdict(FOLLOWED, reason),)

    def test_given_the_leader_is_named_then_the_event_is_approved_under_leader(self) -> None:
        assert judge([LED], self.READY, "leader").approve == (LED,)


def test_given_ids_that_were_not_chosen_then_each_is_reported_once_with_the_reason() -> None:
    assert unlisted(["MINE", "led", "Led", "gone", "GONE"], [MINE], [MINE, LED]) == [
        {"event_id": "led", "reason": "left out by the other filters"},
        {"event_id": "gone", "reason": NOT_LISTED},
    ]
    assert unlisted(None, [], [MINE]) == []


def test_given_late_events_then_errors_while_waiting_for_them_are_reported_too() -> None:
    assert explain_late(["a", "b"], 1.5, "", "wait") == (
        "Approved, but not started within 1.5 s: a, b. Azure starts an approved event when it can: wait"
    )
    assert ": a (no answer). Azure" in explain_late(["a"], 1, "no answer", "wait")


def test_given_an_unknown_scope_then_the_error_names_it_and_the_known_ones() -> None:
    with pytest.raises(ValueError, match="scope: 'mine' is not one of own, leader, any"):
        judge([], for_vm("web_1"), "mine")


def test_why_an_event_that_is_gone_is_left_out_is_reported_in_full() -> None:
    assert NOT_LISTED == "not listed: it has ended, was withdrawn or never existed"
    assert why_over(STARTED) == "already started"


class TestForAnyEvents:
    @given(strategies.event_lists, st.sampled_from(strategies.VM_NAMES), st.sampled_from(SCOPES))
    def test_only_scheduled_events_are_approved(self, events: List[Event], vm_name: str, scope: str) -> None:
        assert all(one.event_status == "Scheduled" for one in judge(events, for_vm(vm_name), scope).approve)

    @given(strategies.event_lists, st.sampled_from(strategies.VM_NAMES))
    def test_under_own_only_events_that_hit_this_vm_and_no_other_are_approved(
        self, events: List[Event], vm_name: str
    ) -> None:
        for one in judge(events, for_vm(vm_name), "own").approve:
            assert {name.lower() for name in one.resources} == {vm_name.lower()}

    @given(strategies.event_lists, st.sampled_from(strategies.VM_NAMES))
    def test_under_leader_only_events_that_this_vm_leads_are_approved(self, events: List[Event], vm_name: str) -> None:
        for one in judge(events, for_vm(vm_name), "leader").approve:
            assert one.resources[0].lower() == vm_name.lower()

    @given(strategies.event_lists)
    def test_under_leader_at_most_one_vm_approves_an_event(self, events: List[Event]) -> None:
        machines = {name.lower() for name in strategies.VM_NAMES}

        for one in events:
            approvers = [name for name in machines if judge([one], for_vm(name), "leader").approve]
            assert len(approvers) == (1 if one.event_status == "Scheduled" and one.resources else 0)

    @given(strategies.event_lists, st.sampled_from(strategies.VM_NAMES), st.sampled_from(SCOPES))
    def test_each_event_lands_in_exactly_one_place_in_order_of_urgency(
        self, events: List[Event], vm_name: str, scope: str
    ) -> None:
        judgement = judge(events, for_vm(vm_name), scope)
        approve = list(judgement.approve)
        not_approved = [verdict.event for verdict in judgement.not_approved]
        refused = [verdict.event for verdict in judgement.refused]

        assert in_order_of_urgency(approve + not_approved + refused) == in_order_of_urgency(events)
        for place in (approve, not_approved, refused):
            assert place == in_order_of_urgency(place)

    @given(strategies.event_lists, st.sampled_from(strategies.VM_NAMES), st.sampled_from(SCOPES))
    def test_nothing_is_refused_but_under_own_and_every_other_no_has_its_reason(
        self, events: List[Event], vm_name: str, scope: str
    ) -> None:
        judgement = judge(events, for_vm(vm_name), scope)

        assert scope == "own" or not judgement.refused
        assert all(verdict.reason for verdict in judgement.not_approved + judgement.refused)


def terminate(event_id: str, not_before: Optional[datetime] = NOON, **fields: Any) -> Event:
    """A scheduled Terminate of the VM that is named as the event is."""
    return event(event_id, event_id, event_type="Terminate", not_before=not_before, **fields)


def waits(approved: List[Event], listed: List[Event]) -> List[Tuple[str, List[str]]]:
    """What waits for what, by id."""
    return [
        (waiting.event.event_id, [one.event_id for one in waiting.waits_for])
        for waiting in waiting_terminates(approved, listed)
    ]


class TestTerminates:
    def test_given_an_earlier_unapproved_terminate_then_the_later_one_waits_for_it(self) -> None:
        earlier, later = terminate("earlier"), terminate("later", NOON + timedelta(seconds=1))

        assert waits([later], [earlier, later]) == [("later", ["earlier"])]

    def test_given_a_later_unapproved_terminate_then_the_earlier_one_does_not_wait(self) -> None:
        earlier, later = terminate("earlier"), terminate("later", NOON + timedelta(seconds=1))

        assert waits([earlier], [earlier, later]) == []

    def test_given_the_same_instant_then_all_must_be_approved_or_none_goes_early(self) -> None:
        one, two, three = terminate("one"), terminate("two"), terminate("three")

        assert waits([two], [one, two, three]) == [("two", ["one", "three"])]
        assert waits([one, two, three], [one, two, three]) == []

    def test_given_all_earlier_ones_are_approved_in_the_same_call_then_nothing_waits(self) -> None:
        earlier, later = terminate("earlier"), terminate("later", NOON + timedelta(seconds=1))

        assert waits([later, earlier], [earlier, later]) == []

    def test_given_an_id_in_another_case_then_it_is_the_same_event(self) -> None:
        assert waits([terminate("one")], [terminate("ONE")]) == []

    def test_given_an_unknown_start_on_either_side_then_it_is_taken_to_hold_back(self) -> None:
        known, unknown = terminate("known"), terminate("unknown", None)

        assert waits([known], [known, unknown]) == [("known", ["unknown"])]
        assert waits([unknown], [known, unknown]) == [("unknown", ["known"])]

    def test_given_a_terminate_that_has_started_or_another_type_then_nothing_waits_for_it(self) -> None:
        started = terminate("started", NOON - timedelta(seconds=1), event_status="Started")
        reboot = event("reboot", "web_1", not_before=NOON - timedelta(seconds=1))
        mine = terminate("mine")

        assert waits([mine], [started, reboot, mine]) == []

    def test_given_an_approved_event_of_another_type_then_it_does_not_wait(self) -> None:
        assert waits([MINE], [MINE, terminate("earlier", NOON - timedelta(seconds=1))]) == []

    def test_what_is_waited_for_is_named_in_order_of_urgency(self) -> None:
        first, second = terminate("z", NOON - timedelta(seconds=9)), terminate("a", NOON - timedelta(seconds=1))

        assert waits([terminate("mine")], [second, first]) == [("mine", ["z", "a"])]
