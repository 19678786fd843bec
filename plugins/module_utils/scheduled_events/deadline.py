# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Deadlines, and the options that set them."""

import time
from typing import Any, Callable, Mapping

from .errors import OptionError

LONGEST_TIME = 86400  # seconds; longer than any event stays


class Deadline:
    """A moment on a monotonic clock by which work must be done. Several requests may share one."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def remaining(self) -> float:
        """Seconds left; zero or less when it has passed."""
        return self._end - self._clock()


def read_seconds(options: Mapping[str, Any], name: str) -> float:
    """Check a time.

    :raises OptionError: if it is not above 0 and at most a day
    """
    value = float(options[name])
    # Written so that a NaN fails as well.
    if not 0 < value <= LONGEST_TIME:
        raise OptionError("%s: %g is not a time. Give seconds, above 0 and up to %d" % (name, value, LONGEST_TIME))
    return value
