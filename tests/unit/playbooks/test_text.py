# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Surveys, inventories in INI and the command line give text: whatever is no text is converted before it decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.variables import mistakes

ROOT = Path(__file__).parents[3]
# What converts a value in the same expression.
CONVERTS = {
    "list": r"typed\('list'",
    "dict": r"typed\('dict'",
    "bool": r"(\| *bool\b|typed\('bool')",
    "int": r"(\| *(int|float)\b|typed\('int')",
    "float": r"(\| *(int|float)\b|typed\('float')",
}
# What reads these converts them: `read_policy`, `note_host`, rehearsals, or a module.
IN_PYTHON = re.compile(
    r"handle_events_|load_balancer_removal_(methods|ports|connections_timeout|health_probe_(interval|threshold|margin)"
    r"|haproxy_(backends|hosts)|azure_pools|gateway_pools)\b.*default\(none\)"
    r"|graceful_shutdown_services \| default\(none\)"
    r"|load_balancer_removal_deadline\) \| foghorn.azure_events.trusted"
    r"|default\(terminate_notifications_update_protected\)"
    r"|doctor_needs \| default\('', true\) else|rehearse_\w+ \| default\(none\)|demo_speed \| string"
)


def specified() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each option of a role or a playbook, and how it is specified."""
    for path in ROOT.glob("roles/*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            yield from (entry.get("options") or {}).items()
    for path in [*ROOT.glob("playbooks/*.yml"), *ROOT.glob("playbooks/vars/*.yml")]:
        yield from arguments_in(yaml.safe_load(path.read_text()))


def arguments_in(content: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Those in variables that hold arguments of a playbook."""
    if isinstance(content, list):
        for one in content:
            yield from arguments_in(one)
    elif isinstance(content, dict):
        for name, value in content.items():
            if str(name).endswith("_arguments") and isinstance(value, dict):
                yield from ((own, spec) for own, spec in value.items() if "type" in spec)
            else:
                yield from arguments_in(value)


SPECS = {name: spec for name, spec in specified() if spec.get("type", "str") in CONVERTS}
OPTIONS = {name: spec["type"] for name, spec in SPECS.items()}
# A value of each type, as text, and what cannot be meant.
TEXTS = {"bool": ("no", "perhaps"), "int": ("7", "many"), "float": ("7.5", "many"), "dict": ("{}", "[1]")}
TEXTS["list"] = ("[]", "[8080")


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_given_an_option_as_text_then_it_is_taken_or_named_before_the_first_host_is_touched(name: str) -> None:
    text, wrong = TEXTS[OPTIONS[name]]
    own = {name: SPECS[name]}
    accepted, refused = ({"inventory_hostname": "web1", name: value} for value in (text, wrong))

    assert mistakes([accepted], own, (name,), ()) == []
    assert [line for line in mistakes([refused], own, (name,), ()) if name in line]


def expressions() -> Iterator[tuple[Path, str]]:
    """Each expression and condition of a role or a playbook, with the key of whole values."""
    for path in sorted(
        [*ROOT.glob("roles/*/tasks/**/*.yml"), *ROOT.glob("roles/*/vars/*.yml"), *ROOT.glob("playbooks/**/*.yml")]
    ):
        yield from ((path, text) for text in strings_in(yaml.safe_load(path.read_text()), ""))


def strings_in(content: Any, key: str) -> Iterator[str]:
    if isinstance(content, dict):
        for name, value in content.items():
            yield from strings_in(value, str(name))
    elif isinstance(content, list):
        for value in content:
            yield from strings_in(value, key)
    elif isinstance(content, str):
        if key in ("when", "that", "failed_when", "changed_when", "until"):
            yield content
        else:
            yield from re.findall(r"\{\{(.*?)\}\}", content, re.DOTALL)


def test_given_an_option_that_is_no_text_then_it_is_converted_wherever_it_is_read() -> None:
    raw = []
    for path, text in expressions():
        if IN_PYTHON.search(" ".join(text.split())):
            continue
        # Messages name options.
        text = re.sub("'[^']*'", lambda quoted: "''" if " " in quoted[0] else quoted[0], text)
        for match in re.finditer(r"(?<![\w'.])[a-z]\w+", text):
            kind = OPTIONS.get(match[0])
            # A module converts what a task hands to it alone.
            is_argument = text.strip() == match[0] and "vars" not in path.parts
            if kind and not is_argument and not re.search(CONVERTS[kind], text[match.start() :]):
                raw.append(f"{path.relative_to(ROOT)}: {match[0]} ({kind}): {' '.join(text.split())}")
    assert raw == []


# Of a playbook's own variables, an empty value passes the check, and counts as not given.
OWN = {
    name
    for path in [*ROOT.glob("playbooks/*.yml"), *ROOT.glob("playbooks/vars/*.yml")]
    for name, _spec in arguments_in(yaml.safe_load(path.read_text()))
}
DEFAULT = re.compile(r"(?<![\w'.])([a-z]\w+) \| default\(((?:[^()]|\([^()]*\))*)\)( \| \w+| not in \['', none\])?")


def test_given_an_empty_value_for_a_variable_of_a_playbook_then_its_default_holds_wherever_it_is_read() -> None:
    given = []
    for path, text in expressions():
        for name, value, then in DEFAULT.findall(" ".join(text.split())):
            # None, in Python, and false are as good as the default. A prefix may be empty.
            is_default = value.endswith(", true") or value == "none" or (value, then) == ("false", " | bool")
            if name in OWN - {"controller_setup_name_prefix"} and not is_default and " not in " not in then:
                given.append(f"{path.relative_to(ROOT)}: {name} | default({value}){then}")
    assert given == []
