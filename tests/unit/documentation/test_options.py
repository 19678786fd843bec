# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of all options has an example of each, and no example is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import read_policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.services import read_services
from foghorn_agent.config import parse_config
from foghorn_core.maintenance_policy.reader import Section

ROOT = Path(__file__).parents[3]
AGENT, FLEET, ROLES, NOTIFICATIONS = (
    yaml.safe_load(block)
    for block in re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs" / "options.md").read_text("utf-8"), re.M | re.S)
)
NO_EXAMPLE = {
    # On the command line, as the page says.
    "handle_events_hosts",
    # Written by a run, not read.
    "handle_events_results",
}


def spec_of(role: str) -> dict[str, Any]:
    specs = yaml.safe_load((ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text("utf-8"))
    spec: dict[str, Any] = specs["argument_specs"]["main"]["options"]
    return spec


def spec_of_fleet() -> dict[str, Any]:
    text = (ROOT / "playbooks" / "vars" / "handle_events.yml").read_text("utf-8")
    spec: dict[str, Any] = yaml.safe_load(text)["__handle_events_arguments"]
    return spec


@pytest.mark.parametrize(
    ("example", "spec"),
    [
        pytest.param(AGENT, spec_of("handler_agent"), id="agent"),
        pytest.param(FLEET, spec_of_fleet(), id="fleet"),
        pytest.param(ROLES, spec_of("load_balancer_removal") | spec_of("graceful_shutdown"), id="roles"),
        pytest.param(NOTIFICATIONS, spec_of("terminate_notifications"), id="notifications"),
    ],
)
def test_given_the_page_of_all_options_then_each_has_an_example_that_is_accepted(
    example: dict[str, Any], spec: dict[str, Any]
) -> None:
    assert set(example) == set(spec) - NO_EXAMPLE

    # A template stands for what it gives.
    values = {name: value for name, value in example.items() if "{{" not in str(value)}
    optional = {name: {**options, "required": False} for name, options in spec.items()}
    assert ArgumentSpecValidator(optional).validate(values).error_messages == []


def keys(content: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each key of the example, and where it stands."""
    for item in content if isinstance(content, list) else [content]:
        for key, value in item.items() if isinstance(item, dict) else ():
            yield path, key
            yield from keys(value, f"{path}.{key}".strip("."))


def test_given_the_example_of_the_agent_then_it_has_each_option_that_the_agent_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[Section] = []
    make = Section.__init__

    def note(section: Section, *given: Any) -> None:
        read.append(section)
        make(section, *given)

    monkeypatch.setattr(Section, "__init__", note)
    content = {name.removeprefix("handler_agent_"): value for name, value in AGENT.items()}
    of_agent = {
        "policies", "margin", "listen", "allow_from", "metrics_from", "ready_checks", "imds", "quorum", "webhooks",
        "keep_in_service", "settle", "dry_run",
    }  # fmt: skip
    shown = {key: value for key, value in content.items() if key in of_agent}

    parse_config(shown)

    known = {
        (re.sub(r"\[\d+\]", "", section.path), name)
        for section in read
        if not section.path.endswith((".headers", ".members"))
        for name in section._asked
    }
    # Steps are the same in each stage.
    stages = re.compile(r"policies\.(?:drain|shutdown|restore|check)\Z")
    known = {(stages.sub("step", path), name) for path, name in known}
    given = {(stages.sub("step", path), name) for path, name in keys(shown)}
    # The role sets the directories.
    assert known - given == {("", "hooks_directory"), ("", "state_directory")}


def test_given_the_example_of_the_fleet_then_its_policy_is_one() -> None:
    names = {"policies", "approve_between", "minimum_in_service", "margin", "approve", "approve_within"}

    policy = read_policy({name: FLEET[f"handle_events_{name}"] for name in names})

    assert [rule.approve for rule in policy.policies] == ["never", "when_ready", None]


def test_given_the_example_of_services_then_each_is_one() -> None:
    assert [one["name"] for one in read_services(ROLES["graceful_shutdown_services"])] == [
        "app.service",
        "queue",
        "cluster",
    ]
