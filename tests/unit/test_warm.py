# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ansible-playbook that is kept warm is no other to whoever runs it than the program itself."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

PATIENCE = 120.0  # seconds
OWNER = Path(__file__).resolve().parents[1] / "warm" / "owner.py"
REAL = str(Path(sys.executable).with_name("ansible-playbook"))
WARM = "ansible-playbook"
SEES = "{{ lookup('pipe', 'umask') }} {{ lookup('env', 'GIVEN') }} {{ said }}"
# To the process that leads, from the shell that a worker of it starts.
KILL = "{{ lookup('pipe', 'kill -9 $(ps -o ppid= -p $PPID)') }}"


def write_playbook(directory: Path, *tasks: Mapping[str, object]) -> str:
    """Write a playbook for this machine; return its path."""
    path = directory / "playbook.yml"
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": list(tasks)}
    path.write_text(yaml.safe_dump([play]), encoding="utf-8")
    return str(path)


def run(program: str, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run one of the two."""
    return subprocess.run(
        [program, "-i", "localhost,", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, **environment},
    )


def processes_with(variable: str) -> list[int]:
    """The processes that have this in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if variable.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def wait_until_none(variable: str) -> None:
    """Wait until no process has this in its environment."""
    limit = time.monotonic() + PATIENCE
    while processes_with(variable):
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_given_a_playbook_when_it_is_run_warm_then_all_is_as_with_the_program_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_playbook(tmp_path, {"debug": {"msg": SEES}}, {"fail": {"msg": "as it should"}})
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    before = os.umask(0o027)
    try:
        real, *warm = [
            run(program, "../playbook.yml", "-e", "said=here", GIVEN="from outside") for program in (REAL, WARM, WARM)
        ]
    finally:
        os.umask(before)

    assert real.returncode == 2
    assert "0027 from outside here" in real.stdout
    for again in warm:
        assert (again.returncode, again.stdout, again.stderr) == (real.returncode, real.stdout, real.stderr)


def test_given_another_configuration_when_run_warm_then_it_counts(tmp_path: Path) -> None:
    playbook = write_playbook(tmp_path, {"debug": {"msg": "x"}})

    plain, coloured = run(WARM, playbook), run(WARM, playbook, ANSIBLE_FORCE_COLOR="true")

    assert "\x1b[" not in plain.stdout
    assert "\x1b[" in coloured.stdout


def test_given_a_run_that_is_killed_when_it_was_warm_then_so_ends_the_caller(tmp_path: Path) -> None:
    ended = run(WARM, write_playbook(tmp_path, {"debug": {"msg": KILL}}))

    assert ended.returncode == -signal.SIGKILL


def test_given_a_caller_that_is_killed_when_its_run_was_warm_then_nothing_of_that_goes_on(tmp_path: Path) -> None:
    mark = f"CALL={tmp_path}"
    begun = tmp_path / "begun"
    waiting = {"command": {"argv": ["sh", "-c", f"touch {begun}; exec sleep 300"]}}
    command = [WARM, "-i", "localhost,", write_playbook(tmp_path, waiting)]
    environment = {**os.environ, "CALL": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as caller:
        limit = time.monotonic() + PATIENCE
        while not begun.exists():
            assert time.monotonic() < limit
            time.sleep(0.05)
        caller.kill()

    wait_until_none(mark)


def test_given_a_terminal_when_run_then_it_is_the_program_itself() -> None:
    leader, terminal = pty.openpty()
    command = [sys.executable, str(OWNER), "sh", "-c", f"{WARM} --version >/dev/null; ls $WARM_DIRECTORY"]
    try:
        done = subprocess.run(command, stdin=terminal, stdout=subprocess.PIPE, timeout=PATIENCE, check=True)
    finally:
        os.close(leader)
        os.close(terminal)

    assert done.stdout.split() == [b"owner", b"servers"]


def test_given_its_owner_has_ended_when_looked_for_then_nothing_is_left() -> None:
    command = [sys.executable, str(OWNER), "sh", "-c", f"{WARM} --version >/dev/null; echo $WARM_DIRECTORY; exit 3"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    directory = done.stdout.strip()

    assert done.returncode == 3
    assert not Path(directory).exists()
    wait_until_none(f"WARM_DIRECTORY={directory}")
