# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says what happened: one line for each thing, with fields.

It goes to the system's log, and where there is none to standard error. The standard library's logging would cost a
megabyte for less.
"""

import os
import sys
import time
from typing import Any, Callable, Dict, Optional

from foghorn_core.scheduled_events.text import plain

from ..platform import system_log

ERROR = 3
WARNING = 4
NOTICE = 5
INFO = 6

_LONGEST_VALUE = 8192  # characters

Log = Callable[..., None]


def open_log(to_system: Optional[system_log.SystemLog]) -> Log:
    """Give the function that says something: `log(priority, message, **fields)`."""

    def log(priority: int, message: str, **fields: Any) -> None:
        line = plain(" ".join(message.split()))
        if to_system is None or not to_system(priority, line, fields):
            _to_stderr(priority, line, fields)

    return log


def _to_stderr(priority: int, line: str, fields: Dict[str, Any]) -> None:
    shown = "".join(" %s=%s" % (name, _quoted(value)) for name, value in sorted(fields.items()) if value is not None)
    # Who starts the agent in a terminal wants times, and what collects standard error for a journal the priority.
    begins = time.strftime("%H:%M:%S ") if _is_on_a_terminal() else "<%d>" % priority
    system_log.write_to_stderr(("%s%s%s\n" % (begins, line, shown)).encode("utf-8", "replace"))


def _is_on_a_terminal() -> bool:
    try:
        return os.isatty(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):
        return False


def _quoted(value: Any) -> str:
    text = str(value)[:_LONGEST_VALUE]
    return (
        text if text and all(character.isprintable() and character not in ' "=' for character in text) else repr(text)
    )
