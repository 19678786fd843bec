# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked outside the steps of a run."""

from __future__ import annotations

from typing import Any

from ansible.release import __version__
from ansible_collections.foghorn.azure_events.plugins.action.maintenance_step import ARGUMENTS
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.questions import check_variables


def check(**given: Any) -> dict[str, Any]:
    """Check the variables of one host, of which there are none."""
    host = {"inventory_hostname": "web1", "ansible_version": {"full": __version__}, "groups": {"all": ["web1"]}}
    specs: Any = ARGUMENTS
    arguments = {name: spec.get("default") for name, spec in specs.items()} | {"hosts": ["web1"]} | given
    return check_variables(arguments, {"web1": host}, host)


def test_given_a_playbook_then_its_check_begins_a_run_of_its_own_each_time() -> None:
    runs = [check(playbook="handle_events", job={"id": "7"})["run"] for _ in range(2)]

    assert [run["playbook"] for run in runs] == ["handle_events"] * 2
    assert runs[0]["id"] != runs[1]["id"]


def test_given_no_playbook_then_no_run_begins() -> None:
    assert check() == {}
