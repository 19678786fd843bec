# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way in for commands by hand: a socket in the state directory, for root on this machine and nobody else.

One packet asks, one answers. No address leads here, and no other user: the socket is root's alone, the directory above
it is closed, and who is at the other end is asked of the kernel besides.
"""

import contextlib
import os
import socket
import struct
from typing import Iterator, Optional

from foghorn_core.files.ownership import check_path

SOCKET_NAME = "control.sock"

_BACKLOG = 64  # beyond it, a connection is refused and not merely kept waiting


def listen_in(directory: str) -> socket.socket:
    """Put the socket into this directory. Waits for the disk.

    It is left there when the agent ends, and gives way to the next one.

    :raises OSError: if the socket cannot be had
    :raises UnsafePath: if others can write the directory
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    try:
        listener.setblocking(False)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(directory, SOCKET_NAME))
        # The file has this mode from the beginning on: a moment is enough to connect in.
        os.fchmod(listener.fileno(), 0o600)
        with within(directory) as name:
            listener.bind(name)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def accept(listener: socket.socket) -> socket.socket:
    """Take the next connection.

    :raises OSError: if there is none, or it is not for this user to ask
    """
    connection, _address = listener.accept()
    if _user_of(connection) not in (0, os.geteuid()):
        connection.close()
        raise PermissionError("commands by hand are for root")
    connection.setblocking(False)
    return connection


def receive(connection: socket.socket, most: int) -> Optional[bytes]:
    """Take in a request.

    :param most: bytes
    :returns: None as long as it has not come whole; nothing if there is none, and none will come
    :raises OSError: if the connection is broken
    """
    return connection.recv(most)


def ask(directory: str, packet: bytes, seconds: float, most: int) -> bytes:
    """Send a request to the agent whose state directory this is, and wait for the answer.

    :param most: bytes of the answer
    :returns: nothing if the agent ended before it answered
    :raises OSError: if there is no agent, or it is not for this user to ask
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC) as connection:
        connection.settimeout(seconds)
        with within(directory) as name:
            connection.connect(name)
        connection.send(packet)
        return connection.recv(most)


@contextlib.contextmanager
def within(directory: str) -> Iterator[str]:
    """A name for the socket that the kernel takes, however long the directory's path is: it allows 107 bytes.

    :raises UnsafePath: if others could put a socket of theirs there
    """
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        check_path(directory)
        yield "/proc/self/fd/%d/%s" % (descriptor, SOCKET_NAME)
    finally:
        os.close(descriptor)


def _user_of(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])
