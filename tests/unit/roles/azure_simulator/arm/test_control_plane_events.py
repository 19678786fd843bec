# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scheduled events from the control plane: Resource Graph and acknowledging, in one world with IMDS."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

from tests.simulated_cloud import SUBSCRIPTION

from ..conftest import ask
from .test_os_upgrades import rolling, seek

Start = Callable[..., Any]

PUBLISH = {
    "scheduledEventsPolicy": {
        "scheduledEventsAdditionalPublishingTargets": {
            "eventGridAndResourceGraph": {"enable": True, "scheduledEventsApiVersion": "2020-07-01"}
        }
    }
}
PUBLISHED = {
    "scale_sets": [{"name": "web", "properties": PUBLISH}],
    "virtual_machines": [{"name": "db", "properties": PUBLISH}],
    "availability_sets": [{"name": "apps", "properties": PUBLISH}],
}
QUERY = "maintenanceresources | where type == 'microsoft.maintenance/scheduledevents'"


def ask_graph(azure: Any, query: str = QUERY, version: str = "2022-10-01", options: Any = None) -> Any:
    body = {"subscriptions": [azure.compute._config.subscription_id], "query": query, "options": options or {}}
    return azure.post(f"/providers/Microsoft.ResourceGraph/resources?api-version={version}", body)


def acknowledge(azure: Any, resource: str, event_id: str) -> Any:
    path = azure.path(f"{resource}/providers/Microsoft.Maintenance/scheduledevents/{event_id}/acknowledge")
    return azure.post(f"{path}?api-version=2023-10-01-preview")


def test_given_a_published_event_when_asked_for_then_its_row_has_imds_own_fields(cloud: Start) -> None:
    azure = cloud(arm=PUBLISHED, speed=None)
    ask(azure.azure.imds["web_1"])
    event = azure.azure.event("Reboot", ["web_1", "web_2"])
    (row,) = ask_graph(azure)["data"]
    assert row["properties"] == ask(azure.azure.imds["web_1"]).json["Events"][0]
    assert row["name"] == event["event_id"]
    assert row["type"] == "microsoft.maintenance/scheduledevents"
    assert row["id"] == (
        f"/subscriptions/{azure.compute._config.subscription_id}/resourcegroups/rg/providers/Microsoft.Compute/"
        f"virtualMachineScaleSets/web/providers/Microsoft.Maintenance/scheduledevents/{event['event_id']}"
    )


@pytest.mark.parametrize(
    ("vm", "owner"),
    [("db", "virtualMachines/db"), ("app_0", "availabilitySets/apps"), ("web_0", "virtualMachineScaleSets/web")],
)
def test_given_a_vm_when_its_event_is_published_then_the_row_belongs_to_whose_policy_counts(
    cloud: Start, vm: str, owner: str
) -> None:
    azure = cloud(arm=PUBLISHED)
    azure.azure.event("Freeze", vm)
    assert f"/Microsoft.Compute/{owner}/providers/" in ask_graph(azure)["data"][0]["id"]


@pytest.mark.parametrize(("version", "rows"), [("2020-07-01", 0), (None, 0), ("2024-07-09", 1)])
def test_given_a_recommendation_to_leave_a_spot_vm_then_it_is_published_in_the_version_that_has_it_alone(
    cloud: Start, version: str | None, rows: int
) -> None:
    target = {"enable": True, **({"scheduledEventsApiVersion": version} if version else {})}
    policy = {"scheduledEventsAdditionalPublishingTargets": {"eventGridAndResourceGraph": target}}
    azure = cloud(arm={"scale_sets": [{"name": "spot", "properties": {"scheduledEventsPolicy": policy}}]})
    azure.azure.event("SpotRebalanceRecommendation", "spot_0")
    listed = ask_graph(azure)["data"]
    assert len(listed) == rows
    for row in listed:
        assert row["properties"]["EventType"] == "SpotRebalanceRecommendation"
        assert not {"NotBefore", "DurationInSeconds"} & set(row["properties"])


def test_given_a_version_that_events_are_not_published_in_when_it_is_set_then_it_is_refused_by_its_name(
    azure: Any,
) -> None:
    target = {"enable": True, "scheduledEventsApiVersion": "2023-01-01"}
    policy = {"scheduledEventsAdditionalPublishingTargets": {"eventGridAndResourceGraph": target}}
    body = {"properties": {"scheduledEventsPolicy": policy}}
    answer = azure.raw("PATCH", azure.path("virtualMachines/db?api-version=2026-04-01"), body)
    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert "scheduledEventsApiVersion" in answer.json["error"]["message"]


def test_given_a_version_alone_when_it_is_set_then_it_is_refused_unless_events_are_published_already(
    azure: Any,
) -> None:
    target: dict[str, object] = {"scheduledEventsApiVersion": "2020-07-01"}
    policy = {"scheduledEventsAdditionalPublishingTargets": {"eventGridAndResourceGraph": target}}
    body = {"properties": {"scheduledEventsPolicy": policy}}
    place = azure.path("virtualMachines/db?api-version=2026-04-01")
    answer = azure.raw("PATCH", place, body)
    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert answer.json["error"]["message"] == "Scheduled Events API version is not enabled for region."
    assert answer.json["error"]["target"].endswith(".eventGridAndResourceGraph.scheduledEventsApiVersion")
    # What is there is kept where it is not given.
    target["enable"] = True
    assert azure.raw("PATCH", place, body).status == 200
    del target["enable"]
    assert azure.raw("PATCH", place, body).status == 200


def test_given_a_set_whose_images_are_upgraded_when_a_machine_gets_its_disk_then_that_is_no_event(cloud: Start) -> None:
    arm = rolling()
    arm["scale_sets"][0]["properties"].update(PUBLISH)
    azure = cloud(arm=arm, speed=None)
    seek(azure)
    azure.azure.advance(1)
    assert azure.azure.status()["vms"]["web_0"]["state"] == "stopped"
    assert ask_graph(azure)["data"] == []


def test_given_no_policy_when_an_event_happens_then_there_is_no_row_and_it_cannot_be_acknowledged(azure: Any) -> None:
    event = azure.azure.event("Freeze", "db")
    assert ask_graph(azure)["totalRecords"] == 0
    with pytest.raises(ResourceNotFoundError):
        acknowledge(azure, "virtualMachines/db", event["event_id"])


def test_given_events_that_are_over_when_asked_for_then_their_rows_stay_as_completed_and_canceled(cloud: Start) -> None:
    azure = cloud(arm=PUBLISHED, speed=None)
    azure.azure.withdraw(azure.azure.event("Freeze", "db")["event_id"])
    azure.azure.event("Reboot", "db", status="Started")
    azure.azure.event("Redeploy", "db")
    azure.azure.advance(601)

    def status() -> dict[str, str]:
        rows = ask_graph(azure, f"{QUERY} | project properties.EventType, properties.EventStatus")["data"]
        return {row["properties_EventType"]: row["properties_EventStatus"] for row in rows}

    assert status() == {"Freeze": "Canceled", "Reboot": "Completed", "Redeploy": "Started"}
    row = ask_graph(azure, f"{QUERY} | where properties.EventStatus == 'Completed'")["data"][0]
    assert row["properties"]["NotBefore"] == ""


@pytest.mark.parametrize(("scope", "rows"), [(SUBSCRIPTION.upper(), 1), ("other", 0)])
def test_given_rights_in_one_subscription_then_the_events_of_another_have_no_rows(
    scope: str, rows: int, cloud: Start
) -> None:
    reader = {"actions": ["*/read"]}
    azure = cloud(arm={**PUBLISHED, "permissions": [reader, {"actions": ["*"], "scope": f"/subscriptions/{scope}"}]})
    azure.azure.event("Freeze", "db")

    assert len(ask_graph(azure)["data"]) == rows


def test_given_a_lag_then_resource_graph_learns_of_each_change_later(cloud: Start) -> None:
    azure = cloud(arm={**PUBLISHED, "graph_lag": 120}, speed=None)
    event_id = azure.azure.event("Freeze", "db", notice=600)["event_id"]

    def statuses() -> list[str]:
        return [row["properties"]["EventStatus"] for row in ask_graph(azure)["data"]]

    azure.azure.advance(100)
    assert statuses() == []
    azure.azure.advance(30)
    assert statuses() == ["Scheduled"]
    azure.azure.withdraw(event_id)
    assert statuses() == ["Scheduled"]
    azure.azure.advance(121)
    assert statuses() == ["Canceled"]


def test_given_many_rows_when_asked_for_then_skip_tokens_lead_through_all_of_them(cloud: Start) -> None:
    azure = cloud(arm={**PUBLISHED, "graph_page_size": 2})
    ids = [azure.azure.event("Freeze", "db")["event_id"] for _unused in range(5)]
    found: list[str] = []
    options: dict[str, Any] = {}
    for expected in (2, 2, 1):
        page = ask_graph(azure, options=options)
        assert (page["count"], page["totalRecords"], page["resultTruncated"]) == (expected, 5, "false")
        found += [row["name"] for row in page["data"]]
        options = {"$skipToken": page.get("$skipToken")}
    assert found == ids
    assert options == {"$skipToken": None}


def test_given_a_top_when_asked_for_then_pages_are_that_small(cloud: Start) -> None:
    azure = cloud(arm=PUBLISHED)
    for _unused in range(3):
        azure.azure.event("Freeze", "db")
    first = ask_graph(azure, options={"$top": 1})
    assert first["count"] == 1
    assert ask_graph(azure, options={"$top": 1, "$skip": 2})["data"] != first["data"]


def test_given_columns_without_an_id_when_there_is_more_then_the_result_is_truncated(cloud: Start) -> None:
    azure = cloud(arm={**PUBLISHED, "graph_page_size": 1})
    for _unused in range(2):
        azure.azure.event("Freeze", "db")
    page = ask_graph(azure, f"{QUERY} | project name")
    assert (page["resultTruncated"], "$skipToken" in page) == ("true", False)


def test_given_a_token_of_another_query_when_sent_then_400(cloud: Start) -> None:
    azure = cloud(arm={**PUBLISHED, "graph_page_size": 1})
    for _unused in range(2):
        azure.azure.event("Freeze", "db")
    token = ask_graph(azure)["$skipToken"]
    for query, sent in ((f"{QUERY} | take 2", token), (QUERY, "nonsense")):
        with pytest.raises(HttpResponseError) as refusal:
            ask_graph(azure, query, options={"$skipToken": sent})
        assert refusal.value.status_code == 400


def test_given_an_old_version_when_asked_for_then_the_rows_are_a_table(cloud: Start) -> None:
    azure = cloud(arm=PUBLISHED)
    event = azure.azure.event("Freeze", "db")
    table = ask_graph(azure, f"{QUERY} | project name, properties", version="2019-04-01")["data"]
    assert [column["name"] for column in table["columns"]] == ["name", "properties"]
    assert table["rows"][0][0] == event["event_id"]


@pytest.mark.parametrize(
    "query", ["", 7, "nonsense", f"{QUERY} | frobnicate", f"{QUERY} | where", "maintenanceresources |"]
)
def test_given_an_invalid_query_when_sent_then_400_says_it_is_invalid(azure: Any, query: Any) -> None:
    with azure.refuses(400, "BadRequest") as refusal:
        ask_graph(azure, query)
    assert refusal.value.response.json()["error"]["details"][0]["code"] == "InvalidQuery"


def test_given_too_many_queries_when_sent_then_429_says_how_long_to_wait(azure: Any) -> None:
    body = {"query": QUERY}
    answers = [
        azure.raw("POST", "/providers/Microsoft.ResourceGraph/resources?api-version=2022-10-01", body)
        for _unused in range(40)
    ]
    assert answers[0].headers["x-ms-user-quota-remaining"] == "14"
    refused = [answer for answer in answers if answer.status == 429]
    assert refused
    assert refused[0].headers["x-ms-user-quota-resets-after"] == "00:00:01"
    assert "Retry-After" not in refused[0].headers
    assert (refused[0].code, refused[0].json["error"]["details"][0]["code"]) == ("RateLimiting", "RateLimiting")


def test_given_an_event_when_acknowledged_then_it_starts_on_the_vm(cloud: Start) -> None:
    azure = cloud(arm=PUBLISHED, speed=None)
    ask(azure.azure.imds["web_0"])
    event = azure.azure.event("Reboot", ["web_0", "web_1"])
    answer = acknowledge(azure, "virtualMachineScaleSets/web", event["event_id"].lower())
    assert answer == {"value": "Successfully Approved"}
    (seen,) = ask(azure.azure.imds["web_3"]).json["Events"]
    assert (seen["EventId"], seen["EventStatus"]) == (event["event_id"], "Started")
    (record,) = azure.azure.status()["events"]
    assert record["approvals"][0]["vm"].startswith("arm:")
    assert acknowledge(azure, "virtualMachineScaleSets/web", event["event_id"]) == answer


def test_given_a_members_own_id_when_its_event_is_acknowledged_there_then_it_starts(cloud: Start) -> None:
    azure = cloud(arm=PUBLISHED)
    event = azure.azure.event("Reboot", ["app_0", "app_1"])
    acknowledge(azure, "virtualMachines/app_1", event["event_id"])
    assert azure.azure.status()["events"][0]["status"] == "Started"


def test_given_several_events_when_acknowledged_in_a_list_then_all_start_or_none(cloud: Start) -> None:
    azure = cloud(arm=PUBLISHED)
    ids = [azure.azure.event("Freeze", "db")["event_id"] for _unused in range(2)]
    path = azure.path("virtualMachines/db/providers/Microsoft.Maintenance/scheduledevents")
    path += "?api-version=2025-10-01-preview"
    with pytest.raises(ResourceNotFoundError):
        azure.post(path, {"value": [ids[0], str(uuid.uuid4())]})
    assert [event["status"] for event in azure.azure.status()["events"]] == ["Scheduled", "Scheduled"]
    assert azure.post(path, {"value": ids}) == {"value": "Successfully Approved"}
    assert [event["status"] for event in azure.azure.status()["events"]] == ["Started", "Started"]


@pytest.mark.parametrize("body", [{}, {"value": []}, {"value": "x"}, {"value": [1]}])
def test_given_an_invalid_list_when_acknowledged_then_400(cloud: Start, body: Any) -> None:
    azure = cloud(arm=PUBLISHED)
    path = azure.path("virtualMachines/db/providers/Microsoft.Maintenance/scheduledevents")
    assert azure.raw("POST", f"{path}?api-version=2025-10-01-preview", body).status == 400
    assert azure.raw("POST", f"{path}?api-version=2023-10-01-preview", body).status == 404


def test_given_an_event_of_another_resource_or_one_that_is_over_when_acknowledged_then_404(cloud: Start) -> None:
    azure = cloud(arm=PUBLISHED)
    event = azure.azure.event("Freeze", "db")
    with pytest.raises(ResourceNotFoundError):
        acknowledge(azure, "virtualMachineScaleSets/web", event["event_id"])
    azure.azure.withdraw(event["event_id"])
    with pytest.raises(ResourceNotFoundError):
        acknowledge(azure, "virtualMachines/db", event["event_id"])
