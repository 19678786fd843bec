# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""VMs and availability sets, driven by azure-mgmt-compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError, ResourceNotFoundError

from ..conftest import ask

Start = Callable[..., Any]

ENABLE = {
    "properties": {
        "scheduledEventsProfile": {"terminateNotificationProfile": {"enable": True, "notBeforeTimeout": "PT10M"}}
    }
}


def test_given_vms_when_listed_then_those_of_flexible_sets_are_there_and_those_of_uniform_ones_are_not(
    cloud: Start,
) -> None:
    vms = cloud(arm={"page_size": 1}).compute.virtual_machines
    expected = ["api_0a2b3c4d", "api_1a2b3c4d", "db", "app_0", "app_1"]
    assert [vm.name for vm in vms.list("rg")] == expected
    assert [vm.name for vm in vms.list_all()] == expected


def _members_of(azure: Any, scale_set: str) -> str:
    return "'virtualMachineScaleSet/id' eq '%s'" % azure.path(f"virtualMachineScaleSets/{scale_set}")


def test_given_the_filter_for_a_scale_set_when_vms_are_listed_then_only_its_members_are_there(cloud: Start) -> None:
    azure = cloud(arm={"page_size": 1})
    vms = azure.compute.virtual_machines
    expected = ["api_0a2b3c4d", "api_1a2b3c4d"]
    assert [vm.name for vm in vms.list("rg", filter=_members_of(azure, "api"))] == expected
    assert [vm.name for vm in vms.list("rg", filter=_members_of(azure, "API").replace("eq '", "eq ")[:-1])] == expected
    assert [vm.name for vm in vms.list_all(filter=_members_of(azure, "api"))] == expected
    assert list(vms.list("rg", filter=_members_of(azure, "nobody"))) == []
    path = azure.path("virtualMachines?api-version=2026-04-01&$filter=" + quote(_members_of(azure, "api")))
    assert _members_of(azure, "api") in azure.raw("GET", path).json["nextLink"]
    with_view = next(iter(vms.list("rg", filter=_members_of(azure, "api"), expand="instanceView")))
    assert with_view.instance_view.statuses[1].code == "PowerState/running"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"filter": "name eq 'db'"}, "name eq 'db'"),
        ({"expand": "instanceView"}, "$expand needs a $filter"),
    ],
)
def test_given_an_unknown_filter_when_vms_are_listed_then_it_is_refused_by_name(
    azure: Any, options: dict[str, str], named: str
) -> None:
    with azure.refuses(400, "InvalidParameter") as refusal:
        list(azure.compute.virtual_machines.list("rg", **options))
    assert named in str(refusal.value)


def test_given_a_vm_when_read_then_id_and_vm_id_are_those_of_imds(azure: Any) -> None:
    compute = ask(azure.azure.imds["db"], "/metadata/instance/compute?api-version=2021-12-13").json
    vm = azure.compute.virtual_machines.get("rg", "db", expand="instanceView")
    assert (vm.id, vm.vm_id) == (compute["resourceId"], compute["vmId"])
    assert vm.instance_view.statuses[1].display_status == "VM running"


def test_given_a_member_of_a_set_when_read_then_it_names_it(cloud: Start) -> None:
    vms = cloud().compute.virtual_machines
    assert vms.get("rg", "api_0a2b3c4d").virtual_machine_scale_set.id.endswith("/virtualMachineScaleSets/api")
    assert vms.get("rg", "app_0").availability_set.id.lower().endswith("/availabilitysets/apps")


def test_given_a_spot_vm_in_a_zone_when_read_then_it_says_so_and_others_do_not(cloud: Start) -> None:
    vms = [
        {"name": "db", "address": "127.0.78.96"},
        {"name": "cheap", "address": "127.0.78.97", "spot": True, "zone": "2"},
        {"name": "web_0", "address": "127.0.78.98", "scale_set": "web", "zone": "2"},
    ]
    compute = cloud(vms=vms).compute
    seen = [(vm.name, vm.zones, vm.priority, vm.eviction_policy) for vm in compute.virtual_machines.list("rg")]
    assert seen == [("db", None, None, None), ("cheap", ["2"], "Spot", "Delete")]
    assert compute.virtual_machine_scale_sets.get("rg", "web").zones == ["2"]
    assert compute.virtual_machine_scale_set_vms.get("rg", "web", "0").zones == ["2"]


def test_given_a_missing_vm_when_read_then_404(cloud: Start) -> None:
    vms = cloud().compute.virtual_machines
    for name in ("none", "web_0"):
        with pytest.raises(ResourceNotFoundError):
            vms.get("rg", name)


def test_given_the_documented_patch_when_sent_then_notifications_are_on_and_deletion_announces_itself(
    azure: Any,
) -> None:
    vm = azure.compute.virtual_machines.begin_update("rg", "db", ENABLE).result()
    assert vm.scheduled_events_profile.terminate_notification_profile.not_before_timeout == "PT10M"
    azure.compute.virtual_machines.begin_delete("rg", "db", polling=False)
    (event,) = azure.azure.status()["events"]
    assert (event["event_type"], event["resources"]) == ("Terminate", ["db"])
    assert (event["not_before"] - event["created"]) * 100 == pytest.approx(600, abs=1)


def test_given_no_profile_when_a_vm_is_deleted_then_it_goes_without_an_event(azure: Any) -> None:
    azure.compute.virtual_machines.begin_delete("rg", "db").result()
    assert azure.azure.status()["events"] == []
    with pytest.raises(ResourceNotFoundError):
        azure.compute.virtual_machines.get("rg", "db")
    azure.compute.virtual_machines.begin_delete("rg", "db").result()


def test_given_a_configured_profile_when_read_then_it_is_there(cloud: Start) -> None:
    azure = cloud(arm={"virtual_machines": [{"name": "db", "terminate_notification": "PT5M"}]})
    profile = azure.compute.virtual_machines.get("rg", "db").scheduled_events_profile
    assert profile.terminate_notification_profile.enable is True


def test_given_a_flexible_instance_when_its_own_profile_is_patched_then_its_set_is_not_changed(azure: Any) -> None:
    azure.compute.virtual_machines.begin_update("rg", "api_0a2b3c4d", ENABLE).result()
    assert (
        azure.compute.virtual_machine_scale_sets.get("rg", "api").virtual_machine_profile.scheduled_events_profile
        is None
    )
    notices = {
        name: instance["terminate_notice"]
        for name, instance in azure.azure.status()["arm"]["scale_sets"]["api"]["instances"].items()
    }
    assert notices == {"api_0a2b3c4d": 600, "api_1a2b3c4d": None}


def test_given_the_policy_in_a_patch_when_sent_then_the_vm_keeps_it(azure: Any) -> None:
    body = {"properties": {"scheduledEventsPolicy": {"userInitiatedRedeploy": {"automaticallyApprove": True}}}}
    vm = azure.compute.virtual_machines.begin_update("rg", "db", body).result()
    assert vm.scheduled_events_policy.user_initiated_redeploy.automatically_approve is True


def test_given_an_old_etag_when_a_vm_is_patched_then_412(azure: Any) -> None:
    etag = azure.compute.virtual_machines.get("rg", "db").etag
    azure.compute.virtual_machines.begin_update("rg", "db", {"tags": {"a": "b"}}).result()
    with pytest.raises(ResourceModifiedError):
        azure.compute.virtual_machines.begin_update(
            "rg", "db", ENABLE, etag=etag, match_condition=MatchConditions.IfNotModified
        )


def test_given_a_spot_vm_when_evicted_then_it_is_preempted(cloud: Start) -> None:
    vms = [{"name": "cheap", "address": "127.0.78.97", "spot": True}, {"name": "dear", "address": "127.0.78.98"}]
    azure = cloud(speed=None, vms=vms)
    azure.compute.virtual_machines.simulate_eviction("rg", "cheap")
    assert [event["event_type"] for event in azure.azure.status()["events"]] == ["Preempt"]
    azure.azure.advance(41)
    with pytest.raises(ResourceNotFoundError, match="The entity was not found in this Azure location"):
        azure.compute.virtual_machines.simulate_eviction("rg", "cheap")


def test_given_an_availability_set_when_read_and_listed_then_its_members_are_named(cloud: Start) -> None:
    sets = cloud().compute.availability_sets
    found = sets.get("rg", "apps")
    assert [member.id.rpartition("/")[2] for member in found.virtual_machines] == ["APP_0", "APP_1"]
    assert [one.name for one in sets.list("rg")] == ["apps"] == [one.name for one in sets.list_by_subscription()]
    with pytest.raises(ResourceNotFoundError):
        sets.get("rg", "none")


def test_given_the_policy_when_an_availability_set_is_changed_then_it_is_kept_at_once(cloud: Start) -> None:
    sets = cloud().compute.availability_sets
    policy = {"allInstancesDown": {"automaticallyApprove": True}}
    changed = sets.update("rg", "apps", {"properties": {"scheduledEventsPolicy": policy}})
    assert changed.scheduled_events_policy.all_instances_down.automatically_approve is True
    replaced = sets.create_or_update("rg", "apps", {"location": "westeurope", "tags": {"a": "b"}})
    assert (replaced.scheduled_events_policy, replaced.tags) == (None, {"a": "b"})


def test_given_a_new_name_when_put_then_an_availability_set_is_there_until_it_is_deleted(cloud: Start) -> None:
    sets = cloud().compute.availability_sets
    policy = {"userInitiatedReboot": {"automaticallyApprove": True}}
    body = {
        "location": "West Europe",
        "sku": {"name": "Aligned"},
        "properties": {"platformFaultDomainCount": 2, "scheduledEventsPolicy": policy},
    }
    made = sets.create_or_update("rg", "spare", body)
    assert (made.location, made.sku.name, made.platform_fault_domain_count) == ("westeurope", "Aligned", 2)
    assert made.scheduled_events_policy.user_initiated_reboot.automatically_approve is True
    assert (made.virtual_machines, sets.get("rg", "spare").name) == ([], "spare")
    assert [one.name for one in sets.list("rg")] == ["apps", "spare"]
    sets.delete("rg", "spare")
    sets.delete("rg", "spare")
    with pytest.raises(ResourceNotFoundError):
        sets.get("rg", "spare")


def test_given_an_availability_set_with_vms_when_it_is_deleted_then_it_is_refused(azure: Any) -> None:
    with azure.refuses(409, "OperationNotAllowed"):
        azure.compute.availability_sets.delete("rg", "apps")
    assert azure.compute.availability_sets.get("rg", "apps").name == "apps"


def test_given_an_availability_set_when_put_in_another_location_then_it_is_refused(azure: Any) -> None:
    with azure.refuses(409, "InvalidResourceLocation"):
        azure.compute.availability_sets.create_or_update("rg", "apps", {"location": "eastus"})
    answer = azure.raw("PUT", azure.path("availabilitySets/apps?api-version=2026-04-01"), {"tags": {}})
    assert (answer.status, answer.code) == (400, "LocationRequired")


def test_given_locations_when_vms_and_sets_are_listed_by_them_then_each_has_its_own(cloud: Start) -> None:
    vms = [
        {"name": "west", "address": "127.0.78.1", "location": "westeurope"},
        {"name": "north", "address": "127.0.78.2", "location": "northeurope"},
        {"name": "web_0", "address": "127.0.78.3", "scale_set": "web", "location": "northeurope"},
    ]
    compute = cloud(vms=vms).compute
    assert [vm.name for vm in compute.virtual_machines.list_by_location("northeurope")] == ["north"]
    assert [vm.name for vm in compute.virtual_machines.list_by_location("West Europe")] == ["west"]
    assert [one.name for one in compute.virtual_machine_scale_sets.list_by_location("northeurope")] == ["web"]
    assert list(compute.virtual_machine_scale_sets.list_by_location("westeurope")) == []


def test_given_a_switch_in_words_when_sent_then_it_counts(azure: Any) -> None:
    body = {"properties": {"scheduledEventsPolicy": {"userInitiatedReboot": {"automaticallyApprove": "True"}}}}
    changed = azure.raw("PATCH", azure.path("availabilitySets/apps?api-version=2026-04-01"), body)
    assert changed.json["properties"]["scheduledEventsPolicy"] == {
        "userInitiatedReboot": {"automaticallyApprove": True}
    }


def test_given_an_invalid_switch_when_sent_then_400(azure: Any) -> None:
    body = {"properties": {"scheduledEventsPolicy": {"userInitiatedReboot": {"automaticallyApprove": "maybe"}}}}
    with azure.refuses(400, "InvalidParameter"):
        azure.compute.availability_sets.update("rg", "apps", body)
