# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the playbook that enables the notification to the instance that goes early: all parts, used as a user would."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from azure.identity import ClientSecretCredential
from azure.mgmt.compute import ComputeManagementClient

from .conftest import CLIENT, SECRET, SUBSCRIPTION, TENANT, Controller

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / "unit" / "roles" / "handler_agent")]

from real_agent import RealAgent, build, wait_for  # noqa: E402 - found on the path set above

INSTANCES = ("web_0", "web_1", "web_2")
PATIENCE = 240  # seconds for an operation on a busy machine
ROLL_OUT = {
    "terminate_notifications_resource_group": "rg",
    "terminate_notifications_update_instances": "outdated",
    "terminate_notifications_scale_sets": [
        {"name": "web", "not_before_timeout": "PT10M", "batch_size": "3", "max_unavailable": "3"}
    ],
}


@pytest.fixture
def running() -> Iterator[ExitStack]:
    """What is closed in the end, however the test ends."""
    with ExitStack() as stack:
        yield stack


def start_agents(here: Controller, directory: Path, running: ExitStack) -> dict[str, RealAgent]:
    """Run an agent on each instance, which notes what its drain is told."""
    directory.chmod(0o755)
    program = build(directory / "foghorn-agent")
    agents = {}
    for name in INSTANCES:
        told = directory / name / "told"
        noting = 'echo "$FOGHORN_EVENT_TYPE $FOGHORN_RESOURCES $FOGHORN_NOT_BEFORE" >> %s' % told
        drain = {"name": "drain", "command": ["/bin/sh", "-c", noting]}
        agent = RealAgent(
            program,
            directory / name,
            here.azure.imds[name],
            {"policies": [{"match": {"event_types": ["Terminate"]}, "drain": [drain], "approve": "when_ready"}]},
        )
        running.callback(agent.close)
        agent.begin()
        agents[name] = agent
    wait_for(lambda: all(agent.ask("/readyz") == 200 for agent in agents.values()), list(agents.values()))
    return agents


def microsofts_client(here: Controller, trust: str, running: ExitStack) -> ComputeManagementClient:
    """Microsoft's own SDK, signed in as the controller is."""
    credential = running.enter_context(
        ClientSecretCredential(
            TENANT,
            CLIENT,
            SECRET,
            authority=here.azure.arm_tls,
            disable_instance_discovery=True,
            connection_verify=trust,
        )
    )
    return running.enter_context(
        ComputeManagementClient(
            credential,
            SUBSCRIPTION,
            base_url=here.azure.arm_tls,
            credential_scopes=["https://management.azure.com/.default"],
            connection_verify=trust,
            polling_interval=0.2,
        )
    )


def test_given_a_rolled_out_notification_when_an_instance_is_deleted_then_its_agent_drains_and_it_is_gone_early(
    controller: Callable[..., Controller], throwaway: Any, running: ExitStack, tmp_path: Path
) -> None:
    here = controller()
    run = here.run_playbook("foghorn.azure_events.terminate_notifications", ("--extra-vars", json.dumps(ROLL_OUT)))
    assert run.code == 0, run.output
    assert "scale set rg/web: announced PT10M ahead (changed), updated: web_0 web_1 web_2" in run.output
    agents = start_agents(here, tmp_path, running)
    instances = microsofts_client(here, str(throwaway.certificate), running).virtual_machine_scale_set_vms

    deletion = instances.begin_delete("rg", "web", "1")
    wait_for(lambda: here.azure.status()["vms"]["web_1"]["state"] == "deleted", list(agents.values()))
    deletion.result(PATIENCE)

    assert deletion.status() == "Succeeded"
    assert [instance.name for instance in instances.list("rg", "web")] == ["web_0", "web_2"]
    (event,) = here.azure.status()["events"]
    assert (event["event_type"], event["resources"]) == ("Terminate", ["web_1"])
    assert event["not_before"] - event["created"] == pytest.approx(600, abs=1)
    assert [approval["vm"] for approval in event["approvals"]] == ["web_1"]
    assert event["started"] < event["not_before"]
    event_type, resources, not_before = (tmp_path / "web_1" / "told").read_text().split()
    assert (event_type, resources) == ("Terminate", "web_1")
    # IMDS tells whole seconds.
    assert datetime.fromisoformat(not_before).timestamp() == pytest.approx(event["not_before"], abs=1)
    assert not (tmp_path / "web_0" / "told").exists(), "it was told of its neighbour's deletion, and not hit by it"
    assert agents["web_0"].ask("/readyz") == 200
    assert agents["web_1"].ask("/readyz") == 503
