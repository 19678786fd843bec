# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks of the README and of docs/getting_started.md work as they stand there, in a simulated Azure."""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from azure_simulator.testing import Simulator

from tests import ansible_runs

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PLAYBOOKS = {
    match.group(1): match.group(0)
    for page in (README, (ROOT / "docs/getting_started.md").read_text(encoding="utf-8"))
    for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    for match in [re.match(r"# (\w+\.yml)\n.*", block, re.DOTALL)]
    if match
}
MACHINES = {"web_0": "127.0.0.31", "web_1": "127.0.0.32", "web_2": "127.0.0.33"}
CONFIG = {
    "clock": {"speed": 60},
    "imds": {"port": 0},
    "vms": [{"name": name, "address": address, "availability_set": "web"} for name, address in MACHINES.items()],
}


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    """Three machines of one availability set, on a clock that runs fast."""
    with Simulator(CONFIG) as running:
        yield running


def run(
    name: str, directory: Path, simulator: Simulator, arguments: Sequence[str] = (), **variables: Any
) -> "subprocess.CompletedProcess[str]":
    """Run one of these playbooks, byte by byte as it stands there."""
    (directory / name).write_text(PLAYBOOKS[name], encoding="utf-8")
    hosts = {
        # Inventory names that are not Azure's: the VM's own name has to be asked of IMDS.
        "host-%s" % address.rpartition(".")[2]: {
            "ansible_connection": "machine",
            "handle_events_endpoint": simulator.imds[vm],
        }
        for vm, address in MACHINES.items()
    }
    (directory / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}), encoding="utf-8")
    more = ["--extra-vars", json.dumps(variables)] if variables else []
    return ansible_runs.run("-i", "inventory.yml", name, *arguments, *more, cwd=directory)


def point_at(simulator: Simulator, vm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the modules find IMDS where the simulator plays this machine."""
    monkeypatch.setenv("FOGHORN_IMDS_ENDPOINT", simulator.imds[vm])


def test_given_no_root_when_install_agent_is_checked_as_pasted_then_the_agent_itself_finds_no_mistake_in_it(
    simulator: Simulator, tmp_path: Path
) -> None:
    result = run("install_agent.yml", tmp_path, simulator, arguments=["--check", "--limit", "host-31"])

    told = result.stdout.split("Refuse a configuration with mistakes, before anything is touched] ")[1]
    assert re.findall(r"ok: \[(host-\d+)\]", told.split("TASK [")[0]) == ["host-31"]


def test_given_a_shared_reboot_when_approve_runs_as_pasted_on_its_leader_then_it_begins(
    simulator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = simulator.event(event_type="Reboot", resources=["web_1", "web_2"], notice=36000)
    freeze = simulator.event(event_type="Freeze", resources=["web_1"], notice=36000)
    point_at(simulator, "web_1", monkeypatch)

    result = run("approve.yml", tmp_path, simulator)

    assert result.returncode == 0, result.stdout
    events = {one["event_id"]: one for one in simulator.status()["events"]}
    assert [approval["vm"] for approval in events[event["event_id"]]["approvals"] if not approval["repeated"]] == [
        "web_1"
    ]
    assert events[freeze["event_id"]]["approvals"] == []


def test_given_a_shared_reboot_when_approve_runs_as_pasted_on_another_vm_then_nothing_begins(
    simulator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = simulator.event(event_type="Reboot", resources=["web_1", "web_2"], notice=36000)
    point_at(simulator, "web_2", monkeypatch)

    result = run("approve.yml", tmp_path, simulator)

    assert result.returncode == 0, result.stdout
    assert simulator.status()["events"][0]["event_id"] == event["event_id"]
    assert simulator.status()["events"][0]["approvals"] == []


def test_given_nothing_announced_when_roll_runs_as_pasted_then_it_changes_nothing(
    simulator: Simulator, tmp_path: Path
) -> None:
    result = run("roll.yml", tmp_path, simulator)

    assert result.returncode == 0, result.stdout
    assert re.findall(r"changed=(\d+)", result.stdout)
    assert set(re.findall(r"changed=(\d+)", result.stdout)) == {"0"}


class _Rolled(NamedTuple):
    """What became of a reboot, under roll.yml."""

    record: dict[str, Any]
    """The simulator's, of the reboot."""
    steps: list[list[str]]
    """What was done to the service, when, and whether the machine was out of rotation then."""
    marker: Path


@pytest.fixture(scope="module")
def rolled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Rolled]:
    """One machine is rebooted, another frozen for some seconds."""
    directory = tmp_path_factory.mktemp("rolled")
    trace = directory / "trace"
    marker = directory / "out_of_rotation"
    script = f'echo "$0 $(date +%s.%N) $(test -e {marker} && echo out || echo in)" >> {trace}'
    with Simulator(CONFIG) as simulator:
        reboot = simulator.event(event_type="Reboot", resources=["web_0"], notice=72000, impact=30, linger=60)
        simulator.event(event_type="Freeze", resources=["web_1"], notice=72000)
        result = run(
            "roll.yml",
            directory,
            simulator,
            # What needs a service manager and root where the README's machines have both.
            graceful_shutdown_services=[
                {
                    "name": "nginx",
                    "stop": ["/bin/sh", "-c", script, "stop"],
                    "start": ["/bin/sh", "-c", script, "start"],
                    "status": ["/bin/sh", "-c", "test ! -e %s || tail -n 1 %s | grep -q start" % (trace, trace)],
                }
            ],
            load_balancer_removal_ports=[],
            handle_events_approve_within=86400,
            load_balancer_removal_health_probe_file=str(marker),
            handle_events_state_directory=f"{directory}/{{{{ inventory_hostname }}}}",
        )
        assert result.returncode == 0, result.stdout
        records = {event["event_id"]: event for event in simulator.status()["events"]}
        steps = [line.split() for line in trace.read_text().splitlines()]
        yield _Rolled(records[reboot["event_id"]], steps, marker)


def test_given_a_reboot_when_roll_runs_then_the_machine_is_out_before_it_begins_and_back_after_it(
    rolled: _Rolled,
) -> None:
    assert [(step, rotation) for step, _at, rotation in rolled.steps] == [("stop", "out"), ("start", "out")]
    stopped, started = (float(at) for _step, at, _rotation in rolled.steps)
    assert stopped < rolled.record["started"] < rolled.record["ended"] < started
    assert rolled.record["started"] < rolled.record["not_before"]
    assert not rolled.marker.exists()
