# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the playbooks handle a fleet of a Linux host and a Windows host whose agent runs on Windows?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.playbooks.fleet import Fleet

from .conftest import ROOT, Agent, installed_agent, wait_for

PWSH = Path(os.environ.get("PWSH_ENGINE", "")) / "pwsh"
LONG = 20000.0  # seconds; longer than any event
PATIENCE = 120  # seconds for what takes longer here than on a real machine


@pytest.fixture
def both(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Fleet, Agent]]:
    """Linux on host 0, and Windows on host 1 with the agent that handles it."""
    if not PWSH.exists():
        pytest.skip("playbooks on Windows hosts need the engine of PowerShell: set PWSH_ENGINE")
    monkeypatch.setenv("ANSIBLE_CONNECTION_PLUGINS", str(ROOT / "tests/plugins/connection"))
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(ROOT / ".cache/collections"))
    monkeypatch.setenv("WINDOWS_VM_PWSH", str(PWSH))
    with Fleet(tmp_path / "fleet", 61, 2) as fleet:
        host = fleet.hosts[1]
        host.variables |= {"ansible_connection": "windows_vm", "ansible_shell_type": "powershell"}
        with installed_agent(program, tmp_path / "source", fleet.azure.imds[host.vm.lower()]) as agent:
            yield fleet, agent


def test_given_a_linux_host_and_a_windows_host_when_both_are_hit_and_the_run_is_killed_then_the_next_brings_both_back(
    both: tuple[Fleet, Agent],
) -> None:
    fleet, agent = both
    linux, windows = fleet.hosts
    events = [fleet.event("Reboot", host, approval_delay=30) for host in fleet.hosts]
    options: dict[str, Any] = {
        "handle_events_minimum_in_service": 0,
        "handle_events_poll_timeout": PATIENCE,
        "handle_events_first_timeout": PATIENCE,
    }

    killed = fleet.start("handle_events", **options)
    killed.wait_until(lambda: all(map(fleet.is_approved, events)))
    killed.kill()
    run = fleet.start("handle_events", "-e", "handle_events_break_leases=true", **options)
    run.wait_until(lambda: "Wait until the events are over" in run.output)
    fleet.azure.advance(LONG)

    assert run.finish() == 0, run.output
    assert linux.is_back()
    assert "left to its agent; over; in rotation, its agent says" in run.report(windows), run.output
    assert run.changes(windows) == 0
    assert agent.is_restored()


def test_given_a_windows_host_when_examined_drained_and_restored_then_its_agent_does_it(
    both: tuple[Fleet, Agent],
) -> None:
    fleet, agent = both
    windows = fleet.hosts[1]

    def changes(playbook: str) -> int:
        status, run = fleet.run(playbook, "-e", f"{playbook}_hosts=host1")
        assert status == 0, run.output
        return run.changes(windows)

    _status, run = fleet.run("doctor", "-e", "doctor_hosts=host1", doctor_endpoint="{{ handle_events_endpoint }}")
    assert f"ok      host1: metadata service: answers; the name of this VM is {windows.vm.lower()}" in run.output
    assert "ok      host1: agent: answers: in rotation, Python 3.11." in run.output

    assert (changes("drain"), changes("drain")) == (1, 0)
    assert not agent.is_ready()
    _status, run = fleet.run("status", hosts=[windows])
    assert "host1: out, its agent says" in run.text
    assert (changes("restore"), changes("restore")) == (1, 0)
    wait_for(agent.is_ready)
