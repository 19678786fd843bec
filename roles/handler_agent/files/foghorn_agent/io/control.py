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
from typing import Any, Callable, Dict, Iterator, Optional

from foghorn_core.files.ownership import check_path

from ..decide.manual import RequestError

SOCKET_NAME = "control.sock"

_LARGEST = 4096  # bytes of a request
_LARGEST_ANSWER = 65536  # bytes
_MOST_CONNECTIONS = 8
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
        with _within(directory) as name:
            listener.bind(name)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


class Control:
    """Takes requests. It registers its sockets with the selector, with `handle` as their data.

    :param listener: what `listen_in` gives
    :param obey: does what is asked, and gives what says how things are then, or None as long as nothing can be said;
        raises `RequestError` with what is wrong
    """

    def __init__(
        self,
        listener: socket.socket,
        obey: Callable[[Dict[str, Any]], Callable[[], Optional[str]]],
        selector: selectors.BaseSelector,
    ) -> None:
        self._obey = obey
        self._selector = selector
        # In the order in which they came, as dictionaries are.
        self._connections: Dict[int, socket.socket] = {}
        self._unanswered: Dict[int, Callable[[], Optional[str]]] = {}
        self._listener = listener
        selector.register(self._listener, selectors.EVENT_READ, self.handle)

    def handle(self, key: selectors.SelectorKey, _mask: int) -> None:
        """Do the next piece of work on a socket that the selector found ready."""
        if key.fd == self._listener.fileno():
            self._accept()
        elif key.fd in self._connections:
            self._take_in(self._connections[key.fd])

    def answer(self) -> None:
        """Answer what can be answered by now. Call it at each turn of the loop."""
        for number, say in list(self._unanswered.items()):
            said = say()
            if said is not None:
                self._send(self._connections[number], True, said)

    def close(self) -> None:
        """Take no more requests."""
        for connection in list(self._connections.values()):
            self._close(connection)
        self._selector.unregister(self._listener)
        self._listener.close()

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

    def _take_in(self, connection: socket.socket) -> None:
        packet = b""
        with contextlib.suppress(OSError):
            packet = connection.recv(_LARGEST)
        if not packet or connection.fileno() in self._unanswered:
            # Whoever asked does not wait for the answer. What was asked for is done all the same.
            self._close(connection)
            return
        try:
            asked = json.loads(packet.decode("utf-8"))
            if not isinstance(asked, dict):
                raise RequestError("a request must be an object")
            self._unanswered[connection.fileno()] = self._obey(asked)
        except (ValueError, RecursionError) as error:
            self._send(connection, False, str(error))

    def _send(self, connection: socket.socket, is_done: bool, said: str) -> None:
        with contextlib.suppress(OSError):
            connection.send(json.dumps({"done": is_done, "said": said}).encode("ascii"))
        self._close(connection)

    def _close(self, connection: socket.socket) -> None:
        del self._connections[connection.fileno()]
        self._unanswered.pop(connection.fileno(), None)
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
