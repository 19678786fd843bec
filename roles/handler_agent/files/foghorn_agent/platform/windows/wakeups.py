# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes what the service manager or the console asks for, and wakes the loop."""

import contextlib
import signal
import socket
import threading
from typing import Any, Dict

from . import nt_service


class Signals:
    """What this process was told, from now until `close`."""

    def __init__(self) -> None:
        self.stop_asked = False
        """By the service manager, Ctrl-C or Ctrl-Break."""
        self.reload_asked = False
        """By the service manager, since it was last set to False."""
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        self._before: Dict[int, Any] = {}
        nt_service.listen(self._ask_to_stop, self._ask_to_reload)
        # Of a service, the main thread belongs to the service manager.
        self._is_main = threading.current_thread() is threading.main_thread()
        if self._is_main:
            self._wakeup_before = signal.set_wakeup_fd(self._writer.fileno())
            for name in ("SIGINT", "SIGTERM", "SIGBREAK"):
                number = getattr(signal, name)
                self._before[number] = signal.signal(number, lambda _number, _frame: self._ask_to_stop())

    def fileno(self) -> int:
        """What becomes readable when something was asked."""
        return self._reader.fileno()

    def empty(self) -> None:
        """Have it readable no longer, until something is asked."""
        with contextlib.suppress(BlockingIOError):
            while self._reader.recv(4096):
                pass

    def close(self) -> None:
        """Leave signals to whoever had them before."""
        nt_service.listen(lambda: None, lambda: None)
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if self._is_main:
            signal.set_wakeup_fd(self._wakeup_before)
        self._reader.close()
        self._writer.close()

    def _ask_to_stop(self) -> None:
        self.stop_asked = True
        self._wake()

    def _ask_to_reload(self) -> None:
        self.reload_asked = True
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._writer.send(b"\0")
