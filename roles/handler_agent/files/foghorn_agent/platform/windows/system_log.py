# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The event log of Windows, where the agent is a service; and standard error."""

import os
import queue
import sys
import threading
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from . import nt_service

SystemLog = Callable[[int, str, Dict[str, Any]], bool]

_ERROR, _WARNING, _INFORMATION = 1, 2, 4
_EVENT = 1
_LONGEST = 30000  # characters; the log takes 31,839
_MOST_WAITING = 1000


def open_system_log(_environment: Mapping[str, str]) -> Optional[SystemLog]:
    """Give the function that writes a priority, a message and fields to the event log, and says if it could.

    :returns: None where standard error is what is read
    """
    if not nt_service.is_service():
        return None
    from . import win32

    source = win32.advapi32.RegisterEventSourceW(None, nt_service.NAME)
    if not source:
        return None
    # The log is another process, which may not answer.
    lines: queue.Queue[Tuple[int, str]] = queue.Queue(_MOST_WAITING)
    threading.Thread(target=lambda: _write_all(source, lines), name="log", daemon=True).start()

    def write(priority: int, message: str, fields: Dict[str, Any]) -> bool:
        try:
            lines.put_nowait((kind_of(priority), text_of(message, fields)))
        except queue.Full:
            return False
        return True

    return write


def write_to_stderr(line: bytes) -> None:
    """Write a line to standard error, where there is one."""
    try:
        os.write(sys.stderr.fileno(), line)
    except (AttributeError, OSError, ValueError):
        # Nobody is listening; the agent's work goes on.
        pass


def kind_of(priority: int) -> int:
    """What the event log calls a priority of syslog. Pure."""
    return _ERROR if priority <= 3 else _WARNING if priority == 4 else _INFORMATION


def text_of(message: str, fields: Dict[str, Any]) -> str:
    """What an entry says: the message, and a line for each field. Pure."""
    lines = [message, *("%s: %s" % (name, value) for name, value in sorted(fields.items()) if value is not None)]
    # A NUL would end it.
    return "\r\n".join(lines).replace("\0", "")[:_LONGEST]


def _write_all(source: Any, lines: "queue.Queue[Tuple[int, str]]") -> None:
    import ctypes

    from . import win32

    while True:
        kind, text = lines.get()
        texts = (ctypes.c_wchar_p * 1)(text)
        win32.advapi32.ReportEventW(source, kind, 0, _EVENT, None, 1, 0, texts, None)
