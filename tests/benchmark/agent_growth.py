# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the handler agent grow with the time it runs?

The built program, against a metadata service on loopback that announces one event after the other. Each is drained for,
approved, started, gone and restored from, with a real process for each step. Only the pace is another: a poll follows
the one before at once. Fails if resident memory after all of it is more than a mebibyte above what it was once the
first events had been handled and each page of the endpoint asked for. What it is at rest, agent_cost.py judges.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.ports import free_port  # noqa: E402 - found on the path set above

VM_NAME = "vm_0"
MOST_GROWTH = 1.0
"""MiB."""
SETTLING_EVENTS = 10
STARTED_POLLS = 3
"""For so many answers an event that was approved is listed as started."""
REPORTS = 10
PATIENCE = 60.0
"""Seconds in which something has to happen."""

LAUNCHER = """
import sys
sys.path.insert(0, sys.argv[1])
from foghorn_agent.precompile import compile_elsewhere, forget
assert compile_elsewhere()
import foghorn_agent.cli
import json
from foghorn_agent.config import parse_config
from foghorn_agent.io.config_file import ConfigFile
from foghorn_agent.io.log import open_log
from foghorn_agent.service import Service
from foghorn_agent.platform import wakeups
config = parse_config(json.loads(sys.argv[2]))
config = config._replace(imds=config.imds._replace(poll_interval=0.0))
forget()
Service(config, {}, open_log(None), wakeups.Signals(), (), ConfigFile("/nonexistent")).run()
"""
"""Runs the program as it starts itself, compiled by a child, at a pace that no configuration allows."""


class Azure:
    """A metadata service for one machine. It announces an event every so many polls, once the one before is over.

    :param polls: between the beginnings of two events
    """

    def __init__(self, polls: int) -> None:
        self.polls = 0
        self.events = 0
        """How many are over."""
        self._every = polls
        self._began_at = 0
        self._event: dict[str, Any] | None = None
        self._started_left = 0
        self._incarnation = 1
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._clients: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer nobody any more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in self._clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                self._clients.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as lines, contextlib.suppress(OSError):
            while True:
                request = lines.readline()
                if not request:
                    return
                length = 0
                while (line := lines.readline()) not in (b"\r\n", b""):
                    name, _colon, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                lines.read(length)
                with self._lock:
                    body = json.dumps(self._answer(request)).encode("ascii")
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    def _answer(self, request: bytes) -> dict[str, Any]:
        if b"/instance/" in request:
            return {"name": VM_NAME, "vmId": "00000000-0000-0000-0000-000000000000"}
        if request.startswith(b"POST"):
            if self._event is not None and self._event["EventStatus"] == "Scheduled":
                self._change(dict(self._event, EventStatus="Started", NotBefore=""))
                self._started_left = STARTED_POLLS
            return {}
        self.polls += 1
        self._advance()
        return {"DocumentIncarnation": self._incarnation, "Events": [self._event] if self._event else []}

    def _advance(self) -> None:
        if self._event is None:
            if self.polls - self._began_at >= self._every:
                self._began_at = self.polls
                start = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 900))
                self._change(
                    {
                        "EventId": f"00000000-0000-0000-0000-{self.events:012X}",
                        "EventType": "Freeze",
                        "EventStatus": "Scheduled",
                        "ResourceType": "VirtualMachine",
                        "Resources": [VM_NAME],
                        "NotBefore": start,
                        "Description": f"The {self.events}th of many",
                        "EventSource": "Platform",
                        "DurationInSeconds": 9,
                    }
                )
        elif self._event["EventStatus"] == "Started":
            self._started_left -= 1
            if self._started_left < 0:
                self.events += 1
                self._change(None)

    def _change(self, event: dict[str, Any] | None) -> None:
        self._event = event
        self._incarnation += 1


def resident(pid: int) -> float:
    """Resident memory, in MiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def ask_all(port: int) -> None:
    """Ask for each page once."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for path in ("/healthz", "/metrics", "/status"):
        with opener.open(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as answer:
            answer.read()


def measure(directory: Path, polls: int, events: int, seconds: float) -> tuple[float, float]:
    """How many MiB resident memory grows by, and what it is then, printing it as it goes.

    :param seconds: that all of it may take
    """
    program = directory / "foghorn-agent"
    builder = ROOT / "roles" / "handler_agent" / "files" / "build_program.py"
    subprocess.run([sys.executable, str(builder), str(program)], check=True, timeout=PATIENCE)
    step = [{"command": ["/bin/true"]}]
    port = free_port()
    config: dict[str, Any] = {
        "listen": [{"address": "127.0.0.1", "port": port}],
        "state_directory": str(directory / "state"),
        "policies": [{"drain": step, "shutdown": step, "restore": step, "approve": "when_ready"}],
    }
    ends = time.monotonic() + seconds
    azure = Azure(polls // events)
    config["imds"] = {"endpoint": azure.url}
    with contextlib.ExitStack() as stack, open(directory / "output", "wb") as output:
        stack.callback(azure.close)
        process = subprocess.Popen(
            [sys.executable, "-IS", "-c", LAUNCHER, str(program), json.dumps(config)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # As the unit does.
            env={"PATH": "/usr/bin:/bin", "MALLOC_ARENA_MAX": "1"},
        )
        stack.callback(process.wait)
        stack.callback(process.kill)

        def wait_for_events(wanted: int, least_polls: int) -> None:
            while azure.events < wanted or azure.polls < least_polls:
                if process.poll() is not None:
                    raise RuntimeError(f"the agent has ended: {(directory / 'output').read_text()[-2000:]}")
                if time.monotonic() > ends:
                    raise RuntimeError(
                        f"only {azure.polls} polls and {azure.events} events in {seconds:g} s, not {polls} and {events}"
                    )
                time.sleep(0.05)
            ask_all(port)

        wait_for_events(SETTLING_EVENTS, 0)
        at_first = now = resident(process.pid)
        first_polls, first_events = azure.polls, azure.events
        print(f"{'polls':>8} {'events':>8} {'resident, MiB':>14}", flush=True)
        print(f"{0:8} {0:8} {at_first:14.2f}", flush=True)
        for part in range(1, REPORTS + 1):
            wait_for_events(first_events + events * part // REPORTS, first_polls + polls * part // REPORTS)
            now = resident(process.pid)
            print(f"{azure.polls - first_polls:8} {azure.events - first_events:8} {now:14.2f}", flush=True)
        return now - at_first, now


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polls", type=int, default=100_000, help="to take (default: %(default)s)")
    parser.add_argument("--events", type=int, default=1_000, help="to handle meanwhile (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=900.0, help="that it may take (default: %(default)s)")
    options = parser.parse_args()
    if not REPORTS <= options.events <= options.polls:
        parser.error(f"give at least {REPORTS} events, and no fewer polls than events")
    print(f"handler agent, {options.polls} polls and {options.events} events")
    with tempfile.TemporaryDirectory(prefix="foghorn-bench-") as directory:
        try:
            growth, now = measure(Path(directory), options.polls, options.events, options.seconds)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            print(f"could not measure: {error}", file=sys.stderr)
            return 1
    verdict = "" if growth <= MOST_GROWTH else "  TOO MUCH"
    print(f"resident {now:.2f} MiB; growth {growth:.2f} MiB, at most {MOST_GROWTH:.2f}{verdict}")
    return 1 if verdict else 0


if __name__ == "__main__":
    sys.exit(main())
