# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook redeploy_early, on machines that really stop and cannot be reached while Azure moves them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils import claims

from tests.integration.playbooks.fleet import Fleet, Run

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-131313131313"
VM_ID = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/%s"
SPEED = 30


@contextmanager
def planned(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """Three hosts. Maintenance is planned for that of one, and may begin."""
    arm = {
        "subscription_id": SUBSCRIPTION,
        "operation_seconds": 1,
        "retry_after": 1,
        "maintenance_windows": [{"vms": ["vm_1"]}],
    }
    with Fleet(path, 57, 3, clock={"speed": SPEED}, arm=arm) as fleet:
        fleet.sign_in(monkeypatch, "vm_2")
        for host in fleet.hosts:
            host.variables["redeploy_early_endpoint"] = fleet.azure.imds[host.vm.lower()]
            host.variables["id"] = VM_ID % host.vm.lower()
            fleet.ask(host)
        yield fleet


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """Of one test."""
    with planned(tmp_path, monkeypatch) as fleet:
        yield fleet


def move(fleet: Fleet, *arguments: str, hosts: slice = slice(3), **variables: Any) -> tuple[int, Run]:
    """Run it on all of them, or on these."""
    sign_in = {"auth_source": "msi", "subscription_id": SUBSCRIPTION}
    return fleet.run(
        "redeploy_early",
        "-e",
        "redeploy_early_hosts=all",
        *arguments,
        hosts=fleet.hosts[hosts],
        redeploy_early_sign_in=sign_in,
        redeploy_early_poll_interval=1,
        **variables,
    )


def began(fleet: Fleet) -> list[tuple[str, list[str], str]]:
    """What has begun: type, machines and who wanted it."""
    return [
        (event["event_type"], event["resources"], event["event_source"])
        for event in fleet.azure.status()["events"]
        if event["started"]
    ]


def test_given_hardware_that_will_fail_in_days_when_run_then_that_machine_alone_is_drained_moved_and_back(
    fleet: Fleet,
) -> None:
    failing = fleet.event("Redeploy", fleet.hosts[0], notice=5 * 86400)
    by_day = fleet.event("Redeploy", fleet.hosts[1], notice=5 * 86400)
    soon = fleet.event("Redeploy", fleet.hosts[2], notice=80000)
    other_day = (datetime.now(UTC) + timedelta(days=3)).strftime("%a").lower()
    fleet.hosts[1].variables["redeploy_early_between"] = [{"days": [other_day]}]

    status, run = move(fleet)

    assert status == 0, run.output
    assert began(fleet) == [("Redeploy", ["vm_0"], "User")]
    assert fleet.record(failing)["status"] == "Canceled", "the old host does not matter to it any more"
    assert [fleet.record(event)["status"] for event in (by_day, soon)] == ["Scheduled", "Scheduled"]
    assert all(host.is_back() for host in fleet.hosts)
    assert "host1: left alone: it is outside redeploy_early_between" in run.text
    assert "host2: left alone: no redeployment by Azure is announced for it" in run.text
    (moved,) = [event for event in fleet.azure.status()["events"] if event["started"]]
    # It did not wait for its time.
    assert [approval["vm"] for approval in moved["approvals"]] == ["vm_0"]
    assert moved["started"] < moved["not_before"]


def test_given_planned_maintenance_when_run_then_that_machine_alone_is_drained_maintained_and_back(
    fleet: Fleet,
) -> None:
    status, run = move(
        fleet, hosts=slice(1, 3), redeploy_early_when="maintenance_window", handle_events_minimum_in_service=1
    )

    assert status == 0, run.output
    assert began(fleet) == [("Redeploy", ["vm_1"], "User")]
    assert all(host.is_back() for host in fleet.hosts)
    assert "host2: left alone: no maintenance is planned for it that may begin now" in run.text, run.output


def test_given_others_that_are_out_when_one_is_to_be_moved_then_it_stays_in_service(fleet: Fleet) -> None:
    fleet.hosts[2].claim("updates")

    status, run = move(
        fleet,
        "-e",
        "redeploy_early_hosts=host0",
        "-e",
        "handle_events_hosts=all",
        redeploy_early_when="always",
        handle_events_minimum_in_service=2,
    )

    assert status != 0
    assert "host0: left in service: 2 of 3 hosts are in service, and 2 must stay: stays in service" in run.text
    assert began(fleet) == []
    assert [run.changes(host) for host in fleet.hosts[:2]] == [0, 0]


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Fleet, Run, int]]:
    """Azure refuses to move host 0, accepts to move 1, and does not say what became of that."""
    with pytest.MonkeyPatch.context() as monkeypatch, planned(tmp_path_factory.mktemp("moved"), monkeypatch) as fleet:
        fleet.azure.arm_fault("error", error="locked", methods=["POST"], paths=["*/vm_0/*"])
        fleet.azure.arm_fault("error", error="forbidden", methods=["GET"], paths=["*/operations/*"])
        status, run = move(fleet, hosts=slice(2), redeploy_early_when="always", handle_events_minimum_in_service=0)
        yield fleet, run, status


def test_given_azure_refuses_when_run_then_the_machine_is_restored_and_the_run_fails(
    moved: tuple[Fleet, Run, int],
) -> None:
    fleet, run, status = moved

    assert status != 0
    assert re.search(r"fatal: \[host0\]: \S+ => \S+ \S+ \S+ \[\"It is as it was before: .* ScopeLocked", run.text), (
        run.output
    )
    assert fleet.hosts[0].is_back()


def test_given_no_result_of_an_accepted_request_when_run_then_the_machine_stays_out(
    moved: tuple[Fleet, Run, int],
) -> None:
    fleet, run, status = moved
    host = fleet.hosts[1]

    assert status != 0
    assert re.search(
        r"fatal: \[host1\]: \S+ => \S+ \S+ \S+ \[\"Azure may still move it, so that it stays out", run.text
    )
    assert host.marker.exists()
    # It is away, with its lease, which ends by itself.
    assert list(claims.read(str(host.state)).claims) == ["by_hand"]


def test_given_a_machine_that_claims_to_be_another_when_run_then_neither_is_moved(fleet: Fleet) -> None:
    liar, other, _last = fleet.hosts
    del liar.variables["id"]
    liar.variables |= {"ansible_host": liar.address, "redeploy_early_endpoint": fleet.azure.imds[other.vm.lower()]}

    status, run = move(fleet, hosts=slice(1), redeploy_early_when="always")

    assert status != 0
    assert f"host0 says that it is {VM_ID % 'vm_1'}, and Azure does not show that this VM has the private address" in (
        run.text
    )
    assert began(fleet) == []
    assert liar.is_back()
