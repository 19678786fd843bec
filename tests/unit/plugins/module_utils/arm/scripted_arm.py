# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An ARM that plays a script over real HTTP, and records what it was asked, byte by byte.

A request beyond the end of the script is answered with 400, and on leaving the `with` it is an error, as is a
step that nobody asked for.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple

from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.client import ArmClient
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.cloud import PUBLIC
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.credentials import SignIn
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.deadline import Deadline

SUBSCRIPTION = "5b2f6a3c-1111-4c4d-9a51-000000000001"
GROUP = "/subscriptions/%s/resourceGroups/shop" % SUBSCRIPTION
COMPUTE = GROUP + "/providers/Microsoft.Compute"
VERSION = "?api-version=2026-04-01"
SECRET = "S3cret~do.not/show%me"


class Request(NamedTuple):
    """One request, as it arrived."""

    method: str
    target: str
    body: bytes
    headers: Mapping[str, str]
    """Names in lower case."""

    @property
    def line(self) -> str:
        """Method and target, as tests compare them."""
        return "%s %s" % (self.method, self.target)


class Step(NamedTuple):
    """One answer. `{base}` in its headers stands for the address of the script."""

    status: int = 200
    content: Any = None
    headers: Mapping[str, str] = {}
    reset: bool = False
    """Whether the connection is reset in place of an answer."""
    write: Callable[[Any], None] | None = None
    """What writes an answer of its own, for as long as somebody reads."""


def ok(content: Any, **headers: str) -> Step:
    """200 with JSON; `_` in the names of headers stands for `-`."""
    return Step(200, content, {name.replace("_", "-"): value for name, value in headers.items()})


def refused(status: int, code: str, message: str = "so it is", **headers: str) -> Step:
    """An error in ARM's envelope."""
    return Step(
        status,
        {"error": {"code": code, "message": message}},
        {name.replace("_", "-"): value for name, value in headers.items()},
    )


def token() -> Step:
    """What a managed identity gets, where AZURE_POD_IDENTITY_AUTHORITY_HOST leads to the script."""
    return ok({"access_token": "token-of-the-test", "expires_in": "3600", "token_type": "Bearer"})


class ScriptedArm:
    """Answers the first request with the first step, the second with the second, and so on."""

    def __init__(self, *script: Step) -> None:
        self.requests: list[Request] = []
        self._script = list(script)
        self._beyond: list[str] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = "http://127.0.0.1:%d" % self._server.server_address[1]

    def __enter__(self) -> ScriptedArm:
        self._thread.start()
        return self

    def __exit__(self, error_type: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        if error_type is None:
            assert not self._beyond, "asked for more than the script has: %s" % self._beyond
            assert not self._script, "%d steps of the script were not asked for" % len(self._script)

    @property
    def lines(self) -> list[str]:
        """Method and target of each request."""
        return [request.line for request in self.requests]

    def sent(self, method: str) -> list[bytes]:
        """The bodies that were sent with this method."""
        return [request.body for request in self.requests if request.method == method]

    def expect(self, *script: Step) -> None:
        """More steps, for a script that needs to know an address first."""
        self._script.extend(script)

    def answer(self, request: Request) -> Step:
        """Record the request; return what answers it."""
        with self._lock:
            self.requests.append(request)
            if self._script:
                return self._script.pop(0)
            self._beyond.append(request.line)
            return refused(400, "TheScriptIsOver")


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        """The monotonic clock."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.now += seconds


class FakeCredential:
    """Signs in without asking anyone."""

    def get_token(self, *_scopes: str, **_options: Any) -> Any:
        """A token for an hour."""
        import time

        from azure.core.credentials import AccessToken

        return AccessToken("token-of-the-test", int(time.time()) + 3600)


def client_of(
    arm: ScriptedArm, time: FakeTime, timeout: float = 600, subscription_id: str | None = SUBSCRIPTION
) -> ArmClient:
    """A client of this script, whose time is the fake one's."""
    sign_in = SignIn(
        "env",
        PUBLIC._replace(arm=arm.url),
        subscription_id,
        client_id="00000000-0000-0000-0000-00000000c11e",
        tenant="00000000-0000-0000-0000-000000007e4a",
        secret=SECRET,
    )
    return ArmClient(sign_in, Deadline(timeout, time.clock), FakeCredential(), time.sleep)


@contextlib.contextmanager
def dialogue(
    *script: Step, timeout: float = 600, time: FakeTime | None = None, subscription_id: str | None = SUBSCRIPTION
) -> Iterator[tuple[ScriptedArm, ArmClient]]:
    """An ARM that plays this script, and a client of it."""
    with ScriptedArm(*script) as arm, client_of(arm, time or FakeTime(), timeout, subscription_id) as client:
        yield arm, client


def _handler_of(arm: ScriptedArm) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            step = arm.answer(Request(self.command, self.path, body, headers))
            if step.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                return
            if step.write is not None:
                self.close_connection = True
                with contextlib.suppress(OSError):
                    step.write(self.wfile)
                return
            content = b"" if step.content is None else json.dumps(step.content).encode()
            self.send_response(step.status)
            for name, value in step.headers.items():
                self.send_header(name, value.replace("{base}", arm.url))
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PATCH = do_PUT = do_POST = do_DELETE = answer  # noqa: N815

        def log_message(self, *_args: Any) -> None:
            pass

    return Handler
