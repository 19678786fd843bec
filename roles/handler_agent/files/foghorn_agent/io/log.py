# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says what happened: one line for each thing, with fields.

Under systemd the line goes to the journal in its own protocol, so that `journalctl FOGHORN_EVENT_ID=…` finds it;
elsewhere to standard error. The standard library's logging would cost a megabyte for less.
"""

import os
import select
import socket
import struct
import sys
from typing import Any, Callable, Dict

from foghorn_core.scheduled_events.text import plain

ERROR = 3
WARNING = 4
NOTICE = 5
INFO = 6

_JOURNAL_SOCKET = "/run/systemd/journal/socket"
_LONGEST_VALUE = 8192  # characters; a longer datagram may not fit the socket

Log = Callable[..., None]


def open_log(environment: Dict[str, str], journal_socket: str = _JOURNAL_SOCKET) -> Log:
    """Give the function that says something: `log(priority, message, **fields)`."""
    if _is_journal(environment.get("JOURNAL_STREAM", "")):
        journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        journal.setblocking(False)
        try:
            journal.connect(journal_socket)
        except OSError:
            journal.close()
        else:
            return lambda priority, message, **fields: _to_journal(journal, priority, message, fields)
    return lambda priority, message, **fields: _to_stderr(priority, message, fields)


def _is_journal(stream: str) -> bool:
    """Whether standard error is the journal: systemd says which file is, and a variable may be inherited."""
    try:
        found = os.fstat(2)
    except OSError:
        return False
    return stream == "%d:%d" % (found.st_dev, found.st_ino)


def _to_journal(journal: socket.socket, priority: int, message: str, fields: Dict[str, Any]) -> None:
    entries = {"MESSAGE": _on_one_line(message), "PRIORITY": str(priority), "SYSLOG_IDENTIFIER": "foghorn-agent"}
    entries.update(("FOGHORN_" + name.upper(), str(value)) for name, value in fields.items() if value is not None)
    try:
        journal.send(b"".join(_as_entry(name, value) for name, value in entries.items()))
    except OSError:
        # The journal is busy, or away for a moment. Waiting for it would cost more than the line is worth.
        _to_stderr(priority, message, fields)


def _as_entry(name: str, value: str) -> bytes:
    # The form with a length keeps line breaks in a value from being taken for further fields.
    data = value[:_LONGEST_VALUE].encode("utf-8", "replace")
    return name.encode("ascii") + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"


def _to_stderr(priority: int, message: str, fields: Dict[str, Any]) -> None:
    shown = "".join(" %s=%s" % (name, _quoted(value)) for name, value in sorted(fields.items()) if value is not None)
    line = "<%d>%s%s\n" % (priority, _on_one_line(message), shown)
    try:
        # Whoever reads it may hang on a disk of its own, and its buffer be full.
        poll = select.poll()
        poll.register(sys.stderr.fileno(), select.POLLOUT)
        if poll.poll(0):
            os.write(sys.stderr.fileno(), line.encode("utf-8", "replace"))
    except (OSError, ValueError):
        # Nobody is listening; the agent's work goes on.
        pass


def _on_one_line(message: str) -> str:
    return plain(" ".join(message.split()))


def _quoted(value: Any) -> str:
    text = str(value)[:_LONGEST_VALUE]
    return (
        text if text and all(character.isprintable() and character not in ' "=' for character in text) else repr(text)
    )
