# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The job templates of docs/awx.md ask for what a launch may send, and for nothing that would do harm."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "awx.md").read_text(encoding="utf-8")
BLOCKS = {name: yaml.safe_load(text) for name, text in re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)}
TASK = BLOCKS["job_templates.yml"][0]["tasks"][0]
TEMPLATES: dict[str, Any] = {template["name"]: template for template in TASK["loop"]}


def test_given_the_templates_when_listed_then_events_are_handled_and_machines_drained_and_restored() -> None:
    assert list(TEMPLATES) == ["Handle events", "Drain", "Restore"]


@pytest.mark.parametrize("name", TEMPLATES)
def test_given_a_template_when_it_is_launched_with_variables_then_awx_does_not_drop_them(name: str) -> None:
    assert TASK["awx.awx.job_template"]["ask_variables_on_launch"] == "{{ item.ask_variables }}"
    assert TEMPLATES[name]["ask_variables"] is True


def test_given_handle_events_when_it_is_launched_then_no_limit_reaches_it_and_no_second_job_runs_beside_it() -> None:
    assert TASK["awx.awx.job_template"]["ask_limit_on_launch"] == "{{ item.ask_limit }}"
    assert TEMPLATES["Handle events"]["ask_limit"] is False
    assert TASK["awx.awx.job_template"]["allow_simultaneous"] == "{{ item.simultaneous }}"
    assert TEMPLATES["Handle events"]["simultaneous"] is False


@pytest.mark.parametrize("name", ["Drain", "Restore"])
def test_given_one_that_is_for_chosen_machines_when_it_is_launched_with_a_limit_then_it_holds(name: str) -> None:
    assert TEMPLATES[name]["ask_limit"] is True


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_given_a_guide_when_it_shows_handle_events_then_never_limited(page: str) -> None:
    commands = (ROOT / "docs" / page).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()

    assert [line for line in commands if "azure_events.handle_events" in line and re.search(r"--limit|-l ", line)] == []
