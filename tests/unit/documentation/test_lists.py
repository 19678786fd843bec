# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is listed in several places, in languages that cannot read each other's lists, is the same in all of them.

CONTRIBUTING.md sends who adds a type of event or a balancer here: what fails names the place that lacks it.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import (
    ADVISORY_EVENT_TYPES,
    EVENT_TYPES,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet import reading
from azure_simulator import events

ROOT = Path(__file__).resolve().parents[3]
ANNOUNCED = set(EVENT_TYPES) - set(ADVISORY_EVENT_TYPES)
ROLE = ROOT / "roles" / "load_balancer_removal"
# These are no balancers: the machine answers its probe itself, or the scale set is kept from replacing it.
ON_THE_MACHINE_OR_ITS_SET = ("health_probe", "instance_protection", "suspended_repairs")


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def load(path: str) -> Any:
    return yaml.safe_load(text(path))


def survey_choices() -> set[str]:
    found = re.findall(r"choices: \[(Freeze[^\]]*)\]", text("playbooks/vars/job_templates.yml"))
    return {name.strip() for choices in found for name in choices.split(",")}


def types_in_csharp() -> set[str]:
    source = text("plugins/module_utils/_Document.cs")
    listed = re.search(r"return new\[\] \{ (Preempt[^}]*) \}", source)
    assert listed
    named = dict(re.findall(r'const string (\w+) = "(\w+)"', source))
    return {named.get(word, word.strip('"')) for word in re.split(r",\s*", listed[1])}


def types_in_the_options() -> set[str]:
    described = re.search(r"Known are (.*?), in any", text("plugins/doc_fragments/filters.py"), re.DOTALL)
    assert described
    return set(re.findall(r"V\((\w+)\)", described[1]))


@pytest.mark.parametrize(
    ("place", "found", "wanted"),
    [
        ("azure_simulator/events.py", set(events.EVENT_TYPES), set(EVENT_TYPES)),
        ("plugins/module_utils/_Document.cs", types_in_csharp(), set(EVENT_TYPES)),
        ("plugins/doc_fragments/filters.py", types_in_the_options(), set(EVENT_TYPES)),
        (
            "playbooks/vars/rehearse.yml",
            set(load("playbooks/vars/rehearse.yml")["__rehearse_arguments"]["rehearse_event_type"]["choices"]),
            ANNOUNCED,
        ),
        ("playbooks/vars/job_templates.yml", survey_choices(), ANNOUNCED),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_given_the_types_of_events_then_each_place_that_lists_them_has_all(
    place: str, found: set[str], wanted: set[str]
) -> None:
    assert found == wanted, place


def methods() -> set[str]:
    options = load("roles/load_balancer_removal/meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    return set(options["load_balancer_removal_methods"]["choices"])


@pytest.mark.parametrize(
    ("place", "found"),
    [
        (
            "tasks/methods",
            {path.stem for path in (ROLE / "tasks" / "methods").iterdir()},
        ),
        (
            "README.md",
            set(re.findall(r"^\| `(\w+)`", text("roles/load_balancer_removal/README.md"), re.MULTILINE)),
        ),
        ("plugin_utils/fleet/reading.py", {*reading._BALANCERS, *ON_THE_MACHINE_OR_ITS_SET}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_given_the_methods_of_taking_out_of_rotation_then_each_place_that_lists_them_has_all(
    place: str, found: set[str]
) -> None:
    assert found == methods(), place


def test_given_the_methods_then_each_has_a_record_that_the_playbooks_know() -> None:
    kept = load("roles/load_balancer_removal/vars/main.yml")["__load_balancer_removal_records_of"]
    known = text("playbooks/vars/handle_events.yml")

    assert set(kept) == methods()
    assert [name for name in kept.values() if name not in known] == []
