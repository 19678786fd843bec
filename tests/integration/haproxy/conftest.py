# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real HAProxy in front of two web servers, without root.

`make integration-haproxy` finds one, or unpacks one from its package; where there is none, these tests are skipped.
"""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.tests.ports import free_ports

from tests import ansible_runs

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 60  # seconds; for what an idle machine finishes quickly
ENDLESS = 600  # seconds; for what does not end by itself

# For one with nothing but backends.
HEAD = """\
global
    stats socket {directory}/admin.sock mode 600 level admin

defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
"""
CONFIGURATION = """\
global
    stats socket {directory}/admin.sock mode 600 level admin
    stats socket {directory}/operator.sock mode 600 level operator
    stats socket ipv4@127.0.0.1:{runtime_port} level admin
    hard-stop-after 60s

defaults
    mode http
    option http-keep-alive
    timeout connect 5s
    timeout client 600s
    timeout server 600s
    timeout queue 60s

frontend web_in
    bind 127.0.0.1:{web_port}
    default_backend web

frontend api_in
    bind 127.0.0.1:{api_port}
    default_backend api

frontend spare_in
    bind 127.0.0.1:{spare_port}
    default_backend second

backend web
    balance roundrobin
    server web_0 127.0.0.1:{web_0} weight 100
    server web_1 127.0.0.1:{web_1} weight 100

backend second
    server web_1 127.0.0.1:{web_1}

backend api
    balance source
    server web_0 127.0.0.1:{web_0} maxconn 1
    server spare 127.0.0.1:{web_1} disabled

backend tracking
    server leader 127.0.0.1:{web_0} check inter 100ms
    server follower 127.0.0.1:{web_1} track leader

backend dead
    server nobody 127.0.0.1:{nobody} check inter 100ms fall 1

backend asked
    server web_0 127.0.0.1:{web_0} agent-check agent-addr 127.0.0.1 agent-port {agent} agent-inter 200ms
"""


def until(met: Callable[[], Any], what: str) -> Any:
    """Wait until a condition is true, and return its value."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = met()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


class WebServer:
    """Says its name to whoever asks; `/long` takes until it is released, and `begun` counts those."""

    def __init__(self, name: str) -> None:
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle(self) -> None:
                try:
                    super().handle()
                except OSError:
                    pass  # HAProxy may leave whenever it likes.

            def do_GET(self) -> None:
                if self.path != "/long":
                    self._say(web.name)
                    return
                self.send_response(200)
                self.send_header("Content-Length", "8")
                self.end_headers()
                self.wfile.write(b"half")
                self.wfile.flush()
                web.begun.release()
                web.released.wait(ENDLESS)
                self.wfile.write(b"half")

            def _say(self, text: str) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_arguments: Any) -> None:
                pass

        self.name = name
        self.begun = threading.Semaphore(0)
        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> WebServer:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Download:
    """A request for something long, in a thread of its own. What came of it is its `body`."""

    def __init__(self, port: int) -> None:
        self.body = b""
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ENDLESS)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._connection.request("GET", "/long")
            self.body = self._connection.getresponse().read()
        except (OSError, http.client.HTTPException) as error:
            self.body = repr(error).encode()

    def finish(self) -> bytes:
        """Wait for its end, and return what came."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self._connection.close()
        return self.body


class Haproxy:
    """A HAProxy of our own: master, worker, runtime API on UNIX sockets and over TCP."""

    def __init__(self, program: Path, directory: Path, web: list[WebServer]) -> None:
        self.directory = directory
        self.web = web
        self._program = program
        ports = free_ports(5)
        self.web_port, self.api_port, self.spare_port, self.runtime_port, self.agent_port = ports
        self.socket = str(directory / "admin.sock")
        self.operator_socket = str(directory / "operator.sock")
        self.master_socket = str(directory / "master.sock")
        self.tcp = f"127.0.0.1:{self.runtime_port}"
        (directory / "haproxy.cfg").write_text(
            CONFIGURATION.format(
                directory=directory,
                web_port=self.web_port,
                api_port=self.api_port,
                spare_port=self.spare_port,
                runtime_port=self.runtime_port,
                agent=self.agent_port,
                nobody=free_ports(1)[0],
                **{server.name: server.port for server in web},
            ),
            encoding="utf-8",
        )

    @classmethod
    @contextmanager
    def of(cls, program: Path, configuration: str, servers: list[str]) -> Iterator[Haproxy]:
        """Run one that is configured like this, with servers at these addresses."""
        with tempfile.TemporaryDirectory() as name, WebServer("web_0") as web_0, WebServer("web_1") as web_1:
            directory = Path(name)
            haproxy = cls(program, directory, [web_0, web_1])
            text = configuration.format(*servers, directory=directory)
            (directory / "haproxy.cfg").write_text(text, encoding="utf-8")
            with haproxy:
                yield haproxy

    def __enter__(self) -> Haproxy:
        log = self.directory / "log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [self._program, "-W", "-S", self.master_socket, "-f", self.directory / "haproxy.cfg"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until(lambda: self._answers() or self._process.poll() is not None, "HAProxy runs")
        assert self._process.poll() is None, log.read_text()
        return self

    def __exit__(self, *_error: object) -> None:
        # The session is all its own: master, worker, and those that were replaced.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)

    def ask(self, command: str) -> str:
        """Ask the runtime API, past the code under test."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(self.socket)
            connection.sendall(command.encode() + b"\n")
            parts = iter(lambda: connection.recv(65536), b"")
            return b"".join(parts).decode()

    def admin_states(self) -> dict[str, int]:
        """The bits of each server. Until 2.4, HAProxy lists its own processes as well."""
        rows = [line.split() for line in self.ask("show servers state").splitlines()[2:] if line]
        return {f"{row[1]}/{row[3]}": int(row[6]) for row in rows if row[1] != "MASTER"}

    def reload(self) -> None:
        """Have the master start another worker, and wait until that answers."""
        before = self._pid()
        self._process.send_signal(signal.SIGUSR2)
        until(lambda: self._answers() and self._pid() != before, "HAProxy is reloaded")

    def get(self) -> str:
        """Ask the web servers once, over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.web_port, timeout=PATIENCE)
        try:
            connection.request("GET", "/")
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def download_from(self, server: WebServer, port: int) -> Download:
        """Begin something long that this server serves."""
        download = Download(port)
        assert server.begun.acquire(timeout=PATIENCE)
        return download

    def download_queued(self, port: int) -> Download:
        """Start a long request that has to wait in the queue."""
        download = Download(port)
        until(self._has_queue, "it waits")
        return download

    def _has_queue(self) -> bool:
        rows = [line.split(",") for line in self.ask("show stat -1 4 -1").splitlines()]
        return any(row[:3] == ["api", "web_0", "1"] for row in rows)

    def _pid(self) -> str:
        return next(line for line in self.ask("show info").splitlines() if line.startswith("Pid:"))

    def _answers(self) -> bool:
        try:
            return "Pid:" in self.ask("show info")
        except OSError:
            return False


def play(directory: Path, playbook: str, **environment: str) -> str:
    """Run a playbook of a directory with its inventory, and return what the user sees. It must succeed."""
    run = ansible_runs.run(*("-i", "inventory.yml", playbook), environment=environment, cwd=directory)
    assert run.returncode == 0, run.stdout
    return run.stdout


@pytest.fixture(scope="session", name="program")
def fixture_program() -> Path:
    found = ROOT / ".cache" / "haproxy" / "haproxy"
    on_path = shutil.which("haproxy", path=os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin")
    if not found.exists() and on_path is None:
        pytest.skip("there is no HAProxy: run `make haproxy`, or install it")
    return found if found.exists() else Path(str(on_path))


@pytest.fixture(name="haproxy")
def fixture_haproxy(program: Path) -> Iterator[Haproxy]:
    """HAProxy before web_0 and web_1."""
    with running(program) as haproxy:
        yield haproxy


@pytest.fixture(scope="module", name="shared_haproxy")
def fixture_shared_haproxy(program: Path) -> Iterator[Haproxy]:
    """The same, for all tests of a module."""
    with running(program) as haproxy:
        yield haproxy


@contextmanager
def running(program: Path) -> Iterator[Haproxy]:
    """Run HAProxy before web_0 and web_1."""
    # pytest's own directories make paths that are longer than a socket's may be.
    with (
        tempfile.TemporaryDirectory() as directory,
        WebServer("web_0") as web_0,
        WebServer("web_1") as web_1,
        Haproxy(program, Path(directory), [web_0, web_1]) as haproxy,
    ):
        yield haproxy
