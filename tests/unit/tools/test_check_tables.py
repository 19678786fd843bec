# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The check that each row of a table in the documentation is one line, with all of its cells, below a head."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[3] / "tools" / "check_tables.py"
HEAD = "| a | b |\n|---|---|\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(HEAD + "| c | d |\n", [], id="whole"),
        pytest.param(HEAD + "| `c \\| d` | e |\n\nText.\n", [], id="a border inside of a cell"),
        pytest.param("```sh\n| grep\nx\n```\n", [], id="no table"),
        pytest.param(HEAD + "| c | a long\ncell |\n", [3, 4], id="wrapped"),
        pytest.param(HEAD + "| c | a long |\ncell\n", [4], id="text right behind"),
        pytest.param(HEAD + "| c |\n", [3], id="a cell less"),
        pytest.param(HEAD + "| c | d |\n\n| e | f |\n| g | h |\n", [5], id="an empty line between"),
        pytest.param(HEAD + "| c | d | | e | f |\n", [3], id="two rows in one line"),
    ],
)
def test_given_a_page_then_the_rows_that_are_broken_are_named(tmp_path: Path, text: str, lines: list[int]) -> None:
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    run = subprocess.run([sys.executable, str(TOOL), str(tmp_path)], stdout=subprocess.PIPE, text=True, check=False)

    named = [int(line.split(":")[1]) for line in run.stdout.splitlines() if line.startswith("page.md:")]
    assert (named, run.returncode) == (lines, 1 if lines else 0)
