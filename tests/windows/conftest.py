# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where PowerShell and the compiler of C# 5 are. tools/test_windows.sh says aloud what is skipped, and why."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.windows.parity.python_side import SEED

ROOT = Path(__file__).resolve().parents[2]
CORE = sorted((ROOT / "plugins" / "module_utils").glob("_*.cs"))
PATIENCE = 1800  # seconds for one program on a busy machine


def pytest_report_header() -> str:
    """Say how to repeat this run."""
    return f"documents and HTTP answers: PARITY_SEED={SEED}"


@pytest.fixture(scope="session", name="pwsh")
def fixture_pwsh() -> Path:
    """PowerShell 7.5 or later, or its engine."""
    found = os.environ.get("PWSH") or shutil.which("pwsh")
    if found is None:
        pytest.skip("no PowerShell: set PWSH, or PWSH_ENGINE")
    return Path(found).absolute()


@pytest.fixture(scope="session", name="compile_csharp")
def fixture_compile_csharp() -> Callable[..., str]:
    """Compile as Windows PowerShell 5.1 would: C# 5, API of .NET Framework 4.6.2. Give what the compiler says."""
    engine = os.environ.get("PWSH_ENGINE")
    if engine is None:
        pytest.skip("no compiler of C# 5: set PWSH_ENGINE")

    def compile_csharp(*sources: Path, out: Path | None = None) -> str:
        command = [f"{engine}/pwsh", f"{engine}/csharp5.ps1", *(["-Out", str(out)] if out else []), *map(str, sources)]
        run = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False
        )
        assert (run.returncode == 0) == (not run.stdout.strip()), run.stdout
        return run.stdout.strip()

    return compile_csharp
