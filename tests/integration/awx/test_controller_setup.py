# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook controller_setup, with awx.awx itself, against an API that behaves as AWX's does."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.awx.conftest import AWX_COLLECTION, Controller, Done
from tests.integration.awx.fake_awx import INSTALL_UUID, PASSWORD, TOKEN

# Each takes as long as three other tests; what the others are is a matter of data.
SOME = ["handle_events", "plan", "drain", "restore", "terminate_notifications", "report"]
GROUP = {"name": "web", "hosts": "web", "instance_groups": ["europe"]}


class Site:
    """A controller that was set up twice, and what was seen."""

    def __init__(self, controller: Controller) -> None:
        self.awx = controller.awx
        self.foreseen = controller.set_up("--check", controller_setup_only=["drain"])
        self.changed_by_a_check = list(self.awx.requests)
        some: dict[str, Any] = {
            "controller_setup_groups": [GROUP],
            "controller_setup_only": SOME,
            "controller_setup_forks": 50,
            "controller_setup_notifications_on_failure": ["Pager"],
            "controller_setup_every_minutes": 5,
            "controller_setup_preflight_host": "web1",
        }
        self.first = controller.set_up(**some)
        self.awx.requests.clear()
        self.signed_in_by_token = self.awx.signed_in
        self.second = controller.set_up(by_password=True, **some)
        self.changed_by_the_second = list(self.awx.requests)

    def template(self, name: str) -> dict[str, Any]:
        """A job template, as the API shows it."""
        return self.awx.named("job_templates", f"Azure events: {name}")

    def launch(self, name: str, **body: Any) -> tuple[int, dict[str, Any]]:
        """Launch a job template, as a webhook does; returns the status and the answer."""
        request = urllib.request.Request(
            self.awx.url + self.template(name)["related"]["launch"],
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    @property
    def job(self) -> dict[str, Any]:
        """The job that was launched last."""
        return self.awx.jobs[-1]


@pytest.fixture(scope="module")
def site(controller: Controller) -> Site:
    return Site(controller)


def test_given_a_bare_controller_when_it_is_checked_then_changes_are_predicted_and_none_is_made(site: Site) -> None:
    assert site.foreseen.status == 0, site.foreseen.output
    assert "changed: [localhost] => (item=Azure events: Drain machines)" in site.foreseen.output
    assert site.changed_by_a_check == []


def test_given_a_bare_controller_when_it_is_set_up_then_the_templates_are_there(site: Site) -> None:
    assert site.first.status == 0, site.first.output
    assert {item["name"].removeprefix("Azure events: ") for item in site.awx.objects["job_templates"].values()} == {
        "Handle maintenance (web)",
        "Plan maintenance (web)",
        "Drain machines",
        "Restore machines",
        "Announce deletions",
        "Report on maintenance",
    }


def test_given_a_controller_that_was_set_up_when_it_is_set_up_again_then_nothing_changes(site: Site) -> None:
    assert site.second.status == 0, site.second.output
    assert re.search(r"localhost +: ok=\d+ +changed=0 ", site.second.output), site.second.output
    # The preflight asks each time.
    assert site.changed_by_the_second == [("POST", "/api/v2/ad_hoc_commands/")]


def test_given_a_name_and_a_password_when_it_is_set_up_then_no_token_outlives_the_run(site: Site) -> None:
    assert site.signed_in_by_token == 0
    assert site.awx.signed_in > 0
    assert site.awx.tokens == {}
    assert "Failed to release token" not in site.second.output
    assert PASSWORD not in site.second.output


def test_given_handle_maintenance_when_a_webhook_launches_it_then_the_event_arrives_and_a_limit_does_not(
    site: Site,
) -> None:
    status, answer = site.launch("Handle maintenance (web)", extra_vars={"azure_event": {"id": "A"}}, limit="web1")

    assert status == 201
    assert answer["ignored_fields"] == {"limit": "web1"}
    assert site.job["extra_vars"] == {
        "handle_events_hosts": "web",
        "handle_events_controller": INSTALL_UUID,
        "handle_events_runs_alone": True,
        "azure_event": {"id": "A"},
    }
    assert site.job["limit"] == ""
    assert site.template("Handle maintenance (web)")["allow_simultaneous"] is False


@pytest.mark.parametrize(("name", "variable"), [("Drain", "drain_hosts"), ("Restore", "restore_hosts")])
def test_given_a_template_for_chosen_machines_when_it_is_launched_without_machines_then_it_is_refused(
    site: Site, name: str, variable: str
) -> None:
    refused = site.launch(f"{name} machines", extra_vars={"azure_event": {}})
    taken = site.launch(f"{name} machines", extra_vars={variable: "web1"}, limit="web1")

    assert refused == (400, {"variables_needed_to_start": [f"'{variable}' value missing"]})
    assert taken[1]["ignored_fields"] == {}
    assert (site.job["extra_vars"][variable], site.job["limit"]) == ("web1", "web1")


def test_given_the_templates_when_they_are_checked_then_each_has_what_its_jobs_need(site: Site) -> None:
    machines, azure = (site.awx.named("credentials", name)["id"] for name in ("Machines", "Azure"))
    found = {
        name: (
            site.awx.linked("job_templates", site.template(name)["id"], "credentials"),
            site.template(name)["playbook"],
            site.template(name)["job_type"],
        )
        for name in ("Plan maintenance (web)", "Announce deletions", "Report on maintenance")
    }

    assert found == {
        "Plan maintenance (web)": ([machines], "azure_events/handle_events.yml", "check"),
        "Announce deletions": ([azure], "azure_events/terminate_notifications.yml", "run"),
        "Report on maintenance": ([], "azure_events/report.yml", "run"),
    }
    europe = site.awx.named("instance_groups", "europe")["id"]
    linked = site.awx.linked("job_templates", site.template("Handle maintenance (web)")["id"], "instance_groups")
    assert linked == [europe]
    assert site.template("Handle maintenance (web)")["prevent_instance_group_fallback"] is True
    assert site.template("Drain machines")["prevent_instance_group_fallback"] is False


def test_given_a_schedule_notifications_and_forks_when_it_is_set_up_then_they_are_there(site: Site) -> None:
    template = site.template("Handle maintenance (web)")
    (schedule,) = site.awx.objects["schedules"].values()

    assert schedule["unified_job_template"] == template["id"]
    assert schedule["name"] == "Azure events: Handle maintenance (web), every 5 minutes"
    assert schedule["rrule"] == "DTSTART:20260101T000000Z RRULE:FREQ=MINUTELY;INTERVAL=5"
    assert template["forks"] == 50
    pager = site.awx.named("notification_templates", "Pager")["id"]
    assert site.awx.linked("job_templates", template["id"], "notification_templates_error") == [pager]


def test_given_a_host_for_the_preflight_when_it_is_set_up_then_the_controller_asks_it_as_jobs_will(site: Site) -> None:
    first, *_others = site.awx.objects["ad_hoc_commands"].values()

    assert (first["module_name"], first["limit"]) == ("ping", "web1")
    assert first["credential"] == site.awx.named("credentials", "Machines")["id"]
    assert first["execution_environment"] == site.awx.named("execution_environments", "azure-events")["id"]


def test_given_the_workflow_when_it_is_followed_then_a_plan_is_approved_handled_and_reported(site: Site) -> None:
    nodes = {number: item["identifier"] for number, item in site.awx.objects["workflow_job_template_nodes"].items()}
    links = {
        (nodes[number], nodes[after], kind)
        for (of, number, kind), linked in site.awx.links.items()
        if of == "workflow_job_template_nodes"
        for after in linked
    }

    assert links == {
        ("plan", "approve", "success_nodes"),
        ("approve", "handle", "success_nodes"),
        ("handle", "report", "always_nodes"),
    }
    (approval,) = site.awx.objects["workflow_approval_templates"].values()
    assert approval["timeout"] == 600


def test_given_a_file_when_it_is_written_then_it_has_what_the_modules_take_and_no_controller_is_asked(
    controller: Controller, tmp_path: Path
) -> None:
    file = tmp_path / "controller_objects.yml"
    controller.awx.requests.clear()

    done: Done = controller.set_up(controller_setup_file=str(file))

    assert done.status == 0, done.output
    assert controller.awx.requests == []
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert set(written) == {"controller_templates", "controller_workflows", "controller_schedules"}
    modules = AWX_COLLECTION / "ansible_collections" / "awx" / "awx" / "plugins" / "modules"
    for module, objects in {
        "job_template": written["controller_templates"],
        "workflow_job_template": [
            {key: value for key, value in workflow.items() if key != "simplified_workflow_nodes"}
            for workflow in written["controller_workflows"]
        ],
        "workflow_job_template_node": [
            node for workflow in written["controller_workflows"] for node in workflow["simplified_workflow_nodes"]
        ],
    }.items():
        text = (modules / f"{module}.py").read_text(encoding="utf-8")
        taken = set(re.findall(r"^        (\w+)=dict\(", text, re.MULTILINE))
        assert objects
        assert set().union(*objects) <= taken, module


def test_given_no_collection_for_the_controller_when_it_is_set_up_then_it_says_so_once(
    controller: Controller, tmp_path: Path
) -> None:
    done = controller.set_up(collections=tmp_path)
    assert done.status != 0
    assert "ansible-galaxy collection install awx.awx" in done.output
    assert "failed=1" in done.output
    assert "Set up a job template" not in done.output


def test_given_unknown_names_when_it_is_set_up_then_each_is_named_and_nothing_is_changed(
    controller: Controller,
) -> None:
    controller.awx.requests.clear()

    done = controller.set_up(controller_setup_only=["handle_event"])

    assert done.status != 0
    assert "controller_setup_only: handle_event is not a job template: did you mean handle_events?" in " ".join(
        done.output.split()
    )
    assert controller.awx.requests == []
