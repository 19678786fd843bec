# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers over HTTP how the agent is doing, to probes, scrapers, other agents and whoever else asks.

Read-only, within the loop's selector, one request for each connection. A client may be slow or hostile:
every call here does a bounded piece of work, every connection has an end, and of too many the oldest goes,
which is never the probe that has just come.

An address that cannot be had is tried again: the machine is brought through its maintenance without it meanwhile.
"""

import contextlib
import errno
import os
import re
import selectors
import socket
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..platform import listening, machine

_LARGEST_REQUEST = 8 * 1024  # bytes
_CHUNK = 64 * 1024  # bytes
_ACCEPTS_AT_ONCE = 16
_SPARE_DESCRIPTORS = 32  # for steps, the journal, IMDS and members
_BACKLOG = 128
_PAUSE = 1.0  # seconds
_LISTEN_AGAIN = 1.0  # seconds; as long as somebody else has our port, the probe hears what is not from us
# The machine or the process is short of something. The connection stays in the queue, and the selector reports it
# again and again.
_SHORTAGES = frozenset([*machine.NO_DESCRIPTORS, errno.ENOBUFS, errno.ENOMEM])

_REASONS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    414: "URI Too Long",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/([0-9])\.[0-9]\Z")
# Begins the header of the PROXY protocol, version 2: Azure's probes have it on all ports once one Private Link service
# of the balancer has it.
# Source: https://learn.microsoft.com/azure/private-link/private-link-service-overview
_PROXY_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
_PROXY_LENGTH = slice(14, 16)
_ABSOLUTE_FORM = re.compile(r"https?://[^/?]*", re.IGNORECASE)

# What comes through a proxy on this machine is not from this machine.
_OF_PROXIES = ("forwarded", "x-forwarded-for", "x-real-ip", "via")

Address = Tuple[str, int]


class Asked(NamedTuple):
    """What a client asks for, and from where."""

    path: str
    """Without its query."""
    host: str = "127.0.0.1"
    """IP address of the client; empty for one of a UNIX socket."""
    is_local: bool = True
    """Whether the client is this machine itself."""
    headers: Mapping[str, str] = {}
    """Names in lower case. If a header comes twice, the last one counts."""


class Response(NamedTuple):
    """What a route answers."""

    status: int
    content_type: str
    body: bytes
    headers: str = ""
    """Further header lines, each with its line end."""


class _Listener(NamedTuple):
    """Where clients come in."""

    wanted: Optional[Address]
    """The address that was asked for. None for the UNIX socket."""
    sock: socket.socket
    is_inherited: bool


class _Connection:
    """One client: first its request comes in, then the answer goes out, then we wait for it to hang up."""

    def __init__(self, sock: socket.socket, host: str, expires: float) -> None:
        self.sock = sock
        self.host = host
        self.expires = expires
        self.request = b""
        self.answer: Optional[memoryview] = None


class Endpoint:
    """A small HTTP server. It registers its sockets with the selector, with `handle` as their data.

    :param addresses: IP addresses and ports to listen on; port 0 takes any. `::` is IPv6 only
    :param respond: gives the answer; None: there is no such path
    :param clock: monotonic, in seconds
    :param most_connections: at the same time
    :param seconds: that a client has for its request, and again for taking the answer
    :param admits: whether a client at an IP address is let in; others are hung up on, and take nobody's place
    :param inherited: sockets that listen already, taken in place of new ones where the address is the same
    :param path: of a UNIX socket that answers the same; an existing file is replaced. Where it cannot be had, it is
        tried again. None: there is none
    """

    def __init__(
        self,
        addresses: Sequence[Address],
        respond: Callable[[Asked], Optional[Response]],
        selector: selectors.BaseSelector,
        clock: Callable[[], float],
        most_connections: int = 64,
        seconds: float = 10.0,
        admits: Callable[[str], bool] = lambda _host: True,
        inherited: Sequence[socket.socket] = (),
        path: Optional[str] = None,
    ) -> None:
        self._respond = respond
        self._admits = admits
        self._selector = selector
        self._clock = clock
        self._most_connections = most_connections
        self._seconds = seconds
        self._listeners: List[_Listener] = []
        self._spare = list(inherited)
        self._path = path
        self._missing: Dict[Address, str] = {}
        """By address that is not available yet, the reason."""
        self._next_try = 0.0
        # A dictionary keeps them in the order in which they came.
        self._connections: Dict[int, _Connection] = {}
        self._paused_until: Optional[float] = None
        self._try_to_listen_here()
        self.listen(addresses)

    @property
    def addresses(self) -> List[Address]:
        """Where it listens, with the ports that it was given."""
        return [one.sock.getsockname()[:2] for one in self._listeners if one.wanted is not None]

    @property
    def problem(self) -> Optional[str]:
        """Which addresses cannot be listened on, why, and what to do. None if there are none."""
        return "; ".join(self._missing.values()) or None

    def listen(self, addresses: Sequence[Address]) -> None:
        """Listen on these addresses and on no others. `expire` tries again where it fails."""
        for one in [one for one in self._listeners if one.wanted is not None and one.wanted not in addresses]:
            self._drop(one)
        have = [one.wanted for one in self._listeners]
        self._missing = {}
        for address in addresses:
            if address in have:
                have.remove(address)
            else:
                self._try_to_listen(address)
        self._next_try = self._clock() + _LISTEN_AGAIN

    @property
    def is_busy(self) -> bool:
        """Whether `expire` may have something to end."""
        return bool(self._connections or self._missing) or self._paused_until is not None

    def handle(self, key: selectors.SelectorKey, _mask: int) -> None:
        """Do the next piece of work on a socket that the selector found ready."""
        # Checked by number and by state: earlier in this turn it may have been closed to make room, and its number
        # reused.
        connection = self._connections.get(key.fd)
        if connection is not None:
            self._advance(connection)
            return
        for one in self._listeners:
            if one.sock is key.fileobj:
                self._accept(one.sock)
                return

    def make_room(self) -> bool:
        """Close the connections of all clients that send nothing, or have their answer, for want of descriptors.

        :returns: whether there were any
        """
        found = [one for one in self._connections.values() if not one.answer]
        for connection in found:
            self._close(connection)
        return bool(found)

    def expire(self) -> None:
        """Close connections whose time is up. Call it at each turn of the loop."""
        now = self._clock()
        for connection in [one for one in self._connections.values() if now >= one.expires]:
            self._close(connection)
        if self._paused_until is not None and now >= self._paused_until:
            self._paused_until = None
            self._watch_listeners()
        if now >= self._next_try:
            self._next_try = now + _LISTEN_AGAIN
            self._try_to_listen_here()
            for address in list(self._missing):
                self._try_to_listen(address)

    def close(self) -> None:
        """Stop listening and hang up on everyone."""
        for connection in list(self._connections.values()):
            self._close(connection)
        for one in list(self._listeners):
            self._drop(one)
        for sock in self._spare:
            sock.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)

    def _try_to_listen_here(self) -> None:
        if self._path is None or any(one.wanted is None for one in self._listeners):
            return
        with contextlib.suppress(OSError):
            self._add(_Listener(None, listening.listen_at(self._path, _BACKLOG), False))

    def _try_to_listen(self, address: Address) -> None:
        self._missing.pop(address, None)
        try:
            if not any(one.wanted == address for one in self._listeners):
                self._add(self._inherit(address) or _Listener(address, _listen(*address), False))
            # The service manager may hold a socket for an address that the machine does not have yet, or will never
            # have.
            _check_address(address[0])
        except (OSError, OverflowError) as error:
            self._missing[address] = (
                "cannot listen on %s port %s: %s. Give an IP address of this machine, and a port that nothing else uses"
                % (address[0], address[1], error)
            )

    def _inherit(self, address: Address) -> Optional[_Listener]:
        for sock in self._spare:
            if is_at(sock, address):
                self._spare.remove(sock)
                sock.setblocking(False)
                return _Listener(address, sock, True)
        return None

    def _add(self, listener: _Listener) -> None:
        self._listeners.append(listener)
        if self._paused_until is None:
            self._selector.register(listener.sock, selectors.EVENT_READ, self.handle)

    def _drop(self, listener: _Listener) -> None:
        self._listeners.remove(listener)
        if self._paused_until is None:
            self._selector.unregister(listener.sock)
        if listener.is_inherited:
            # The service manager holds it open anyway, and it may be wanted again.
            self._spare.append(listener.sock)
        else:
            listener.sock.close()

    def _accept(self, listener: socket.socket) -> None:
        for _unused in range(_ACCEPTS_AT_ONCE):
            try:
                sock, address = listener.accept()
            except OSError as error:
                if error.errno in machine.NO_DESCRIPTORS and self.make_room():
                    continue
                if error.errno in _SHORTAGES:
                    self._ignore_listeners()
                    self._paused_until = self._clock() + _PAUSE
                # Otherwise the queue is empty, or the client has gone.
                return
            host = address[0] if isinstance(address, tuple) else ""
            if not self._admits(host):
                sock.close()
                continue
            is_short = machine.is_short_of_descriptors(sock.fileno(), _SPARE_DESCRIPTORS)
            if len(self._connections) >= self._most_connections or (is_short and self._connections):
                self._close(next(iter(self._connections.values())))
            sock.setblocking(False)
            self._connections[sock.fileno()] = _Connection(sock, host, self._clock() + self._seconds)
            self._selector.register(sock, selectors.EVENT_READ, self.handle)

    def _advance(self, connection: _Connection) -> None:
        try:
            if connection.answer is None:
                self._receive(connection)
            elif connection.answer:
                self._send(connection, connection.answer)
            elif not connection.sock.recv(_CHUNK):
                self._close(connection)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._close(connection)

    def _receive(self, connection: _Connection) -> None:
        data = connection.sock.recv(_LARGEST_REQUEST + 1 - len(connection.request))
        if not data:
            self._close(connection)
            return
        connection.request += data
        answer = self._answer(connection)
        if answer is not None:
            connection.answer = memoryview(answer)
            connection.request = b""
            connection.expires = self._clock() + self._seconds
            self._selector.modify(connection.sock, selectors.EVENT_WRITE, self.handle)
            self._send(connection, connection.answer)

    def _send(self, connection: _Connection, answer: memoryview) -> None:
        sent = connection.sock.send(answer[:_CHUNK])
        connection.answer = answer[sent:]
        if not connection.answer:
            # Closing at once, with a part of the request unread, would reset the connection, and the client might
            # lose the answer. So the agent ends its own side, and reads on until the client hangs up.
            connection.sock.shutdown(socket.SHUT_WR)
            self._selector.modify(connection.sock, selectors.EVENT_READ, self.handle)

    def _answer(self, connection: _Connection) -> Optional[bytes]:
        """The answer to what has come so far of a request; None while it is too early to tell.

        No header field has to be there, not even Host, which some probes leave out.
        """
        asked = _after_proxy_header(connection.request)
        request = asked.replace(b"\r\n", b"\n").lstrip(b"\n")
        line, line_ended, _unused = request.partition(b"\n")
        if not line_ended:
            return _error(414, "The request line is too long") if len(request) > _LARGEST_REQUEST - 64 else None
        match = _REQUEST_LINE.match(line)
        if match is None:
            return _error(400, "This is not an HTTP request")
        method, target, major = (group.decode("ascii") for group in match.groups())
        if major != "1":
            return _error(505, "Ask in HTTP/1.1")
        if b"\n\n" not in request:
            return _error(431, "The header is too large") if len(request) > _LARGEST_REQUEST - 64 else None
        if method not in ("GET", "HEAD"):
            return _error(405, "This endpoint is read-only", "Allow: GET, HEAD\r\n")
        path = _ABSOLUTE_FORM.sub("", target).partition("?")[0] or "/"
        if not path.startswith("/"):
            return _error(400, "This is not a path")
        try:
            headers = _headers_of(request)
            is_local = asked is connection.request and _is_local(connection, headers)
            response = self._respond(Asked(path, connection.host, is_local, headers))
        except Exception as error:  # noqa: BLE001 - a mistake in a route must not end the loop; who asks sees it
            return _error(500, "The agent could not answer: %s" % type(error).__name__)
        if response is None:
            return _error(404, "There is no such path")
        return _encode(response, with_body=method == "GET")

    def _close(self, connection: _Connection) -> None:
        del self._connections[connection.sock.fileno()]
        self._selector.unregister(connection.sock)
        connection.sock.close()

    def _watch_listeners(self) -> None:
        for one in self._listeners:
            self._selector.register(one.sock, selectors.EVENT_READ, self.handle)

    def _ignore_listeners(self) -> None:
        for one in self._listeners:
            self._selector.unregister(one.sock)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A name would need a lookup, and nothing here may wait.
        socket.inet_pton(family, host)
        listening.claim(listener)
        if family == socket.AF_INET6:
            # So that 0.0.0.0 and :: can stand side by side.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except (OSError, OverflowError):
        listener.close()
        raise
    return listener


def _check_address(host: str) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))


def is_at(sock: socket.socket, address: Address) -> bool:
    """Whether a socket listens on this IP address and port."""
    host, port = sock.getsockname()[:2]
    return bool(port == address[1]) and _packed(host) == _packed(address[0])


def _packed(host: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)


def _is_local(connection: _Connection, headers: Mapping[str, str]) -> bool:
    if any(name in headers for name in _OF_PROXIES):
        return False
    host = connection.host
    # Nobody else can send from an address of this machine: the kernel drops such packets.
    return not host or host == "::1" or host.startswith("127.") or host == connection.sock.getsockname()[0]


def _after_proxy_header(request: bytes) -> bytes:
    """The request itself; nothing as long as a header of the PROXY protocol before it has not come whole."""
    if not request.startswith(_PROXY_SIGNATURE[: len(request)]):
        return request
    length = int.from_bytes(request[_PROXY_LENGTH], "big")
    return request[_PROXY_LENGTH.stop + length :]


def _headers_of(request: bytes) -> Dict[str, str]:
    """Of a request that came as a whole, with line feeds alone."""
    headers = {}
    for line in request.partition(b"\n\n")[0].decode("latin-1").split("\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.lower()] = value.strip()
    return headers


def _error(status: int, text: str, headers: str = "") -> bytes:
    return _encode(Response(status, "text/plain; charset=utf-8", text.encode("utf-8") + b"\n", headers))


def _encode(response: Response, with_body: bool = True) -> bytes:
    head = (
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        % (
            response.status,
            _REASONS.get(response.status, "Unknown"),
            response.content_type,
            len(response.body),
            response.headers,
        )
    )
    return head.encode("ascii") + (response.body if with_body else b"")
