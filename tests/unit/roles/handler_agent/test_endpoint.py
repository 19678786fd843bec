# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does it answer everyone, and block on no one? With real sockets, and a clock set by hand."""

import errno
import os
import re
import selectors
import socket
import time
from pathlib import Path
from typing import Any, Callable, Generator, List, Optional, Tuple

import pytest
from ansible_collections.foghorn.azure_events.tests.ports import free_port
from edge_helpers import PATIENCE, Clock
from foghorn_agent.http.endpoint import Asked, Endpoint, Response

SECONDS = 10.0
IP_FREEBIND = getattr(socket, "IP_FREEBIND", 15)
MOST = 5
LARGE = b"z" * (8 * 1024 * 1024)
# Two headers of the PROXY protocol, version 2: with addresses and a line break among them, and with none.
FROM_NOBODY = b"\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"
PROXIED = b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\n\r\n\n\x0a\x00\x00\x04\x01\xbb\x26\x45"


def respond(asked: Asked) -> Optional[Response]:
    if asked.path == "/broken":
        raise KeyError("a mistake of ours")
    if asked.path == "/asked":
        return Response(200, "text/plain", repr(asked).encode(), "Foghorn-Signature: signed\r\n")
    return {
        "/": Response(200, "text/plain", b"root\n"),
        "/readyz": Response(503, "text/plain", b"out of rotation\n"),
        "/healthz": Response(200, "text/plain", b"running\n"),
        "/large": Response(200, "text/plain", LARGE),
        "/teapot": Response(418, "text/plain", b""),
    }.get(asked.path)


class Loop:
    """The agent's loop, as far as the endpoint knows it."""

    def __init__(self, clock: Clock, host: str = "127.0.0.1", addresses: Any = None, **more: Any) -> None:
        self.clock = clock
        self.selector = selectors.DefaultSelector()
        self.endpoint = Endpoint(addresses or [(host, 0)], respond, self.selector, clock, MOST, SECONDS, **more)
        self.address = (self.endpoint.addresses or [("", 0)])[0]
        self.longest = 0.0
        self._clients: List[socket.socket] = []

    def turn(self, timeout: float = 0.0) -> int:
        """Run one iteration; return how many sockets were ready."""
        ready = self.selector.select(timeout)
        for key, mask in ready:
            began = time.monotonic()
            key.data(key, mask)
            self.longest = max(self.longest, time.monotonic() - began)
        self.endpoint.expire()
        return len(ready)

    def settle(self) -> None:
        """Turn until nothing is left to do."""
        for _unused in range(10000):
            if not self.turn(0.02):
                return
        raise AssertionError("the loop spins")

    def connect(self, data: bytes = b"") -> socket.socket:
        client = socket.create_connection(self.address, PATIENCE)
        self._clients.append(client)
        client.sendall(data)
        return client

    def ask(self, data: bytes) -> bytes:
        return self.read(self.connect(data))

    def read(self, client: socket.socket) -> bytes:
        """All that the client gets, until the server hangs up."""
        client.setblocking(False)
        answer = b""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            self.turn(0.01)
            try:
                while True:
                    data = client.recv(2**20)
                    if not data:
                        return answer
                    answer += data
            except BlockingIOError:
                continue
        raise AssertionError("no end after %r" % answer[:1000])

    def is_open(self, client: socket.socket) -> bool:
        client.setblocking(False)
        try:
            return client.recv(1) != b""
        except BlockingIOError:
            return True
        except ConnectionError:
            return False

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self.endpoint.close()
        assert not self.selector.get_map()
        self.selector.close()


MakeLoop = Callable[..., Loop]


@pytest.fixture
def make_loop(clock: Clock) -> Generator[MakeLoop, None, None]:
    loops: List[Loop] = []

    def make(*details: Any, **more: Any) -> Loop:
        loops.append(Loop(clock, *details, **more))
        return loops[-1]

    yield make
    for loop in loops:
        loop.close()


@pytest.fixture
def loop(make_loop: MakeLoop) -> Loop:
    return make_loop()


def status_of(answer: bytes) -> int:
    return int(answer.split()[1].decode())


# --- requests


def test_given_a_route_when_asked_then_it_answers_and_closes_the_connection(loop: Loop) -> None:
    assert loop.ask(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\nCache-Control: no-store\r\n"
        b"Connection: close\r\n\r\nrunning\n"
    )


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /readyz HTTP/1.1", 503),
        (b"GET /readyz HTTP/1.0", 503),
        (b"GET /healthz?x=/readyz HTTP/1.1", 200),
        (b"GET http://vm:9797/healthz HTTP/1.1", 200),
        (b"GET http://vm:9797 HTTP/1.1", 200),
        (b"GET http://vm:9797?x HTTP/1.1", 200),
        (b"GET /absent HTTP/1.1", 404),
        (b"GET /healthz/ HTTP/1.1", 404),
        (b"GET //healthz HTTP/1.1", 404),
        (b"GET /teapot HTTP/1.1", 418),
        (b"GET /broken HTTP/1.1", 500),
        (b"GET healthz HTTP/1.1", 400),
        (b"GET * HTTP/1.1", 400),
        (b"POST /healthz HTTP/1.1", 405),
        (b"OPTIONS * HTTP/1.0", 405),
        (b"get /healthz HTTP/1.1", 405),
        (b"GET /healthz", 400),
        (b"GET  /healthz HTTP/1.1", 400),
        (b"GET /health z HTTP/1.1", 400),
        (b"GET /\xff HTTP/1.1", 400),
        (b"GET /healthz HTTP/11", 400),
        (b"GET /healthz FTP/1.1", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00", 400),
        (b"PRI * HTTP/2.0", 505),
        (b"GET /healthz HTTP/0.9", 505),
    ],
)
def test_given_a_request_when_it_is_in_then_its_status_is_as_http_wants_it(
    loop: Loop, request_line: bytes, status: int
) -> None:
    assert status_of(loop.ask(request_line + b"\r\n\r\n")) == status


def test_given_a_method_that_writes_when_asked_then_the_answer_says_what_is_allowed(loop: Loop) -> None:
    answer = loop.ask(b"DELETE /status HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody")
    assert b"\r\nAllow: GET, HEAD\r\n" in answer


def test_given_head_when_asked_then_it_is_as_get_without_the_body(loop: Loop) -> None:
    get = loop.ask(b"GET /healthz HTTP/1.1\r\n\r\n")
    assert loop.ask(b"HEAD /healthz HTTP/1.1\r\n\r\n") == get[: get.index(b"\r\n\r\n") + 4]


def test_given_a_probe_that_sends_bare_line_feeds_and_blank_lines_when_asked_then_it_is_answered(loop: Loop) -> None:
    assert status_of(loop.ask(b"\r\n\nGET /healthz HTTP/1.0\n\n")) == 200


@pytest.mark.parametrize("begin", [b"", PROXIED])
def test_given_a_request_byte_by_byte_when_it_is_complete_then_it_is_answered(loop: Loop, begin: bytes) -> None:
    client = loop.connect()
    for byte in begin + b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n":
        client.sendall(bytes([byte]))
        loop.settle()
    assert status_of(loop.read(client)) == 200


def test_given_several_requests_at_once_when_asked_then_the_first_is_answered_and_no_other(loop: Loop) -> None:
    answer = loop.ask(b"GET /healthz HTTP/1.1\r\n\r\nGET /readyz HTTP/1.1\r\n\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert status_of(answer) == 200


def test_given_a_client_that_said_that_it_sends_no_more_when_asked_then_it_is_answered(loop: Loop) -> None:
    client = loop.connect(b"GET /healthz HTTP/1.1\r\n\r\n")
    client.shutdown(socket.SHUT_WR)
    assert status_of(loop.read(client)) == 200


@pytest.mark.parametrize(
    ("data", "status"),
    [(b"GET /" + b"x" * 9000, 414), (b"GET /healthz HTTP/1.1\r\nCookie: " + b"x" * 9000, 431)],
)
def test_given_a_request_without_end_when_it_is_too_large_then_it_is_refused(
    loop: Loop, data: bytes, status: int
) -> None:
    assert status_of(loop.ask(data)) == status


def test_given_a_request_just_below_the_bound_when_asked_then_it_is_answered(loop: Loop) -> None:
    head = b"GET /healthz HTTP/1.1\r\nCookie: "
    assert status_of(loop.ask(head + b"x" * (8000 - len(head)) + b"\r\n\r\n")) == 200


def test_given_a_client_that_keeps_sending_after_the_answer_when_it_reads_then_the_answer_is_whole(loop: Loop) -> None:
    """To close with something unread would reset the connection, and the answer would be lost."""
    client = loop.connect(b"POST /healthz HTTP/1.1\r\nContent-Length: 300000\r\n\r\n")
    loop.settle()
    client.sendall(b"x" * 300000)
    loop.settle()
    assert status_of(loop.read(client)) == 405


def test_given_ipv6_when_asked_then_it_answers(make_loop: MakeLoop) -> None:
    loop = make_loop("::1")
    assert status_of(loop.ask(b"GET /healthz HTTP/1.1\r\n\r\n")) == 200
    loop.close()


# --- hostile and slow clients


def test_given_a_client_that_never_ends_its_request_when_its_time_is_over_then_it_is_disconnected(
    loop: Loop, clock: Clock
) -> None:
    client = loop.connect(b"GET /healthz HTTP/1.1\r\nX: ")
    loop.settle()
    for _second in range(9):
        clock.advance(1)
        client.sendall(b"x")
        loop.settle()
    assert loop.is_open(client)
    clock.advance(1)
    loop.settle()
    assert not loop.is_open(client)


def test_given_a_client_that_never_reads_when_its_time_is_over_then_it_is_disconnected(
    loop: Loop, clock: Clock
) -> None:
    loop.connect(b"GET /large HTTP/1.1\r\n\r\n")
    loop.settle()
    assert len(loop.selector.get_map()) == 2
    clock.advance(SECONDS)
    loop.turn()
    assert len(loop.selector.get_map()) == 1


def test_given_a_client_that_never_disconnects_when_its_time_is_over_then_it_is_disconnected(
    loop: Loop, clock: Clock
) -> None:
    client = loop.connect(b"GET /healthz HTTP/1.1\r\n\r\n")
    loop.read(client)
    client.sendall(b"and more")
    loop.settle()
    assert len(loop.selector.get_map()) == 2
    clock.advance(SECONDS)
    loop.turn()
    assert len(loop.selector.get_map()) == 1


def test_given_a_client_that_disconnects_early_when_noticed_then_it_is_forgotten(loop: Loop) -> None:
    loop.connect(b"GET /hea").close()
    loop.connect().close()
    loop.settle()
    assert len(loop.selector.get_map()) == 1


def test_given_a_client_that_has_its_answer_when_it_disconnects_then_it_is_forgotten(loop: Loop) -> None:
    client = loop.connect(b"GET /healthz HTTP/1.1\r\n\r\n")
    loop.settle()
    client.close()
    loop.settle()
    assert len(loop.selector.get_map()) == 1


def test_given_a_client_that_resets_when_noticed_then_it_is_forgotten(loop: Loop) -> None:
    client = loop.connect(b"GET /large HTTP/1.1\r\n\r\n")
    loop.settle()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    client.close()
    loop.settle()
    assert len(loop.selector.get_map()) == 1


def test_given_as_many_idlers_as_there_is_room_for_when_a_probe_comes_then_it_is_served_and_the_oldest_goes(
    loop: Loop,
) -> None:
    idlers = []
    for _unused in range(MOST):
        idlers.append(loop.connect(b"GET /"))
        loop.settle()
    assert status_of(loop.ask(b"GET /healthz HTTP/1.1\r\n\r\n")) == 200
    assert [loop.is_open(idler) for idler in idlers] == [False] + [True] * (MOST - 1)


def test_given_thousands_of_connections_when_they_pour_in_then_each_piece_of_work_is_short_and_few_are_kept(
    loop: Loop,
) -> None:
    served = 0
    for _unused in range(20):
        clients = [socket.create_connection(loop.address, PATIENCE) for _unused in range(50)]
        served += status_of(loop.ask(b"GET /healthz HTTP/1.1\r\n\r\n")) == 200
        assert len(loop.selector.get_map()) <= MOST + 1
        for client in clients:
            client.close()
    loop.settle()
    assert served == 20
    assert loop.longest < 5


def test_given_a_connection_dropped_to_make_room_when_its_event_is_handled_then_nothing_happens(loop: Loop) -> None:
    """In one iteration of the loop: the selector has found both ready before."""
    oldest = loop.connect(b"GET /")
    loop.settle()
    for _unused in range(MOST - 1):
        loop.connect(b"GET /")
    loop.settle()
    oldest.sendall(b"healthz")
    loop.connect()
    ready = sorted(loop.selector.select(PATIENCE), key=lambda one: one[0].fd)
    while len(ready) < 2:
        ready = sorted(loop.selector.select(PATIENCE), key=lambda one: one[0].fd)
    for key, mask in ready:
        loop.endpoint.handle(key, mask)
    assert not loop.is_open(oldest)


def test_given_a_socket_that_was_ready_for_no_reason_when_handled_then_nothing_happens(loop: Loop) -> None:
    client = loop.connect()
    loop.settle()
    (key,) = [key for key in loop.selector.get_map().values() if key.fileobj is not loop.endpoint._listeners[0].sock]
    loop.endpoint.handle(key, selectors.EVENT_READ)
    assert loop.is_open(client)


def test_given_a_number_that_passed_to_another_in_this_iteration_when_handled_then_the_new_one_is_unharmed(
    loop: Loop,
) -> None:
    client = loop.connect()
    loop.settle()
    (key,) = [key for key in loop.selector.get_map().values() if key.fileobj is not loop.endpoint._listeners[0].sock]
    loop.endpoint.handle(key, selectors.EVENT_WRITE)
    client.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
    assert status_of(loop.read(client)) == 200


class OutOfDescriptors:
    """A listener whose process has run out of descriptors."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener

    def fileno(self) -> int:
        return self._listener.fileno()

    def accept(self) -> Any:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def close(self) -> None:
        self._listener.close()


def starve(loop: Loop) -> Any:
    """Leave the endpoint no descriptor for what comes."""
    (listener,) = loop.endpoint._listeners
    starving: Any = OutOfDescriptors(listener.sock)
    loop.selector.unregister(listener.sock)
    loop.selector.register(starving, selectors.EVENT_READ, loop.endpoint.handle)
    loop.endpoint._listeners[0] = listener._replace(sock=starving)
    return starving


def test_given_no_descriptor_left_when_clients_wait_then_the_loop_does_not_spin_and_they_are_served_later(
    loop: Loop, clock: Clock
) -> None:
    (listener,) = loop.endpoint._listeners
    client = loop.connect(b"GET /healthz HTTP/1.1\r\n\r\n")
    starve(loop)
    loop.turn(PATIENCE)
    assert not loop.selector.get_map()
    clock.advance(0.5)
    assert loop.turn(0.01) == 0
    loop.endpoint._listeners[0] = listener
    clock.advance(0.5)
    assert status_of(loop.read(client)) == 200


def test_given_too_few_descriptors_when_room_is_needed_then_clients_that_send_nothing_go_and_answers_do_not(
    loop: Loop,
) -> None:
    silent, half, large = loop.connect(), loop.connect(b"GET /healthz"), loop.connect(b"GET /large HTTP/1.1\r\n\r\n")
    for _turn in range(5):
        loop.turn(0.05)
    assert loop.endpoint.make_room()
    assert not loop.endpoint.make_room()
    assert not loop.is_open(silent)
    assert not loop.is_open(half)
    assert loop.read(large).endswith(LARGE)


def test_given_almost_no_descriptors_when_clients_that_send_nothing_come_then_some_are_kept_for_others(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sysconf", lambda _name: 0)
    silent = loop.connect()
    loop.settle()
    assert status_of(loop.ask(b"GET /healthz HTTP/1.1\r\n\r\n")) == 200
    assert not loop.is_open(silent)


def test_given_a_pause_for_lack_of_descriptors_when_closed_then_all_is_closed(loop: Loop) -> None:
    starving = starve(loop)
    loop.connect()
    loop.turn(PATIENCE)
    loop.endpoint.close()
    assert starving.fileno() == -1


# --- listening


def test_given_several_addresses_when_listening_then_each_answers_and_none_stands_in_the_way_of_another(
    clock: Clock,
) -> None:
    with selectors.DefaultSelector() as selector:
        endpoint = Endpoint([("0.0.0.0", 0)], respond, selector, clock)
        port = endpoint.addresses[0][1]
        other = Endpoint([("::", port)], respond, selector, clock)
        assert other.addresses == [("::", port)]
        endpoint.close()
        other.close()


def test_given_connections_when_closed_then_all_are_disconnected(make_loop: MakeLoop) -> None:
    loop = make_loop()
    client = loop.connect(b"GET /")
    loop.settle()
    loop.endpoint.close()
    assert not loop.is_open(client)


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        (("192.0.2.1", 0), r"cannot listen on 192\.0\.2\.1 port 0: .*Give an IP address of this machine"),
        (("127.0.0.1", 65536), "cannot listen on 127.0.0.1 port 65536"),
        (("::zz", 0), "cannot listen on ::zz port 0"),
        (("localhost", 0), "cannot listen on localhost port 0"),
    ],
)
def test_given_an_unavailable_address_when_listening_then_the_problem_names_it_and_the_others_answer(
    clock: Clock, address: Tuple[str, int], complaint: str
) -> None:
    with selectors.SelectSelector() as selector:
        endpoint = Endpoint([("127.0.0.1", 0), address], respond, selector, clock)
        assert re.match(complaint, endpoint.problem or "")
        assert endpoint.is_busy
        assert [host for host, _port in endpoint.addresses] == ["127.0.0.1"]
        endpoint.close()


# --- who asks


def test_given_header_fields_when_asked_then_the_route_knows_them_and_who_asks(loop: Loop) -> None:
    request = (
        b"GET /asked?x=1 HTTP/1.1\r\nHost: x\r\nFoghorn-Nonce:  abc \r\nX-A: 1\r\nx-a: 2\r\nnonsense\r\n\r\nbody: 1"
    )
    answer = loop.ask(request)
    headers = {"host": "x", "foghorn-nonce": "abc", "x-a": "2"}
    assert repr(Asked("/asked", "127.0.0.1", True, headers)).encode() in answer
    assert b"\r\nFoghorn-Signature: signed\r\n" in answer


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_given_a_proxy_on_this_machine_when_a_client_asks_through_it_then_it_is_not_the_machine(
    loop: Loop, header: str
) -> None:
    answer = loop.ask(("GET /asked HTTP/1.1\r\n%s: 10.0.0.9\r\n\r\n" % header).encode("ascii"))
    assert b"is_local=False" in answer


@pytest.mark.parametrize("begin", [PROXIED, FROM_NOBODY])
def test_given_a_probe_with_the_proxy_protocol_when_it_asks_then_it_is_answered_and_is_not_the_machine(
    loop: Loop, begin: bytes
) -> None:
    """Azure's probes have it on all ports once a Private Link service of the balancer has."""
    answer = loop.ask(begin + b"GET /asked HTTP/1.1\r\n\r\n")
    assert status_of(answer) == 200
    assert b"is_local=False" in answer


def test_given_a_client_that_is_not_admitted_when_it_connects_then_it_is_disconnected_and_takes_no_place(
    make_loop: MakeLoop,
) -> None:
    loop = make_loop()
    inside = loop.connect(b"GET /healthz")
    loop.settle()
    loop.endpoint._admits = lambda host: host != "127.0.0.1"
    strangers = [loop.connect() for _unused in range(2 * MOST)]
    loop.settle()
    assert not any(loop.is_open(one) for one in strangers)
    inside.sendall(b" HTTP/1.1\r\n\r\n")
    assert status_of(loop.read(inside)) == 200


def test_given_a_port_that_is_taken_when_it_is_free_again_then_it_is_listened_on_within_a_second(
    clock: Clock, make_loop: MakeLoop
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))
        taken.listen(1)
        address = taken.getsockname()
        loop = make_loop(addresses=[address])
        assert re.search("port %d: .*in use" % address[1], loop.endpoint.problem or "")
        clock.advance(1.0)
        loop.turn()
        assert loop.endpoint.problem
    loop.turn()
    assert loop.endpoint.problem
    clock.advance(1.0)
    loop.turn()
    assert loop.endpoint.problem is None
    loop.address = address
    assert status_of(loop.ask(b"GET /healthz HTTP/1.1\r\n\r\n")) == 200


def test_given_other_addresses_when_told_to_listen_there_then_clients_of_those_that_stay_notice_nothing(
    loop: Loop,
) -> None:
    (stays,) = loop.endpoint._listeners
    client = loop.connect(b"GET /heal")
    loop.settle()
    loop.endpoint.listen([("127.0.0.1", 0), ("127.0.0.2", 0)])
    assert loop.endpoint._listeners[0] is stays
    client.sendall(b"thz HTTP/1.1\r\n\r\n")
    assert status_of(loop.read(client)) == 200
    address = loop.endpoint.addresses[1]
    assert address[0] == "127.0.0.2"
    loop.endpoint.listen([("127.0.0.1", 0)])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, PATIENCE)


def test_given_a_pause_for_lack_of_descriptors_when_told_to_listen_elsewhere_then_the_pause_has_its_time(
    loop: Loop, clock: Clock
) -> None:
    starve(loop)
    loop.connect()
    loop.turn(PATIENCE)
    loop.endpoint.listen([("127.0.0.2", 0)])
    assert not loop.selector.get_map()
    clock.advance(1.0)
    loop.turn()
    loop.address = loop.endpoint.addresses[0]
    assert status_of(loop.ask(b"GET /healthz HTTP/1.1\r\n\r\n")) == 200


# --- what was handed over


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_given_a_socket_that_listens_already_when_its_address_is_asked_for_then_it_is_taken(
    make_loop: MakeLoop, host: str
) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as held:
        held.bind((host, 0))
        held.listen(5)
        address = held.getsockname()[:2]
        # It comes while nobody takes it, and is not refused.
        with socket.create_connection(address, PATIENCE) as early:
            early.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            loop = make_loop(addresses=[address], inherited=[held.dup()])
            assert (loop.endpoint.problem, loop.endpoint.addresses) == (None, [address])
            assert status_of(loop.read(early)) == 200
        loop.endpoint.listen([])
        loop.endpoint.listen([address])
        assert loop.endpoint.problem is None


@pytest.mark.parametrize("has_the_port", [True, False])
def test_given_a_socket_of_another_address_or_port_when_listening_then_it_is_left_alone(
    make_loop: MakeLoop, has_the_port: bool
) -> None:
    with socket.socket() as held:
        # With its port: one that is free at both addresses.
        held.bind(("127.0.0.2", free_port()) if has_the_port else ("127.0.0.1", 0))
        held.listen(5)
        wanted = ("127.0.0.1", held.getsockname()[1] if has_the_port else 0)
        ((host, port),) = make_loop(addresses=[wanted], inherited=[held.dup()]).endpoint.addresses
        assert (host, port == held.getsockname()[1]) == ("127.0.0.1", has_the_port)


def test_given_a_socket_at_an_address_that_the_machine_does_not_have_when_listening_then_it_is_kept_and_said(
    clock: Clock,
    make_loop: MakeLoop,
) -> None:
    with socket.socket() as held:
        # As systemd does it: an address of the documentation's, which no machine has.
        held.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
        held.bind(("192.0.2.1", 0))
        held.listen(5)
        address = held.getsockname()
        loop = make_loop(addresses=[address], inherited=[held.dup()])
        for _unused in range(2):
            assert loop.endpoint.addresses == [address]
            assert f"cannot listen on 192.0.2.1 port {address[1]}: " in str(loop.endpoint.problem)
            clock.advance(1.0)
            loop.turn()
        loop.close()


# --- on the machine itself


def test_given_a_path_when_asked_there_then_anybody_on_the_machine_is_answered_and_it_goes_with_the_endpoint(
    make_loop: MakeLoop, tmp_path: Path
) -> None:
    path = tmp_path / "agent.sock"
    path.write_text("left from before")
    loop = make_loop(path=str(path))
    assert path.stat().st_mode & 0o777 == 0o666
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
        assert status_of(loop.read(client)) == 200
    loop.endpoint.listen([])
    assert loop.endpoint.addresses == []
    assert len(loop.endpoint._listeners) == 1
    loop.close()
    assert not path.exists()


def test_given_an_impossible_path_when_listening_then_the_rest_answers(make_loop: MakeLoop, tmp_path: Path) -> None:
    loop = make_loop(path=str(tmp_path / "nowhere" / "agent.sock"))
    assert status_of(loop.ask(b"GET /healthz HTTP/1.1\r\n\r\n")) == 200


def test_given_a_directory_that_comes_later_when_it_is_there_then_the_local_socket_is_opened(
    clock: Clock, make_loop: MakeLoop, tmp_path: Path
) -> None:
    path = tmp_path / "later" / "agent.sock"
    loop = make_loop(path=str(path))
    try:
        path.parent.mkdir()
        loop.turn()
        assert not path.exists()
        clock.advance(1.0)
        loop.turn()
        inode = path.stat().st_ino
        clock.advance(1.0)
        loop.turn()
        assert path.stat().st_ino == inode
    finally:
        loop.close()
    assert not path.exists()
