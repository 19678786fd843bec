# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The load balancer, with real sockets: probes, rotation, flows."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from azure_simulator.balancer import Member
from azure_simulator.config import MemberConfig, ProbeConfig
from azure_simulator.testing import Simulator

from .conftest import eventually

INTERVAL = 0.1


class Backend:
    """A web server whose readiness can be turned; it says its name, and keeps connections."""

    def __init__(self, name: str, address: str) -> None:
        self.probe_status = 200
        self.probes: list[dict[str, str]] = []
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path == "/readyz":
                    backend.probes.append(dict(self.headers))
                    self._answer(backend.probe_status, b"")
                else:
                    self._answer(200, name.encode())

            def _answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer((address, 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Echo:
    """A plain TCP server: sends back what it got, once the client has finished."""

    def __init__(self, address: str) -> None:
        self._listener = socket.create_server((address, 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                sock, _peer = self._listener.accept()
            except OSError:
                return
            with sock:
                received = b""
                while data := sock.recv(65536):
                    received += data
                sock.sendall(received)

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture
def backends() -> Iterator[dict[str, Backend]]:
    with ExitStack() as stack:
        servers = {name: Backend(name, "127.0.77.50") for name in ("web_0", "web_1")}
        for server in servers.values():
            stack.callback(server.stop)
        yield servers


@pytest.fixture
def front(simulate: Callable[..., Simulator], backends: dict[str, Backend]) -> Simulator:
    return simulate(
        load_balancers=[
            {
                "name": "front",
                "listen": "127.0.0.1:0",
                "probe": {"path": "/readyz", "interval": INTERVAL, "timeout": 10, "threshold": 2},
                "members": [
                    {"vm": name, "address": "127.0.77.50", "port": backend.port} for name, backend in backends.items()
                ],
            }
        ]
    )


def rotation(azure: Simulator) -> dict[str, bool]:
    return {name: azure.status()["vms"][name]["in_rotation"]["front"] for name in ("web_0", "web_1")}


def get(azure: Simulator) -> str:
    """One request with a connection of its own."""
    connection = http.client.HTTPConnection(*azure.load_balancers["front"], timeout=30)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def behind(name: str, address: str, port: int, probe_port: int) -> list[dict[str, Any]]:
    """A balancer with one member that is probed at another port."""
    return [
        {
            "name": "front",
            "listen": "127.0.0.1:0",
            "probe": {"path": "/readyz", "port": probe_port, "interval": INTERVAL, "timeout": 10},
            "members": [{"vm": name, "address": address, "port": port}],
        }
    ]


def send_until_held_up(client: socket.socket, most: int) -> int:
    """Send until nobody takes any more, or that much; returns how much was sent."""
    sent = 0
    client.settimeout(1)
    try:
        while sent < most:
            sent += client.send(b"x" * 65536)
    except TimeoutError:
        pass
    finally:
        client.settimeout(30)
    return sent


def all_in(azure: Simulator) -> Callable[[], bool]:
    return lambda: all(rotation(azure).values())


def test_given_healthy_members_when_flows_come_then_they_are_served_in_turn(front: Simulator) -> None:
    eventually(all_in(front))
    assert sorted(get(front) for _turn in range(4)) == ["web_0", "web_0", "web_1", "web_1"]
    members = front.status()["load_balancers"]["front"]["members"]
    assert {name: member["served"] for name, member in members.items()} == {"web_0": 2, "web_1": 2}


def test_given_a_member_when_probed_then_it_sees_azures_user_agent(
    front: Simulator, backends: dict[str, Backend]
) -> None:
    eventually(all_in(front))
    assert backends["web_0"].probes[0]["User-Agent"] == "Load Balancer Agent"


@pytest.mark.parametrize("status", [503, 204])
def test_given_a_probe_that_is_not_200_when_it_failed_often_enough_then_new_flows_go_elsewhere(
    front: Simulator, backends: dict[str, Backend], status: int
) -> None:
    eventually(all_in(front))
    backends["web_0"].probe_status = status
    eventually(lambda: not rotation(front)["web_0"])
    assert {get(front) for _turn in range(4)} == {"web_1"}
    backends["web_0"].probe_status = 200
    eventually(all_in(front))
    assert {get(front) for _turn in range(4)} == {"web_0", "web_1"}


def test_given_an_established_flow_when_its_member_goes_out_then_it_continues(
    front: Simulator, backends: dict[str, Backend]
) -> None:
    eventually(all_in(front))
    connection = http.client.HTTPConnection(*front.load_balancers["front"], timeout=30)
    connection.request("GET", "/")
    name = connection.getresponse().read().decode()
    backends[name].probe_status = 503
    eventually(lambda: not rotation(front)[name])
    assert front.status()["load_balancers"]["front"]["members"][name]["connections"] == 1
    connection.request("GET", "/")
    assert connection.getresponse().read().decode() == name
    connection.close()
    eventually(lambda: front.status()["load_balancers"]["front"]["members"][name]["connections"] == 0)


def test_given_nobody_in_rotation_when_a_flow_comes_then_it_is_reset(
    front: Simulator, backends: dict[str, Backend]
) -> None:
    for backend in backends.values():
        backend.probe_status = 503
    eventually(lambda: not any(rotation(front).values()))
    with pytest.raises(ConnectionResetError):
        get(front)
    assert front.status()["load_balancers"]["front"]["refused"] == 1


def test_given_a_member_that_does_not_listen_when_probed_then_it_never_comes_in(
    front: Simulator, backends: dict[str, Backend]
) -> None:
    eventually(all_in(front))
    backends["web_1"].stop()
    eventually(lambda: not rotation(front)["web_1"])
    assert {get(front) for _turn in range(3)} == {"web_0"}


def test_given_a_deleted_vm_when_its_impact_is_over_then_it_is_out_for_good_and_its_flows_end(front: Simulator) -> None:
    eventually(all_in(front))
    kept = [http.client.HTTPConnection(*front.load_balancers["front"], timeout=30) for _turn in range(2)]
    names = []
    for connection in kept:
        connection.request("GET", "/")
        names.append(connection.getresponse().read().decode())
    front.event("Terminate", ["web_0"], status="Started", impact=10)
    front.advance(10)
    assert not rotation(front)["web_0"]
    assert {get(front) for _turn in range(4)} == {"web_1"}
    cut = kept[names.index("web_0")].sock
    with pytest.raises(ConnectionResetError):
        cut.recv(1)
    for connection in kept:
        connection.close()
    out = [entry for entry in front.log() if entry["kind"] == "rotation" and entry["what"] == "out"]
    assert [(entry["vm"], entry["load_balancer"]) for entry in out] == [("web_0", "front")]
    time.sleep(3 * INTERVAL)
    assert not rotation(front)["web_0"]


def test_given_a_flow_when_the_client_has_finished_sending_then_the_whole_answer_still_comes(
    simulate: Callable[..., Simulator],
) -> None:
    prober, echo = Backend("web_0", "127.0.77.51"), Echo("127.0.77.51")
    try:
        azure = simulate(load_balancers=behind("web_0", "127.0.77.51", echo.port, prober.port))
        eventually(lambda: azure.status()["vms"]["web_0"]["in_rotation"]["front"])
        sent = b"0123456789" * 400_000
        with socket.create_connection(azure.load_balancers["front"], timeout=30) as sock:
            sock.sendall(sent)
            sock.shutdown(socket.SHUT_WR)
            received = bytearray()
            while data := sock.recv(65536):
                received += data
        assert bytes(received) == sent
    finally:
        prober.stop()
        echo.stop()


@pytest.fixture
def reads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have asyncio read from a flow at once, though it is paused, as that of Python 3.11.2 does."""
    monkeypatch.setattr("asyncio.selector_events._SelectorSocketTransport.pause_reading", lambda _self: None)


@pytest.mark.usefixtures("reads_at_once")
def test_given_a_vm_that_is_no_member_when_it_is_deleted_then_the_balancer_goes_on(front: Simulator) -> None:
    eventually(all_in(front))
    front.event("Terminate", "db", status="Started", impact=0)
    assert front.status()["vms"]["db"]["state"] == "deleted"
    assert {get(front) for _turn in range(4)} == {"web_0", "web_1"}


def test_given_members_when_they_come_into_rotation_then_the_log_has_it_once_for_each(
    front: Simulator, backends: dict[str, Backend]
) -> None:
    eventually(all_in(front))
    # Of probes that change nothing there is no word.
    eventually(lambda: all(len(backend.probes) > 3 for backend in backends.values()))
    found = sorted((one["vm"], one["what"]) for one in front.log() if one["kind"] == "rotation")
    assert found == [("web_0", "in"), ("web_1", "in")]


def test_given_a_client_that_sends_before_its_member_is_there_then_nothing_is_lost(front: Simulator) -> None:
    eventually(all_in(front))

    assert {get(front) for _number in range(20)} == {"web_0", "web_1"}


def test_given_a_member_in_rotation_that_refuses_when_a_flow_comes_then_it_is_reset_and_counted(
    simulate: Callable[..., Simulator],
) -> None:
    prober = Backend("web_0", "127.0.77.51")
    with socket.create_server(("127.0.77.51", 0)) as free:
        port = free.getsockname()[1]
    try:
        azure = simulate(load_balancers=behind("web_0", "127.0.77.51", port, prober.port))
        eventually(lambda: azure.status()["vms"]["web_0"]["in_rotation"]["front"])
        with pytest.raises(ConnectionResetError):
            get(azure)
        member = azure.status()["load_balancers"]["front"]["members"]["web_0"]
        assert (member["served"], member["refused"], member["connections"]) == (0, 1, 0)
    finally:
        prober.stop()


@contextmanager
def open_flow(simulate: Callable[..., Simulator]) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a flow through the balancer: the client's and the member's."""
    prober = Backend("web_0", "127.0.77.51")
    try:
        with socket.create_server(("127.0.77.51", 0)) as listener:
            azure = simulate(load_balancers=behind("web_0", "127.0.77.51", listener.getsockname()[1], prober.port))
            eventually(lambda: azure.status()["vms"]["web_0"]["in_rotation"]["front"])
            with socket.create_connection(azure.load_balancers["front"], timeout=30) as client:
                member, _peer = listener.accept()
                with member:
                    yield client, member
    finally:
        prober.stop()


def test_given_a_member_that_does_not_read_when_a_client_keeps_sending_then_it_is_held_up_and_nothing_is_lost(
    simulate: Callable[..., Simulator],
) -> None:
    with open_flow(simulate) as (client, member):
        sent = send_until_held_up(client, most=200_000_000)
        assert sent < 200_000_000
        client.shutdown(socket.SHUT_WR)
        received = 0
        while data := member.recv(1 << 20):
            received += len(data)
    assert received == sent


def test_given_a_member_that_resets_when_a_flow_is_open_then_the_client_is_reset_too(
    simulate: Callable[..., Simulator],
) -> None:
    with open_flow(simulate) as (client, member):
        client.sendall(b"x")
        assert member.recv(1) == b"x"
        member.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        member.close()
        with pytest.raises(ConnectionResetError):
            client.recv(1)


def test_given_a_member_when_probes_fail_and_succeed_then_thresholds_decide() -> None:
    member = Member(MemberConfig("a", "127.0.0.1", 1))
    config = ProbeConfig(threshold=3, rise=2)

    def judge(*results: bool) -> list[bool]:
        states = []
        for result in results:
            member.judge(result, config)
            states.append(member.healthy)
        return states

    assert judge(True, True) == [False, True]
    assert judge(False, False, True, False, False, False) == [True, True, True, True, True, False]
    assert judge(True, False, True, True) == [False, False, False, True]
