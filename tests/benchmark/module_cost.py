# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does a task of ours cost beside a task of ansible.builtin.ping?

One ansible-playbook run, in which the tasks take turns, against the simulator on loopback. What is compared is the
time from a task's start to its result. Fails when a task cannot be measured, or costs LIMIT times as much as a ping.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "roles" / "azure_simulator" / "files"))

from azure_simulator.testing import Simulator  # noqa: E402  # found on the path set above

LIMIT = 2.0
"""How many times the cost of a ping is too much: far more than what is promised, far less than a library's import."""

BASELINE = "ansible.builtin.ping"
OURS: dict[str, dict[str, dict[str, Any]]] = {
    "scheduled_events_info": {"foghorn.azure_events.scheduled_events_info": {}},
    "scheduled_events_info, vm_name given": {"foghorn.azure_events.scheduled_events_info": {"vm_name": "web_0"}},
    "scheduled_event_approve, nothing to approve": {"foghorn.azure_events.scheduled_event_approve": {"event_ids": []}},
}
WARM_UP = 1
"""Rounds that do not count: the first finds cold caches."""

PATIENCE_PER_ROUND = 60.0


def measure(rounds: int) -> dict[str, list[float]]:
    """Seconds of each task, by its name, in each round; raises RuntimeError when the playbook fails."""
    fleet: dict[str, Any] = {
        "imds": {"rate_limit": None},  # a limit would be measured, not the modules
        "vms": [{"name": "web_0", "address": "127.0.0.11"}],
    }
    with Simulator(fleet) as azure, tempfile.TemporaryDirectory(prefix="foghorn-bench-") as name:
        azure.event("Reboot", "web_0", notice=86400)
        directory = Path(name)
        playbook = directory / "playbook.yml"
        playbook.write_text(json.dumps([_play(rounds + WARM_UP, azure.imds["web_0"])]), encoding="utf-8")
        (directory / "ansible.cfg").touch()
        durations = directory / "durations"
        environment = {
            **os.environ,
            "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callback"),
            "ANSIBLE_CALLBACKS_ENABLED": "task_durations",
            "ANSIBLE_CONFIG": str(directory / "ansible.cfg"),
            "ANSIBLE_LOCAL_TEMP": str(directory / "ansible" / "tmp"),
            "ANSIBLE_REMOTE_TMP": str(directory / "ansible" / "tmp"),
            "FOGHORN_TASK_DURATIONS": str(durations),
        }
        run = subprocess.run(
            [sys.executable, "-m", "ansible", "playbook", "-i", "localhost,", str(playbook)],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_PER_ROUND * (rounds + WARM_UP),
            check=False,
        )
        if run.returncode != 0:
            raise RuntimeError(f"the playbook ended with status {run.returncode}:\n{run.stdout}{run.stderr}")
        taken: dict[str, list[float]] = {}
        for line in durations.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            taken.setdefault(entry["task"], []).append(entry["seconds"])
    return {task: seconds[WARM_UP:] for task, seconds in taken.items()}


def _play(rounds: int, endpoint: str) -> dict[str, Any]:
    tasks: dict[str, dict[str, dict[str, Any]]] = {BASELINE: {BASELINE: {}}, **OURS}
    return {
        "hosts": "all",
        "gather_facts": False,
        "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
        "module_defaults": {"group/foghorn.azure_events.imds": {"endpoint": endpoint}},
        "tasks": [{"name": name, **task} for _round in range(rounds) for name, task in tasks.items()],
    }


def main() -> int:
    """Measure, print a table, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="how often each task runs (default: %(default)s)")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: give 1 or more")
    try:
        taken = measure(options.rounds)
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"could not measure: {error}", file=sys.stderr)
        return 1
    baseline = statistics.median(taken[BASELINE])
    width = max(map(len, taken))
    print(f"{'task':<{width}}  median s  beside ping   ({options.rounds} rounds)")
    for task, seconds in taken.items():
        print(f"{task:<{width}}  {statistics.median(seconds):8.3f}  {statistics.median(seconds) / baseline:11.2f}")
    too_dear = [task for task in OURS if statistics.median(taken[task]) > LIMIT * baseline]
    for task in too_dear:
        print(f"{task} costs more than {LIMIT:g} times as much as {BASELINE}", file=sys.stderr)
    return 1 if too_dear else 0


if __name__ == "__main__":
    sys.exit(main())
