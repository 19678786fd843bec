# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The web server of the demo and its service manager: what they must do so that a loss is Azure's, not theirs."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from service import Machine, free_port

from .conftest import Server

WaitFor = Callable[[Callable[[], Any]], Any]


@pytest.fixture(name="connection")
def fixture_connection(server: Server) -> Iterator[http.client.HTTPConnection]:
    """A connection that is opened by the first request."""
    with contextlib.closing(_connection(server.machine)) as connection:
        yield connection


def _connection(machine: Machine) -> http.client.HTTPConnection:
    where = json.loads((machine.marker.parent / "machine.json").read_text())
    return http.client.HTTPConnection(where["address"], where["port"], timeout=60)


def _get(connection: http.client.HTTPConnection, path: str) -> tuple[int, str | None]:
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    return response.status, response.getheader("Connection")


def test_given_no_marker_when_asked_then_it_is_ready_and_keeps_the_connection(
    connection: http.client.HTTPConnection,
) -> None:
    assert _get(connection, "/readyz") == (200, None)
    assert _get(connection, "/") == (200, None)


def test_given_the_marker_when_asked_then_the_probe_gets_503_and_clients_are_served_and_sent_away(
    server: Server,
    connection: http.client.HTTPConnection,
) -> None:
    assert _get(connection, "/") == (200, None)
    server.machine.marker.touch()
    assert _get(connection, "/readyz")[0] == 503
    assert _get(connection, "/") == (200, "close")
    assert server.noted() == ["started", "draining"]


def test_given_the_marker_is_taken_away_when_asked_then_it_is_ready_again(
    server: Server, connection: http.client.HTTPConnection
) -> None:
    server.machine.marker.touch()
    _get(connection, "/readyz")
    server.machine.marker.unlink()
    assert _get(connection, "/readyz")[0] == 200
    assert server.noted() == ["started", "draining", "ready"]


def test_given_a_request_in_flight_when_stopped_then_it_is_answered_and_no_more_are_accepted(
    server: Server, tmp_path: Path
) -> None:
    slow = Machine(tmp_path / "web_1")
    slow.create(server.address, free_port(server.address), work=2)
    assert server.service("start", vm="web_1").returncode == 0
    with contextlib.closing(_connection(slow)) as connection:
        connection.request("GET", "/")
        time.sleep(0.5)  # an answer takes a second at least: by now it is being worked on
        assert server.service("stop", vm="web_1").returncode == 0
        assert connection.getresponse().status == 200
        connection.close()
        with pytest.raises(ConnectionRefusedError):
            connection.connect()


def test_given_a_running_server_when_started_again_then_nothing_changes(server: Server, tmp_path: Path) -> None:
    pid = (tmp_path / "web_0" / "web_server.pid").read_text()
    assert server.service("start").returncode == 0
    assert (tmp_path / "web_0" / "web_server.pid").read_text() == pid
    assert server.noted() == ["started"]


def test_given_a_killed_server_when_started_then_it_serves_again(
    server: Server, connection: http.client.HTTPConnection
) -> None:
    server.machine.kill()
    assert not server.machine.running()
    assert server.service("start").returncode == 0
    assert _get(connection, "/readyz")[0] == 200
    assert server.noted() == ["started", "killed", "started"]


def test_given_a_server_when_its_status_is_asked_then_the_exit_status_is_that_of_systemctl(server: Server) -> None:
    assert server.service("status").returncode == 0
    assert server.service("stop").returncode == 0
    assert server.service("status").returncode == 3


def test_given_a_frozen_server_when_stopped_then_the_failure_names_machine_and_limit(server: Server) -> None:
    server.machine.freeze()
    result = server.service("stop", "--timeout", "0.3")
    assert result.returncode == 1
    assert result.stderr == "web_0: the web server did not stop within 0.3 s\n"


def test_given_a_frozen_server_when_thawed_then_the_waiting_request_is_answered(
    server: Server, connection: http.client.HTTPConnection, wait_for: WaitFor
) -> None:
    server.machine.freeze()
    connection.request("GET", "/readyz")
    server.machine.thaw()
    assert connection.getresponse().status == 200
    wait_for(lambda: server.noted() == ["started", "frozen", "thawed"])


def test_given_the_port_is_taken_when_started_then_the_error_shows_what_the_server_said(
    server: Server, tmp_path: Path
) -> None:
    Machine(tmp_path / "web_1").create(server.address, server.port)
    result = server.service("start", vm="web_1")
    assert result.returncode == 1
    assert result.stderr.startswith("web_1: the web server ended while starting: ")
    assert "address already in use" in result.stderr


def test_given_no_such_machine_when_told_to_start_then_the_error_names_it(server: Server, tmp_path: Path) -> None:
    result = server.service("start", vm="web_7")
    assert result.returncode == 2
    assert f"there is no machine 'web_7' in {tmp_path}" in result.stderr


def test_given_its_machine_is_removed_when_time_passes_then_the_server_ends(
    connection: http.client.HTTPConnection, tmp_path: Path, wait_for: WaitFor
) -> None:
    (tmp_path / "web_0" / "web_server.pid").rename(tmp_path / "elsewhere")

    def refused() -> bool:
        connection.close()
        try:
            connection.connect()
        except ConnectionRefusedError:
            return True
        return False

    wait_for(refused)
