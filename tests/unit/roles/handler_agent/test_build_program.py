# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is it one file that any Python runs, and the same one each time?

Runs on Python 3.6 and later.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from edge_helpers import AGENT, PATIENCE
from real_agent import build


def test_given_the_same_sources_when_built_twice_then_the_bytes_are_the_same(
    tmp_path: Path,
) -> None:
    first = build(tmp_path / "first").read_bytes()
    os.utime(str(AGENT / "foghorn_agent" / "cli.py"))
    assert build(tmp_path / "second").read_bytes() == first


def test_given_a_program_when_built_then_it_can_be_run_and_nothing_else_is_left(tmp_path: Path) -> None:
    program = build(tmp_path / "foghorn-agent")
    assert program.stat().st_mode & 0o777 == 0o755
    assert program.read_bytes().startswith(b"#!/usr/bin/python3 -IS\nPK")
    assert os.listdir(str(tmp_path)) == ["foghorn-agent"]


def test_given_a_program_when_looked_into_then_agent_and_core_are_in_it_and_nothing_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(str(build(tmp_path / "foghorn-agent"))) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
    assert {name.partition("/")[0] for name in names} == {"__main__.py", "foghorn_agent", "foghorn_core"}
    assert all(name.endswith(".py") for name in names)
    assert {"foghorn_agent/agent.py", "foghorn_core/client.py"} <= set(names)
    assert len(names) == len(set(names))


def test_given_the_program_when_it_runs_isolated_from_another_directory_then_it_finds_itself(tmp_path: Path) -> None:
    program = build(tmp_path / "foghorn-agent")
    output = subprocess.check_output([sys.executable, "-IS", str(program), "version"], cwd="/", timeout=PATIENCE)
    assert output.startswith(b"foghorn-agent 0.")


def test_given_the_agent_when_all_that_it_runs_is_loaded_then_openssl_and_other_large_modules_are_not(
    tmp_path: Path,
) -> None:
    program = build(tmp_path / "foghorn-agent")
    script = (
        "import sys; sys.path.insert(0, %r); sys.argv = ['x', 'version']\n"
        "try:\n import __main__ as m, runpy; runpy.run_path(%r, run_name='__main__')\n"
        "except SystemExit: pass\n"
        "import foghorn_agent.service\n"
        "print(sorted({'ssl', '_ssl', 'http.client', 'email', 'unicodedata', 'logging', 'argparse', 'typing'}"
        " & set(sys.modules)))"
    ) % (str(program), str(program))
    output = subprocess.check_output([sys.executable, "-IS", "-c", script], timeout=PATIENCE)
    assert output.decode("ascii").splitlines()[-1] == "['typing']"
