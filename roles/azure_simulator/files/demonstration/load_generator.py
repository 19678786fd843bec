# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends requests at a steady rate until SIGTERM, and writes down what became of them, second by second.

Half of the clients open a connection for each request, the others keep theirs open, as browsers and proxies do.

A request is lost when its connection is refused, reset, or closed without a whole response, when the response does
not arrive within the time limit, when its status is not 200, or when it is not the answer expected. Nothing is tried
again. A client that keeps its connection looks whether the server has closed it before it sends the next request, and
opens another one then: that is no loss, since nothing was sent. What it has sent counts, also where a browser would try
once more by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import signal
import time
from collections import deque
from pathlib import Path

import journal

SHORT = "short"
KEPT = "kept"

HEARTBEAT = 0.05
"""Seconds between two checks of the time limits."""


class LostRequest(Exception):
    """A request was not answered as it should be; the text says why."""


class Connection:
    """One connection to the service."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: re.Pattern[bytes] | None
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._answer = answer
        self._ended = False

    @property
    def usable(self) -> bool:
        """False once either side has closed it."""
        return not (self._ended or self._reader.at_eof() or self._reader.exception() or self._writer.is_closing())

    async def request(self, host: str, keep: bool) -> None:
        """Send one request and take its whole response; raises LostRequest, OSError."""
        self._writer.write(
            f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: {'keep-alive' if keep else 'close'}\r\n\r\n".encode()
        )
        await self._writer.drain()
        try:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
            fields = dict(line.split(": ", 1) for line in head[1:] if line)
            body = await self._reader.readexactly(int(fields["content-length"]))
        except asyncio.IncompleteReadError as error:
            raise LostRequest("cut off in its response" if error.partial else "closed without a response") from error
        except (KeyError, ValueError) as error:
            raise LostRequest("no HTTP") from error
        self._ended = not keep or fields.get("connection") == "close"
        status = head[0].split(" ")[1]
        if status != "200":
            raise LostRequest(f"status {status}")
        if self._answer is not None and not self._answer.fullmatch(body):
            raise LostRequest("another answer")

    def close(self) -> None:
        """End it, without waiting for the other side."""
        self._writer.close()


class Patience:
    """Ends what takes longer than a time limit, of the seconds in which this program could run.

    :param timeout: seconds, the same for all
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lived = 0.0
        # In the order of their ends, since all have the same time.
        self._limits: deque[tuple[float, asyncio.Timeout]] = deque()

    def limit(self) -> asyncio.Timeout:
        """A context that raises TimeoutError once the time is over."""
        limit = asyncio.timeout(None)
        self._limits.append((self._lived + self._timeout, limit))
        return limit

    async def watch(self) -> None:
        """Check the time limits until cancelled."""
        loop = asyncio.get_running_loop()
        looked = loop.time()
        while True:
            await asyncio.sleep(HEARTBEAT)
            looked, before = loop.time(), looked
            self._lived += min(looked - before, 2 * HEARTBEAT)
            while self._limits and self._limits[0][0] <= self._lived:
                _end, limit = self._limits.popleft()
                # One that is over already takes no notice.
                with contextlib.suppress(RuntimeError):
                    limit.reschedule(looked)


class Load:
    """All clients together, and the count of what they sent and lost."""

    def __init__(
        self, address: str, port: int, timeout: float, log: Path, answer: re.Pattern[bytes] | None = None
    ) -> None:
        self._address = address
        self._port = port
        self._timeout = timeout
        self._patience = Patience(timeout)
        self._answer = answer
        self._log = log
        self._stopping = asyncio.Event()
        self._sent = {SHORT: 0, KEPT: 0}
        self._lost = {SHORT: 0, KEPT: 0}
        self._slowest = 0.0

    def stop(self) -> None:
        """Send no more; what is in flight is waited for."""
        self._stopping.set()

    async def run(self, short_rate: float, clients: int, kept_rate: float) -> None:
        """Send ``short_rate`` requests a second on their own connections, ``kept_rate`` on ``clients`` kept ones."""
        watch = asyncio.create_task(self._patience.watch())
        async with asyncio.TaskGroup() as group:
            group.create_task(self._report())
            group.create_task(self._short(group, 1 / short_rate))
            for number in range(clients):
                group.create_task(self._kept(number / kept_rate, clients / kept_rate))
        watch.cancel()
        self._write_second()

    async def _pause(self, until: float) -> bool:
        """Sleep until that instant of the loop's clock; False when it is time to stop."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), max(0.0, until - asyncio.get_running_loop().time()))
        return not self._stopping.is_set()

    async def _report(self) -> None:
        tick = asyncio.get_running_loop().time()
        while await self._pause(tick := tick + 1):
            self._write_second()

    async def _short(self, group: asyncio.TaskGroup, period: float) -> None:
        """Open a connection for each request. Each ends within the time limit, which bounds how many are in flight."""
        tick = asyncio.get_running_loop().time()
        while await self._pause(tick):
            group.create_task(self._attempt(SHORT, None))
            tick = max(tick + period, asyncio.get_running_loop().time())

    async def _kept(self, delay: float, period: float) -> None:
        """Send one request after the other on one connection for as long as it lasts."""
        connection: Connection | None = None
        tick = asyncio.get_running_loop().time() + delay
        while await self._pause(tick):
            if connection is not None and not connection.usable:
                connection.close()
                connection = None
            connection = await self._attempt(KEPT, connection)
            tick = max(tick + period, asyncio.get_running_loop().time())
        if connection is not None:
            connection.close()

    async def _attempt(self, kind: str, connection: Connection | None) -> Connection | None:
        """Send one request, and count it; returns the connection if it can be used again."""
        self._sent[kind] += 1
        begun = time.time()
        try:
            async with self._patience.limit():
                if connection is None:
                    connection = Connection(*await asyncio.open_connection(self._address, self._port), self._answer)
                await connection.request(f"{self._address}:{self._port}", keep=kind == KEPT)
        except TimeoutError:
            self._lose(kind, f"no response within {self._timeout:g} s")
        except ConnectionRefusedError:
            self._lose(kind, "refused")
        except OSError:
            self._lose(kind, "reset")
        except LostRequest as error:
            self._lose(kind, str(error))
        else:
            self._slowest = max(self._slowest, time.time() - begun)
            if connection.usable:
                return connection
        if connection is not None:
            connection.close()
        return None

    def _lose(self, kind: str, reason: str) -> None:
        self._lost[kind] += 1
        journal.write(self._log, what="lost", connection=kind, reason=reason)

    def _write_second(self) -> None:
        journal.write(self._log, what="second", sent=self._sent, lost=self._lost, slowest=round(self._slowest, 3))
        self._sent = dict.fromkeys(self._sent, 0)
        self._lost = dict.fromkeys(self._lost, 0)
        self._slowest = 0.0


async def _run(options: argparse.Namespace) -> None:
    address, _colon, port = options.target.rpartition(":")
    load = Load(address, int(port), options.timeout, options.journal, options.answer)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, load.stop)
    await load.run(options.short_rate, options.clients, options.kept_rate)


def main() -> None:
    """Send until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True, help="ADDRESS:PORT of the service")
    parser.add_argument("--short-rate", type=float, default=25.0, help="requests a second on connections of their own")
    parser.add_argument(
        "--kept-rate", type=float, default=25.0, help="requests a second on connections that are kept open"
    )
    parser.add_argument("--clients", type=int, default=8, help="how many keep theirs")
    parser.add_argument("--timeout", type=float, default=2.0, help="seconds after which a request counts as lost")
    parser.add_argument(
        "--answer",
        type=lambda text: re.compile(text.encode()),
        help="regular expression that answers must match (default: any answer)",
    )
    parser.add_argument("--journal", required=True, type=Path, help="file of JSON lines to append to")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
