# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet polls the simulator once a second and machine: what does that cost?

The simulator runs in a process of its own, the pollers in this one, each with one connection that it
keeps. Fails when a request is lost, or when the pollers fall behind. Only loopback addresses are used.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

PACKAGES = Path(__file__).resolve().parents[2] / "roles" / "azure_simulator" / "files"
FIRST_ADDRESS = (127, 1, 0, 1)
GROUP = 100  # machines that share a placement group, and so a document
PATIENCE = 60.0  # seconds the simulator may take to start or to stop
REQUEST_TIMEOUT = 30.0


class Result(NamedTuple):
    """What the pollers saw, and what it cost the simulator. Times are seconds."""

    expected: int
    latencies: list[float]
    failures: list[str]
    cpu: float
    wall: float

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies) or [float("inf")]
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def shortcomings(self) -> list[str]:
        """Why this is not good enough; empty when it is."""
        found = []
        if self.failures:
            found.append(f"{len(self.failures)} requests failed, the first: {self.failures[0]}")
        if len(self.latencies) < 0.95 * self.expected:
            found.append(f"only {len(self.latencies)} of {self.expected} requests were answered in time")
        return found


class Poller(asyncio.Protocol):
    """One machine: asks once a second over a connection that it keeps."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[bytes] | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator or self._answer is None or self._answer.done():
            return
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:") and len(body) >= int(line.split(b":")[1]):
                self._received = b""
                self._answer.set_result(head)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("closed without an answer"))

    async def ask(self) -> float:
        """One request; returns how long it took, raises OSError or TimeoutError when it was lost."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the connection was not kept")
        begin = time.perf_counter()
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(self._request)
        head = await asyncio.wait_for(self._answer, REQUEST_TIMEOUT)
        if not head.startswith(b"HTTP/1.1 200 "):
            raise OSError(head.split(b"\r\n")[0].decode())
        return time.perf_counter() - begin

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def configuration(machines: int, identify_by: str) -> dict[str, Any]:
    """A fleet in placement groups, on loopback addresses and free ports."""
    imds: dict[str, Any] = {"port": 0, "identify_by": identify_by}
    if identify_by == "client":
        imds["address"] = "127.0.0.1"
    groups = range(0, machines, GROUP)
    return {
        "control": {"port": 0},
        "imds": imds,
        "vms": [
            {"name": f"vm_{number}", "address": address_of(number), "placement_group": f"group-{start}"}
            for start in groups
            for number in range(start, min(start + GROUP, machines))
        ],
    }


def address_of(number: int) -> str:
    """The loopback address of a machine."""
    low = FIRST_ADDRESS[3] + number
    return f"127.1.{low // 250}.{low % 250 + 1}"


@contextmanager
def simulator(config: dict[str, Any]) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A running simulator: its process and its ready line."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "fleet.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "azure_simulator", "serve", "--config", str(path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGES), os.environ.get("PYTHONPATH", "")])},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise SystemExit("the simulator did not start")
            yield process, json.loads(line)
        finally:
            process.terminate()
            process.wait(PATIENCE)
            if process.stdout is not None:
                process.stdout.close()


def cpu_seconds(pid: int) -> float:
    """Processor time a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def announce(control: str, machines: int) -> None:
    """Give every group an event, so that documents are not empty."""
    opener = build_opener(ProxyHandler({}))
    for start in range(0, machines, GROUP):
        body = json.dumps({"event_type": "Freeze", "resources": [f"vm_{start}"], "notice": 86400}).encode()
        request = Request(f"{control}/_simulator/events", body, {"Content-Type": "application/json"})
        with opener.open(request, timeout=PATIENCE):
            pass


async def poll(ready: dict[str, Any], seconds: int, identify_by: str, pid: int) -> Result:
    """Let every machine ask once a second, evenly spread over it."""
    loop = asyncio.get_running_loop()
    pollers = []
    for number, (_name, url) in enumerate(ready["imds"].items()):
        parts = urlsplit(url)
        request = (
            "GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\n"
            f"Host: {parts.netloc}\r\nMetadata: true\r\nAccept: application/json\r\n\r\n"
        ).encode()
        source = (address_of(number), 0) if identify_by == "client" else None
        _transport, poller = await loop.create_connection(
            lambda request=request: Poller(request),
            parts.hostname,
            parts.port,
            local_addr=source,
        )
        pollers.append(poller)
    latencies: list[float] = []
    failures: list[str] = []

    async def keep_asking(poller: Poller, begin: float) -> None:
        for turn in range(seconds):
            await asyncio.sleep(max(0.0, begin + turn - loop.time()))
            try:
                latencies.append(await poller.ask())
            except (TimeoutError, OSError) as error:
                failures.append(repr(error))
                return

    begin = loop.time() + 0.5
    cpu, wall = cpu_seconds(pid), time.monotonic()
    await asyncio.gather(*(keep_asking(poller, begin + number / len(pollers)) for number, poller in enumerate(pollers)))
    result = Result(len(pollers) * seconds, latencies, failures, cpu_seconds(pid) - cpu, time.monotonic() - wall)
    for poller in pollers:
        poller.close()
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--machines", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--identify-by", choices=["server", "client"], action="append")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, options.machines + 1024)), hard))
    good = True
    for identify_by in options.identify_by or ["server", "client"]:
        with simulator(configuration(options.machines, identify_by)) as (process, ready):
            announce(ready["control"], options.machines)
            result = asyncio.run(poll(ready, options.seconds, identify_by, process.pid))
        print(
            f"simulator, VMs known by the address {'asked' if identify_by == 'server' else 'asking'}: "
            f"{options.machines} VMs polled once a second for {options.seconds} s, "
            f"{len(result.latencies)} answered, {len(result.failures)} failed, "
            f"{result.cpu / result.wall:.0%} of a core, latency "
            f"p50 {result.percentile(0.5) * 1000:.1f} ms, p99 {result.percentile(0.99) * 1000:.1f} ms",
            flush=True,
        )
        for shortcoming in result.shortcomings:
            good = False
            print(f"  not good enough: {shortcoming}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
