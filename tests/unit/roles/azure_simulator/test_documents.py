# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each api-version shows of the same events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from azure_simulator import documents
from azure_simulator.events import LIVES, EventSpec
from azure_simulator.world import World

from .conftest import make_world

ALWAYS = {"EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"}


def document(world: World, version: str) -> Any:
    world.knock("web_0")
    return json.loads(documents.render(world.feed("web_0"), version))


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        ("2017-03-01", set()),
        ("2017-08-01", set()),
        ("2017-11-01", set()),
        ("2019-01-01", set()),
        ("2019-04-01", {"Description"}),
        ("2019-08-01", {"Description", "EventSource"}),
        ("2020-07-01", {"Description", "EventSource", "DurationInSeconds"}),
    ],
)
def test_given_an_api_version_when_rendered_then_it_shows_the_fields_it_had(version: str, fields: set[str]) -> None:
    world = make_world()
    world.create(EventSpec("Reboot", ("web_0",), LIVES["Reboot"]))
    assert set(document(world, version)["Events"][0]) == ALWAYS | fields


@pytest.mark.parametrize(
    ("version", "types"),
    [
        ("2017-08-01", ["Freeze", "Reboot", "Redeploy"]),
        ("2017-11-01", ["Freeze", "Reboot", "Redeploy", "Preempt"]),
        ("2019-01-01", ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"]),
        ("2020-07-01", ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"]),
        ("2024-07-09", ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate", "SpotRebalanceRecommendation"]),
    ],
)
def test_given_an_api_version_when_rendered_then_it_hides_the_types_it_did_not_have(
    version: str, types: list[str]
) -> None:
    world = make_world()
    for event_type, life in LIVES.items():
        world.create(EventSpec(event_type, ("web_0",), life))
    assert [event["EventType"] for event in document(world, version)["Events"]] == types


def test_given_a_recommendation_when_rendered_then_it_has_neither_a_start_nor_a_duration() -> None:
    world = make_world()
    world.create(EventSpec("SpotRebalanceRecommendation", ("web_0",), LIVES["SpotRebalanceRecommendation"]))
    (event,) = document(world, "2024-07-09")["Events"]
    assert set(event) == (ALWAYS | {"Description", "EventSource"}) - {"NotBefore"}
    assert event["EventStatus"] == "Scheduled"


def test_given_the_preview_version_when_rendered_then_names_begin_with_an_underscore() -> None:
    world = make_world()
    world.create(EventSpec("Reboot", ("web_0", "web_1"), LIVES["Reboot"]))
    assert document(world, "2017-03-01")["Events"][0]["Resources"] == ["_web_0", "_web_1"]
    assert document(world, "2017-08-01")["Events"][0]["Resources"] == ["web_0", "web_1"]


def test_given_a_scheduled_event_when_rendered_then_every_value_is_as_the_service_writes_it() -> None:
    world = make_world()
    life = LIVES["Freeze"]._replace(description="Host maintenance.", duration=9, source="User")
    world.create(EventSpec("Freeze", ("web_1",), life, event_id="602d9444-d2cd-49c7-8624-8643e7171297"))
    assert document(world, "2020-07-01")["Events"] == [
        {
            "EventId": "602D9444-D2CD-49C7-8624-8643E7171297",
            "EventStatus": "Scheduled",
            "EventType": "Freeze",
            "ResourceType": "VirtualMachine",
            "Resources": ["web_1"],
            "NotBefore": "Sun, 13 Sep 2020 12:41:40 GMT",
            "Description": "Host maintenance.",
            "EventSource": "User",
            "DurationInSeconds": 9,
        }
    ]


def test_given_a_started_event_when_rendered_then_not_before_is_empty() -> None:
    world = make_world()
    world.create(EventSpec("Reboot", ("web_0",), LIVES["Reboot"], born_started=True))
    event = document(world, "2020-07-01")["Events"][0]
    assert (event["EventStatus"], event["NotBefore"]) == ("Started", "")


def test_given_no_events_when_rendered_then_the_list_is_empty() -> None:
    empty = document(make_world(), "2020-07-01")
    assert empty["Events"] == []
    assert isinstance(empty["DocumentIncarnation"], int)
