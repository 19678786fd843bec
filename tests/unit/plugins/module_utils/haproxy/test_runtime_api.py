# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How is HAProxy asked?"""

import os
import socket
import tempfile
import threading
from typing import Any, Iterator, List

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy import runtime_api
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.answers import read_process, read_servers
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.options import TcpAddress, UnixAddress
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.runtime_api import (
    HaproxyError,
    Refused,
    RuntimeApi,
    Unintelligible,
    Unreachable,
)
from ansible_collections.foghorn.azure_events.tests.ports import addresses_of, silent_address
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.haproxy.scripted_haproxy import (
    HANG,
    Answer,
    ScriptedHaproxy,
    Server,
)

PATIENCE = 30  # seconds; for what is not meant to take long


@pytest.fixture(name="directory")
def fixture_directory() -> Iterator[str]:
    """A directory with a short name: those of pytest make paths that are longer than a socket's may be."""
    with tempfile.TemporaryDirectory() as directory:
        yield directory


@pytest.fixture(name="haproxy")
def fixture_haproxy(directory: str) -> Iterator[ScriptedHaproxy]:
    path = os.path.join(directory, "admin.sock")
    with ScriptedHaproxy(path, [Server("web", "web_0")]) as haproxy:
        yield haproxy


def api_of(haproxy: ScriptedHaproxy, timeout: float = PATIENCE) -> RuntimeApi:
    return RuntimeApi(UnixAddress(haproxy.path), timeout, sleep=lambda _seconds: None)


def test_given_an_empty_line_when_something_is_done_then_it_is_done(haproxy: ScriptedHaproxy) -> None:
    api_of(haproxy).do("set server web/web_0 state drain")

    assert haproxy.find("web/web_0").admin_state == 8


@pytest.mark.parametrize("answer", ["No such server.\n", "[3]: No such server.\n", "done\n", "No such server."])
def test_given_anything_but_an_empty_line_when_something_is_done_then_it_was_refused(
    haproxy: ScriptedHaproxy, answer: str
) -> None:
    haproxy.answers["set server web/nope state drain"] = answer

    with pytest.raises(Refused, match=r"refused 'set server web/nope state drain': ") as caught:
        api_of(haproxy).do("set server web/nope state drain")

    assert caught.value.answer == answer.strip()


def test_given_a_socket_that_may_only_read_when_something_is_done_then_the_error_has_the_remedy(
    haproxy: ScriptedHaproxy,
) -> None:
    haproxy.level = "operator"

    with pytest.raises(Refused, match=r"Permission denied.*end its `stats socket` line with `level admin`"):
        api_of(haproxy).do("set server web/web_0 state drain")


@pytest.mark.parametrize(
    "answer", [Answer(b""), Answer(b"Name: HAProxy\nPid: 47"), Answer(b"Name: HAProxy\nPid: 47\n")]
)
def test_given_a_connection_that_ends_too_early_when_it_is_asked_again_then_the_whole_answer_counts(
    haproxy: ScriptedHaproxy, answer: Answer
) -> None:
    broken: List[Any] = [answer, answer]
    haproxy.answers["show info"] = lambda _command: broken.pop() if broken else "Name: HAProxy\nPid: 4711\n"

    assert api_of(haproxy).show("show info", read_process).pid == 4711
    assert len(haproxy.commands) == 3


def test_given_connections_that_always_end_too_early_when_it_is_asked_then_the_error_says_after_what(
    haproxy: ScriptedHaproxy,
) -> None:
    haproxy.answers["show info"] = Answer(b"Name: HAProxy\nPid: 47\n")

    with pytest.raises(Unreachable, match=r"in the middle of its answer, after 'Name: HAProxy\\nPid: 47\\n'"):
        api_of(haproxy).show("show info", read_process)


def test_given_no_answer_when_the_time_is_over_then_the_error_names_command_and_option(
    haproxy: ScriptedHaproxy,
) -> None:
    haproxy.answers["show info"] = HANG

    with pytest.raises(Unreachable, match=r"did not answer 'show info' within 0.2 s.*Otherwise, raise timeout"):
        api_of(haproxy, timeout=0.2).show("show info", read_process)


def test_given_an_answer_in_drops_when_the_time_is_over_then_it_is_not_waited_for(haproxy: ScriptedHaproxy) -> None:
    # Each reading of the clock is a second later: the first drop comes in time, the others do not.
    seconds = iter(range(1000))
    haproxy.answers["show info"] = HANG
    api = RuntimeApi(UnixAddress(haproxy.path), 3, clock=lambda: next(seconds), sleep=lambda _seconds: None)

    with pytest.raises(Unreachable, match=r"within 3 s"):
        api.show("show info", read_process)


def test_given_an_answer_without_end_when_it_is_too_large_then_it_is_refused(
    haproxy: ScriptedHaproxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_api, "LARGEST_ANSWER", 100000)
    haproxy.answers["show servers state"] = Answer(b"1\n# be_id\n" + b"x" * 300000)

    with pytest.raises(Unintelligible, match=r"with more than 100000 bytes"):
        api_of(haproxy).show("show servers state", read_servers)


def test_given_a_large_answer_when_it_is_read_then_nothing_of_it_is_lost(haproxy: ScriptedHaproxy) -> None:
    haproxy.servers = [Server("web", "web_%d" % number) for number in range(300)]

    assert len(api_of(haproxy).show("show servers state", read_servers)) == 300


@pytest.mark.parametrize(
    "answer",
    ["Unknown command, but maybe one of the following ones is a better match:\n  help\n", "HTTP/1.1 400 Bad\n"],
)
def test_given_something_else_than_haproxy_when_it_is_asked_then_the_error_shows_what_it_said(
    haproxy: ScriptedHaproxy, answer: str
) -> None:
    haproxy.answers["show info"] = answer

    with pytest.raises(Unintelligible, match=r"answered '(Unknown command|HTTP/1.1 400).*set socket to"):
        api_of(haproxy).show("show info", read_process)


def test_given_bytes_that_are_no_text_when_it_is_asked_then_it_is_not_understood(haproxy: ScriptedHaproxy) -> None:
    haproxy.answers["show info"] = Answer(b"\xff\xfe\x00\n\n")

    with pytest.raises(Unintelligible):
        api_of(haproxy).show("show info", read_process)


def test_given_a_host_with_an_address_that_does_not_answer_when_it_is_asked_then_the_next_one_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def serve() -> None:
        connection, _address = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b"\n")

    with silent_address() as silent, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        listener.settimeout(PATIENCE)
        found = addresses_of(silent, listener.getsockname())
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_asked: found)
        server = threading.Thread(target=serve, daemon=True)
        server.start()
        RuntimeApi(TcpAddress("balancer.example", 9999), 2.0).do("set server web/web_0 state drain")
        server.join(PATIENCE)


def test_given_no_socket_when_it_is_asked_then_the_error_says_how_haproxy_gets_one() -> None:
    api = RuntimeApi(UnixAddress("/nowhere/admin.sock"), PATIENCE)

    with pytest.raises(Unreachable, match=r"No such file.*`stats socket /nowhere/admin.sock level admin`"):
        api.show("show info", read_process)


def test_given_nobody_behind_a_socket_when_it_is_asked_then_it_was_refused_for_good_after_a_few_attempts() -> None:
    pauses: List[float] = []
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "admin.sock")
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(path)
        with pytest.raises(Unreachable, match=r"Connection refused.*Is HAProxy running"):
            RuntimeApi(UnixAddress(path), PATIENCE, sleep=pauses.append).show("show info", read_process)

    assert pauses == [0.2, 0.5]


def test_given_a_link_that_nobody_else_could_have_placed_when_it_is_asked_then_it_is_followed(
    haproxy: ScriptedHaproxy, directory: str
) -> None:
    link = os.path.join(directory, "link")
    os.symlink("admin.sock", link)

    RuntimeApi(UnixAddress(link), PATIENCE).do("set server web/web_0 state drain")

    assert haproxy.find("web/web_0").admin_state == 8


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_given_a_link_of_haproxys_user_to_another_socket_when_it_is_asked_then_nothing_is_sent_there(
    haproxy: ScriptedHaproxy, directory: str
) -> None:
    theirs = os.path.join(directory, "theirs")
    os.mkdir(theirs)
    os.symlink(haproxy.path, os.path.join(theirs, "admin.sock"))
    os.chown(theirs, 12345, -1)

    with pytest.raises(
        HaproxyError, match=r"was not asked .*could have placed the symbolic link \S*/theirs/admin.sock"
    ):
        RuntimeApi(UnixAddress(os.path.join(theirs, "admin.sock")), PATIENCE).do("set server web/web_0 state drain")
    assert haproxy.commands == []


def test_given_a_file_in_place_of_the_socket_when_it_is_asked_then_the_error_says_so(directory: str) -> None:
    path = os.path.join(directory, "admin.sock")
    with open(path, "w"):
        pass

    with pytest.raises(HaproxyError, match=r"admin\.sock is no socket: find out who put it there"):
        RuntimeApi(UnixAddress(path), PATIENCE).do("set server web/web_0 state drain")
