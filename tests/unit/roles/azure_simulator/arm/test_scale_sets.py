# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scale sets, driven by azure-mgmt-compute: read, change with PATCH and PUT, create, delete."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import ResourceNotFoundError

from tests.simulated_cloud import notification

from ..conftest import ask

Start = Callable[..., Any]


def test_given_vms_of_a_scale_set_when_it_is_read_then_mode_capacity_and_etag_are_reported(cloud: Start) -> None:
    found = cloud().compute.virtual_machine_scale_sets.get("RG", "WEB")
    assert (found.name, found.type) == ("web", "Microsoft.Compute/virtualMachineScaleSets")
    assert found.orchestration_mode == "Uniform"
    assert found.sku.capacity == 4
    assert found.upgrade_policy.mode == "Manual"
    assert found.provisioning_state == "Succeeded"
    assert found.etag == '"1"'


def test_given_names_without_numbers_when_their_scale_set_is_read_then_it_is_flexible(cloud: Start) -> None:
    found = cloud().compute.virtual_machine_scale_sets.get("rg", "api")
    assert (found.orchestration_mode, found.single_placement_group) == ("Flexible", False)


def test_given_scale_sets_when_listed_by_group_and_subscription_in_small_pages_then_all_are_reported(
    cloud: Start,
) -> None:
    sets = cloud(arm={"page_size": 2}).compute.virtual_machine_scale_sets
    assert [found.name for found in sets.list("rg")] == ["web", "api", "spot"]
    assert [found.name for found in sets.list_all()] == ["web", "api", "spot"]


def test_given_a_patch_when_answered_then_it_is_200_with_azure_asyncoperation_and_polling_says_how_it_goes(
    cloud: Start,
) -> None:
    azure = cloud(speed=None, arm={"retry_after": 7})
    path = azure.path("virtualMachineScaleSets/web?api-version=2024-11-01")
    answer = azure.raw("PATCH", path, notification(True))
    assert answer.status == 200
    assert answer.json["properties"]["provisioningState"] == "Updating"
    assert answer.headers["ETag"] == '"2"' == answer.json["etag"]
    where = answer.headers["Azure-AsyncOperation"].removeprefix(azure.azure.arm)
    assert f"/subscriptions/{azure.compute._config.subscription_id}/providers/Microsoft.Compute/locations/" in where
    polled = azure.raw("GET", where)
    assert (polled.status, polled.json["status"], polled.headers["Retry-After"]) == (200, "InProgress", "7")
    assert "endTime" not in polled.json
    azure.azure.advance(5)
    polled = azure.raw("GET", where)
    assert (polled.json["status"], polled.json["name"] in where) == ("Succeeded", True)
    assert polled.json["startTime"] < polled.json["endTime"]
    assert "Retry-After" not in polled.headers


def test_given_a_patch_when_merged_then_nothing_else_changes(cloud: Start) -> None:
    azure = cloud(arm={"scale_sets": [{"name": "web", "tags": {"team": "a"}, "properties": {"overprovision": True}}]})
    before = azure.compute.virtual_machine_scale_sets.get("rg", "web").as_dict()
    azure.enable()
    after = azure.compute.virtual_machine_scale_sets.get("rg", "web").as_dict()
    profile = after["properties"]["virtualMachineProfile"]
    assert profile.pop("scheduledEventsProfile") == {
        "terminateNotificationProfile": {"enable": True, "notBeforeTimeout": "PT5M"}
    }
    for one in (before, after):
        one.pop("etag")
        one["properties"]["virtualMachineProfile"].pop("timeCreated")
    assert before == after


def test_given_a_notification_when_it_is_turned_off_then_its_profile_is_empty_and_turned_on_again_it_is_new(
    azure: Any,
) -> None:
    azure.enable("PT10M")
    sets = azure.compute.virtual_machine_scale_sets
    off = sets.begin_update("rg", "web", notification(False, "PT10M")).result().as_dict()
    assert off["properties"]["virtualMachineProfile"]["scheduledEventsProfile"] == {}
    body = notification(True)
    del body["properties"]["virtualMachineProfile"]["scheduledEventsProfile"]["terminateNotificationProfile"][
        "notBeforeTimeout"
    ]
    on = sets.begin_update("rg", "web", body).result()
    assert on.virtual_machine_profile.scheduled_events_profile.terminate_notification_profile.not_before_timeout == (
        "PT5M"
    )


@pytest.mark.parametrize("timeout", ["PT4M59S", "PT16M", "PT0S", "5", "P1D"])
def test_given_a_timeout_out_of_range_when_sent_then_it_is_refused_and_nothing_changes(
    azure: Any, timeout: str
) -> None:
    with azure.refuses(400, "InvalidParameter") as refusal:
        azure.compute.virtual_machine_scale_sets.begin_update("rg", "web", notification(True, timeout))
    assert timeout in refusal.value.message
    assert azure.compute.virtual_machine_scale_sets.get("rg", "web").etag == '"1"'


@pytest.mark.parametrize(("timeout", "status"), [("PT15M", 200), ("PT10M", 400)])
def test_given_an_os_image_timeout_when_sent_then_only_a_quarter_of_an_hour_is_taken(
    azure: Any, timeout: str, status: int
) -> None:
    profile = {"osImageNotificationProfile": {"enable": True, "notBeforeTimeout": timeout}}
    body = {"properties": {"virtualMachineProfile": {"scheduledEventsProfile": profile}}}
    answer = azure.raw("PATCH", azure.path("virtualMachineScaleSets/web?api-version=2026-04-01"), body)
    assert answer.status == status


def test_given_the_policy_in_a_patch_when_sent_then_it_is_refused_as_the_model_has_no_such_member(azure: Any) -> None:
    body = {"properties": {"scheduledEventsPolicy": {"userInitiatedReboot": {"automaticallyApprove": True}}}}
    answer = azure.raw("PATCH", azure.path("virtualMachineScaleSets/web?api-version=2026-04-01"), body)
    assert (answer.status, answer.code) == (400, "BadRequest")
    assert "Could not find member 'scheduledEventsPolicy'" in answer.json["error"]["message"]


def test_given_the_policy_of_a_member_of_a_flexible_set_when_sent_then_it_is_refused(azure: Any) -> None:
    body = {"properties": {"scheduledEventsPolicy": {"userInitiatedReboot": {"automaticallyApprove": True}}}}
    answer = azure.raw("PATCH", azure.path("virtualMachines/api_0a2b3c4d?api-version=2026-04-01"), body)
    assert (answer.status, answer.code) == (400, "OperationNotAllowed")
    assert azure.raw("PATCH", azure.path("virtualMachines/db?api-version=2026-04-01"), body).status == 200


def test_given_any_request_to_compute_then_the_answer_says_what_is_left_of_its_kind(azure: Any) -> None:
    version = "api-version=2026-04-01"
    for method, tail, group in (
        ("GET", "virtualMachineScaleSets/web", "GetVMScaleSet"),
        ("GET", "virtualMachineScaleSets", "HighCostGetVMScaleSet"),
        ("GET", "virtualMachineScaleSets/web/virtualMachines", "HighCostGetVMScaleSet"),
        ("GET", "virtualMachineScaleSets/web/virtualMachines/1", "GetVMScaleSetVM"),
        ("POST", "virtualMachineScaleSets/web/virtualMachines/1/restart", "VMScaleSetVMActions"),
        ("POST", "virtualMachineScaleSets/web/restart", "VMScaleSetActions"),
        ("PATCH", "virtualMachineScaleSets/web", "UpdateVMScaleSet"),
        ("GET", "virtualMachines", "HighCostGet"),
        ("GET", "virtualMachines/nosuch", "LowCostGet"),
        ("GET", "virtualMachines/db/instanceView", "LowCostGet"),
        ("PATCH", "virtualMachines/db", "UpdateVM"),
        ("POST", "virtualMachines/db/redeploy", "UpdateVM"),
        ("POST", "virtualMachines/db/deallocate", "DeleteVM"),
        ("POST", "virtualMachines/db/simulateEviction", "DeleteVM"),
        ("DELETE", "virtualMachines/db", "DeleteVM"),
        ("GET", "availabilitySets/apps", "LowCostGet"),
        ("PUT", "availabilitySets/apps", "PutVM"),
    ):
        answer = azure.raw(method, azure.path(f"{tail}?{version}"), {} if method in ("PATCH", "PUT") else None)
        left = answer.headers["x-ms-ratelimit-remaining-resource"]
        name, _sign, count = left.split(",")[-1].partition(";")
        assert (name, count.isdecimal()) == (f"Microsoft.Compute/{group}SubscriptionMaximum", True)


@pytest.mark.parametrize(
    "tail",
    [
        "networkInterfaces?api-version=2018-10-01",
        "providers/Microsoft.Authorization/permissions?api-version=2022-04-01",
    ],
)
def test_given_a_request_to_another_provider_below_a_set_then_compute_does_not_count_it(azure: Any, tail: str) -> None:
    answer = azure.raw("GET", azure.path(f"virtualMachineScaleSets/web/{tail}"))
    assert (answer.status, "x-ms-ratelimit-remaining-resource" in answer.headers) == (200, False)


def test_given_the_policy_in_a_put_with_the_right_etag_when_sent_then_it_is_kept(cloud: Start) -> None:
    sets = cloud().compute.virtual_machine_scale_sets
    found = sets.get("rg", "web")
    document = found.as_dict()
    document["properties"]["scheduledEventsPolicy"] = {
        "userInitiatedReboot": {"automaticallyApprove": True},
        "allInstancesDown": {"automaticallyApprove": False},
        "scheduledEventsAdditionalPublishingTargets": {
            "eventGridAndResourceGraph": {"enable": True, "scheduledEventsApiVersion": "2020-07-01"}
        },
    }
    put = sets.begin_create_or_update(
        "rg", "web", document, etag=found.etag, match_condition=MatchConditions.IfNotModified
    ).result()
    policy = put.scheduled_events_policy
    assert policy.user_initiated_reboot.automatically_approve is True
    target = policy.scheduled_events_additional_publishing_targets.event_grid_and_resource_graph
    assert (target.enable, target.scheduled_events_api_version) == (True, "2020-07-01")
    assert put.sku.capacity == 4


def test_given_another_users_change_when_put_with_the_old_etag_then_412_and_theirs_stays(azure: Any) -> None:
    sets = azure.compute.virtual_machine_scale_sets
    mine = sets.get("rg", "web")
    azure.enable()
    with azure.refuses(412, "PreconditionFailed"):
        sets.begin_create_or_update("rg", "web", mine, etag=mine.etag, match_condition=MatchConditions.IfNotModified)
    assert sets.get("rg", "web").virtual_machine_profile.scheduled_events_profile is not None


def test_given_a_put_without_what_others_set_when_sent_then_theirs_is_lost(cloud: Start) -> None:
    sets = cloud(arm={"scale_sets": [{"name": "web", "tags": {"team": "a"}}]}).compute.virtual_machine_scale_sets
    document = copy.deepcopy(sets.get("rg", "web").as_dict())
    del document["tags"]
    del document["properties"]["virtualMachineProfile"]["osProfile"]
    put = sets.begin_create_or_update("rg", "web", document).result()
    assert put.tags == {}
    assert put.virtual_machine_profile.os_profile is None


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"location": None}, 400, "LocationRequired"),
        ({"location": "northeurope"}, 409, "InvalidResourceLocation"),
        ({"properties": {"orchestrationMode": "Flexible"}}, 409, "PropertyChangeNotAllowed"),
    ],
)
def test_given_an_invalid_put_when_sent_then_it_is_refused(
    azure: Any, change: dict[str, Any], status: int, code: str
) -> None:
    path = azure.path("virtualMachineScaleSets/web?api-version=2026-04-01")
    answer = azure.raw("PUT", path, {**azure.raw("GET", path).json, **change})
    assert (answer.status, answer.code) == (status, code)


def test_given_a_new_name_when_put_then_a_set_with_its_instances_comes_into_being(azure: Any) -> None:
    body = {
        "location": "West Europe",
        "sku": {"name": "Standard_D2s_v5", "capacity": 2},
        "properties": {
            "upgradePolicy": {"mode": "Manual"},
            "virtualMachineProfile": {
                "scheduledEventsProfile": {"terminateNotificationProfile": {"enable": True, "notBeforeTimeout": "PT6M"}}
            },
        },
    }
    created = azure.compute.virtual_machine_scale_sets.begin_create_or_update("rg", "new", body).result()
    assert (created.provisioning_state, created.location) == ("Succeeded", "westeurope")
    instances = list(azure.compute.virtual_machine_scale_set_vms.list("rg", "new"))
    assert [(vm.name, vm.instance_id) for vm in instances] == [("new_0", "0"), ("new_1", "1")]
    assert azure.azure.status()["arm"]["scale_sets"]["new"]["instances"]["new_1"]["terminate_notice"] == 360


def test_given_more_capacity_when_patched_then_instances_appear_with_the_latest_model_and_answer_imds(
    cloud: Start,
) -> None:
    azure = cloud(arm={"scale_sets": [{"name": "web", "new_addresses": "127.0.79.0/28", "outdated": ["web_0"]}]})
    azure.compute.virtual_machine_scale_sets.begin_update("rg", "web", {"sku": {"capacity": 6}}).result()
    vms = list(azure.compute.virtual_machine_scale_set_vms.list("rg", "web"))
    assert [vm.name for vm in vms] == ["web_0", "web_1", "web_2", "web_3", "web_4", "web_5"]
    assert azure.outdated() == ["0"]
    name = ask(azure.azure.imds["web_5"], "/metadata/instance/compute/name?api-version=2021-12-13&format=text")
    assert (name.status, name.body) == (200, b"web_5")
    document = ask(azure.azure.imds["web_5"], "/metadata/scheduledevents?api-version=2020-07-01")
    assert document.json["Events"] == []


def test_given_less_capacity_when_patched_then_the_newest_instances_go(azure: Any) -> None:
    azure.compute.virtual_machine_scale_sets.begin_update("rg", "web", {"sku": {"capacity": 2}}).result()
    vms = azure.compute.virtual_machine_scale_set_vms.list("rg", "web")
    assert [vm.instance_id for vm in vms] == ["0", "1"]


def test_given_a_set_when_deleted_then_it_and_its_vms_are_gone(azure: Any) -> None:
    azure.compute.virtual_machine_scale_sets.begin_delete("rg", "web").result()
    with pytest.raises(ResourceNotFoundError):
        azure.compute.virtual_machine_scale_sets.get("rg", "web")
    assert azure.azure.status()["vms"]["web_0"]["state"] == "deleted"
    assert azure.raw("DELETE", azure.path("virtualMachineScaleSets/web?api-version=2026-04-01")).status == 204


@pytest.mark.parametrize(
    ("group", "name", "code"), [("rg", "none", "ResourceNotFound"), ("none", "web", "ResourceGroupNotFound")]
)
def test_given_a_missing_name_when_read_then_404_says_what_was_not_found(
    azure: Any, group: str, name: str, code: str
) -> None:
    with azure.refuses(404, code):
        azure.compute.virtual_machine_scale_sets.get(group, name)


def test_given_another_subscription_when_asked_then_404(azure: Any) -> None:
    path = "/subscriptions/22222222-aaaa-4bbb-8ccc-555555555555/providers/Microsoft.Compute/virtualMachines"
    answer = azure.raw("GET", f"{path}?api-version=2026-04-01")
    assert (answer.status, answer.code) == (404, "SubscriptionNotFound")


def _set_with_an_image_of_another_tenant() -> dict[str, Any]:
    image = {"id": "/subscriptions/0f0f0f0f-0000-4000-8000-0f0f0f0f0f0f/galleries/g/images/i/versions/1.0.0"}
    properties = {"virtualMachineProfile": {"storageProfile": {"imageReference": image}}}
    return {"scale_sets": [{"name": "web", "properties": properties}]}


def test_given_an_image_of_another_tenant_when_it_is_written_back_then_the_linked_access_check_refuses(
    cloud: Start,
) -> None:
    azure = cloud(arm=_set_with_an_image_of_another_tenant())
    sets = azure.compute.virtual_machine_scale_sets
    with azure.refuses(403, "LinkedAuthorizationFailed") as refusal:
        sets.begin_create_or_update("rg", "web", sets.get("rg", "web"))
    assert "galleries/g" in str(refusal.value)


def test_given_an_image_when_the_set_is_written_without_it_then_it_is_kept_and_the_model_is_no_other(
    cloud: Start,
) -> None:
    azure = cloud(arm=_set_with_an_image_of_another_tenant())
    sets = azure.compute.virtual_machine_scale_sets
    found = sets.get("rg", "web")
    image = found.virtual_machine_profile.storage_profile.image_reference
    found.virtual_machine_profile.storage_profile.image_reference = None
    written = sets.begin_create_or_update("rg", "web", found).result()
    assert written.virtual_machine_profile.storage_profile.image_reference == image
    assert azure.outdated() == []


def test_given_a_flexible_set_of_many_when_it_is_made_then_all_are_vms_and_none_has_a_name_of_digits_alone(
    azure: Any,
) -> None:
    body = {
        "location": "westeurope",
        "sku": {"name": "Standard_D2s_v5", "capacity": 100},
        "properties": {"orchestrationMode": "Flexible"},
    }
    azure.compute.virtual_machine_scale_sets.begin_create_or_update("rg", "large", body).result()
    members = [vm.name for vm in azure.compute.virtual_machines.list("rg") if vm.name.startswith("large_")]
    assert len(members) == 100
    assert not [name for name in members if name.rpartition("_")[2].isdecimal()]
