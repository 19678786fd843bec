# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""evidence.ps1, which users run on Windows: here by PowerShell 7, so that what fails there is not the script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.windows.conftest import PATIENCE
from tests.windows.modules.test_scripts import complaints

SCRIPT = Path(__file__).with_name("evidence.ps1")


def run(pwsh: Path, directory: Path, python: str) -> tuple[int, dict[str, str]]:
    """Its status, and the outcome of each promise."""
    out = directory / "evidence.json"
    command = [str(pwsh), "-NoProfile", "-File", str(SCRIPT), "-Python", python, "-Out", str(out)]
    # As the modules do by default.
    environment = {**os.environ, "FOGHORN_IMDS_ENDPOINT": "http://127.0.0.1:9"}
    shown = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, timeout=PATIENCE, check=False
    )
    assert out.is_file(), shown.stdout
    return shown.returncode, {one["promise"]: one["outcome"] for one in json.loads(out.read_text(encoding="utf-8"))}


def test_given_a_simulator_then_each_promise_is_shown_or_not_tried(pwsh: Path, tmp_path: Path) -> None:
    status, promises = run(pwsh, tmp_path, sys.executable)

    assert status == 0, promises
    assert list(promises.values()).count("shown") == 6, promises
    assert "failed" not in promises.values()
    assert promises["the metadata service of Azure answers"] == promises["WinRM and PSRP"] == "not tried"


def test_given_no_simulator_then_what_needs_it_has_failed(pwsh: Path, tmp_path: Path) -> None:
    status, promises = run(pwsh, tmp_path, str(tmp_path / "no-python"))

    assert status == 1
    assert promises["the simulator starts on Windows"] == promises["an event is approved"] == "failed"


@pytest.mark.parametrize("found", ["not in 5.1", "not ASCII", "not PowerShell"])
def test_it_has_nothing_that_5_1_lacks(pwsh: Path, found: str) -> None:
    assert not [complaint for complaint in complaints(pwsh, SCRIPT) if complaint.startswith(found)]
