# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test leaves to the garbage collector fails that test, and no other."""

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"

LEAVES = {
    "socket": "import socket; self.left = socket.socket()",
    "process": "import subprocess; self.left = subprocess.Popen(['sleep', '1'])",
    "file": "self.left = open('/dev/null')",
}

TESTS = """
import gc
import pytest

class Cycle:
    def __init__(self):
        self.me = self
        {leave}

@pytest.fixture(scope="module")
def shared():
    kept = []
    yield kept

def test_before(): pass

def test_culprit(): Cycle()

def test_after(): gc.collect()

def test_last_user(shared): shared.append(Cycle())
"""


@pytest.mark.parametrize("what", LEAVES)
def test_given_a_test_that_leaves_something_when_run_then_it_fails_and_its_neighbours_pass(
    what: str, tmp_path: Path
) -> None:
    directory = tmp_path / "tests"
    directory.mkdir()
    # The fixtures under test, without the rest of conftest.py, which is about this checkout.
    source = CONFTEST.read_text(encoding="utf-8")
    begin, end = (
        source.index("# What a test leaves to the garbage collector"),
        source.rindex("@pytest.fixture\n"),
    )
    (directory / "conftest.py").write_text(
        "import gc\nfrom typing import Iterator\nimport pytest\n\n" + source[begin:end], encoding="utf-8"
    )
    (directory / "test_left.py").write_text(TESTS.format(leave=LEAVES[what]), encoding="utf-8")
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-rA",
            "-W",
            "error",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(directory),
            str(directory),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )

    outcomes = {line for line in run.stdout.splitlines() if line.startswith(("PASSED", "ERROR", "FAILED"))}
    failed = {line.split(" - ")[0].partition("::")[2] for line in outcomes if not line.startswith("PASSED")}
    assert failed == {"test_culprit", "test_last_user"}, run.stdout
