# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which events does Resource Graph list?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.resource_graph import list_events
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import DocumentError
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.arm.scripted_arm import (
    FakeTime,
    ScriptedArm,
    client_of,
    ok,
)

VM = "/subscriptions/s/resourcegroups/rg/providers/Microsoft.Compute/virtualMachines/db"


def row(event_id: str, **properties: Any) -> dict[str, Any]:
    event = {"EventId": event_id, "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": ["db"], **properties}
    return {
        "id": "%s/providers/Microsoft.Maintenance/scheduledevents/%s" % (VM, event_id),
        "name": event_id,
        "properties": event,
    }


PAGE = ok({"data": [row("A"), row("B", Resources="db"), row("C")]})


def test_given_a_row_that_is_no_event_when_somebody_is_told_then_the_others_are_listed() -> None:
    refused: list[DocumentError] = []
    with ScriptedArm(PAGE) as arm, client_of(arm, FakeTime()) as client:
        found = list_events(client, [], refuse=refused.append)

    assert [one.event.event_id for one in found] == ["A", "C"]
    assert len(refused) == 1
    assert "scheduledevents/B" in str(refused[0])


def test_given_a_row_that_is_no_event_when_nobody_is_told_then_that_is_an_error() -> None:
    with ScriptedArm(PAGE) as arm, client_of(arm, FakeTime()) as client, pytest.raises(DocumentError, match="/B"):
        list_events(client, [])
