# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way in for commands by hand: a port of this machine, and a token that only administrators can read.

Any program on this machine reaches the port. What it asks counts only with the token, which lies in the state
directory: nobody else can open that.
"""

import contextlib
import hmac
import json
import os
import secrets
import socket
from typing import Any, Optional

from . import files
from .ownership import UnsafePath, check_path

FILE_NAME = "control.json"

_HOST = "127.0.0.1"
_BACKLOG = 64
_LONGEST_TOKEN = 100  # bytes


class _Listener(socket.socket):
    """A port that knows the token."""

    token = b""


class _Connection(socket.socket):
    """A connection with what has come of a request."""

    token = b""
    received = b""


def listen_in(directory: str) -> socket.socket:
    """Open a port, and write into this directory which one it is. Waits for the disk.

    :raises OSError: if it cannot be had
    """
    listener = _Listener(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        listener.bind((_HOST, 0))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        listener.token = secrets.token_hex(32).encode("ascii")
        content = {"port": listener.getsockname()[1], "token": listener.token.decode("ascii")}
        files.make_private_directory(directory)
        files.write_private(os.path.join(directory, FILE_NAME), json.dumps(content))
    except OSError:
        listener.close()
        raise
    return listener


def accept(listener: socket.socket) -> socket.socket:
    """Take the next connection.

    :raises OSError: if there is none
    """
    accepted, _address = listener.accept()
    connection = _Connection(fileno=accepted.detach())
    connection.token = getattr(listener, "token", b"")
    connection.setblocking(False)
    return connection


def receive(connection: socket.socket, most: int) -> Optional[bytes]:
    """Take in a request: a line with the token, and one with what is asked.

    :param most: bytes
    :returns: None as long as it has not come whole; nothing if there is none, and none will come
    :raises OSError: if the connection is broken, or it is not for this user to ask
    """
    assert isinstance(connection, _Connection)
    try:
        chunk = connection.recv(most + _LONGEST_TOKEN)
    except BlockingIOError:
        return None
    connection.received += chunk
    token, _end, rest = connection.received.partition(b"\n")
    if not rest.endswith(b"\n"):
        return None if chunk and len(connection.received) <= most + _LONGEST_TOKEN else b""
    if not connection.token or not hmac.compare_digest(token, connection.token):
        raise PermissionError("commands by hand are for administrators")
    return rest[:-1]


def ask(directory: str, packet: bytes, seconds: float, most: int) -> bytes:
    """Send a request to the agent whose state directory this is, and wait for the answer.

    :param most: bytes of the answer
    :returns: nothing if the agent ended before it answered
    :raises OSError: if there is no agent, or it is not for this user to ask
    """
    path = os.path.join(directory, FILE_NAME)
    # As a symbolic link would be followed: whoever could write there could ask for the token.
    with open(_checked(path), encoding="ascii") as file:
        where: Any = json.load(file)
    with socket.create_connection((_HOST, int(where["port"])), seconds) as connection:
        connection.sendall(str(where["token"]).encode("ascii") + b"\n" + packet + b"\n")
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while len(answer) <= most:
                chunk = connection.recv(most)
                if not chunk:
                    break
                answer += chunk
        return answer


def _checked(path: str) -> str:
    """
    :raises OSError: if it is not there, not for this user, or somebody else could have written it
    """
    try:
        return check_path(path)
    except UnsafePath:
        # What is missing has a name of its own, for who asks.
        with open(path, "rb"):
            pass
        raise
