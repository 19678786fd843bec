# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked by hand: one packet asks, one answers, both JSON. The door sees to it that only root may ask."""

import contextlib
import json
import selectors
import socket
from typing import Any, Callable, Dict, Optional

from ..decide.manual import RequestError
from ..platform import door

_LARGEST = 4096  # bytes of a request
_LARGEST_ANSWER = 65536  # bytes
_MOST_CONNECTIONS = 8


class Control:
    """Takes requests. It registers its sockets with the selector, with `handle` as their data.

    :param listener: what the door gives
    :param handle_command: does what is asked, and gives what says how things are then, or None as long as nothing can
        be said; raises `RequestError` with what is wrong
    """

    def __init__(
        self,
        listener: socket.socket,
        handle_command: Callable[[Dict[str, Any]], Callable[[], Optional[str]]],
        selector: selectors.BaseSelector,
    ) -> None:
        self._handle_command = handle_command
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
            connection = door.accept(self._listener)
        except OSError:
            # It has gone again, is not root's, or there are no descriptors left.
            return
        if len(self._connections) >= _MOST_CONNECTIONS:
            self._close(next(iter(self._connections.values())))
        self._connections[connection.fileno()] = connection
        self._selector.register(connection, selectors.EVENT_READ, self.handle)

    def _take_in(self, connection: socket.socket) -> None:
        packet: Optional[bytes] = b""
        with contextlib.suppress(OSError):
            packet = door.receive(connection, _LARGEST)
        if packet is None:
            return
        if not packet or connection.fileno() in self._unanswered:
            # Whoever asked does not wait for the answer. What was asked for is done all the same.
            self._close(connection)
            return
        try:
            asked = json.loads(packet.decode("utf-8"))
            if not isinstance(asked, dict):
                raise RequestError("a request must be an object")
            self._unanswered[connection.fileno()] = self._handle_command(asked)
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
    packet = door.ask(directory, json.dumps(asked).encode("ascii"), seconds, _LARGEST_ANSWER)
    try:
        answer = json.loads(packet.decode("utf-8"))
        done, said = answer["done"], str(answer["said"])
    except (ValueError, KeyError, TypeError):
        raise OSError("the agent ended before it answered") from None
    if not done:
        raise RequestError(said)
    return said
