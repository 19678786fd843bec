# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs on the controller does so as the user who started the run, whatever the inventory has for all hosts.

`ansible_become: true` holds for localhost too, and outranks `become: false`: only a variable outranks it. So does
`ansible_shell_type: powershell`, which an inventory of Windows hosts alone may have for all.
"""

from __future__ import annotations

from typing import Any

import yaml

from tests.unit.playbooks.test_boundary import FILES, ROOT, tasks

# A balancer's socket and commands are root's.
AS_ROOT = ("__place |", "__balancer.name", "__load_balancer_removal_haproxy_balancer |")
NEEDS_AZURE = ("handle_os_upgrades", "redeploy_early")
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
    found = [
        (f"{path.relative_to(ROOT)}: {task.get('name')}", (task.get("vars") or {}).get("ansible_become"))
        for path in FILES
        for task in tasks(yaml.safe_load(path.read_text(encoding="utf-8")))
        if is_on_controller(task)
    ]
    assert len(found) > 40
    assert [name for name, value in found if value is not False] == []


def test_given_a_playbook_that_needs_no_azure_then_the_python_of_ansible_playbook_is_enough_on_the_controller() -> None:
    expected = {
        "ansible_connection": "local",
        "ansible_shell_type": "sh",
        "ansible_become": False,
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
    }
    found = [
        (f"{path.relative_to(ROOT)}: {task.get('name')}", {name: task["vars"].get(name) for name in expected})
        for path in FILES
        if path.parent.name not in NEEDS_AZURE
        for task in tasks(yaml.safe_load(path.read_text(encoding="utf-8")))
        if task.get("delegate_to") == "localhost" and is_on_controller(task)
        if any(key.startswith("ansible.builtin.") for key in task)
    ]
    assert len(found) >= 5
    assert [name for name, value in found if value != expected] == []


def test_given_windows_hosts_alone_then_a_play_on_the_controller_and_a_question_to_azure_have_its_own_shell() -> None:
    playbooks = ROOT / "playbooks"
    found = [
        (f"{path.relative_to(ROOT)}: {one.get('name')}", one["vars"].get("ansible_shell_type"))
        for path in [*playbooks.glob("*.yml"), *(playbooks / "tasks" / "handle_events").glob("*.yml")]
        if path.stem not in NEEDS_AZURE
        for one in tasks(yaml.safe_load(path.read_text(encoding="utf-8")))
        if is_on_controller(one)
    ]
    assert len(found) >= 10
    assert [name for name, shell in found if shell != "sh"] == []
