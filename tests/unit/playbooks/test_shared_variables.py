# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables that playbooks share are read once a run, and by each playbook that needs them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

PLAYBOOKS = Path(__file__).parents[3] / "playbooks"
NAMES = sorted(path.name for path in PLAYBOOKS.glob("*.yml"))


@pytest.mark.parametrize("name", NAMES)
def test_given_a_playbook_that_uses_them_then_it_reads_them_right_after_the_check_of_the_version(name: str) -> None:
    text = (PLAYBOOKS / name).read_text()
    tasks = [task.get("ansible.builtin.import_tasks") for task in yaml.safe_load(text)[0]["tasks"]]

    if "__handle_events_" in text:
        assert tasks[1] == "tasks/share_variables.yml"


@pytest.mark.parametrize("name", NAMES)
def test_given_any_play_then_ansible_does_not_parse_them_again_for_each_task_of_each_host(name: str) -> None:
    for play in yaml.safe_load((PLAYBOOKS / name).read_text()):
        assert "vars/handle_events.yml" not in play.get("vars_files", [])
