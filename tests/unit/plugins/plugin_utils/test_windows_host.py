# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Orders to a Windows machine, which may answer anything."""

from __future__ import annotations

import contextlib
import json

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.foghorn.azure_events.plugins.action.rotation_claim_info import ActionModule
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.windows_host import (
    Answer,
    object_in,
    quoted,
    said_by,
)
from ansible_collections.foghorn.azure_events.tests.unit.plugins.windows_machine import WindowsMachine
from hypothesis import given
from hypothesis import strategies as st

CLOCK = "foghorn-clock 2026-09-19T18:00:00.1234567Z\r\n"
AT = 1789840800.123456


def reach(stdout: str | bytes, status: int = 0, shell: str = "powershell") -> tuple[ActionModule, WindowsMachine]:
    """An action over a connection that answers this, and the machine."""
    machine = WindowsMachine((status, stdout, ""))
    return machine.reached_by(ActionModule, shell), machine


@pytest.mark.parametrize(("shell", "is_windows"), [("powershell", True), ("cmd", True), ("sh", False), ("csh", False)])
def test_given_the_shell_of_a_host_then_it_says_which_system_it_has(shell: str, is_windows: bool) -> None:
    assert reach("", shell=shell)[0]._is_windows() is is_windows


def test_given_an_agent_that_answers_then_its_answer_and_the_clock_are_read() -> None:
    action, machine = reach(CLOCK + '{"in_rotation": true}\r\n')

    asked = action._installed_agent("status", "--json")

    assert (asked.is_there, asked.now, object_in(asked.answer.stdout)) == (True, AT, {"in_rotation": True})
    assert "& $python -IS $program 'status' '--json'; exit $LASTEXITCODE" in machine.scripts[0]


def test_given_no_agent_then_it_is_not_there() -> None:
    asked = reach(CLOCK + "foghorn-agent is not installed\r\n")[0]._installed_agent("status")

    assert (asked.is_there, asked.now, asked.answer.stdout) == (False, AT, "")


@pytest.mark.parametrize("clock", ["", "foghorn-clock soon\n", "foghorn-clock 2026-99-19T18:00:00.1234567Z\n"])
def test_given_no_clock_then_none_is_known(clock: str) -> None:
    assert reach(clock + "{}")[0]._installed_agent("status").now is None


@given(st.text(max_size=300), st.integers(0, 5))
def test_given_anything_that_a_machine_says_then_an_answer_or_one_error_comes_of_it(said: str, status: int) -> None:
    asked = reach(said.encode("utf-8", "surrogatepass"), status)[0]._installed_agent("status")
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
        reach(json.dumps({"a": "x" * 1024 * 1024}))[0]._installed_agent("status")


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
