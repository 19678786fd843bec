# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does a run of handle_events cost the controller, by the number of hosts?

Runs of the playbook as it is shipped, on simulated VMs, each with an address of its own. With nothing announced (ask,
plan, report), for each number of forks: what an idle host costs, which may be no more than IDLE_TASKS tasks on it. And
with a reboot announced for each of a group of hosts at once, half of which stay in service: how long it takes from the
announcement until the last of them is drained, stopped and approved. Most of that is waiting which cannot be left out:
for probes to notice, for Azure to list an event no more. Here these waits are cut short, and what the run takes besides
is set beside the waits as the defaults and Azure have them, and beside plain pings of the same hosts: a hit host may
cost the controller as much as PINGS_LIMIT of them. With --of they are spread over a larger fleet, whose others are
idle; how long the look at all of them takes is then set beside Azure's notice, and not judged, for it depends on the
machine. Then how many lines such a run prints, and the plan alone, for more hosts than are asked, of readings as they
come from hosts.

Other times are processor time, of the process that leads the run and of its workers apart, because other things may run
on this machine; what the modules themselves take is left out, because they run on the VMs. No SSH is in it: tasks reach
the VMs by a connection of the tests that forks. Memory is the lead's peak, and what its workers have to themselves
(private memory, which is not the lead's as well), all that run at a moment together. How far a run has come is told on
the standard error, once a minute.

Fails when a run fails, an event is not approved, a host that was taken out is not back, or a limit is passed. Only
loopback addresses are used.
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
SAMPLE_EVERY = 3.0  # seconds; a measurement takes milliseconds for each worker of a large fleet
TELL_EVERY = 60.0  # seconds
NOTICE = 15 * 60.0  # seconds; what Azure usually gives

IDLE_TASKS = 1.0
"""How many tasks an idle host may be sent."""
PINGS_LIMIT = 75.0
"""How many plain pings of a host a hit one may cost the controller, in processor time."""
PINGS = 10
LINES_LIMIT = 530
"""How many lines a run may print for LINES_OF hosts of which LINES_HIT are hit, with Ansible's own output."""
LINES_HIT, LINES_OF = 13, 30


class Waits(NamedTuple):
    """What nobody can cut short, in seconds: what a probe needs to notice, and how long Azure lists an event."""

    interval: float
    margin: float
    listed: float
    threshold: int = 2

    def until_last_approval(self, batches: int) -> float:
        """What these make together until the last batch is approved: those before it have returned by then."""
        leaving = self.interval * self.threshold + self.margin
        returning = self.interval + self.margin
        return batches * leaving + (batches - 1) * (self.listed + returning)


REAL = Waits(interval=15, margin=5, listed=600)
"""The defaults of load_balancer_removal, and what Azure takes."""
SHORT = Waits(interval=0.1, margin=0.1, listed=1)
"""Those of these runs."""
BATCHES = 2
"""Half of a group stays in service by default."""

ONLY_PLAN = """
- hosts: all
  gather_facts: false
  strategy: ansible.builtin.linear
  vars:
    run: {id: 00000000-0000-4000-8000-000000000000}
  tasks:
    - foghorn.azure_events.maintenance_step:
        state: record
        run: "{{ run }}"
        hosts: "{{ ansible_play_hosts }}"
      register: planned
      run_once: true

    - ansible.builtin.assert:
        that: planned.involved | length > 0
      run_once: true
"""
"""The task of the playbook that plans, for what its hosts have answered."""


class Cost(NamedTuple):
    """What a run has cost. Times are seconds, memory is MiB."""

    wall: float
    lead: float
    workers: float
    modules: float
    peak: float
    workers_peak: float
    """Of all workers that run at a moment."""
    tasks: int
    """How many were sent to hosts."""
    others: float
    """The share of the processors that other things have taken meanwhile."""
    status: int
    output: str

    def __str__(self) -> str:
        return (
            f"{self.wall:.0f} s; processor time: lead {self.lead:.1f} s, workers {self.workers:.1f} s,"
            f" modules on the VMs {self.modules:.1f} s; memory: lead {self.peak:.0f} MiB,"
            f" workers {self.workers_peak:.0f} MiB; other things took {self.others:.0%} of the processors"
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
            "defaults": {"Reboot": {"notice": 6 * 3600, "impact": SHORT.listed, "linger": SHORT.listed}},
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
                "load_balancer_removal_health_probe_interval": SHORT.interval,
                "load_balancer_removal_health_probe_margin": SHORT.margin,
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
    """Run a playbook to its end, and measure what it uses meanwhile."""
    hosts = directory / "inventory.json"
    hosts.write_text(json.dumps({"all": inventory}))
    # Else the inventory is read as what it is not, first.
    return run_with(directory, playbook, hosts, forks, ANSIBLE_INVENTORY_ENABLED="yaml")


def run_with(directory: Path, playbook: str, hosts: Path, forks: int, **more: str) -> Cost:
    """The same with an inventory that is there, and with more in the environment."""
    modules, output = directory / "modules.txt", directory / "output.txt"
    modules.unlink(missing_ok=True)
    environment = dict(
        os.environ,
        **more,
        ANSIBLE_CONNECTION_PLUGINS=str(ROOT / "tests" / "plugins" / "connection"),
        ANSIBLE_PIPELINING="true",
        ANSIBLE_NOCOLOR="true",
        FLEET_DOWN=str(directory / "down"),
        FLEET_MODULES=str(directory / "modules"),
        FLEET_MODULE_SECONDS=str(modules),
    )
    began, busy = time.monotonic(), busy_seconds()
    with output.open("w") as stream:
        process = subprocess.Popen(
            ["ansible-playbook", playbook, "-i", str(hosts), "--forks", str(forks)],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=environment,
        )
    watch = Watch(process.pid, output, modules)
    watch.start()
    # As the kernel counts: the times of its workers, and of what they have waited for, are among it when it has ended.
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall, busy = time.monotonic() - began, busy_seconds() - busy
    watch.end()
    tasks = [float(line) for line in modules.read_text().split()] if modules.exists() else []
    spent = sum(tasks)
    total = usage.ru_utime + usage.ru_stime
    return Cost(
        wall=wall,
        lead=watch.lead_seconds,
        workers=total - watch.lead_seconds - spent,
        modules=spent,
        peak=usage.ru_maxrss / 1024,
        workers_peak=watch.workers_peak,
        tasks=len(tasks),
        others=max(0.0, busy - total) / (wall * (os.cpu_count() or 1)),
        status=process.returncode,
        output=output.read_text(),
    )


def busy_seconds() -> float:
    """How long the processors of this machine have been busy since it booted, all together."""
    user, nice, system, _idle, _waiting, interrupts, soft, *_rest = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    )
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


class Watch(threading.Thread):
    """Looks at a run from time to time: the lead's processor time, the memory of its workers, how far it has come."""

    def __init__(self, pid: int, output: Path, modules: Path) -> None:
        super().__init__(daemon=True)
        self.lead_seconds = 0.0
        self.workers_peak = 0.0
        self._pid = pid
        self._output = output
        self._modules = modules
        self._over = threading.Event()

    def run(self) -> None:
        began = told = time.monotonic()
        while not self._over.wait(SAMPLE_EVERY):
            try:
                fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
                self.lead_seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                workers = [int(pid) for pid in Path(f"/proc/{self._pid}/task/{self._pid}/children").read_text().split()]
            except (OSError, IndexError):
                continue
            self.workers_peak = max(self.workers_peak, sum(private_memory(workers)))
            if time.monotonic() - told >= TELL_EVERY:
                told = time.monotonic()
                self._tell(told - began)

    def end(self) -> None:
        """Stop looking."""
        self._over.set()
        self.join()

    def _tell(self, elapsed: float) -> None:
        tasks = self._modules.read_bytes().count(b"\n") if self._modules.exists() else 0
        headings = [line for line in self._output.read_text().splitlines() if line.startswith("TASK [")]
        print(
            f"after {elapsed:.0f} s: {tasks} tasks sent to hosts, lead {self.lead_seconds:.0f} s, workers"
            f" {self.workers_peak:.0f} MiB, at {headings[-1].rstrip(' *') if headings else 'the beginning'}",
            file=sys.stderr,
            flush=True,
        )


def private_memory(pids: list[int]) -> Iterator[float]:
    """What these processes share with no other, in MiB, each."""
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        yield sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def answered(number: int, hit: bool) -> dict[str, Any]:
    """The variables of a host that has answered."""
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
        "not_before": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + NOTICE)),
        "seconds_until_start": 900,
        "affects_this_vm": True,
        "shared": False,
        "leader": name,
        "this_vm_leads": True,
    }
    scheduled = {"vm_name": name, "events": [event] if hit else []}
    return {
        "__handle_events_found": {"claims": {}, "lease": None, "present": [], "now": 0.0, "scheduled": scheduled},
        "__handle_events_owner": "handle_events",
        "handle_events_group": f"group{number // GROUP}",
    }


def fail(message: str, cost: Cost) -> int:
    """Say what went wrong, with the end of what the run printed."""
    print(f"error: {message}\n{cost.output[-4000:]}")
    return 1


def judge(what: str, figure: float, limit: float) -> int:
    """Print a figure beside its limit; 1 if it is above that."""
    print(f"  {what}: {figure:.2f}, at most {limit:g}{'' if figure <= limit else '  TOO MUCH'}", flush=True)
    return int(figure > limit)


def run_idle(scratch: Path, hosts: int, forks: list[int]) -> int:
    """Ask hosts for which nothing is announced."""
    failed = 0
    fleet = Fleet(scratch, hosts)
    with simulator(fleet.configuration) as (_process, ready):
        for number in forks:
            idle = run(fleet.directory, PLAYBOOK, fleet.inventory(ready["imds"]), number)
            print(f"{hosts} hosts, {number} forks, nothing announced:\n  {idle}", flush=True)
            if idle.status:
                return fail("the run with nothing announced failed", idle)
            failed |= judge("tasks for each idle host", idle.tasks / hosts, IDLE_TASKS)
    return failed


def run_hit(scratch: Path, hit: int, hosts: int, forks: int) -> int:
    """Have hosts hit at once: all of a group, or some that are spread over a fleet."""
    fleet = Fleet(scratch, hosts)
    with simulator(fleet.configuration) as (_process, ready):
        azure = ControlClient(ready["control"])
        announced = time.time()
        events = [azure.event("Reboot", [name])["event_id"] for name in fleet.names[:: hosts // hit][:hit]]
        busy = run(fleet.directory, PLAYBOOK, fleet.inventory(ready["imds"]), forks)
        print(f"{hosts} hosts, {forks} forks, {hit} of them hit:\n  {busy}", flush=True)
        approvals = {record["event_id"]: record["approvals"] for record in azure.status()["events"]}
    if busy.status:
        return fail("the run with events failed", busy)
    missed = [event for event in events if not approvals[event]]
    if missed or fleet.not_back():
        return fail(f"not approved: {missed}; not back: {fleet.not_back()}", busy)
    approved = sorted(approvals[event][0]["at"] - announced for event in events)
    took = approved[-1]
    if (hit, hosts) == (LINES_HIT, LINES_OF):
        return judge("lines of output", len(busy.output.splitlines()), LINES_LIMIT)
    if hosts > hit:
        print(f"  from the announcement to the first approval {approved[0]:.0f} s, to the last {took:.0f} s;", end=" ")
        print(f"Azure's usual notice is {NOTICE:.0f} s", flush=True)
        return 0
    forced = REAL.until_last_approval(BATCHES)
    work = took - SHORT.until_last_approval(BATCHES)
    print(f"  from the announcement to the last approval: {work:.0f} s, and {forced:.0f} s of waits that are forced")
    playbook = scratch / "ping.yml"
    ping: dict[str, Any] = {"ansible.builtin.ping": None}
    playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [ping] * PINGS}]))
    pings = run(fleet.directory, str(playbook), fleet.inventory(ready["imds"]), forks)
    print(f"{PINGS} plain pings of the same hosts:\n  {pings}", flush=True)
    if pings.status:
        return fail("the pings failed", pings)
    share = (busy.lead + busy.workers) / (pings.lead + pings.workers) * PINGS
    return judge("processor time for each hit host, in plain pings", share, PINGS_LIMIT)


def run_plan(scratch: Path, hosts: int, forks: int) -> int:
    """Make a plan only."""
    playbook = scratch / "plan.yml"
    playbook.write_text(ONLY_PLAN)
    readings = {f"vm_{number}": answered(number, number % GROUP == 0) for number in range(hosts)}
    planned = run(scratch, str(playbook), {"hosts": readings}, forks)
    print(f"the plan for {hosts} hosts, one of each {GROUP} hit:\n  {planned}")
    return fail("no plan was made", planned) if planned.status else 0


def directory_in(scratch: str, name: str) -> Path:
    """Make a directory of this name."""
    directory = Path(scratch, name)
    directory.mkdir()
    return directory


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=100, help="idle hosts that are asked; 0 leaves this out")
    parser.add_argument("--forks", type=int, nargs="+", default=[5, 20], help="ansible-playbook's --forks, one or more")
    parser.add_argument("--hit", type=int, default=GROUP, help="hosts that are hit at once; 0 leaves this out")
    parser.add_argument("--of", type=int, help="hosts over which those that are hit are spread, if there are others")
    parser.add_argument(
        "--lines", action=argparse.BooleanOptionalAction, default=True, help="count the lines that a run prints"
    )
    parser.add_argument(
        "--plan", type=int, default=1000, help="hosts for which the plan alone is made; 0 leaves it out"
    )
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        if options.hosts:
            failed |= run_idle(directory_in(scratch, "idle"), options.hosts, options.forks)
        if options.hit:
            failed |= run_hit(
                directory_in(scratch, "hit"), options.hit, max(options.hit, options.of or 0), options.forks[-1]
            )
        if options.lines:
            failed |= run_hit(directory_in(scratch, "lines"), LINES_HIT, LINES_OF, options.forks[-1])
        if options.plan:
            failed |= run_plan(directory_in(scratch, "plan"), options.plan, options.forks[-1])
    return failed


if __name__ == "__main__":
    sys.exit(main())
