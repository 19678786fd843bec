# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts who is still connected, in what the kernel tells of its TCP connections."""

import ipaddress
import os
import sys
from typing import Container, Iterable, Iterator, List, Tuple

_ESTABLISHED = b"01"
_MAPPED = 0xFFFF << 32  # ::ffff:0:0/96, where IPv4 addresses lie among those of IPv6


def count_established(ports: Container[int], ignored: Iterable[str] = (), proc: str = "/proc/net") -> int:
    """Count the established connections to these local ports, those from this machine included.

    Only what the agent's own network namespace knows. Takes about 2 µs for each connection of any state.

    :param ignored: remote addresses and networks, like `168.63.129.16` or `10.0.0.0/8`, that do not count.
        An IPv4 one means its IPv4-mapped IPv6 addresses too
    :raises OSError: if the kernel's tables cannot be read
    :raises ValueError: if they have another form than is known, or `ignored` holds no network
    """
    ranges = [_range_of(text) for text in ignored]
    return sum(
        1
        for port, remote in _established(proc)
        if port in ports and not (ranges and _is_within(_address(remote), ranges))
    )


def _established(proc: str) -> Iterator[Tuple[int, bytes]]:
    """Local port and remote address, the latter as the kernel writes it."""
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
                    yield int(columns[1].rpartition(b":")[2], 16), columns[2].partition(b":")[0]


def _address(text: bytes) -> int:
    """Read an address: hexadecimal, in 32-bit words in the byte order of the machine."""
    packed = bytes.fromhex(text.decode("ascii"))
    words = [int.from_bytes(packed[start : start + 4], sys.byteorder) for start in range(0, len(packed), 4)]
    value = 0
    for word in words:
        value = value << 32 | word
    return value | _MAPPED if len(words) == 1 else value


def _range_of(text: str) -> Tuple[int, int]:
    """The first and the last address of a network, as IPv6 counts them."""
    network = ipaddress.ip_network(text, strict=False)
    offset = _MAPPED if network.version == 4 else 0
    return int(network.network_address) + offset, int(network.broadcast_address) + offset


def _is_within(address: int, ranges: List[Tuple[int, int]]) -> bool:
    return any(first <= address <= last for first, last in ranges)
