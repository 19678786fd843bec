# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does another VM's agent say?"""

import contextlib
import json
import socket
import threading
import time
from typing import Any, Callable, Generator, List

import pytest
from edge_helpers import PATIENCE
from foghorn_agent.members import MemberError, ask_member

STATUS = {"vm_name": "web_1", "events": [{"event_id": "E-1", "ready": True}]}
Talk = Callable[[socket.socket], None]


class Member:
    """Takes one connection and does with it what the test says."""

    def __init__(self, talk: Talk) -> None:
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(1)
        self._listener.settimeout(PATIENCE)
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        self.request = b""
        self._talk = talk
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        # The client may be gone before we have said all.
        with contextlib.suppress(OSError), self._listener.accept()[0] as connection:
            connection.settimeout(PATIENCE)
            while b"\r\n\r\n" not in self.request:
                self.request += connection.recv(4096)
            self._talk(connection)

    def close(self) -> None:
        self._thread.join(PATIENCE)
        self._listener.close()


@pytest.fixture
def member() -> Generator[Callable[[Talk], Member], None, None]:
    members: List[Member] = []

    def make(talk: Talk) -> Member:
        members.append(Member(talk))
        return members[-1]

    yield make
    for one in members:
        one.close()


def saying(data: bytes) -> Talk:
    return lambda connection: connection.sendall(data)


def answer(body: bytes, status: bytes = b"200 OK", length: Any = None) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body) if length is None else length, body)


def test_given_a_member_when_asked_then_its_status_is_read(member: Callable[[Talk], Member]) -> None:
    one = member(saying(answer(json.dumps(STATUS).encode())))
    assert ask_member(one.url + "/", PATIENCE) == STATUS
    assert one.request.startswith(b"GET /status HTTP/1.1\r\nHost: " + one.url[len("http://") :].encode() + b"\r\n")
    assert b"\r\nConnection: close\r\n" in one.request


def test_given_a_member_below_a_path_when_asked_then_the_path_is_kept(member: Callable[[Talk], Member]) -> None:
    one = member(saying(answer(json.dumps(STATUS).encode())))
    ask_member(one.url + "/agents/web_1", PATIENCE)
    assert one.request.startswith(b"GET /agents/web_1/status HTTP/1.1\r\n")


def test_given_an_answer_in_pieces_and_without_length_when_asked_then_it_is_read_to_its_end(
    member: Callable[[Talk], Member],
) -> None:
    def talk(connection: socket.socket) -> None:
        for piece in (b"HTTP/1.0 200 OK\r\n", b"\r\n", json.dumps(STATUS).encode()):
            connection.sendall(piece)
            time.sleep(0.01)

    assert ask_member(member(talk).url, PATIENCE) == STATUS


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "cannot be reached: closed without an answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "did not answer as it should: 'SSH-2.0-OpenSSH_9.2' is not a status line"),
        (answer(b"", b"404 Not Found"), "answered 404 Not Found"),
        (answer(b"", b"302 Found"), "answered 302 Found"),
        (answer(b'{"events": []}', length=999), "did not answer as it should: the answer broke off"),
        (answer(b"<html>"), "answered, but with not JSON"),
        (answer(b"[" * 500000), "nested too deeply"),
        (answer(b"[]"), "not with a status"),
        (answer(b"{}"), "not with a status"),
        (answer(b'{"events": [1]}'), "not with a status"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (2**20 + 1), "more than 1024 KiB"),
    ],
)
def test_given_an_answer_that_is_no_status_when_asked_then_it_is_an_error_that_says_so(
    member: Callable[[Talk], Member], data: bytes, complaint: str
) -> None:
    one = member(saying(data))
    with pytest.raises(MemberError, match=complaint) as raised:
        ask_member(one.url, PATIENCE)
    assert one.url in str(raised.value)


def test_given_a_member_that_says_nothing_when_asked_then_it_is_an_error_in_time(
    member: Callable[[Talk], Member],
) -> None:
    hang_up = threading.Event()

    def talk(_connection: socket.socket) -> None:
        hang_up.wait(PATIENCE)

    one = member(talk)
    with pytest.raises(MemberError, match=r"did not answer within 0.1 s"):
        ask_member(one.url, 0.1)
    hang_up.set()


def test_given_a_member_that_sends_a_byte_now_and_then_when_asked_then_the_time_is_for_all_of_it(
    member: Callable[[Talk], Member],
) -> None:
    def talk(connection: socket.socket) -> None:
        for _unused in range(1000):
            connection.sendall(b" ")
            time.sleep(0.02)

    began = time.monotonic()
    with pytest.raises(MemberError, match="did not answer within"):
        ask_member(member(talk).url, 0.2)
    assert time.monotonic() - began < 15


def test_given_no_time_left_after_a_byte_when_asked_then_nothing_more_is_waited_for(
    member: Callable[[Talk], Member],
) -> None:
    times = iter([0.0, 0.0, 0.0, 0.0, 10.0])
    with pytest.raises(MemberError, match="did not answer within 5 s"):
        ask_member(member(saying(b"HTTP/1.1")).url, 5, clock=lambda: next(times))


def test_given_nobody_listening_when_asked_then_the_error_says_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = "http://127.0.0.1:%d" % taken.getsockname()[1]
        with pytest.raises(MemberError, match=r"http://127\.0\.0\.1:\d+ cannot be reached: .*refused"):
            ask_member(url, PATIENCE)


def test_given_an_ipv6_member_when_nobody_listens_then_its_address_was_understood() -> None:
    with socket.socket(socket.AF_INET6) as taken:
        taken.bind(("::1", 0))
        with pytest.raises(MemberError, match="refused"):
            ask_member("http://[::1]:%d" % taken.getsockname()[1], PATIENCE)


def test_given_a_url_of_another_form_when_asked_then_it_is_refused() -> None:
    with pytest.raises(ValueError, match="must begin with http://"):
        ask_member("ftp://127.0.0.1", PATIENCE)
