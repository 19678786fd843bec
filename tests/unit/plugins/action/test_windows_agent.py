# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Windows machine that is drained and restored by hand, by the words of its agent."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.foghorn.azure_events.plugins.action.windows_agent import ActionModule, _fetch
from ansible_collections.foghorn.azure_events.tests.unit.plugins.windows_machine import WindowsMachine

EVENT = {"event_type": "Reboot", "event_id": "A", "keeps_out": True}
OUT = {"in_rotation": False, "events": [EVENT]}
BY_HAND = {"drained_by_hand": {"drain": "succeeded"}}
STATUS, RESTORE = "status --json", "restore --wait 60 --json"


class Machine(WindowsMachine):
    """One whose agent answers these in turn."""

    def __init__(self, *answers: Any, check_mode: bool = False) -> None:
        # Not every connection hands on which status a command has ended with.
        super().__init__(
            *((int(isinstance(one, dict) and one.get("reached") is False), _text(one), "") for one in answers)
        )
        self._action = self.reached_by(ActionModule, check_mode=check_mode)

    @property
    def asked(self) -> list[str]:
        """The commands of the agent."""
        after = [script.partition("& $python -IS $program ")[2] for script in self.scripts]
        return [words.partition(";")[0].replace("'", "") for words in after]

    def rotate(self, state: str) -> dict[str, Any]:
        return self._action._rotate(state, 60.0)


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer)


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


@pytest.mark.parametrize("answer", [b"\x15\x03\x01", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nPK"])
def test_given_an_archive_whose_answer_is_cut_off_or_no_http_then_the_option_is_named(
    answer: bytes, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(AnsibleActionFail, match=r"^python_archive: http://127.* cannot be fetched: "):
            _fetch("http://127.0.0.1:%d/python.zip" % server.getsockname()[1], str(tmp_path / "python.zip"))
        thread.join()


def test_given_a_machine_that_cannot_be_tidied_up_when_an_installation_fails_then_its_reason_is_said(
    tmp_path: Path,
) -> None:
    archive = tmp_path / "python.zip"
    archive.write_bytes(b"PK")
    machine = WindowsMachine((0, "||C:\\work|C:\\python.exe|C:\\agent.pyz|\\\r\n", ""), (1, "", "it is in use"))

    with pytest.raises(AnsibleActionFail, match=r"^python_checksum: "):
        machine.reached_by(ActionModule)._place(
            {
                "state": "present",
                "program": "",
                "python_archive": str(archive),
                "python_checksum": "0" * 64,
                "files": {},
            }
        )
