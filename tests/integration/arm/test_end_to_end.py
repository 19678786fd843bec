# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the playbook that enables the notification to the instance that goes early: all parts, used as a user would."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from azure.identity import ClientSecretCredential
from azure.mgmt.compute import ComputeManagementClient

from .conftest import CLIENT, SECRET, SUBSCRIPTION, TENANT, Controller

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / "unit" / "roles" / "handler_agent")]

from real_agent import RealAgent, build, wait_for  # noqa: E402 - found on the path set above

INSTANCES = ("web_0a1b", "web_0a1c", "web_0a1d")
REGULAR, DELETED, SPOT = INSTANCES
PATIENCE = 240  # seconds for an operation on a busy machine
WORK = 0.1  # seconds that an answer takes: there is always one in flight
OUT_OF_ROTATION = 4  # seconds: many times what the balancer needs to see it
FLEET = [
    {"name": name, "address": "127.0.79.%d" % number, "scale_set": "web", "spot": name == SPOT}
    for number, name in enumerate(INSTANCES, 96)
]
MIX = {"virtualMachineProfile": {"priority": "Spot"}, "priorityMixPolicy": {"baseRegularPriorityCount": 2}}
ROLL_OUT = {
    "terminate_notifications_resource_group": "rg",
    "terminate_notifications_update_instances": "outdated",
    "terminate_notifications_scale_sets": [
        {"name": "web", "not_before_timeout": "PT10M", "batch_size": "3", "max_unavailable": "3"}
    ],
}


class Application:
    """What runs on an instance: it takes its time for an answer, and is as ready as its agent says."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.agent: RealAgent | None = None
        self.served = 0
        application = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status = 200
                if self.path == "/readyz":
                    status = (application.agent.ask("/readyz") if application.agent else None) or 503
                else:
                    application.served += 1
                    time.sleep(WORK)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Clients:
    """Ask the balancer, each time on a connection of its own, and note what is lost. Nothing is tried again."""

    def __init__(self, address: str, port: int) -> None:
        self._address, self._port = address, port
        self._over = threading.Event()
        self.answered = 0
        self.lost: list[str] = []
        self._threads = [threading.Thread(target=self._ask_on) for _number in range(3)]
        for thread in self._threads:
            thread.start()

    def _ask_on(self) -> None:
        while not self._over.wait(0.01):
            connection = HTTPConnection(self._address, self._port, timeout=PATIENCE)
            try:
                connection.request("GET", "/")
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    self.answered += 1
                else:
                    self.lost.append("status %d" % answer.status)
            except (OSError, HTTPException) as error:
                self.lost.append(repr(error))
            finally:
                connection.close()

    def close(self) -> None:
        """Ask no more; what is in flight is waited for."""
        self._over.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def running() -> Iterator[ExitStack]:
    """What is closed in the end, however the test ends."""
    with ExitStack() as stack:
        yield stack


def in_rotation(here: Controller) -> list[str]:
    """Who gets new flows."""
    members = here.azure.status()["load_balancers"]["front"]["members"]
    return [name for name, member in members.items() if member["healthy"]]


def start_agents(here: Controller, directory: Path, running: ExitStack) -> dict[str, RealAgent]:
    """Run an agent on each instance. Its drain notes what it receives."""
    directory.chmod(0o755)
    program = build(directory / "foghorn-agent")
    agents = {}
    for name in INSTANCES:
        told = directory / name / "told"
        noting = 'echo "$FOGHORN_EVENT_TYPE $FOGHORN_RESOURCES $FOGHORN_NOT_BEFORE" >> %s; sleep %d'
        drain = {"name": "drain", "command": ["/bin/sh", "-c", noting % (told, OUT_OF_ROTATION)]}
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


def test_given_a_mixed_flexible_set_when_an_instance_is_deleted_then_its_agent_drains_and_no_request_is_lost(
    controller: Callable[..., Controller], throwaway: Any, running: ExitStack, tmp_path: Path
) -> None:
    applications = {name: Application(name) for name in INSTANCES}
    for application in applications.values():
        running.callback(application.close)
    here = controller(
        vms=FLEET,
        arm={"scale_sets": [{"name": "web", "properties": MIX, "spot": False}]},
        load_balancers=[
            {
                "name": "front",
                "listen": "127.0.0.1:0",
                "probe": {"path": "/readyz", "interval": 0.25, "timeout": 30, "threshold": 2},
                "members": [
                    {"vm": name, "address": "127.0.0.1", "port": application.port}
                    for name, application in applications.items()
                ],
            }
        ],
    )
    run = here.run_playbook("foghorn.azure_events.terminate_notifications", ("--extra-vars", json.dumps(ROLL_OUT)))
    assert run.code == 0, run.output
    # The Spot instance would not be notified, so it is not outdated.
    assert "scale set rg/web: announced PT10M ahead (changed), updated: %s %s" % (REGULAR, DELETED) in run.output
    assert "%s %s" % (DELETED, SPOT) not in run.output
    agents = start_agents(here, tmp_path, running)
    for name, application in applications.items():
        application.agent = agents[name]
    compute = microsofts_client(here, str(throwaway.certificate), running)
    wait_for(lambda: set(in_rotation(here)) == set(INSTANCES), list(agents.values()))
    clients = Clients(*here.azure.load_balancers["front"])
    running.callback(clients.close)
    wait_for(lambda: all(application.served for application in applications.values()), list(agents.values()))

    deletion = compute.virtual_machines.begin_delete("rg", DELETED)
    wait_for(lambda: here.azure.status()["vms"][DELETED]["state"] == "deleted", list(agents.values()))
    deletion.result(PATIENCE)
    answered = clients.answered
    wait_for(lambda: clients.answered > answered + 20, list(agents.values()))
    clients.close()

    assert clients.lost == []
    assert deletion.status() == "Succeeded"
    assert [vm.name for vm in compute.virtual_machines.list("rg")] == [REGULAR, SPOT]
    (event,) = here.azure.status()["events"]
    assert (event["event_type"], event["resources"]) == ("Terminate", [DELETED])
    assert event["not_before"] - event["created"] == pytest.approx(600, abs=1)
    assert [approval["vm"] for approval in event["approvals"]] == [DELETED]
    assert event["started"] < event["not_before"]
    event_type, resources, not_before = (tmp_path / DELETED / "told").read_text().split()
    assert (event_type, resources) == ("Terminate", DELETED)
    # IMDS returns whole seconds.
    assert datetime.fromisoformat(not_before).timestamp() == pytest.approx(event["not_before"], abs=1)
    assert not (tmp_path / REGULAR / "told").exists(), "it was told of its neighbour's deletion, and not hit by it"
    assert {name: agent.ask("/readyz") for name, agent in agents.items()} == {REGULAR: 200, DELETED: 503, SPOT: 200}
