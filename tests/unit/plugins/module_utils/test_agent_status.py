# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the handler agent of a machine says that it does, and what is made of its silence."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.agent_status import agent_status

COMMAND = ["foghorn-agent", "status", "--json"]


class Machine:
    """An agent that ends like this, and what systemd says of its service; without a state there is no systemd."""

    def __init__(self, code: int, said: str, state: str = "inactive") -> None:
        self.code, self.said, self.state = code, said, state
        self.ran: list[list[str]] = []

    def run_command(self, command: list[str]) -> tuple[int, str, str]:
        self.ran.append(command)
        if command[:2] == ["/bin/systemctl", "is-active"]:
            return 0, self.state + "\n", ""
        return self.code, self.said, ""

    def get_bin_path(self, name: str) -> str | None:
        return "/bin/" + name if self.state else None


def ask(machine: Machine, command: list[str]) -> dict[str, Any]:
    return agent_status(machine, command)


def test_given_an_agent_then_its_status_is_returned_and_the_call_is_limited() -> None:
    machine = Machine(0, '{"in_rotation": true, "events": []}')

    assert ask(machine, COMMAND) == {"in_rotation": True, "events": []}
    assert machine.ran == [["timeout", "-k", "1", "30", *COMMAND]]


@pytest.mark.parametrize("state", ["active", "activating", "reloading"])
@pytest.mark.parametrize(("code", "said"), [(1, ""), (124, ""), (127, ""), (0, "no JSON"), (0, "[]")])
def test_given_an_agent_that_runs_and_does_not_answer_then_that_is_the_problem(
    code: int, said: str, state: str
) -> None:
    assert ask(Machine(code, said, state), COMMAND) == {"problem": "does not answer"}


@pytest.mark.parametrize("state", ["inactive", "failed", "unknown", ""])
def test_given_no_agent_then_nothing_is_returned(state: str) -> None:
    assert ask(Machine(127, "", state), COMMAND) == {}


def test_given_no_command_for_the_status_then_nothing_is_run() -> None:
    machine = Machine(0, "{}")

    assert ask(machine, []) == {}
    assert machine.ran == []
