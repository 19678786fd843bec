# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each playbook checks before it does anything: its hosts are there, its variables known, its systems Linux."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

PLAYBOOKS = Path(__file__).parents[3] / "playbooks"
# These select their hosts in other ways.
OTHERS = {"prepare_for_updates", "rehearse", "rehearse_end"}
# One has no variables of its own; those of the other are a role's, which checks them.
WITHOUT_VARIABLES = {"rehearse_end", "terminate_notifications"}
WITH_HOSTS = sorted(path.stem for path in PLAYBOOKS.glob("*.yml") if f"{path.stem}_hosts" in path.read_text())


@pytest.mark.parametrize("name", sorted({*WITH_HOSTS} - OTHERS))
def test_given_a_playbook_with_a_variable_for_its_hosts_then_it_checks_that_the_inventory_has_them(name: str) -> None:
    plays = yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text())

    checks = [play["vars"] for play in plays if play.get("ansible.builtin.import_playbook") == "plays/check_hosts.yml"]

    assert checks == [{"__checked_hosts": f"{name}_hosts"}]


@pytest.mark.parametrize("name", sorted({path.stem for path in PLAYBOOKS.glob("*.yml")} - WITHOUT_VARIABLES))
def test_given_a_playbook_with_variables_then_it_checks_all_that_begin_with_its_name(name: str) -> None:
    found = [
        task["vars"]
        for play in yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text())
        for listed in play.get("tasks", ())
        for task in (listed, *listed.get("block", ()))
        if task.get("ansible.builtin.import_tasks") == "tasks/check_variables.yml"
    ]

    assert {variables["__checked_prefix"] for variables in found} == {f"{name}_"}
    assert all(variables["__checked_arguments"] for variables in found)


@pytest.mark.parametrize("name", ["rehearse", "trial", "verify_image"])
def test_given_a_playbook_for_linux_alone_then_it_refuses_windows_hosts_before_it_does_anything(name: str) -> None:
    plays = yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text())
    files = [task.get("ansible.builtin.import_tasks") for play in plays for task in play.get("tasks", ())]

    before = files[: files.index("tasks/check_linux.yml")]

    assert set(before) <= {"tasks/check_ansible.yml", "tasks/check_variables.yml"}
