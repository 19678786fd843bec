# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook handle_os_upgrades, on a set whose machines really lose what was written down on their disks."""

from __future__ import annotations

import http.client
import json
import shlex
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.integration.playbooks.fleet import PATIENCE, Fleet, Host, Run
from tests.ports import free_port

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-141414141414"
SET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Compute/virtualMachineScaleSets/vm"
BATCH, SCHEDULING = "UpgradeAutoOSRollingBatchStarting", "UpgradeAutoOSScheduling"
IMAGE = {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "24.04.202611200"}


class Traffic:
    """Somebody who asks the balancer again and again, and counts what is not answered as it should be."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.answered = 0
        self.lost: list[str] = []

    def _ask(self) -> None:
        while not self._over.wait(0.02):
            connection = http.client.HTTPConnection(*self._address, timeout=10)
            try:
                connection.request("GET", "/")
                status = connection.getresponse().status
                self.answered += 1
                if status != 200:
                    self.lost.append(str(status))
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
            finally:
                connection.close()

    def __enter__(self) -> Traffic:
        self._thread.start()
        return self

    def __exit__(self, *_details: object) -> None:
        self._over.set()
        self._thread.join()


def new_disk(host: Host, down: Path) -> dict[str, Any]:
    """What becomes of a machine whose disk is replaced: all that was written down on it is gone."""
    gone = shlex.join([str(host.state), str(host.directory / "by_hand"), str(host.marker)])
    begin = f"touch {down}; {shlex.join(host.service('stop'))}; rm -rf {gone}"
    end = f"{shlex.join(host.service('start'))}; rm {down}"
    return {
        "vms": [host.vm.lower()],
        "event_types": ["OSUpgrade"],
        "start": ["sh", "-c", begin],
        "end": ["sh", "-c", end],
    }


class UpgradedFleet(Fleet):
    """A set whose image Azure upgrades, so many percent at a time at most, and what it asks at the start."""

    def __init__(
        self, path: Path, subnet: int, count: int, percent: int, *hooks: str, asks: Sequence[str] = ()
    ) -> None:
        properties = {
            "upgradePolicy": {
                "mode": "Rolling",
                "automaticOSUpgradePolicy": {"enableAutomaticOSUpgrade": True},
                "rollingUpgradePolicy": {"maxBatchInstancePercent": percent, "maxUnhealthyInstancePercent": percent},
            },
            "virtualMachineProfile": {"networkProfile": {"healthProbe": {"id": "/probe"}}},
            "lifecycleHooksProfile": {"lifecycleHooks": [{"type": one} for one in hooks]},
        }
        arm = {
            "subscription_id": SUBSCRIPTION,
            "operation_seconds": 0,
            "instance_seconds": 1,
            "retry_after": 1,
            "scale_sets": [{"name": "vm", "properties": properties}],
            "lifecycle_hook_events": [{"scale_set": "vm", "type": one} for one in asks],
        }
        # The ports of the members are those of the hosts, which the fleet chooses.
        hosts = [Host(path / f"host{number}", f"127.0.{subnet}.{number + 1}") for number in range(count)]
        super().__init__(
            path,
            subnet,
            count,
            clock={"speed": 1},
            arm=arm,
            hosts=hosts,
            vms=[
                {"name": "ctl", "address": f"127.0.{subnet}.200"},
                *({"name": host.vm.lower(), "address": host.address, "scale_set": "vm"} for host in hosts),
            ],
            on_impact=[new_disk(host, path / "down" / host.name) for host in hosts],
            load_balancers=[
                {
                    "name": "front",
                    "listen": f"127.0.{subnet}.250:{free_port()}",
                    # A probe that waits for its share of a busy processor has not failed.
                    "probe": {"interval": 0.1, "timeout": 10, "threshold": 1, "path": "/readyz"},
                    "members": [{"vm": host.vm.lower(), "port": host.port} for host in hosts],
                }
            ],
        )

    def __enter__(self) -> UpgradedFleet:
        super().__enter__()
        for host in self.hosts:
            host.variables["id"] = f"{SET}/virtualMachines/{host.name[4:]}"
            host.variables["handle_os_upgrades_endpoint"] = self.azure.imds[host.vm.lower()]
        return self

    def arm(self, method: str, path: str, body: Any = None) -> Any:
        """One request, signed in by the identity of a machine."""
        token_url = f"{self.azure.imds['ctl']}/metadata/identity/oauth2/token?api-version=2018-02-01"
        request = urllib.request.Request(
            f"{token_url}&resource=https://management.azure.com/", headers={"Metadata": "true"}
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=PATIENCE) as answer:
            token = json.load(answer)["access_token"]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(
            f"{self.azure.arm}{SET}/{path}?api-version=2026-04-01",
            None if body is None else json.dumps(body).encode(),
            headers,
            method=method,
        )
        with opener.open(request, timeout=PATIENCE) as answer:
            return json.load(answer) if answer.status == 200 else None

    def new_image(self) -> None:
        """There is one: Azure begins."""
        self.arm("POST", "seekAutoOSUpgradeApproval", {"platformImageReference": IMAGE})

    def upgraded(self) -> list[str]:
        """The instances that have the new image."""
        listed = self.arm("GET", "virtualMachines")["value"]
        return [
            one["instanceId"]
            for one in listed
            if one["properties"]["storageProfile"]["imageReference"].get("exactVersion") == IMAGE["version"]
        ]

    def asked(self) -> list[list[str]]:
        """By active event, the states of its targets."""
        return [
            [target["actionState"] for target in one["properties"]["targetResources"]]
            for one in self.arm("GET", "lifecycleHookEvents")["value"]
            if one["properties"]["state"] == "Active"
        ]

    def events(self) -> dict[str, Any]:
        """What Azure asks, by its type."""
        listed = self.arm("GET", "lifecycleHookEvents")["value"]
        return {one["properties"]["type"]: one["properties"] for one in listed}

    def wait_for(self, condition: Any) -> None:
        limit = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < limit
            time.sleep(0.5)

    def in_rotation(self) -> bool:
        return all(one["healthy"] for one in self.azure.status()["load_balancers"]["front"]["members"].values())

    def handle(self, *arguments: str, **variables: Any) -> tuple[int, Run]:
        """Run the playbook."""
        run = self.begin(*arguments, **variables)
        return run.finish(), run

    def begin(self, *arguments: str, **variables: Any) -> Run:
        """Start the playbook."""
        usual: dict[str, Any] = {
            "handle_os_upgrades_scale_sets": [{"resource_group": "rg", "name": "vm"}],
            "handle_os_upgrades_sign_in": {"auth_source": "msi", "subscription_id": SUBSCRIPTION},
            "handle_os_upgrades_poll_interval": 1,
            "handle_os_upgrades_directory": str(self.path / "notes"),
        }
        chosen = ("-e", "handle_os_upgrades_hosts=all", "--forks", "10")
        return self.start("handle_os_upgrades", *chosen, *arguments, **{**usual, **variables})


def test_given_machines_under_traffic_when_azure_upgrades_a_batch_then_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with UpgradedFleet(tmp_path, 58, 3, 67, BATCH) as fleet:
        fleet.sign_in(monkeypatch, "ctl")
        fleet.wait_for(fleet.in_rotation)
        fleet.new_image()
        with Traffic(fleet.azure.load_balancers["front"]) as traffic:
            fleet.wait_for(lambda: fleet.asked() == [["Waiting"] * 2])
            # As long as a balancer on a busy machine may take to notice.
            status, run = fleet.handle(handle_events_minimum_in_service=1, load_balancer_removal_health_probe_margin=2)
            assert status == 0, run.output
            assert len(fleet.upgraded()) == 2
        assert traffic.lost == []
        assert traffic.answered > 100
        assert all(host.is_back() for host in fleet.hosts)
        assert list((tmp_path / "notes").iterdir()) == []


def test_given_no_hook_when_azure_upgrades_the_set_then_requests_are_lost(tmp_path: Path) -> None:
    with UpgradedFleet(tmp_path, 59, 3, 100) as fleet:
        fleet.wait_for(fleet.in_rotation)
        with Traffic(fleet.azure.load_balancers["front"]) as traffic:
            fleet.new_image()
            fleet.wait_for(lambda: len(fleet.upgraded()) == 3)
            # On a busy machine the commands that stop the web servers may come after the seconds of the simulator.
            fleet.wait_for(lambda: traffic.lost)


class _Answered(NamedTuple):
    """A run on a set that asks about each of its hosts, and what Azure knew before and after."""

    fleet: UpgradedFleet
    status: int
    run: Run
    before: dict[str, Any]
    after: dict[str, Any]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Answered]:
    """Host 0 is rejected, 1 left alone, and for 2 there is no room. Another upgrade is to be scheduled."""
    path = tmp_path_factory.mktemp("answered")
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        UpgradedFleet(path, 60, 3, 100, SCHEDULING, BATCH, asks=[BATCH, SCHEDULING]) as fleet,
    ):
        fleet.sign_in(monkeypatch, "ctl")
        before = fleet.events()
        for host, answer in zip(fleet.hosts, ("reject", "leave"), strict=False):
            host.variables["handle_os_upgrades_answer"] = answer
        status, run = fleet.handle(
            handle_events_minimum_in_service=3, handle_os_upgrades_hold=7200, handle_os_upgrades_scheduling="approve"
        )
        yield _Answered(fleet, status, run, before, fleet.events())


def test_given_no_room_when_run_then_the_host_is_left_in_service_and_azure_waits_longer(answered: _Answered) -> None:
    assert answered.status != 0
    assert "host2: left in service: 3 of 3 hosts of vm are in service, and 3 must stay" in answered.run.text
    assert answered.run.changes(answered.fleet.hosts[2]) == 0
    assert answered.after[BATCH]["waitUntil"] > answered.before[BATCH]["waitUntil"]


def test_given_another_answer_when_run_then_azure_gets_it_and_the_host_is_not_touched(answered: _Answered) -> None:
    assert [target["actionState"] for target in answered.after[BATCH]["targetResources"]] == [
        "Rejected",
        "Waiting",
        "Waiting",
    ]
    assert "host1: left alone: handle_os_upgrades_answer is leave" in answered.run.text
    assert all(host.is_back() for host in answered.fleet.hosts)


def test_given_an_upgrade_that_azure_asks_to_schedule_when_run_then_it_is_approved(answered: _Answered) -> None:
    assert answered.before[SCHEDULING]["state"] == "Active"
    assert [target["actionState"] for target in answered.after[SCHEDULING]["targetResources"]] == ["Approved"]


def test_given_check_mode_when_run_then_it_is_predicted_and_nothing_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with UpgradedFleet(tmp_path, 63, 1, 100, BATCH, asks=[BATCH]) as fleet:
        fleet.sign_in(monkeypatch, "ctl")

        status, run = fleet.handle("--check", handle_events_minimum_in_service=0)

        assert status == 0, run.output
        assert "host0: " in run.text
        assert "would be prepared" in run.text
        assert fleet.asked() == [["Waiting"]]
        assert fleet.hosts[0].is_back()
        assert not (tmp_path / "notes").exists()


def test_given_a_method_that_keeps_azure_from_upgrading_when_run_then_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with UpgradedFleet(tmp_path, 64, 1, 100, BATCH) as fleet:
        fleet.sign_in(monkeypatch, "ctl")

        status, run = fleet.handle(load_balancer_removal_methods=["instance_protection"])

        assert status != 0
        assert "load_balancer_removal_methods: instance_protection, on host0" in run.text


def test_given_a_set_whose_upgrade_deletes_the_instances_when_run_then_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with UpgradedFleet(tmp_path, 66, 1, 100, BATCH) as fleet:
        fleet.sign_in(monkeypatch, "ctl")
        fleet.arm("PATCH", "", {"properties": {"upgradePolicy": {"rollingUpgradePolicy": {"maxSurge": True}}}})

        status, run = fleet.handle()

        assert status != 0
        assert "maxSurge of its rollingUpgradePolicy" in run.text


def test_given_a_run_that_is_killed_while_azure_works_when_run_again_then_the_machine_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with UpgradedFleet(tmp_path, 61, 1, 100, BATCH) as fleet:
        fleet.sign_in(monkeypatch, "ctl")
        fleet.wait_for(fleet.in_rotation)
        fleet.new_image()
        (host,) = fleet.hosts
        notes = tmp_path / "notes"
        killed = fleet.begin(handle_events_minimum_in_service=0)
        killed.wait_until(lambda: fleet.asked() != [["Waiting"]])
        killed.kill()
        fleet.wait_for(lambda: fleet.upgraded() == ["0"] and not fleet.is_down(host))
        assert len(list(notes.iterdir())) == 1
        assert not host.state.exists()
        # The inventory calls it otherwise by now.
        host.name = "host0.example.com"

        status, run = fleet.handle(handle_events_minimum_in_service=0)

        assert status == 0, run.output
        assert host.is_back()
        assert list(notes.iterdir()) == []
