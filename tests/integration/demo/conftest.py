# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the demo share: its modules on the path, and machines that are gone when a test ends."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).resolve().parents[3] / "roles" / "azure_simulator" / "files" / "demonstration"
sys.path.insert(0, str(DEMO))

import journal  # noqa: E402  # found on the path set above
from service import Machine, free_port  # noqa: E402

PATIENCE = 60.0


@pytest.fixture(name="wait_for")
def fixture_wait_for() -> Callable[[Callable[[], Any]], Any]:
    """Wait until something is true, and return it."""

    def wait_for(condition: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE
        while not (found := condition()):
            assert time.monotonic() < deadline, f"not so within {PATIENCE:g} s"
            time.sleep(0.02)
        return found

    return wait_for


class Server:
    """A machine of the demo with its web server running."""

    def __init__(self, machine: Machine, address: str, port: int, log: Path) -> None:
        self.machine = machine
        self.address = address
        self.port = port
        self._journal = journal.Reader(log)
        self._noted: list[dict[str, Any]] = []

    def service(self, action: str, *more: str, vm: str = "") -> subprocess.CompletedProcess[str]:
        """Tell the service manager to do something, as a playbook and the simulator do."""
        machine = self.machine.marker.parent
        command = [sys.executable, str(DEMO / "service.py"), action, str(machine.parent), vm or machine.name, *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def noted(self) -> list[str]:
        """What the journal says has happened, in order."""
        self._noted += self._journal.read()
        return [entry["what"] for entry in self._noted]


@pytest.fixture(name="server")
def fixture_server(tmp_path: Path) -> Iterator[Server]:
    """A web server that runs. In the end it is killed, as are those of all machines beside it."""
    port = free_port("127.0.0.1")
    machine = Machine(tmp_path / "web_0")
    machine.create("127.0.0.1", port, work=0.01)
    with contextlib.ExitStack() as undo:
        undo.callback(_kill_all, tmp_path)
        server = Server(machine, "127.0.0.1", port, tmp_path / "journal")
        assert server.service("start").returncode == 0
        yield server


def _kill_all(machines: Path) -> None:
    for file in machines.glob("*/machine.json"):
        Machine(file.parent).kill()
