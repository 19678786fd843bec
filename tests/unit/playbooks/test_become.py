# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What asks Azure, waits or writes a report on the controller does so as the user who started the run.

`ansible_become: true` for all hosts holds for localhost too, and outranks `become: false`: only a variable outranks it.
"""

from __future__ import annotations

from typing import Any

import yaml

from tests.unit.playbooks.test_boundary import FILES, ROOT, tasks

# A balancer's socket and commands are root's.
AS_ROOT = ("__place |", "__balancer.name", "__load_balancer_removal_haproxy_balancer |")
RUNS_NOTHING = ("ansible.builtin.set_fact", "ansible.builtin.assert")


def is_on_controller(task: dict[str, Any]) -> bool:
    """Whether a task, or a play that runs anything, is for the controller, or for who asks Azure in its place."""
    if "tasks" in task:
        return task["hosts"] == "localhost" and any(
            key not in (*RUNS_NOTHING, "name", "vars") for one in task["tasks"] for key in one
        )
    place = str(task.get("delegate_to", ""))
    return bool(place) and not any(name in place for name in AS_ROOT) and not any(key in task for key in RUNS_NOTHING)


def test_given_a_task_on_the_controller_then_no_variable_of_all_hosts_makes_it_roots() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {task.get('name')}": (task.get("vars") or {}).get("ansible_become")
        for path in FILES
        for task in tasks(yaml.safe_load(path.read_text(encoding="utf-8")))
        if is_on_controller(task)
    }
    assert len(found) > 40
    assert {name for name, value in found.items() if value is not False} == set()
