# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoint's sockets: those that systemd holds open, as in sd_listen_fds(3), and one for programs on this machine.

A port that systemd holds from the boot on is never free, not while the agent is started again either: nobody else can
answer the probes in its name, and who asks in that moment waits for the answer instead of being refused.
"""

import contextlib
import os
import socket
from typing import List, Mapping

SOCKET_NAME = "agent.sock"

_FIRST = 3  # after standard input, output and error
_MOST = 64
_SO_DOMAIN = getattr(socket, "SO_DOMAIN", 39)


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


def claim(listener: socket.socket) -> None:
    """Let a socket have an address with connections of an earlier agent, and none that another program listens on."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def listen_at(path: str, backlog: int) -> socket.socket:
    """Listen on a socket for programs on this machine, whatever happens to the port. An existing file is replaced.

    :raises OSError: if it cannot be had
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listener.bind(path)
        # Clients that may use the port may also use the socket: it is read-only.
        os.chmod(path, 0o666)
        listener.listen(backlog)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def connect_at(path: str, seconds: float) -> socket.socket:
    """Connect to what listens there.

    :param seconds: for this, and for each answer
    :raises OSError: if nobody does
    """
    client = socket.socket(socket.AF_UNIX)
    try:
        client.settimeout(seconds)
        client.connect(path)
    except OSError:
        client.close()
        raise
    return client


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
