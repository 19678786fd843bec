# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Waits until a condition holds, and reports progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

_Seen = TypeVar("_Seen")

# Seconds. Most waits end before anybody asks what is going on.
_FIRST_WORD = 10.0
_NEXT_WORD = 30.0


class Patience(NamedTuple):
    """How long to wait, in seconds."""

    timeout: float
    """The maximum. There is one more poll at its end."""
    interval: float
    """Between the end of a poll and the next poll."""


def wait_until(
    look: Callable[[], _Seen],
    is_so: Callable[[_Seen], bool],
    patience: Patience,
    tell: Callable[[str], None],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> tuple[_Seen, bool]:
    """Poll until the condition holds or the time is up; at least once. Returns the last result, and whether the
    condition holds.

    :param tell: is given how long has been waited, from time to time, but not of a short wait
    :param clock: seconds, from any beginning
    """
    began = clock()
    word_at = began + _FIRST_WORD
    while True:
        seen = look()
        if is_so(seen):
            return seen, True
        now = clock()
        left = began + patience.timeout - now
        if left <= 0:
            return seen, False
        if now >= word_at:
            tell("%.0f s of at most %.0f s" % (now - began, patience.timeout))
            word_at = now + _NEXT_WORD
        sleep(min(patience.interval, left))
