# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers of a real HAProxy are taken out under traffic and restored, and no request is lost."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.operations import (
    Outcome,
    UnknownServer,
    carry_out,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.options import read_address, read_order
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.runtime_api import (
    Refused,
    RuntimeApi,
    Unreachable,
)

from .conftest import PATIENCE, Download, Haproxy, until

Run = Callable[..., Outcome]


@pytest.fixture(name="run")
def fixture_run(haproxy: Haproxy) -> Run:
    def run(address: str = "", timeout: float = PATIENCE, dry_run: bool = False, **options: Any) -> Outcome:
        api = RuntimeApi(read_address("socket", address or haproxy.socket), timeout)
        master = RuntimeApi(read_address("master_socket", haproxy.master_socket), timeout, is_master=True)
        return carry_out(api, master, read_order({"deadline": PATIENCE, **options}), dry_run)

    return run


class InBackground:
    """Something that waits, while the test goes on."""

    def __init__(self, run: Run, **options: Any) -> None:
        self._outcome: list[Outcome] = []
        self._thread = threading.Thread(target=lambda: self._outcome.append(run(**options)))
        self._thread.start()

    @property
    def is_waiting(self) -> bool:
        return self._thread.is_alive()

    def outcome(self) -> Outcome:
        self._thread.join(PATIENCE)
        return self._outcome[0]


def given_removal_during_a_download(haproxy: Haproxy, run: Run, state: str) -> tuple[Download, InBackground]:
    """Let web_0 serve something long, and begin to take it out."""
    run(server="web_1", backend=["web"], state="drain")
    download = haproxy.download_from(haproxy.web[0], haproxy.web_port)
    run(server="web_1", backend=["web"], state="ready")
    removal = InBackground(run, server="web_0", backend=["web"], state=state, wait=True)
    until(lambda: haproxy.admin_states()["web/web_0"] == 8, "it is drained")
    return download, removal


@pytest.fixture(name="agent")
def fixture_agent(haproxy: Haproxy) -> Iterator[None]:
    """An agent that answers every check with `ready`."""
    listener = socket.create_server(("127.0.0.1", haproxy.agent_port))

    def answer() -> None:
        while True:
            try:
                connection, _address = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"ready\n")

    thread = threading.Thread(target=answer)
    thread.start()
    yield
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_given_keep_alive_when_a_server_is_drained_and_restored_then_its_client_never_notices(
    haproxy: Haproxy, run: Run, transport: str
) -> None:
    address = haproxy.tcp if transport == "tcp" else haproxy.socket
    client = http.client.HTTPConnection("127.0.0.1", haproxy.web_port, timeout=PATIENCE)

    def ask() -> str:
        client.request("GET", "/")
        return client.getresponse().read().decode()

    assert {ask() for _number in range(4)} == {"web_0", "web_1"}

    removed = run(address, server="web_0", backend=["web"], state="drain", wait=True)
    assert removed.failure is None
    # Its connection is idle, not gone: what it asks next goes elsewhere.
    assert {ask() for _number in range(8)} == {"web_1"}
    assert run(address, server="web_0", backend=["web"], state="drain", wait=True).changed is False

    run(address, restore=[dict(record._asdict()) for record in removed.before])
    until(lambda: {ask() for _number in range(4)} == {"web_0", "web_1"}, "both serve")
    client.close()


def test_given_a_long_download_when_its_server_is_drained_then_it_is_waited_for_and_complete(
    haproxy: Haproxy, run: Run
) -> None:
    download, removal = given_removal_during_a_download(haproxy, run, "maintenance")
    assert {haproxy.get() for _number in range(4)} == {"web_1"}
    assert removal.is_waiting

    haproxy.web[0].released.set()
    assert removal.outcome().failure is None
    assert download.finish() == b"halfhalf"
    assert haproxy.admin_states()["web/web_0"] == 1


def test_given_a_reload_in_the_middle_when_a_download_continues_then_it_is_drained_again_and_the_download_waited_for(
    haproxy: Haproxy, run: Run
) -> None:
    download, removal = given_removal_during_a_download(haproxy, run, "drain")
    haproxy.reload()
    until(lambda: haproxy.admin_states()["web/web_0"] == 8, "it is drained again")
    assert removal.is_waiting

    haproxy.web[0].released.set()
    outcome = removal.outcome()
    assert (outcome.failure, outcome.reloads, outcome.set_again) == (None, 1, 1)
    assert download.finish() == b"halfhalf"


def test_given_a_request_in_the_servers_queue_when_it_is_drained_then_it_is_waited_for_as_well(
    haproxy: Haproxy, run: Run
) -> None:
    web_0 = haproxy.web[0]
    first = haproxy.download_from(web_0, haproxy.api_port)
    other = haproxy.download_queued(haproxy.api_port)

    (seen,) = run(server="web_0", backend=["api"]).servers
    assert (seen.sessions, seen.queued) == (1, 1)

    outcome = run(server="web_0", backend=["api"], state="drain", wait=True, deadline=1)
    assert "1 sessions" in str(outcome.failure)
    web_0.released.set()
    assert run(server="web_0", backend=["api"], state="drain", wait=True).failure is None
    assert first.finish() == b"halfhalf"
    other.finish()


def test_given_a_download_without_end_when_the_deadline_comes_then_its_session_is_ended(
    haproxy: Haproxy, run: Run
) -> None:
    web_0 = haproxy.web[0]
    download = haproxy.download_from(web_0, haproxy.api_port)

    outcome = run(server="web_0", backend=["api"], state="maintenance", wait=True, deadline=1, shutdown_sessions=True)

    assert (outcome.failure, outcome.sessions_shut_down) == (None, 1)
    assert download.finish() != b"halfhalf"


def test_given_every_backend_when_it_is_taken_out_and_restored_then_all_is_as_it_was(
    haproxy: Haproxy, run: Run
) -> None:
    haproxy.ask("set server web/web_0 weight 30")
    haproxy.ask("set server asked/web_0 state drain")
    found = haproxy.admin_states()

    removed = run(server="web_0", state="maintenance")
    assert {record.backend for record in removed.before} == {"web", "api", "asked"}
    # A static algorithm takes no weights but none and the configured one.
    haproxy.ask("set server api/web_0 weight 0")
    haproxy.ask("set server web/web_0 weight 60")
    restored = run(restore=[dict(record._asdict()) for record in removed.before])

    assert restored.failure is None
    assert haproxy.admin_states() == found
    assert haproxy.ask("get weight web/web_0") == "30 (initial 100)\n\n"
    assert haproxy.ask("get weight api/web_0") == "1 (initial 1)\n\n"


def test_given_a_server_that_is_disabled_when_it_is_set_to_ready_and_restored_then_it_is_in_maintenance_again(
    haproxy: Haproxy, run: Run
) -> None:
    taken_in = run(server="spare", state="ready")
    assert haproxy.admin_states()["api/spare"] == 4
    assert run(server="spare", state="ready").changed is False

    run(restore=[dict(record._asdict()) for record in taken_in.before])
    assert haproxy.admin_states()["api/spare"] == 5


def test_given_a_server_that_tracks_a_drained_one_when_it_is_read_then_the_inherited_state_is_shown(
    run: Run,
) -> None:
    run(server="leader", state="drain")

    outcome = run(server="follower", state="ready")

    assert outcome.changed is False
    assert [(seen.found.state, seen.found.effective_state) for seen in outcome.servers] == [("ready", "drain")]
    assert "tracks another server" in outcome.warnings[0]


def test_given_a_server_that_is_down_when_it_is_drained_then_nothing_is_waited_for(haproxy: Haproxy, run: Run) -> None:
    until(lambda: run(server="nobody").servers[0].found.operational_state == 0, "its check has failed")

    outcome = run(server="nobody", state="drain", wait=True)

    assert (outcome.failure, haproxy.admin_states()["dead/nobody"]) == (None, 8)


@pytest.mark.usefixtures("agent")
def test_given_an_agent_that_says_ready_when_a_server_is_drained_then_a_warning_says_that_it_resets_the_state(
    haproxy: Haproxy, run: Run
) -> None:
    download = haproxy.download_from(haproxy.web[0], haproxy.api_port)

    outcome = run(server="web_0", backend=["asked", "api"], state="drain", wait=True, deadline=3)

    assert outcome.set_again > 0
    assert "the agent check of asked/web_0 answered `ready`" in outcome.warnings[0]
    haproxy.web[0].released.set()
    download.finish()


@pytest.mark.parametrize("dry_run", [False, True])
def test_given_a_socket_of_level_operator_when_a_server_is_drained_then_it_fails_and_the_error_has_the_remedy(
    haproxy: Haproxy, run: Run, dry_run: bool
) -> None:
    with pytest.raises(Refused, match=r"Permission denied.*`level admin`"):
        run(haproxy.operator_socket, server="web_0", state="drain", dry_run=dry_run)

    assert haproxy.admin_states()["web/web_0"] == 0


def test_given_an_unknown_server_when_it_is_drained_then_the_existing_ones_are_named(run: Run) -> None:
    with pytest.raises(UnknownServer, match="It has web_1, web_0, follower, leader, nobody, spare"):
        run(server="web_2", state="drain")


def test_given_the_masters_socket_by_mistake_when_it_is_asked_then_the_error_asks_to_check_the_socket(
    haproxy: Haproxy, run: Run
) -> None:
    with pytest.raises(Unreachable, match="not a `stats socket` of HAProxy"):
        run(haproxy.master_socket, timeout=1, server="web_0")
