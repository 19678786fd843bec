# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller, and the collection that sets it up; `make integration-awx` gets that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests import ansible_runs
from tests.integration.awx.fake_awx import PASSWORD, TOKEN, USER, FakeAwx

ROOT = Path(__file__).resolve().parents[3]
AWX_COLLECTION = ROOT / ".cache" / "awx"
PATIENCE = 300  # seconds; machines are slow and shared
# What a site says of itself: as in docs/awx.md.
SITE = {
    "controller_setup_project": "Operations",
    "controller_setup_playbook_directory": "azure_events",
    "controller_setup_inventory": "Azure",
    "controller_setup_machine_credentials": ["Machines"],
    "controller_setup_azure_credentials": ["Azure"],
    "controller_setup_execution_environment": "azure-events",
    "controller_setup_groups": [
        {"name": "web", "hosts": "web"},
        {"name": "databases", "hosts": "databases", "instance_groups": ["europe"]},
    ],
}


class Done(NamedTuple):
    """A run of ansible-playbook."""

    status: int
    output: str


class Controller:
    """An AWX with what a site has before, and the playbook that sets it up."""

    def __init__(self, awx: FakeAwx, directory: Path) -> None:
        self.awx = awx
        self._directory = directory
        organization = awx.add("organizations", "Default")
        awx.add("inventories", "Azure", organization=organization)
        names = sorted(path.name for path in (ROOT / "extensions" / "awx" / "project").glob("*.yml"))
        awx.add(
            "projects", "Operations", organization=organization, playbooks=[f"azure_events/{name}" for name in names]
        )
        awx.add("credentials", "Machines", organization=organization, kind="ssh")
        awx.add("credentials", "Azure", organization=organization, kind="cloud")
        awx.add("execution_environments", "azure-events", organization=organization)
        awx.add("instance_groups", "europe")
        awx.add("notification_templates", "Pager", organization=organization)

    def set_up(
        self, *options: str, by_password: bool = False, collections: Path = AWX_COLLECTION, **variables: object
    ) -> Done:
        """Run controller_setup, signed in by a token or by name and password; `collections` has awx.awx."""
        given = self._directory / "controller.yml"
        given.write_text(yaml.safe_dump({**SITE, **variables}), encoding="utf-8")
        done = ansible_runs.run(
            *("foghorn.azure_events.controller_setup", "--extra-vars", f"@{given}", *options),
            # Modules for dozens of objects, of which each would need a second to load what it imports.
            *("--extra-vars", "ansible_connection=machine"),
            environment={
                "ANSIBLE_COLLECTIONS_PATH": os.pathsep.join([str(ROOT / ".cache" / "collections"), str(collections)]),
                "CONTROLLER_HOST": self.awx.url,
                **(
                    {"CONTROLLER_USERNAME": USER, "CONTROLLER_PASSWORD": PASSWORD}
                    if by_password
                    else {"CONTROLLER_OAUTH_TOKEN": TOKEN}
                ),
                "HOME": str(self._directory),
            },
        )
        return Done(done.returncode, done.stdout)


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    """A controller on which nothing of ours is set up yet."""
    with FakeAwx() as awx:
        yield Controller(awx, tmp_path_factory.mktemp("controller"))
