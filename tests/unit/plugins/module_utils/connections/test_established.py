# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many are still connected?"""

import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Generator, List, Tuple

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.connections import established
from ansible_collections.foghorn.azure_events.plugins.module_utils.connections.established import (
    count_established,
    problem_with_containers,
)


def count(*arguments: Any, **options: Any) -> int:
    """All that are established."""
    return sum(count_established(*arguments, **{"tracked_count": "/nowhere", **options}).values())


HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ESTABLISHED = "01"
CLOSE_WAIT = "08"
LISTEN = "0A"


def words(packed: bytes) -> str:
    """Write an address as the kernel does: 32-bit words in the byte order of the machine."""
    parts = [packed[start : start + 4] for start in range(0, len(packed), 4)]
    return "".join("%08X" % int.from_bytes(part, sys.byteorder) for part in parts)


def line(local_port: int, remote: str, state: str = ESTABLISHED, local: str = "") -> str:
    family = socket.AF_INET6 if ":" in remote else socket.AF_INET
    address = words(socket.inet_pton(family, remote))
    return "   0: %s:%04X %s:C350 %s 00000000:00000000 00:00000000 00000000     0        0 1 1 00 20 4\n" % (
        words(socket.inet_pton(family, local)) if local else "0" * len(address),
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
    assert count([80], proc=str(proc)) == 0


def test_given_connections_in_both_tables_when_counted_then_all_of_the_ports_count(proc: Path) -> None:
    add(proc, "tcp", line(80, "10.0.0.1"), line(443, "10.0.0.1"), line(8080, "10.0.0.1"))
    add(proc, "tcp6", line(80, "2001:db8::1"))
    assert count([80, 443], proc=str(proc)) == 3


def test_given_connections_in_other_states_when_counted_then_only_the_established_count(proc: Path) -> None:
    add(proc, "tcp", line(80, "0.0.0.0", LISTEN), line(80, "10.0.0.1", CLOSE_WAIT), line(80, "10.0.0.1"))
    assert count([80], proc=str(proc)) == 1


def test_given_a_port_that_is_another_ones_prefix_when_counted_then_only_its_own_count(proc: Path) -> None:
    add(proc, "tcp", line(8080, "10.0.0.1"))
    assert count([80], proc=str(proc)) == 0


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
    assert count([80], [ignored], str(proc)) == int(counts)


def test_given_several_networks_when_counted_then_each_is_ignored(proc: Path) -> None:
    add(proc, "tcp", line(80, "10.0.0.1"), line(80, "192.0.2.1"), line(80, "203.0.113.1"))
    assert count([80], ["10.0.0.0/8", "192.0.2.0/24"], str(proc)) == 1


@pytest.mark.parametrize(
    ("addresses", "counted"),
    [
        ([], {80: 2, 443: 1}),
        (["0.0.0.0", "::"], {80: 2, 443: 1}),
        (["0.0.0.0"], {80: 1, 443: 1}),
        (["10.0.0.4"], {80: 1}),
        (["10.0.0.0/24", "2001:db8::4"], {80: 2}),
    ],
)
def test_given_addresses_of_the_machine_when_counted_then_connections_to_others_do_not_count(
    proc: Path, addresses: List[str], counted: Dict[int, int]
) -> None:
    add(proc, "tcp", line(80, "192.0.2.1", local="10.0.0.4"), line(443, "192.0.2.1", local="10.9.0.4"))
    add(proc, "tcp6", line(80, "2001:db8::1", local="2001:db8::4"))
    assert count_established([80, 443], proc=str(proc), addresses=addresses) == counted


def test_given_something_that_is_no_network_when_counted_then_it_is_named(proc: Path) -> None:
    with pytest.raises(ValueError, match="999"):
        count([80], ["10.0.0.999"], str(proc))


def test_given_a_kernel_without_ipv6_when_counted_then_ipv4_alone_counts(proc: Path) -> None:
    add(proc, "tcp", line(80, "10.0.0.1"))
    (proc / "tcp6").unlink()
    assert count([80], proc=str(proc)) == 1


def test_given_no_table_when_counted_then_it_is_an_error_and_not_zero(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="tcp"):
        count([80], proc=str(tmp_path))


@pytest.mark.parametrize("rubbish", ["rubbish\n", "0: 00:zz 00:00 01 rest\n"])
def test_given_a_table_of_another_form_when_counted_then_it_is_an_error_and_not_zero(proc: Path, rubbish: str) -> None:
    add(proc, "tcp", rubbish)
    with pytest.raises(ValueError, match=r"not a connection|invalid literal"):
        count([80], proc=str(proc))


def test_given_a_table_that_is_empty_when_counted_then_there_are_none(proc: Path) -> None:
    (proc / "tcp").write_text("")
    assert count([80], proc=str(proc)) == 0


# --- what is passed on to containers -----------------------------------------------------------------

# As Linux 6 wrote them, of a machine 10.0.0.4 and 2001:db8::4 that passes port 443 on to 172.17.0.2:8443 and fd17::2.
TREE = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.0.0.0/24 2 0 2
        +-- 10.0.0.0/29 2 0 2
           |-- 10.0.0.0
              /24 link UNICAST
           |-- 10.0.0.4
              /32 host LOCAL
        |-- 10.0.0.255
           /32 link BROADCAST
"""
ADDRESSES = """00000000000000000000000000000001 01 80 10 80       lo
20010db8000000000000000000000004 06 40 00 82     eth0
"""
TO_CONTAINER = (
    "ipv4     2 tcp      6 431997 ESTABLISHED src=10.0.0.9 dst=10.0.0.4 sport=39964 dport=443 src=172.17.0.2 "
    "dst=10.0.0.9 sport=8443 dport=39964 [ASSURED] mark=0 zone=0 use=2\n"
)
TO_CONTAINER_BY_IPV6 = (
    "ipv6     10 tcp      6 431998 ESTABLISHED src=2001:0db8:0000:0000:0000:0000:0000:0009 "
    "dst=2001:0db8:0000:0000:0000:0000:0000:0004 sport=40630 dport=443 src=fd17:0000:0000:0000:0000:0000:0000:0002 "
    "dst=2001:0db8:0000:0000:0000:0000:0000:0009 sport=8443 dport=40630 [ASSURED] mark=0 zone=0 use=2\n"
)


@pytest.fixture
def tracked(proc: Path) -> Path:
    (proc / "fib_trie").write_text(TREE)
    (proc / "if_inet6").write_text(ADDRESSES)
    (proc / "nf_conntrack").write_text("")
    return proc


def test_given_connections_to_containers_when_counted_then_they_count_by_the_port_that_they_came_to(
    tracked: Path,
) -> None:
    add(tracked, "nf_conntrack", TO_CONTAINER, TO_CONTAINER, TO_CONTAINER_BY_IPV6)
    add(tracked, "tcp", line(443, "10.0.0.1"))
    assert count([443], proc=str(tracked)) == 4
    assert count([8443], proc=str(tracked)) == 0
    assert count([443], ["10.0.0.9", "2001:db8::/32"], str(tracked)) == 1


def test_given_counters_in_the_list_when_counted_then_they_do_not_matter(tracked: Path) -> None:
    counted = TO_CONTAINER.replace("dport=443 ", "dport=443 packets=5 bytes=4711 ")
    add(
        tracked, "nf_conntrack", counted.replace("sport=8443 dport=39964 ", "sport=8443 dport=39964 packets=4 bytes=9 ")
    )
    assert count([443], proc=str(tracked)) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A socket of this machine's own: it is in the other tables.
        ("src=172.17.0.2 dst=10.0.0.9 sport=8443", "src=10.0.0.4 dst=10.0.0.9 sport=443"),
        # Over, or not yet begun.
        ("ESTABLISHED", "TIME_WAIT"),
        ("ESTABLISHED", "SYN_SENT"),
        # Of a container that asks a service of its cluster: it came to no address of this machine.
        ("dst=10.0.0.4", "dst=10.96.0.1"),
        # Another port, whose number begins with the same digits.
        ("dport=443", "dport=4430"),
    ],
)
def test_given_another_connection_when_counted_then_it_is_none_to_a_container(
    tracked: Path, before: str, after: str
) -> None:
    assert before in TO_CONTAINER
    add(tracked, "nf_conntrack", TO_CONTAINER.replace(before, after))
    assert count([443], proc=str(tracked)) == 0


def test_given_a_port_that_is_passed_on_to_another_of_this_machine_when_counted_then_it_counts(tracked: Path) -> None:
    add(tracked, "nf_conntrack", TO_CONTAINER.replace("src=172.17.0.2", "src=10.0.0.4"))
    assert count([443], proc=str(tracked)) == 1


@pytest.mark.parametrize("missing", ["fib_trie", "if_inet6"])
def test_given_indistinguishable_addresses_when_counted_then_the_count_is_rather_too_high(
    tracked: Path, missing: str
) -> None:
    (tracked / missing).unlink()
    if missing == "if_inet6":
        (tracked / missing).write_text("no address\n")
    add(tracked, "nf_conntrack", TO_CONTAINER.replace("dst=10.0.0.4", "dst=10.96.0.1"))
    assert count([443], proc=str(tracked)) == 1


def test_given_a_kernel_without_ipv6_when_connections_are_passed_on_then_ipv4_alone_counts(tracked: Path) -> None:
    (tracked / "if_inet6").unlink()
    add(tracked, "nf_conntrack", TO_CONTAINER)
    assert count([443], proc=str(tracked)) == 1


def test_given_a_list_that_can_be_read_or_nothing_tracked_when_asked_then_containers_are_no_problem(
    tracked: Path, tmp_path: Path
) -> None:
    assert problem_with_containers(str(tracked), str(tmp_path / "count")) is None
    (tracked / "nf_conntrack").unlink()
    assert problem_with_containers(str(tracked), str(tmp_path / "count")) is None


# What Linux 6.18 told of such connections by netlink: to a container, one that is over, to a socket of the machine's
# own, by IPv6; and that this is all.
TOLD = bytes.fromhex(
    "f00000000001020001000000d8760000020000003400018014000180080001000a000009080002000a0000041c00028005000100"
    "06000000060002009c1c00000600030001bb0000340002801400018008000100ac110002080002000a0000091c00028005000100"
    "060000000600020020fb0000060003009c1c000008000300000001ae080008000000000008000c00b4946c5508000b0000000001"
    "080007000000018f300004802c000180050001000300000005000200000000000500030000000000060004000000000006000500"
    "000000001c001880080001000000000008000200000000000800030000000000"
)
TOLD_OVER = bytes.fromhex(
    "f00000000001020001000000d8760000020000003400018014000180080001000a000009080002000a0000041c00028005000100"
    "06000000060002009c1e00000600030001bb0000340002801400018008000100ac110002080002000a0000091c00028005000100"
    "060000000600020020fb0000060003009c1e000008000300000001ae080008000000000008000c00cb2a64a808000b0000000001"
    "080007000000018f300004802c000180050001000700000005000200000000000500030000000000060004000000000006000500"
    "000000001c001880080001000000000008000200000000000800030000000000"
)
TOLD_OWN = bytes.fromhex(
    "f00000000001020001000000d8760000020000003400018014000180080001000a000009080002000a0000041c00028005000100"
    "06000000060002009c1f00000600030001bb00003400028014000180080001000a000004080002000a0000091c00028005000100"
    "060000000600020001bb0000060003009c1f0000080003000000000e080008000000000008000c00e34a343608000b0000000001"
    "080007000000018f300004802c000180050001000300000005000200000000000500030000000000060004000000000006000500"
    "000000001c001880080001000000000008000200000000000800030000000000"
)
TOLD_BY_IPV6 = bytes.fromhex(
    "200100000001020001000000d87600000a0000004c0001802c0001801400030020010db800000000000000000000000914000400"
    "20010db80000000000000000000000041c0002800500010006000000060002009eb600000600030001bb00004c0002802c000180"
    "14000300fd1700000000000000000000000000021400040020010db80000000000000000000000091c0002800500010006000000"
    "0600020020fb0000060003009eb6000008000300000001ae080008000000000008000c00509ab61208000b000000000108000700"
    "0000018f300004802c00018005000100030000000500020000000000050003000000000006000400000000000600050000000000"
    "1c001880080001000000000008000200000000000800030000000000"
)
TOLD_ALL = bytes.fromhex("140000000300020001000000d876000000000000")
REFUSED = struct.pack("=IHHIIi", 20, 2, 0, 1, 0, -1)


@pytest.fixture
def unlisted(tracked: Path, monkeypatch: pytest.MonkeyPatch) -> Tuple[Path, List[bytes]]:
    """The files of a kernel that tracks connections and does not list them, and what it tells when it is asked."""
    (tracked / "nf_conntrack").unlink()
    (tracked / "count").write_text("7\n")
    told: List[bytes] = []

    class Kernel:
        def __init__(self, *_kind: int) -> None:
            self.left = list(told)

        def __enter__(self) -> "Kernel":
            return self

        def __exit__(self, *_reason: Any) -> None:
            pass

        def settimeout(self, _seconds: float) -> None:
            pass

        def send(self, _question: bytes) -> None:
            pass

        def recv(self, _size: int) -> bytes:
            return self.left.pop(0)

    monkeypatch.setattr(socket, "socket", Kernel)
    return tracked, told


@pytest.mark.skipif(sys.byteorder == "big", reason="it was recorded on another machine")
def test_given_a_kernel_that_lists_no_tracked_connections_when_counted_then_it_is_asked(
    unlisted: Tuple[Path, List[bytes]],
) -> None:
    proc, told = unlisted
    told += [TOLD + TOLD_OVER, TOLD_OWN + TOLD_BY_IPV6 + TOLD, TOLD_ALL]
    files = {"proc": str(proc), "tracked_count": str(proc / "count")}
    assert problem_with_containers(**files) is None
    assert count([443], **files) == 3
    assert count([8443], **files) == 0
    assert count([443], ["10.0.0.9"], **files) == 1
    assert count([443], addresses=["10.0.0.4"], **files) == 2
    assert count([443], proc=str(proc), tracked_count=str(proc / "no count")) == 0


def test_given_connections_that_are_tracked_and_not_told_when_asked_then_that_is_reported(
    unlisted: Tuple[Path, List[bytes]],
) -> None:
    proc, told = unlisted
    told.append(REFUSED)
    files = {"proc": str(proc), "tracked_count": str(proc / "count")}
    assert count([443], **files) == 0
    said = problem_with_containers(**files)
    assert said == "%s/nf_conntrack does not exist, and the kernel does not tell: %s" % (proc, os.strerror(1))
    (proc / "nf_conntrack").mkdir()
    said = problem_with_containers(**files)
    assert said == "%s/nf_conntrack cannot be read: Is a directory" % proc


# --- the real thing ----------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/proc/sys/net/netfilter/nf_conntrack_count"), reason="nothing is tracked here")
def test_given_a_network_without_connections_when_this_kernel_is_asked_then_it_tells_of_none() -> None:
    unshare = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-c"]
    if subprocess.run([*unshare, ""], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("no network namespaces here")
    ask = "import sys; sys.path.insert(0, %r); import established; print(list(established._asked()))"
    said = subprocess.run(
        [*unshare, ask % os.path.dirname(established.__file__)], stdout=subprocess.PIPE, timeout=60, check=True
    )
    assert said.stdout == b"[]\n"


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
    assert count([port]) == 1
    assert count([port], ["127.0.0.0/8", "::1"]) == 0
    client.close()
    server.close()
    assert count([port]) == 0
