# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet of simulated VMs with a real web server each, and real playbook runs on it.

The clock is advanced by hand: events begin and end when a test says so, however slow the machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.foghorn.azure_events.plugins.module_utils import claims
from azure_simulator.testing import Simulator

from tests.ansible_runs import Playbook
from tests.integration.playbooks import web_server
from tests.ports import free_port
from tests.processes import with_descendants

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "unit" / "roles" / "handler_agent"))

from real_agent import RealAgent, build, wait_for  # noqa: E402 - found on the path set above

SERVICE = [sys.executable, "-S", str(HERE / "web_server.py")]
PATIENCE = 240.0  # seconds for anything that a run does: other things may run on this machine


class Host:
    """A VM, as its operator sees it."""

    def __init__(self, directory: Path, address: str) -> None:
        self.name = directory.name
        self.vm = self.name.replace("host", "VM_")
        """Its name in Azure, which is not that of the inventory, and comes in another case."""
        self.directory = directory
        self.address = address
        self.marker = directory / "out_of_rotation"
        self.state = directory / "state"
        self.breaks_at_stop = False
        self.agent: RealAgent | None = None
        self.variables: dict[str, Any] = {}
        """Those of the inventory for this host alone, above all others."""
        directory.mkdir(parents=True)
        (directory / web_server.OWNER).write_text(str(os.getpid()))
        self.port = free_port()

    @property
    def agent_command(self) -> Path:
        """Where the command of its handler agent is, if it has one."""
        return self.directory / "foghorn-agent"

    def service(self, command: str) -> list[str]:
        """A command of the web server, as a list of arguments."""
        return [*SERVICE, command, str(self.directory), self.address, str(self.port)]

    def is_serving(self) -> bool:
        """Whether the web server is running."""
        return web_server.running(self.directory / "web_server.pid") != 0

    def stop(self) -> None:
        """Stop the web server."""
        subprocess.run(self.service("stop"), check=True)

    def claim(self, owner: str, **details: Any) -> None:
        """Have an owner want it out of rotation, as if a run had noted so some minutes ago."""
        self.state.mkdir()
        since = time.time() - 300
        noted = {"since": since, "noted_at": since, "by": "alice on ctl2", "boot_id": claims.boot_id()} | details
        (self.state / claims.FILE).write_text(json.dumps({"lease": None, "claims": {owner: noted}, "tried": {}}))

    def claimed(self) -> dict[str, Any]:
        """Who wants it out of rotation, and what was noted."""
        state = claims.read(str(self.state))
        assert state.lease is None
        return dict(state.claims)

    def is_back(self) -> bool:
        """Whether it is in rotation and serving, with nothing left to be undone."""
        return not self.marker.exists() and not self.state.exists() and self.is_serving()


class Run:
    """A run of ansible-playbook."""

    def __init__(self, arguments: Sequence[str], output: Path, environment: dict[str, str]) -> None:
        self._output = output
        with output.open("w") as stream:
            self._process = Playbook(arguments, stream, environment)

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text()

    @property
    def text(self) -> str:
        """The output without its line breaks, by which it may wrap a message."""
        return " ".join(self.output.split())

    def wait_until(self, condition: Callable[[], Any]) -> None:
        """Wait until a condition is true; fail the test if the run ends before."""
        limit = time.monotonic() + PATIENCE
        while not condition():
            assert self._process.poll() is None, f"the run ended early:\n{self.output}"
            assert time.monotonic() < limit, f"waited in vain:\n{self.output}"
            time.sleep(0.25)

    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def wait_a_little(self) -> None:
        """Let it run for a while, or to its end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)

    def finish(self) -> int:
        """Wait for its end; return its exit status."""
        try:
            return self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            pytest.fail(f"the run did not end:\n{self.output}")

    def kill(self) -> None:
        """End it without warning, its children too, which may be in sessions of their own."""
        if self._process.poll() is not None:
            return
        for pid in with_descendants(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def report(self, host: Host) -> str:
        """The report's line about a host."""
        lines = [line.strip(' ",') for line in self.output.splitlines()]
        lines = [line for line in lines if line.startswith(f"{host.name}: ")]
        assert lines, self.output
        return lines[0]

    def changes(self, host: Host) -> int:
        """How many tasks say that they changed a host."""
        recap = re.search(rf"^{host.name} .*ok=[1-9].* changed=(\d+) ", self.output, re.MULTILINE)
        assert recap, self.output
        return int(recap[1])


class Fleet:
    """VMs, their web servers and what is done to them. Unless a clock is given, it is advanced by hand."""

    def __init__(
        self,
        path: Path,
        subnet: int,
        count: int,
        hosts: list[Host] | None = None,
        **config: Any,
    ) -> None:
        """Have so many hosts in a subnet of loopback addresses.

        :param hosts: those themselves, where the configuration is about them, or they have names of their own
        :param config: more of the simulator's configuration
        """
        self.path = path
        self.hosts = hosts or [Host(path / f"host{number}", f"127.0.{subnet}.{number + 1}") for number in range(count)]
        self._down = path / "down"
        self._down.mkdir()
        self._runs: list[Run] = []
        self._chosen: tuple[str, ...] = ()
        self._stack = contextlib.ExitStack()
        self.azure = Simulator(
            {
                "clock": {"manual": True},
                "imds": {"rate_limit": None},
                "vms": [
                    {"name": host.vm.lower(), "address": host.address, "availability_set": "web"} for host in self.hosts
                ],
                "on_impact": [
                    {
                        "vms": [host.vm.lower()],
                        "event_types": ["Reboot", "Redeploy", "Preempt", "Terminate"],
                        "start": ["touch", str(self._down / host.name)],
                        "end": ["rm", str(self._down / host.name)],
                    }
                    for host in self.hosts
                ],
                **config,
            }
        )

    def sign_in(self, monkeypatch: pytest.MonkeyPatch, vm: str) -> None:
        """Have modules on the controller ask this Azure, by the identity of a VM.

        They run in forks that have Azure's libraries, which take each a second to load otherwise.
        """
        monkeypatch.setenv("FOGHORN_ARM_BASE_URL", self.azure.arm)
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", self.azure.imds[vm])
        monkeypatch.setenv("PRELOAD", "azure.identity azure.mgmt.core requests")
        self._chosen = ("-e", "ansible_connection=machine")

    def event(self, event_type: str, *hosts: Host, **details: Any) -> str:
        """Announce an event; returns its id."""
        record = self.azure.event(event_type, [host.vm.lower() for host in hosts], **details)
        return str(record["event_id"])

    def record(self, event_id: str) -> dict[str, Any]:
        """What the simulator knows of an event."""
        return next(event for event in self.azure.status()["events"] if event["event_id"] == event_id)

    def is_approved(self, event_id: str) -> bool:
        """Whether an approval has arrived."""
        return bool(self.record(event_id)["approvals"])

    def is_down(self, host: Host) -> bool:
        """Whether the machine cannot be reached."""
        return (self._down / host.name).exists()

    def ask(self, host: Host) -> list[dict[str, Any]]:
        """Ask for the events of a host, as a handler of another make does."""
        url = f"{self.azure.imds[host.vm.lower()]}/metadata/scheduledevents?api-version=2020-07-01"
        request = urllib.request.Request(url, headers={"Metadata": "true"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE) as answer:
            events: list[dict[str, Any]] = json.load(answer)["Events"]
            return events

    def approve(self, host: Host) -> None:
        """Approve all events of a host, as a handler of another make does."""
        url = f"{self.azure.imds[host.vm.lower()]}/metadata/scheduledevents?api-version=2020-07-01"
        body = {"StartRequests": [{"EventId": event["EventId"]} for event in self.ask(host)]}
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Metadata": "true"})
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE).close()

    def lose_connection(self, host: Host, after: str) -> None:
        """Have the answer of the next module of this name be lost on its way from the machine."""
        (self._down / f"{host.name}.faults").write_text(f"after lost {after}")

    def take_down(self, host: Host) -> None:
        """Make the machine unreachable."""
        (self._down / host.name).touch()

    def unplug(self, host: Host) -> None:
        """Have whoever asks the machine wait for ever."""
        (self._down / f"{host.name}.unplugged").touch()

    def start_agent(self, host: Host, **policy: Any) -> RealAgent:
        """Have the handler agent look after a host, with a policy that stops and starts its web server."""
        program = self.path / "program"
        if not program.exists():
            build(program)
        stages = {
            "drain": [{"pause": 0.2}],
            "shutdown": [{"command": host.service("stop")}],
            "restore": [{"command": host.service("start")}],
            "approve": "quorum",
        }
        agent = RealAgent(
            program, host.directory / "agent", self.azure.imds[host.vm.lower()], {"policies": [stages | policy]}
        )
        command = host.agent_command
        command.write_text(f'#!/bin/sh\nexec {shlex.join(agent.command)} "$@" --config {agent.config}\n')
        command.chmod(0o755)
        self._stack.callback(agent.close)
        agent.begin()
        # A playbook that comes sooner finds no agent.
        wait_for(lambda: agent.ask("/healthz"), [agent])
        host.agent = agent
        return agent

    def hear(self, agent: RealAgent, text: str) -> None:
        """Wait until an agent has said this."""
        self.wait_for_agent(agent, lambda: text in agent.output.read_text())

    def wait_for_agent(self, agent: RealAgent, ask: Callable[[], Any]) -> None:
        """Wait until something is true that an agent does."""
        wait_for(ask, [agent])

    def looks(self, host: Host) -> int:
        """How often a host has asked for its events."""
        return int(self.azure.status()["vms"][host.vm.lower()]["requests"]["GET"])

    def write_inventory(self, hosts: list[Host] | None = None, **variables: Any) -> Path:
        """Write an inventory of all hosts, or of these, with these variables besides; return where it is."""
        inventory = self.path / "inventory.yml"
        inventory.write_text(yaml.safe_dump({"all": self._group(hosts or self.hosts, variables)}))
        return inventory

    @property
    def environment(self) -> dict[str, str]:
        """Ansible's environment variables."""
        return dict(
            os.environ,
            FLEET_DOWN=str(self._down),
            # Commands of the machines, where a test has put any there.
            PATH=os.pathsep.join([str(self.path / "bin"), os.environ["PATH"]]),
        )

    def start(self, playbook: str, *arguments: str, hosts: list[Host] | None = None, **variables: Any) -> Run:
        """Start a playbook of the collection, or another by its path, on all hosts, or on these."""
        inventory = self.write_inventory(hosts, **variables)
        name = playbook if "/" in playbook else f"foghorn.azure_events.{playbook}"
        return self.play(name, "-i", str(inventory), *arguments)

    def play(self, *arguments: str) -> Run:
        """Start ansible-playbook with just these arguments."""
        run = Run((*arguments, *self._chosen), self.path / f"output{len(self._runs)}.txt", self.environment)
        self._runs.append(run)
        return run

    def run(self, playbook: str, *arguments: str, hosts: list[Host] | None = None, **variables: Any) -> tuple[int, Run]:
        """Run a playbook to its end; returns its exit status too."""
        run = self.start(playbook, *arguments, hosts=hosts, **variables)
        return run.finish(), run

    def _group(self, hosts: list[Host], variables: dict[str, Any]) -> dict[str, Any]:
        return {
            "vars": {
                "ansible_connection": "machine",
                "ansible_python_interpreter": sys.executable,
                "load_balancer_removal_health_probe_file": "{{ directory }}/out_of_rotation",
                "load_balancer_removal_health_probe_interval": 0.1,
                "load_balancer_removal_health_probe_margin": 0.1,
                "load_balancer_removal_ports": ["{{ web_port }}"],
                "load_balancer_removal_addresses": ["{{ address }}"],
                "load_balancer_removal_state_directory": "{{ directory }}/by_hand",
                "graceful_shutdown_state_directory": "{{ directory }}/by_hand",
                "graceful_shutdown_services": [
                    {"name": "web", "timeout": 60}
                    | {
                        command: [*SERVICE, command, "{{ directory }}", "{{ address }}", "{{ web_port }}"]
                        for command in ("start", "status")
                    }
                    | {"stop": "{{ stop }}"}
                ],
                "handle_events_agent_command": "{{ directory }}/foghorn-agent",
                "handle_events_state_directory": "{{ directory }}/state",
                "handle_events_poll_interval": 1,
                "rehearse_agent_command": "{{ directory }}/foghorn-agent",
                "rehearse_control": self.azure.control,
                "rehearse_deploy": False,
                "rehearse_point_agents": False,
                "rehearse_poll_interval": 1,
                "handle_events_poll_timeout": 2,
            }
            | variables,
            "hosts": {
                host.name: {
                    "directory": str(host.directory),
                    "address": host.address,
                    "web_port": host.port,
                    "stop": ["sh", "-c", "exit 7"] if host.breaks_at_stop else host.service("stop"),
                    "handle_events_endpoint": self.azure.imds[host.vm.lower()],
                    "rehearse_vm_name": host.vm.lower(),
                }
                | host.variables
                for host in hosts
            },
        }

    def __enter__(self) -> Fleet:
        self.azure.__enter__()
        for host in self.hosts:
            subprocess.run(host.service("start"), check=True)
        return self

    def __exit__(self, *details: Any) -> None:
        for run in self._runs:
            run.kill()
        self._stack.close()
        # Azure first: what it does to its machines may start a web server again.
        self.azure.__exit__(*details)
        for host in self.hosts:
            host.stop()


@contextlib.contextmanager
def published(
    path: Path,
    subnet: int,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
    arm: dict[str, Any] | None = None,
    **config: Any,
) -> Iterator[Fleet]:
    """Have hosts whose events Azure publishes, each with the id of its VM, and a controller that is signed in.

    :param arm: more of the simulator's configuration of Resource Manager
    :param config: and more of the rest
    """
    subscription = "11111111-aaaa-4bbb-8ccc-232323232323"
    target = {"enable": True, "scheduledEventsApiVersion": "2020-07-01"}
    policy = {"scheduledEventsAdditionalPublishingTargets": {"eventGridAndResourceGraph": target}}
    vms = [
        {"name": f"vm_{number}", "address": f"127.0.{subnet}.{number + 1}", "availability_set": "web"}
        for number in range(count)
    ]
    config["vms"] = [*vms, {"name": "controller", "address": f"127.0.{subnet}.200"}]
    config["arm"] = {
        "subscription_id": subscription,
        "availability_sets": [{"name": "web", "properties": {"scheduledEventsPolicy": policy}}],
        **(arm or {}),
    }
    with Fleet(path, subnet, count, **config) as fleet:
        fleet.sign_in(monkeypatch, "controller")
        monkeypatch.setenv("ANSIBLE_AZURE_AUTH_SOURCE", "msi")
        place = f"/subscriptions/{subscription}/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines"
        for host in fleet.hosts:
            host.variables["id"] = f"{place}/{host.vm.lower()}"
        yield fleet
