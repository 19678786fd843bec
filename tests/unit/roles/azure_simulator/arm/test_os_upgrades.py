# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Automatic upgrades of the image of a scale set: whom they ask, when they go on, and what they do to machines."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Start = Callable[..., Any]

BATCH, SCHEDULING = "UpgradeAutoOSRollingBatchStarting", "UpgradeAutoOSScheduling"
IMAGE = {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "24.04.202611200"}
API = "api-version=2026-04-01"


def rolling(*hooks: str, batch: int = 50, unhealthy: int = 50, **policy: Any) -> dict[str, Any]:
    """A set of four that is upgraded by itself, and asks so."""
    percents = {
        "maxBatchInstancePercent": batch,
        "maxUnhealthyInstancePercent": unhealthy,
        "maxUnhealthyUpgradedInstancePercent": 20,
    }
    properties = {
        "upgradePolicy": {
            "mode": "Rolling",
            "automaticOSUpgradePolicy": {"enableAutomaticOSUpgrade": True},
            "rollingUpgradePolicy": {**percents, **policy},
        },
        "virtualMachineProfile": {"networkProfile": {"healthProbe": {"id": "/probe"}}},
        "lifecycleHooksProfile": {"lifecycleHooks": [{"type": one} for one in hooks]},
    }
    return {"operation_seconds": 0, "scale_sets": [{"name": "web", "properties": properties}]}


def seek(azure: Any) -> Any:
    path = azure.path(f"virtualMachineScaleSets/web/seekAutoOSUpgradeApproval?{API}")
    return azure.raw("POST", path, {"platformImageReference": IMAGE})


def events(azure: Any) -> list[Any]:
    listed = azure.compute.virtual_machine_scale_set_life_cycle_hook_events.list("rg", "web")
    return list(listed)


def asked(azure: Any) -> tuple[str, list[str]]:
    """The type of the active event, and its targets."""
    (one,) = [event for event in events(azure) if event.properties.state == "Active"]
    return one.properties.type, [t.resource.id.rsplit("/", 1)[-1] for t in one.properties.target_resources]


def answer(azure: Any, state: str, *instances: str) -> None:
    (one,) = [event for event in events(azure) if event.properties.state == "Active"]
    targets = [
        {"resource": {"id": target.resource.id}, "actionState": state}
        for target in one.properties.target_resources
        if not instances or target.resource.id.rsplit("/", 1)[-1] in instances
    ]
    path = azure.path(f"virtualMachineScaleSets/web/lifecycleHookEvents/{one.name}?{API}")
    assert azure.raw("PATCH", path, {"properties": {"targetResources": targets}}).status == 202
    azure.azure.advance(0)


def disks(azure: Any) -> list[str]:
    """The number of each instance's disk."""
    vms = azure.compute.virtual_machine_scale_set_vms.list("rg", "web")
    return [vm.storage_profile.os_disk.name.rsplit("_", 1)[-1] for vm in vms]


def progress(azure: Any) -> tuple[str, int, int]:
    latest = azure.compute.virtual_machine_scale_set_rolling_upgrades.get_latest("rg", "web")
    counts = latest.progress
    return latest.running_status.code, counts.successful_instance_count, counts.pending_instance_count


def test_given_both_hooks_when_a_new_image_comes_then_the_set_and_each_batch_are_asked_about_first(
    cloud: Start,
) -> None:
    azure = cloud(arm=rolling(SCHEDULING, BATCH), speed=None)

    assert seek(azure).status == 202
    assert asked(azure) == (SCHEDULING, ["web"])
    answer(azure, "Approved")
    assert asked(azure) == (BATCH, ["0", "1"])
    answer(azure, "Approved", "0")
    azure.azure.advance(60)
    assert disks(azure) == ["1", "1", "1", "1"], "it waits for the other"
    answer(azure, "Approved", "1")
    azure.azure.advance(5)
    assert disks(azure) == ["2", "2", "1", "1"]
    azure.azure.advance(1)
    assert asked(azure) == (BATCH, ["2", "3"])
    assert progress(azure) == ("RollingForward", 2, 2)
    azure.azure.advance(1800)
    azure.azure.advance(10)
    assert disks(azure) == ["2", "2", "2", "2"], "nobody has answered: the default"
    assert progress(azure) == ("Completed", 4, 0)
    (first,) = [vm for vm in azure.compute.virtual_machine_scale_set_vms.list("rg", "web") if vm.instance_id == "0"]
    assert first.storage_profile.image_reference.exact_version == IMAGE["version"]
    (row,) = azure.compute.virtual_machine_scale_sets.get_os_upgrade_history("rg", "web")
    assert (row.properties.started_by, row.properties.target_image_reference.version) == ("Platform", IMAGE["version"])


@pytest.mark.parametrize(
    ("hooks", "batch", "seconds", "number"),
    [
        pytest.param([BATCH], 50, 0, 0, id="while it asks"),
        pytest.param([], 50, 0, 2, id="while a batch gets its disks"),
        pytest.param([], 50, 10, 2, id="between two batches"),
        pytest.param([], 100, 10, 4, id="in the last pause"),
    ],
)
def test_given_an_upgrade_when_it_is_cancelled_then_the_batch_under_way_is_finished_and_no_other_begins(
    cloud: Start, hooks: list[str], batch: int, seconds: float, number: int
) -> None:
    azure = cloud(arm=rolling(*hooks, batch=batch, pauseTimeBetweenBatches="PT60S"), speed=None)
    assert seek(azure).status == 202
    azure.azure.advance(seconds)
    assert (seek(azure).status, seek(azure).code) == (409, "OperationNotAllowed")
    azure.compute.virtual_machine_scale_set_rolling_upgrades.begin_cancel("rg", "web", polling=False)
    azure.azure.advance(1800)
    azure.azure.advance(60)
    assert disks(azure).count("2") == number
    assert progress(azure)[:2] == ("Cancelled", number)


def test_given_an_instance_that_is_protected_during_the_upgrade_when_its_batch_comes_then_it_keeps_its_disk(
    cloud: Start,
) -> None:
    azure = cloud(arm=rolling(), speed=None)
    seek(azure)
    azure.azure.advance(1)
    body = {"location": "westeurope", "properties": {"protectionPolicy": {"protectFromScaleSetActions": True}}}
    assert azure.raw("PUT", azure.path(f"virtualMachineScaleSets/web/virtualMachines/2?{API}"), body).status == 200
    azure.azure.advance(600)
    assert disks(azure) == ["2", "2", "1", "2"]


def test_given_an_image_without_a_version_when_its_approval_is_sought_then_400(cloud: Start) -> None:
    azure = cloud(arm=rolling())
    path = azure.path(f"virtualMachineScaleSets/web/seekAutoOSUpgradeApproval?{API}")
    answer = azure.raw("POST", path, {"platformImageReference": {**IMAGE, "version": None}})
    assert (answer.status, answer.code) == (400, "InvalidParameter")


def test_given_a_later_end_when_the_first_one_comes_then_nothing_is_taken_for_granted_yet(cloud: Start) -> None:
    azure = cloud(arm=rolling(BATCH), speed=None)
    seek(azure)
    (one,) = events(azure)
    path = azure.path(f"virtualMachineScaleSets/web/lifecycleHookEvents/{one.name}?{API}")
    assert azure.raw("PATCH", path, {"properties": {"waitUntil": one.properties.max_wait_until}}).status == 202

    azure.azure.advance(1801)
    assert asked(azure) == (BATCH, ["0", "1"])
    azure.azure.advance(4 * 3600)
    assert asked(azure) == (BATCH, ["2", "3"])


def test_given_a_rejection_when_the_batch_begins_then_that_instance_keeps_its_disk(cloud: Start) -> None:
    azure = cloud(arm=rolling(BATCH), speed=None)
    seek(azure)

    answer(azure, "Rejected", "0")
    answer(azure, "Approved", "1")
    azure.azure.advance(6)

    assert disks(azure) == ["1", "2", "1", "1"]
    assert asked(azure) == (BATCH, ["2", "3"])


def test_given_the_schedule_is_rejected_when_asked_then_no_upgrade_begins(cloud: Start) -> None:
    azure = cloud(arm=rolling(SCHEDULING), speed=None)
    seek(azure)

    answer(azure, "Rejected")
    azure.azure.advance(60)

    assert disks(azure) == ["1", "1", "1", "1"]
    with azure.refuses(404, "NotFound"):
        progress(azure)


def test_given_a_protected_instance_when_upgraded_then_it_is_never_asked_about(cloud: Start) -> None:
    azure = cloud(arm=rolling(BATCH), speed=None)
    path = azure.path(f"virtualMachineScaleSets/web/virtualMachines/0?{API}")
    document = azure.raw("GET", path).json
    document["properties"]["protectionPolicy"] = {"protectFromScaleSetActions": True}
    assert azure.raw("PUT", path, document).status == 200
    azure.azure.advance(1)

    seek(azure)

    assert asked(azure) == (BATCH, ["1"])


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"upgradePolicy": {"mode": "Manual"}}, "OperationNotAllowed"),
        ({"upgradePolicy": {"automaticOSUpgradePolicy": {"enableAutomaticOSUpgrade": False}}}, "OperationNotAllowed"),
        ({"virtualMachineProfile": {"networkProfile": {"healthProbe": None}}}, "OperationNotAllowed"),
    ],
)
def test_given_a_set_that_upgrades_nothing_by_itself_when_sought_then_it_is_refused(
    cloud: Start, changed: dict[str, Any], code: str
) -> None:
    azure = cloud(arm=rolling(BATCH), speed=None)
    assert azure.raw("PATCH", azure.path(f"virtualMachineScaleSets/web?{API}"), {"properties": changed}).status == 200
    azure.azure.advance(60)
    refusal = seek(azure)
    assert (refusal.status, refusal.code) == (409, code)


def test_given_a_server_when_its_disk_is_replaced_then_commands_do_it_to_the_real_thing_and_health_decides(
    cloud: Start, tmp_path: Path
) -> None:
    """The server is a file's worth: it is healthy when somebody listens, which nobody does after the upgrade."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "claims.json").write_text("{}")
    script = f"rm -rf {tmp_path}/state; echo $FOGHORN_EVENT_TYPE $FOGHORN_VM $FOGHORN_PHASE >> {tmp_path}/done"
    azure = cloud(
        arm=rolling(batch=25, unhealthy=100),
        speed=1000,
        on_impact=[{"event_types": ["OSUpgrade"], "start": ["/bin/sh", "-c", script]}],
        load_balancers=[
            {
                "name": "front",
                "listen": "127.0.78.250:0",
                "probe": {"interval": 0.05, "threshold": 1, "path": "/readyz"},
                "members": [{"vm": "web_{0..3}", "port": 9}],
            }
        ],
    )

    seek(azure)

    limit = time.monotonic() + 60
    while progress(azure)[0] == "RollingForward":
        assert time.monotonic() < limit
        time.sleep(0.1)
    # None of the first batch has become healthy: the second is not begun.
    assert (progress(azure)[0], progress(azure)[2], disks(azure)) == ("Faulted", 3, ["2", "1", "1", "1"])
    assert (tmp_path / "done").read_text().split() == ["OSUpgrade", "web_0", "start"]
    assert not (tmp_path / "state").exists()


def test_given_drained_machines_when_they_are_more_than_may_be_unhealthy_then_azure_stops_for_good(
    cloud: Start,
) -> None:
    azure = cloud(
        arm=rolling(unhealthy=20),
        load_balancers=[
            {
                "name": "front",
                "listen": "127.0.78.251:0",
                "probe": {"interval": 0.05, "threshold": 1},
                "members": [{"vm": "web_{0..3}", "port": 9}],
            }
        ],
    )
    limit = time.monotonic() + 60
    while any(one["healthy"] for one in azure.azure.status()["load_balancers"]["front"]["members"].values()):
        assert time.monotonic() < limit
        time.sleep(0.05)

    seek(azure)

    assert progress(azure)[0] == "Faulted"
    assert disks(azure) == ["1", "1", "1", "1"]


def test_given_events_when_shown_then_their_times_have_up_to_seven_decimals_and_no_zeros_at_the_end(
    cloud: Start,
) -> None:
    azure = cloud(arm=rolling(SCHEDULING))
    seek(azure)
    raw = azure.raw("GET", azure.path(f"virtualMachineScaleSets/web/lifecycleHookEvents?{API}")).json["value"]
    times = [raw[0]["properties"][key] for key in ("timeCreated", "waitUntil", "maxWaitUntil")]
    assert all(re.fullmatch(r"[-0-9]+T[:0-9]+(\.\d{0,6}[1-9])?\+00:00", one) for one in times), times


def test_given_a_set_that_is_read_often_then_each_answer_says_what_is_left_down_to_none(azure: Any) -> None:
    left = []
    for _time in range(33):
        answer = azure.raw("GET", azure.path(f"virtualMachineScaleSets/web?{API}"))
        assert answer.status == 200
        of_set = answer.headers["x-ms-ratelimit-remaining-resource"].split(",")[0]
        left.append(int(of_set.removeprefix("Microsoft.Compute/GetVMScaleSetResource;")))
    assert left[0] == 30
    assert left[-1] <= 1
