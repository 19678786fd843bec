# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Windows machine that is drained and restored by hand, by the words of its agent."""

from __future__ import annotations

import base64
import json
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.foghorn.azure_events.plugins.action.windows_agent import ActionModule

EVENT = {"event_type": "Reboot", "event_id": "A", "keeps_out": True}
OUT = {"in_rotation": False, "events": [EVENT]}
BY_HAND = {"drained_by_hand": {"drain": "succeeded"}}
STATUS, RESTORE = "status --json", "restore --wait 60 --json"


class Machine:
    """One whose agent answers these in turn, and that keeps what it was asked."""

    def __init__(self, *answers: Any, check_mode: bool = False) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)
        self.action = ActionModule(
            task=SimpleNamespace(check_mode=check_mode),
            connection=SimpleNamespace(exec_command=self._run),
            play_context=None,
            loader=None,
            templar=None,
            shared_loader_obj=None,
        )

    def _run(self, command: str, **_options: Any) -> tuple[int, bytes, bytes]:
        script = base64.b64decode(command.partition("-EncodedCommand ")[2]).decode("utf-16-le")
        self.asked.append(script.partition("& $python -IS $program ")[2].partition(";")[0].replace("'", ""))
        answer = self._answers.pop(0)
        # Not every connection hands on which status a command has ended with.
        status = int(isinstance(answer, dict) and answer.get("reached") is False)
        return status, (answer if isinstance(answer, str) else json.dumps(answer)).encode(), b""

    def rotate(self, state: str) -> dict[str, Any]:
        return self.action._rotate(state, 60.0)


@pytest.mark.parametrize(
    ("state", "answers", "changed", "kept_out_by", "asked"),
    [
        ("drained", [{}, {"reached": True}], True, [], [STATUS, "drain --wait 60 --json"]),
        ("drained", [BY_HAND, {"reached": True}], False, [], [STATUS, "drain --wait 60 --json"]),
        ("restored", [{"in_rotation": True}], False, [], [STATUS]),
        ("restored", [BY_HAND, {"reached": True}], True, [], [STATUS, RESTORE]),
        # For as long as an event keeps it out, waiting would change nothing.
        ("restored", [{**OUT, **BY_HAND}, {"reached": True}], True, ["Reboot A"], [STATUS, "restore --json"]),
        # Its agent is restoring it.
        (
            "restored",
            [{"in_rotation": False}, {"reached": True}],
            False,
            [],
            [STATUS, RESTORE],
        ),
    ],
)
def test_given_a_machine_when_it_is_drained_or_restored_then_its_agent_is_asked_for_no_more_than_that_takes(
    state: str, answers: list[Any], changed: bool, kept_out_by: list[str], asked: list[str]
) -> None:
    machine = Machine(*answers)

    assert machine.rotate(state) == {"changed": changed, "kept_out_by": kept_out_by}
    assert machine.asked == asked


@pytest.mark.parametrize(("state", "changed"), [("drained", True), ("restored", False)])
def test_given_check_mode_then_only_the_status_is_asked_for(state: str, changed: bool) -> None:
    machine = Machine({"in_rotation": False}, check_mode=True)

    assert machine.rotate(state)["changed"] is changed
    assert machine.asked == [STATUS]


@pytest.mark.parametrize(
    ("state", "answers", "said"),
    [
        (
            "drained",
            [{}, {"reached": False, "said": "still drains: drain: wait\x1b"}],
            r"still drains: drain: wait\\x1b",
        ),
        ("restored", [BY_HAND, {"reached": False, "said": "not ready: web"}], "restore: not ready: web"),
        ("restored", [OUT], "it was not drained by hand. It is out for Reboot A"),
        ("restored", [{"events": [{"keeps_out": True}]}], "the agent's status cannot be read"),
        ("restored", [{"events": 5}], "the agent's status cannot be read"),
        ("drained", ["no JSON"], "status: no JSON"),
        ("drained", [{}, {"reached": "yes"}], "drain: no answer"),
        ("drained", ["foghorn-agent is not installed"], "install it with the playbook install_agent"),
    ],
)
def test_given_what_is_in_the_way_or_a_machine_that_lies_then_the_failure_says_so(
    state: str, answers: list[Any], said: str
) -> None:
    with pytest.raises(AnsibleActionFail, match=said):
        Machine(*answers).rotate(state)
