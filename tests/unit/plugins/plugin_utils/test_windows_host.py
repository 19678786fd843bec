# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Orders to a Windows machine, which may answer anything."""

from __future__ import annotations

import base64
import contextlib
import json
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.windows_host import (
    Answer,
    WindowsHostAction,
    object_in,
    quoted,
    said_by,
)
from hypothesis import given
from hypothesis import strategies as st

CLOCK = "foghorn-clock 2026-09-19T18:00:00.1234567Z\r\n"
AT = 1789840800.123456


class Action(WindowsHostAction):
    """One over a connection that answers this, and keeps what it was asked."""

    def __init__(self, stdout: str | bytes, status: int = 0, stderr: str = "", shell: str = "powershell") -> None:
        self.scripts: list[str] = []
        raw = stdout if isinstance(stdout, bytes) else stdout.encode()

        def run(command: str, **_options: Any) -> tuple[int, bytes, bytes]:
            encoded = command.partition("-EncodedCommand ")[2]
            self.scripts.append(base64.b64decode(encoded).decode("utf-16-le"))
            return status, raw, stderr.encode()

        # What the base class of actions makes of a task is not asked for here.
        self._connection = SimpleNamespace(exec_command=run, _shell=SimpleNamespace(SHELL_FAMILY=shell))

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Do nothing."""
        raise NotImplementedError


@pytest.mark.parametrize(("shell", "is_windows"), [("powershell", True), ("cmd", True), ("sh", False), ("csh", False)])
def test_given_the_shell_of_a_host_then_it_says_which_system_it_has(shell: str, is_windows: bool) -> None:
    assert Action("", shell=shell)._is_windows() is is_windows


def test_given_an_agent_that_answers_then_its_answer_and_the_clock_are_read() -> None:
    action = Action(CLOCK + '{"in_rotation": true}\r\n')

    asked = action._installed_agent("status", "--json")

    assert (asked.is_there, asked.now, object_in(asked.answer.stdout)) == (True, AT, {"in_rotation": True})
    assert "& $python -IS $program 'status' '--json'; exit $LASTEXITCODE" in action.scripts[0]


def test_given_no_agent_then_it_is_not_there() -> None:
    asked = Action(CLOCK + "foghorn-agent is not installed\r\n")._installed_agent("status")

    assert (asked.is_there, asked.now, asked.answer.stdout) == (False, AT, "")


@pytest.mark.parametrize("clock", ["", "foghorn-clock soon\n", "foghorn-clock 2026-99-19T18:00:00.1234567Z\n"])
def test_given_no_clock_then_none_is_known(clock: str) -> None:
    assert Action(clock + "{}")._installed_agent("status").now is None


@given(st.text(max_size=300), st.integers(0, 5))
def test_given_anything_that_a_machine_says_then_an_answer_or_one_error_comes_of_it(said: str, status: int) -> None:
    asked = Action(said.encode("utf-8", "surrogatepass"), status)._installed_agent("status")
    with contextlib.suppress(ValueError):
        assert isinstance(object_in(asked.answer.stdout), dict)
    assert said_by(asked.answer).isprintable()


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"a": 1', '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1} {"b": 2}', '{"a": ' + "[" * 40 + "]" * 40 + "}"],
)
def test_given_what_is_no_object_then_it_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        object_in(text)


def test_given_more_than_a_mebibyte_then_it_is_refused() -> None:
    with pytest.raises(AnsibleActionFail, match="more than 1048576 bytes"):
        Action(json.dumps({"a": "x" * 1024 * 1024}))._installed_agent("status")


@given(st.text())
def test_given_any_text_when_quoted_then_no_mark_ends_it(text: str) -> None:
    inner = quoted(text)[1:-1]
    for mark in "'\u2018\u2019\u201a\u201b":
        inner = inner.replace(mark * 2, "")
        assert mark not in inner


def test_given_a_script_that_fails_then_what_it_says_is_harmless_and_short() -> None:
    said = said_by(Answer(1, "", "\x1b[2J" + "x" * 5000))
    assert "\x1b" not in said
    assert len(said) <= 2010
