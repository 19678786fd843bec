# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback fleet: what changes, failures at once and once, and no tasks."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

TASKS: list[dict[str, Any]] = [
    {"name": "Say something", "ansible.builtin.debug": {"msg": "hello"}},
    {"name": "Say a list", "ansible.builtin.debug": {"msg": ["one", "two\x1b[2J"]}, "run_once": True},
    {"name": "Show a variable", "ansible.builtin.debug": {"var": "inventory_hostname"}, "run_once": True},
    {"name": "Skip it", "ansible.builtin.debug": {"msg": "never"}, "when": False},
    {"name": "Change it", "ansible.builtin.command": {"cmd": "true"}},
    {
        "name": "Go through items",
        "ansible.builtin.command": {"cmd": "{{ item }}"},
        "loop": ["true", "false"],
        "ignore_errors": True,
        "when": "inventory_hostname == 'a'",
    },
    {
        "block": [{"name": "Break it", "ansible.builtin.shell": "echo the reason >&2; exit 7"}],
        "rescue": [{"name": "Mend it", "ansible.builtin.debug": {"msg": "mended"}}],
        "when": "inventory_hostname == 'b'",
    },
]


STATUS = re.compile(r"\r\x1b\[K([^\r\n]*)\r")


def on_a_terminal(command: list[str]) -> tuple[int, str]:
    """Run a command on a terminal; return its exit status and what was on that."""
    environment = dict(
        os.environ, ANSIBLE_STDOUT_CALLBACK="foghorn.azure_events.fleet", ANSIBLE_NOCOLOR="true", TERM="xterm"
    )
    ours, theirs = pty.openpty()
    seen = b""
    with subprocess.Popen(command, env=environment, stdout=theirs) as run:
        os.close(theirs)
        # The end of what a terminal has is an error.
        with contextlib.suppress(OSError):
            while part := os.read(ours, 4096):
                seen += part
    os.close(ours)
    return run.returncode, seen.decode().replace("\r\n", "\n")


def test_given_any_play_when_shown_then_it_prints_messages_and_each_failure_once_and_no_tasks(tmp_path: Path) -> None:
    playbook = tmp_path / "play.yml"
    playbook.write_text(
        yaml.safe_dump(
            [{"name": "Try it", "hosts": "all", "gather_facts": False, "connection": "local", "tasks": TASKS}]
        )
    )

    status, shown = on_a_terminal(["ansible-playbook", str(playbook), "-i", "a,b,"])

    lines = [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in STATUS.sub("", shown).splitlines()]
    assert status == 0
    assert lines[0] == "Try it"
    assert sorted(lines[1:6]) == ["a: a", "a: hello", "b: hello", "one", r"two\x1b[2J"]
    assert [line for line in lines if line.startswith("a FAILED: Go through items (false): ")]
    assert len([line for line in lines if re.match("b FAILED: Break it: .*non-zero return code", line)]) == 1
    assert lines.count("    the reason") == 1
    assert lines[-3] == "b: mended"
    assert re.fullmatch(r"a: ok=\d changed=\d unreachable=0 failed=0", lines[-2])
    assert not [line for line in lines if "TASK" in line or "skip" in line or "never" in line or "Change it" in line]
    # The last line says what is done, and is empty in the end.
    states = STATUS.findall(shown)
    assert "Change it" in states
    assert states[-1] == ""
