# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does a run of handle_events cost that asks Azure once for all hosts, by the number of hosts?

Runs of the playbook as it is shipped, with an INI inventory, on VMs whose events a simulated Azure publishes. With
nothing announced, for a small and a large fleet: how much more processor time the large one takes (GROWTH), and how
many hosts are contacted (none). With reboots announced for some: what the run takes. Each group has three hosts, and no
balancer counts them.

Fails when a run fails, an event is not approved, or a limit is passed. Only loopback addresses are used.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "roles" / "azure_simulator" / "files"))
sys.path.insert(0, str(ROOT))

from azure_simulator.client import ControlClient  # noqa: E402 - found on the path set above

from tests.benchmark.fleet_run import (  # noqa: E402 - found on the path set above
    PLAYBOOK,
    Cost,
    Fleet,
    fail,
    judge,
    run_with,
)
from tests.benchmark.simulator_load import simulator  # noqa: E402 - found on the path set above

SUBSCRIPTION = "11111111-2222-4333-8444-666666666666"
MACHINES = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines"
TARGET = {"enable": True, "scheduledEventsApiVersion": "2020-07-01"}
PUBLISHED = {
    "scheduledEventsPolicy": {"scheduledEventsAdditionalPublishingTargets": {"eventGridAndResourceGraph": TARGET}}
}
GROUP = 3  # hosts

GROWTH = 4.0
"""How much more processor time a fleet may take that is ten times as large."""
MEMORY = 1.5
"""GiB that all processes may take together."""
REQUESTS = 15
"""How often Azure may be asked, but for the sign-in."""


def world(fleet: Fleet) -> dict[str, Any]:
    """The simulator's configuration."""
    found = fleet.configuration
    sets = list({vm["availability_set"]: None for vm in found["vms"]})
    found["arm"] = {
        "port": 0,
        "subscription_id": SUBSCRIPTION,
        "availability_sets": [{"name": name, "properties": PUBLISHED} for name in sets],
    }
    return found


def write_inventory(fleet: Fleet, endpoints: dict[str, str]) -> Path:
    """An INI file, which Ansible reads in a third of the time that YAML takes."""
    inventory = fleet.inventory(endpoints)
    lines = ["[web]"]
    for number, (name, variables) in enumerate(inventory["hosts"].items()):
        own = variables | {"id": f"{MACHINES}/{name}", "handle_events_group": f"group{number // GROUP}"}
        lines.append(" ".join([name, *(f"{key}={value}" for key, value in own.items())]))
    common = inventory["vars"] | {
        "handle_events_ask": "azure",
        "handle_events_out_directory": str(fleet.directory / "out"),
    }
    lines += ["[web:vars]", *(f"{key}={json.dumps(value)}" for key, value in common.items())]
    path = fleet.directory / "inventory.ini"
    path.write_text("\n".join(lines) + "\n")
    return path


def run_one(scratch: str, hosts: int, hit: int, forks: int) -> tuple[Cost, int]:
    """Run the playbook on so many hosts; returns what it has cost, and how many events were not approved."""
    directory = Path(scratch, f"{hosts}_{hit}")
    directory.mkdir()
    fleet = Fleet(directory, hosts)
    with simulator(world(fleet)) as (_process, ready):
        azure = ControlClient(ready["control"])
        for name in fleet.names[:: hosts // hit][:hit] if hit else ():
            azure.event("Reboot", [name])
        before = azure.status()["log"][-1]["seq"] if azure.status()["log"] else 0
        cost = run_with(
            directory,
            PLAYBOOK,
            write_inventory(fleet, ready["imds"]),
            forks,
            FOGHORN_ARM_BASE_URL=ready["arm"],
            ANSIBLE_AZURE_AUTH_SOURCE="msi",
            AZURE_POD_IDENTITY_AUTHORITY_HOST=ready["imds"][fleet.names[-1]],
        )
        requests = [entry for entry in azure.log(before) if entry.get("door") == "arm"]
        missed = sum(1 for event in azure.status()["events"] if not event["approvals"])
    asked = f"Azure was asked {len(requests)} times"
    print(f"{hosts} hosts, {hit} of them hit, {forks} forks; {asked}, {cost.tasks} tasks sent to hosts:\n  {cost}")
    failed = judge("requests to Azure", len(requests), REQUESTS)
    failed |= judge("GiB of memory", (cost.peak + cost.workers_peak) / 1024, MEMORY)
    return cost, missed + len(fleet.not_back()) + failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=10_000, help="hosts of the large fleet")
    parser.add_argument("--hit", type=int, default=20, help="hosts that are hit at once; 0 leaves this out")
    parser.add_argument("--forks", type=int, default=20, help="ansible-playbook's --forks")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        small, wrong = run_one(scratch, options.hosts // 10, 0, options.forks)
        large, wrong_too = run_one(scratch, options.hosts, 0, options.forks)
        if small.status or large.status or wrong or wrong_too:
            return fail("a run with nothing announced failed", large if large.status else small)
        growth = (large.lead + large.workers) / (small.lead + small.workers)
        failed |= judge("processor time for tenfold the hosts, in terms of that for a tenth", growth, GROWTH)
        failed |= judge("tasks sent to idle hosts", small.tasks + large.tasks, 2)
        if options.hit:
            hit, wrong = run_one(scratch, options.hosts, options.hit, options.forks)
            if hit.status or wrong:
                return fail("the run with events failed, or left an event or a host", hit)
    return failed


if __name__ == "__main__":
    sys.exit(main())
