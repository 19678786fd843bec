# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does a task of ours cost beside a task of ansible.builtin.ping?

One ansible-playbook run, in which the tasks take turns, against the simulator on loopback, and a real HAProxy where
there is one. What is compared is the time from a task's start to its result. Fails when a task cannot be measured, or
costs more than LIMIT times as much as a ping, those of haproxy_server HAPROXY_LIMIT times.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "roles" / "azure_simulator" / "files"))

from azure_simulator.testing import Simulator  # noqa: E402  # found on the path set above

LIMIT = 2.0
"""How many times the cost of a ping is too much: far more than what is promised, far less than a library's import."""
HAPROXY_LIMIT = 1.3
"""The same for haproxy_server, of which a batch runs one for each balancer and machine."""

BASELINE = "ansible.builtin.ping"
OURS: dict[str, dict[str, dict[str, Any]]] = {
    "scheduled_events_info": {"foghorn.azure_events.scheduled_events_info": {}},
    "scheduled_events_info, vm_name given": {"foghorn.azure_events.scheduled_events_info": {"vm_name": "web_0"}},
    "scheduled_event_approve, nothing to approve": {"foghorn.azure_events.scheduled_event_approve": {"event_ids": []}},
}
HAPROXY = {
    "haproxy_server, reading": {"foghorn.azure_events.haproxy_server": {"server": "web_0"}},
    "haproxy_server, drained already": {"foghorn.azure_events.haproxy_server": {"server": "web_0", "state": "drain"}},
}
"""As above; `socket` is added."""

HAPROXY_CONFIGURATION = """
global
    stats socket {directory}/admin.sock mode 600 level admin
defaults
    timeout connect 1s
    timeout client 1s
    timeout server 1s
backend web
    server web_0 127.0.0.1:1
    server web_1 127.0.0.1:1
"""

WARM_UP = 1
"""Rounds that do not count: the first finds cold caches."""

PATIENCE_PER_ROUND = 60.0


@contextlib.contextmanager
def haproxy(directory: Path) -> Iterator[str | None]:
    """The socket of a HAProxy that runs meanwhile; None where there is none to run."""
    found = ROOT / ".cache" / "haproxy" / "haproxy"
    program = str(found) if found.exists() else shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        yield None
        return
    configuration = directory / "haproxy.cfg"
    configuration.write_text(HAPROXY_CONFIGURATION.format(directory=directory), encoding="utf-8")
    process = subprocess.Popen([program, "-db", "-q", "-f", str(configuration)], stdin=subprocess.DEVNULL)
    try:
        limit = time.monotonic() + PATIENCE_PER_ROUND
        while not _answers(directory / "admin.sock"):
            if process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError(f"{program} did not start")
            time.sleep(0.05)
        yield str(directory / "admin.sock")
    finally:
        process.kill()
        process.wait()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


def measure(rounds: int) -> dict[str, list[float]]:
    """Seconds of each task, by its name, in each round; raises RuntimeError when the playbook fails."""
    fleet: dict[str, Any] = {
        "imds": {"rate_limit": None},  # a limit would be measured, not the modules
        "vms": [{"name": "web_0", "address": "127.0.0.11"}],
    }
    with (
        Simulator(fleet) as azure,
        tempfile.TemporaryDirectory(prefix="foghorn-bench-") as name,
        haproxy(Path(name)) as admin_socket,
    ):
        azure.event("Reboot", "web_0", notice=86400)
        directory = Path(name)
        playbook = directory / "playbook.yml"
        play = _play(rounds + WARM_UP, azure.imds["web_0"], admin_socket)
        playbook.write_text(json.dumps([play]), encoding="utf-8")
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


def _play(rounds: int, endpoint: str, admin_socket: str | None) -> dict[str, Any]:
    tasks: dict[str, dict[str, dict[str, Any]]] = {BASELINE: {BASELINE: {}}, **OURS}
    if admin_socket is not None:
        for name, task in HAPROXY.items():
            tasks[name] = {module: {**options, "socket": admin_socket} for module, options in task.items()}
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
    limits = {task: HAPROXY_LIMIT if task in HAPROXY else LIMIT for task in taken if task != BASELINE}
    shares = {task: statistics.median(seconds) / baseline for task, seconds in taken.items()}
    print(f"{'task':<{width}}  median s  beside ping  at most   ({options.rounds} rounds)")
    for task, seconds in taken.items():
        limit = f"{limits[task]:7.2f}" if task in limits else ""
        print(f"{task:<{width}}  {statistics.median(seconds):8.3f}  {shares[task]:11.2f}  {limit}".rstrip())
    if not set(HAPROXY) & set(taken):
        print("haproxy_server was not measured: there is no HAProxy here (make haproxy)")
    too_dear = [task for task, limit in limits.items() if shares[task] > limit]
    for task in too_dear:
        print(f"{task} costs more than {limits[task]:g} times as much as {BASELINE}", file=sys.stderr)
    return 1 if too_dear else 0


if __name__ == "__main__":
    sys.exit(main())
