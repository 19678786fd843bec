# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""systemd's journal, in its own protocol, so that `journalctl FOGHORN_EVENT_ID=…` finds a line; and standard error."""

import os
import select
import socket
import struct
import sys
from typing import Any, Callable, Dict, Mapping, Optional

_JOURNAL_SOCKET = "/run/systemd/journal/socket"
_LONGEST_VALUE = 8192  # characters; a longer datagram may not fit the socket

SystemLog = Callable[[int, str, Dict[str, Any]], bool]


def open_system_log(environment: Mapping[str, str], path: str = _JOURNAL_SOCKET) -> Optional[SystemLog]:
    """Give the function that writes a priority, a message and fields to the system's log, and says if it could.

    :returns: None where standard error is what is read
    """
    if not _is_journal(environment.get("JOURNAL_STREAM", "")):
        return None
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    journal.setblocking(False)
    try:
        journal.connect(path)
    except OSError:
        journal.close()
        return None
    return lambda priority, message, fields: _send(journal, priority, message, fields)


def write_to_stderr(line: bytes) -> None:
    """Write a line to standard error, unless that would wait."""
    try:
        # Whoever reads it may hang on a disk of its own, and its buffer be full.
        poll = select.poll()
        poll.register(sys.stderr.fileno(), select.POLLOUT)
        if poll.poll(0):
            os.write(sys.stderr.fileno(), line)
    except (AttributeError, OSError, ValueError):
        # Nobody is listening; the agent's work goes on.
        pass


def _is_journal(stream: str) -> bool:
    """Whether standard error is the journal: systemd says which file is, and a variable may be inherited."""
    try:
        found = os.fstat(2)
    except OSError:
        return False
    return stream == "%d:%d" % (found.st_dev, found.st_ino)


def _send(journal: socket.socket, priority: int, message: str, fields: Dict[str, Any]) -> bool:
    entries = {"MESSAGE": message, "PRIORITY": str(priority), "SYSLOG_IDENTIFIER": "foghorn-agent"}
    entries.update(("FOGHORN_" + name.upper(), str(value)) for name, value in fields.items() if value is not None)
    try:
        journal.send(b"".join(_as_entry(name, value) for name, value in entries.items()))
    except OSError:
        # The journal is busy, or away for a moment. Waiting for it would cost more than the line is worth.
        return False
    return True


def _as_entry(name: str, value: str) -> bytes:
    # The form with a length keeps line breaks in a value from being taken for further fields.
    data = value[:_LONGEST_VALUE].encode("utf-8", "replace")
    return name.encode("ascii") + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"
