# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Api-versions: which there are, what each knows, and whether we know what Microsoft's models know."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from azure.mgmt.compute import models
from azure_simulator.arm import versions

Start = Callable[..., Any]

PROFILE = {"terminateNotificationProfile": {"enable": True, "notBeforeTimeout": "PT5M"}}
SET_BODY = {"properties": {"virtualMachineProfile": {"scheduledEventsProfile": PROFILE}}}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "MissingApiVersionParameter"),
        ("?api-version=latest", "InvalidApiVersionParameter"),
        ("?api-version=2001-01-01", "NoRegisteredProviderFound"),
    ],
)
def test_given_no_such_version_when_asked_then_400_names_the_existing_ones(azure: Any, query: str, code: str) -> None:
    answer = azure.raw("GET", azure.path("virtualMachineScaleSets/web") + query)
    assert (answer.status, answer.code) == (400, code)
    if query:
        assert "2026-04-01" in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("resource", "body", "old", "new", "message"),
    [
        (
            "virtualMachineScaleSets/web",
            SET_BODY,
            "2018-10-01",
            "2019-03-01",
            "Could not find member 'scheduledEventsProfile' on object of type 'VirtualMachineProfile'",
        ),
        (
            "virtualMachines/db",
            {"properties": {"scheduledEventsProfile": PROFILE}},
            "2020-12-01",
            "2021-03-01",
            "Could not find member 'scheduledEventsProfile' on object of type 'Properties'",
        ),
        (
            "availabilitySets/apps",
            {"properties": {"scheduledEventsPolicy": {"userInitiatedReboot": {"automaticallyApprove": True}}}},
            "2023-09-01",
            "2024-03-01",
            "Could not find member 'scheduledEventsPolicy'",
        ),
        (
            "virtualMachines/db",
            {"properties": {"scheduledEventsPolicy": {"allInstancesDown": {"automaticallyApprove": True}}}},
            "2024-11-01",
            "2025-04-01",
            "Could not find member 'allInstancesDown' on object of type 'ScheduledEventsPolicy'",
        ),
    ],
)
def test_given_a_member_when_sent_with_an_older_version_then_the_documented_error_and_nothing_changes(
    azure: Any, resource: str, body: Any, old: str, new: str, message: str
) -> None:
    path = azure.path(resource)
    before = azure.raw("GET", f"{path}?api-version={new}").json
    answer = azure.raw("PATCH", f"{path}?api-version={old}", body)
    assert (answer.status, answer.code) == (400, "BadRequest")
    assert message in answer.json["error"]["message"]
    assert azure.raw("GET", f"{path}?api-version={new}").json == before
    assert azure.raw("PATCH", f"{path}?api-version={new}", body).status == 200


def test_given_an_older_version_when_read_then_it_shows_nothing_newer(cloud: Start) -> None:
    azure = cloud(arm={"scale_sets": [{"name": "web", "terminate_notification": "PT5M"}]})
    old = azure.raw("GET", azure.path("virtualMachineScaleSets/web?api-version=2018-10-01"))
    assert "scheduledEventsProfile" not in old.json["properties"]["virtualMachineProfile"]
    assert "etag" not in old.json
    assert "ETag" not in old.headers


def test_given_a_member_that_never_was_when_sent_then_400(azure: Any) -> None:
    body: Any = {"properties": {"virtualMachineProfile": {"scheduledEventsProfile": {"terminateNotification": {}}}}}
    answer = azure.raw("PATCH", azure.path("virtualMachineScaleSets/web?api-version=2026-04-01"), body)
    assert "'terminateNotification' on object of type 'ScheduledEventsProfile'" in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (models.VirtualMachineScaleSetProperties, versions.SET),
        (models.VirtualMachineScaleSetUpdateProperties, versions.SET_UPDATE),
        (models.VirtualMachineScaleSetVMProfile, versions.SET_PROFILE),
        (models.VirtualMachineScaleSetUpdateVMProfile, versions.SET_PROFILE_UPDATE),
        (models.VirtualMachineProperties, versions.MACHINE),
        (models.AvailabilitySetProperties, versions.AVAILABILITY_SET),
        (models.ScheduledEventsProfile, versions.SET_PROFILE["scheduledEventsProfile"][2]),
        (models.ScheduledEventsPolicy, versions.SET["scheduledEventsPolicy"][2]),
    ],
)
def test_given_microsofts_newest_model_when_compared_then_we_know_its_members_and_no_others(
    model: Any, shape: dict[str, Any]
) -> None:
    named = re.findall(
        r'^    (\w+): .*?rest_field\(\s*(?:name="(\w+)")?', inspect.getsource(model), re.MULTILINE | re.DOTALL
    )
    assert {rest or python for python, rest in named} == set(shape)


def test_given_any_answer_when_read_then_it_has_the_headers_of_resource_manager(azure: Any) -> None:
    path = azure.path("virtualMachineScaleSets/web?api-version=2026-04-01")
    answer = azure.raw("GET", path, headers={"x-ms-client-request-id": "mine"})
    assert answer.headers["x-ms-client-request-id"] == "mine"
    assert answer.headers["x-ms-correlation-request-id"] == answer.headers["x-ms-request-id"]
    assert int(answer.headers["x-ms-ratelimit-remaining-subscription-reads"]) > 0
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"


def test_given_subscriptions_when_listed_then_all_with_resources_are_there(cloud: Start) -> None:
    other = "22222222-aaaa-4bbb-8ccc-555555555555"
    azure = cloud(
        vms=[{"name": "db", "address": "127.0.78.1"}, {"name": "x", "address": "127.0.78.2", "subscription_id": other}],
        arm={"page_size": 1},
    )
    first = azure.raw("GET", "/subscriptions?api-version=2022-12-01").json
    assert [one["subscriptionId"] for one in first["value"]] == ["11111111-aaaa-4bbb-8ccc-555555555555"]
    second = azure.raw("GET", first["nextLink"].removeprefix(azure.azure.arm)).json
    assert [(one["id"], one["state"]) for one in second["value"]] == [(f"/subscriptions/{other}", "Enabled")]
    assert azure.raw("GET", "/subscriptions?api-version=1999-01-01").code == "NoRegisteredProviderFound"


def test_given_a_cloud_that_lags_behind_when_asked_in_a_newer_version_then_it_lists_those_that_it_has(
    cloud: Start,
) -> None:
    azure = cloud(arm={"compute_version": "2020-12-01"})
    refused = azure.raw("GET", azure.path("virtualMachineScaleSets?api-version=2026-04-01"))
    assert (refused.status, refused.code) == (400, "NoRegisteredProviderFound")
    assert "2020-06-01, 2020-12-01'" in refused.json["error"]["message"]
    assert azure.raw("GET", azure.path("virtualMachineScaleSets?api-version=2020-12-01")).status == 200
