# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""`make test` runs its steps side by side, all of them, and fails when one fails."""

import os
import subprocess
from pathlib import Path

TOOL = Path(__file__).resolve().parents[3] / "tools" / "side_by_side.sh"

MAKEFILE = """
good:
\t@echo all is well
bad:
\t@echo something broke; echo "FAILED tests/test_it.py::test_it"; exit 3
short:
\t@echo first; echo "skipped: what needs a moon"; echo last
"""


def run(directory: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    (directory / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    # What the make that runs these tests has set is not meant for this one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = [str(TOOL), "make", *targets]
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_given_a_failing_step_when_run_then_the_others_run_too_and_the_end_names_it(tmp_path: Path) -> None:
    done = run(tmp_path, "bad", "good")
    _head, _middle, summary = done.stdout.partition("=== summary")

    assert done.returncode == 1
    assert "all is well" in done.stdout
    assert "FAILED tests/test_it.py::test_it" in summary
    assert "steps passed" not in summary
    assert "error: failed: bad; `make TARGET` runs one alone" in done.stderr


def test_given_a_step_that_leaves_something_out_when_run_then_the_summary_says_so_loudly(tmp_path: Path) -> None:
    done = run(tmp_path, "short", "good")
    _head, _middle, summary = done.stdout.partition("=== summary")

    assert done.returncode == 0
    assert "skipped: what needs a moon" in summary
    assert summary.endswith("s; NOT ALL WAS TESTED, 1 skipped, see above\n")
