# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How is one request sent and its answer read?

What the client makes of all this is in test_client.py, against a server with threads. Here each answer is sent before
it is read, so that nothing waits.
"""

import http.client
import socket
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.deadline import Deadline
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.http_connection import (
    Answer,
    Connection,
    ProtocolError,
    TooLarge,
)
from hypothesis import given
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

    def play(self, content: bytes, connection: Optional[Connection] = None, **options: Any) -> Answer:
        """What a request is answered that gets these bytes, and then the end of the connection."""
        client = Connection("127.0.0.1", self.port) if connection is None else connection
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


def ask(client: Connection, **options: Any) -> Answer:
    fields: Dict[str, Any] = {"method": "GET", "target": "/", "headers": {}, "body": None, "largest": LARGEST}
    fields.update(options)
    return client.exchange(deadline=Deadline(PATIENCE), **fields)


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


@pytest.mark.parametrize("target", ["", "/a b", "/a\r\nX: y", "/\u00e4", "/\n"])
def test_given_a_target_that_would_be_more_than_a_target_then_nothing_is_sent(server: Server, target: str) -> None:
    client = Connection("127.0.0.1", server.port)
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
    connect = socket.create_connection

    def elsewhere(address: Tuple[bytes, int], timeout: float) -> socket.socket:
        asked.append(address)
        return connect(("127.0.0.1", server.port), timeout)

    monkeypatch.setattr(socket, "create_connection", elsewhere)
    client = Connection(host, port)
    server.play(b"HTTP/1.1 204\r\n\r\n", client)
    client.close()

    assert asked == [(host.encode("ascii"), port)]
    assert ("\r\nHost: %s\r\n" % called).encode("ascii") in server.request


def test_given_no_time_then_no_connection_is_begun(server: Server) -> None:
    client = Connection("127.0.0.1", server.port)
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
    client = Connection("127.0.0.1", server.port)
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
        (b"SSH-2.0-OpenSSH\r\n", "'SSH-2.0-OpenSSH' is no status line of HTTP/1.1"),
        (b"HTTP/2 200\r\n\r\n", "'HTTP/2 200' is no status line"),
        (b"HTTP/1.1 2000\r\n\r\n", "is no status line"),
        (b"HTTP/1.1 200 OK\r\nX: y\r\n", "the answer broke off"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "the answer broke off"),
        (b"HTTP/1.1 200 OK" + b"k" * 70000, "a line without an end"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 101 + b"\r\n", "more than 100 headers"),
        (b"HTTP/1.1 200 OK\r\nnothing\r\n\r\n", "'nothing' is no header"),
        (b"HTTP/1.1 200 OK\r\n: y\r\n\r\n", "': y' is no header"),
        (b"HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "'X : y' is no header"),
        (b"HTTP/1.1 200 OK\r\nX: y\r\n folded: z\r\n\r\n", "' folded: z' is no header"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\ncontent-length: 2\r\n\r\nab",
            "two different headers content-length",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length: -1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n", "Content-Length: "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "the answer broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "Transfer-Encoding: gzip, which was not asked for"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "'-1' is no length of a chunk"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", "a chunk that is longer than it says"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na", "the answer broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", "the answer broke off"),
    ],
)
def test_given_what_is_no_answer_then_the_error_says_what_is_wrong_and_the_connection_is_closed(
    server: Server, content: bytes, complaint: str
) -> None:
    client = Connection("127.0.0.1", server.port)
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
    client = Connection("127.0.0.1", server.port)
    with pytest.raises(TooLarge):
        server.play(content, client)
    assert not client.is_open


def test_given_another_request_over_a_connection_that_was_kept_then_its_answer_is_its_own(server: Server) -> None:
    client = Connection("127.0.0.1", server.port)
    client.open(PATIENCE)
    peer, _address = server.listener.accept()
    for body in (b"first", b"second"):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        assert ask(client).body == body
    client.close()
    peer.close()


def test_given_a_connection_that_was_closed_then_nothing_can_be_asked_over_it(server: Server) -> None:
    client = Connection("127.0.0.1", server.port)
    client.close()
    with pytest.raises(OSError, match="closed"):
        ask(client)


def test_given_the_end_before_an_answer_then_it_is_a_hang_up(server: Server) -> None:
    with pytest.raises(ConnectionResetError, match="closed without an answer"):
        server.play(b"")


TOKENS = st.text("abcXYZ-", min_size=1, max_size=8)
VALUES = st.text("abc XYZ:;,=/\u00e4", max_size=12)


@given(
    version=st.integers(0, 1),
    status=st.integers(200, 599),
    reason=VALUES,
    headers=st.lists(st.tuples(TOKENS.map("X-".__add__), VALUES), max_size=5),
    body=st.binary(max_size=300),
    framing=st.sampled_from(["length", "chunks", "end"]),
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=5),
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
) -> None:
    lines = ["HTTP/1.%d %d %s" % (version, status, reason)] + ["%s: %s" % header for header in headers]
    if framing == "length":
        lines.append("Content-Length: %d" % len(body))
    elif framing == "chunks":
        lines.append("Transfer-Encoding: chunked")
    content = "\r\n".join([*lines, "", ""]).encode("latin-1")
    content += in_chunks(body, sizes) if framing == "chunks" else body

    judge = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    answer = server.play(content)
    expected = judged(server, judge, content)

    assert answer.status == expected.status == status
    assert answer.reason == expected.reason
    assert answer.body == expected.body
    assert answer.headers == expected.headers


def in_chunks(body: bytes, sizes: List[int]) -> bytes:
    """The body in chunks of these sizes, over and over."""
    parts: List[bytes] = []
    while body:
        size = sizes[len(parts) % len(sizes)]
        parts.append(b"%x\r\n%s\r\n" % (len(body[:size]), body[:size]))
        body = body[size:]
    return b"".join(parts) + b"0\r\n\r\n"


def judged(server: Server, judge: http.client.HTTPConnection, content: bytes) -> Answer:
    """What the standard library makes of an answer."""
    judge.connect()
    peer, _address = server.listener.accept()
    try:
        peer.sendall(content)
        peer.shutdown(socket.SHUT_WR)
        judge.request("GET", "/")
        response = judge.getresponse()
        headers = {name.lower(): value.strip() for name, value in response.getheaders()}
        return Answer(response.status, response.reason, headers, response.read())
    finally:
        peer.close()
        judge.close()
