# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What playbooks keep between two tasks comes back as what it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import Event, event_as_dict
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import DocumentError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.doors import (
    check_alike,
    plan_as_dict,
    read_host,
    read_plan,
    read_reading,
    read_result,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import (
    Attempt,
    Host,
    PlanError,
    make_plan,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.report import Result
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.treatment import Policy

MakeEvent = Callable[..., Event]


def as_returned(event: Event, now: float) -> dict[str, Any]:
    """The event as scheduled_events_info returns it."""
    return event_as_dict(event, "vm_0", datetime.fromtimestamp(now, UTC))


def test_given_a_plan_when_written_and_read_then_it_is_the_same(event: MakeEvent, now: float) -> None:
    shared = event(resources=("vm_0", "vm_9"), notice=None)._replace(other_fields={"Novelty": [1, {"a": None}]})
    plan = make_plan(
        [Host("h0", "vm_0", (shared, event("Freeze", duration=3))), Host("h1"), Host("h2", "vm_2", was_left=True)],
        Policy(),
        now,
    )

    assert read_plan(json.loads(json.dumps(plan_as_dict(plan, now)))) == plan


def test_given_a_host_as_a_playbook_knows_it_when_read_then_all_is_there(event: MakeEvent, now: float) -> None:
    reboot = event()

    tried = {"event_id": "E", "seconds_ago": 60.0, "reason": "no stop"}
    host = read_host(
        {
            "name": "h0",
            "vm_name": "vm_0",
            "events": [as_returned(reboot, now)],
            "stop_seconds": "7",
            "tried": [tried],
        }
    )

    assert host == Host("h0", "vm_0", (reboot,), stop_seconds=7.0, tried=(Attempt("E", 60.0, "no stop"),))


def test_given_what_holds_for_the_run_and_differs_between_hosts_when_checked_then_both_are_named() -> None:
    def hosts(**second: Any) -> list[dict[str, Any]]:
        policy = {"margin": 30.0, "minimum_in_service": "50%"}
        return [{"name": "h0", "policy": policy}, {"name": "h1", "policy": policy | second}, {"name": "h2"}]

    check_alike(hosts(margin="30.0", minimum_in_service="1"))
    with pytest.raises(PlanError, match=r"handle_events_margin: 30\.0 on h0, 45 on h1\. It holds for the whole run"):
        check_alike(hosts(margin=45))


def test_given_a_host_that_did_not_answer_when_read_then_it_has_no_name_in_azure() -> None:
    assert read_host({"name": "h0", "vm_name": "", "events": [], "agent": {}}) == Host("h0")


def test_given_a_reading_that_failed_when_read_then_it_is_not_taken_for_no_events(event: MakeEvent, now: float) -> None:
    assert read_reading({"failed": True, "msg": "no answer"}) is None
    assert read_reading({"events": []}) == ()
    assert read_reading({"events": [as_returned(event(), now)]}) == (event(),)


def test_given_what_is_no_event_when_read_then_it_says_of_which_host() -> None:
    with pytest.raises(DocumentError, match=r"h0: events\[0\]\.EventId: expected text"):
        read_host({"name": "h0", "vm_name": "vm_0", "events": [{"event_type": "Reboot"}]})


def test_given_what_became_of_a_host_when_read_then_approvals_and_the_end_are_there(
    event: MakeEvent, now: float
) -> None:
    result = read_result(
        {
            "steps": ["made ready"],
            "approved": [as_returned(event(event_id="E"), now)],
            "not_approved": [{"event_id": "F", "reason": "it has changed"}],
            "progress": {"over": True, "outcome": "over", "gave_up": False},
            "restored": True,
            "failures": [],
        }
    )

    assert result == Result(
        steps=("made ready",),
        approved={"E": 900},
        not_approved={"F": "it has changed"},
        outcome="over",
        restored=True,
    )
