# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The job templates' playbooks run as AWX runs them.

That is by ansible-runner, from a project that cannot be written, with nobody to answer a question; what a survey was
answered comes as text that is never a template, among variables of AWX's own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ansible_runner
import pytest
import yaml
from azure_simulator.arm import certificate
from azure_simulator.testing import Simulator

from tests.integration.awx.conftest import PATIENCE, ROOT
from tests.integration.playbooks.fleet import Fleet

TEMPLATES = yaml.safe_load((ROOT / "playbooks" / "vars" / "job_templates.yml").read_text(encoding="utf-8"))[
    "job_templates"
]
SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-777777777777"


class _Unsafe(str):
    """What somebody has typed: AWX marks it, so that it is never a template."""


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(_Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text)))


class Job(NamedTuple):
    """What became of a job."""

    status: str
    output: str
    artifacts: dict[str, Any]
    """What its playbook has handed on with set_stats."""


class Launcher:
    """Runs jobs, each in a private data directory of its own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0

    def launch(
        self, template: str, inventory: Path, answers: dict[str, str], environment: dict[str, str] | None = None
    ) -> Job:
        """Run a template's job. What the survey does not answer has the survey's default, if it has one."""
        self._count += 1
        private = self._directory / f"awx_{self._count}"
        project = private / "project"
        shutil.copytree(ROOT / "extensions" / "awx" / "project", project / "azure_events")
        (private / "inventory").mkdir()
        shutil.copy(inventory, private / "inventory" / "hosts.yml")
        (private / "env").mkdir()
        defaults = {
            question["variable"]: question["default"]
            for question in TEMPLATES[template]["survey"]
            if "default" in question
        }
        variables = {name: _Unsafe(value) for name, value in {**defaults, **answers}.items()}
        own = {
            f"{prefix}_{name}": value
            for prefix in ("awx", "tower")
            for name, value in {"job_id": self._count, "job_launch_type": "manual", "user_name": "operator"}.items()
        }
        text = yaml.dump({**variables, **own}, Dumper=_Dumper)
        (private / "env" / "extravars").write_text(text, encoding="utf-8")
        with _read_only(project):
            run = ansible_runner.run(
                private_data_dir=str(private),
                project_dir=str(project),
                playbook="azure_events/" + TEMPLATES[template].get("playbook", f"{template}.yml"),
                cmdline="--check" if TEMPLATES[template]["job_type"] == "check" else None,
                envvars={
                    "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache" / "collections"),
                    "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True",
                    "ANSIBLE_RETRY_FILES_ENABLED": "False",
                    "AWX_PRIVATE_DATA_DIR": str(private),
                    "JOB_ID": str(self._count),
                    **(environment or {}),
                },
                quiet=True,
                timeout=PATIENCE,
            )
        artifacts: dict[str, Any] = {}
        for event in run.events:
            if event["event"] == "playbook_on_stats":
                artifacts = event["event_data"].get("artifact_data", {})
        with run.stdout as output:
            return Job(run.status, output.read(), artifacts)


@contextlib.contextmanager
def _read_only(directory: Path) -> Iterator[None]:
    """Let nothing be written there. Root may write all the same, so what is there is compared as well."""
    found = {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
    writable = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    for path in [directory, *found]:
        path.chmod(path.stat().st_mode & ~writable)
    try:
        yield
        assert {path: path.stat().st_mtime_ns for path in directory.rglob("*")} == found
    finally:
        for path in [directory, *found]:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


class Story:
    """A fleet of two, and the jobs that were launched on it."""

    def __init__(self, fleet: Fleet, launcher: Launcher) -> None:
        self.hosts = fleet.hosts
        inventory = fleet.write_inventory()
        fleet.event("Reboot", fleet.hosts[0])
        # As an inventory's variables, an execution environment's or a credential's would say it.
        environment = {
            name: value
            for name, value in fleet.environment.items()
            if name.startswith("FLEET_") or os.environ.get(name) != value
        }
        self.jobs: dict[str, Job] = {}
        self.serving: dict[str, list[bool]] = {}
        for moment, template, answers in (
            ("planned", "plan", {}),
            (
                "not_confirmed",
                "rehearse",
                {"rehearse_hosts": "all", "rehearse_endpoint": "", "rehearse_simulator_host": "h"},
            ),
            ("drained", "drain", {"drain_hosts": "host1"}),
            # As a survey says what nobody has filled in.
            ("restored", "restore", {"restore_hosts": "host1", "restore_serial": ""}),
            ("reported", "report", {}),
        ):
            self.jobs[moment] = launcher.launch(template, inventory, answers, environment)
            self.serving[moment] = [host.is_serving() for host in fleet.hosts]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """One job after the other, each by its template."""
    directory = tmp_path_factory.mktemp("controller")
    with Fleet(directory / "fleet", 33, 2) as fleet:
        yield Story(fleet, Launcher(directory))


def test_given_an_announced_event_when_it_is_planned_then_the_plan_is_told_and_nothing_is_touched(story: Story) -> None:
    job = story.jobs["planned"]

    assert job.status == "successful", job.output
    assert "Batch 1 of 1: host0" in job.output
    assert story.serving["planned"] == [True, True]


def test_given_false_in_a_survey_when_a_rehearsal_is_launched_then_it_is_no_confirmation(story: Story) -> None:
    job = story.jobs["not_confirmed"]

    assert job.status == "failed"
    assert "set rehearse_confirmed to true" in " ".join(job.output.split())


def test_given_a_machine_in_a_survey_when_it_is_drained_and_restored_then_it_alone(story: Story) -> None:
    assert [story.jobs[moment].status for moment in ("drained", "restored")] == ["successful", "successful"]
    assert (story.serving["drained"], story.serving["restored"]) == ([True, False], [True, True])


def test_given_no_results_when_the_report_runs_then_it_says_so(story: Story) -> None:
    assert story.jobs["reported"].status == "successful"
    assert "No job before this one has left any results." in story.jobs["reported"].output


def test_given_an_azure_credential_when_deletions_are_announced_then_its_variables_sign_in(
    tmp_path: Path,
) -> None:
    """The credential comes in the variables that AWX sets for it, and the survey's minutes as text."""
    client, secret, tenant = ("%s-aaaa-4bbb-8ccc-777777777777" % (digit * 8) for digit in "c9d")
    trusted = certificate.make(tmp_path)
    estate = {
        "vms": [{"name": "web_0", "address": "127.0.79.96", "scale_set": "web", "resource_group": "shop"}],
        "arm": {
            "subscription_id": SUBSCRIPTION,
            "tenant_id": tenant,
            "clients": [{"client_id": client, "secret": secret}],
            "tls": {"certificate": str(trusted.certificate), "private_key": str(trusted.private_key)},
            "operation_seconds": 0.1,
            "instance_seconds": 0.1,
            "retry_after": 1,
        },
    }
    inventory = tmp_path / "hosts.yml"
    variables = {"terminate_notifications_scale_sets": [{"name": "web", "resource_group": "shop"}]}
    inventory.write_text(yaml.safe_dump({"all": {"vars": variables}}), encoding="utf-8")
    with Simulator(estate, tmp_path) as azure:
        job = Launcher(tmp_path).launch(
            "terminate_notifications",
            inventory,
            {"terminate_notifications_not_before_timeout": "7m"},
            {
                "AZURE_CLIENT_ID": client,
                "AZURE_SECRET": secret,
                "AZURE_TENANT": tenant,
                "AZURE_SUBSCRIPTION_ID": SUBSCRIPTION,
                "AZURE_ADFS_AUTHORITY_URL": azure.arm_tls,
                "FOGHORN_ARM_BASE_URL": azure.arm_tls,
                "REQUESTS_CA_BUNDLE": str(trusted.certificate),
            },
        )
        assert job.status == "successful", job.output
        assert secret not in job.output
        (scale_set,) = azure.status()["arm"]["scale_sets"].values()
        assert [instance["terminate_notice"] for instance in scale_set["instances"].values()] == [420]
