# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does a run of handle_events cost the controller, by the number of hosts?

Two runs of the playbook as it is shipped, on simulated VMs, each with an address of its own: one with nothing announced
(ask, plan, report), and one in which a reboot is announced for some of them (and drain, stop, approve, watch, restore).
Then the plan alone, for more hosts than can be asked here, of readings as they come from hosts.

Times are processor time, of the process that leads the run and of its workers apart, because other things may run on
this machine; what the modules themselves take is left out, because they run on the VMs. No SSH is in it: tasks reach
the VMs by a connection of the tests that forks. Memory is the lead's peak, and what a worker has to itself (private
memory, which is not the lead's as well).

Fails when a run fails, an event is not approved, or a host that was taken out is not back. Only loopback addresses are
used.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "roles" / "azure_simulator" / "files"))
sys.path.insert(0, str(ROOT))

from azure_simulator.client import ControlClient  # noqa: E402 - found on the path set above

from tests.benchmark.simulator_load import address_of, simulator  # noqa: E402 - found on the path set above

GROUP = 50  # hosts behind one balancer
PLAYBOOK = "foghorn.azure_events.handle_events"
SAMPLE_EVERY = 1.0  # seconds

ONLY_PLAN = """
- hosts: all
  gather_facts: false
  strategy: ansible.builtin.linear
  tasks:
    - ansible.builtin.set_fact:
        plan: >-
          {{
            ansible_play_hosts | map('extract', hostvars, 'reading') | foghorn.azure_events.maintenance_plan(policy={})
          }}
      run_once: true
      delegate_to: localhost
      delegate_facts: true

    - ansible.builtin.debug:
        msg: "{{ (hostvars['localhost'].plan | foghorn.azure_events.maintenance_report).lines | length }}"
      run_once: true
"""
"""The tasks Plan and Show the plan of the playbook, for what its hosts have answered."""


class Cost(NamedTuple):
    """What a run has cost. Times are seconds, memory is MiB."""

    wall: float
    lead: float
    workers: float
    modules: float
    peak: float
    worker_peak: float
    status: int
    output: str

    def __str__(self) -> str:
        return (
            f"{self.wall:.0f} s; processor time: lead {self.lead:.1f} s, workers {self.workers:.1f} s,"
            f" modules on the VMs {self.modules:.1f} s; memory: lead {self.peak:.0f} MiB,"
            f" a worker {self.worker_peak:.0f} MiB"
        )


class Fleet:
    """Hosts of an inventory, and their VMs in the simulator."""

    def __init__(self, directory: Path, hosts: int) -> None:
        self.directory = directory
        self.names = [f"vm_{number}" for number in range(hosts)]
        for name in ("down", "modules"):
            (directory / name).mkdir()
        for name in self.names:
            (directory / name).mkdir()
            (directory / name / "running").touch()

    @property
    def configuration(self) -> dict[str, Any]:
        """The simulator's."""
        return {
            "control": {"port": 0},
            "imds": {"port": 0},
            # What is announced is approved long before; and it is over soon after, so that the time is the run's.
            "defaults": {"Reboot": {"notice": 6 * 3600, "impact": 1, "linger": 1}},
            "vms": [
                {"name": name, "address": address_of(number), "availability_set": f"group{number // GROUP}"}
                for number, name in enumerate(self.names)
            ],
        }

    def inventory(self, endpoints: dict[str, str]) -> dict[str, Any]:
        """All hosts, in groups of GROUP."""
        running = "{{ directory }}/running"
        return {
            "vars": {
                "ansible_connection": "machine",
                "ansible_python_interpreter": sys.executable,
                "handle_events_agent_command": "{{ directory }}/foghorn-agent",
                "handle_events_approve_within": 7 * 3600,
                "handle_events_begin_within": 7 * 3600,
                "handle_events_poll_interval": 1,
                "handle_events_poll_timeout": 2,
                "handle_events_state_directory": "{{ directory }}/state",
                "load_balancer_removal_health_probe_file": "{{ directory }}/out_of_rotation",
                "load_balancer_removal_health_probe_interval": 0.1,
                "load_balancer_removal_health_probe_margin": 0.1,
                "graceful_shutdown_services": [
                    {
                        "name": "web",
                        "timeout": 60,
                        "start": ["touch", running],
                        "stop": ["rm", running],
                        "status": ["test", "-e", running],
                    }
                ],
            },
            "hosts": {
                name: {
                    "directory": str(self.directory / name),
                    "handle_events_endpoint": endpoints[name],
                    "handle_events_group": f"group{number // GROUP}",
                }
                for number, name in enumerate(self.names)
            },
        }

    def not_back(self) -> list[str]:
        """The hosts that are not in rotation and serving."""
        return [
            name
            for name in self.names
            if (self.directory / name / "out_of_rotation").exists() or not (self.directory / name / "running").exists()
        ]


def run(directory: Path, playbook: str, inventory: dict[str, Any], forks: int) -> Cost:
    """Run a playbook to its end, and look at what it takes meanwhile."""
    hosts, modules, output = directory / "inventory.json", directory / "modules.txt", directory / "output.txt"
    hosts.write_text(json.dumps({"all": inventory}))
    modules.unlink(missing_ok=True)
    environment = dict(
        os.environ,
        ANSIBLE_CONNECTION_PLUGINS=str(ROOT / "tests" / "plugins" / "connection"),
        ANSIBLE_PIPELINING="true",
        ANSIBLE_NOCOLOR="true",
        # Else the inventory is read as what it is not, first.
        ANSIBLE_INVENTORY_ENABLED="yaml",
        FLEET_DOWN=str(directory / "down"),
        FLEET_MODULES=str(directory / "modules"),
        FLEET_MODULE_SECONDS=str(modules),
    )
    began = time.monotonic()
    with output.open("w") as stream:
        process = subprocess.Popen(
            ["ansible-playbook", playbook, "-i", str(hosts), "--forks", str(forks)],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=environment,
        )
    watch = Watch(process.pid)
    watch.start()
    # As the kernel counts: the times of its workers, and of what they have waited for, are among it when it has ended.
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    watch.end()
    spent = sum(map(float, modules.read_text().split())) if modules.exists() else 0.0
    total = usage.ru_utime + usage.ru_stime
    return Cost(
        wall=time.monotonic() - began,
        lead=watch.lead_seconds,
        workers=total - watch.lead_seconds - spent,
        modules=spent,
        peak=usage.ru_maxrss / 1024,
        worker_peak=watch.worker_peak,
        status=process.returncode,
        output=output.read_text(),
    )


class Watch(threading.Thread):
    """Looks at a run from time to time: the lead's own processor time, and the memory of a worker of its own."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.lead_seconds = 0.0
        self.worker_peak = 0.0
        self._pid = pid
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(SAMPLE_EVERY):
            try:
                fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
                self.lead_seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                workers = [int(pid) for pid in Path(f"/proc/{self._pid}/task/{self._pid}/children").read_text().split()]
            except (OSError, IndexError):
                continue
            self.worker_peak = max([self.worker_peak, *private_memory(workers)])

    def end(self) -> None:
        """Stop looking."""
        self._over.set()
        self.join()


def private_memory(pids: list[int]) -> Iterator[float]:
    """What these processes share with no other, in MiB, each."""
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        yield sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def reading(number: int, hit: bool) -> dict[str, Any]:
    """What a host answers, as the playbook notes it."""
    name = f"vm_{number}"
    event = {
        "event_id": "%08X-0000-4000-8000-000000000000" % number,
        "event_type": "Reboot",
        "event_status": "Scheduled",
        "event_source": "Platform",
        "resource_type": "VirtualMachine",
        "resources": [name],
        "description": "Host server is undergoing maintenance.",
        "duration_in_seconds": -1,
        "not_before": "2030-01-01T12:00:00Z",
        "seconds_until_start": 900,
        "affects_this_vm": True,
        "shared": False,
        "leader": name,
        "this_vm_leads": True,
    }
    return {
        "name": name,
        "vm_name": name,
        "events": [event] if hit else [],
        "group": f"group{number // GROUP}",
        "agent": {},
    }


def fail(message: str, cost: Cost) -> int:
    """Say what went wrong, with the end of what the run printed."""
    print(f"error: {message}\n{cost.output[-4000:]}")
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=50, help="hosts that are asked")
    parser.add_argument("--hit", type=int, default=2, help="hosts of them that are hit, each by an event of its own")
    parser.add_argument("--forks", type=int, default=10, help="ansible-playbook's --forks")
    parser.add_argument("--plan", type=int, default=1000, help="hosts for which the plan alone is made")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        fleet = Fleet(Path(scratch), options.hosts)
        with simulator(fleet.configuration) as (_process, ready):
            inventory = fleet.inventory(ready["imds"])
            idle = run(fleet.directory, PLAYBOOK, inventory, options.forks)
            print(f"{options.hosts} hosts, {options.forks} forks, nothing announced:\n  {idle}", flush=True)
            if idle.status:
                return fail("the run with nothing announced failed", idle)
            azure = ControlClient(ready["control"])
            # One in each group, then a second one, and so on: as many as possible may go at the same time.
            order = sorted(fleet.names, key=lambda name: int(name[3:]) % GROUP)
            events = [azure.event("Reboot", [name])["event_id"] for name in order[: options.hit]]
            busy = run(fleet.directory, PLAYBOOK, inventory, options.forks)
            print(f"{options.hosts} hosts, {options.forks} forks, {options.hit} hit:\n  {busy}", flush=True)
            records = {record["event_id"]: record for record in azure.status()["events"]}
            if busy.status:
                return fail("the run with events failed", busy)
            missed = [event for event in events if not records[event]["approvals"]]
            if missed or fleet.not_back():
                return fail(f"not approved: {missed}; not back: {fleet.not_back()}", busy)
        playbook = fleet.directory / "plan.yml"
        playbook.write_text(ONLY_PLAN)
        hosts = {f"vm_{number}": {"reading": reading(number, number % GROUP == 0)} for number in range(options.plan)}
        planned = run(fleet.directory, str(playbook), {"hosts": hosts}, options.forks)
        print(f"the plan for {options.plan} hosts, one of each {GROUP} hit:\n  {planned}")
        return fail("no plan was made", planned) if planned.status else 0


if __name__ == "__main__":
    sys.exit(main())
