# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The workflow runs what `make test` runs, by the same targets, and may do no more than it needs to."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SOURCE = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
# YAML 1.1 takes `on` for true.
WORKFLOW: dict[Any, Any] = yaml.safe_load(SOURCE)
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]


def targets() -> set[str]:
    """The targets of make that the jobs call, those of their matrices included."""
    named = {target for step in STEPS for target in re.findall(r"^make ([a-z][a-z0-9-]*)", step.get("run", ""))}
    return named.union(*(job.get("strategy", {}).get("matrix", {}).get("target", []) for job in JOBS.values()))


def test_given_the_workflow_then_each_step_of_make_test_is_one_of_its_own() -> None:
    rooms = {
        f"integration-{path.name}" for path in (ROOT / "tests" / "integration").iterdir() if any(path.glob("*.py"))
    }

    assert targets() == rooms | {
        "build",
        "docs",
        "integration-control-plane",
        "integration-handle-events",
        "integration-newest",
        "lint",
        "sanity",
        "sanity-newest",
        "sanity-oldest",
        "unit",
        "unit-oldest-agent",
        "unit-oldest-python",
    }


@pytest.mark.parametrize("name", JOBS)
def test_given_a_job_then_only_the_one_that_attests_may_write_and_no_code_sees_the_token(name: str) -> None:
    granted = {"contents": "read"}
    if name == "build":
        granted |= {"id-token": "write", "attestations": "write"}

    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert JOBS[name].get("permissions", WORKFLOW["permissions"]) == granted
    checkouts = [step for step in JOBS[name]["steps"] if step.get("uses", "").startswith("actions/checkout@")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_given_an_action_of_others_then_it_is_one_commit_whatever_becomes_of_its_tags(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", source)

    jobs = yaml.safe_load(source)["jobs"].values()
    assert len(used) == sum("uses" in step for job in jobs for step in job["steps"]) > 0
    assert [each for each in used if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}  # v[0-9.]+", each)] == []


def test_given_what_others_may_write_then_no_command_of_a_step_has_it_in_it() -> None:
    assert [step["run"] for step in STEPS if "${{" in step.get("run", "")] == []


def test_given_a_job_in_a_container_then_somebody_reaps_what_its_tests_leave_orphaned() -> None:
    containers = [job["container"] for job in JOBS.values() if "container" in job]

    # Without it the first process there sleeps, and the agent waits for orphans that have long ended.
    assert ["--init" in container["options"].split() for container in containers] == [True]


def test_given_a_tag_then_it_is_built_only_after_everything_else_passed() -> None:
    assert set(JOBS["build"]["needs"]) == set(JOBS) - {"build"}
    assert JOBS["build"]["if"] == "startsWith(github.ref, 'refs/tags/v')"
