# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What has to be set up on AWX or the automation controller.

Job templates as data, and what a site says about itself, become the arguments of awx.awx.job_template,
awx.awx.workflow_job_template and awx.awx.workflow_job_template_node. Those of ansible.controller are the same, and so
are the lists that infra.aap_configuration reads.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

MACHINES, AZURE, CONTROLLER = "machines", "azure", "controller"
MACHINES_AND_AZURE = "machines_and_azure"

# The fields that may be prompted for at launch and that decide which machines are changed, and how. A template that
# does not set one of them gets its default, because the controller keeps what somebody has set by hand in a field
# that is left out.
_CLOSED = {
    "ask_inventory_on_launch": False,
    "ask_job_slice_count_on_launch": False,
    "ask_job_type_on_launch": False,
    "ask_skip_tags_on_launch": False,
    "ask_tags_on_launch": False,
    "job_slice_count": 1,
    "job_tags": "",
    "limit": "",
    "skip_tags": "",
}


_MOST_MINUTES = 60


class SetupError(ValueError):
    """These variables cannot be set up. The message names the variable, its value and the remedy."""


class Site(NamedTuple):
    """The settings that differ between controllers. Names are names of the controller's objects."""

    project: str
    inventory: str
    organization: str = "Default"
    machine_credentials: Sequence[str] = ()
    azure_credentials: Sequence[str] = ()
    execution_environment: str = ""
    """Empty: the default of the project, the organization or the controller."""
    playbook_directory: str = ""
    """Where in the project the playbooks are; empty: at its top."""
    name_prefix: str = ""
    instance_groups: Sequence[str] = ()
    """Empty: those of the inventory or the organization."""
    controller: str = ""
    """A name or id that tells this controller from all others. Empty: not known."""
    forks: int = 0
    """How many machines a job works on at a time. 0: the controller's default."""
    notifications_on_failure: Sequence[str] = ()
    """Names of the notification templates that are used when a job fails."""
    every_minutes: int = 0
    """Minutes between jobs that handle the whole fleet. 0: no schedule."""


class Group(NamedTuple):
    """Machines that share a balancer or a scale set, and have a job template of their own."""

    name: str
    hosts: str
    """A pattern that matches these hosts and no others."""
    inventory: str = ""
    instance_groups: Sequence[str] = ()


def make_job_templates(
    templates: Mapping[str, Mapping[str, Any]], site: Site, groups: Sequence[Group] = (), only: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return the arguments of a job_template module for each template, or for those that `only` names.

    Where groups are given, each has its own of the templates that take a whole fleet. Raises SetupError.
    """
    _check_names("controller_setup_only", only, templates)
    made = []
    for key, template in templates.items():
        if only and key not in only:
            continue
        if groups and _is_for_a_fleet(template):
            made += [_job_template(key, template, site, group) for group in groups]
        else:
            made.append(_job_template(key, template, site, None))
    _check_unique([template["name"] for template in made])
    return made


def make_schedules(
    templates: Mapping[str, Mapping[str, Any]], site: Site, groups: Sequence[Group] = (), only: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return the arguments of a schedule module for each job template that is to run by itself. Raises SetupError."""
    if not site.every_minutes:
        return []
    if not 1 <= site.every_minutes <= _MOST_MINUTES:
        raise SetupError(
            "controller_setup_every_minutes is %d: it must be from 1 to %d" % (site.every_minutes, _MOST_MINUTES)
        )
    of_each: Sequence[Group | None] = groups or [None]
    names = [
        _name(template["name"], site, group)
        for key, template in templates.items()
        if template.get("is_scheduled") and (not only or key in only)
        for group in of_each
    ]
    return [
        {
            "name": "%s, every %d minutes" % (name, site.every_minutes),
            "description": "Handles events whose announcement was lost, and restores hosts that a failed job left out.",
            "unified_job_template": name,
            "organization": site.organization,
            "rrule": "DTSTART:20260101T000000Z RRULE:FREQ=MINUTELY;INTERVAL=%d" % site.every_minutes,
        }
        for name in names
    ]


def make_workflows(
    workflows: Mapping[str, Mapping[str, Any]],
    templates: Mapping[str, Mapping[str, Any]],
    site: Site,
    groups: Sequence[Group] = (),
    only: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the arguments of a workflow_job_template module for each workflow whose templates are all set up.

    Each has its nodes below `simplified_workflow_nodes`, as arguments of a workflow_job_template_node module.
    """
    made = []
    for workflow in workflows.values():
        if only and not {node["job_template"] for node in workflow["nodes"] if "job_template" in node} <= set(only):
            continue
        parts: Sequence[Group | None] = groups or [None]
        made += [_workflow(workflow, templates, site, group) for group in parts]
    return made


def _is_for_a_fleet(template: Mapping[str, Any]) -> bool:
    return "hosts_variable" in template


def _job_template(key: str, template: Mapping[str, Any], site: Site, group: Group | None) -> dict[str, Any]:
    directory = site.playbook_directory.strip("/")
    playbook = template.get("playbook", f"{key}.yml")
    made: dict[str, Any] = {
        "name": _name(template["name"], site, group),
        "description": template["description"],
        "organization": site.organization,
        "project": site.project,
        "playbook": f"{directory}/{playbook}" if directory else playbook,
        "inventory": (group.inventory if group else "") or site.inventory,
        "credentials": list(
            {
                MACHINES: site.machine_credentials,
                AZURE: site.azure_credentials,
                MACHINES_AND_AZURE: [*site.machine_credentials, *site.azure_credentials],
                CONTROLLER: (),
            }[template["runs_on"]]
        ),
        "job_type": template["job_type"],
        "become_enabled": template["become_enabled"],
        "allow_simultaneous": template["allow_simultaneous"],
        "ask_variables_on_launch": template["ask_variables_on_launch"],
        "ask_limit_on_launch": template["ask_limit_on_launch"],
        **_CLOSED,
        "extra_vars": _extra_vars(template, site, group),
        "survey_enabled": bool(template["survey"]),
    }
    if template["survey"]:
        # As the controller stores it: choices in lines, nothing added that it would not send back.
        made["survey_spec"] = {
            "name": "",
            "description": "",
            "spec": [
                {**question, "choices": "\n".join(question["choices"])} if "choices" in question else dict(question)
                for question in template["survey"]
            ],
        }
    if site.forks:
        made["forks"] = site.forks
    if site.notifications_on_failure:
        made["notification_templates_error"] = list(site.notifications_on_failure)
    if site.execution_environment:
        made["execution_environment"] = site.execution_environment
    instance_groups = (group.instance_groups if group else ()) or site.instance_groups
    # If these instance groups are full, the controller would run a job in others, which may not reach the machines.
    made["prevent_instance_group_fallback"] = bool(instance_groups)
    if instance_groups:
        made["instance_groups"] = list(instance_groups)
    return made


def _extra_vars(template: Mapping[str, Any], site: Site, group: Group | None) -> dict[str, Any]:
    """The variables of a template. If two of its jobs could run at a time, a later job would prove nothing about an
    earlier one.
    """
    found: dict[str, Any] = {template["hosts_variable"]: group.hosts} if group else {}
    if site.controller and _is_for_a_fleet(template) and not template["allow_simultaneous"]:
        found.update(handle_events_controller=site.controller, handle_events_runs_alone=True)
    return found


def _workflow(
    workflow: Mapping[str, Any], templates: Mapping[str, Mapping[str, Any]], site: Site, group: Group | None
) -> dict[str, Any]:
    nodes = []
    for node in workflow["nodes"]:
        made: dict[str, Any] = {"identifier": node["identifier"]}
        if "approval" in node:
            made["approval_node"] = dict(node["approval"])
        else:
            template = templates[node["job_template"]]
            made["unified_job_template"] = _name(template["name"], site, group if _is_for_a_fleet(template) else None)
            made["lookup_organization"] = site.organization
        made.update({links: list(node[links]) for links in ("success_nodes", "always_nodes") if links in node})
        nodes.append(made)
    return {
        "name": _name(workflow["name"], site, group),
        "description": workflow["description"],
        "organization": site.organization,
        "allow_simultaneous": workflow["allow_simultaneous"],
        "ask_variables_on_launch": workflow["ask_variables_on_launch"],
        "ask_limit_on_launch": workflow["ask_limit_on_launch"],
        "ask_inventory_on_launch": False,
        "simplified_workflow_nodes": nodes,
    }


def _name(name: str, site: Site, group: Group | None) -> str:
    return f"{site.name_prefix}{name}" + (f" ({group.name})" if group else "")


def _check_names(variable: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, list(known), 1)
            hint = f"did you mean {near[0]}? They" if near else "they"
            raise SetupError(f"{variable}: {name} is not a job template: {hint} are {', '.join(known)}")


def _check_unique(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SetupError(f"controller_setup_groups: two templates would be named {twice[0]}: name groups differently")
