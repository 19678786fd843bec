# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks that really run, against a simulated Azure with both its halves, over TLS, signed in with a secret."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from azure_simulator.arm import certificate
from azure_simulator.testing import Simulator

from tests import ansible_runs

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-777777777777"
TENANT = "99999999-aaaa-4bbb-8ccc-777777777777"
CLIENT = "cccccccc-aaaa-4bbb-8ccc-777777777777"
SECRET = "never.to~be+seen%anywhere"

# What the modules import that takes longest.
OURS = "ansible_collections.foghorn.azure_events.plugins.module_utils"
PRELOAD = f"azure.identity azure.mgmt.core requests {OURS}.arm.client {OURS}.arm.credentials"

FLEET: dict[str, Any] = {
    # In real time, so that no event runs out on a slow machine; but what may be quick is.
    "defaults": {"Terminate": {"impact": 0, "linger": 1}},
    "vms": [
        {"name": "web_{0..2}", "address": "127.0.79.0/28", "scale_set": "web"},
        {"name": "spot_0", "address": "127.0.79.32", "scale_set": "spot", "spot": True},
        {"name": "db", "address": "127.0.79.48"},
    ],
    "arm": {
        "subscription_id": SUBSCRIPTION,
        "tenant_id": TENANT,
        "clients": [{"client_id": CLIENT, "secret": SECRET}],
        "operation_seconds": 0.2,
        "instance_seconds": 0.2,
        "retry_after": 1,
    },
}


class Run(NamedTuple):
    """What a playbook did."""

    code: int
    output: str
    results: list[dict[str, Any]]
    """Of the tasks that were not left out, in their order."""

    @property
    def result(self) -> dict[str, Any]:
        """Of the last task."""
        return self.results[-1]


class Controller:
    """A controller with AWX's variables in its environment, and an Azure to control."""

    def __init__(self, azure: Simulator, directory: Path, trust: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.azure = azure
        self._directory = directory
        for name, value in {
            "AZURE_CLIENT_ID": CLIENT,
            "AZURE_SECRET": SECRET,
            "AZURE_TENANT": TENANT,
            "AZURE_SUBSCRIPTION_ID": SUBSCRIPTION,
            "AZURE_ADFS_AUTHORITY_URL": azure.arm_tls,
            "FOGHORN_ARM_BASE_URL": azure.arm_tls,
            "REQUESTS_CA_BUNDLE": trust,
            "HOME": str(directory),
        }.items():
            monkeypatch.setenv(name, value)

    def play(self, *tasks: Mapping[str, Any], arguments: tuple[str, ...] = ()) -> Run:
        """Run a play with these tasks on localhost."""
        noting = []
        for number, task in enumerate(tasks):
            noting.append({"name": "Task %d" % number, "register": "result_%d" % number, "ignore_errors": True, **task})
        report = self._directory / "results.json"
        report.unlink(missing_ok=True)
        names = ", ".join("result_%d" % number for number in range(len(tasks)))
        noting.append(
            {
                "name": "Note the results",
                "ansible.builtin.copy": {
                    "content": "{{ [%s] | to_json }}" % names,
                    "dest": str(report),
                    "mode": "0600",
                },
                "check_mode": False,
                "diff": False,
            }
        )
        play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": noting}
        run = self.run_playbook([play], arguments)
        return run._replace(results=json.loads(report.read_text()) if report.exists() else [])

    def run_playbook(self, content: list[Any] | str, arguments: tuple[str, ...] = ()) -> Run:
        """Run a playbook: its plays, or the name of one of the collection's."""
        name = content if isinstance(content, str) else "play.yml"
        if not isinstance(content, str):
            (self._directory / name).write_text(yaml.safe_dump(content, sort_keys=False))
        done = ansible_runs.run(
            *("-i", "localhost,", "-vvv", "-e", "ansible_connection=machine", name, *arguments),
            environment={"PRELOAD": PRELOAD},
            cwd=self._directory,
        )
        assert SECRET not in done.stdout
        return Run(done.returncode, done.stdout, [])

    def module(self, module: str, /, **options: Any) -> dict[str, Any]:
        """Run one module; return its result."""
        run = self.play({"foghorn.azure_events." + module: options})
        assert run.results, run.output
        return run.result

    def written(self) -> list[tuple[str, str, str]]:
        """Method, path and body of whatever was written to Resource Manager."""
        return [
            (entry["method"], entry["path"], entry.get("body", ""))
            for entry in self.azure.log()
            if entry.get("door") == "arm"
            and entry["method"] in ("PATCH", "PUT", "POST", "DELETE")
            and "oauth2" not in entry["path"]
        ]


@pytest.fixture(scope="session")
def throwaway(tmp_path_factory: pytest.TempPathFactory) -> certificate.Certificate:
    """A certificate that nobody trusts for long."""
    return certificate.make(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def controller(
    throwaway: certificate.Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Controller]]:
    """Start an Azure and a controller of it: `controller(vms=[…], arm={…})`."""
    with ExitStack() as running:

        def start(arm: Mapping[str, Any] | None = None, **fleet: Any) -> Controller:
            config = {**copy.deepcopy(FLEET), **fleet}
            config["arm"] = {
                **config["arm"],
                "tls": {"certificate": str(throwaway.certificate), "private_key": str(throwaway.private_key)},
                **(arm or {}),
            }
            azure = running.enter_context(Simulator(config, tmp_path))
            return Controller(azure, tmp_path, str(throwaway.certificate), monkeypatch)

        yield start
