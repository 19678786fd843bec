# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How deep the tasks of a run are included in each other, with rounds that do next to nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import yaml

TASKS = Path(__file__).parents[3] / "playbooks" / "tasks" / "handle_events"
DEEPEST = 9  # ansible-playbook dies at 246


def test_given_a_hundred_orders_when_carried_out_then_only_their_doublings_are_included_in_each_other(
    tmp_path: Path,
) -> None:
    for name in ("rounds.yml", "next_round.yml"):
        shutil.copy(TASKS / name, tmp_path)
    order = {
        "name": "Carry out an order",
        "ansible.builtin.set_fact": {"carried_out": "{{ carried_out | int + 1 }}"},
    }
    (tmp_path / "round.yml").write_text(yaml.safe_dump([order]))
    play = {
        "hosts": "all",
        "gather_facts": False,
        "vars": {
            "__handle_events_is_busy": "{{ carried_out | int < orders[inventory_hostname] }}",
            "orders": {"busy": 100, "idle": 3},
        },
        "tasks": [
            {"ansible.builtin.set_fact": {"carried_out": 0, "__handle_events_rounds": 1}},
            {"ansible.builtin.include_tasks": str(tmp_path / "rounds.yml")},
            {"ansible.builtin.assert": {"that": "carried_out | int == orders[inventory_hostname]"}},
        ],
    }
    playbook = tmp_path / "play.yml"
    playbook.write_text(yaml.safe_dump([play]))

    run = subprocess.run(
        ["ansible-playbook", str(playbook), "-i", "busy,idle,"], stdout=subprocess.PIPE, text=True, check=False
    )

    assert run.returncode == 0, run.stdout
    assert run.stdout.count("TASK [Double them]") <= DEEPEST
