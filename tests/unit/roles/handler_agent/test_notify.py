# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does systemd hear?"""

import os
import socket
from pathlib import Path
from typing import Dict, Generator, List

import pytest
from edge_helpers import Clock
from foghorn_agent.platform.posix.notify import Notifier


class Manager:
    """Listens as systemd does."""

    def __init__(self, address: str) -> None:
        self.environment = {"NOTIFY_SOCKET": address}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address.replace("@", "\0", 1) if address.startswith("@") else address)
        self._socket.setblocking(False)

    def heard(self) -> List[str]:
        messages = []
        while True:
            try:
                messages.append(self._socket.recv(4096).decode("utf-8"))
            except BlockingIOError:
                return messages

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Manager, None, None]:
    address = str(tmp_path / "notify") if request.param == "path" else "@foghorn-test-%d" % os.getpid()
    manager = Manager(address)
    yield manager
    manager.close()


def make(environment: Dict[str, str], clock: Clock) -> Generator[Notifier, None, None]:
    notifier = Notifier(environment, clock)
    yield notifier
    notifier.close()


@pytest.fixture
def notifier(manager: Manager, clock: Clock) -> Generator[Notifier, None, None]:
    yield from make(dict(manager.environment, WATCHDOG_USEC="10000000"), clock)


def test_given_a_manager_when_notified_of_start_and_end_then_it_receives_both(
    manager: Manager, notifier: Notifier
) -> None:
    notifier.ready()
    notifier.stopping()
    assert manager.heard() == ["READY=1", "STOPPING=1"]


def test_given_a_status_of_several_lines_when_notified_then_the_manager_receives_one(
    manager: Manager, notifier: Notifier
) -> None:
    notifier.status("in rotation\nREADY=0")
    assert manager.heard() == ["STATUS=in rotation READY=0"]


def test_given_the_same_status_when_notified_again_then_the_manager_receives_it_once(
    manager: Manager, notifier: Notifier
) -> None:
    for text in ("in rotation", "in rotation", "draining", "in rotation"):
        notifier.status(text)
    assert manager.heard() == ["STATUS=in rotation", "STATUS=draining", "STATUS=in rotation"]


def test_given_a_watchdog_when_the_loop_runs_then_it_is_notified_at_half_its_time(
    manager: Manager, notifier: Notifier, clock: Clock
) -> None:
    heard = []
    for _second in range(11):
        notifier.sign_of_life()
        heard.append(manager.heard())
        clock.advance(1)
    assert [second for second, messages in enumerate(heard) if messages == ["WATCHDOG=1"]] == [0, 5, 10]
    assert notifier.watchdog_interval == 5


def test_given_a_watchdog_for_this_process_when_the_loop_runs_then_it_is_notified(
    manager: Manager, clock: Clock
) -> None:
    environment = dict(manager.environment, WATCHDOG_USEC="10000000", WATCHDOG_PID=str(os.getpid()))
    for notifier in make(environment, clock):
        notifier.sign_of_life()
        assert manager.heard() == ["WATCHDOG=1"]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "rubbish"},
        {"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "1"},
    ],
)
def test_given_no_watchdog_for_us_when_the_loop_runs_then_nothing_is_reported(
    manager: Manager, clock: Clock, environment: Dict[str, str]
) -> None:
    for notifier in make(dict(manager.environment, **environment), clock):
        notifier.sign_of_life()
        assert notifier.watchdog_interval is None
        assert manager.heard() == []


@pytest.mark.parametrize("address", ["", "vsock:2:1234"])
def test_given_no_manager_that_we_could_reach_when_notified_then_nothing_happens(clock: Clock, address: str) -> None:
    for notifier in make({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "10000000"}, clock):
        notifier.ready()
        notifier.status("in rotation")
        notifier.sign_of_life()
        notifier.stopping()


def test_given_a_manager_that_has_gone_when_notified_then_nothing_fails_and_it_is_reported_once_it_is_back(
    tmp_path: Path, clock: Clock
) -> None:
    address = str(tmp_path / "notify")
    for notifier in make({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "10000000"}, clock):
        notifier.status("in rotation")
        notifier.sign_of_life()
        manager = Manager(address)
        notifier.status("in rotation")
        notifier.sign_of_life()
        assert manager.heard() == ["STATUS=in rotation", "WATCHDOG=1"]
        manager.close()


def test_given_a_closed_notifier_when_notified_then_the_manager_receives_nothing(
    manager: Manager, notifier: Notifier
) -> None:
    notifier.close()
    notifier.ready()
    assert manager.heard() == []
