# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The loopback guard: what it lets through, what it refuses, and that a refusal fails the test wherever it happens.

192.0.2.1 and 2001:db8::1 are addresses for documentation, which nobody has.
"""

import asyncio
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import loopback_guard
import pytest

TESTS = Path(__file__).resolve().parent.parent
OUTSIDE = "192.0.2.1"

TakeRefusals = Callable[[], list[str]]


@pytest.fixture
def tcp_server() -> Any:
    """A listener on 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def test_given_a_loopback_server_when_connected_then_the_guard_lets_through(tcp_server: socket.socket) -> None:
    with socket.create_connection(tcp_server.getsockname(), timeout=10) as connection:
        assert connection.getpeername() == tcp_server.getsockname()


def test_given_a_server_anywhere_in_127_slash_8_when_connected_then_the_guard_lets_through() -> None:
    with socket.create_server(("127.1.2.3", 0)) as listener, socket.socket() as client:
        assert client.connect_ex(listener.getsockname()) == 0


def test_given_the_name_localhost_when_connected_then_the_guard_lets_through(tcp_server: socket.socket) -> None:
    port = tcp_server.getsockname()[1]
    with socket.create_connection(("localhost", port), timeout=10) as connection:
        assert connection.getpeername()[1] == port


@pytest.mark.skipif(not socket.has_ipv6, reason="this Python has no IPv6")
def test_given_the_ipv6_loopback_when_connected_then_the_guard_lets_through() -> None:
    with socket.socket(socket.AF_INET6) as client, pytest.raises(OSError, match=r"."):
        # Nothing listens there, which only a system that was asked can say.
        client.connect(("::1", 1))


def test_given_a_unix_socket_when_connected_then_the_guard_lets_through(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(path)
        listener.listen()
        client.connect(path)
        assert client.getpeername() == path


def test_given_datagrams_to_loopback_when_sent_by_any_call_then_the_guard_lets_through() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as receiver, socket.socket(type=socket.SOCK_DGRAM) as sender:
        receiver.bind(("127.0.0.1", 0))
        address = receiver.getsockname()
        sender.sendto(b"1", address)
        sender.sendto(b"2", 0, address)
        sender.sendmsg([b"3"], [], 0, address)
        sender.connect(address)
        sender.sendmsg([b"4"])
        receiver.settimeout(10)
        assert [receiver.recv(1) for _expected in range(4)] == [b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(lambda s: s.connect((OUTSIDE, 80)), id="connect"),
        pytest.param(lambda s: s.connect_ex((OUTSIDE, 80)), id="connect_ex"),
        pytest.param(lambda s: s.connect(("imds.example.org", 80)), id="connect to a name"),
        pytest.param(lambda s: s.connect(("169.254.169.254", 80)), id="the metadata service"),
        pytest.param(lambda s: s.connect(("127.0.0.1.example.org", 80)), id="a name that looks like loopback"),
        pytest.param(lambda s: s.connect(("0.0.0.0", 80)), id="the unspecified address"),
        pytest.param(lambda s: s.sendto(b"", (OUTSIDE, 53)), id="sendto"),
        pytest.param(lambda s: s.sendto(b"", 0, (OUTSIDE, 53)), id="sendto with flags"),
        pytest.param(lambda s: s.sendmsg([b""], [], 0, (OUTSIDE, 53)), id="sendmsg"),
    ],
)
def test_given_an_address_outside_when_anything_is_sent_there_then_it_is_refused(
    attempt: Callable[[socket.socket], None], take_refusals: TakeRefusals
) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as client, pytest.raises(loopback_guard.NonLoopbackError):
        attempt(client)
    assert len(take_refusals()) == 1


@pytest.mark.parametrize("address", ["2001:db8::1", "::", "::ffff:192.0.2.1"])
def test_given_an_ipv6_address_outside_when_connected_then_it_is_refused(
    address: str, take_refusals: TakeRefusals
) -> None:
    with socket.socket(socket.AF_INET6) as client, pytest.raises(loopback_guard.NonLoopbackError):
        client.connect((address, 80))
    assert len(take_refusals()) == 1


@pytest.mark.parametrize(
    "lookup",
    [
        pytest.param(lambda: socket.getaddrinfo("imds.example.org", 80), id="getaddrinfo"),
        pytest.param(lambda: socket.gethostbyname("imds.example.org"), id="gethostbyname"),
        pytest.param(lambda: socket.gethostbyname_ex("imds.example.org"), id="gethostbyname_ex"),
        pytest.param(lambda: socket.gethostbyaddr(OUTSIDE), id="gethostbyaddr"),
        pytest.param(lambda: socket.getnameinfo((OUTSIDE, 80), 0), id="getnameinfo"),
        pytest.param(lambda: socket.getfqdn(OUTSIDE), id="getfqdn"),
    ],
)
def test_given_a_name_or_address_outside_when_looked_up_then_it_is_refused(
    lookup: Callable[[], object], take_refusals: TakeRefusals
) -> None:
    with pytest.raises(loopback_guard.NonLoopbackError):
        lookup()
    assert len(take_refusals()) == 1


@pytest.mark.parametrize("host", [None, "localhost", "127.0.0.1", "::1", OUTSIDE, b"127.0.0.1"])
def test_given_what_no_name_server_is_asked_for_when_looked_up_then_the_guard_lets_through(host: Any) -> None:
    assert socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)


def test_given_an_asyncio_connection_when_it_goes_outside_then_it_is_refused(take_refusals: TakeRefusals) -> None:
    with pytest.raises(loopback_guard.NonLoopbackError):
        asyncio.run(asyncio.wait_for(asyncio.open_connection(OUTSIDE, 80), 30))
    assert len(take_refusals()) == 1


def test_given_an_aiohttp_request_when_it_goes_outside_then_it_is_refused(take_refusals: TakeRefusals) -> None:
    async def request() -> None:
        async with aiohttp.ClientSession() as session, session.get(f"http://{OUTSIDE}/"):
            pass

    with pytest.raises(loopback_guard.NonLoopbackError):
        asyncio.run(asyncio.wait_for(request(), 30))
    assert len(take_refusals()) == 1


def test_given_a_child_process_when_it_goes_outside_then_it_is_refused(take_refusals: TakeRefusals) -> None:
    script = f"import urllib.request; urllib.request.urlopen('http://{OUTSIDE}/')"
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert "NonLoopbackError" in child.stderr
    assert take_refusals() == [f"the loopback guard refused '{OUTSIDE}' port 80 to -c"]


def test_given_a_sitecustomize_of_the_machine_when_the_guard_stands_before_it_then_both_run(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.machine_was_customized = True\n", encoding="utf-8")
    script = "import socket, sys; print(sys.machine_was_customized, hasattr(socket.socket.connect, '__wrapped__'))"
    environment = {"PYTHONPATH": f"{TESTS / 'guard'}:{tmp_path}"}
    child = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert child.stdout == "True True\n"


def test_given_a_playbook_when_a_module_goes_outside_then_it_is_refused_and_nothing_sent(
    tmp_path: Path, take_refusals: TakeRefusals
) -> None:
    playbook = tmp_path / "playbook.yml"
    playbook.write_text(
        textwrap.dedent(f"""\
            - hosts: localhost
              connection: local
              gather_facts: false
              tasks:
                - ansible.builtin.uri:
                    url: http://{OUTSIDE}/
                    timeout: 60
            """),
        encoding="utf-8",
    )
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,", str(playbook)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode != 0
    assert "the loopback guard refused" in run.stdout
    assert [line.split(" to ")[0] for line in take_refusals()] == [f"the loopback guard refused '{OUTSIDE}' port 80"]


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        pytest.param("with suppress(Exception):\n        connect()", "1 failed", id="swallowed by the code"),
        pytest.param("run([executable, '-c', CHILD])", "1 failed", id="in a child whose failure nobody reads"),
        pytest.param("assert True", "1 passed", id="nothing refused"),
    ],
)
def test_given_a_refusal_when_the_test_ends_well_anyway_then_it_is_failed(
    body: str, ending: str, tmp_path: Path
) -> None:
    source = f"""\
import socket
from contextlib import suppress
from subprocess import run
from sys import executable

CHILD = "import socket; socket.socket().connect(('{OUTSIDE}', 80))"

def connect():
    socket.create_connection(("{OUTSIDE}", 80))

def test_inner():
    {body}
"""
    (tmp_path / "test_inner.py").write_text(source, encoding="utf-8")
    inner = _run_pytest(tmp_path)
    assert f"{ending} in" in inner.stdout
    assert (inner.returncode == 0) == (ending == "1 passed")


def test_given_a_refusal_after_the_last_test_when_the_run_ends_then_it_is_failed(tmp_path: Path) -> None:
    source = f"""\
import atexit, socket, pytest

@pytest.fixture(scope="session", autouse=True)
def late(request):
    plugin = request.config.pluginmanager
    class Late:
        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(self):
            try:
                socket.create_connection(("{OUTSIDE}", 80))
            except RuntimeError:
                pass
    plugin.register(Late())

def test_inner():
    pass
"""
    (tmp_path / "test_inner.py").write_text(source, encoding="utf-8")
    inner = _run_pytest(tmp_path)
    assert f"the loopback guard refused '{OUTSIDE}' port 80" in inner.stdout
    assert inner.returncode == pytest.ExitCode.TESTS_FAILED


def _run_pytest(directory: Path) -> "subprocess.CompletedProcess[str]":
    """Run pytest on the directory, with the conftest of our own tests."""
    (directory / "conftest.py").symlink_to(TESTS / "conftest.py")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(directory),
        str(directory),
    ]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120, check=False)
