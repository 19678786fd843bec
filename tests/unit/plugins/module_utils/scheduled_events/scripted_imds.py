# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An IMDS that plays a script over real HTTP: one step for each request, in order, whoever connects.

Each step answers one request, well or badly. What was asked is recorded. On leaving the `with`, a request
beyond the end of the script, or a step that nobody asked for, is an error.
"""

import json
import socket
import socketserver
import struct
import threading
from email.message import Message
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Type, Union

Body = Union[bytes, str, Dict[str, Any], List[Any]]


class Request(NamedTuple):
    """One request, as it arrived."""

    method: str
    target: str
    headers: Message
    body: bytes
    connection: int
    """Which TCP connection it came over: 1, 2, …"""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "_Server"

    def setup(self) -> None:
        super().setup()
        self.number = self.server.imds.note_connection(self.connection)

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            pass  # The client may leave whenever it likes.

    def finish(self) -> None:
        try:
            super().finish()
        except OSError:
            pass

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        step = self.server.imds.next_step(Request(self.command, self.path, self.headers, body, self.number))
        step(self)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_args: Any) -> None:
        pass


Step = Callable[[_Handler], None]


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, imds: "ScriptedImds") -> None:
        self.imds = imds
        super().__init__(("127.0.0.1", imds.port), _Handler)

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        super().server_bind()

    def shutdown_request(self, request: Any) -> None:
        # Not the parent's half-close first: after SO_LINGER 0 the close alone is the reset.
        self.close_request(request)

    def handle_error(self, *_args: Any) -> None:
        pass


class ScriptedImds:
    """Answers the first request with the first step, the second with the second, and so on."""

    def __init__(self, *script: Step) -> None:
        self.requests: List[Request] = []
        self.connections = 0
        self.over = threading.Event()
        """Set when the test is over: steps that only wait end then."""
        self._script = list(script)
        self._beyond: List[Request] = []
        self._lock = threading.Lock()
        self._open: List[socket.socket] = []
        # Never listens, but keeps the port while nobody else does.
        self._reservation = socket.socket()
        self._reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._reservation.bind(("127.0.0.1", 0))
        self.port: int = self._reservation.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % self.port

    def __enter__(self) -> "ScriptedImds":
        self.accept_connections()
        return self

    def __exit__(
        self, error_type: Optional[Type[BaseException]], _error: object, _trace: Optional[TracebackType]
    ) -> None:
        self.over.set()
        self.refuse_connections()
        self.close_connections()
        self._reservation.close()
        if error_type is None:
            asked_for_more = [(request.method, request.target) for request in self._beyond]
            assert not asked_for_more, "asked for more than the script has: %s" % asked_for_more
            assert not self._script, "%d steps of the script were not asked for" % len(self._script)

    def note_connection(self, connection: socket.socket) -> int:
        """Count a connection; return its number."""
        with self._lock:
            self._open.append(connection)
            self.connections += 1
            return self.connections

    def next_step(self, request: Request) -> Step:
        """Record the request; return what answers it."""
        with self._lock:
            self.requests.append(request)
            if self._script:
                return self._script.pop(0)
            self._beyond.append(request)
            return status(400, "the script is over")

    def close_connections(self) -> None:
        """Close every connection that stands, as a server does with those that were idle for too long."""
        with self._lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # It has gone already.
            del self._open[:]

    def refuse_connections(self) -> None:
        """Stop listening, until `accept_connections`."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def accept_connections(self) -> None:
        """Listen."""
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def posted(self) -> List[Any]:
        """The bodies of all POST requests, as JSON."""
        return [json.loads(request.body.decode("ascii")) for request in self.requests if request.method == "POST"]

    @property
    def asked(self) -> List[Tuple[str, str]]:
        """Method and path of all requests."""
        return [(request.method, request.target.split("?")[0]) for request in self.requests]


def status(code: int, body: Body = b"", headers: Optional[Dict[str, str]] = None) -> Step:
    """Answer with this status; a dict or list is sent as JSON."""
    content = _encode(body)

    def answer(handler: _Handler) -> None:
        handler.send_response(code)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def ok(body: Body) -> Step:
    """Answer with status 200."""
    return status(200, body)


def events(*listed: Dict[str, Any], **fields: Any) -> Step:
    """Answer with a document that lists these events."""
    return ok(document(*listed, **fields))


def document(*listed: Dict[str, Any], **fields: Any) -> Dict[str, Any]:
    """Make a document as Azure writes it."""
    return dict({"DocumentIncarnation": 1, "Events": list(listed)}, **fields)


def event(event_id: str, *resources: str, **fields: Any) -> Dict[str, Any]:
    """Make an event as Azure writes it: a Reboot on 19 September 2030, but for the given fields."""
    return dict(
        {
            "EventId": event_id,
            "EventType": "Reboot",
            "ResourceType": "VirtualMachine",
            "Resources": list(resources),
            "EventStatus": "Scheduled",
            "NotBefore": "Thu, 19 Sep 2030 18:29:47 GMT",
            "Description": "Host server is undergoing maintenance.",
            "EventSource": "Platform",
            "DurationInSeconds": -1,
        },
        **fields,
    )


def compute(name: str) -> Step:
    """Answer who this VM is."""
    return ok({"name": name, "location": "westeurope"})


def raw(content: bytes) -> Step:
    """Answer with exactly these bytes, then close."""

    def answer(handler: _Handler) -> None:
        handler.wfile.write(content)
        handler.close_connection = True

    return answer


def truncated(body: Body) -> Step:
    """Announce more than is sent, then close."""
    content = _encode(body)
    return raw(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content) + 1, content))


def chunked(body: Body, size: int = 7) -> Step:
    """Answer in chunks of so many bytes; the connection stays open."""
    content = _encode(body)

    def answer(handler: _Handler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for start in range(0, len(content), size):
            chunk = content[start : start + size]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        handler.wfile.write(b"0\r\n\r\n")

    return answer


def hang_up() -> Step:
    """Close the connection without an answer."""

    def answer(handler: _Handler) -> None:
        handler.close_connection = True

    return answer


def reset() -> Step:
    """Reset the connection without an answer."""

    def answer(handler: _Handler) -> None:
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.close_connection = True

    return answer


def silence() -> Step:
    """Keep the connection and say nothing."""

    def answer(handler: _Handler) -> None:
        handler.server.imds.over.wait()
        handler.close_connection = True

    return answer


def drip(content: bytes, interval: float) -> Step:
    """Send these bytes over and over, one each `interval` seconds, for as long as the client takes them."""

    def answer(handler: _Handler) -> None:
        position = 0
        while not handler.server.imds.over.wait(interval):
            handler.wfile.write(content[position % len(content) :][:1])
            position += 1

    return answer


class DeafHost:
    """A host that never lets a connection stand, as one that is no Azure VM: its listener's queue is full."""

    def __init__(self) -> None:
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(0)
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        self._waiting: List[socket.socket] = []

    def __enter__(self) -> "DeafHost":
        for _attempt in range(8):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex(self._listener.getsockname())
            self._waiting.append(waiting)
        return self

    def __exit__(self, *_exc_info: object) -> None:
        for waiting in self._waiting:
            waiting.close()
        self._listener.close()


class FakeClock:
    """Time that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: List[float] = []
        self.while_asleep: Dict[int, Callable[[], None]] = {}
        """What happens during the n-th sleep, counted from 0."""

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let this many seconds pass."""
        self.while_asleep.get(len(self.slept), lambda: None)()
        self.slept.append(seconds)
        self.now += seconds


def _encode(body: Body) -> bytes:
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode("utf-8")
