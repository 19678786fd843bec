# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How is one request sent and its answer read?

What the client makes of all this is in test_client.py, against a server with threads. Here each answer is sent before
it is read, so that nothing waits.
"""

import contextlib
import http.client
import re
import select
import socket
import struct
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events import http_connection
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.deadline import Deadline
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import (
    ProtocolError,
    TooLarge,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.http_connection import (
    Answer,
    HttpConnection,
    SelectPoll,
)
from ansible_collections.foghorn.azure_events.tests.ports import addresses_of, silent_address
from hypothesis import assume, given
from hypothesis import strategies as st

PATIENCE = 30  # seconds
LARGEST = 1000  # bytes


class Server:
    """Listens, and plays one answer to each connection before it is asked."""

    def __init__(self) -> None:
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(8)
        self.port: int = self.listener.getsockname()[1]
        self.request = b""

    def close(self) -> None:
        self.listener.close()

    def play(self, content: bytes, connection: Optional[HttpConnection] = None, **options: Any) -> Answer:
        """What a request is answered that gets these bytes, and then the end of the connection."""
        client = HttpConnection("127.0.0.1", self.port) if connection is None else connection
        client.open(PATIENCE)
        peer, _address = self.listener.accept()
        try:
            peer.settimeout(PATIENCE)
            peer.sendall(content)
            peer.shutdown(socket.SHUT_WR)
            answer = ask(client, **options)
            self.request = peer.recv(65536)
            return answer
        finally:
            peer.close()
            if connection is None:
                client.close()


def ask(client: HttpConnection, **options: Any) -> Answer:
    fields: Dict[str, Any] = {"method": "GET", "target": "/", "headers": {}}
    largest = options.pop("largest", LARGEST)
    fields.update(options)
    return client.exchange(client.request(**fields), Deadline(PATIENCE), largest)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


def test_given_a_request_then_exactly_this_is_sent(server: Server) -> None:
    server.play(
        b"HTTP/1.1 204 No Content\r\n\r\n", method="POST", target="/a?b=c", headers={"Metadata": "true"}, body=b"{}"
    )

    assert server.request == (
        b"POST /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nMetadata: true\r\nContent-Length: 2\r\n\r\n{}" % server.port
    )


LARGE = 32 * 1024 * 1024 * b"x"  # more than any buffer of a system holds


def test_given_a_body_larger_than_any_buffer_then_it_is_sent_as_the_receiver_reads_it(server: Server) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    client.open(PATIENCE)
    peer, _address = server.listener.accept()
    taken: List[int] = []

    def take() -> None:
        with peer.makefile("rb") as lines:
            while lines.readline() != b"\r\n":
                pass
            taken.append(len(lines.read(len(LARGE))))
        peer.sendall(b"HTTP/1.1 204 None\r\n\r\n")

    taker = threading.Thread(target=take)
    taker.start()
    try:
        assert ask(client, method="POST", body=LARGE).status == 204
    finally:
        client.close()
        taker.join(PATIENCE)
        peer.close()
    assert taken == [len(LARGE)]


def test_given_a_body_that_nobody_takes_then_time_runs_out(server: Server) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    client.open(PATIENCE)
    peer, _address = server.listener.accept()
    with peer, pytest.raises(socket.timeout):
        client.exchange(client.request("POST", "/", {}, LARGE), Deadline(0.05), LARGEST)
    assert not client.is_open


@pytest.mark.parametrize("target", ["", "/a b", "/a\r\nX: y", "/\u00e4", "/\n"])
def test_given_a_target_that_would_be_more_than_a_target_then_nothing_is_sent(server: Server, target: str) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    with pytest.raises(ValueError, match="cannot be asked for over HTTP"):
        ask(client, target=target)


@pytest.mark.parametrize(
    ("host", "port", "called"),
    [
        ("127.0.0.1", 80, "127.0.0.1"),
        ("127.0.0.1", 8080, "127.0.0.1:8080"),
        ("::1", 80, "[::1]"),
        ("::1", 8080, "[::1]:8080"),
    ],
)
def test_a_host_is_called_by_what_is_in_its_url(
    host: str, port: int, called: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: List[Tuple[bytes, int]] = []

    def resolve(host: bytes, port: int, *_options: int) -> List[Any]:
        asked.append((host, port))
        return addresses_of(("127.0.0.1", server.port))

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    client = HttpConnection(host, port)
    server.play(b"HTTP/1.1 204\r\n\r\n", client)
    client.close()

    assert asked == [(host.encode("ascii"), port)]
    assert ("\r\nHost: %s\r\n" % called).encode("ascii") in server.request


def test_given_a_host_with_an_address_that_does_not_answer_then_the_next_one_has_its_share_of_the_time(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = HttpConnection("dual-stack.example", server.port)
    with silent_address() as silent:
        found = addresses_of(silent, ("127.0.0.1", server.port))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_asked: found)
        client.open(1.0)
    server.listener.accept()[0].close()
    client.close()


def test_given_a_host_with_an_address_of_a_kind_that_this_system_does_not_have_then_the_next_one_is_tried(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = addresses_of(("127.0.0.1", server.port))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_asked: [(12345, *found[1:]), found])
    client = HttpConnection("dual-stack.example", server.port)
    client.open(PATIENCE)
    server.listener.accept()[0].close()
    client.close()


def test_given_a_host_with_two_addresses_that_do_not_answer_then_they_take_no_longer_than_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with silent_address() as silent:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_asked: addresses_of(silent, silent))
        began = time.monotonic()
        with pytest.raises(socket.timeout):
            HttpConnection("dual-stack.example", silent[1]).open(3.0)
    assert time.monotonic() - began < 5.5


def test_given_a_name_whose_look_up_takes_all_the_time_then_no_connection_is_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]

    def resolve(*_asked: Any) -> List[Any]:
        now[0] = 2.0
        return addresses_of(("127.0.0.1", 9))

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(socket.timeout):
        http_connection.connect("slow.example", 9, Deadline(1.0, lambda: now[0]))


def test_given_no_time_then_no_connection_is_begun(server: Server) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    with pytest.raises(socket.timeout):
        client.open(0)
    assert not client.is_open


@pytest.mark.parametrize(
    ("content", "answer", "is_open"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", Answer(200, "OK", {"content-length": "2"}, b"ab"), True),
        (b"HTTP/1.1 200 OK\nContent-Length:2\n\nab", Answer(200, "OK", {"content-length": "2"}, b"ab"), True),
        (b"HTTP/1.1 200\r\nX:  y \r\nx:\tz\r\nContent-Length: 0\r\n\r\n", None, True),
        (b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 204 None\r\n\r\n", Answer(204, "None", {}, b""), True),
        (b"HTTP/1.1 103 Early\r\n\r\n" * 10 + b"HTTP/1.1 204 None\r\n\r\n", Answer(204, "None", {}, b""), True),
        (
            b"HTTP/1.1 204 None\r\nX: a\r\n\tb:  c \r\n  \r\nY:\r\n d\r\n\r\n",
            Answer(204, "None", {"x": "a b:  c", "y": "d"}, b""),
            True,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
            Answer(200, "OK", {"content-length": "3", "transfer-encoding": "chunked"}, b"ab"),
            False,
        ),
        (b"HTTP/1.1 304 \xfc\r\n\r\n", Answer(304, "\u00fc", {}, b""), True),
        (b"HTTP/1.1 200 OK\r\n\r\nab", Answer(200, "OK", {}, b"ab"), False),
        (b"HTTP/1.1 200 OK\r\n\r\n", Answer(200, "OK", {}, b""), False),
        (b"HTTP/1.1 204 None\r\n\r\nmore than asked for", Answer(204, "None", {}, b""), False),
        (b"HTTP/1.0 204 None\r\n\r\n", Answer(204, "None", {}, b""), False),
        (b"HTTP/1.1 204 None\r\nConnection: Close\r\n\r\n", Answer(204, "None", {"connection": "Close"}, b""), False),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;x\r\nab\r\n0A\r\n0123456789\r\n0\r\nT:\r\n\r\n",
            Answer(200, "OK", {"transfer-encoding": "Chunked"}, b"ab0123456789"),
            True,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
            Answer(200, "OK", {"content-length": "1"}, b"a"),
            True,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"a" * LARGEST, None, True),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * LARGEST, None, False),
    ],
)
def test_answers_of_every_form_are_read(
    server: Server, content: bytes, answer: Optional[Answer], is_open: bool
) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    got = server.play(content, client)

    assert answer is None or got == answer
    assert client.is_open == is_open
    client.close()


def test_of_a_header_that_came_twice_the_last_counts_without_the_space_around_it(server: Server) -> None:
    answer = server.play(b"HTTP/1.1 200\r\nX:  y \r\nx:\tz\r\nContent-Length: 0\r\n\r\n")

    assert answer == Answer(200, "", {"x": "z", "content-length": "0"}, b"")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "'SSH-2.0-OpenSSH' is not a status line of HTTP/1.1"),
        (b"HTTP/2 200\r\n\r\n", "'HTTP/2 200' is not a status line"),
        (b"HTTP/1.1 2000\r\n\r\n", "is not a status line"),
        (b"HTTP/1.1 200 OK\r\nX: y\r\n", "the answer broke off"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "the answer broke off"),
        (b"HTTP/1.1 099 Low\r\n\r\n", "is not a status line"),
        (b"HTTP/1.1 200 O\rK\r\n\r\n", "is not a status line"),
        (
            b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nHTTP/1.1 204 None\r\n\r\n",
            "another protocol, which was not asked",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 11 + b"HTTP/1.1 204 None\r\n\r\n", "more than 10 interim answers"),
        (b"HTTP/1.1 200 OK" + b"k" * 300000, "more than 256 KiB besides the body"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: %s\r\n" % (b"x" * 5000) * 60 + b"\r\n", "more than 256 KiB besides the body"),
        ((b"HTTP/1.1 103 Early\r\nX: %s\r\n\r\n" % (b"x" * 50000)) * 6, "more than 256 KiB besides the body"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1;%s\r\na\r\n" % (b"x" * 40000) * 7,
            "more than 256 KiB besides the body",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: x\r\n" * 101 + b"\r\n",
            "more than 100 headers",
        ),
        (b"HTTP/1.1 200 OK\r\n folded\r\n\r\n", "' folded' is not a header"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n" + b"a" * 12, "Content-Length: 1 2"),
        (b"HTTP/1.1 200 OK\r\nX: y\rContent-Length: 1\r\n\r\nab", "has control characters in a header"),
        (b"HTTP/1.1 200 OK\r\nX: \x00\r\n\r\nab", "has control characters in a header"),
        (b"HTTP/1.1 200 OK\r\n\xe4: y\r\nContent-Length: 1\r\n\r\nab", "is not a header"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 101 + b"\r\n", "more than 100 headers"),
        (b"HTTP/1.1 200 OK\r\nnothing\r\n\r\n", "'nothing' is not a header"),
        (b"HTTP/1.1 200 OK\r\n: y\r\n\r\n", "': y' is not a header"),
        (b"HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "'X : y' is not a header"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\ncontent-length: 2\r\n\r\nab",
            "two different headers content-length",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length: -1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n", "Content-Length: "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "the answer broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "Transfer-Encoding: gzip, which was not asked for"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "'-1' is not the length of a chunk"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", "a chunk that is longer than it says"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na", "the answer broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", "the answer broke off"),
    ],
)
def test_given_input_that_is_no_answer_then_the_error_says_what_is_wrong_and_the_connection_is_closed(
    server: Server, content: bytes, complaint: str
) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    with pytest.raises(ProtocolError) as raised:
        server.play(content, client)

    assert complaint in str(raised.value)
    assert not client.is_open


@pytest.mark.parametrize(
    "content",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * (LARGEST + 1),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" + b"a" * LARGEST + b"\r\n1\r\n",
    ],
)
def test_given_more_than_the_caller_takes_then_it_is_read_no_further(server: Server, content: bytes) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    with pytest.raises(TooLarge):
        server.play(content, client)
    assert not client.is_open


def test_given_another_request_over_a_connection_that_was_kept_then_its_answer_is_its_own(server: Server) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    client.open(PATIENCE)
    peer, _address = server.listener.accept()
    for body in (b"first", b"second"):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        assert ask(client).body == body
    client.close()
    peer.close()


def test_given_a_connection_that_was_closed_then_nothing_can_be_asked_over_it(server: Server) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    client.close()
    with pytest.raises(OSError, match="closed"):
        ask(client)


@pytest.mark.parametrize("unasked", [b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb", b"\n", b""])
def test_given_an_answer_to_nothing_or_the_end_then_the_next_request_goes_over_another_connection(
    server: Server, unasked: bytes
) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    client.open(PATIENCE)
    peer, _address = server.listener.accept()
    peer.sendall(b"HTTP/1.1 204 None\r\n\r\n")
    ask(client)
    assert client.is_ready()

    peer.sendall(unasked)
    peer.shutdown(socket.SHUT_WR)
    peer.close()

    assert eventually(lambda: not client.is_ready())
    assert not client.is_open


def test_given_a_connection_that_was_reset_then_it_is_not_ready(server: Server) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    client.open(PATIENCE)
    peer, _address = server.listener.accept()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()

    assert eventually(lambda: not client.is_ready())
    assert not client.is_ready()


def eventually(is_so: Callable[[], bool]) -> bool:
    """Whether it comes about while the kernel hands on what was sent."""
    limit = Deadline(PATIENCE)
    while not is_so():
        if limit.remaining() <= 0:
            return False
        time.sleep(0.001)
    return True


def test_given_the_end_before_an_answer_then_it_is_a_closed_connection(server: Server) -> None:
    with pytest.raises(ConnectionResetError, match="closed without an answer"):
        server.play(b"")


TOKENS = st.text("abcXYZ-", min_size=1, max_size=8)
VALUES = st.text("abc XYZ:;,=/\u00e4", max_size=12)
# A header may go on in the next line.
FOLDED = st.lists(VALUES.map(str.strip).filter(bool), min_size=1, max_size=3).map("\r\n \t".join) | VALUES


@given(
    version=st.integers(0, 1),
    status=st.integers(200, 599),
    reason=VALUES,
    headers=st.lists(st.tuples(TOKENS.map("X-".__add__), FOLDED), max_size=5),
    body=st.binary(max_size=300),
    framing=st.sampled_from(["length", "chunks", "end"]),
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=5),
    extension=st.sampled_from([b"", b";x", b' ; x="y"']),
    trailers=st.lists(TOKENS, max_size=3),
    interim=st.integers(0, 10),
)
def test_any_answer_is_understood_as_the_standard_library_does(
    server: Server,
    version: int,
    status: int,
    reason: str,
    headers: List[Tuple[str, str]],
    body: bytes,
    framing: str,
    sizes: List[int],
    extension: bytes,
    trailers: List[str],
    interim: int,
) -> None:
    # These have no body, whatever their headers say; the standard library still reads a chunked one.
    assume(framing != "chunks" or status not in (204, 304))
    lines = ["HTTP/1.%d %d %s" % (version, status, reason)] + ["%s: %s" % header for header in headers]
    if framing == "length":
        lines.append("Content-Length: %d" % len(body))
    elif framing == "chunks":
        lines.append("Transfer-Encoding: chunked")
    content = b"HTTP/1.1 100 Continue\r\nX-Early: y\r\n\r\n" * interim
    content += "\r\n".join([*lines, "", ""]).encode("latin-1")
    content += in_chunks(body, sizes, extension, trailers) if framing == "chunks" else body

    judge = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    answer = server.play(content)
    expected = judged(server, judge, content)

    assert answer.status == expected.status == status
    assert answer.reason == expected.reason
    assert answer.body == expected.body
    assert answer.headers == expected.headers


USUAL = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 41\r\n\r\n"
    b"a\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nb"
)
LATER = b"Fri, 02 Jan 2026 11:11:11 GMT"


def answers_of(server: Server, *contents: bytes) -> List[Answer]:
    """What is read over one connection that stands, of answers that come one after the other."""
    client = HttpConnection("127.0.0.1", server.port)
    client.open(PATIENCE)
    peer, _address = server.listener.accept()
    answers = []
    try:
        for content in contents:
            peer.sendall(content)
            answers.append(ask(client))
        return answers
    finally:
        peer.close()
        client.close()


@pytest.mark.parametrize(
    "content", [USUAL, b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", b"HTTP/1.1 204 None\nDate: never\n\n"]
)
def test_given_the_answer_of_before_then_it_is_not_taken_apart_again(server: Server, content: bytes) -> None:
    first, second = answers_of(server, content, content)
    assert second is first


def test_given_the_answer_of_before_with_another_date_then_it_is_not_taken_apart_again(server: Server) -> None:
    first, second, third = answers_of(server, USUAL, USUAL.replace(b"Thu, 01 Jan 2026 00:00:00 GMT", LATER, 1), USUAL)
    assert second is first
    assert third is first


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"\nb", b"\nc"),
        (b"200", b"201"),
        (b"plain", b"other"),
        (b"Content-Type", b"Content-Sort"),
        # What looks like a header, in the body.
        (b"Thu, 01 Jan 2026 00:00:00 GMT\r\nb", LATER + b"\r\nb"),
    ],
)
def test_given_the_answer_of_before_with_something_else_in_it_then_that_is_reported(
    server: Server, old: bytes, new: bytes
) -> None:
    content = USUAL.replace(old, new)
    assert len(content) == len(USUAL)
    assert answers_of(server, USUAL, content)[1] == server.play(content) != server.play(USUAL)


def test_given_the_answer_of_before_with_an_impossible_date_then_it_is_refused_as_before(server: Server) -> None:
    with pytest.raises(ProtocolError, match="control"):
        answers_of(server, USUAL, USUAL.replace(b"Thu, 01", b"Thu\x00 01", 1))


def test_given_the_answer_of_before_in_chunks_then_a_date_in_its_body_is_reported(server: Server) -> None:
    content = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    content += b"28;%s\r\n\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n12\r\n0\r\n\r\n" % (100 * b"x")
    other = content.replace(b"Thu, 01 Jan 2026 00:00:00 GMT", LATER)
    assert LATER in answers_of(server, content, other)[1].body


def test_given_the_answer_of_before_that_is_too_large_now_then_it_is_refused(server: Server) -> None:
    client = HttpConnection("127.0.0.1", server.port)
    client.open(PATIENCE)
    peer, _address = server.listener.accept()
    peer.sendall(USUAL)
    ask(client)
    peer.sendall(USUAL)
    with pytest.raises(TooLarge):
        ask(client, largest=40)
    peer.close()


@given(st.lists(st.tuples(st.integers(0, len(USUAL) - 1), st.integers(0, 255)), max_size=3))
def test_whatever_comes_after_an_answer_is_understood_as_if_it_were_the_first(
    server: Server, changes: List[Tuple[int, int]]
) -> None:
    content = bytearray(USUAL)
    for position, byte in changes:
        content[position] = byte
    expected: Any = None
    with contextlib.suppress(ProtocolError, TooLarge, OSError):
        expected = server.play(bytes(content))
    answer: Any = None
    with contextlib.suppress(ProtocolError, TooLarge, OSError):
        answer = answers_of_last(server, USUAL, bytes(content))
    if answer is not None and expected is not None:
        # That is the one of before.
        answer, expected = (one._replace(headers=dict(one.headers, date="")) for one in (answer, expected))
    assert answer == expected


def answers_of_last(server: Server, first: bytes, last: bytes) -> Answer:
    """What is read of an answer, and then of another that is the last to come."""
    client = HttpConnection("127.0.0.1", server.port)
    client.open(PATIENCE)
    peer, _address = server.listener.accept()
    try:
        peer.sendall(first)
        ask(client)
        peer.sendall(last)
        peer.shutdown(socket.SHUT_WR)
        return ask(client)
    finally:
        peer.close()
        client.close()


# Good and bad, in any order: where the two readers could come to differ about where an answer ends.
PARTS = st.sampled_from(
    [
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 200 OK\r\n",
        b"HTTP/1.1 204 None\r\n",
        b"Content-Length: 3\r\n",
        b"Content-Length: 4\r\n",
        b"Content-Length: +3\r\n",
        b"Content-Length: 3_0\r\n",
        b"Content-Length : 3\r\n",
        b"Content-Length: 3, 3\r\n",
        b"Content-Length:\r\n 3\r\n",
        b"Content-Length: 3\x0b\r\n",
        b"Content-Length: 3\xa0\r\n",
        b"X: y\rContent-Length: 5\r\n",
        b"X: y\x85Content-Length: 5\r\n",
        b"\xe4: y\r\n",
        b"No colon\r\n",
        b" folded\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: CHUNKED\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: identity\r\n",
        b"Connection: close\r\n",
        b"\r\n",
        b"\n",
        b"3\r\nabc\r\n",
        b"0x3\r\nabc\r\n",
        b"3;x\r\nabc\r\n",
        b"03 \r\nabc\r\n",
        b"-3\r\nabc\r\n",
        b"0\r\n\r\n",
        b"0\r\nT: u\r\n\r\n",
        b"abc",
        b"abcdef",
    ]
)


@given(st.lists(PARTS, max_size=6), st.sampled_from([b"HTTP/1.1 200 OK\r\n", b""]))
def test_whatever_comes_is_refused_or_understood_as_the_standard_library_does(
    server: Server, parts: List[bytes], start: bytes
) -> None:
    content = start + b"".join(parts)
    try:
        answer = server.play(content)
    except (ProtocolError, TooLarge, OSError):
        return

    judge = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    assert answer == judged(server, judge, content)


def in_chunks(body: bytes, sizes: List[int], extension: bytes, trailers: List[str]) -> bytes:
    """The body in chunks of these sizes, over and over, with headers after it."""
    parts: List[bytes] = []
    while body:
        size = sizes[len(parts) % len(sizes)]
        parts.append(b"%x%s\r\n%s\r\n" % (len(body[:size]), extension, body[:size]))
        body = body[size:]
    ends = "".join("%s: y\r\n" % name for name in trailers).encode("ascii")
    return b"".join(parts) + b"0%s\r\n%s\r\n" % (extension, ends)


def judged(server: Server, judge: http.client.HTTPConnection, content: bytes) -> Answer:
    """What the standard library makes of an answer."""
    judge.connect()
    peer, _address = server.listener.accept()
    try:
        peer.sendall(content)
        peer.shutdown(socket.SHUT_WR)
        judge.request("GET", "/")
        response = judge.getresponse()
        headers = {
            name.lower(): re.sub(r"\s*\r?\n\s*", " ", value).strip(" \t") for name, value in response.getheaders()
        }
        return Answer(response.status, response.reason, headers, response.read())
    finally:
        peer.close()
        judge.close()


class Spoilt(socket.socket):
    """A socket that receives data which turns out to be broken when it is read."""

    spoilt = 2

    def recv(self, *arguments: int) -> bytes:
        self.spoilt -= 1
        if self.spoilt >= 0:
            raise BlockingIOError
        return super().recv(*arguments)


def test_given_what_is_there_and_cannot_be_read_then_it_waits_for_what_can(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = http_connection.connect
    monkeypatch.setattr(http_connection, "connect", lambda *to: Spoilt(fileno=connect(*to).detach()))

    assert server.play(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").body == b"ok"


def test_given_a_system_without_poll_when_sockets_are_waited_for_then_those_that_are_ready_are_given() -> None:
    near, far = socket.socketpair()
    with near, far:
        readable, writable = SelectPoll(), SelectPoll()
        readable.register(near, select.POLLIN)
        writable.register(near.fileno(), select.POLLOUT)
        assert readable.poll(0) == []
        assert writable.poll(0) == [(near.fileno(), select.POLLOUT)]
        far.send(b"x")
        assert readable.poll(PATIENCE * 1000) == [(near.fileno(), select.POLLIN)]


def test_given_a_system_without_poll_when_urgent_data_comes_then_that_is_nothing_to_read() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        far = socket.create_connection(listener.getsockname())
        near, _ = listener.accept()
    with near, far:
        waited_for = SelectPoll()
        waited_for.register(near, select.POLLIN)
        far.send(b"!", socket.MSG_OOB)
        assert select.select([], [], [near], PATIENCE)[2]
        assert waited_for.poll(0) == []
