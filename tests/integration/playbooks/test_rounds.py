# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How deep the tasks of a run are included in each other, with rounds that do next to nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from tests import ansible_runs

TASKS = Path(__file__).parents[3] / "playbooks" / "tasks" / "handle_events"
DEEPEST = 4  # ansible-playbook dies at 246
ORDERS = 75


def test_given_many_orders_when_carried_out_then_includes_nest_once_for_16_of_them(tmp_path: Path) -> None:
    shutil.copy(TASKS / "rounds.yml", tmp_path)
    # In one expression: older versions of ansible-core make a text of a number.
    count = "{'carried_out': (__handle_events_next | default({})).carried_out | default(0) + 1}"
    order = {"name": "Carry out an order", "ansible.builtin.set_fact": {"__handle_events_next": f"{{{{ {count} }}}}"}}
    end = {"ansible.builtin.meta": "end_batch", "when": f"__handle_events_next.carried_out == {ORDERS}"}
    (tmp_path / "round.yml").write_text(yaml.safe_dump([order, end]))
    play = {"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.import_tasks": "rounds.yml"}]}
    playbook = tmp_path / "play.yml"
    playbook.write_text(yaml.safe_dump([play]))

    run = ansible_runs.run(str(playbook), "-i", "host,")

    assert run.returncode == 0, run.stdout
    assert run.stdout.count("TASK [Carry out an order]") == ORDERS
    assert run.stdout.count("TASK [Run further rounds]") <= DEEPEST
