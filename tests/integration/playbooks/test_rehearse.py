# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook rehearse, with a simulator and agents that ask it: what it announces and how it judges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.playbooks.fleet import Fleet, Run

LIFE: dict[str, Any] = {"rehearse_impact": 1, "rehearse_linger": 3}
ALL = ("-e", "rehearse_hosts=all", "-e", "rehearse_confirmed=true")


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """Two hosts, and a clock that runs."""
    with Fleet(tmp_path, 35, 2, clock={"speed": 1}) as running:
        yield running


def rehearse(fleet: Fleet, *arguments: str, **variables: Any) -> tuple[int, Run, dict[str, Any]]:
    """Rehearse; returns the exit status, the run, and the report if one was written."""
    report = fleet.path / "report.json"
    variables = {"rehearse_report_file": str(report), **LIFE, **variables}
    status, run = fleet.run("rehearse", *(arguments or ALL), **variables)
    return status, run, json.loads(report.read_text()) if report.exists() else {}


def test_given_agents_that_handle_the_event_when_rehearsed_then_it_passes_and_reports_what_they_did(
    fleet: Fleet,
) -> None:
    hit, other = fleet.hosts
    for host in fleet.hosts:
        fleet.start_agent(host)

    status, run, report = rehearse(
        fleet, rehearse_event_type="Reboot", rehearse_notice=120, rehearse_hit=[hit.name], rehearse_expected="approved"
    )

    assert status == 0, run.output
    (event,) = fleet.azure.status()["events"]
    assert event["resources"] == [hit.vm.lower()]
    assert event["not_before"] - event["created"] == pytest.approx(120, abs=1)
    assert report["passed"]
    assert report["event"]["event_id"] == event["event_id"]
    assert list(report["machines"]) == [hit.name]
    figures = report["machines"][hit.name]
    assert figures["stages"]["drain"]["state"] == figures["stages"]["shutdown"]["state"] == "succeeded"
    assert 0 < figures["ready"] < figures["over"] < figures["back"]
    assert hit.is_serving()
    assert other.is_serving()
    for line in ("approved by vm_0 after ", "; over after ", "PASSED"):
        assert line in run.output
    assert " back after " in run.report(hit)


def test_given_a_host_without_a_handler_when_rehearsed_then_nothing_is_announced_and_it_is_named(fleet: Fleet) -> None:
    fleet.start_agent(fleet.hosts[0])

    status, run, report = rehearse(fleet, rehearse_event_type="Reboot", rehearse_ready_timeout=2)

    assert status == 2, run.output
    assert fleet.azure.status()["events"] == []
    assert "nobody asks the simulator for the events of host1: is a handler running there" in report["failures"][0]


def test_given_another_handler_when_rehearsed_then_its_approval_is_judged(fleet: Fleet) -> None:
    page = fleet.path / "report.html"
    variables = {"rehearse_hit": ["host0"], "rehearse_report_file": str(page), **LIFE}
    run = fleet.start("rehearse", *ALL, rehearse_event_type="Reboot", rehearse_notice=240, **variables)
    # It asks, and so does a handler that is no agent of ours.
    fleet.ask(fleet.hosts[0])
    run.wait_until(lambda: fleet.azure.status()["events"])
    fleet.approve(fleet.hosts[0])

    assert run.finish() == 0, run.output
    assert "has no agent that could tell what it did" in run.report(fleet.hosts[0])
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "Rehearsal: Reboot" in text
    # It is known anyway who approved, and that the machine was hit.
    assert re.search(r'<path class="approved"', text)
    assert re.search(r'<rect class="hit"[^>]*>\s*<title>Reboot, ', text)


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (("-e", "rehearse_hosts=all"), {}, "set rehearse_confirmed to true"),
        (("-e", "rehearse_confirmed=true"), {}, "Name test machines with --extra-vars rehearse_hosts="),
        (ALL, {"rehearse_deploy": True}, "rehearse_endpoint is not set"),
        (ALL, {"rehearse_hit": ["host0", "web9"]}, "rehearse_hit: web9 is not one of rehearse_hosts"),
        ((*ALL, "--limit", "host0"), {"rehearse_deploy": True}, "--limit leaves out localhost"),
    ],
)
def test_given_invalid_input_when_rehearsed_then_it_is_named_before_anything_is_touched(
    fleet: Fleet, arguments: tuple[str, ...], variables: dict[str, Any], message: str
) -> None:
    status, run, report = rehearse(fleet, *arguments, **{"rehearse_event_type": "Reboot", **variables})

    assert status != 0
    assert message in run.text
    assert fleet.azure.status()["events"] == []
    assert report == {}


def test_given_check_mode_when_rehearsed_then_the_plan_is_shown_and_nothing_announced(fleet: Fleet) -> None:
    # Where a simulator is there already, no play does anything on its host.
    arguments = (*ALL, "--check", "--limit", "host0")
    status, run, report = rehearse(fleet, *arguments, rehearse_event_type="Redeploy", rehearse_notice=60)

    assert status == 0, run.output
    assert '"event_type": "Redeploy"' in run.output
    assert fleet.azure.status()["events"] == []
    assert report == {}
