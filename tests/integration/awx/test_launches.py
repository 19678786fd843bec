# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller takes the launches that the rulebooks send, with the job templates as they are shipped."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import yaml
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.controller import Site, make_job_templates

from tests.integration.awx.conftest import ROOT
from tests.integration.awx.fake_awx import TOKEN, FakeAwx

DATA = yaml.safe_load((ROOT / "playbooks" / "vars" / "job_templates.yml").read_text(encoding="utf-8"))
SITE = Site(project="Operations", inventory="Azure", name_prefix="Azure events: ")


class Launched(NamedTuple):
    """What became of a launch. `job` is empty when it was refused."""

    status: int
    answer: dict[str, Any]
    job: dict[str, Any]


class Controller:
    """A controller with all job templates."""

    def __init__(self, awx: FakeAwx) -> None:
        self._awx = awx
        organization = awx.add("organizations", "Default")
        inventory = awx.add("inventories", "Azure", organization=organization)
        made = make_job_templates(DATA["job_templates"], SITE)
        project = awx.add(
            "projects", "Operations", organization=organization, playbooks=[one["playbook"] for one in made]
        )
        self._names = [one["name"] for one in made]
        for one in made:
            fields = {key: value for key, value in one.items() if key not in ("survey_spec", "credentials")}
            fields.update(organization=organization, inventory=inventory, project=project)
            status, answer = self._post("/api/v2/job_templates/", {**fields, "extra_vars": "{}"})
            assert status == 201, answer
            if "survey_spec" in one:
                status, answer = self._post(answer["related"]["survey_spec"], one["survey_spec"])
                assert status == 200, answer

    def launch(self, name: str, variables: dict[str, Any], **fields: Any) -> Launched:
        """Launch a job template over the API."""
        before = len(self._awx.jobs)
        path = self._awx.named("job_templates", name)["related"]["launch"]
        status, answer = self._post(path, {"extra_vars": variables, **fields})
        return Launched(status, answer, self._awx.jobs[-1] if len(self._awx.jobs) > before else {})

    def _post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._awx.url + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@pytest.fixture(scope="module")
def controller() -> Iterator[Controller]:
    with FakeAwx() as awx:
        yield Controller(awx)


def actions() -> Iterator[Any]:
    """Each launch of each rulebook: the name of the job template, and the variables, which stand as they are."""
    for path in sorted((ROOT / "extensions" / "eda" / "rulebooks").glob("*_job.yml")):
        for ruleset in yaml.safe_load(path.read_text(encoding="utf-8")):
            for rule in ruleset["rules"]:
                action = rule["action"]["run_job_template"]
                name = action["name"].split("default('")[1].split("')")[0]
                variables = action.get("job_args", {}).get("extra_vars", {})
                yield pytest.param(name, variables, id=f"{path.stem}-{rule['name']}".replace(" ", "_"))


@pytest.mark.parametrize(("name", "variables"), list(actions()))
def test_given_a_rulebook_when_it_launches_a_job_template_then_the_job_has_all_that_was_sent(
    controller: Controller, name: str, variables: dict[str, Any]
) -> None:
    # As ansible-rulebook launches: with the hosts of the ruleset as a limit.
    launched = controller.launch(name, variables, limit="all,localhost")

    assert launched.status == 201, launched.answer
    assert "extra_vars" not in launched.answer["ignored_fields"]
    assert {key: launched.job["extra_vars"][key] for key in variables} == variables


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("Drain machines", "drain_hosts"),
        ("Restore machines", "restore_hosts"),
        ("Move machines early", "redeploy_early_hosts"),
    ],
)
def test_given_a_job_for_chosen_machines_when_they_are_sent_alone_then_the_survey_says_the_rest(
    controller: Controller, name: str, variable: str
) -> None:
    survey = next(one["survey"] for one in DATA["job_templates"].values() if one["name"] == name)

    launched = controller.launch(f"Azure events: {name}", {variable: "web1"})

    assert launched.status == 201, launched.answer
    defaults = {question["variable"]: question["default"] for question in survey if "default" in question}
    assert launched.job["extra_vars"] == {variable: "web1", **defaults}


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("Drain machines", "drain_hosts"),
        ("Restore machines", "restore_hosts"),
        ("Move machines early", "redeploy_early_hosts"),
    ],
)
@pytest.mark.parametrize("variables", [{}, {"azure_event": {}}, ""], ids=["nothing", "others", "empty"])
def test_given_a_job_for_chosen_machines_when_none_are_named_then_it_is_refused(
    controller: Controller, name: str, variable: str, variables: Any
) -> None:
    launched = controller.launch(f"Azure events: {name}", {variable: ""} if variables == "" else variables)

    assert launched.status == 400
    assert launched.job == {}


def test_given_a_fleet_when_its_job_is_launched_with_a_limit_then_no_limit_arrives(controller: Controller) -> None:
    launched = controller.launch("Azure events: Handle maintenance", {"azure_event": {"id": "A"}}, limit="web1")

    assert launched.answer["ignored_fields"] == {"limit": "web1"}
    assert (launched.job["limit"], launched.job["extra_vars"]) == ("", {"azure_event": {"id": "A"}})
