# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The application that runs on each VM of the demo: a web server that can be drained.

While a marker file exists, the balancer's probe is told 503 and every answer ends its connection, so
that clients which keep theirs open go elsewhere. Nothing is refused meanwhile. On SIGTERM it accepts
no more, finishes what is in flight and exits.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import signal
from pathlib import Path

import journal
from aiohttp import web

IDLE_LIMIT = 75.0
"""Seconds an idle connection is kept: longer than any client of the demo pauses."""

MACHINE_CHECK = 1.0
"""Seconds between two checks that its machine's directory still exists: no server outlives the demo."""


class Application:
    """Answers requests, and looks for the marker at each of them."""

    def __init__(self, vm: str, work: float, marker: Path, log: Path) -> None:
        self._vm = vm
        self._work = work
        self._marker = marker
        self._log = log
        self._was_draining = marker.exists()  # a machine that was drained and rebooted is so still
        self._chance = random.Random(vm)

    def draining(self) -> bool:
        """Whether the machine is to be out of rotation. A change is noted in the journal."""
        draining = self._marker.exists()
        if draining != self._was_draining:
            self._was_draining = draining
            journal.write(self._log, vm=self._vm, what="draining" if draining else "ready")
        return draining

    async def readyz(self, _request: web.Request) -> web.Response:
        """The answer to the balancer's probe."""
        draining = self.draining()
        return web.Response(status=503 if draining else 200, text="draining\n" if draining else "ready\n")

    async def page(self, _request: web.Request) -> web.Response:
        """The answer to a client."""
        await asyncio.sleep(self._work * self._chance.uniform(0.5, 1.5))
        response = web.Response(text=f"served by {self._vm}\n")
        if self.draining():
            response.force_close()
        return response

    def routes(self) -> web.Application:
        """Return the application as aiohttp wants it."""
        application = web.Application()
        application.router.add_get("/readyz", self.readyz)
        application.router.add_get("/", self.page)
        return application


async def serve(options: argparse.Namespace) -> None:
    """Listen, say so in the pid file, and serve until SIGTERM, or until the machine is no more."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    routes = Application(options.vm, options.work, options.marker, options.journal).routes()
    runner = web.AppRunner(routes, access_log=None, keepalive_timeout=IDLE_LIMIT)
    await runner.setup()
    await web.TCPSite(runner, options.address, options.port, reuse_address=True).start()
    options.pid_file.write_text(f"{os.getpid()}\n")
    while not stop.is_set() and options.pid_file.exists():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), MACHINE_CHECK)
    await runner.cleanup()  # which waits for what is in flight


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vm", required=True, help="name of the simulated VM")
    parser.add_argument("--address", required=True, help="where to listen")
    parser.add_argument("--port", required=True, type=int, help="where to listen")
    parser.add_argument("--work", required=True, type=float, help="seconds an answer takes, on average")
    parser.add_argument("--marker", required=True, type=Path, help="file whose existence means: drain")
    parser.add_argument("--journal", required=True, type=Path, help="file of JSON lines to append to")
    parser.add_argument("--pid-file", required=True, type=Path, help="file for its pid, written when it listens")
    options = parser.parse_args()
    asyncio.run(serve(options))


if __name__ == "__main__":
    main()
