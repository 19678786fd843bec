# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Misspelt names of variables, hosts and directories are refused by roles and playbooks, before anything is touched."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import ansible_runs

ROOT = Path(__file__).parents[3]
ROLES = sorted(directory.name for directory in (ROOT / "roles").iterdir())


def play(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ansible-playbook on a host that cannot be reached."""
    (tmp_path / "hosts").write_text("web1 ansible_host=127.0.0.1 ansible_port=9\n")
    return ansible_runs.run("-i", str(tmp_path / "hosts"), *arguments)


def test_given_a_misspelt_name_in_a_play_when_a_role_is_used_by_itself_then_it_is_refused(tmp_path: Path) -> None:
    blocks: list[dict[str, Any]] = [
        {
            "block": [
                {
                    "ansible.builtin.include_role": {
                        "name": f"foghorn.azure_events.{role}",
                        # The role's own argument spec would stop it first where a variable is required.
                        "rolespec_validate": False,
                    }
                }
            ],
            "rescue": [{"ansible.builtin.debug": {"msg": "{{ ansible_failed_result.msg }}"}}],
        }
        for role in ROLES
    ]
    site = tmp_path / "site.yml"
    variables = {f"{role}_xyzzyxyzzyxyzzy": 1 for role in ROLES}
    site.write_text(yaml.safe_dump([{"hosts": "web1", "gather_facts": False, "vars": variables, "tasks": blocks}]))

    run = play(tmp_path, str(site))

    assert run.returncode == 0, run.stdout
    for name in variables:
        assert f"{name}: there is no such variable" in run.stdout, run.stdout
    assert f"rescued={len(ROLES)}" in run.stdout, run.stdout


def test_given_variables_beside_a_playbook_that_imports_ours_when_it_is_run_then_it_says_that_nobody_reads_them(
    tmp_path: Path,
) -> None:
    site = tmp_path / "site" / "site.yml"
    beside = site.parent / "group_vars" / "all.yml"
    beside.parent.mkdir(parents=True)
    site.write_text(yaml.safe_dump([{"ansible.builtin.import_playbook": "foghorn.azure_events.install_agent"}]))
    beside.write_text("handler_agent_dry_run: true\n")

    run = play(tmp_path, str(site))

    assert run.returncode != 0, run.stdout
    assert f"{beside}: handler_agent_dry_run: " in run.stdout, run.stdout


@pytest.mark.parametrize(
    ("playbook", "name"), [("install_agent", "instal_agent_hosts"), ("verify_image", "verify_image_deprovisoned")]
)
def test_given_a_misspelt_name_when_a_playbook_is_run_then_it_is_refused(
    tmp_path: Path, playbook: str, name: str
) -> None:
    run = play(tmp_path, f"foghorn.azure_events.{playbook}", "--extra-vars", json.dumps({name: "web1"}))

    assert run.returncode == 2, run.stdout
    assert f"{name}: there is no such variable: did you mean " in run.stdout, run.stdout


def test_given_hosts_that_are_not_in_the_inventory_when_a_playbook_is_run_then_it_fails(tmp_path: Path) -> None:
    run = play(tmp_path, "foghorn.azure_events.doctor", "--extra-vars", "doctor_hosts=wbe")

    assert run.returncode == 2, run.stdout
    assert "doctor_hosts: no host of the inventory matches wbe" in run.stdout, run.stdout


@pytest.mark.parametrize(
    ("playbook", "name", "variables"),
    [
        ("handle_events", "nosuch/report.json", {}),
        (
            "rehearse",
            ".",
            {
                "rehearse_hosts": "web1",
                "rehearse_confirmed": True,
                "rehearse_endpoint": "http://127.0.0.1:9",
                "rehearse_event_type": "Reboot",
            },
        ),
    ],
)
def test_given_no_place_for_the_report_when_a_playbook_is_run_then_it_fails_before_the_first_host(
    tmp_path: Path, playbook: str, name: str, variables: dict[str, Any]
) -> None:
    variables = {**variables, f"{playbook}_report_file": str(tmp_path / name)}

    run = play(tmp_path, f"foghorn.azure_events.{playbook}", "--extra-vars", json.dumps(variables))

    assert run.returncode == 2, run.stdout
    assert f"{playbook}_report_file is {tmp_path / name}, which cannot be written" in " ".join(run.stdout.split()), (
        run.stdout
    )
    assert "unreachable=0" in run.stdout, run.stdout
