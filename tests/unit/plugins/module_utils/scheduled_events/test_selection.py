# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which events are meant?"""

from typing import Any, List

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.selection import (
    Selection,
    affecting_any_of,
    any_of,
)
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.scheduled_events import strategies
from hypothesis import given
from hypothesis import strategies as st

EVENT = Event("AB-1", "Reboot", "Scheduled", ("web_1", "web_2"), event_source="Platform")


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        (Selection(), True),
        (Selection(event_ids=("ab-1",)), True),
        (Selection(event_ids=("x", "AB-1")), True),
        (Selection(event_ids=("AB",)), False),
        (Selection(event_ids=()), False),
        (Selection(event_types=any_of(["REBOOT"])), True),
        (Selection(event_types=any_of(["Freeze", "Redeploy"])), False),
        (Selection(event_types=any_of([])), False),
        (Selection(event_sources=any_of(["platform"])), True),
        (Selection(event_sources=any_of(["User"])), False),
        (Selection(event_statuses=any_of(["Started", "Scheduled"])), True),
        (Selection(event_statuses=any_of(["Started"])), False),
        (Selection(affecting="this_vm"), True),
        (Selection(affecting="others"), False),
        (Selection(event_ids=("ab-1",), event_types=any_of(["Freeze"])), False),
        (Selection(event_types=any_of(["Reboot"]), affecting="others"), False),
    ],
)
def test_given_conditions_then_an_event_is_chosen_when_it_meets_them_all(selection: Selection, chosen: bool) -> None:
    assert selection.chooses(EVENT, "WEB_1") is chosen


def test_given_another_vm_then_this_vm_and_others_change_places() -> None:
    assert not Selection(affecting="this_vm").chooses(EVENT, "web_10")
    assert Selection(affecting="others").chooses(EVENT, "web_10")


def test_given_a_version_without_sources_then_a_condition_on_the_source_chooses_nothing() -> None:
    event = EVENT._replace(event_source=None)

    assert not Selection(event_sources=any_of(["Platform", "User"])).chooses(event, "web_1")
    assert Selection().chooses(event, "web_1")


def test_given_no_words_then_there_is_no_condition() -> None:
    assert any_of(None) is None


def test_given_names_of_vms_then_events_are_kept_that_hit_any_of_them_as_a_whole_and_in_any_case() -> None:
    other = Event("CD-2", "Freeze", "Scheduled", ("Web_10",))
    nobody = Event("EF-3", "Freeze", "Scheduled", ())

    assert affecting_any_of([EVENT, other, nobody], ["WEB_1"]) == [EVENT]
    assert affecting_any_of([EVENT, other, nobody], ["wEB_10", "web_2"]) == [EVENT, other]
    assert affecting_any_of([EVENT, other, nobody], ["web_"]) == []
    assert affecting_any_of([EVENT, other, nobody], []) == []


@given(strategies.event_lists, st.sampled_from(strategies.VM_NAMES))
def test_an_event_affects_either_this_vm_or_others(events: List[Event], vm_name: str) -> None:
    for event in events:
        chosen = [Selection(affecting=affecting).chooses(event, vm_name) for affecting in ("this_vm", "others")]

        assert sorted(chosen) == [False, True]


@given(strategies.event_lists, st.sampled_from(strategies.VM_NAMES), st.data())
def test_another_condition_never_chooses_more(events: List[Event], vm_name: str, data: Any) -> None:
    wide = Selection(affecting=data.draw(st.sampled_from(["any", "this_vm", "others"])))
    narrow = wide._replace(event_types=any_of(data.draw(st.lists(st.sampled_from(["Reboot", "Freeze"])))))

    for event in events:
        assert wide.chooses(event, vm_name) or not narrow.chooses(event, vm_name)
