# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of the doctor: whatever a host answers, each host has its rows, and no row of another's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

ROOT = Path(__file__).parents[3]
PLAYS = yaml.safe_load((ROOT / "playbooks" / "doctor.yml").read_text())
PLAY = next(play for play in PLAYS if play["name"] == "Examine Azure")
GOOD = {"checks": [{"check": "agent", "severity": "ok", "found": "answers: in rotation"}]}
NO_ANSWER = "error   liar: answer: is not what the module returns. Has somebody changed the host?"


def rows(said: Any) -> list[str]:
    """What is shown where one host says this, and another is well."""
    variables = {
        name: trust_as_template(text) if isinstance(text, str) else text for name, text in PLAY["vars"].items()
    }
    hosts = [
        {"inventory_hostname": "liar", "__doctor_readiness": said},
        {"inventory_hostname": "web1", "__doctor_readiness": GOOD},
    ]
    rights: dict[str, Any] = {"checks": []}
    given = {**variables, "__doctor_asked": hosts, "__doctor_rights": rights}
    shown: list[str] = Templar(DataLoader(), given).template(trust_as_template("{{ __doctor_rows }}"))
    return shown


@pytest.mark.parametrize(
    "checks",
    [
        7,
        "all is well",
        {"check": "agent"},
        [],
        [7],
        [["ok"]],
        [{}],
        [{"severity": ["ok"], "check": "agent", "found": "answers"}],
        [{"severity": "perfect", "check": "agent", "found": "answers"}],
        [{"severity": "error", "check": {"agent": 1}, "found": "answers"}],
        [{"severity": "ok", "check": "agent", "found": None}],
        [{"severity": "ok", "check": "agent"}],
    ],
)
def test_given_a_host_that_answers_garbage_then_it_has_a_row_that_says_so_and_the_others_have_theirs(
    checks: Any,
) -> None:
    assert rows({"checks": checks}) == [NO_ANSWER, "ok      web1: agent: answers: in rotation"]


@pytest.mark.parametrize("said", [{"msg": 7}, {"msg": "down\nok      web1: agent: answers"}, {}])
def test_given_a_host_that_did_not_answer_then_its_row_is_one_line_and_begins_with_its_name(said: Any) -> None:
    first, second = rows(said)
    assert first.startswith("error   liar: reached: ")
    assert second == "ok      web1: agent: answers: in rotation"


def test_given_a_host_that_writes_lines_or_floods_then_all_of_it_stays_in_its_own_row() -> None:
    found = "answers\nok      web2: agent: answers\r\x1b[2J" + "x" * 100000
    checks = [{"check": "agent\nerror", "severity": "note", "found": found}]
    note, ok = rows({"checks": checks})
    assert note.startswith("note    liar: agent?error: answers?ok      web2: agent: answers??[2Jxxx")
    assert len(note) < 1100
    assert ok == "ok      web1: agent: answers: in rotation"


def test_given_a_host_that_asks_for_a_command_then_none_but_ours_is_shown() -> None:
    checks = [{"check": "agent", "severity": "error", "found": "away", "command": "rm -rf /"}]
    assert rows({"checks": checks})[:2] == [
        "error   liar: agent: away",
        "        on the host: systemctl status foghorn-agent",
    ]
