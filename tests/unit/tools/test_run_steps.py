# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""`make test` runs its steps side by side, all of them, and fails when one fails."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[3] / "tools" / "run_steps.py"

# The interrupt must find `waits` as one process: a shell between two commands of its own may go on with the second.
MAKEFILE = f"""
good:
\t@echo all is well
bad:
\t@echo something broke; echo "FAILED tests/test_it.py::test_it"; exit 3
first:
\t@touch first; while [ ! -e second ]; do sleep 0.05; done
second:
\t@touch second; while [ ! -e first ]; do sleep 0.05; done
short:
\t@echo first; echo "skipped: what needs a moon"; echo last
busy:
\t@count=0; while [ $$count -lt 500000 ]; do count=$$((count + 1)); done
waits:
\t@exec {sys.executable} -c 'import pathlib, time; pathlib.Path("waiting").touch(); time.sleep(600)'
"""


@pytest.fixture(name="steps")
def fixture_steps(tmp_path: Path) -> list[str]:
    """The command, to which a test adds targets."""
    (tmp_path / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\nexec make -C "{tmp_path}" "$@"\n', encoding="utf-8")
    make.chmod(0o755)
    return [sys.executable, str(TOOL), str(make)]


def test_given_a_failing_step_when_run_then_the_others_run_too_and_the_end_names_it(steps: list[str]) -> None:
    run = subprocess.run([*steps, "bad", "good"], capture_output=True, text=True, timeout=60, check=False)

    assert run.returncode == 1
    assert "something broke" in run.stdout
    assert "all is well" in run.stdout
    assert "1 of 2 steps passed" in run.stdout
    assert "failed: bad;" in run.stderr
    assert "FAILED tests/test_it.py::test_it" in run.stdout.partition("=== summary")[2]


def test_given_a_step_that_leaves_something_out_when_run_then_the_summary_says_so_loudly(steps: list[str]) -> None:
    run = subprocess.run([*steps, "short", "good"], capture_output=True, text=True, timeout=60, check=False)
    _head, _middle, summary = run.stdout.partition("=== summary")

    assert run.returncode == 0
    assert "skipped: what needs a moon" in summary
    assert "2 of 2 steps passed" in summary
    assert "NOT ALL WAS TESTED, 1 skipped" in summary


def test_given_a_step_that_works_when_run_then_the_time_of_processors_on_it_is_reported(steps: list[str]) -> None:
    run = subprocess.run([*steps, "busy"], capture_output=True, text=True, timeout=60, check=True)
    _head, _middle, told = run.stdout.rpartition("processors ")

    assert float(told.partition(" s")[0]) > 0


def test_given_two_lanes_when_run_then_they_run_side_by_side(steps: list[str]) -> None:
    run = subprocess.run([*steps, "first", "--", "second"], capture_output=True, text=True, timeout=60, check=False)

    assert run.returncode == 0
    assert "2 of 2 steps passed" in run.stdout


def test_given_steps_of_no_lane_when_run_then_a_lane_that_has_done_its_own_takes_them(steps: list[str]) -> None:
    # `second` ends `first`, whose lane would wait for ever for it otherwise.
    run = subprocess.run(
        [*steps, "first", "--", "++", "good", "second"], capture_output=True, text=True, timeout=60, check=False
    )

    assert run.returncode == 0
    assert "3 of 3 steps passed" in run.stdout


def test_given_an_interrupt_when_running_then_no_further_step_begins(steps: list[str], tmp_path: Path) -> None:
    with subprocess.Popen(
        [*steps, "waits", "good"],
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
        # Whatever started the tests in the background made them deaf to it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as run:
        while not (tmp_path / "waiting").exists():
            assert run.poll() is None
            time.sleep(0.02)
        # As a terminal does it: to all of the group.
        subprocess.run(["kill", "-INT", "--", f"-{run.pid}"], check=True)
        output, _unused = run.communicate(timeout=60)

    assert run.returncode == 128 + signal.SIGINT
    assert "all is well" not in output
