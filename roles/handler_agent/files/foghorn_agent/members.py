# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the agent of another VM how far it has got. Blocks: for a worker's thread."""

import socket
import time
from typing import Any, Callable, Dict, Tuple

from foghorn_core.client import split_url
from foghorn_core.deadline import Deadline
from foghorn_core.document import NameKey, parse_json
from foghorn_core.errors import DocumentError, ImdsError, ProtocolError, TooLarge
from foghorn_core.http_connection import Answer, HttpConnection

_PATH = "/status"
_LARGEST_ANSWER = 1024 * 1024  # bytes
_HEADERS = {"Accept": "application/json", "Connection": "close"}


class MemberError(OSError):
    """A member gave no status that can be used. The message says which member, and what it did."""


def ask_member(url: str, timeout: float, clock: Callable[[], float] = time.monotonic) -> Dict[str, Any]:
    """Read the status of the agent at `url`.

    :param url: `http://HOST[:PORT][/PATH]`
    :param timeout: seconds for all of it, where the host is an IP address. The look-up of a name takes as long as
        the system's resolver lets it
    :returns: at least `events`, a list of objects
    :raises MemberError: if it did not answer with a status in time
    :raises ValueError: if the URL has another form
    """
    host, port, path = split_url(url)
    deadline = Deadline(timeout, clock)
    connection = HttpConnection(host, port)
    try:
        connection.open(deadline.remaining())
        answer = connection.exchange("GET", path + _PATH, _HEADERS, None, deadline, _LARGEST_ANSWER)
    except socket.timeout:
        raise MemberError("%s did not answer within %g s" % (url, timeout)) from None
    except OSError as error:
        raise MemberError("%s cannot be reached: %s" % (url, error)) from None
    except ProtocolError as error:
        raise MemberError("%s did not answer as it should: %s" % (url, error)) from None
    except TooLarge:
        raise MemberError("%s answered with more than %d KiB" % (url, _LARGEST_ANSWER // 1024)) from None
    finally:
        connection.close()
    return _status_of(url, answer)


def ask_members(job: Tuple[Dict[NameKey, str], float]) -> Dict[NameKey, Any]:
    """Ask other agents for their `/status`, in a worker's thread. One that does not answer gives its error."""
    urls, timeout = job
    answers: Dict[NameKey, Any] = {}
    for name, url in urls.items():
        try:
            answers[name] = ask_member(url, timeout)
        except (ImdsError, DocumentError, OSError) as error:
            answers[name] = error
    return answers


def _status_of(url: str, answer: Answer) -> Dict[str, Any]:
    if answer.status != 200:
        raise MemberError("%s answered %d %s" % (url, answer.status, answer.reason[:100]))
    try:
        status = parse_json(answer.body)
    except DocumentError as error:
        raise MemberError("%s answered, but with %s" % (url, error)) from None
    events = status.get("events") if isinstance(status, dict) else None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise MemberError("%s answered, but not with a status: %r" % (url, answer.body[:100]))
    return dict(status)
