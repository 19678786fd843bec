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
from typing import List

import pytest
from edge_helpers import AGENT, PATIENCE
from foghorn_agent import __version__
from foghorn_agent.precompile import compile_elsewhere
from real_agent import build

BUILDER = AGENT / "build_program.py"


def test_given_the_same_sources_when_built_twice_then_the_bytes_are_the_same(tmp_path: Path, program: Path) -> None:
    os.utime(str(AGENT / "foghorn_agent" / "cli.py"))
    assert build(tmp_path / "second").read_bytes() == program.read_bytes()


def test_given_a_program_when_built_then_it_can_be_run_and_nothing_else_is_left(program: Path) -> None:
    assert program.stat().st_mode & 0o777 == 0o755
    assert program.read_bytes().startswith(b"#!/usr/bin/python3 -IS\nPK")
    assert os.listdir(str(program.parent)) == ["foghorn-agent"]


def test_given_a_program_when_looked_into_then_agent_and_core_are_in_it_and_nothing_else(program: Path) -> None:
    with zipfile.ZipFile(str(program)) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
    assert {name.partition("/")[0] for name in names} == {"__main__.py", "foghorn_agent", "foghorn_core"}
    assert all(name.endswith(".py") for name in names)
    assert {"foghorn_agent/agent.py", "foghorn_core/scheduled_events/client.py"} <= set(names)
    parts = {name.split("/")[1] for name in names if name.startswith("foghorn_core/")}
    assert parts == {"__init__.py", "connections", "files", "maintenance_policy", "scheduled_events"}
    assert len(names) == len(set(names))


def test_given_the_program_when_it_runs_isolated_from_another_directory_then_it_finds_itself(program: Path) -> None:
    output = subprocess.check_output([sys.executable, "-IS", str(program), "version"], cwd="/", timeout=PATIENCE)
    assert output.decode("ascii") == "foghorn-agent %s\n" % __version__


def test_given_the_agent_when_all_that_it_runs_is_loaded_then_openssl_and_other_large_modules_are_not(
    program: Path,
) -> None:
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


COMPILED = """
import os, sys
sys.path.insert(0, %r)
if %r:
    def fork():
        raise OSError("no more processes")
    os.fork = fork
from foghorn_agent import __version__
from foghorn_agent.precompile import compile_elsewhere, forget
print(compile_elsewhere())
import foghorn_agent.platform.program as program
import foghorn_agent.service as service, foghorn_core.scheduled_events.client as client
forget()
print(type(service.__loader__).__name__, service.__file__, program.path())
import foghorn_agent.act.checks
print(len(sys.meta_path), "zipfile" in sys.modules)
"""


def run_compiled(program: Path, without_fork: bool) -> "List[str]":
    script = COMPILED % (str(program), without_fork)
    return subprocess.check_output([sys.executable, "-IS", "-c", script], timeout=PATIENCE).decode("ascii").splitlines()


@pytest.mark.parametrize("without_fork", [False, True])
def test_given_the_program_when_a_child_compiles_it_or_cannot_then_its_modules_are_as_if_they_were_imported(
    program: Path, without_fork: bool
) -> None:
    done, service, found = run_compiled(program, without_fork)
    assert done == str(not without_fork)
    loader = "zipimporter" if without_fork else "_Loader"
    assert service == "%s %s/foghorn_agent/service.py %s" % (loader, program, program)
    # Its files are removed, and later imports work as before.
    assert without_fork or found == "3 False"


REPLACED = """
import sys
sys.path.insert(0, %r)
from foghorn_agent import __version__
from foghorn_agent.precompile import compile_elsewhere, forget
assert compile_elsewhere()
import foghorn_agent.service
from foghorn_agent.config import parse_config
forget()
policy = {"approve": "when_ready", "approve_between": [{"from": "00:00", "to": "24:00", "time_zone": "UTC"}]}
webhook = {"url": "https://chat.example/x", "body": {"text": "$stage"}}
config = parse_config({"policies": [policy], "webhooks": [webhook]})
with open(%r, "wb") as file:
    file.write(b"what another version may be")
from foghorn_core.maintenance_policy.zones import LocalTime
from foghorn_core.maintenance_policy.window import why_closed
from foghorn_agent.http.bodies import fields_of, fill
print(why_closed(config.rules[0].plan.approve_between, 0.0, LocalTime()))
"""


def test_given_a_program_that_is_replaced_when_it_runs_then_it_has_what_its_configuration_will_need(
    tmp_path: Path,
) -> None:
    program = build(tmp_path / "foghorn-agent")
    script = REPLACED % (str(program), str(program))
    assert subprocess.check_output([sys.executable, "-IS", "-c", script], timeout=PATIENCE).strip() == b"None"


def test_given_a_checkout_when_the_agent_starts_then_nothing_is_compiled_elsewhere() -> None:
    assert compile_elsewhere() is False


def test_given_a_package_when_it_is_put_into_one_file_then_python_imports_it_from_there(tmp_path: Path) -> None:
    package = tmp_path / "things"
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "__main__.py", "inner/__init__.py"):
        (package / name).write_text("")
    (package / "inner" / "thing.py").write_text("from .. import __name__ as name\n")
    (package / "notes.txt").write_text("")
    target = tmp_path / "things.zip"

    subprocess.check_call([sys.executable, str(BUILDER), str(target), str(package)], timeout=PATIENCE)

    with zipfile.ZipFile(str(target)) as archive:
        names = ["things/" + name for name in ("__init__.py", "__main__.py", "inner/__init__.py", "inner/thing.py")]
        assert archive.namelist() == names
    script = "import sys; sys.path.insert(0, sys.argv[1]); import things.inner.thing as one; print(one.name)"
    said = subprocess.check_output([sys.executable, "-IS", "-c", script, str(target)], cwd="/", timeout=PATIENCE)
    assert said == b"things\n"


def test_given_anything_else_when_built_then_nothing_is_written(tmp_path: Path) -> None:
    for arguments in ([], ["--help"], ["one", str(tmp_path / "missing")], ["one", str(tmp_path), "three"]):
        done = subprocess.run(
            [sys.executable, str(BUILDER), *arguments],
            cwd=str(tmp_path),
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode, done.stderr) == (1, b"usage: build_program.py FILE [DIRECTORY]\n")
    assert os.listdir(str(tmp_path)) == []
