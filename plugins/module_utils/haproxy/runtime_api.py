# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The client of HAProxy's runtime API.

One command for each connection: HAProxy answers and closes. What HAProxy has to say against a command comes as text
like any other; only an empty line means that a command which changes something was done.

::

    HaproxyError
    ├── Unreachable    no whole answer came; asking again later may help
    ├── Unintelligible an answer came that HAProxy does not give
    └── Refused        HAProxy will not do it
"""

import errno
import socket
import time
from typing import Callable, TypeVar

from ..files.directory import open_socket_path
from ..files.ownership import UnsafePath
from ..scheduled_events.deadline import Deadline
from ..scheduled_events.http_connection import connect, time_left
from .answers import AnswerError
from .options import DEFAULT_SOCKET, Address, UnixAddress

# 10,000 servers are 1.2 MB in `show servers state` and 5 MB in `show stat`.
LARGEST_ANSWER = 64 * 1024 * 1024  # bytes

# A process that is being replaced may close a connection without an answer, and a busy one may refuse it.
_PAUSES = (0.2, 0.5)  # seconds between attempts
_FINAL = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOTSOCK)

Read = TypeVar("Read")


class HaproxyError(Exception):
    """A command to HAProxy failed. The message says what was asked, what came back, what to do."""


class Unreachable(HaproxyError):
    """No whole answer came."""


class Unintelligible(HaproxyError):
    """HAProxy does not answer this command like that."""


class Refused(HaproxyError):
    """HAProxy refuses the command. `answer` is its text."""

    def __init__(self, message: str, answer: str) -> None:
        super().__init__(message)
        self.answer = answer


class _Broken(Exception):
    """A connection ended before the answer did."""


class RuntimeApi:
    """The runtime API at one address. `timeout` is in seconds, for one command, attempts and pauses included.

    :param is_master: the master's socket, which closes only after the client has
    """

    def __init__(
        self,
        address: Address,
        timeout: float,
        is_master: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.address = address
        self._timeout = timeout
        self._is_master = is_master
        self._kind = "the socket of HAProxy's master (-S)" if is_master else "a `stats socket` of HAProxy"
        self._option = "master_socket" if is_master else "socket"
        self._clock = clock
        self._sleep = sleep

    def show(self, command: str, read: Callable[[str], Read]) -> Read:
        """Ask for something, and read the answer.

        :raises Unreachable: if no whole answer came
        :raises Refused: if the socket does not have the right to ask
        :raises Unintelligible: if the answer cannot be read
        """
        text = self._ask(command, _is_whole_table)
        try:
            return read(text)
        except AnswerError as error:
            self._refuse_if_forbidden(command, text)
            raise Unintelligible(
                "HAProxy at %s answered %r to %r: %s. Is this %s? Otherwise, set %s to one"
                % (self.address, _beginning(text), command, error, self._kind, self._option)
            ) from None

    def do(self, command: str) -> None:
        """Have something done.

        :raises Unreachable: if no whole answer came
        :raises Refused: if the answer is anything but an empty line
        """
        text = self._ask(command, _is_whole_line)
        if text.strip():
            self._refuse_if_forbidden(command, text)
            raise Refused("HAProxy at %s refused %r: %s" % (self.address, command, _beginning(text)), text.strip())

    def _ask(self, command: str, is_whole: Callable[[str], bool]) -> str:
        deadline = Deadline(self._timeout, self._clock)
        for pause in (*_PAUSES, None):
            try:
                text = self._ask_once(command, deadline)
                if not text:
                    raise _Broken("it closed the connection without an answer")
                if not is_whole(text):
                    raise _Broken("it closed the connection in the middle of its answer, after %r" % text[-60:])
                return text
            except socket.timeout:
                break
            except UnsafePath as error:
                raise HaproxyError("HAProxy at %s was not asked %r: %s" % (self.address, command, error)) from None
            except (OSError, _Broken) as error:
                if pause is None or getattr(error, "errno", None) in _FINAL or deadline.remaining() <= pause:
                    raise Unreachable(
                        "HAProxy at %s did not answer %r: %s%s"
                        % (self.address, command, error, self._advice(getattr(error, "errno", None)))
                    ) from None
                self._sleep(pause)
        raise Unreachable(
            "HAProxy at %s did not answer %r within %g s. Is it overloaded, or stopped, or is this not %s? "
            "Otherwise, raise timeout" % (self.address, command, self._timeout, self._kind)
        )

    def _ask_once(self, command: str, deadline: Deadline) -> str:
        with self._connect(deadline) as connection:
            connection.settimeout(time_left(deadline))
            connection.sendall(command.encode("ascii") + b"\n")
            if self._is_master:
                connection.shutdown(socket.SHUT_WR)
            parts = []
            size = 0
            while True:
                # Renewed for each part, so that an answer in small pieces has one time limit.
                connection.settimeout(time_left(deadline))
                part = connection.recv(65536)
                if not part:
                    break
                parts.append(part)
                size += len(part)
                if size > LARGEST_ANSWER:
                    raise Unintelligible(
                        "HAProxy at %s answered %r with more than %d bytes. Is this %s? Otherwise, set %s to one"
                        % (self.address, command, LARGEST_ANSWER, self._kind, self._option)
                    )
        return b"".join(parts).decode("utf-8", "replace")

    def _connect(self, deadline: Deadline) -> socket.socket:
        if not isinstance(self.address, UnixAddress):
            return connect(*self.address, deadline)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(time_left(deadline))
            # Its directory may be HAProxy's own: no link there may lead root to another program's socket.
            with open_socket_path(self.address.path) as path:
                connection.connect(path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _advice(self, number: object) -> str:
        if number in (errno.EACCES, errno.EPERM):
            return ". The socket's mode, user or group keeps this user out: run the task with become"
        if number in (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTSOCK):
            example = self.address if isinstance(self.address, UnixAddress) else "ipv4@%s" % (self.address,)
            return (
                ". Is HAProxy running on the host that the task runs on, and does its configuration have"
                " `stats socket %s level admin`? The default is %s" % (example, DEFAULT_SOCKET)
            )
        return ""

    def _refuse_if_forbidden(self, command: str, text: str) -> None:
        if "Permission denied" in text:
            raise Refused(not_admin(self.address, command), text.strip())


def not_admin(address: Address, command: str) -> str:
    """Say that a socket lacks the right to change anything, and how to give it."""
    return (
        "HAProxy at %s refused %r: Permission denied. This socket is read-only: in HAProxy's "
        "configuration, end its `stats socket` line with `level admin`" % (address, command)
    )


def _is_whole_line(text: str) -> bool:
    return text.endswith("\n")


def _is_whole_table(text: str) -> bool:
    """Whether the empty line is there that ends a table, or this is one line that says why there is none."""
    return text.endswith("\n\n") or text.find("\n") == len(text) - 1


def _beginning(text: str) -> str:
    """The first line of an answer: the rest is help."""
    return (text.strip().splitlines() or [""])[0][:200]
