# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts the connected clients, from the tables of TCP connections that Windows keeps."""

import ipaddress
from typing import Container, Dict, Iterable, Iterator, NamedTuple, Optional, Tuple

from foghorn_core.connections.established import count_rows

_ESTABLISHED = 5
_TOO_SMALL = 122  # ERROR_INSUFFICIENT_BUFFER
_NO_DATA = 232


class _Table(NamedTuple):
    """How rows lie in a table: offsets in bytes."""

    function: str
    row: int
    state: int
    local: int
    port: int
    remote: int
    length: int


_TABLES = (_Table("GetTcpTable", 20, 0, 4, 8, 12, 4), _Table("GetTcp6Table", 52, 0, 4, 24, 28, 16))


def count_established(ports: Container[int], ignored: Iterable[str] = ()) -> Dict[int, int]:
    """Count the established connections to these ports of this machine.

    What the machine passes on to containers does not count: Windows keeps no table of it that could be read.

    :param ignored: remote addresses and networks that do not count, as on Linux
    :returns: by port; a port without a connection is missing
    :raises OSError: if the tables cannot be read
    :raises ValueError: if `ignored` holds no network
    """
    return count_rows(_established(), ports, ignored, (), _number)


def problem_with_containers() -> Optional[str]:
    """Why connections that are passed on to containers cannot be counted here: nothing says that there are any."""
    return None


def _established() -> Iterator[Tuple[int, bytes, bytes]]:
    """Local port, remote and local address."""
    for table in _TABLES:
        yield from rows_of(_read(table.function), table)


def rows_of(content: bytes, table: _Table) -> Iterator[Tuple[int, bytes, bytes]]:
    """Local port, remote and local address of each established connection in a table. Pure."""
    count = int.from_bytes(content[:4], "little")
    for at in range(4, 4 + table.row * count, table.row):
        row = content[at : at + table.row]
        if int.from_bytes(row[table.state : table.state + 4], "little") == _ESTABLISHED:
            port = int.from_bytes(row[table.port : table.port + 2], "big")
            yield port, row[table.remote :][: table.length], row[table.local :][: table.length]


def _number(packed: bytes) -> int:
    address = ipaddress.ip_address(packed)
    return int(address) + ((0xFFFF << 32) if address.version == 4 else 0)


def _read(function: str) -> bytes:
    import ctypes

    from . import win32

    size = ctypes.c_uint32(64 * 1024)
    while True:
        buffer = ctypes.create_string_buffer(size.value)
        code = getattr(win32.iphlpapi, function)(buffer, ctypes.byref(size), False)
        if code == _NO_DATA:
            return bytes(4)
        if code != _TOO_SMALL:
            break
        # Others connect meanwhile.
        size = ctypes.c_uint32(size.value * 2)
    if code:
        raise win32.error_of(code, function)
    return buffer.raw
