# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door for what is asked by hand: a socket in the state directory, for root on this machine and nobody else.

One packet asks, one answers, both JSON. No address leads here, and no other user: the socket is root's alone, the
directory above it is closed, and who is at the other end is asked of the kernel besides.
"""

import contextlib
import json
import os
import selectors
import socket
import struct
from typing import Any, Callable, Dict, Iterator

from foghorn_core.files.ownership import check_path

from ..decide.manual import RequestError

SOCKET_NAME = "control.sock"

_LARGEST = 4096  # bytes of a request
_LARGEST_ANSWER = 65536  # bytes
_MOST_CONNECTIONS = 8
_BACKLOG = 64  # beyond it, a connection is refused and not merely kept waiting


class Control:
    """Takes requests. It registers its sockets with the selector, with `handle` as their data.

    :param directory: where the socket is put; one that is left from before gives way
    :param obey: does what is asked, and says how things are then; raises `RequestError` with what is wrong
    :raises OSError: if the socket cannot be had
    :raises UnsafePath: if others can write the directory
    """

    def __init__(self, directory: str, obey: Callable[[Dict[str, Any]], str], selector: selectors.BaseSelector) -> None:
        self._obey = obey
        self._selector = selector
        # In the order in which they came, as dictionaries are.
        self._connections: Dict[int, socket.socket] = {}
        self._path = os.path.join(directory, SOCKET_NAME)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        try:
            self._listener.setblocking(False)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)
            # It has this mode from the beginning on: a moment is enough to connect in.
            umask = os.umask(0o177)
            try:
                with _within(directory) as name:
                    self._listener.bind(name)
            finally:
                os.umask(umask)
            self._listener.listen(_BACKLOG)
            selector.register(self._listener, selectors.EVENT_READ, self.handle)
        except OSError:
            self._listener.close()
            raise

    def handle(self, key: selectors.SelectorKey, _mask: int) -> None:
        """Do the next piece of work on a socket that the selector found ready."""
        if key.fd == self._listener.fileno():
            self._accept()
        elif key.fd in self._connections:
            self._answer(self._connections[key.fd])

    def close(self) -> None:
        """Take no more requests."""
        for connection in list(self._connections.values()):
            self._close(connection)
        self._selector.unregister(self._listener)
        self._listener.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _accept(self) -> None:
        try:
            connection, _address = self._listener.accept()
        except OSError:
            # It has gone again, or there are no descriptors left.
            return
        if _user_of(connection) not in (0, os.geteuid()):
            connection.close()
            return
        connection.setblocking(False)
        if len(self._connections) >= _MOST_CONNECTIONS:
            self._close(next(iter(self._connections.values())))
        self._connections[connection.fileno()] = connection
        self._selector.register(connection, selectors.EVENT_READ, self.handle)

    def _answer(self, connection: socket.socket) -> None:
        packet = b""
        with contextlib.suppress(OSError):
            packet = connection.recv(_LARGEST)
        answer = self._answer_to(packet) if packet else {}
        # Otherwise whoever asked did not wait for the answer. What was asked for is done all the same.
        with contextlib.suppress(OSError):
            connection.send(json.dumps(answer).encode("ascii"))
        self._close(connection)

    def _answer_to(self, packet: bytes) -> Dict[str, Any]:
        try:
            asked = json.loads(packet.decode("utf-8"))
            if not isinstance(asked, dict):
                raise RequestError("a request must be an object")
            return {"done": True, "said": self._obey(asked)}
        except (ValueError, RecursionError) as error:
            return {"done": False, "said": str(error)}

    def _close(self, connection: socket.socket) -> None:
        del self._connections[connection.fileno()]
        self._selector.unregister(connection)
        connection.close()


def ask_agent(directory: str, asked: Dict[str, Any], seconds: float) -> str:
    """Ask the agent whose state directory this is. Waits for the answer.

    :returns: how things are now
    :raises RequestError: with what the agent says against it
    :raises OSError: if there is no agent, or no answer, or it is not for this user to ask
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC) as connection:
        connection.settimeout(seconds)
        with _within(directory) as name:
            connection.connect(name)
        connection.send(json.dumps(asked).encode("ascii"))
        packet = connection.recv(_LARGEST_ANSWER)
    try:
        answer = json.loads(packet.decode("utf-8"))
        done, said = answer["done"], str(answer["said"])
    except (ValueError, KeyError, TypeError):
        raise OSError("the agent ended before it answered") from None
    if not done:
        raise RequestError(said)
    return said


@contextlib.contextmanager
def _within(directory: str) -> Iterator[str]:
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
