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
def test_given_a_playbook_that_uses_them_then_its_first_hosts_read_them_before_anything_else(name: str) -> None:
    text = (PLAYBOOKS / name).read_text()
    plays = [
        [task.get("ansible.builtin.import_tasks") for task in play["tasks"]]
        for play in yaml.safe_load(text)
        if "tasks" in play
    ]

    if "__handle_events_" in text:
        # Whoever chooses the hosts reads them only to ask Azure.
        first = next(tasks for tasks in plays if "tasks/handle_events/choose_hosts.yml" not in tasks)
        assert first[1] == "tasks/share_variables.yml"


@pytest.mark.parametrize("name", NAMES)
def test_given_any_play_then_ansible_does_not_parse_them_again_for_each_task_of_each_host(name: str) -> None:
    for play in yaml.safe_load((PLAYBOOKS / name).read_text()):
        assert "vars/handle_events.yml" not in play.get("vars_files", [])
