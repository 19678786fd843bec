# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The socket for administrative commands: who gets in, and what it does with what it is given.

Runs on Python 3.6 and later.
"""

import contextlib
import os
import selectors
import socket
import stat
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, Optional

import pytest
from edge_helpers import PATIENCE
from foghorn_agent.decide.manual import RequestError
from foghorn_agent.io.control import Control, ask_agent
from foghorn_agent.platform.posix import door as module
from foghorn_agent.platform.posix.door import SOCKET_NAME, listen_in, within
from foghorn_core.files.ownership import UnsafePath


class Door:
    """A door, and somebody behind it."""

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)
        self.asked: List[Dict[str, Any]] = []
        self.selector = selectors.DefaultSelector()
        self.control = Control(listen_in(self.directory), self._obey, self.selector)
        self.is_open = True
        self.says: Optional[str] = "as you say"
        self._thread = threading.Thread(target=self._serve)

    def _obey(self, asked: Dict[str, Any]) -> Callable[[], Optional[str]]:
        self.asked.append(asked)
        if asked.get("request") == "dance":
            raise RequestError("no dancing")
        return lambda: self.says

    def serve(self) -> None:
        """Answer, from now on."""
        self._thread.start()

    def _serve(self) -> None:
        while self.is_open:
            for key, mask in self.selector.select(0.02):
                key.data(key, mask)
            self.control.answer()

    def close(self) -> None:
        self.is_open = False
        if self._thread.ident is not None:
            self._thread.join(PATIENCE)
        self.control.close()
        self.selector.close()


@pytest.fixture
def door(tmp_path: Path) -> Generator[Door, None, None]:
    one = Door(tmp_path)
    yield one
    one.close()


def connect(door: Door) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(PATIENCE)
    with contextlib.ExitStack() as stack:
        connection.connect(stack.enter_context(within(door.directory)))
    return connection


def test_given_what_cannot_be_done_when_asked_then_the_reason_is_reported(door: Door) -> None:
    door.serve()
    with pytest.raises(RequestError, match="no dancing"):
        ask_agent(door.directory, {"request": "dance"}, PATIENCE)


def test_given_the_socket_when_checked_then_only_its_owner_may_use_it(door: Door) -> None:
    found = os.stat(os.path.join(door.directory, SOCKET_NAME))
    assert stat.S_ISSOCK(found.st_mode)
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert found.st_uid == os.geteuid()


def test_given_another_user_at_the_other_end_when_connected_then_it_is_disconnected(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_user_of", lambda _connection: 12345)
    door.serve()
    with pytest.raises(OSError, match=r"ended before it answered|Broken pipe|reset by peer"):
        ask_agent(door.directory, {"request": "drain"}, PATIENCE)
    assert door.asked == []


@pytest.mark.parametrize("packet", [b"{", b"[]", b"\xff", b"[" * 4000, b"null"])
def test_given_input_that_is_no_request_when_it_comes_then_it_is_refused_and_the_next_one_is_answered(
    door: Door, packet: bytes
) -> None:
    door.serve()
    with connect(door) as connection:
        connection.send(packet)
        assert b'"done": false' in connection.recv(65536)
    assert ask_agent(door.directory, {"request": "drain"}, PATIENCE) == "as you say"


def test_given_those_who_say_nothing_when_more_come_then_they_give_way(door: Door) -> None:
    door.serve()
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connect(door)) for _each in range(20)]
        assert ask_agent(door.directory, {"request": "drain"}, PATIENCE) == "as you say"
        assert silent[0].recv(10) == b""


def test_given_a_client_that_does_not_wait_then_its_request_is_carried_out(door: Door) -> None:
    with connect(door) as connection:
        connection.send(b'{"request": "drain"}')
    door.serve()
    assert ask_agent(door.directory, {"request": "hold"}, PATIENCE) == "as you say"
    assert [asked["request"] for asked in door.asked] == ["drain", "hold"]


@pytest.mark.parametrize("waits", [True, False])
def test_given_an_answer_that_cannot_be_given_yet_when_the_client_waits_or_not_then_others_are_answered_meanwhile(
    door: Door, waits: bool
) -> None:
    door.says = None
    with connect(door) as connection:
        connection.send(b'{"request": "drain"}')
        for _turn in range(2):
            for key, mask in door.selector.select(PATIENCE):
                key.data(key, mask)
        door.control.answer()
        assert door.asked == [{"request": "drain"}]
        if not waits:
            connection.close()
        door.serve()
        with pytest.raises(RequestError, match="no dancing"):
            ask_agent(door.directory, {"request": "dance"}, PATIENCE)
        door.says = "as you say"
        if waits:
            assert b'"said": "as you say"' in connection.recv(1000)
    assert ask_agent(door.directory, {"request": "hold"}, PATIENCE) == "as you say"


def test_given_the_socket_of_an_agent_that_was_killed_when_another_starts_then_it_takes_its_place(
    tmp_path: Path,
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
        dead.bind(str(tmp_path / SOCKET_NAME))
    with pytest.raises(ConnectionRefusedError):
        ask_agent(str(tmp_path), {"request": "drain"}, PATIENCE)
    with contextlib.closing(Door(tmp_path)) as door:
        door.serve()
        assert ask_agent(str(tmp_path), {"request": "drain"}, PATIENCE) == "as you say"


def test_given_a_path_that_is_longer_than_a_socket_may_have_when_asked_then_it_answers(tmp_path: Path) -> None:
    directory = tmp_path / ("d" * 120)
    directory.mkdir()
    with contextlib.closing(Door(directory)) as door:
        door.serve()
        assert ask_agent(str(directory), {"request": "drain"}, PATIENCE) == "as you say"


def test_given_a_directory_that_others_can_write_then_no_command_is_taken_or_given_there(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(UnsafePath, match="others than root can write"):
        listen_in(str(tmp_path / "open"))
    with pytest.raises(UnsafePath, match="others than root can write"):
        ask_agent(str(tmp_path / "open"), {"request": "drain"}, PATIENCE)


def test_given_no_directory_for_the_socket_then_that_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        listen_in(str(tmp_path / "nowhere"))


def test_given_an_agent_that_ends_when_asked_then_it_is_reported(tmp_path: Path) -> None:
    door = Door(tmp_path)
    failed: List[Optional[OSError]] = []

    def ask() -> None:
        try:
            ask_agent(door.directory, {"request": "drain"}, PATIENCE)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    with contextlib.closing(door):
        thread.start()
        for key, mask in door.selector.select(PATIENCE):
            key.data(key, mask)
    thread.join(PATIENCE)
    assert len(failed) == 1
