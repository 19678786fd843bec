# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instances: deletion and eviction are events in the same world that IMDS shows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError

from tests.simulated_cloud import vm_of

from ..conftest import approve, ask

Start = Callable[..., Any]

NOTIFY = {"scale_sets": [{"name": "web", "terminate_notification": "PT7M"}]}


def names(azure: Any, scale_set: str = "web") -> list[str]:
    return [vm.name for vm in azure.compute.virtual_machine_scale_set_vms.list("rg", scale_set)]


def events(azure: Any, vm: str) -> Any:
    return ask(azure.azure.imds[vm]).json["Events"]


def test_given_an_instance_when_read_then_its_model_state_network_and_view_are_reported(cloud: Start) -> None:
    vms = cloud().compute.virtual_machine_scale_set_vms
    vm = vms.get("rg", "web", "2", expand="instanceView")
    assert (vm.name, vm.instance_id, vm.latest_model_applied, vm.etag) == ("web_2", "2", True, '"1"')
    assert vm.id.endswith("/virtualMachineScaleSets/web/virtualMachines/2")
    assert [status.code for status in vm.instance_view.statuses] == [
        "ProvisioningState/succeeded",
        "PowerState/running",
    ]
    with pytest.raises(ResourceNotFoundError):
        vms.get("rg", "web", "9")


def test_given_a_flexible_set_when_its_instances_are_listed_then_they_are_bare_and_their_ids_are_those_of_vms(
    azure: Any,
) -> None:
    vms = list(azure.compute.virtual_machine_scale_set_vms.list("rg", "api"))
    assert [vm.instance_id for vm in vms] == ["api_0a2b3c4d", "api_1a2b3c4d"] == [vm.name for vm in vms]
    assert vms[0].id == azure.compute.virtual_machines.get("rg", "api_0a2b3c4d").id
    assert vms[0].latest_model_applied is None
    rows = azure.raw("GET", azure.path("virtualMachineScaleSets/api/virtualMachines?api-version=2026-04-01")).json
    assert set(rows["value"][0]) == {"id", "instanceId", "name", "location"}


def test_given_a_flexible_set_when_its_instances_are_asked_for_with_their_view_then_that_is_refused(
    azure: Any,
) -> None:
    with azure.refuses(400, "OperationNotAllowed") as refusal:
        list(azure.compute.virtual_machine_scale_set_vms.list("rg", "api", expand="instanceView"))
    assert "'VirtualMachineScaleSets.virtualMachines.GET' is not allowed on Virtual" in str(refusal.value)


def test_given_a_protected_instance_when_azure_updates_then_it_is_left_out(cloud: Start) -> None:
    azure = cloud(arm={"scale_sets": [{"name": "web", "upgrade_mode": "Automatic"}]})
    vms = azure.compute.virtual_machine_scale_set_vms
    path = azure.path("virtualMachineScaleSets/web/virtualMachines/2?api-version=2026-04-01")
    shown = azure.raw("GET", path).json
    shown["properties"]["protectionPolicy"] = {"protectFromScaleSetActions": True}
    assert azure.raw("PUT", path, shown).status == 200
    azure.enable()
    deadline = time.monotonic() + 60
    while len(azure.outdated()) > 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert azure.outdated() == ["2"]
    assert vms.get("rg", "web", "2").protection_policy.protect_from_scale_set_actions is True


def test_given_notifications_when_an_instance_is_deleted_then_its_placement_group_is_notified_with_that_timeout(
    cloud: Start,
) -> None:
    azure = cloud(arm=NOTIFY, speed=None)
    assert events(azure, "web_0") == []
    poller = azure.compute.virtual_machine_scale_set_vms.begin_delete("rg", "web", "1")
    for witness in ("web_0", "web_1"):
        (event,) = events(azure, witness)
        assert (event["EventType"], event["Resources"], event["EventSource"]) == ("Terminate", ["web_1"], "User")
    now = azure.azure.status()["now"]
    assert parsedate_to_datetime(event["NotBefore"]).timestamp() - now == pytest.approx(420, abs=1)
    assert azure.compute.virtual_machine_scale_set_vms.get("rg", "web", "1").provisioning_state == "Deleting"
    assert not poller.done()


def test_given_a_terminate_when_it_is_approved_then_the_instance_goes_at_once_and_the_operation_ends(
    cloud: Start,
) -> None:
    azure = cloud(arm=NOTIFY, speed=None)
    ask(azure.azure.imds["web_1"])
    poller = azure.compute.virtual_machine_scale_set_vms.begin_delete("rg", "web", "1")
    (event,) = events(azure, "web_1")
    approve(azure.azure.imds["web_1"], event["EventId"])
    azure.azure.advance(31)
    poller.result()
    assert names(azure) == ["web_0", "web_2", "web_3"]
    assert azure.compute.virtual_machine_scale_sets.get("rg", "web").sku.capacity == 3


def test_given_a_terminate_when_nobody_approves_it_then_the_instance_goes_when_the_time_is_out(cloud: Start) -> None:
    azure = cloud(arm=NOTIFY, speed=None)
    azure.compute.virtual_machine_scale_set_vms.begin_delete("rg", "web", "1", polling=False)
    azure.azure.advance(419)
    assert azure.azure.status()["vms"]["web_1"]["state"] == "running"
    azure.azure.advance(32)
    assert azure.azure.status()["vms"]["web_1"]["state"] == "deleted"
    assert "web_1" not in names(azure)


def test_given_no_notifications_when_an_instance_is_deleted_then_it_goes_without_an_event(azure: Any) -> None:
    azure.compute.virtual_machine_scale_set_vms.begin_delete("rg", "web", "1").result()
    assert names(azure) == ["web_0", "web_2", "web_3"]
    assert azure.azure.status()["events"] == []


def test_given_a_model_changed_since_when_an_outdated_instance_is_deleted_then_it_gets_its_old_timeout(
    cloud: Start,
) -> None:
    azure = cloud(arm=NOTIFY)
    azure.enable("PT15M")
    azure.compute.virtual_machine_scale_sets.begin_update_instances("rg", "web", {"instanceIds": ["0"]}).result()
    azure.compute.virtual_machine_scale_sets.begin_delete_instances(
        "rg", "web", {"instanceIds": ["0", "1"]}, polling=False
    )
    notices = {e["resources"][0]: (e["not_before"] - e["created"]) * 100 for e in azure.azure.status()["events"]}
    assert notices == {"web_0": pytest.approx(900, abs=1), "web_1": pytest.approx(420, abs=1)}


def test_given_disabled_notifications_when_an_instance_is_deleted_then_it_goes_without_an_event(cloud: Start) -> None:
    off = {"terminateNotificationProfile": {"enable": False, "notBeforeTimeout": "PT5M"}}
    properties = {"virtualMachineProfile": {"scheduledEventsProfile": off}}
    azure = cloud(arm={"scale_sets": [{"name": "web", "properties": properties}]})
    azure.compute.virtual_machine_scale_set_vms.begin_delete("rg", "web", "1").result()
    assert azure.azure.status()["events"] == []


def test_given_a_spot_instance_when_deleted_then_no_terminate_is_raised(cloud: Start) -> None:
    azure = cloud(arm={"scale_sets": [{"name": "spot", "terminate_notification": "PT5M"}]})
    azure.compute.virtual_machine_scale_set_vms.begin_delete("rg", "spot", "0").result()
    assert azure.azure.status()["events"] == []


def test_given_a_spot_instance_when_evicted_then_it_is_preempted_and_goes(cloud: Start) -> None:
    azure = cloud(speed=None)
    ask(azure.azure.imds["spot_0"])
    azure.compute.virtual_machine_scale_set_vms.simulate_eviction("rg", "spot", "0")
    (event,) = events(azure, "spot_1")
    assert (event["EventType"], event["Resources"]) == ("Preempt", ["spot_0"])
    azure.azure.advance(41)
    assert names(azure, "spot") == ["spot_1"]
    assert azure.compute.virtual_machine_scale_sets.get("rg", "spot").sku.capacity == 1


def test_given_an_instance_that_is_not_spot_when_evicted_then_it_is_refused(azure: Any) -> None:
    with pytest.raises(ResourceExistsError) as refusal:
        azure.compute.virtual_machine_scale_set_vms.simulate_eviction("rg", "web", "0")
    assert refusal.value.status_code == 409
    assert azure.azure.status()["events"] == []


def test_given_a_terminate_when_the_operator_withdraws_it_then_the_instance_stays_and_the_operation_is_canceled(
    cloud: Start,
) -> None:
    azure = cloud(arm=NOTIFY, speed=None)
    poller = azure.compute.virtual_machine_scale_set_vms.begin_delete("rg", "web", "1")
    azure.azure.withdraw(azure.azure.status()["events"][0]["event_id"])
    with pytest.raises(HttpResponseError):
        poller.result()
    assert names(azure) == ["web_0", "web_1", "web_2", "web_3"]
    assert azure.compute.virtual_machine_scale_sets.get("rg", "web").sku.capacity == 4


def test_given_an_instance_that_is_being_deleted_when_its_set_is_deleted_then_each_has_one_terminate(
    cloud: Start,
) -> None:
    azure = cloud(arm=NOTIFY, speed=None)
    azure.compute.virtual_machine_scale_set_vms.begin_delete("rg", "web", "1", polling=False)
    azure.compute.virtual_machine_scale_sets.begin_delete("rg", "web", polling=False)
    resources = [event["resources"] for event in azure.azure.status()["events"]]
    assert sorted(resources) == [["web_0"], ["web_1"], ["web_2"], ["web_3"]]


def test_given_a_set_whose_deletion_is_called_off_when_read_then_it_is_not_being_deleted_any_more(
    cloud: Start,
) -> None:
    azure = cloud(arm=NOTIFY, speed=None)
    azure.compute.virtual_machine_scale_sets.begin_delete("rg", "web", polling=False)
    for event in azure.azure.status()["events"]:
        azure.azure.withdraw(event["event_id"])
    assert azure.compute.virtual_machine_scale_sets.get("rg", "web").provisioning_state == "Canceled"


def test_given_a_set_without_instances_when_all_are_deleted_then_the_operation_ends(azure: Any) -> None:
    for _time in range(2):
        begin = azure.compute.virtual_machine_scale_sets.begin_delete_instances
        poller = begin("rg", "web", {"instanceIds": ["*"]})
        poller.wait(30)
        assert (poller.status(), names(azure)) == ("Succeeded", [])


def test_given_a_spot_instance_that_is_being_deleted_when_evicted_then_it_is_refused(cloud: Start) -> None:
    azure = cloud(speed=None)
    azure.compute.virtual_machine_scale_set_vms.begin_delete("rg", "spot", "0", polling=False)
    with azure.refuses(409, "OperationNotAllowed"):
        azure.compute.virtual_machine_scale_set_vms.simulate_eviction("rg", "spot", "0")


def test_given_an_invalid_id_when_deleted_then_it_is_refused_and_nobody_goes(azure: Any) -> None:
    with azure.refuses(400, "InvalidParameter"):
        azure.compute.virtual_machine_scale_sets.begin_delete_instances("rg", "web", {"instanceIds": ["0", "77"]})
    assert len(names(azure)) == 4


def test_given_edited_pools_when_an_instance_is_put_then_only_it_leaves_and_an_upgrade_brings_it_back(
    cloud: Start,
) -> None:
    azure = cloud(arm={"load_balancers": [{"name": "front", "pools": {"web": [f"web_{i}" for i in range(4)]}}]})
    vms = azure.compute.virtual_machine_scale_set_vms

    def members() -> list[str]:
        pool = azure.network.load_balancer_backend_address_pools.get("rg", "front", "web")
        return [vm_of(address) for address in pool.load_balancer_backend_addresses]

    vm = vms.get("rg", "web", "1").as_dict()
    etag = vm["etag"]
    (interface,) = vm["properties"]["networkProfileConfiguration"]["networkInterfaceConfigurations"]
    (configuration,) = interface["properties"]["ipConfigurations"]
    configuration["properties"]["loadBalancerBackendAddressPools"] = []
    answer = azure.raw(
        "PUT",
        azure.path("virtualMachineScaleSets/web/virtualMachines/1?api-version=2026-04-01"),
        json.dumps(vm),
        {"If-Match": '"77"'},
    )
    assert (answer.status, answer.code) == (412, "PreconditionFailed")
    assert members() == ["web_0", "web_1", "web_2", "web_3"]
    assert vms.begin_update("rg", "web", "1", vm).result().etag != etag
    assert members() == ["web_0", "web_2", "web_3"]
    azure.compute.virtual_machine_scale_sets.begin_update_instances("rg", "web", {"instanceIds": ["1"]}).result()
    assert members() == ["web_0", "web_1", "web_2", "web_3"]
