# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Ends an operation of an Ansible worker in time.

A host that loses its network, or its power, ends no connection, and SSH waits for it for a quarter of an hour.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from typing import Any


class OutOfTimeError(BaseException):
    """The time is up. It is not an Exception, as Ansible's own is not, because code on the way catches those."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise OutOfTimeError when the time is up. For the main thread of a process."""

    def strike(_number: int, _frame: Any) -> None:
        raise OutOfTimeError

    began = time.monotonic()
    left, _interval = signal.getitimer(signal.ITIMER_REAL)
    if 0 < left <= seconds:
        # The task has a time limit of its own, by ANSIBLE_TASK_TIMEOUT.
        yield
        return
    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 0.001))
