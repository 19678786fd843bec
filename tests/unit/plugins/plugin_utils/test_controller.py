# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is set up in AWX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.controller import (
    Group,
    SetupError,
    Site,
    make_job_templates,
    make_schedules,
    make_workflows,
)

ROOT = Path(__file__).resolve().parents[4]
DATA: dict[str, Any] = yaml.safe_load((ROOT / "playbooks" / "vars" / "job_templates.yml").read_text(encoding="utf-8"))
TEMPLATES = DATA["job_templates"]
SITE = Site(project="Operations", inventory="Azure")
# The types of AWX's surveys, and what an answer to each is.
ANSWERS = {
    "text": str,
    "textarea": str,
    "password": str,
    "multiplechoice": str,
    # In a default, each line is a choice.
    "multiselect": str,
    "integer": int,
    "float": float,
}


@pytest.mark.parametrize("key", TEMPLATES)
def test_given_a_template_when_it_is_launched_then_variables_come_through(key: str) -> None:
    assert TEMPLATES[key]["ask_variables_on_launch"] is True


@pytest.mark.parametrize("key", TEMPLATES)
def test_given_a_template_for_a_fleet_when_it_is_launched_then_nothing_makes_it_smaller(key: str) -> None:
    (made,) = make_job_templates(TEMPLATES, SITE, only=[key])
    prompts = ("inventory", "job_slice_count", "job_type", "skip_tags", "tags")

    assert not any(made[f"ask_{prompt}_on_launch"] for prompt in prompts)
    assert made["job_slice_count"] == 1
    if "hosts_variable" in TEMPLATES[key]:
        assert made["ask_limit_on_launch"] is False


def test_given_what_takes_machines_out_when_it_is_launched_then_none_of_those_it_counts_can_be_left_out() -> None:
    """A limit on redeploy_early would also leave out handle_events_hosts, which it counts."""
    limited = {key for key, template in TEMPLATES.items() if template["ask_limit_on_launch"]}

    assert limited == {"drain", "restore", "install_agent", "status"}


@pytest.mark.parametrize("key", TEMPLATES)
def test_given_a_survey_when_it_is_read_then_its_questions_are_of_awx_types(key: str) -> None:
    for question in TEMPLATES[key]["survey"]:
        assert isinstance(question["required"], bool)
        assert question["type"] in ANSWERS
        if "default" in question:
            assert isinstance(question["default"], ANSWERS[question["type"]])
        if "choices" in question:
            assert all(isinstance(choice, str) for choice in question["choices"])
            default = question.get("default", question["choices"][0])
            chosen = default.splitlines() if question["type"] == "multiselect" else [default]
            assert set(chosen) <= set(question["choices"])


@pytest.mark.parametrize("key", TEMPLATES)
def test_given_a_question_when_it_has_an_answer_of_its_own_then_a_launch_need_not_answer_it(key: str) -> None:
    """Over the API, the controller refuses a launch that does not answer what is required, default or not."""
    for question in TEMPLATES[key]["survey"]:
        assert question["required"] is ("default" not in question), question["variable"]


@pytest.mark.parametrize("key", TEMPLATES)
def test_given_a_question_when_it_has_to_be_answered_then_with_something(key: str) -> None:
    """The controller takes an empty text for an answer, unless the question says how long it is."""
    for question in TEMPLATES[key]["survey"]:
        if question["required"]:
            assert question["type"] == "text"
            assert question["min"] == 1, question["variable"]


@pytest.mark.parametrize("key", TEMPLATES)
def test_given_what_the_inventory_says_of_service_when_a_survey_is_read_then_it_does_not_ask_for_that(key: str) -> None:
    """A question that nobody answers comes as an empty text, or as null, and counts for more than the inventory."""
    asked = [question["variable"] for question in TEMPLATES[key]["survey"]]

    assert [variable for variable in asked if variable.startswith("handle_events_")] == []


@pytest.mark.parametrize("key", TEMPLATES)
def test_given_a_template_then_its_playbook_exists_in_the_project(key: str) -> None:
    name = TEMPLATES[key].get("playbook", f"{key}.yml")
    plays = yaml.safe_load((ROOT / "extensions" / "awx" / "project" / name).read_text(encoding="utf-8"))

    for play in plays:
        imported = play.get("ansible.builtin.import_playbook")
        assert imported is None or (ROOT / "playbooks" / f"{imported.rpartition('.')[2]}.yml").is_file()


def test_given_what_works_on_machines_and_in_azure_when_a_template_is_made_then_it_has_both_credentials() -> None:
    site = SITE._replace(machine_credentials=["Machines"], azure_credentials=["Azure"])

    (made,) = make_job_templates(TEMPLATES, site, only=["redeploy_early"])

    assert made["credentials"] == ["Machines", "Azure"]
    assert (made["ask_limit_on_launch"], made["allow_simultaneous"]) == (False, False)


def test_given_what_works_on_no_machine_when_a_template_is_made_then_it_does_not_become_root() -> None:
    made = make_job_templates(TEMPLATES, SITE)

    plain = [template["playbook"] for template in made if not template["become_enabled"]]
    assert plain == ["terminate_notifications.yml", "notify.yml", "report.yml"]


def test_given_groups_when_templates_are_made_then_each_group_has_its_own_of_those_for_a_fleet() -> None:
    groups = [Group("web", "web"), Group("db", "databases", "Europe", ["europe"])]

    made = make_job_templates(TEMPLATES, SITE._replace(name_prefix="A: "), groups, ["handle_events", "drain"])

    assert [(template["name"], template["extra_vars"], template["inventory"]) for template in made] == [
        ("A: Handle maintenance (web)", {"handle_events_hosts": "web"}, "Azure"),
        ("A: Handle maintenance (db)", {"handle_events_hosts": "databases"}, "Europe"),
        ("A: Drain machines", {}, "Azure"),
    ]
    assert made[1]["instance_groups"] == ["europe"]
    # Others may not reach its machines, which would then count as silent.
    assert [template["prevent_instance_group_fallback"] for template in made] == [False, True, False]


def test_given_the_name_of_the_controller_when_templates_are_made_then_those_that_run_alone_know_it() -> None:
    made = make_job_templates(TEMPLATES, SITE._replace(controller="c1"))

    assert {
        template["playbook"]: template["extra_vars"]
        for template in made
        if "handle_events_runs_alone" in template["extra_vars"]
    } == {"handle_events.yml": {"handle_events_controller": "c1", "handle_events_runs_alone": True}}
    assert [one["name"] for one in made if one["playbook"] == "handle_events.yml" and not one["extra_vars"]] == [
        "Plan maintenance"
    ]


def test_given_minutes_when_schedules_are_made_then_each_template_for_a_whole_fleet_has_one() -> None:
    site = SITE._replace(every_minutes=5, name_prefix="A: ")
    groups = [Group("web", "web"), Group("db", "databases")]

    assert [one["name"] for one in make_schedules(TEMPLATES, site, groups)] == [
        "A: Handle maintenance (web), every 5 minutes",
        "A: Handle maintenance (db), every 5 minutes",
    ]
    assert [one["unified_job_template"] for one in make_schedules(TEMPLATES, site)] == ["A: Handle maintenance"]
    assert make_schedules(TEMPLATES, site, only=["plan"]) == make_schedules(TEMPLATES, SITE) == []
    with pytest.raises(SetupError, match="controller_setup_every_minutes is 90: it must be from 1 to 60"):
        make_schedules(TEMPLATES, site._replace(every_minutes=90))


def test_given_forks_and_notifications_when_templates_are_made_then_all_have_them() -> None:
    (made,) = make_job_templates(
        TEMPLATES, SITE._replace(forks=50, notifications_on_failure=["Pager"]), only=["handle_events"]
    )

    assert (made["forks"], made["notification_templates_error"]) == (50, ["Pager"])


def test_given_groups_when_workflows_are_made_then_each_has_the_templates_of_its_group() -> None:
    workflows = make_workflows(
        DATA["workflow_job_templates"], TEMPLATES, SITE, [Group("web", "web"), Group("db", "databases")]
    )

    assert [
        [node.get("unified_job_template") for node in workflow["simplified_workflow_nodes"]] for workflow in workflows
    ] == [
        ["Plan maintenance (web)", None, "Handle maintenance (web)", "Report on maintenance"],
        ["Plan maintenance (db)", None, "Handle maintenance (db)", "Report on maintenance"],
    ]


def test_given_few_templates_when_workflows_are_made_then_only_those_that_have_all_they_need() -> None:
    few = make_workflows(DATA["workflow_job_templates"], TEMPLATES, SITE, only=["plan", "handle_events"])
    all_of_them = make_workflows(
        DATA["workflow_job_templates"], TEMPLATES, SITE, only=["plan", "handle_events", "report"]
    )

    assert few == []
    assert len(all_of_them) == 1


def test_given_two_groups_of_one_name_when_templates_are_made_then_the_name_is_reported() -> None:
    with pytest.raises(SetupError, match=r"controller_setup_groups: two .* Handle maintenance \(web\)"):
        make_job_templates(TEMPLATES, SITE, [Group("web", "web"), Group("web", "more_web")])


def test_given_a_misspelt_template_when_it_is_asked_for_then_the_right_one_is_reported() -> None:
    with pytest.raises(SetupError, match="controller_setup_only: drian is not a job template: did you mean drain"):
        make_job_templates(TEMPLATES, SITE, only=["drian"])
