# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Counts the connected clients, from the kernel's list of TCP connections."""

import contextlib
import ipaddress
import os
import re
import socket
import struct
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
# The same by netlink, for kernels without that list, as Ubuntu's in Azure are: all that are passed on (IPS_DST_NAT).
# Kernels before 5.13 do not know the latter, and tell all that are tracked. The numbers are those of linux/netlink.h
# and linux/netfilter/nfnetlink_conntrack.h. Source: https://github.com/Azure/aks-engine/issues/117
_NETFILTER, _ASK, _ALL_OF_THEM, _DONE, _ERROR = 12, 0x101, 0x301, 3, 2
_TELL = struct.pack("=IHHII4xHH", 28, _ASK, _ALL_OF_THEM, 1, 0, 8, 3) + struct.pack(">I", 0x20)
_HEADERS = 20  # bytes: nlmsghdr and nfgenmsg
_ORIGINAL, _REPLY, _OF_PROTOCOL, _OF_TCP, _TCP_STATE, _TCP_ESTABLISHED = 1, 2, 4, 1, 1, b"\3"
_SOURCE, _DESTINATION = 1, 2
_PATIENCE = 5  # seconds
_LOCAL = re.compile(rb"\|-- (\S+)\n(?:[ \t]+/[0-9]+ (?!host).*\n)*[ \t]+/32 host LOCAL")


def count_established(
    ports: Container[int],
    ignored: Iterable[str] = (),
    proc: str = "/proc/net",
    addresses: Iterable[str] = (),
    tracked_count: str = _TRACKED_COUNT,
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
    passed_on = [one for one in _passed_on(proc, tracked_count) if one[0] in ports]
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
        try:
            next(_asked(), None)
        except OSError as error:
            return "%s does not exist, and the kernel does not tell: %s" % (path, error.strerror or error)
        return None
    except OSError as error:
        return "%s cannot be read: %s" % (path, error.strerror)


def _passed_on(proc: str, tracked_count: str) -> Iterator[Tuple[int, int, int]]:
    """The port that a connection came to, and its remote and local address, as IPv6 counts them."""
    try:
        table = open(os.path.join(proc, _TRACKED), "rb")  # noqa: SIM115 - closed below; whether it opens is the question
    except FileNotFoundError:
        if os.path.exists(tracked_count):
            with contextlib.suppress(OSError):
                yield from _asked()
        return
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


def _asked() -> Iterator[Tuple[int, int, int]]:
    """The same from the kernel itself.

    :raises OSError: if it does not tell
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETFILTER) as kernel:
        kernel.settimeout(_PATIENCE)
        kernel.send(_TELL)
        while True:
            told, start = kernel.recv(1 << 16), 0
            while start < len(told):
                length, kind = struct.unpack_from("=IH", told, start)
                if kind in (_DONE, _ERROR):
                    (code,) = struct.unpack_from("=i", told, start + 16)
                    if code < 0:
                        raise OSError(-code, os.strerror(-code))
                    return
                yield from _as_passed_on(_parts_of(told[start + _HEADERS : start + length]))
                start += _padded(length)


def _as_passed_on(parts: Dict[int, bytes]) -> Iterator[Tuple[int, int, int]]:
    state = _parts_of(_parts_of(parts.get(_OF_PROTOCOL, b"")).get(_OF_TCP, b"")).get(_TCP_STATE)
    if state == _TCP_ESTABLISHED:
        local, port = _end_of(parts[_ORIGINAL], _DESTINATION)
        if (local, port) != _end_of(parts[_REPLY], _SOURCE):
            yield port, _end_of(parts[_ORIGINAL], _SOURCE)[0], local


def _end_of(ends: bytes, which: int) -> Tuple[int, int]:
    """An address, as IPv6 counts it, and a port."""
    parts = _parts_of(ends)
    addresses, ports = _parts_of(parts[1]), _parts_of(parts[2])
    address = addresses.get(which) or addresses[which + 2]
    mapped = _MAPPED if len(address) == 4 else 0
    return int.from_bytes(address, "big") + mapped, int.from_bytes(ports[which + 1], "big")


def _parts_of(attributes: bytes) -> Dict[int, bytes]:
    found = {}  # type: Dict[int, bytes]
    start = 0
    while start < len(attributes):
        length, kind = struct.unpack_from("=HH", attributes, start)
        found[kind & 0x3FFF] = attributes[start + 4 : start + length]
        start += _padded(length)
    return found


def _padded(length: int) -> int:
    return (length + 3) & ~3


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
