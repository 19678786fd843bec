# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the agent's edges share.

Runs on Python 3.6 and later.
"""

import contextlib
import json
import os
import re
import selectors
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parents[4]
AGENT = ROOT / "roles" / "handler_agent" / "files"
LINKS = ROOT / ".cache" / "agent"
PATIENCE = 60.0  # seconds; machines are slow and shared
# A line of metrics, as Prometheus reads it.
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (-?[0-9.e+-]+)\Z')


class Clock:
    """A monotonic clock that only moves when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class Heard(NamedTuple):
    """A request that a server of the tests has received."""

    method: str
    path: str
    headers: Dict[str, str]
    """Names in lower case."""
    body: bytes


class HttpServer:
    """A server on loopback, in a thread of its own.

    :param respond: says what each request is answered with: a status, further header fields and the body
    :param port: 0 takes any
    :param context: for TLS
    """

    def __init__(
        self, respond: Callable[[Heard], Tuple[int, Dict[str, str], bytes]], port: int = 0, context: Any = None
    ) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(int(headers.get("content-length", 0)))
                status, fields, said = respond(Heard(self.command, self.path, headers, body))
                self.send_response(status)
                length = {} if "Transfer-Encoding" in fields else {"Content-Length": str(len(said))}
                for name, value in dict(length, **fields).items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(said)

            do_GET = do_POST = do_PUT = do  # noqa: N815 - named by the standard library

            def log_message(self, *_args: Any) -> None:
                pass

        class Server(HTTPServer):
            def handle_error(self, *_args: Any) -> None:
                """A client that does not trust us is no news."""

        self._server = Server(("127.0.0.1", port), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = int(self._server.server_address[1])
        self.url = "http%s://127.0.0.1:%d" % ("s" if context else "", self.port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._thread.join(PATIENCE)
        self._server.server_close()


class Receiver(HttpServer):
    """A server of webhooks that notes what it receives, and answers what is set."""

    def __init__(self, context: Any = None) -> None:
        self.heard: List[Heard] = []
        self.answers: List[Tuple[int, Dict[str, str], bytes]] = []
        super().__init__(self._answer, context=context)
        self.url += "/hook"

    def _answer(self, heard: Heard) -> Tuple[int, Dict[str, str], bytes]:
        self.heard.append(heard)
        return self.answers.pop(0) if self.answers else (202, {}, b"")


EVENTS = "/metadata/scheduledevents"
COMPUTE = "/metadata/instance/compute"


class MetadataService(HttpServer):
    """An IMDS that gives the answers that are set, by path: a status, and what is sent as JSON."""

    def __init__(self, answers: Optional[Dict[str, Tuple[int, Any]]] = None) -> None:
        self.asked: List[str] = []
        self.answers = answers or {
            COMPUTE: (200, {"name": "web_0", "vmId": "id"}),
            EVENTS: (200, {"DocumentIncarnation": 1, "Events": []}),
        }
        self.delay = 0.0
        """Seconds before it answers with events."""
        super().__init__(self._answer)

    def _answer(self, heard: Heard) -> Tuple[int, Dict[str, str], bytes]:
        path = heard.path.partition("?")[0]
        self.asked.append(path)
        time.sleep(self.delay if path == EVENTS else 0.0)
        status, content = self.answers[path]
        return status, {}, json.dumps(content).encode("ascii")


def put(path: Path, text: str) -> None:
    """Write a file atomically, as the role does: no reader finds half of it."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.chmod(0o644)
    os.replace(str(new), str(path))


def environment_of_agent() -> Dict[str, str]:
    """The environment in which another Python finds the agent, and this one's guard."""
    path = [str(AGENT), str(LINKS), os.environ.get("PYTHONPATH", "")]
    return dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, path)))


def wait_until(ask: Callable[[], Any], watched: Optional[Any] = None) -> Any:
    """Ask again and again, and at once when `watched` becomes readable, until the answer is true; return it."""
    ends = time.monotonic() + PATIENCE
    while True:
        answer = ask()
        if answer:
            return answer
        assert time.monotonic() < ends, "nothing came"
        if watched is None or watched.fileno() < 0:
            time.sleep(0.01)
        else:
            with selectors.DefaultSelector() as selector:
                selector.register(watched.fileno(), selectors.EVENT_READ)
                selector.select(0.05)
