# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook prepare_for_updates, with a run of updates that a simulated Azure is about to begin."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.playbooks.fleet import Fleet, Run

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-141414141414"
BEGINS = 2400  # seconds from now


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """Two hosts that are to be updated."""
    runs = [{"configuration": "patches", "begins": BEGINS}]
    arm = {"subscription_id": SUBSCRIPTION, "retry_after": 1, "update_runs": runs}
    with Fleet(tmp_path, 59, 2, arm=arm) as fleet:
        fleet.sign_in(monkeypatch, "vm_1")
        yield fleet


@pytest.fixture
def prepare(fleet: Fleet) -> Callable[..., tuple[int, Run]]:
    """Run it, on so many hosts, with what the event before the run says."""

    def run(*arguments: str, count: int = 2, **variables: Any) -> tuple[int, Run]:
        return fleet.run(
            "prepare_for_updates",
            "-e",
            "prepare_for_updates_hosts=all",
            *arguments,
            prepare_for_updates_run_id=the_run(fleet)["run_id"],
            prepare_for_updates_start=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + BEGINS)),
            hosts=fleet.hosts[:count],
            prepare_for_updates_sign_in={"auth_source": "msi", "subscription_id": SUBSCRIPTION},
            **variables,
        )

    return run


def the_run(fleet: Fleet) -> Any:
    (run,) = fleet.azure.status()["arm"]["update_runs"]
    return run


def test_given_updates_when_all_can_be_drained_then_they_stay_out_until_restore_is_run(
    fleet: Fleet, prepare: Callable[..., tuple[int, Run]]
) -> None:
    host = fleet.hosts[0]
    status, run = prepare(count=1, handle_events_minimum_in_service=0)

    assert status == 0, run.output
    assert the_run(fleet)["status"] == "Pending"
    assert (host.is_serving(), list(host.claimed())) == (False, ["updates"])

    status, run = fleet.run("restore", "-e", "restore_hosts=all", hosts=[host], restore_owner="updates")

    assert status == 0, run.output
    assert host.is_back()


def test_given_updates_when_one_cannot_be_drained_then_they_are_cancelled_and_all_are_restored(
    fleet: Fleet, prepare: Callable[..., tuple[int, Run]]
) -> None:
    fleet.hosts[1].breaks_at_stop = True

    status, run = prepare(handle_events_minimum_in_service=0)

    assert status != 0
    assert the_run(fleet)["status"] == "Cancelled", run.output
    assert all(host.is_back() for host in fleet.hosts), run.output
    assert "Not ready: host1" in run.text
    assert "The run of updates is cancelled." in run.text


def test_given_updates_of_a_whole_tier_when_checked_then_the_reason_is_reported_and_nothing_is_changed(
    fleet: Fleet, prepare: Callable[..., tuple[int, Run]]
) -> None:
    status, run = prepare("--check")

    assert status != 0
    assert the_run(fleet)["status"] == "Pending"
    assert "2 of 2 hosts are in service, and 1 must stay" in run.text, run.output
    assert all(host.is_back() for host in fleet.hosts)


def test_given_a_windows_host_then_it_fails_by_name_before_it_is_contacted(
    fleet: Fleet, prepare: Callable[..., tuple[int, Run]]
) -> None:
    # Were it contacted, it would answer.
    fleet.hosts[0].variables |= {"ansible_shell_type": "powershell"}

    status, run = prepare(count=1)

    assert status == 2
    assert "it is a Windows host, and this playbook is for Linux" in run.report(fleet.hosts[0])
    assert fleet.looks(fleet.hosts[0]) == 0
