# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes what signals ask for, and wakes the loop."""

import os
import signal
from typing import Any, Dict

_STOP = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """What this process was told by signals, from now until `close`. Make it in the main thread."""

    def __init__(self) -> None:
        self.stop_asked = False
        """By SIGTERM or SIGINT."""
        self.reload_asked = False
        """By SIGHUP, since it was last set to False."""
        self._reader, self._writer = os.pipe()
        for descriptor in (self._reader, self._writer):
            os.set_blocking(descriptor, False)
        self._wakeup_before = signal.set_wakeup_fd(self._writer)
        handlers: Dict[int, Any] = dict.fromkeys(_STOP, self._ask_to_stop)
        handlers[signal.SIGHUP] = self._ask_to_reload
        # Only to be woken: a child that closed its output long ago has ended.
        handlers[signal.SIGCHLD] = lambda _number, _frame: None
        self._before = {number: signal.signal(number, handler) for number, handler in handlers.items()}

    def fileno(self) -> int:
        """What becomes readable when a signal has come."""
        return self._reader

    def empty(self) -> None:
        """Have it readable no longer, until the next signal."""
        try:
            while os.read(self._reader, 4096):
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Leave signals to whoever had them before."""
        for number, handler in self._before.items():
            # None is a handler that Python knows nothing of.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._reader)
        os.close(self._writer)

    def _ask_to_stop(self, _number: int, _frame: object) -> None:
        self.stop_asked = True

    def _ask_to_reload(self, _number: int, _frame: object) -> None:
        self.reload_asked = True
