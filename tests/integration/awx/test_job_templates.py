# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks of all job templates run as AWX runs them.

That is by ansible-runner, from a project that cannot be written, with nobody to answer a question; what a survey was
answered, and what a launch has sent, comes as text that is never a template, among variables of AWX's own, and with
what the job before it in a workflow has left.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
RUN = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Maintenance/maintenanceConfigurations/patches"
    "/providers/Microsoft.Maintenance/applyUpdates/20261122150000"
)


class _Unsafe(str):
    """What somebody has typed: AWX marks it, so that it is never a template."""


def _unsafe(value: Any) -> Any:
    """Mark all texts in what was answered or sent, at any depth."""
    if isinstance(value, str):
        return _Unsafe(value)
    if isinstance(value, dict):
        return {name: _unsafe(child) for name, child in value.items()}
    return [_unsafe(child) for child in value] if isinstance(value, list) else value


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
        self,
        template: str,
        inventory: Path,
        answers: dict[str, Any],
        environment: dict[str, str] | None = None,
        job_type: str = "",
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
        variables = _unsafe({**defaults, **answers})
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
                cmdline="--check" if (job_type or TEMPLATES[template]["job_type"]) == "check" else None,
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
    """Make it read-only. Root may write anyway, so the contents are compared as well."""
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


class Chat(ThreadingHTTPServer):
    """Receives the notifications."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _ChatHandler)
        self.told: list[Any] = []
        self._thread = threading.Thread(target=self.serve_forever)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Chat:
        self._thread.start()
        return self

    def __exit__(self, *details: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _ChatHandler(BaseHTTPRequestHandler):
    server: Chat

    def do_POST(self) -> None:
        self.server.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


class Story:
    """A fleet of two, and the jobs that were launched on it, one after the other."""

    def __init__(self, fleet: Fleet, launcher: Launcher, chat: Chat) -> None:
        self.hosts = fleet.hosts
        self.chat = chat
        self.event = fleet.event("Reboot", fleet.hosts[0], notice=3000)
        for host in fleet.hosts:
            host.variables["redeploy_early_endpoint"] = fleet.azure.imds[host.vm.lower()]
        self._fleet = fleet
        self._launcher = launcher
        self._inventory = fleet.write_inventory()
        # As an inventory's variables, an execution environment's or a credential's would say it.
        self._environment = {
            name: value
            for name, value in fleet.environment.items()
            if name.startswith("FLEET_") or os.environ.get(name) != value
        }
        self.jobs: dict[str, Job] = {}
        self.launched: set[str] = set()
        self.serving: dict[str, list[bool]] = {}
        self._launch("planned", "plan", ANSIBLE_STDOUT_CALLBACK="foghorn.azure_events.fleet")
        not_confirmed = {"rehearse_hosts": "all", "rehearse_endpoint": "", "rehearse_simulator_host": "h"}
        self._launch("not_confirmed", "rehearse", not_confirmed)
        self._launch("drained", "drain", {"drain_hosts": "host1"})
        self._launch("looked", "status")
        # Nobody signs in to Azure: that is a note.
        endpoint = fleet.azure.imds[self.hosts[1].vm.lower()]
        where = {"doctor_endpoint": endpoint, "doctor_sign_in": {"auth_source": "env"}}
        self._launch("examined", "doctor", where)
        # As a survey says what nobody has filled in.
        self._launch("restored", "restore", {"restore_hosts": "host1", "restore_serial": ""})
        night = {"from": "22:00", "to": "05:00", "time_zone": "+10:00"}
        at_night = {"redeploy_early_hosts": "all", "redeploy_early_between": [night]}
        self._launch("not_moved", "redeploy_early", at_night)
        self._launch("not_upgraded", "handle_os_upgrades", {"handle_os_upgrades_hosts": "all"})
        with self._time_passing_once_approved():
            self._launch("handled", "handle_events", self.jobs["planned"].artifacts)
        self._launch("reported", "report", self.jobs["handled"].artifacts)
        # What looks like a number or a date comes as one.
        event = {
            "not_before": "2026-11-22T12:00:00Z",
            "event_id": "A",
            "event_type": "Preempt",
            "event_status": "Scheduled",
            "resources": ["{{ 7 * 7 }}", "12"],
        }
        self._launch("told", "notify", {"notify_event": event, "notify_urls": [chat.url]})
        begins = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2400))
        updates = {"hosts": "host1", "run_id": RUN, "start": begins}
        self._launch(
            "prepared", "prepare_for_updates", {f"prepare_for_updates_{name}": updates[name] for name in updates}
        )
        # It would be installed on this machine.
        self._launch("not_installed", "install_agent", {"install_agent_hosts": "host0"}, job_type="check")

    def _launch(
        self,
        moment: str,
        template: str,
        answers: dict[str, Any] | None = None,
        job_type: str = "",
        **environment: str,
    ) -> None:
        self.jobs[moment] = self._launcher.launch(
            template, self._inventory, answers or {}, self._environment | environment, job_type=job_type
        )
        self.launched.add(template)
        self.serving[moment] = [host.is_serving() for host in self.hosts]

    @contextlib.contextmanager
    def _time_passing_once_approved(self) -> Iterator[None]:
        ended = threading.Event()

        def pass_time() -> None:
            while not ended.wait(0.5):
                if self._fleet.is_approved(self.event):
                    self._fleet.azure.advance(20000)  # seconds; longer than any event
                    return

        thread = threading.Thread(target=pass_time)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """One job after the other, each by its template."""
    directory = tmp_path_factory.mktemp("controller")
    with Fleet(directory / "fleet", 33, 2) as fleet, Chat() as chat:
        yield Story(fleet, Launcher(directory), chat)


def test_given_the_templates_when_they_are_counted_then_each_has_been_launched(story: Story) -> None:
    # The last in a test of its own, with Azure's credential.
    assert story.launched | {"terminate_notifications"} == set(TEMPLATES)


def test_given_a_survey_without_answers_then_the_doctor_shows_its_table_and_succeeds(
    story: Story,
) -> None:
    job = story.jobs["examined"]
    assert job.status == "successful", job.output
    assert "ok      host1: metadata service: answers" in job.output
    assert "note    Azure: sign-in: nothing could be asked: " in job.output


def test_given_an_announced_event_when_it_is_planned_then_the_plan_is_shown_and_nothing_is_touched(
    story: Story,
) -> None:
    job = story.jobs["planned"]

    assert job.status == "successful", job.output
    assert "Batch 1 of 1: host0" in job.output
    assert "host0" in json.dumps(job.artifacts["handle_events_results"]), "for the next job of a workflow"
    assert story.serving["planned"] == [True, True]


def test_given_the_callback_fleet_in_the_settings_when_a_job_runs_then_it_shows_the_run_and_not_what_comes_and_goes(
    story: Story,
) -> None:
    job = story.jobs["planned"]

    assert re.search(r"^\S*\d\d:\d\d:\d\d Report", job.output, re.MULTILINE), job.output
    assert "\x1b[K" not in job.output


def test_given_false_in_a_survey_when_a_rehearsal_is_launched_then_it_is_no_confirmation(story: Story) -> None:
    job = story.jobs["not_confirmed"]

    assert job.status == "failed"
    assert "set rehearse_confirmed to true" in " ".join(job.output.split())


def test_given_a_machine_in_a_survey_when_it_is_drained_and_restored_then_it_alone(story: Story) -> None:
    assert [story.jobs[moment].status for moment in ("drained", "restored")] == ["successful", "successful"]
    assert (story.serving["drained"], story.serving["restored"]) == ([True, False], [True, True])


def test_given_a_machine_that_is_out_when_the_status_is_shown_then_it_says_since_when_and_for_whom(
    story: Story,
) -> None:
    job = story.jobs["looked"]

    assert job.status == "successful", job.output
    assert re.search(r"host1: out by hand since 20", " ".join(job.output.split())), job.output


def test_given_a_survey_that_names_machines_alone_when_none_of_them_is_to_fail_then_none_is_moved(story: Story) -> None:
    job = story.jobs["not_moved"]

    assert job.status == "successful", job.output
    assert re.search(r"host0: left alone: (no redeployment|it is outside)", " ".join(job.output.split())), job.output
    assert story.serving["not_moved"] == [True, True]


def test_given_hosts_whose_scale_sets_nobody_has_named_when_upgrades_are_handled_then_it_is_refused_by_name(
    story: Story,
) -> None:
    job = story.jobs["not_upgraded"]

    assert job.status == "failed"
    assert "handle_os_upgrades_scale_sets is not set" in " ".join(job.output.split()), job.output
    assert story.serving["not_upgraded"] == [True, True]


def test_given_an_announced_event_when_it_is_handled_then_the_next_job_can_report_what_became_of_it(
    story: Story,
) -> None:
    handled, reported = story.jobs["handled"], story.jobs["reported"]

    assert handled.status == "successful", handled.output
    assert "host0" in json.dumps(handled.artifacts["handle_events_results"])
    assert story.hosts[0].is_back()
    assert reported.status == "successful", reported.output
    assert "host0" in reported.output


def test_given_an_event_with_a_template_when_people_are_notified_then_it_stays_text(
    story: Story,
) -> None:
    assert story.jobs["told"].status == "successful", story.jobs["told"].output
    (told,) = story.chat.told
    assert told["text"].startswith("Preempt of {{ 7 * 7 }}, 12: Scheduled, not before 2026-11-22")
    assert told["event"]["resources"][0] == "{{ 7 * 7 }}"


def test_given_updates_when_they_are_prepared_for_then_the_machine_is_out(story: Story) -> None:
    assert story.jobs["prepared"].status == "successful", story.jobs["prepared"].output
    assert story.serving["prepared"] == [True, False]
    assert list(story.hosts[1].claimed()) == ["updates"]


def test_given_an_agent_to_install_when_it_is_checked_then_it_would_be(story: Story) -> None:
    job = story.jobs["not_installed"]

    assert job.status == "successful", job.output
    assert re.search(r"^host0 +: ok=\d+ +changed=[1-9]", re.sub(r"\x1b\[[0-9;]*m", "", job.output), re.MULTILINE)


def test_given_an_azure_credential_when_deletions_are_announced_then_its_variables_sign_in(
    tmp_path: Path,
) -> None:
    """The credential comes in the variables that AWX sets for it, and the survey's minutes as text."""
    client, secret, tenant = ("%s-aaaa-4bbb-8ccc-777777777777" % (digit * 8) for digit in "c9d")
    trusted = certificate.make(tmp_path)
    resources = {
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
    with Simulator(resources, tmp_path) as azure:
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
