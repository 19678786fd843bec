# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoint's sockets: ports alone. The service manager holds none of them, and there is none for this machine."""

import socket
from typing import List, Mapping

SOCKET_NAME = ""

_WHY = "there are no UNIX sockets on Windows"


def inherited_sockets(_environment: Mapping[str, str]) -> List[socket.socket]:
    """The sockets that this process was started with: none."""
    return []


def claim(listener: socket.socket) -> None:
    """Let nobody else have the same address: on Windows, SO_REUSEADDR would let another program take it over."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)


def listen_at(path: str, _backlog: int) -> socket.socket:
    """Listen on a socket for programs on this machine.

    :raises OSError: always
    """
    raise OSError("%s: %s" % (path, _WHY))


def connect_at(path: str, _seconds: float) -> socket.socket:
    """Connect to what listens there.

    :raises OSError: always
    """
    raise OSError("%s: %s" % (path, _WHY))
