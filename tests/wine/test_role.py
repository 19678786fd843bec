# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the role install the agent on a Windows machine, update it and remove it?"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from azure_simulator.testing import Simulator

from tests import ansible_runs
from tests.ports import free_port

from .conftest import DATA, PATIENCE, PREFIX, PYTHON, ROOT, Agent, run, wait_for, windows

PROGRAMS = PREFIX / "drive_c/Program Files/foghorn"
ARCHIVE = Path(os.environ.get("WINDOWS_PYTHON_ZIP", ""))
PWSH = Path(os.environ.get("PWSH_ENGINE", "")) / "pwsh"

Play = Callable[..., subprocess.CompletedProcess[str]]


def checksum() -> str:
    return hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()


@pytest.fixture
def play(tmp_path: Path, program: Path) -> Iterator[Play]:
    """Run the playbook that installs the agent, with these variables."""
    if not PWSH.exists():
        pytest.skip("the role on Windows needs the engine of PowerShell: set PWSH_ENGINE")
    inventory = tmp_path / "inventory.yml"
    inventory.write_text(
        json.dumps(
            {"all": {"hosts": {"win1": {"ansible_connection": "windows_vm", "ansible_shell_type": "powershell"}}}}
        )
    )

    def install(*words: str, **variables: Any) -> subprocess.CompletedProcess[str]:
        return ansible_runs.run(
            *("-i", str(inventory), "foghorn.azure_events.install_agent"),
            *("--extra-vars", json.dumps(variables), *words),
            environment={
                "ANSIBLE_CONNECTION_PLUGINS": str(ROOT / "tests/plugins/connection"),
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections"),
                "ANSIBLE_NOCOLOR": "1",
                "LC_ALL": "C.UTF-8",
                "WINDOWS_VM_PWSH": str(PWSH),
            },
            timeout=PATIENCE,
        )

    yield install
    run(PYTHON, "-IS", program, "uninstall")


def recap(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    assert "win1" in done.stdout, done.stdout
    line = next(line for line in done.stdout.splitlines() if line.startswith("win1 "))
    return {name: int(count) for name, _equals, count in (word.partition("=") for word in line.split()[2:])}


def test_given_a_windows_machine_when_the_role_runs_then_the_agent_is_there_and_the_second_run_changes_nothing(
    play: Play, program: Path, azure: Simulator, tmp_path: Path
) -> None:
    here = Agent(program, tmp_path / "notes", azure.imds["win"])
    port = here.port
    variables: dict[str, Any] = {
        "handler_agent_windows_python_archive": str(ARCHIVE),
        "handler_agent_windows_python_checksum": checksum(),
        "handler_agent_imds": {"endpoint": azure.imds["win"], "poll_interval": 0.25},
        "handler_agent_listen": [{"address": "127.0.0.1", "port": port}],
        "handler_agent_policies": [here.policy(drain=[{"hooks": True}])],
        "handler_agent_margin": 1,
        "handler_agent_hooks": [
            {"stage": "drain", "name": "10.cmd", "content": f"@echo end hook>>{windows(here.notes)}\r\n"}
        ],
        "handler_agent_members_secret": "0123456789abcdef0123456789abcdef",
    }
    checked = play("--check", "--diff", **variables)
    assert (checked.returncode, recap(checked)["changed"]) == (0, 1), checked.stdout
    assert not DATA.exists()

    installed = play(**variables)
    assert (installed.returncode, recap(installed)["changed"]) == (0, 1), installed.stdout
    wait_for(here.is_ready)
    again = play(**variables)
    assert (again.returncode, recap(again)["changed"]) == (0, 0), again.stdout

    azure.event("Freeze", "win", impact=1, linger=1)
    wait_for(lambda: "hook" in here.noted())
    wait_for(here.is_ready)
    assert (DATA / "members.secret").read_text() == variables["handler_agent_members_secret"]

    other = play(**{**variables, "handler_agent_listen": [{"address": "127.0.0.1", "port": free_port()}]})
    assert (other.returncode, recap(other)["changed"]) == (0, 1), other.stdout
    wait_for(lambda: here.get("/readyz") is None)

    wrong = play(**{**variables, "handler_agent_margin": 1, "handler_agent_policies": [{"drain": "soon"}]})
    assert (wrong.returncode, "policies[0].drain" in wrong.stdout) == (2, True), wrong.stdout

    removed = play(handler_agent_state="absent")
    assert (removed.returncode, recap(removed)["changed"]) == (0, 1), removed.stdout
    assert not DATA.exists()
    assert not PROGRAMS.exists()
    assert recap(play(handler_agent_state="absent"))["changed"] == 0
    assert list(PROGRAMS.parent.glob("foghorn*")) == []


def test_given_a_newer_python_when_the_role_runs_again_then_the_service_runs_on_it(
    play: Play, azure: Simulator, tmp_path: Path
) -> None:
    newer = tmp_path / "newer.zip"
    shutil.copyfile(ARCHIVE, newer)
    with zipfile.ZipFile(newer, "a") as archive:
        archive.writestr("NEWS.txt", "a fault less")
    port = free_port()
    variables: dict[str, Any] = {
        "handler_agent_imds": {"endpoint": azure.imds["win"]},
        "handler_agent_listen": [{"address": "127.0.0.1", "port": port}],
    }

    def install(archive: Path) -> int:
        done = play(
            **variables,
            handler_agent_windows_python_archive=str(archive),
            handler_agent_windows_python_checksum=hashlib.sha256(archive.read_bytes()).hexdigest(),
        )
        assert done.returncode == 0, done.stdout
        return recap(done)["changed"]

    assert install(ARCHIVE) == 1
    assert not (PROGRAMS / "python/NEWS.txt").exists()
    assert (install(newer), install(newer)) == (1, 0)
    assert (PROGRAMS / "python/NEWS.txt").exists()
    assert run("net", "stop", "foghorn-agent").process.returncode == 0, "it did not run"


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "Windows embeddable package (64-bit)"),
        (
            {"handler_agent_windows_python_archive": str(ARCHIVE), "handler_agent_windows_python_checksum": "0" * 64},
            "python_checksum: ",
        ),
        ({"handler_agent_members_group": "all"}, "handler_agent_members_group"),
    ],
)
def test_given_what_the_role_cannot_do_on_windows_then_it_refuses_before_anything_is_touched(
    play: Play, variables: dict[str, Any], said: str
) -> None:
    done = play(**variables)
    assert done.returncode == 2
    assert said in done.stdout
    assert not DATA.exists()
