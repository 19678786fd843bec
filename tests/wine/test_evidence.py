# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent's part of evidence.ps1, which users run on Windows: here, so that what fails there is not the script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import PATIENCE, PREFIX, ROOT

ARCHIVE = os.environ.get("WINDOWS_PYTHON_ZIP", "")
PWSH = Path(os.environ.get("PWSH_ENGINE", "")) / "pwsh"


def test_given_the_package_of_python_when_evidence_is_collected_then_what_wine_has_is_shown(tmp_path: Path) -> None:
    if not PWSH.exists():
        pytest.skip("the script needs the engine of PowerShell: set PWSH_ENGINE")
    out = tmp_path / "evidence.json"
    shown = subprocess.run(
        [
            *(str(PWSH), "-NoProfile", "-File", str(ROOT / "tests/windows/evidence.ps1")),
            *("-Python", sys.executable, "-Out", str(out), "-Agent", ARCHIVE),
        ],
        env={
            **os.environ,
            "EVIDENCE_RUNNER": "wine",
            "FOGHORN_IMDS_ENDPOINT": "http://127.0.0.1:9",
            "ProgramFiles": str(PREFIX / "drive_c/Program Files"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=False,
    )
    promises = {one["promise"]: one["outcome"] for one in json.loads(out.read_text(encoding="utf-8"))}
    assert "failed" not in promises.values(), shown.stdout.decode()
    assert [promise for promise in promises if promise.startswith("it ") and promises[promise] == "shown"] == [
        "it takes this machine through an event",
        "it is drained and restored by hand",
        "it removes itself",
    ]
