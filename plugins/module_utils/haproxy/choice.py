# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Chooses servers by name, or by address where nobody knows the name.

HAProxy names the servers of a `server-template` itself, and name resolution may move an address from one to another at
any time. It shows addresses without brackets, and IPv6 in its shortest form: they are compared as numbers.
Source: HAProxy 2.6.12, tried.
"""

import functools
import ipaddress
import re
from typing import Any, List, Optional, Sequence, Tuple, TypeVar

_ENDPOINT = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<v4>[0-9.]+))(?::(?P<port>[0-9]{1,5}))?\Z")
_BARE = re.compile(r"[0-9A-Fa-f:.]+\Z")

Server = TypeVar("Server", bound=Any)
"""It has `backend`, `server`, `address` and `port`."""


def called(servers: Sequence[Server], name: str) -> List[Server]:
    """The servers of this name; where there is none, those at this address."""
    named = [one for one in servers if one.server == name]
    return named or [one for one in servers if is_at(one, name)]


def is_at(server: Any, address: str) -> bool:
    """Whether this is the address of the server: `10.0.0.4`, `10.0.0.4:80`, `2001:db8::4` or `[2001:db8::4]:80`."""
    wanted, found = read_endpoint(address), read_endpoint(server.address)
    return wanted is not None and found is not None and wanted[0] == found[0] and wanted[1] in (None, server.port)


def find_ambiguous(chosen: Sequence[Any], name: str) -> Optional[str]:
    """Say, with the remedy, which servers of one backend cannot be told apart; None if each backend has one."""
    for one in chosen:
        alike = [other.server for other in chosen if other.backend == one.backend]
        if one.server == name and len(alike) > 1:
            said = "backend %s has %d servers %s, of which HAProxy's commands reach the first. Give each another name"
            return said % (one.backend, len(alike), name)
        if len(alike) > 1:
            return "%s is the address of %s in backend %s. Give the name, or the port as well, as in %s" % (
                name,
                " and ".join(alike),
                one.backend,
                "[2001:db8::4]:80" if ":" in one.address else "10.0.0.4:80",
            )
    return None


# Each host of a fleet is looked for among all servers.
@functools.lru_cache(maxsize=4096)
def read_endpoint(text: str) -> Optional[Tuple[Any, Optional[int]]]:
    """Read an IP address, and a port if there is one. None if it is anything else."""
    match = _ENDPOINT.match(text)
    host, port = (match.group("v6") or match.group("v4"), match.group("port")) if match else (text, None)
    if not _BARE.match(host):
        return None
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address, int(port) if port else None
