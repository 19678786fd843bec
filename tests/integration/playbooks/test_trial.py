# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook trial, with the simulator as Azure: its metadata service and its Resource Manager."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.playbooks.fleet import Fleet, Run

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-242424242424"
VM_ID = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/vm_0"
CONFIRMED = ("-e", "trial_hosts=all", "-e", "trial_confirmed=true")


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """One host. Time is advanced by hand."""
    arm = {"subscription_id": SUBSCRIPTION, "operation_seconds": 1, "retry_after": 1}
    with Fleet(tmp_path, 84, 1, arm=arm) as fleet:
        fleet.sign_in(monkeypatch, "vm_0")
        yield fleet


def variables(fleet: Fleet) -> dict[str, Any]:
    return {
        "trial_endpoint": "{{ handle_events_endpoint }}",
        "trial_agent_command": "{{ directory }}/foghorn-agent",
        "trial_sign_in": {"auth_source": "msi", "subscription_id": SUBSCRIPTION},
        "trial_poll_interval": 0.5,
        "trial_report_file": str(fleet.path / "trial.json"),
        "load_balancer_removal_azure_vm_id": VM_ID,
    }


def written(fleet: Fleet) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((fleet.path / "trial.json").read_text())
    return report


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    (host,) = report["hosts"]
    return {line["contract"]: line["verdict"] for line in host["lines"]}


def announced(fleet: Fleet, run: Run) -> str:
    """Wait for the redeployment that the trial asks for; its id."""
    run.wait_until(lambda: fleet.azure.status()["events"])
    (event,) = fleet.azure.status()["events"]
    return str(event["event_id"])


def test_given_an_agent_when_a_redeployment_is_tried_then_the_contract_and_the_agent_are_confirmed(
    fleet: Fleet,
) -> None:
    (host,) = fleet.hosts
    fleet.start_agent(host)
    run = fleet.start("trial", *CONFIRMED, trial_event="Redeploy", **variables(fleet))
    event_id = announced(fleet, run)
    run.wait_until(lambda: fleet.is_approved(event_id))
    fleet.azure.advance(121)
    run.wait_until(lambda: "Redeploy: started" in run.output)
    fleet.azure.advance(600)

    assert run.finish() == 0, run.output
    report = written(fleet)
    assert set(verdicts(report).values()) == {"held"}
    (times,) = (one["seconds_since_the_request"] for one in report["hosts"])
    assert 0 <= times["announced"] <= times["started"] < times["gone"]
    assert None not in times.values()
    assert [one["agent"] for one in report["hosts"]] == ["foghorn-agent %s" % report["versions"]["collection"]]
    page = (fleet.path / "trial.md").read_text()
    assert page.endswith("PASSED\n")
    for name in ("vm_0", SUBSCRIPTION, event_id, "host0", "/subscriptions/"):
        assert name.lower() not in page.lower() + json.dumps(report).lower(), name
    assert host.is_serving()


def test_given_a_request_of_ones_own_and_another_handler_then_the_approval_is_confirmed(fleet: Fleet) -> None:
    (host,) = fleet.hosts
    run = fleet.start("trial", *CONFIRMED, trial_event="Reboot", **variables(fleet))
    run.wait_until(lambda: "Now make the request to Azure" in run.output)
    event_id = fleet.event("Reboot", host, event_source="User")
    run.wait_until(lambda: "Reboot: listed" in run.output)
    fleet.approve(host)
    fleet.azure.advance(31)
    run.wait_until(lambda: "Reboot: started" in run.output)
    fleet.azure.advance(600)

    assert run.finish() == 0, run.output
    report = verdicts(written(fleet))
    assert report["An approval starts it before its notice is over"] == "held"
    assert set(report.values()) == {"held"}
    assert fleet.record(event_id)["status"] == "Completed"


def test_given_a_spot_vm_that_is_evicted_then_losing_it_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vms = [{"name": "vm_0", "address": "127.0.85.1", "spot": True}]
    with Fleet(tmp_path, 85, 1, arm={"subscription_id": SUBSCRIPTION}, vms=vms) as fleet:
        fleet.sign_in(monkeypatch, "vm_0")
        run = fleet.start("trial", *CONFIRMED, trial_event="Preempt", **variables(fleet), trial_timeout=15)
        run.wait_until(lambda: "Preempt: listed" in run.output)
        fleet.azure.advance(100)

        assert run.finish() == 0, run.output
        report = verdicts(written(fleet))
        assert "broken" not in report.values()
        assert report["When it is over it is no longer listed"] == "not seen"


def test_given_a_wrong_answer_when_only_asked_then_it_is_named_and_nothing_is_caused(fleet: Fleet) -> None:
    event = {
        "EventId": "5C0429C8-309D-4B1E-B38D-F1DCCBCBDF05",
        "EventType": "Meltdown",
        "ResourceType": "VirtualMachine",
        "Resources": ["vm_0"],
        "EventStatus": "Completed",
        "NotBefore": "",
        "Description": "",
        "EventSource": "Platform",
        "Novelty": 1,
    }
    fleet.azure.fault(
        "status",
        status=200,
        paths=["/metadata/scheduledevents"],
        api_versions=["2020-07-01"],
        body={"DocumentIncarnation": 7, "Events": [event]},
    )

    status, run = fleet.run("trial", *CONFIRMED, **variables(fleet))

    assert status != 0
    report = written(fleet)
    broken = [line for line in report["hosts"][0]["lines"] if line["verdict"] == "broken"]
    assert {line["contract"] for line in broken} >= {
        "An event has the known fields, types and values",
        "A request without the header Metadata: true gets a 400",
    }
    assert "EventType is Meltdown; EventStatus is Completed; DurationInSeconds is missing" in run.text
    assert fleet.azure.status()["events"] == []


def test_given_check_mode_then_the_plan_is_shown_and_azure_is_not_asked(fleet: Fleet) -> None:
    status, run = fleet.run("trial", "-e", "trial_hosts=all", "--check", trial_event="Redeploy", **variables(fleet))

    assert status == 0, run.output
    assert "Request to Azure: move the VM to another host" in run.text
    assert fleet.looks(fleet.hosts[0]) == 0
    assert fleet.azure.status()["events"] == []


@pytest.mark.parametrize(
    ("argument", "message"),
    [("trial_hosts=all", "set trial_confirmed to true"), ("trial_confirmed=true", "--extra-vars trial_hosts=")],
)
def test_given_a_trial_that_names_no_host_or_is_not_confirmed_then_nothing_is_touched(
    fleet: Fleet, argument: str, message: str
) -> None:
    status, run = fleet.run("trial", "-e", argument, **variables(fleet))

    assert status != 0
    assert message in run.text
    assert fleet.looks(fleet.hosts[0]) == 0
