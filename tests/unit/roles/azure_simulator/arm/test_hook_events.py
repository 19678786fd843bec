# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The questions of lifecycle hooks, and their answers, through azure-mgmt-compute."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError

Start = Callable[..., Any]

BATCH, SCHEDULING = "UpgradeAutoOSRollingBatchStarting", "UpgradeAutoOSScheduling"
NAME = "445c0a08-cfc5-4ef6-bb89-fe77c5178628"
ASKED = {
    "operation_seconds": 0,
    "lifecycle_hook_events": [{"scale_set": "web", "type": BATCH, "vms": ["web_1", "web_2"], "name": NAME}],
}
ONE = f"virtualMachineScaleSets/web/lifecycleHookEvents/{NAME}?api-version=2026-04-01"


def events(azure: Any) -> list[Any]:
    listed = azure.compute.virtual_machine_scale_set_life_cycle_hook_events.list("rg", "web")
    return [one.properties for one in listed]


def seconds_between(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


def states(azure: Any) -> list[str]:
    return [one.action_state for one in events(azure)[0].target_resources]


def answer(azure: Any, *targets: tuple[int, str], **more: Any) -> Any:
    path = azure.path("virtualMachineScaleSets/web/virtualMachines/")
    resources = [{"resource": {"id": f"{path}{number}".upper()}, "actionState": state} for number, state in targets]
    return azure.raw("PATCH", azure.path(ONE), {"properties": {"targetResources": resources, **more}})


def test_given_no_question_when_listed_then_the_list_is_empty(cloud: Start) -> None:
    assert events(cloud()) == []


def test_given_a_batch_when_an_instance_is_approved_then_the_other_keeps_waiting_and_gets_the_default_in_the_end(
    cloud: Start,
) -> None:
    azure = cloud(arm=ASKED, speed=None)
    (one,) = events(azure)
    assert (one.type, one.state, one.default_action) == (BATCH, "Active", "Approve")
    assert seconds_between(one.time_created, one.max_wait_until) == 4 * 3600
    assert [target.resource.id.rsplit("/", 1)[-1] for target in one.target_resources] == ["1", "2"]
    accepted = answer(azure, (1, "Rejected"))
    assert accepted.status == 202
    assert "Azure-AsyncOperation" in accepted.headers
    assert accepted.body == b""
    azure.azure.advance(1)
    assert states(azure) == ["Rejected", "Waiting"]
    assert (answer(azure, (1, "Rejected")).status, answer(azure, (1, "Approved")).status) == (202, 409)
    assert states(azure) == ["Rejected", "Waiting"]
    azure.azure.advance(1800)
    assert (states(azure), events(azure)[0].state) == (["Rejected", "Approved"], "Completed")
    assert answer(azure, (2, "Approved")).status == 409


def test_given_a_flexible_set_when_a_batch_is_asked_about_then_its_targets_are_vms(cloud: Start) -> None:
    azure = cloud(
        arm={"lifecycle_hook_events": [{"scale_set": "api", "type": BATCH, "vms": ["api_0a2b3c4d"]}]}, speed=None
    )
    (one,) = azure.compute.virtual_machine_scale_set_life_cycle_hook_events.list("rg", "api")
    ids = [target.resource.id for target in one.properties.target_resources]
    assert ids == [azure.compute.virtual_machines.get("rg", "api_0a2b3c4d").id]


def test_given_microsofts_client_when_it_answers_then_it_takes_202_for_an_error_though_the_answer_is_taken(
    cloud: Start,
) -> None:
    azure = cloud(arm=ASKED)
    target = {"resource": {"id": events(azure)[0].target_resources[0].resource.id}, "actionState": "Approved"}
    update = azure.compute.virtual_machine_scale_set_life_cycle_hook_events.update
    with pytest.raises(HttpResponseError) as error:
        update("rg", "web", NAME, {"properties": {"targetResources": [target]}})
    assert error.value.status_code == 202
    assert states(azure)[0] == "Approved"


@pytest.mark.parametrize(
    ("targets", "more"),
    [
        ([(3, "Approved")], {}),
        ([(1, "Perhaps")], {}),
        ([], {"waitUntil": "soon"}),
        ([], {"waitUntil": "2100-01-01T00:00:00Z"}),
    ],
)
def test_given_an_invalid_answer_when_sent_then_it_is_refused(cloud: Start, targets: Any, more: Any) -> None:
    refusal = answer(cloud(arm=ASKED), *targets, **more)
    assert (refusal.status, refusal.code) == (400, "InvalidParameter")


def test_given_an_older_version_when_asked_then_there_is_no_such_resource(cloud: Start) -> None:
    azure = cloud(arm=ASKED)
    answer = azure.raw("GET", azure.path("virtualMachineScaleSets/web/lifecycleHookEvents?api-version=2025-04-01"))
    assert (answer.status, answer.code) == (404, "InvalidResourceType")
    missing = azure.raw("GET", azure.path(ONE.replace(NAME, "nosuch")))
    assert (missing.status, missing.code) == (404, "NotFound")


def test_given_the_model_has_the_hook_when_asked_then_its_wait_and_its_default_count(cloud: Start) -> None:
    hook = {"type": SCHEDULING, "waitDuration": "PT8H", "defaultAction": "Reject"}
    sets = [{"name": "web", "properties": {"lifecycleHooksProfile": {"lifecycleHooks": [hook]}}}]
    azure = cloud(
        arm={"scale_sets": sets, "lifecycle_hook_events": [{"scale_set": "web", "type": SCHEDULING}]}, speed=1
    )
    (one,) = events(azure)
    assert seconds_between(one.time_created, one.wait_until) == 8 * 3600
    assert one.default_action == "Reject"
    assert one.target_resources[0].resource.id.endswith("/virtualMachineScaleSets/web")
    assert one.additional_context.priority is not None
