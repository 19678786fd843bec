# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What do vmss_lifecycle_hook_event and vmss_lifecycle_hook_event_info do, from start to end?"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.lifecycle_hook_events import (
    EventChange,
    answer_event,
    describe,
    list_events,
    read_answer,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.dates import format_date
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from .scripted_arm import COMPUTE, GROUP, VERSION, ScriptedArm, Step, dialogue, ok, refused

WEB = COMPUTE + "/virtualMachineScaleSets/web"
A, B = ("%s45c0a08-cfc5-4ef6-bb89-fe77c5178628" % letter for letter in "ab")
LIST = "GET %s/lifecycleHookEvents%s" % (WEB, VERSION)
ONE = "%s/lifecycleHookEvents/%s%s" % (WEB, A, VERSION)
ACCEPTED = Step(202, None, {"Azure-AsyncOperation": "{base}/operations/1"})
DONE = ok({"status": "Succeeded"})
NOW = datetime(2025, 5, 8, 9, 0, tzinfo=UTC)


def event(*states: str, name: str = A, **more: Any) -> dict[str, Any]:
    """One about instances 0, 1, … of web, in these states."""
    targets = [
        {"resource": {"id": "%s/virtualMachines/%d" % (WEB.upper(), number)}, "actionState": state}
        for number, state in enumerate(states)
    ]
    return {
        "name": name,
        "id": "%s/lifecycleHookEvents/%s" % (WEB, name),
        "properties": {
            "type": "UpgradeAutoOSRollingBatchStarting",
            "state": "Active" if "Waiting" in states else "Completed",
            "timeCreated": "2025-05-08T08:47:55.6844555+00:00",
            "waitUntil": "2025-05-08T09:17:55.6844555+00:00",
            "maxWaitUntil": "2025-05-08T12:47:55.684+00:00",
            "defaultAction": "Approve",
            "targetResources": targets,
            **more,
        },
    }


def page(*events: dict[str, Any]) -> Step:
    return ok({"value": list(events)})


def run(*script: Step, name: str | None = None, dry_run: bool = False, **given: Any) -> tuple[ScriptedArm, EventChange]:
    options: dict[str, Any] = {"instances": None, "until": None, "by": None, **given}
    with dialogue(*script) as (arm, client):
        return arm, answer_event(client, "shop", "web", name, read_answer(options), dry_run)


def sent(arm: ScriptedArm) -> Any:
    (body,) = arm.sent("PATCH")
    return json.loads(body)["properties"]


def answered_for(*numbers: int, state: str = "Approved") -> Any:
    targets = [
        {"resource": {"id": "%s/virtualMachines/%d" % (WEB.upper(), one)}, "actionState": state} for one in numbers
    ]
    return {"targetResources": targets}


class TestAnswers:
    @pytest.mark.parametrize(("state", "azures"), [("approved", "Approved"), ("rejected", "Rejected")])
    def test_given_no_instances_then_all_that_wait_are_answered_for_and_no_others(
        self, state: str, azures: str
    ) -> None:
        after = event(azures, "Approved", azures)
        arm, change = run(
            page(event("Waiting", "Approved", "Waiting")), ACCEPTED, DONE, ok(after), ok(after), state=state
        )
        assert arm.lines[:3] == [LIST, "PATCH " + ONE, "GET /operations/1"]
        assert sent(arm) == answered_for(0, 2, state=azures)
        assert (change.changed, change.reason, len(change.answered)) == (True, None, 2)
        assert change.after is not None
        assert change.after["state"] == "Completed"

    @pytest.mark.parametrize("spelling", ["1", "web_1", "WEB_1", WEB + "/virtualMachines/1"])
    def test_given_an_instance_in_any_spelling_then_it_alone_is_answered_for(self, spelling: str) -> None:
        after = ok(event("Waiting", "Approved"))
        arm, change = run(
            page(event("Waiting", "Waiting")), Step(200, event("Waiting", "Approved")), after, state="approved",
            instances=[spelling, "1"],
        )  # fmt: skip
        assert sent(arm) == answered_for(1)
        assert change.changed

    @pytest.mark.parametrize(
        ("states", "instances", "reason"),
        [
            (("Approved", "Approved"), None, "all chosen instances are Approved"),
            (("Approved", "Waiting"), ["0"], "all chosen instances are Approved"),
            (("Waiting", "Waiting"), [], "no instance is chosen"),
        ],
    )
    def test_given_the_wanted_state_then_nothing_is_sent(
        self, states: tuple[str, ...], instances: list[str] | None, reason: str
    ) -> None:
        arm, change = run(page(event(*states)), name=A, state="approved", instances=instances)
        assert (arm.lines, change.changed) == ([LIST], False)
        assert str(change.reason).startswith(reason)

    @pytest.mark.parametrize("instances", [None, ["0"]])
    def test_given_another_final_state_then_that_is_an_error_that_names_it(self, instances: list[str] | None) -> None:
        with pytest.raises(ArmError, match=r"in another state, which is final: WEB_0 \(Rejected\).* Nothing was sent"):
            run(page(event("Rejected", "Approved")), name=A, state="approved", instances=instances)

    def test_given_an_instance_that_is_not_in_the_event_then_that_is_an_error_that_names_it(self) -> None:
        with pytest.raises(ArmError, match=r"instances: web_7 is not in the event a45c.*, which has WEB_0, WEB_1"):
            run(page(event("Waiting", "Waiting")), state="approved", instances=["web_0", "web_7"])

    def test_given_no_event_is_active_then_nothing_is_done(self) -> None:
        soon = format_date(datetime.now(UTC) + timedelta(hours=1))
        _arm, change = run(page(event("Approved", waitUntil=soon)), state="approved")
        assert (change.changed, change.reason, change.after) == (False, "no event is active", None)
        _arm, change = run(page(), state="approved")
        assert (change.changed, change.reason) == (False, "no event is listed")

    @pytest.mark.parametrize("name", [None, A])
    def test_given_its_time_is_over_when_answered_then_the_default_that_was_applied_is_named(
        self, name: str | None
    ) -> None:
        _arm, change = run(page(event("Approved")), name=name, state="approved")
        assert "over at 2025-05-08T09:17:55Z, when its default action, Approve, took effect" in str(change.reason)

    def test_given_a_deletion_when_no_name_is_given_then_it_is_not_answered_and_does_not_hide_an_upgrade(self) -> None:
        # The type is in Azure's example for 2026-04-01.
        deletion = event("Waiting", name=B, type="VMScaleSetVMDeleteStarting")
        arm, change = run(page(deletion), state="approved")
        assert (arm.lines, change.changed) == ([LIST], False)
        assert change.reason == f"no upgrade event is active; set name to answer {B} (VMScaleSetVMDeleteStarting)"
        after = ok(event("Approved"))
        arm, _change = run(page(deletion, event("Waiting")), Step(200, event("Approved")), after, state="approved")
        assert arm.lines[1] == "PATCH " + ONE
        arm, _change = run(page(deletion), Step(200, deletion), ok(event("Approved", name=B)), name=B, state="approved")
        assert sent(arm) == answered_for(0)

    def test_given_a_name_that_is_not_listed_then_nothing_is_done(self) -> None:
        _arm, change = run(page(event("Waiting")), name=B, state="approved")
        assert change.reason == "no event of this name is listed"

    def test_given_two_are_active_then_the_error_names_both(self) -> None:
        with pytest.raises(ArmError, match="name: 2 events of web are active: %s .*, %s " % (A, B)):
            run(page(event("Waiting"), event("Waiting", name=B)), state="approved")

    def test_given_check_mode_then_nothing_is_sent_and_the_event_is_predicted(self) -> None:
        arm, change = run(page(event("Waiting", "Approved")), state="approved", dry_run=True)
        assert (arm.lines, change.changed) == ([LIST], True)
        assert change.after is not None
        assert change.after["state"] == "Completed"

    def test_given_the_answer_is_lost_and_the_event_shows_it_then_that_is_success(self) -> None:
        lost = Step(reset=True)
        again = refused(409, "OperationNotAllowed", "The event is completed")
        arm, change = run(page(event("Waiting")), lost, again, ok(event("Approved")), state="approved")
        assert [line.split(" ")[0] for line in arm.lines] == ["GET", "PATCH", "PATCH", "GET"]
        assert change.changed

    def test_given_the_answer_is_lost_and_the_event_does_not_show_it_then_it_may_still_happen(self) -> None:
        again = refused(409, "OperationNotAllowed", "The event is completed")
        with pytest.raises(ArmError, match="The event is completed") as error:
            run(page(event("Waiting")), Step(reset=True), again, ok(event("Waiting")), state="approved")
        assert error.value.may_have_begun

    def test_given_azure_refuses_then_the_error_quotes_it(self) -> None:
        with pytest.raises(ArmError, match=r"403 AuthorizationFailed.*lifecycleHookEvents/write"):
            run(page(event("Waiting")), refused(403, "AuthorizationFailed"), state="approved")

    def test_given_a_cloud_that_takes_no_rejection_then_the_error_names_the_option(self) -> None:
        refusal = refused(400, "InvalidParameter", "The value 'Rejected' of parameter 'actionState' is invalid.")
        with pytest.raises(ArmError, match=r"^state: this cloud does not accept rejected yet"):
            run(page(event("Waiting")), refusal, state="rejected")

    def test_given_the_event_shows_it_a_little_later_then_it_is_waited_for(self) -> None:
        still, done = ok(event("Waiting")), ok(event("Approved"))
        _arm, change = run(page(event("Waiting")), ACCEPTED, DONE, still, still, done, state="approved")
        assert change.changed


class TestDelays:
    @pytest.mark.parametrize(
        ("given", "until"),
        [({"until": "2025-05-08T12:00:00+02:00"}, "2025-05-08T10:00:00Z"), ({"by": "PT0.5H"}, "2025-05-08T09:47:55Z")],
    )
    def test_given_a_later_end_then_it_is_sent_in_utc(self, given: dict[str, Any], until: str) -> None:
        after = ok(event("Waiting", waitUntil=until))
        arm, change = run(page(event("Waiting")), ACCEPTED, DONE, after, after, state="delayed", **given)
        assert sent(arm) == {"waitUntil": until}
        assert change.after is not None
        assert change.after["wait_until"] == until

    def test_given_an_end_beyond_the_limit_then_that_is_an_error_and_nothing_is_sent(self) -> None:
        with pytest.raises(ArmError, match=r"waits until 2025-05-08T12:47:55Z at most \(maxWaitUntil\)\. Nothing was"):
            run(page(event("Waiting")), state="delayed", by="PT4H")

    def test_given_it_waits_as_long_already_then_nothing_is_sent(self) -> None:
        arm, change = run(page(event("Waiting")), state="delayed", until="2025-05-08T09:17:55Z")
        assert (arm.lines, change.reason) == ([LIST], "it waits until 2025-05-08T09:17:55Z already")

    def test_given_it_is_over_then_nothing_is_sent(self) -> None:
        _arm, change = run(page(event("Approved")), name=A, state="delayed", by="PT1H")
        assert change.reason == "it is over: its state is Completed"

    def test_given_check_mode_then_the_end_is_predicted(self) -> None:
        _arm, change = run(page(event("Waiting")), state="delayed", by="PT1H", dry_run=True)
        assert change.after is not None
        assert (change.after["wait_until"], change.after["seconds_left"]) == ("2025-05-08T10:17:55Z", 0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"state": "approved", "until": "2025-05-08T12:00:00Z"}, "until is valid only with state: delayed"),
        ({"state": "rejected", "by": "PT1H"}, "by is valid only with state: delayed"),
        ({"state": "delayed", "by": "PT1H", "instances": ["0"]}, "instances is not valid with state: delayed"),
        ({"state": "delayed"}, "needs one of until, by"),
        ({"state": "delayed", "by": "PT1H", "until": "2025-05-08T12:00:00Z"}, "needs one of until, by"),
        ({"state": "delayed", "until": "2025-05-08T12:00:00"}, "until: .* is not a time with its zone"),
        ({"state": "delayed", "until": "tomorrow"}, "until: 'tomorrow' is not a time"),
        ({"state": "delayed", "by": "1h"}, "by: '1h' is not an ISO 8601 duration"),
        ({"state": "delayed", "by": "PT0S"}, "by: 'PT0S' is not"),
        ({"state": "delayed", "by": "P8D"}, "of up to a week"),
    ],
)
def test_given_an_invalid_answer_then_the_error_names_the_option(given: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        read_answer(given)


class TestInfo:
    def test_given_an_event_then_its_times_are_utc_and_its_instances_are_named_as_events_name_them(self) -> None:
        shown = describe(event("Waiting", "Approved"), NOW)
        assert shown == {
            "name": A,
            "type": "UpgradeAutoOSRollingBatchStarting",
            "state": "Active",
            "time_created": "2025-05-08T08:47:55Z",
            "wait_until": "2025-05-08T09:17:55Z",
            "max_wait_until": "2025-05-08T12:47:55Z",
            "seconds_left": 1075,
            "default_action": "Approve",
            "priority": None,
            "targets": [
                {
                    "id": "%s/virtualMachines/%d" % (WEB.upper(), number),
                    "instance_id": str(number),
                    "vm_name": "WEB_%d" % number,
                    "state": state,
                }
                for number, state in enumerate(["Waiting", "Approved"])
            ],
        }
        assert describe(event("Waiting"), NOW + timedelta(days=1))["seconds_left"] == 0

    @pytest.mark.parametrize(
        ("resource_id", "instance_id", "vm_name"),
        [
            (GROUP + "/providers/Microsoft.Compute/virtualMachines/api_0a2b", "api_0a2b", "api_0a2b"),
            (WEB, None, None),
            ("", None, None),
        ],
    )
    def test_given_a_member_of_a_flexible_set_or_the_set_itself_then_the_target_is_described_as_such(
        self, resource_id: str, instance_id: str | None, vm_name: str | None
    ) -> None:
        asked = event(targetResources=[{"resource": {"id": resource_id}, "actionState": "Waiting"}])
        (target,) = describe(asked, NOW)["targets"]
        assert (target["instance_id"], target["vm_name"]) == (instance_id, vm_name)

    @pytest.mark.parametrize("given", [{}, {"properties": None}, {"properties": {"waitUntil": "soon"}}])
    def test_given_an_event_with_hardly_any_fields_then_it_is_returned_anyway(self, given: dict[str, Any]) -> None:
        shown = describe(given, NOW)
        assert (shown["seconds_left"], shown["targets"]) == (None, [])

    @pytest.mark.parametrize(
        ("filters", "names"),
        [
            ({}, [A, B]),
            ({"states": ["Active"]}, [A]),
            ({"states": []}, []),
            ({"types": ["UpgradeAutoOSScheduling"]}, [B]),
            ({"name": B.upper()}, [B]),
        ],
    )
    def test_given_filters_then_only_these_are_listed_from_all_pages(
        self, filters: dict[str, Any], names: list[str]
    ) -> None:
        first = ok({"value": [event("Waiting")], "nextLink": "/more"})
        second = ok({"value": [event("Approved", name=B, type="UpgradeAutoOSScheduling")], "nextLink": None})
        with dialogue(first, second) as (_arm, client):
            found = list_events(client, "shop", "web", **filters)
        assert [one["name"] for one in found] == names
