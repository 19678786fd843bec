# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports for servers that tests start a little later, and one that answers nobody. Runs on Python 3.6 and later."""

import contextlib
import os
import random
import socket
from typing import Any, Iterator, List, Tuple

ADDRESS = "127.0.0.1"

_RANGE_OF_CLIENTS = "/proc/sys/net/ipv4/ip_local_port_range"
_LOWEST = 10000
_LEAST = 10000  # to choose from, also where clients may have them all
_chance = random.Random(os.getpid())


def free_ports(number: int) -> List[int]:
    """Ports of 127.0.0.1 that nobody listens at, all different.

    None is one that the system gives to a client: whoever connects anywhere would have it before the server does.
    """
    with open(_RANGE_OF_CLIENTS) as limits:
        end = max(int(limits.read().split()[0]), _LOWEST + _LEAST)
    with contextlib.ExitStack() as sockets:
        found = []  # type: List[int]
        for port in _chance.sample(range(_LOWEST, end), end - _LOWEST):
            if len(found) == number:
                return found
            candidate = sockets.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                candidate.bind((ADDRESS, port))
                found.append(port)
    raise OSError("fewer than %d ports of %s are free from %d to %d" % (number, ADDRESS, _LOWEST, end - 1))


def free_port() -> int:
    """One of them."""
    return free_ports(1)[0]


@contextlib.contextmanager
def silent_address() -> Iterator[Tuple[str, int]]:
    """An address that neither takes nor refuses a connection, as if the network dropped everything to it."""
    with contextlib.ExitStack() as sockets:
        listener = sockets.enter_context(socket.socket())
        listener.bind(("127.0.0.2", 0))
        listener.listen(0)
        for _unused in range(3):
            # Nobody takes them, so that there is no room for another.
            client = sockets.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()


def addresses_of(*addresses: Tuple[str, int]) -> List[Any]:
    """What the system's resolver would say of a host that has these addresses."""
    return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address) for address in addresses]
