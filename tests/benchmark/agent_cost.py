# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does the handler agent cost, and how fast is it?

The built program, run as its unit runs it, against the simulator on loopback; beside it a bare interpreter that does
the least that can be done. What depends on the machine is judged beside that. Fails beyond the bounds:

* resident memory at rest, with the endpoint on and asked
* processor time of a poll that brings nothing new, threads included
* the same of an answer to who scrapes `/metrics`, and to who asks for `/status`
* from the announcement of an event to its first step, at one poll a second, at the 99th percentile
* the same of a Preempt, the longest of all, while 14 members drip their answers to a shared event and 64 clients hold
  their connections to the endpoint
* the longest that a probe waits while clients connect 10,000 times, beside what a hundred of them take to connect
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "roles" / "azure_simulator" / "files"))

from azure_simulator.client import ControlClient  # noqa: E402  # found on the path set above

MOST_MEMORY = 16.0
"""MiB."""
MOST_PROCESSOR_TIME = 2.6
"""In terms of a bare poll."""
MOST_PAGE_TIME = 10.0
"""In terms of a bare poll. Who scrapes comes every 15 s or so."""
MOST_DELAY = 1.1
"""In terms of the bare interpreter's, which polls as often."""
MOST_DELAY_UNDER_ATTACK = 1.2
"""In terms of the same."""
MOST_WAIT = 4.0
"""In terms of what it takes others to connect CONNECTIONS_BETWEEN times."""

HOSTILE_MEMBERS = 14
HELD_CONNECTIONS = 64
CONNECTIONS = 10_000
CONNECTIONS_BETWEEN = 100
SECRET = "of-the-members-of-this-bench-" + 32 * "x"

SEED = 20260101
PATIENCE = 60.0
SETTLING_POLLS = 5
STRETCHES = 4
PAGES = ("/metrics", "/status")
PAGES_ASKED = 10
PACE = 1.0
"""Seconds between polls, as on a machine: more often, they would find the processor's caches warm."""

BARE = """
import os, socket, sys, time
host, port, seconds, argv = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
request = b"GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\\r\\nHost: x\\r\\nMetadata: true\\r\\n\\r\\n"
connection = socket.create_connection((host, port))
was_listed = False
while True:
    connection.sendall(request)
    is_listed = b"EventId" in connection.recv(65536)
    if is_listed and not was_listed:
        os.waitpid(os.spawnv(os.P_NOWAIT, argv[0], argv), 0)
    was_listed = is_listed
    time.sleep(seconds)
"""
"""Polls by hand, understands nothing of what it is told, and runs a command when an event is there."""


class Machine:
    """A VM on which something polls."""

    def __init__(self, directory: Path, name: str, endpoint: str) -> None:
        self.name = name
        self.endpoint = endpoint
        self.directory = directory / name
        self.directory.mkdir(mode=0o755)
        self.mark = self.directory / "mark"
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def run_agent(self, program: Path, interval: float, settings: dict[str, Any] | None = None) -> None:
        """Run the agent, with a first step that leaves a mark, or with other settings."""
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            port = chosen.getsockname()[1]
        self.url = f"127.0.0.1:{port}"
        config = self.directory / "agent.json"
        content: dict[str, Any] = {
            "imds": {"endpoint": self.endpoint, "poll_interval": interval},
            "listen": [{"address": "127.0.0.1", "port": port}],
            "hooks_directory": str(self.directory / "hooks.d"),
            "state_directory": str(self.directory / "state"),
            "policies": [{"drain": [{"command": self.step}], "begin_before": 604800}],
        }
        config.write_text(json.dumps(content | (settings or {})), encoding="utf-8")
        config.chmod(0o600)
        self._run([sys.executable, "-IS", str(program), "run", "--config", str(config)])
        wait_for(lambda: self.ask("/status").get("last_answer"), self)

    def run_bare(self, interval: float) -> None:
        """Run the bare interpreter."""
        parts = urlsplit(self.endpoint)
        self._run([sys.executable, "-IS", "-c", BARE, str(parts.hostname), str(parts.port), str(interval), *self.step])

    def run_nothing(self) -> None:
        """Run an interpreter that only sleeps."""
        self._run([sys.executable, "-IS", "-c", "import time; time.sleep(86400)"])

    @property
    def step(self) -> list[str]:
        """The command that is run for an event."""
        return ["/usr/bin/touch", str(self.mark)]

    def ask(self, path: str) -> Any:
        """What the agent's endpoint answers; empty while it does not."""
        connection = http.client.HTTPConnection(self.url, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse().read()
        except OSError:
            return {}
        finally:
            connection.close()
        return json.loads(answer) if path == "/status" else answer

    def resident(self) -> float:
        """Resident memory, in MiB."""
        with open(f"/proc/{self._pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024

    def processor_time(self) -> float:
        """Processor seconds of all its threads."""
        tasks = Path(f"/proc/{self._pid}/task")
        return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks.iterdir()) / 1e9

    @property
    def _pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def _run(self, command: list[str]) -> None:
        # As the unit does.
        environment = {"PATH": "/usr/bin:/bin", "MALLOC_ARENA_MAX": "1"}
        with open(self.directory / "output", "wb") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
            )

    def close(self) -> None:
        """Leave no process behind."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def wait_for(ask: Callable[[], Any], machine: Machine) -> Any:
    """Ask until the answer is true."""
    ends = time.monotonic() + PATIENCE
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > ends or (machine.process is not None and machine.process.poll() is not None):
            said = (machine.directory / "output").read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"{machine.name} does not get on; it said:\n{said}")
        time.sleep(0.02)


@contextlib.contextmanager
def fleet(machines: int, are_together: bool = False) -> Iterator[tuple[ControlClient, list[Machine]]]:
    """A simulator in a process of its own, whose work counts for nobody, and machines on which nothing runs yet.

    :param are_together: whether an event may hit several of them
    """
    vms = [
        {"name": f"vm_{number}", "address": f"127.0.1.{number + 1}"}
        | ({"availability_set": "bench"} if are_together else {})
        for number in range(machines)
    ]
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foghorn-bench-")))
        directory.chmod(0o755)
        config = directory / "fleet.json"
        config.write_text(json.dumps({"control": {"port": 0}, "imds": {"port": 0, "rate_limit": None}, "vms": vms}))
        process = subprocess.Popen(
            [sys.executable, "-m", "azure_simulator", "serve", "--config", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=dict(os.environ, PYTHONPATH=str(ROOT / "roles" / "azure_simulator" / "files")),
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        assert process.stdout is not None
        stack.callback(process.stdout.close)
        ready = json.loads(process.stdout.readline())
        found = [Machine(directory, name, url) for name, url in ready["imds"].items()]
        for machine in found:
            stack.callback(machine.close)
        yield ControlClient(ready["control"]), found


def measure_rest(program: Path, polls: int) -> tuple[dict[str, float], dict[str, float]]:
    """Resident MiB, and milliseconds of processor time for each poll, of the agent and of the bare interpreter.

    Among the times are those of the agent's pages, by their paths.
    """
    with fleet(3) as (_control, (machine, bare, idle)):
        machine.run_agent(program, PACE)
        bare.run_bare(PACE)
        idle.run_nothing()
        time.sleep(SETTLING_POLLS * PACE)
        for path in ("/readyz", "/healthz", *PAGES) * 5:
            machine.ask(path)
        memory = {"agent": machine.resident(), "bare": idle.resident()}
        # The least of some stretches: whatever else this machine does only ever adds to it.
        stretches = [_processor_time(machine, bare, polls / STRETCHES * PACE) for _stretch in range(STRETCHES)]
        times = {name: min(stretch[name] for stretch in stretches) for name in ("agent", "bare")}
        return memory, times | {path: _time_of_page(machine, path, times["agent"]) for path in PAGES}


def _processor_time(machine: Machine, bare: Machine, seconds: float) -> dict[str, float]:
    # To ask for the count costs more than a poll: not within what is measured.
    count = -polls_of(machine)
    before = {one.name: one.processor_time() for one in (machine, bare)}
    time.sleep(seconds)
    taken = {one.name: one.processor_time() - before[one.name] for one in (machine, bare)}
    count += polls_of(machine)
    return {"agent": taken[machine.name] / count * 1000, "bare": taken[bare.name] / count * 1000}


def _time_of_page(machine: Machine, path: str, poll: float) -> float:
    """The least that an answer takes, of some that are as far apart as polls are.

    :param poll: what one of those takes, which comes in the meantime
    """
    times = []
    for _number in range(PAGES_ASKED):
        before = machine.processor_time()
        machine.ask(path)
        time.sleep(PACE)
        times.append((machine.processor_time() - before) * 1000 - poll)
    return min(times)


def polls_of(machine: Machine) -> int:
    """How many documents the agent has read so far."""
    metrics = machine.ask("/metrics").decode("ascii")
    line = next(line for line in metrics.splitlines() if line.startswith('foghorn_polls_total{result="answered"}'))
    return int(float(line.split()[-1]))


def measure_delay(begin: Callable[[Machine], None], machines: int, rounds: int, rng: random.Random) -> list[float]:
    """Seconds from each announcement to the first step.

    All machines wait at the same time: one after the other, they would take minutes to do so.
    """
    delays = []
    with fleet(machines) as (control, found):
        for machine in found:
            begin(machine)
            # Keep the machines out of step with each other.
            time.sleep(rng.random() / machines)
        time.sleep(2.0)
        for _round in range(rounds):
            announced: dict[str, float] = {}
            events = []
            # Spread over a whole poll interval, so that announcements keep no fixed phase to the polls.
            began = time.monotonic()
            for offset, machine in sorted(((rng.uniform(0.0, PACE), one) for one in found), key=lambda pair: pair[0]):
                time.sleep(max(0.0, began + offset - time.monotonic()))
                announced[machine.name] = time.time()
                events.append(control.event("Freeze", [machine.name], notice=900))
            for machine in found:
                wait_for(machine.mark.exists, machine)
                delays.append(machine.mark.stat().st_mtime - announced[machine.name])
                machine.mark.unlink()
            for event in events:
                control.withdraw(event["event_id"])
            # Until each has seen that there is nothing.
            time.sleep(2 * PACE)
    return sorted(delays)


class Dripping:
    """Members of a quorum that begin an answer and never end it."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        clients: list[socket.socket] = []
        self._listener.settimeout(0.1)
        while not self._is_over.is_set():
            with contextlib.suppress(TimeoutError):
                client = self._listener.accept()[0]
                client.setblocking(False)
                client.send(b"HTTP/1.1 200 OK\r\nX: ")
                clients.append(client)
                self.asked += 1
            for client in list(clients):
                try:
                    client.send(b"x")
                except BlockingIOError:
                    pass
                except OSError:
                    clients.remove(client)
                    client.close()
        for client in clients:
            client.close()

    def close(self) -> None:
        """Hang up on everybody."""
        self._is_over.set()
        self._thread.join()
        self._listener.close()


def measure_attack(program: Path, rounds: int, rng: random.Random) -> tuple[float, float, float]:
    """Seconds from a Preempt to its first step, and of a probe's wait, the longest; and what others took to connect."""
    with fleet(HOSTILE_MEMBERS + 1, are_together=True) as (control, found), contextlib.ExitStack() as stack:
        machine = found[0]
        names = [one.name for one in found]
        dripping = Dripping()
        stack.callback(dripping.close)
        secret = machine.directory / "secret"
        secret.write_text(SECRET, encoding="ascii")
        secret.chmod(0o600)
        quorum = {"secret_file": str(secret), "interval": 0.5, "members": dict.fromkeys(names[1:], dripping.url)}
        shared = {"match": {"event_types": ["Reboot"]}, "drain": [], "approve": "quorum"}
        evicted = {"drain": [{"command": machine.step}], "begin_before": 604800}
        machine.run_agent(program, PACE, {"quorum": quorum, "policies": [shared, evicted]})
        control.event("Reboot", names, notice=3600)
        wait_for(lambda: dripping.asked >= HOSTILE_MEMBERS, machine)
        delays = []
        for _round in range(rounds):
            with contextlib.ExitStack() as held:
                for _client in range(HELD_CONNECTIONS):
                    host, _colon, port = machine.url.partition(":")
                    client = held.enter_context(socket.create_connection((host, int(port)), PATIENCE))
                    client.sendall(b"GET /status HTTP/1.1\r\nX: ")
                time.sleep(rng.uniform(0.0, PACE))
                announced = time.time()
                event = control.event("Preempt", [machine.name], notice=30)
                wait_for(machine.mark.exists, machine)
                delays.append(machine.mark.stat().st_mtime - announced)
                machine.mark.unlink()
                control.withdraw(event["event_id"])
                wait_for(lambda: withdrawn_events(machine) == len(delays), machine)
        return max(delays), *_longest_wait(machine)


def withdrawn_events(machine: Machine) -> int:
    """How many have gone, of those that the machine is still out for."""
    return sum(event["phase"] == "withdrawn" for event in machine.ask("/status").get("events", ()))


def _longest_wait(machine: Machine) -> tuple[float, float]:
    """The longest that one of the probes waits while others only connect, and hang up when the agent does.

    And how long these take to connect, between two probes.
    """
    host, _colon, port = machine.url.partition(":")
    clients: list[socket.socket] = []
    longest, ended, between = 0.0, time.monotonic(), []
    try:
        for number in range(CONNECTIONS):
            clients.append(socket.create_connection((host, int(port)), PATIENCE))
            if len(clients) > 2 * HELD_CONNECTIONS:
                clients.pop(0).close()
            if number % CONNECTIONS_BETWEEN == 0:
                began = time.monotonic()
                between.append(began - ended)
                if not machine.ask("/readyz"):
                    raise RuntimeError(f"a probe was not answered after {number} connections")
                ended = time.monotonic()
                longest = max(longest, ended - began)
    finally:
        for client in clients:
            client.close()
    return longest, statistics.median(between)


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the sorted values does not exceed."""
    return values[min(len(values) - 1, int(share * len(values)))]


def show(name: str, value: float, bare: float, most: float, judged: float | None = None) -> bool:
    """Print a figure as soon as it is known; give whether it is within its bound.

    :param judged: what is, if not the figure in terms of the bare one
    """
    figure = value / bare if judged is None else judged
    good = figure <= most
    beside = f"{bare:6.2f} {value / bare:6.2f}"
    print(f"{name:<50}  {value:6.2f} {beside} {most:8.2f}{'' if good else '  TOO MUCH'}", flush=True)
    return good


def _out_of_time(seconds: int) -> None:
    raise RuntimeError(f"not done within {seconds} s")


def main() -> int:
    """Measure, print each figure as it is known, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polls", type=int, default=60, help="polls to take the mean of (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=10, help="announcements to each machine (default: %(default)s)")
    parser.add_argument("--machines", type=int, default=20, help="that wait for one (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=600, help="that it may take (default: %(default)s)")
    options = parser.parse_args()
    for name, value in vars(options).items():
        least = STRETCHES * 5 if name == "polls" else 1
        if value < least:
            parser.error(f"--{name} {value}: give {least} or more")
    rng = random.Random(SEED)
    signal.signal(signal.SIGALRM, lambda _number, _frame: _out_of_time(options.seconds))
    signal.alarm(options.seconds)
    announcements = options.machines * options.rounds
    print(f"handler agent, {options.polls} polls, {announcements} announcements", flush=True)
    print(f"{'':50}  {'agent':>6} {'bare':>6} {'ratio':>6}  at most", flush=True)
    with tempfile.TemporaryDirectory(prefix="foghorn-bench-") as directory:
        program = Path(directory) / "foghorn-agent"
        builder = ROOT / "roles" / "handler_agent" / "files" / "build_program.py"
        try:
            subprocess.run([sys.executable, str(builder), str(program)], check=True, timeout=PATIENCE)
            memory, processor = measure_rest(program, options.polls)
            good = [
                show("resident memory at rest, MiB", memory["agent"], memory["bare"], MOST_MEMORY, memory["agent"]),
                show("processor time of an idle poll, ms", processor["agent"], processor["bare"], MOST_PROCESSOR_TIME),
            ]
            good += [
                show(f"processor time of {path}, ms", processor[path], processor["bare"], MOST_PAGE_TIME)
                for path in PAGES
            ]
            delay, bare = (
                percentile(measure_delay(begin, options.machines, options.rounds, rng), 0.99)
                for begin in (lambda one: one.run_agent(program, PACE), lambda one: one.run_bare(PACE))
            )
            good.append(show("notice to first step, s, 99th percentile", delay, bare, MOST_DELAY))
            evicted, waited, connected = measure_attack(program, options.rounds, rng)
            good += [
                show("Preempt to first step under attack, s, longest", evicted, bare, MOST_DELAY_UNDER_ATTACK),
                show(f"a probe's wait among {CONNECTIONS} connections, s, longest", waited, connected, MOST_WAIT),
            ]
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            print(f"could not measure: {error}", file=sys.stderr)
            return 1
        finally:
            signal.alarm(0)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
