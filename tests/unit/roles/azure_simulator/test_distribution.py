# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator as a distribution: installed with pip, it serves the tests of any handler."""

import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[4] / "roles" / "azure_simulator" / "files"


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, stdin=subprocess.DEVNULL, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_given_pip_when_the_distribution_is_installed_then_its_command_its_page_and_the_example_of_its_page_work(
    tmp_path: Path,
) -> None:
    files = {path for path in SOURCE.rglob("*") if "__pycache__" not in path.parts}
    # Nothing comes from an index: what it needs is installed here.
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(tmp_path))
    run(sys.executable, "-m", "pip", "install", *options, str(SOURCE), HOME=str(tmp_path), PATH="/usr/bin:/bin")

    assert {path for path in SOURCE.rglob("*") if "__pycache__" not in path.parts} == files
    installed = {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = str(tmp_path / "bin" / "azure-in-miniature")
    assert run(command, "event", "--help", **installed).startswith("usage: azure-in-miniature event ")
    assert (tmp_path / "azure_simulator" / "page.html").read_bytes()
    (example,) = re.findall(r"```python\n(.*?)```", (SOURCE / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    where = "import azure_simulator; print(azure_simulator.__file__)"
    assert run(sys.executable, "-c", f"{example}\n{where}", **installed).startswith(str(tmp_path))
