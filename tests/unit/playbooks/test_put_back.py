# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No playbook deletes a directory with whatever may be in it because a variable says so."""

from __future__ import annotations

from pathlib import Path

import yaml

TASKS = Path(__file__).parents[3] / "playbooks" / "tasks" / "handle_events"


def test_given_a_state_directory_that_holds_what_is_not_ours_when_a_host_is_put_back_then_that_is_not_deleted() -> None:
    (block,) = yaml.safe_load((TASKS / "put_back.yml").read_text())
    removals = [
        task for task in block["block"] if "state_directory }}" in str(task) and "include_role" not in str(task)
    ]

    assert [task["ansible.builtin.command"]["argv"][0] for task in removals] == ["rmdir"]
