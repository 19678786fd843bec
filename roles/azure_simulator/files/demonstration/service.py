# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service manager of the demo's machines, and the hand that hits them.

A machine is a directory that holds ``machine.json`` (address and port). ``start``, ``stop`` and ``status`` are what
an administrator does to its web server; ``kill``, ``freeze`` and ``thaw`` are what maintenance of the host does.

A running server holds a lock on its pid file, which ends with the process whatever becomes of it: neither a pid
that was given to somebody else nor a zombie is taken for a web server.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import journal

START_LIMIT = 30.0
"""Seconds a server may take until it listens."""

NOT_RUNNING = 3
"""What ``status`` exits with when the service is stopped, as systemctl does."""

_STEP = 0.05


class ServiceError(Exception):
    """The service did not do as it was told."""


class Machine:
    """One machine and its web server."""

    def __init__(self, directory: Path) -> None:
        self.name = directory.name
        self.marker = directory / "draining"
        self._directory = directory
        self._pid_file = directory / "web_server.pid"
        self._journal = directory.parent / "journal"

    def create(self, address: str, port: int, work: float = 0.04) -> None:
        """Bring the machine into being, its web server stopped. An answer of it takes about ``work`` seconds."""
        self._directory.mkdir(parents=True)
        machine = {"address": address, "port": port, "work": work}
        (self._directory / "machine.json").write_text(json.dumps(machine))

    def start(self) -> None:
        """Start the server and return when it listens; nothing if it runs. Raises ServiceError."""
        machine = json.loads((self._directory / "machine.json").read_text())
        with self._pid_file.open("a+") as pid_file:
            if not _lock(pid_file):
                self._wait_until_it_listens()
                return
            pid_file.truncate(0)
            command = [sys.executable, str(Path(__file__).with_name("web_server.py"))]
            options = machine | {
                "vm": self.name,
                "marker": self.marker,
                "journal": self._journal,
                "pid-file": self._pid_file,
            }
            command += [f"--{option}={value}" for option, value in options.items()]
            with (self._directory / "web_server.log").open("ab") as log:
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    pass_fds=[pid_file.fileno()],
                )
        self._wait_until_it_listens()
        self._note("started")

    def stop(self, seconds: float) -> None:
        """Have the server finish what it does and exit; nothing if it is stopped. Raises ServiceError if not."""
        if self.running():
            self._signal(signal.SIGTERM)
            self._wait(lambda: not self.running(), seconds, "did not stop")
            self._note("stopped")

    def kill(self) -> None:
        """End the server as a power cut does."""
        if self.running():
            self._signal(signal.SIGKILL)
            self._wait(lambda: not self.running(), START_LIMIT, "outlived SIGKILL")
            self._note("killed")

    def freeze(self) -> None:
        """Pause it, connections and all."""
        if self.running():
            self._signal(signal.SIGSTOP)
            self._note("frozen")

    def thaw(self) -> None:
        """Let it go on."""
        if self.running():
            self._signal(signal.SIGCONT)
            self._note("thawed")

    def running(self) -> bool:
        """Whether there is a server, frozen or not."""
        try:
            with self._pid_file.open() as pid_file:
                return not _lock(pid_file, shared=True)
        except FileNotFoundError:
            return False

    def _signal(self, number: signal.Signals) -> None:
        self._wait_until_it_listens()
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(self._pid_file.read_text()), number)

    def _wait_until_it_listens(self) -> None:
        """It writes its pid when it does."""

        def listens() -> bool:
            if not self.running():
                log = (self._directory / "web_server.log").read_text(errors="replace")
                raise ServiceError(f"{self.name}: the web server ended while starting: {log[-2000:]}")
            return self._pid_file.read_text().endswith("\n")

        self._wait(listens, START_LIMIT, "does not listen")

    def _wait(self, condition: Callable[[], bool], seconds: float, complaint: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise ServiceError(f"{self.name}: the web server {complaint} within {seconds:g} s")
            time.sleep(_STEP)

    def _note(self, what: str) -> None:
        journal.write(self._journal, vm=self.name, what=what)


def free_port(*addresses: str) -> int:
    """A port that nobody uses on any of these addresses. Raises ServiceError when there is none."""
    for _attempt in range(20):
        with contextlib.ExitStack() as sockets, contextlib.suppress(OSError):
            port = 0
            for address in addresses:
                candidate = sockets.enter_context(socket.socket())
                candidate.bind((address, port))
                port = candidate.getsockname()[1]
            return port
    raise ServiceError(f"no port is free on all of {', '.join(addresses)}")


def _lock(stream: IO[str], shared: bool = False) -> bool:
    """Try to lock a file, for as long as it is open here or in a child; False when a server holds it."""
    # One who only asks whether it is locked holds it shared for an instant: wait that long.
    for _attempt in range(1 if shared else 4):
        try:
            fcntl.flock(stream, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(0 if shared else _STEP)
    return False


def main() -> int:
    """Do one thing to one machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["start", "stop", "status", "kill", "freeze", "thaw"])
    parser.add_argument("machines", type=Path, help="directory of the machines")
    parser.add_argument("vm", nargs="?", default=os.environ.get("FOGHORN_VM"), help="default: $FOGHORN_VM")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds that stop waits at most")
    options = parser.parse_args()
    if not options.vm or not (options.machines / options.vm / "machine.json").exists():
        parser.error(f"there is no machine {options.vm!r} in {options.machines}: name one that the demo has made")
    machine = Machine(options.machines / options.vm)
    if options.action == "status":
        running = machine.running()
        print("running" if running else "stopped")
        return 0 if running else NOT_RUNNING
    try:
        if options.action == "stop":
            machine.stop(options.timeout)
        else:
            getattr(machine, options.action)()
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
