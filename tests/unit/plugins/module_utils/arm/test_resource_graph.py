# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which events does Resource Graph list, and which subscriptions are below a management group?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.acknowledgement import choose
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.machines import read_reference
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.options import Places
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.resource_graph import (
    list_events,
    subscriptions_of,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.approval import Mandate, judge
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.selection import Selection

from .scripted_arm import Step, dialogue, ok

VM = "/subscriptions/s/resourcegroups/rg/providers/Microsoft.Compute/virtualMachines/db"


def row(event_id: str, **properties: Any) -> dict[str, Any]:
    event = {"EventId": event_id, "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": ["db"], **properties}
    return {
        "id": "%s/providers/Microsoft.Maintenance/scheduledevents/%s" % (VM, event_id),
        "name": event_id,
        "properties": event,
    }


@pytest.mark.parametrize(("name", "value"), [("EventStatus", None), ("Resources", "db"), ("EventId", 7)])
def test_given_a_row_that_cannot_be_read_then_it_is_listed_as_unreadable_beside_the_others(
    name: str, value: Any
) -> None:
    page = ok({"data": [row("A"), row("B", **{name: value}), row("C")]})
    with dialogue(page) as (_arm, client):
        found = list_events(client, [])

    assert [one.event.event_status for one in found] == ["Scheduled", "Unreadable", "Scheduled"]
    assert {one.resource_id for one in found} == {VM}


def test_given_a_row_of_unknown_machines_then_it_is_shown_whoever_is_asked_about_and_not_approved() -> None:
    page = ok({"data": [row("A"), row("B", Resources="db"), row("C", Resources=["other"])]})
    with dialogue(page) as (_arm, client):
        chosen = choose(list_events(client, []), Selection(), [read_reference("db")])

    assert [one.event.event_id for one in chosen] == ["A", "B"]
    judgement = judge([one.event for one in chosen], Mandate(lambda _event, name: name == "db", "db"), "own")
    assert ([event.event_id for event in judgement.approve], judgement.refused) == (["A"], ())
    assert [(verdict.event.event_id, verdict.reason) for verdict in judgement.not_approved] == [
        ("B", "its list of VMs cannot be read")
    ]


def test_given_rows_that_azure_leaves_out_then_nobody_takes_them_for_none() -> None:
    page = ok({"data": [row("A")], "resultTruncated": "true"})
    with dialogue(page) as (_arm, client), pytest.raises(ArmError, match="returned only a part of the rows"):
        list_events(client, [])


def test_given_a_management_group_then_all_pages_of_its_subscriptions_are_read() -> None:
    pages = (
        ok({"data": [{"id": "/subscriptions/a", "subscriptionId": "a"}], "$skipToken": "more"}),
        ok({"data": [{"id": "/subscriptions/b", "subscriptionId": "b"}]}),
    )
    with dialogue(*pages) as (arm, client):
        assert subscriptions_of(client, Places((), "shop")) == ["a", "b"]
    first, second = (json.loads(body) for body in arm.sent("POST"))
    assert first == {"managementGroups": ["shop"], "query": first["query"]}
    assert "microsoft.resources/subscriptions" in first["query"]
    assert second == {**first, "options": {"$skipToken": "more"}}


def test_given_no_management_group_then_nobody_is_asked() -> None:
    with dialogue() as (_arm, client):
        assert subscriptions_of(client, Places(("a",))) == ["a"]
        assert subscriptions_of(client, Places()) == []


def test_given_a_management_group_without_subscriptions_then_that_does_not_mean_all_of_them() -> None:
    with (
        dialogue(ok({"data": []})) as (_arm, client),
        pytest.raises(ArmError, match=r"shows no subscription below 'shop'.* the role Reader on it"),
    ):
        subscriptions_of(client, Places((), "shop"))


def test_given_a_management_group_that_may_not_be_seen_then_the_error_quotes_azure() -> None:
    details = [{"code": "AccessDenied", "message": "The user might not have enough permission."}]
    denied = Step(403, {"error": {"code": "AccessDenied", "message": "For support: …", "details": details}})
    with (
        dialogue(denied) as (_arm, client),
        pytest.raises(ArmError, match=r"403 AccessDenied: .*The user might not have enough permission.* role Reader"),
    ):
        subscriptions_of(client, Places((), "shop"))
