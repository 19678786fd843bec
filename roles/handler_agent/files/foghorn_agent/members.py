# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the agent of another VM how far it is. Blocks: for a worker's thread."""

import re
import socket
import time
from typing import Any, Callable, Dict

from foghorn_core.client import Deadline, split_endpoint
from foghorn_core.document import DocumentError, parse_json

_PATH = "/status"
_LARGEST_ANSWER = 1024 * 1024  # bytes
_CHUNK = 64 * 1024  # bytes
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,9})[ \t]*(?:\r\n|\Z)", re.IGNORECASE)


class MemberError(OSError):
    """A member gave no status that can be used. The message says which member, and what it did."""


def ask_member(url: str, timeout: float, clock: Callable[[], float] = time.monotonic) -> Dict[str, Any]:
    """Read the status of the agent at `url`.

    :param url: `http://HOST[:PORT][/PREFIX]`
    :param timeout: seconds for all of it, where the host is an IP address. The look-up of a name takes as long as
        the system's resolver lets it
    :returns: at least `events`, a list of objects
    :raises MemberError: if it did not answer with a status in time
    :raises ValueError: if the URL has another form
    """
    host, port, prefix = split_endpoint(url)
    deadline = Deadline(timeout, clock)
    try:
        answer = _exchange(host, port, prefix + _PATH, deadline)
    except socket.timeout:
        raise MemberError("%s did not answer within %g s" % (url, timeout)) from None
    # A name that no name can be, too long say, is a UnicodeError.
    except (OSError, UnicodeError) as error:
        raise MemberError("%s cannot be reached: %s" % (url, error)) from None
    if len(answer) > _LARGEST_ANSWER:
        raise MemberError("%s answered with more than %d KiB" % (url, _LARGEST_ANSWER // 1024))
    return _read(url, answer)


def _exchange(host: str, port: int, path: str, deadline: Deadline) -> bytes:
    """Ask by HTTP/1.0, so that the answer comes in one piece and ends with the connection."""
    request = "GET %s HTTP/1.0\r\nHost: %s\r\nAccept: application/json\r\n\r\n" % (
        path,
        "[%s]" % host if ":" in host else host,
    )
    answer = bytearray()
    with socket.create_connection((host, port), deadline.seconds) as connection:
        _allow_what_is_left(connection, deadline)
        connection.sendall(request.encode("ascii"))
        while len(answer) <= _LARGEST_ANSWER:
            # Each time anew: a member that sends a byte now and then must not hold us.
            _allow_what_is_left(connection, deadline)
            chunk = connection.recv(_CHUNK)
            if not chunk:
                break
            answer += chunk
    return bytes(answer)


def _allow_what_is_left(connection: socket.socket, deadline: Deadline) -> None:
    remaining = deadline.remaining()
    if remaining <= 0:
        raise socket.timeout("timed out")
    connection.settimeout(remaining)


def _read(url: str, answer: bytes) -> Dict[str, Any]:
    head, _unused, body = answer.partition(b"\r\n\r\n")
    words = head.split(b"\r\n")[0].split(None, 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1."):
        raise MemberError("%s did not answer in HTTP, but with %r" % (url, answer[:100]))
    if words[1] != b"200":
        raise MemberError("%s answered %s" % (url, b" ".join(words[1:]).decode("ascii", "replace")[:100]))
    length = _LENGTH.search(head)
    if length and int(length.group(1).decode("ascii")) != len(body):
        raise MemberError("%s broke off in the middle of its answer" % url)
    try:
        status = parse_json(body)
    except DocumentError as error:
        raise MemberError("%s answered, but with %s" % (url, error)) from None
    events = status.get("events") if isinstance(status, dict) else None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise MemberError("%s answered, but not with a status: %r" % (url, body[:100]))
    return dict(status)
