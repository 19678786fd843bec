# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How deep the tasks of a run are included in each other, with rounds that do next to nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from tests import ansible_runs

TASKS = Path(__file__).parents[3] / "playbooks" / "tasks" / "handle_events"
DEEPEST = 3  # ansible-playbook dies at 246
ORDERS = 40


def test_given_forty_orders_when_carried_out_then_includes_nest_only_logarithmically(
    tmp_path: Path,
) -> None:
    shutil.copy(TASKS / "rounds.yml", tmp_path)
    count = "((__handle_events_next | default({})).carried_out | default(0) + 1)"
    # In one expression: older versions of ansible-core make a text of a number.
    said = f"{{'carried_out': {count}, 'rounds': [{count}, 32] | min, 'is_over': {count} == {ORDERS}}}"
    order = {"name": "Carry out an order", "ansible.builtin.set_fact": {"__handle_events_next": f"{{{{ {said} }}}}"}}
    end = {"ansible.builtin.meta": "end_batch", "when": "__handle_events_next.is_over"}
    (tmp_path / "round.yml").write_text(yaml.safe_dump([order, end]))
    play = {"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.import_tasks": "rounds.yml"}]}
    playbook = tmp_path / "play.yml"
    playbook.write_text(yaml.safe_dump([play]))

    run = ansible_runs.run(str(playbook), "-i", "host,")

    assert run.returncode == 0, run.stdout
    assert run.stdout.count("TASK [Carry out an order]") == ORDERS
    assert run.stdout.count("TASK [Run the next rounds]") <= DEEPEST
