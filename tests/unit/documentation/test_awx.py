# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What docs/awx.md says of the job templates is what they are."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "awx.md").read_text(encoding="utf-8")
TABLE = re.findall(r"^\| (`[a-z_`, ]+) \| (\w+) \| (never|asked for) \| (yes|no) \|$", PAGE, re.MULTILINE)
CREDENTIALS = {"machines": "machines", "azure": "Azure", "machines_and_azure": "both", "controller": "none"}
FILES = re.findall(r"```yaml\n# controller.yml\n(.*?)```", PAGE, re.DOTALL)
VARIABLES = set(re.findall(r"`(controller_setup_[a-z_]+)`", PAGE)).union(*map(yaml.safe_load, FILES))


def load(name: str) -> dict[str, Any]:
    """A file of variables of the playbooks."""
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "playbooks" / "vars" / name).read_text(encoding="utf-8"))
    return loaded


def test_given_the_table_when_it_is_compared_then_it_says_of_each_template_what_the_data_says() -> None:
    told = {
        name.strip("`"): (credentials, limit == "asked for", simultaneous == "yes")
        for names, credentials, limit, simultaneous in TABLE
        for name in names.split(", ")
    }

    assert told == {
        key: (CREDENTIALS[template["runs_on"]], template["ask_limit_on_launch"], template["allow_simultaneous"])
        for key, template in load("job_templates.yml")["job_templates"].items()
    }


def test_given_the_variables_when_they_are_compared_then_the_page_names_existing_ones_and_each_is_described() -> None:
    spec = load("controller_setup.yml")["__controller_setup_arguments"]

    assert set(spec) >= VARIABLES
    assert [name for name, options in spec.items() if "description" not in options] == []


@pytest.mark.parametrize("file", FILES)
def test_given_a_file_of_the_page_when_it_is_read_then_its_variables_are_accepted(file: str) -> None:
    spec = load("controller_setup.yml")["__controller_setup_arguments"]
    optional = {name: {**options, "required": False} for name, options in spec.items()}

    assert ArgumentSpecValidator(optional).validate(yaml.safe_load(file)).error_messages == []


@pytest.mark.parametrize("rulebook", sorted((ROOT / "extensions" / "eda" / "rulebooks").glob("*_job.yml")))
def test_given_a_rulebook_when_it_names_a_job_template_then_it_is_one_that_controller_setup_sets_up(
    rulebook: Path,
) -> None:
    named = re.findall(r"_job_template \| default\('([^']*)'\)", rulebook.read_text(encoding="utf-8"))
    known = {f"Azure events: {template['name']}" for template in load("job_templates.yml")["job_templates"].values()}

    assert named
    assert set(named) <= known


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_given_a_guide_when_it_shows_handle_events_then_never_limited(page: str) -> None:
    commands = (ROOT / "docs" / page).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()

    assert [line for line in commands if "azure_events.handle_events" in line and re.search(r"--limit|-l ", line)] == []
