# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many are still connected?"""

import socket
import sys
from pathlib import Path
from typing import Generator, List, Tuple

import pytest
from foghorn_agent.connections import count_established

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ESTABLISHED = "01"
CLOSE_WAIT = "08"
LISTEN = "0A"


def words(packed: bytes) -> str:
    """Write an address as the kernel does: 32-bit words in the byte order of the machine."""
    parts = [packed[start : start + 4] for start in range(0, len(packed), 4)]
    return "".join("%08X" % int.from_bytes(part, sys.byteorder) for part in parts)


def line(local_port: int, remote: str, state: str = ESTABLISHED) -> str:
    family = socket.AF_INET6 if ":" in remote else socket.AF_INET
    address = words(socket.inet_pton(family, remote))
    return "   0: %s:%04X %s:C350 %s 00000000:00000000 00:00000000 00000000     0        0 1 1 00 20 4\n" % (
        "0" * len(address),
        local_port,
        address,
        state,
    )


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "tcp").write_text(HEADER)
    (tmp_path / "tcp6").write_text(HEADER)
    return tmp_path


def add(proc: Path, table: str, *lines: str) -> None:
    with (proc / table).open("a") as file:
        file.writelines(lines)


def test_given_no_connections_when_counted_then_there_are_none(proc: Path) -> None:
    assert count_established([80], proc=str(proc)) == 0


def test_given_connections_in_both_tables_when_counted_then_all_of_the_ports_count(proc: Path) -> None:
    add(proc, "tcp", line(80, "10.0.0.1"), line(443, "10.0.0.1"), line(8080, "10.0.0.1"))
    add(proc, "tcp6", line(80, "2001:db8::1"))
    assert count_established([80, 443], proc=str(proc)) == 3


def test_given_connections_in_other_states_when_counted_then_only_the_established_count(proc: Path) -> None:
    add(proc, "tcp", line(80, "0.0.0.0", LISTEN), line(80, "10.0.0.1", CLOSE_WAIT), line(80, "10.0.0.1"))
    assert count_established([80], proc=str(proc)) == 1


def test_given_a_port_that_is_another_ones_prefix_when_counted_then_only_its_own_count(proc: Path) -> None:
    add(proc, "tcp", line(8080, "10.0.0.1"))
    assert count_established([80], proc=str(proc)) == 0


@pytest.mark.parametrize(
    ("remote", "ignored", "counts"),
    [
        ("168.63.129.16", "168.63.129.16", False),
        ("168.63.129.17", "168.63.129.16", True),
        ("10.1.2.3", "10.0.0.0/8", False),
        ("11.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "10.9.9.9/8", False),
        ("10.1.2.3", "0.0.0.0/0", False),
        ("2001:db8::7", "2001:db8::/32", False),
        ("2001:db9::7", "2001:db8::/32", True),
        ("::ffff:168.63.129.16", "168.63.129.16", False),
        ("2001:db8::7", "0.0.0.0/0", True),
        ("10.1.2.3", "::ffff:0:0/96", False),
        ("127.0.0.1", "168.63.129.16", True),
    ],
)
def test_given_a_network_to_ignore_when_counted_then_connections_from_it_do_not_count(
    proc: Path, remote: str, ignored: str, counts: bool
) -> None:
    add(proc, "tcp6" if ":" in remote else "tcp", line(80, remote))
    assert count_established([80], [ignored], str(proc)) == int(counts)


def test_given_several_networks_when_counted_then_each_is_ignored(proc: Path) -> None:
    add(proc, "tcp", line(80, "10.0.0.1"), line(80, "192.0.2.1"), line(80, "203.0.113.1"))
    assert count_established([80], ["10.0.0.0/8", "192.0.2.0/24"], str(proc)) == 1


def test_given_something_that_is_no_network_when_counted_then_it_is_named(proc: Path) -> None:
    with pytest.raises(ValueError, match="999"):
        count_established([80], ["10.0.0.999"], str(proc))


def test_given_a_kernel_without_ipv6_when_counted_then_ipv4_alone_counts(proc: Path) -> None:
    add(proc, "tcp", line(80, "10.0.0.1"))
    (proc / "tcp6").unlink()
    assert count_established([80], proc=str(proc)) == 1


def test_given_no_table_when_counted_then_it_is_an_error_and_not_zero(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="tcp"):
        count_established([80], proc=str(tmp_path))


@pytest.mark.parametrize("rubbish", ["rubbish\n", "0: 00:zz 00:00 01 rest\n"])
def test_given_a_table_of_another_form_when_counted_then_it_is_an_error_and_not_zero(proc: Path, rubbish: str) -> None:
    add(proc, "tcp", rubbish)
    with pytest.raises(ValueError, match=r"not a connection|invalid literal"):
        count_established([80], proc=str(proc))


def test_given_a_table_that_is_empty_when_counted_then_there_are_none(proc: Path) -> None:
    (proc / "tcp").write_text("")
    assert count_established([80], proc=str(proc)) == 0


@pytest.fixture(params=["127.0.0.1", "::1"])
def pair(request: pytest.FixtureRequest) -> Generator[Tuple[int, socket.socket, socket.socket], None, None]:
    """The port of a real listener, and both ends of one connection to it."""
    sockets: List[socket.socket] = []
    try:
        listener = socket.socket(socket.AF_INET6 if ":" in request.param else socket.AF_INET)
        sockets.append(listener)
        listener.bind((request.param, 0))
        listener.listen(1)
        client = socket.create_connection(listener.getsockname()[:2], 10)
        sockets.append(client)
        server = listener.accept()[0]
        sockets.append(server)
        yield listener.getsockname()[1], client, server
    finally:
        for one in sockets:
            one.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads what Linux tells")
def test_given_a_real_connection_when_counted_then_it_counts_once_and_no_more_when_it_is_closed(
    pair: Tuple[int, socket.socket, socket.socket],
) -> None:
    port, client, server = pair
    assert count_established([port]) == 1
    assert count_established([port], ["127.0.0.0/8", "::1"]) == 0
    client.close()
    server.close()
    assert count_established([port]) == 0
