# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules of Windows VMs with the oldest ansible-core that is supported, whose wrapper is another one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from azure_simulator.testing import Simulator

from tests.windows.conftest import PATIENCE, ROOT

FLEET = {"clock": {"manual": True}, "vms": [{"name": "web_0", "address": "127.0.8.1"}]}
OLDEST = ROOT / ".cache" / "venv-oldest"


@pytest.fixture(name="powershell")
def fixture_powershell(pwsh: Path, tmp_path: Path) -> Path:
    """A directory with a `powershell` that begins as one does that a connection to Windows has started."""
    bootstraps = list(OLDEST.glob("lib/python*/site-packages/ansible/executor/powershell/bootstrap_wrapper.ps1"))
    if not bootstraps:
        pytest.skip("the oldest ansible-core is not installed")
    powershell = tmp_path / "powershell"
    powershell.write_text(
        f'#!/bin/sh\nexec "{pwsh}" -NoProfile -NonInteractive -Command "$(cat {bootstraps[0]})"\n', encoding="utf-8"
    )
    powershell.chmod(0o755)
    return tmp_path


def run(powershell: Path, module: str, **arguments: Any) -> dict[str, Any]:
    """What a module returns."""
    name = f"foghorn.azure_events.{module}"
    command = [str(OLDEST / "bin" / "ansible"), "localhost", "-i", "localhost,", "-c", "local", "-o", "-m", name]
    environment = {
        **os.environ,
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_NOCOLOR": "1",
        "FOGHORN_IMDS_ENDPOINT": "http://127.0.0.1:9",
        "PATH": f"{powershell}{os.pathsep}{os.environ['PATH']}",
    }
    shown = subprocess.run(
        [*command, "-a", json.dumps(arguments)], env=environment, text=True, timeout=PATIENCE, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    _before, arrow, result = shown.stdout.partition(" => ")
    assert arrow, shown.stdout
    returned: dict[str, Any] = json.loads(result)
    return returned


def test_given_the_oldest_core_then_events_are_read_and_what_was_read_is_approved(powershell: Path) -> None:
    with Simulator(FLEET) as azure:
        event = azure.event("Reboot", "web_0", description="Wartung für den Host")
        connection = {"endpoint": azure.imds["web_0"], "timeout": 20.5}
        read = run(powershell, "win_scheduled_events_info", **connection)
        changed = [{**read["events"][0], "event_type": "Freeze"}]
        refused = run(powershell, "win_scheduled_event_approve", **connection, event_types=["Reboot"], as_seen=changed)
        approved = run(
            powershell, "win_scheduled_event_approve", **connection, event_types=["Reboot"], as_seen=read["events"]
        )

    assert [one["description"] for one in read["events"]] == ["Wartung für den Host"]
    assert read["events"][0]["event_id"] == event["event_id"]
    assert "it was a Freeze of web_0 when it was prepared for" in refused["not_approved"][0]["reason"]
    assert [one["event_id"] for one in approved["approved"]] == [event["event_id"]]


def test_given_the_oldest_core_then_an_error_is_the_same(powershell: Path) -> None:
    failed = run(powershell, "win_scheduled_events_info", event_types=["Rebot"])

    assert failed["msg"].startswith("event_types: 'Rebot' is not one of Preempt, ")
