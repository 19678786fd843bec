# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes the sockets that the service manager holds open: sd_listen_fds(3), with the standard library alone.

A port that systemd holds from the boot on is never free, not while the agent is started again either: nobody else can
answer the probes in its name, and who asks in that moment waits for the answer instead of being refused.
"""

import os
import socket
from typing import List, Mapping, Tuple

_FIRST = 3  # after standard input, output and error
_MOST = 64
_SO_DOMAIN = getattr(socket, "SO_DOMAIN", 39)

Address = Tuple[str, int]


def inherited_sockets(environment: Mapping[str, str]) -> List[socket.socket]:
    """The TCP sockets that this process was started with, listening already. Call it once: they are ours from then on.

    What is handed over and is no such socket is left alone.
    """
    if environment.get("LISTEN_PID") != str(os.getpid()):
        # None, or those of another process, whose environment we have by accident.
        return []
    try:
        count = min(int(environment.get("LISTEN_FDS", "0")), _MOST)
    except ValueError:
        return []
    return [one for number in range(_FIRST, _FIRST + count) for one in _listener(number)]


def is_at(sock: socket.socket, address: Address) -> bool:
    """Whether a socket listens on this IP address and port."""
    host, port = sock.getsockname()[:2]
    return port == address[1] and _packed(host) == _packed(address[0])


def _listener(number: int) -> List[socket.socket]:
    try:
        # Before 3.7 Python does not find out by itself of what family it is.
        probe = socket.socket(fileno=number)
    except OSError:
        return []
    try:
        family = probe.getsockopt(socket.SOL_SOCKET, _SO_DOMAIN)
        kind = probe.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
        listens = probe.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError:
        return []
    finally:
        probe.detach()
    if family not in (socket.AF_INET, socket.AF_INET6) or kind != socket.SOCK_STREAM or not listens:
        return []
    listener = socket.socket(family, kind, 0, number)
    # No step is to inherit it.
    listener.set_inheritable(False)
    return [listener]


def _packed(host: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
