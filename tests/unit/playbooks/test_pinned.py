# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever is configured, hosts move together; one that fails ends what it is said to, and one that hangs is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

PLAYBOOKS = Path(__file__).parents[3] / "playbooks"
# Those that take hosts out of rotation and bring them back, or say who is out.
NAMES = (
    "drain",
    "handle_events",
    "handle_os_upgrades",
    "prepare_for_updates",
    "redeploy_early",
    "rehearse",
    "rehearse_end",
    "restore",
)
ONE_HOST = ("localhost", "{{ rehearse_simulator_host | default('localhost', true) }}")


def plays_of_many_hosts(name: str) -> list[dict[str, Any]]:
    return [
        play
        for play in yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text())
        if play.get("hosts", "localhost") not in ONE_HOST
    ]


# A task that runs once, or a variable of another host, needs hosts that go in step.
@pytest.mark.parametrize("name", sorted(path.stem for path in PLAYBOOKS.glob("*.yml")))
def test_given_a_play_of_many_hosts_then_it_says_itself_how_they_go(name: str) -> None:
    for play in plays_of_many_hosts(name):
        assert play.get("strategy") == "ansible.builtin.linear", play["name"]


@pytest.mark.parametrize("name", [*NAMES, "status", "doctor"])
def test_given_a_play_of_many_hosts_then_it_says_itself_what_a_failure_ends(name: str) -> None:
    for play in plays_of_many_hosts(name):
        assert "any_errors_fatal" in play, play["name"]
        # Rehearsals are watched by whoever has begun them, and wait for minutes.
        assert name.startswith("rehearse") or 0 < play["timeout"] <= 120, play["name"]


# Rehearsals, trials and the demo wait longer than operators let a task last.
@pytest.mark.parametrize("path", sorted(PLAYBOOKS.glob("*.yml")), ids=lambda path: path.stem)
def test_given_a_play_then_it_says_itself_how_long_a_task_may_last(path: Path) -> None:
    for play in yaml.safe_load(path.read_text()):
        assert "timeout" in play or "hosts" not in play, play["name"]


@pytest.mark.parametrize("name", ["drain", "restore"])
def test_given_hosts_that_go_one_after_the_other_by_hand_then_one_that_fails_ends_the_play(name: str) -> None:
    first = yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text())[0]

    assert first["any_errors_fatal"] is True
