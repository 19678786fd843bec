# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""To the latest model: by hand, automatically, rolling, and never."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

from tests.simulated_cloud import HEALTH, lagging

from ..conftest import eventually

Start = Callable[..., Any]


def of_mode(mode: str, **more: Any) -> dict[str, Any]:
    return {"scale_sets": [{"name": "web", "upgrade_mode": mode, **more}]}


def test_given_mode_manual_when_the_model_changes_then_instances_stay_as_they_are_until_updated(azure: Any) -> None:
    azure.enable()
    assert azure.outdated() == ["0", "1", "2", "3"]
    sets = azure.compute.virtual_machine_scale_sets
    sets.begin_update_instances("rg", "web", {"instanceIds": ["0", "3"]}).result()
    assert azure.outdated() == ["1", "2"]
    sets.begin_update_instances("rg", "web", {"instanceIds": ["*"]}).result()
    assert azure.outdated() == []


API = ("api_0a2b3c4d", "api_1a2b3c4d")


def test_given_a_flexible_set_when_updated_then_the_ids_are_names(azure: Any) -> None:
    azure.enable(scale_set="api")
    azure.compute.virtual_machine_scale_sets.begin_update_instances(
        "rg", "api", {"instanceIds": ["api_0a2b3c4d"]}
    ).result()
    profiles = {name: azure.compute.virtual_machines.get("rg", name).scheduled_events_profile for name in API}
    assert profiles["api_0a2b3c4d"].terminate_notification_profile.enable is True
    assert profiles["api_1a2b3c4d"] is None


def test_given_a_manualupgrade_when_sent_then_it_is_202_with_location_and_retry_after(cloud: Start) -> None:
    azure = cloud(speed=None, arm={"retry_after": 3})
    path = azure.path("virtualMachineScaleSets/web/manualupgrade?api-version=2026-04-01")
    answer = azure.raw("POST", path, {"instanceIds": ["0"]})
    assert (answer.status, answer.body, answer.headers["Retry-After"]) == (202, b"", "3")
    where = answer.headers["Location"].removeprefix(azure.azure.arm)
    waiting = azure.raw("GET", where)
    assert (waiting.status, waiting.headers["Retry-After"]) == (202, "3")
    assert azure.compute.virtual_machine_scale_set_vms.get("rg", "web", "0").provisioning_state == "Updating"
    azure.azure.advance(5)
    assert azure.raw("GET", where).status == 200


@pytest.mark.parametrize("body", [{}, {"instanceIds": []}, {"instanceIds": "0"}, {"instanceIds": ["9"]}])
def test_given_invalid_ids_when_updated_then_400(azure: Any, body: Any) -> None:
    answer = azure.raw("POST", azure.path("virtualMachineScaleSets/web/manualupgrade?api-version=2026-04-01"), body)
    assert (answer.status, answer.code) == (400, "InvalidParameter")


def test_given_mode_automatic_when_the_model_changes_then_instances_follow_of_themselves(cloud: Start) -> None:
    azure = cloud(arm=of_mode("Automatic"))
    azure.enable()
    eventually(lambda: not azure.outdated())


def test_given_mode_rolling_when_the_model_changes_then_batches_follow_and_the_status_counts_them(
    cloud: Start,
) -> None:
    azure = cloud(
        arm=of_mode(
            "Rolling",
            properties={
                "upgradePolicy": {
                    "rollingUpgradePolicy": {"maxBatchInstancePercent": 50, "pauseTimeBetweenBatches": "PT2S"}
                }
            },
        ),
        speed=None,
    )
    upgrades = azure.compute.virtual_machine_scale_set_rolling_upgrades
    poller = azure.compute.virtual_machine_scale_sets.begin_update(
        "rg",
        "web",
        {"properties": {"virtualMachineProfile": {"userData": "bmV3"}}},
    )
    azure.azure.advance(5)
    poller.result()

    def progress() -> tuple[str, int, int, int]:
        status = upgrades.get_latest("rg", "web")
        counts = status.progress
        return (
            status.running_status.code,
            counts.successful_instance_count,
            counts.in_progress_instance_count,
            counts.pending_instance_count,
        )

    assert progress() == ("RollingForward", 0, 2, 2)
    azure.azure.advance(5)
    assert progress() == ("RollingForward", 2, 0, 2)
    azure.azure.advance(2)
    assert progress() == ("RollingForward", 2, 2, 0)
    azure.azure.advance(7)
    assert progress() == ("Completed", 4, 0, 0)
    assert azure.outdated() == []


def test_given_a_rolling_upgrade_under_way_when_the_model_changes_again_then_it_makes_way_for_another(
    cloud: Start,
) -> None:
    pausing = {"maxBatchInstancePercent": 50, "pauseTimeBetweenBatches": "PT10S"}
    azure = cloud(arm=of_mode("Rolling", properties={"upgradePolicy": {"rollingUpgradePolicy": pausing}}), speed=None)
    for text in ("bmV3", "bmV3ZXI="):
        model = {"properties": {"virtualMachineProfile": {"userData": text}}}
        azure.compute.virtual_machine_scale_sets.begin_update("rg", "web", model, polling=False)
        azure.azure.advance(10)
    # The pause of the first one is over, and that of the second one is not.
    azure.azure.advance(1)
    vms = azure.compute.virtual_machine_scale_set_vms.list("rg", "web")
    assert [vm.provisioning_state for vm in vms] == ["Succeeded"] * 4


def test_given_two_sets_when_the_upgrade_of_one_is_cancelled_then_that_of_the_other_goes_on(cloud: Start) -> None:
    vms = [{"name": f"{name}_0", "address": f"127.0.78.{n}", "scale_set": name} for n, name in ((1, "web"), (2, "db"))]
    sets = [{"name": name, "outdated": [f"{name}_0"], "properties": HEALTH} for name in ("web", "db")]
    azure = cloud(arm={"scale_sets": sets}, vms=vms, speed=None)
    upgrades = azure.compute.virtual_machine_scale_set_rolling_upgrades
    upgrade = upgrades.begin_start_os_upgrade("rg", "db")
    upgrades.begin_start_os_upgrade("rg", "web", polling=False)
    upgrades.begin_cancel("rg", "web", polling=False)
    azure.azure.advance(60)
    upgrade.result()


def test_given_mode_rolling_when_all_instances_have_the_model_then_no_upgrade_begins(cloud: Start) -> None:
    azure = cloud(arm=of_mode("Rolling"))
    azure.compute.virtual_machine_scale_sets.begin_update("rg", "web", {"tags": {"a": "b"}}).result()
    with pytest.raises(ResourceNotFoundError):
        azure.compute.virtual_machine_scale_set_rolling_upgrades.get_latest("rg", "web")


def test_given_an_instance_that_is_deleted_while_it_is_updated_then_it_is_gone_once(cloud: Start) -> None:
    azure = cloud(arm=lagging("web_0"), speed=None)
    azure.compute.virtual_machine_scale_sets.begin_update_instances("rg", "web", {"instanceIds": ["0"]}, polling=False)
    azure.compute.virtual_machine_scale_set_vms.begin_delete("rg", "web", "0", polling=False)
    azure.azure.advance(6)
    assert azure.compute.virtual_machine_scale_sets.get("rg", "web").sku.capacity == 3


def test_given_no_rolling_upgrade_ever_when_its_status_is_read_then_404(cloud: Start) -> None:
    with pytest.raises(ResourceNotFoundError):
        cloud().compute.virtual_machine_scale_set_rolling_upgrades.get_latest("rg", "web")


def test_given_a_rolling_upgrade_when_started_by_hand_then_its_operation_ends_with_it(cloud: Start) -> None:
    azure = cloud(arm=lagging("web_0", "web_1"))
    azure.compute.virtual_machine_scale_set_rolling_upgrades.begin_start_os_upgrade("rg", "web").result()
    assert azure.outdated() == []


def test_given_extensions_when_their_upgrade_is_started_then_it_is_another_rolling_upgrade(cloud: Start) -> None:
    azure = cloud(arm=lagging("web_0"))
    azure.compute.virtual_machine_scale_set_rolling_upgrades.begin_start_extension_upgrade("rg", "web").result()
    assert azure.outdated() == []
    assert list(azure.compute.virtual_machine_scale_sets.get_os_upgrade_history("rg", "web")) == []


def test_given_upgrades_of_the_image_when_their_history_is_read_then_it_shows_who_when_and_which(cloud: Start) -> None:
    azure = cloud(arm=lagging("web_0", "web_1"), speed=None)
    upgrades = azure.compute.virtual_machine_scale_set_rolling_upgrades
    upgrades.begin_start_os_upgrade("rg", "web", polling=False)
    upgrades.begin_cancel("rg", "web", polling=False)
    azure.azure.advance(10)
    upgrades.begin_start_os_upgrade("rg", "web", polling=False)
    newest, oldest = azure.compute.virtual_machine_scale_sets.get_os_upgrade_history("rg", "web")
    assert [one.properties.running_status.code for one in (newest, oldest)] == ["RollingForward", "Cancelled"]
    assert newest.properties.running_status.end_time is None
    assert oldest.properties.running_status.end_time >= oldest.properties.running_status.start_time
    assert oldest.properties.progress.successful_instance_count == 1
    assert (newest.properties.started_by, newest.properties.target_image_reference.offer) == (
        "User",
        "ubuntu-24_04-lts",
    )


PROBE = {"virtualMachineProfile": {"networkProfile": {"healthProbe": {"id": "/subscriptions/x/probes/ready"}}}}


@pytest.mark.parametrize(("scale_set", "properties"), [("web", {}), ("api", PROBE)])
def test_given_nothing_that_reports_health_when_a_rolling_upgrade_is_started_then_it_is_refused(
    cloud: Start, scale_set: str, properties: dict[str, Any]
) -> None:
    azure = cloud(arm={"scale_sets": [{"name": scale_set, "properties": properties}]})
    with azure.refuses(400, "BadRequest") as refusal:
        azure.compute.virtual_machine_scale_set_rolling_upgrades.begin_start_os_upgrade("rg", scale_set)
    assert "a health probe or health extension was not provided" in str(refusal.value)


PINNED = {
    "virtualMachineProfile": {
        **HEALTH["virtualMachineProfile"],
        "storageProfile": {"imageReference": {"publisher": "Canonical", "version": "24.04.202601010"}},
    }
}


def test_given_an_image_of_one_version_when_an_upgrade_of_the_image_is_started_then_409_with_the_message_of_azure(
    cloud: Start,
) -> None:
    azure = cloud(arm={"scale_sets": [{"name": "web", "properties": PINNED}]})
    upgrades = azure.compute.virtual_machine_scale_set_rolling_upgrades
    with azure.refuses(409, "OperationNotAllowed") as refusal:
        upgrades.begin_start_os_upgrade("rg", "web")
    assert "unprotected instances which have imageReference.version set to latest" in str(refusal.value)
    # Extensions have no versions of images.
    upgrades.begin_start_extension_upgrade("rg", "web").result()


def test_given_a_rolling_upgrade_under_way_when_another_is_started_or_instances_are_updated_then_409(
    cloud: Start,
) -> None:
    azure = cloud(arm=lagging("web_0"), speed=None)
    upgrades = azure.compute.virtual_machine_scale_set_rolling_upgrades
    upgrades.begin_start_os_upgrade("rg", "web", polling=False)
    with azure.refuses(409, "OperationNotAllowed"):
        upgrades.begin_start_extension_upgrade("rg", "web")
    with azure.refuses(409, "OperationNotAllowed"):
        azure.compute.virtual_machine_scale_sets.begin_update_instances("rg", "web", {"instanceIds": ["0"]})


def test_given_no_rolling_upgrade_under_way_when_it_is_cancelled_then_409_with_the_message_of_azure(
    azure: Any,
) -> None:
    with azure.refuses(409, "OperationNotAllowed") as refusal:
        azure.compute.virtual_machine_scale_set_rolling_upgrades.begin_cancel("rg", "web")
    assert "There is no ongoing Rolling Upgrade to cancel." in str(refusal.value)


def test_given_a_rolling_upgrade_when_cancelled_then_the_rest_stays_outdated(cloud: Start) -> None:
    azure = cloud(arm=lagging("web_0", "web_1"), speed=None)
    upgrades = azure.compute.virtual_machine_scale_set_rolling_upgrades
    upgrades.begin_start_os_upgrade("rg", "web", polling=False)
    upgrades.begin_cancel("rg", "web", polling=False)
    azure.azure.advance(60)
    status = upgrades.get_latest("rg", "web").running_status
    assert (status.code, status.last_action) == ("Cancelled", "Cancel")
    assert azure.outdated() == ["1"]


def test_given_a_rolling_upgrade_when_cancelled_between_two_batches_then_no_other_batch_begins(cloud: Start) -> None:
    properties = {**HEALTH, "upgradePolicy": {"rollingUpgradePolicy": {"pauseTimeBetweenBatches": "PT20S"}}}
    azure = cloud(arm=lagging("web_0", "web_1", properties=properties), speed=None)
    upgrades = azure.compute.virtual_machine_scale_set_rolling_upgrades
    upgrades.begin_start_os_upgrade("rg", "web", polling=False)
    azure.azure.advance(6)
    assert azure.outdated() == ["1"]
    upgrades.begin_cancel("rg", "web", polling=False)
    azure.azure.advance(60)
    assert azure.outdated() == ["1"]


def test_given_a_stuck_instance_when_its_rolling_upgrade_was_cancelled_then_that_is_what_became_of_it(
    cloud: Start,
) -> None:
    azure = cloud(arm=lagging("web_0"), speed=None)
    azure.azure.arm_fault("stuck", vms=["web_0"])
    upgrades = azure.compute.virtual_machine_scale_set_rolling_upgrades
    upgrades.begin_start_os_upgrade("rg", "web", polling=False)
    upgrades.begin_cancel("rg", "web", polling=False)
    azure.azure.advance(60)
    status = upgrades.get_latest("rg", "web")
    assert (status.running_status.code, status.progress.failed_instance_count) == ("Cancelled", 1)


def test_given_a_stuck_instance_when_updated_then_the_operation_succeeds_and_it_stays_outdated(azure: Any) -> None:
    azure.enable()
    azure.azure.arm_fault("stuck", vms=["web_2"])
    azure.compute.virtual_machine_scale_sets.begin_update_instances("rg", "web", {"instanceIds": ["*"]}).result()
    assert azure.outdated() == ["2"]
    azure.azure.clear_arm_faults()
    azure.compute.virtual_machine_scale_sets.begin_update_instances("rg", "web", {"instanceIds": ["2"]}).result()
    assert azure.outdated() == []


def test_given_a_stuck_instance_when_a_rolling_upgrade_meets_it_then_the_upgrade_is_faulted(cloud: Start) -> None:
    azure = cloud(arm=lagging("web_0", "web_1"))
    azure.azure.arm_fault("stuck", vms=["web_0"])
    upgrades = azure.compute.virtual_machine_scale_set_rolling_upgrades
    with pytest.raises(HttpResponseError, match="MaxUnhealthyUpgradedInstancePercent"):
        upgrades.begin_start_os_upgrade("rg", "web").result()
    status = upgrades.get_latest("rg", "web")
    assert (status.running_status.code, status.progress.failed_instance_count) == ("Faulted", 1)
    assert "MaxUnhealthyUpgradedInstancePercent" in status.error.message
    assert azure.outdated() == ["0", "1"]


def test_given_instances_that_appear_meanwhile_when_the_model_has_changed_then_they_have_the_new_one(
    azure: Any,
) -> None:
    azure.enable()
    azure.compute.virtual_machine_scale_sets.begin_update("rg", "web", {"sku": {"capacity": 5}}).result()
    assert azure.outdated() == ["0", "1", "2", "3"]
