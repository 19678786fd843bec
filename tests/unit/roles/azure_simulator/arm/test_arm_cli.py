# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of the ARM half."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from azure_simulator.cli import main

Start = Callable[..., Any]


def test_given_a_running_simulator_when_faults_are_made_listed_and_removed_then_the_command_line_does_it(
    azure: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ["--control", azure.azure.control]
    assert main(["arm-fault", *at, "operation", "--outcome", "Failed", "--code", "Odd", "--method", "PATCH"]) == 0
    fault = capsys.readouterr().out.strip()
    assert main(["arm-fault", *at, "list"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["fault_id"], record["kind"], record["outcome"]) == (fault, "operation", "Failed")
    assert main(["arm-fault", *at, "remove", fault]) == 0
    assert main(["arm-fault", *at, "status", "--status", "500", "--header", "X-A: b"]) == 0
    assert main(["arm-fault", *at, "clear"]) == 0
    assert azure.azure.status()["arm"]["faults"] == []


def test_given_scale_sets_when_the_status_is_shown_then_a_table_shows_who_is_outdated(
    cloud: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    web = {"name": "web", "terminate_notification": "PT5M", "outdated": ["web_1"]}
    assert main(["status", "--control", cloud(arm={"scale_sets": [web]}).azure.control]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["web", "Succeeded", "web_0", "Succeeded", "yes", "300", "s"] in rows
    assert ["web", "Succeeded", "web_1", "Succeeded", "NO", "none"] in rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["remove"], "name the fault"), (["clear", "x"], "one argument too many"), (["error"], "error: is missing")],
)
def test_given_wrong_arguments_when_a_fault_is_asked_for_then_the_mistake_is_named(
    cloud: Start, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["arm-fault", "--control", cloud().azure.control, *arguments]) != 0
    assert message in capsys.readouterr().err


def test_given_a_directory_when_a_certificate_is_made_then_its_files_are_named_and_the_key_is_private(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certificate", str(tmp_path)]) == 0
    made = json.loads(capsys.readouterr().out)
    assert Path(made["certificate"]).read_text().startswith("-----BEGIN CERTIFICATE-----")
    assert stat.S_IMODE(Path(made["private_key"]).stat().st_mode) == 0o600


def test_given_no_such_directory_when_a_certificate_is_made_then_the_error_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certificate", str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err
