# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""on_impact: commands that make an impact hit something real."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from azure_simulator.testing import Simulator

from .conftest import ask, eventually

Simulate = Callable[..., Simulator]


def shell(line: str) -> list[str]:
    return ["/bin/sh", "-c", line]


def commands(azure: Simulator) -> list[dict[str, Any]]:
    return [entry for entry in azure.log() if entry["kind"] == "command"]


def test_given_commands_when_an_impact_begins_and_ends_then_they_run_and_know_why(
    simulate: Simulate, tmp_path: Path
) -> None:
    line = (
        'echo "$FOGHORN_VM $FOGHORN_VM_ADDRESS $FOGHORN_EVENT_ID $FOGHORN_EVENT_TYPE $FOGHORN_PHASE '
        '$FOGHORN_IMDS_ENDPOINT" >> happened'
    )
    azure = simulate(directory=tmp_path, on_impact=[{"start": shell(line), "end": shell(line)}])
    event = azure.event("Reboot", ["web_0"], notice=5, impact=10)
    azure.advance(4)
    assert commands(azure) == []
    azure.advance(1)
    eventually(lambda: len(commands(azure)) == 1)
    azure.advance(10)
    eventually(lambda: len(commands(azure)) == 2)
    told = f"web_0 127.0.77.10 {event['event_id']} Reboot"
    assert (tmp_path / "happened").read_text(encoding="utf-8").splitlines() == [
        f"{told} start {azure.imds['web_0']}",
        f"{told} end {azure.imds['web_0']}",
    ]


def test_given_rules_for_vms_and_types_when_an_impact_begins_then_only_those_that_fit_run(simulate: Simulate) -> None:
    azure = simulate(
        on_impact=[
            {"vms": ["web_0"], "start": shell("echo for web_0")},
            {"event_types": ["Redeploy"], "start": shell("echo for redeploy")},
            {"vms": ["web_1"], "event_types": ["Reboot"], "start": shell("echo for reboot of web_1")},
            {"end": shell("true")},
        ]
    )
    azure.event("Reboot", ["web_0", "web_1"], status="Started", impact=1)
    azure.advance(1)
    eventually(lambda: len(commands(azure)) == 4)
    assert sorted((entry["vm"], entry["what"], entry["output"]) for entry in commands(azure)) == [
        ("web_0", "end", ""),
        ("web_0", "start", "for web_0\n"),
        ("web_1", "end", ""),
        ("web_1", "start", "for reboot of web_1\n"),
    ]


def test_given_a_reboot_that_becomes_a_freeze_when_it_starts_then_the_rules_for_freezes_run(simulate: Simulate) -> None:
    azure = simulate(
        on_impact=[
            {"event_types": ["Reboot"], "start": shell("echo reboot")},
            {"event_types": ["Freeze"], "start": shell('echo "$FOGHORN_ANNOUNCED_TYPE is a $FOGHORN_EVENT_TYPE"')},
        ]
    )
    azure.event("Reboot", ["web_0"], status="Started", becomes="Freeze")
    eventually(lambda: len(commands(azure)) == 1)
    assert commands(azure)[0]["output"] == "Reboot is a Freeze\n"


def test_given_a_machine_that_is_deleted_when_the_impact_ends_then_nothing_brings_it_back(simulate: Simulate) -> None:
    azure = simulate(on_impact=[{"start": shell("echo down"), "end": shell("echo up")}])
    azure.event("Terminate", ["web_0"], status="Started", impact=1)
    azure.event("Reboot", ["db"], status="Started", impact=1)
    azure.advance(1)
    eventually(lambda: len(commands(azure)) == 3)
    assert [entry["output"] for entry in commands(azure) if entry["vm"] == "web_0"] == ["down\n"]


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (shell("echo oh no; exit 3"), "ended with status 3"),
        (["/nowhere/to/be/found"], "cannot be run: "),
    ],
)
def test_given_a_command_that_fails_when_it_has_run_then_status_shows_it(
    simulate: Simulate, command: list[str], error: str
) -> None:
    azure = simulate(on_impact=[{"start": command}])
    azure.event("Reboot", ["web_0"], status="Started")
    eventually(lambda: azure.status()["commands"]["failed"])
    failure = azure.status()["commands"]["failed"][0]
    assert (failure["vm"], failure["phase"], failure["command"]) == ("web_0", "start", command)
    assert failure["error"].startswith(error)


def test_given_a_command_that_hangs_when_its_time_is_over_then_it_is_killed_and_held_nothing_up(
    simulate: Simulate, tmp_path: Path
) -> None:
    azure = simulate(directory=tmp_path, on_impact=[{"timeout": 1, "start": shell("sleep 600 & echo $! > pid; wait")}])
    azure.event("Freeze", ["web_0"], status="Started")
    assert ask(azure.imds["web_1"]).status == 200
    assert azure.status()["commands"] == {"running": 1, "failed": []}
    eventually(lambda: azure.status()["commands"]["failed"])
    assert azure.status()["commands"]["failed"][0]["error"] == "did not end within 1 s and was killed"
    pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
    eventually(lambda: not is_alive(pid))


def is_alive(pid: int) -> bool:
    """Whether a process still does something: a zombie does not count."""
    try:
        os.kill(pid, 0)
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_given_nobody_who_asks_when_the_time_has_come_then_the_impact_begins_and_ends_nevertheless(
    simulate: Simulate, tmp_path: Path
) -> None:
    azure = simulate(
        directory=tmp_path,
        clock={"speed": 1000},
        on_impact=[{"start": ["/bin/mkdir", "begun"], "end": ["/bin/mkdir", "over"]}],
    )
    azure.event("Reboot", ["web_0"], notice=300, impact=300)
    eventually((tmp_path / "begun").exists)
    eventually((tmp_path / "over").exists)


def test_given_a_slow_start_when_the_impact_has_ended_before_then_the_end_waits_for_it(simulate: Simulate) -> None:
    azure = simulate(on_impact=[{"start": shell("sleep 0.5; echo down"), "end": shell("echo up")}])
    azure.event("Reboot", ["web_0"], status="Started", impact=1)
    azure.advance(1)
    eventually(lambda: len(commands(azure)) == 2)
    assert [entry["output"] for entry in commands(azure)] == ["down\n", "up\n"]


def test_given_much_output_when_a_command_has_run_then_the_end_of_it_is_kept(simulate: Simulate) -> None:
    azure = simulate(on_impact=[{"start": shell("seq 1 100000")}])
    azure.event("Reboot", ["web_0"], status="Started")
    eventually(lambda: commands(azure))
    output = commands(azure)[0]["output"]
    assert len(output) <= 4096
    assert output.endswith("99999\n100000\n")


def test_given_a_command_that_leaves_a_server_running_when_it_ends_then_nobody_waits_for_the_server(
    simulate: Simulate, tmp_path: Path
) -> None:
    line = "(while true; do echo alive; sleep 0.05; done) & echo $! > pid; echo started"
    azure = simulate(directory=tmp_path, on_impact=[{"start": shell(line)}])
    begin = time.monotonic()
    azure.event("Reboot", ["web_0"], status="Started")
    eventually(lambda: commands(azure))
    assert time.monotonic() - begin < 15
    pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
    try:
        assert commands(azure)[0]["error"] is None
        assert "started" in commands(azure)[0]["output"]
        assert is_alive(pid)
    finally:
        os.kill(pid, 9)


def test_given_a_command_under_way_when_the_simulator_stops_then_it_is_killed(
    simulate: Simulate, tmp_path: Path
) -> None:
    azure = simulate(
        directory=tmp_path, on_impact=[{"start": shell("sleep 600 & echo $! > pid.new; mv pid.new pid; wait")}]
    )
    azure.event("Reboot", ["web_0"], status="Started")
    eventually((tmp_path / "pid").exists)
    azure.__exit__(None, None, None)
    eventually(lambda: not is_alive(int((tmp_path / "pid").read_text(encoding="utf-8"))))
