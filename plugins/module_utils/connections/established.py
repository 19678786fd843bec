# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Counts the connected clients, from the kernel's list of TCP connections."""

import ipaddress
import os
import re
import sys
from typing import Callable, Container, Dict, Iterable, Iterator, List, Optional, Set, Tuple, TypeVar

_Address = TypeVar("_Address")

_ESTABLISHED = b"01"
_MAPPED = 0xFFFF << 32  # ::ffff:0:0/96, where IPv4 addresses lie among those of IPv6
# What a socket is bound to that takes any address: of the whole of IPv4, and of all there are.
_ALL = {"0.0.0.0": "0.0.0.0/0", "::": "::/0"}
_TRACKED = "nf_conntrack"
# This file exists if connections are tracked at all, whether or not the kernel lists them in /proc/net.
_TRACKED_COUNT = "/proc/sys/net/netfilter/nf_conntrack_count"
# The addresses of the original direction and of the reply: they differ if the connection was passed on. Counters
# stand between them if the kernel keeps any.
_PASSED_ON = re.compile(
    rb" tcp .* ESTABLISHED src=(\S+) dst=(\S+) sport=(\d+) dport=(\d+) "
    rb"(?:packets=\d+ bytes=\d+ )?src=(\S+) dst=\S+ sport=(\d+) "
)
_LOCAL = re.compile(rb"\|-- (\S+)\n(?:[ \t]+/[0-9]+ (?!host).*\n)*[ \t]+/32 host LOCAL")


def count_established(
    ports: Container[int],
    ignored: Iterable[str] = (),
    proc: str = "/proc/net",
    addresses: Iterable[str] = (),
) -> Dict[int, int]:
    """Count the established connections to these ports of this machine, those from itself included.

    Those of sockets in this process's own network namespace, and those that the machine passes on to another address or
    port (DNAT), as for a container's published port. What it merely routes does not count: it came to no address of
    its own. Takes about 2 µs for each connection of any state.

    :param ignored: remote addresses and networks, like `168.63.129.16` or `10.0.0.0/8`, that do not count.
        An IPv4 one means its IPv4-mapped IPv6 addresses too
    :param addresses: only connections to these addresses or networks of the machine count; `0.0.0.0` is all of IPv4,
        `::` are all. Empty: to any
    :returns: by port; a port without a connection is missing
    :raises OSError: if the kernel's tables cannot be read
    :raises ValueError: if they have another form than is known, or `ignored` holds no network
    """
    ignored, addresses = list(ignored), list(addresses)
    found = count_rows(_established(proc), ports, ignored, addresses, _address)
    passed_on = [one for one in _passed_on(proc) if one[0] in ports]
    own = _own_addresses(proc) if passed_on else None
    rows = (one for one in passed_on if own is None or one[2] in own)
    for port, count in count_rows(rows, ports, ignored, addresses, lambda number: number).items():
        found[port] = found.get(port, 0) + count
    return found


def count_rows(
    rows: Iterable[Tuple[int, _Address, _Address]],
    ports: Container[int],
    ignored: Iterable[str],
    addresses: Iterable[str],
    number_of: Callable[[_Address], int],
) -> Dict[int, int]:
    """Count connections as `count_established` does, whatever system lists them.

    :param rows: local port, remote and local address of each
    :param number_of: an address as IPv6 counts it. Asked only where it matters
    """
    ranges = [range_of(text) for text in ignored]
    meant = [range_of(_ALL.get(text, text)) for text in addresses]
    found = {}  # type: Dict[int, int]
    for port, remote, local in rows:
        if port not in ports or (ranges and _is_within(number_of(remote), ranges)):
            continue
        if not meant or _is_within(number_of(local), meant):
            found[port] = found.get(port, 0) + 1
    return found


def problem_with_containers(proc: str = "/proc/net", tracked_count: str = _TRACKED_COUNT) -> Optional[str]:
    """Why connections that are passed on to containers cannot be counted here. None if they can, or if there are
    none.
    """
    path = os.path.join(proc, _TRACKED)
    try:
        with open(path, "rb"):
            return None
    except FileNotFoundError:
        if not os.path.exists(tracked_count):
            # Nothing is tracked, so nothing is passed on.
            return None
        return "%s does not exist: this kernel tracks connections, but does not list them" % path
    except OSError as error:
        return "%s cannot be read: %s" % (path, error.strerror)


def _passed_on(proc: str) -> Iterator[Tuple[int, int, int]]:
    """The port that a connection came to, and its remote and local address, as IPv6 counts them."""
    try:
        table = open(os.path.join(proc, _TRACKED), "rb")  # noqa: SIM115 - closed below; whether it opens is the question
    except OSError:
        return
    with table:
        for line in table:
            match = _PASSED_ON.search(line) if b" ESTABLISHED " in line else None
            if match is None:
                continue
            remote, local, _port, port, answers_from, answers_port = match.groups()
            if (local, port) != (answers_from, answers_port):
                yield int(port), _number(remote), _number(local)


def _own_addresses(proc: str) -> Optional[Set[int]]:
    """The addresses of this machine. None if they cannot be determined."""
    own: Set[int] = set()
    try:
        with open(os.path.join(proc, "fib_trie"), "rb") as tree:
            own.update(_number(text) for text in _LOCAL.findall(tree.read()))
        path = os.path.join(proc, "if_inet6")
        if os.path.exists(path):
            with open(path, "rb") as table:
                own.update(int(line.split(None, 1)[0], 16) for line in table)
    except (OSError, ValueError):
        return None
    return own


def _number(text: bytes) -> int:
    address = ipaddress.ip_address(text.decode("ascii"))
    return int(address) + (_MAPPED if address.version == 4 else 0)


def _established(proc: str) -> Iterator[Tuple[int, bytes, bytes]]:
    """Local port, remote and local address, the latter two as the kernel writes them."""
    for name in ("tcp", "tcp6"):
        path = os.path.join(proc, name)
        if name == "tcp6" and not os.path.exists(path):
            # The kernel has no IPv6.
            continue
        with open(path, "rb") as table:
            next(table, None)
            for line in table:
                columns = line.split(None, 4)
                if len(columns) < 4:
                    raise ValueError("%s: not a connection: %r" % (path, line[:200]))
                if columns[3] == _ESTABLISHED:
                    local, _colon, port = columns[1].rpartition(b":")
                    yield int(port, 16), columns[2].partition(b":")[0], local


def _address(text: bytes) -> int:
    """Read an address: hexadecimal, in 32-bit words in the byte order of the machine."""
    packed = bytes.fromhex(text.decode("ascii"))
    words = [int.from_bytes(packed[start : start + 4], sys.byteorder) for start in range(0, len(packed), 4)]
    value = 0
    for word in words:
        value = value << 32 | word
    return value | _MAPPED if len(words) == 1 else value


def range_of(text: str) -> Tuple[int, int]:
    """The first and the last address of a network, as IPv6 counts them.

    :raises ValueError: if it is none
    """
    network = ipaddress.ip_network(text, strict=False)
    offset = _MAPPED if network.version == 4 else 0
    return int(network.network_address) + offset, int(network.broadcast_address) + offset


def _is_within(address: int, ranges: List[Tuple[int, int]]) -> bool:
    return any(first <= address <= last for first, last in ranges)


def check_networks(option: str, values: Iterable[str]) -> None:
    """Check the values of an option.

    :raises ValueError: on the first that is neither an IP address nor a network
    """
    for value in values:
        try:
            range_of(str(value))
        except ValueError:
            raise ValueError(
                "%s: %r is neither an IP address nor a network. Write 10.0.9.4 or 10.1.0.0/24" % (option, value)
            ) from None
