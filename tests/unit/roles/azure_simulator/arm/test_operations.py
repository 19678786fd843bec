# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong on request: operations, refusals, limits, connections."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from azure.core.exceptions import ServiceResponseError
from azure.core.polling import LROPoller
from azure_simulator.client import ARM_FAULTS, ControlError

Start = Callable[..., Any]

TAGS = {"tags": {"a": "b"}}


def update(azure: Any, **more: Any) -> LROPoller[Any]:
    return azure.compute.virtual_machine_scale_sets.begin_update("rg", "web", TAGS, **more)  # type: ignore[no-any-return]


def test_given_a_fault_when_an_operation_fails_then_polling_is_200_and_shows_the_error(azure: Any) -> None:
    azure.azure.arm_fault("operation", outcome="Failed", code="AllocationFailed", message="No room.", count=1)
    with azure.refuses(200, "AllocationFailed") as failure:
        update(azure).result()
    assert "No room." in failure.value.message
    assert azure.compute.virtual_machine_scale_sets.get("rg", "web").provisioning_state == "Failed"
    assert update(azure).result().provisioning_state == "Succeeded"


def test_given_a_fault_when_an_operation_is_cancelled_then_microsofts_client_says_so(azure: Any) -> None:
    azure.azure.arm_fault("operation", outcome="Canceled", methods=["PATCH"])
    with azure.refuses(200, "OperationPreempted"):
        update(azure).result()


def test_given_a_failed_manualupgrade_when_its_location_is_read_then_it_answers_the_error(cloud: Start) -> None:
    azure = cloud(speed=None)
    azure.azure.arm_fault("operation", outcome="Failed", paths=["*/manualupgrade"])
    path = azure.path("virtualMachineScaleSets/web/manualupgrade?api-version=2026-04-01")
    where = azure.raw("POST", path, {"instanceIds": ["0"]}).headers["Location"].removeprefix(azure.azure.arm)
    azure.azure.advance(5)
    answer = azure.raw("GET", where)
    assert (answer.status, answer.code) == (409, "InternalExecutionError")


def test_given_a_fault_when_an_operation_never_ends_then_it_stays_in_progress(cloud: Start) -> None:
    azure = cloud(speed=None)
    azure.azure.arm_fault("operation", outcome="never")
    answer = azure.raw("PATCH", azure.path("virtualMachineScaleSets/web?api-version=2026-04-01"), TAGS)
    azure.azure.advance(86400)
    polled = azure.raw("GET", answer.headers["Azure-AsyncOperation"].removeprefix(azure.azure.arm))
    assert polled.json["status"] == "InProgress"


def test_given_a_change_under_way_when_another_begins_then_the_older_one_is_preempted(cloud: Start) -> None:
    azure = cloud(speed=None)
    first = update(azure)
    second = update(azure)
    azure.azure.advance(5)
    with azure.refuses(200, "OperationPreempted"):
        first.result()
    assert second.result().provisioning_state == "Succeeded"


def test_given_an_unknown_operation_when_polled_then_404(azure: Any) -> None:
    subscription = azure.compute._config.subscription_id
    path = f"/subscriptions/{subscription}/providers/Microsoft.Compute/locations/westeurope/operations/none"
    assert azure.raw("GET", f"{path}?api-version=2026-04-01").status == 404


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        ("forbidden", 403, "AuthorizationFailed"),
        ("linked", 403, "LinkedAuthorizationFailed"),
        ("policy", 403, "RequestDisallowedByPolicy"),
        ("locked", 409, "ScopeLocked"),
        ("conflict", 409, "OperationNotAllowed"),
        ("concurrent", 409, "Conflict"),
        ("not_found", 404, "ResourceNotFound"),
        ("unavailable", 503, "ServiceUnavailable"),
    ],
)
def test_given_a_fault_when_a_request_is_refused_then_microsofts_client_reads_status_and_code(
    azure: Any, error: str, status: int, code: str
) -> None:
    azure.azure.arm_fault("error", error=error, methods=["PATCH"])
    with azure.refuses(status, code):
        update(azure, retry_total=0)


def test_given_a_fault_with_words_of_its_own_when_a_request_is_refused_then_these_are_read(azure: Any) -> None:
    azure.azure.arm_fault("error", error="conflict", code="NicInUse", message="It is in use.")
    refused = azure.raw("GET", f"/subscriptions/{azure.compute._config.subscription_id}?api-version=2022-12-01")
    assert (refused.status, refused.code, refused.json["error"]["message"]) == (409, "NicInUse", "It is in use.")


def test_given_a_lock_on_the_group_when_refused_then_the_operation_and_both_scopes_are_named(azure: Any) -> None:
    azure.azure.arm_fault("error", error="locked")
    path = azure.path("virtualMachineScaleSets/web")
    message = azure.raw("DELETE", f"{path}?api-version=2026-04-01").json["error"]["message"]
    assert f"The scope '{path}' cannot perform delete operation" in message
    assert f"are locked: '{path.partition('/providers/')[0]}'. Please remove the lock" in message


def test_given_a_missing_permission_when_refused_then_the_action_and_the_scope_are_named(azure: Any) -> None:
    azure.azure.arm_fault("error", error="forbidden")
    path = azure.path("virtualMachineScaleSets/web/manualupgrade")
    message = azure.raw("POST", f"{path}?api-version=2026-04-01", {"instanceIds": ["*"]}).json["error"]["message"]
    assert "'Microsoft.Compute/virtualMachineScaleSets/manualupgrade/action'" in message
    assert f"over scope '{path}'" in message


def test_given_throttling_then_429_names_the_limit_of_the_request(azure: Any) -> None:
    azure.azure.arm_fault("error", error="throttled", count=1)
    answer = azure.raw("DELETE", azure.path("virtualMachines/db?api-version=2026-04-01"))
    assert answer.headers["x-ms-ratelimit-remaining-resource"] == "Microsoft.Compute/DeleteVMSubscriptionMaximum;0"
    (detail,) = answer.json["details"]
    assert (detail["target"], json.loads(detail["message"])["operationGroup"]) == ("DeleteVM", "DeleteVM")


def test_given_an_operation_of_network_then_each_answer_says_when_to_ask_again(cloud: Start) -> None:
    gateways = [{"name": "gate", "pools": {"apps": ["db"]}}]
    azure = cloud(speed=None, arm={"retry_after": None, "application_gateways": gateways})
    path = azure.path("applicationGateways/gate?api-version=2024-05-01", provider="Microsoft.Network")
    put = azure.raw("PUT", path, azure.raw("GET", path).json)
    health = azure.raw("POST", path.replace("?", "/backendhealth?"))
    where = health.headers["Location"].removeprefix(azure.azure.arm)
    followed = [put, health, azure.raw("GET", where)]
    assert [answer.headers.get("Retry-After") for answer in followed] == ["10", "10", "10"]
    polled = azure.raw("GET", put.headers["Azure-AsyncOperation"].removeprefix(azure.azure.arm))
    assert (polled.headers["Retry-After"], polled.json) == ("10", {"status": "InProgress"})


@pytest.mark.parametrize(("method", "kind"), [("GET", "read"), ("PATCH", "write"), ("DELETE", "delete")])
def test_given_the_limit_of_a_subscription_then_429_says_of_which_requests_and_when_to_ask_again(
    azure: Any, method: str, kind: str
) -> None:
    azure.azure.arm_fault("error", error="subscription_throttled", retry_after=1, count=1)
    answer = azure.raw(method, azure.path("virtualMachineScaleSets/web?api-version=2026-04-01"), {})
    assert (answer.status, answer.code) == (429, "SubscriptionRequestsThrottled")
    assert answer.headers["Retry-After"] == "1"
    assert answer.headers[f"x-ms-ratelimit-remaining-subscription-{kind}s"] == "0"
    assert f"Number of '{kind}' requests for subscription '11111111-" in answer.json["error"]["message"]
    assert "try again after '1' seconds" in answer.json["error"]["message"]


def test_given_another_operation_when_refused_with_429_then_the_details_say_so(azure: Any) -> None:
    azure.azure.arm_fault("error", error="busy", count=1)
    answer = azure.raw("GET", azure.path("virtualMachineScaleSets/web?api-version=2026-04-01"))
    assert answer.json["error"]["details"][0]["code"] == "RetryableErrorDueToAnotherOperation"


def test_given_a_small_bucket_when_it_is_empty_then_429_and_it_fills_again(cloud: Start) -> None:
    azure = cloud(arm={"writes": {"bucket": 1, "refill_per_second": 0.5}})
    path = azure.path("availabilitySets/apps?api-version=2026-04-01")
    first, second = azure.raw("PATCH", path, {"tags": {}}), azure.raw("PATCH", path, {"tags": {}})
    assert (first.status, first.headers["x-ms-ratelimit-remaining-subscription-writes"]) == (200, "0")
    assert (second.status, second.code) == (429, "SubscriptionRequestsThrottled")
    assert int(second.headers["Retry-After"]) >= 1
    assert azure.raw("GET", path).status == 200
    assert azure.compute.availability_sets.update("rg", "apps", {"tags": {}}).name == "apps"


def test_given_a_concurrent_edit_when_written_with_if_match_then_412_once_and_then_success(azure: Any) -> None:
    azure.azure.arm_fault("concurrent_edit", count=1)
    path = azure.path("virtualMachineScaleSets/web?api-version=2026-04-01")
    etag = azure.raw("GET", path).headers["ETag"]
    refused = azure.raw("PATCH", path, TAGS, {"If-Match": etag})
    assert (refused.status, refused.code) == (412, "PreconditionFailed")
    etag = azure.raw("GET", path).headers["ETag"]
    assert azure.raw("PATCH", path, TAGS, {"If-Match": etag}).status == 200
    assert azure.raw("PATCH", path, TAGS, {"If-Match": "*"}).status == 200


@pytest.mark.parametrize("kind", ["reset", "garbage", "truncate"])
def test_given_a_broken_connection_when_asked_then_microsofts_client_tries_again(azure: Any, kind: str) -> None:
    azure.azure.arm_fault(kind, methods=["GET"], count=1)
    assert azure.compute.virtual_machine_scale_sets.get("rg", "web", retry_backoff_factor=0.01).name == "web"


def test_given_a_lost_answer_when_the_request_was_applied_then_the_change_is_there(azure: Any) -> None:
    azure.azure.arm_fault("reset", methods=["PATCH"], applied=True, count=1)
    with pytest.raises(ServiceResponseError):
        update(azure, retry_total=0)
    assert azure.compute.virtual_machine_scale_sets.get("rg", "web").tags == {"a": "b"}


def test_given_a_custom_status_when_asked_then_it_is_answered(azure: Any) -> None:
    azure.azure.arm_fault("status", status=502, body={"a": 1}, headers={"X-Why": "because"}, count=1)
    answer = azure.raw("GET", azure.path("virtualMachines?api-version=2026-04-01"))
    assert (answer.status, answer.json, answer.headers["X-Why"]) == (502, {"a": 1}, "because")


def test_given_faults_when_listed_and_removed_then_they_are_gone(azure: Any) -> None:
    fault = azure.azure.arm_fault("error", error="unavailable", for_=60)
    (record,) = azure.azure.status()["arm"]["faults"]
    assert (record["fault_id"], record["error"], record["hits"]) == (fault, "unavailable", 0)
    assert 0 < record["seconds_left"] <= 60
    azure.azure.client.end_faults(ARM_FAULTS, fault)
    with pytest.raises(ControlError, match="there is no fault"):
        azure.azure.client.end_faults(ARM_FAULTS, fault)
    assert azure.azure.client.call("GET", "arm/faults") == []


@pytest.mark.parametrize(
    ("fault", "mistake"),
    [
        ({"kind": "nonsense"}, "kind: 'nonsense' is not one of"),
        ({"kind": "error"}, "error: is missing"),
        ({"kind": "error", "error": "odd"}, "error: 'odd' is not one of"),
        ({"kind": "stuck"}, "vms: is missing"),
        ({"kind": "operation", "vms": ["web_0"]}, "vms: has no effect with the kind operation, only for stuck"),
        ({"kind": "reset", "status": 500}, "status: has no effect with the kind reset"),
        ({"kind": "reset", "nonsense": 1}, "nonsense: is not an option here"),
    ],
)
def test_given_a_wrong_fault_when_asked_for_then_the_mistake_is_named(azure: Any, fault: Any, mistake: str) -> None:
    with pytest.raises(ControlError, match=mistake) as refusal:
        azure.azure.arm_fault(**fault)
    assert refusal.value.status == 400


def test_given_writes_when_the_log_is_read_then_what_was_sent_is_there_but_no_secret(azure: Any) -> None:
    azure.enable()
    (entry,) = azure.sent("PATCH")
    assert entry["body"] == (
        '{"properties": {"virtualMachineProfile": {"scheduledEventsProfile": {"terminateNotificationProfile": '
        '{"enable": true, "notBeforeTimeout": "PT5M"}}}}}'
    )
    assert "correct horse" not in str(azure.azure.log())


def test_given_a_method_or_path_that_leads_nowhere_when_asked_then_405_or_404(azure: Any) -> None:
    wrong = azure.raw("DELETE", azure.path("virtualMachineScaleSets/web/instanceView?api-version=2026-04-01"))
    assert (wrong.status, wrong.code) == (405, "HttpMethodNotSupported")
    assert azure.raw("GET", azure.path("nonsense/x?api-version=2026-04-01")).status == 404
    subscription = azure.compute._config.subscription_id
    elsewhere = f"/subscriptions/{subscription}/providers/Microsoft.Nonsense/locations/westeurope/operations/x"
    answer = azure.raw("GET", f"{elsewhere}?api-version=2026-04-01")
    assert (answer.status, answer.code) == (404, "InvalidResourceNamespace")
    page = azure.raw("GET", azure.path("virtualMachines?api-version=2026-04-01&$skipToken=x"))
    assert (page.status, page.code) == (400, "InvalidParameter")


def test_given_a_body_that_is_no_json_when_sent_then_400(azure: Any) -> None:
    for body in ("{", "[]", ""):
        answer = azure.raw("PATCH", azure.path("virtualMachineScaleSets/web?api-version=2026-04-01"), body)
        assert (answer.status, answer.code) == (400, "InvalidRequestContent")
