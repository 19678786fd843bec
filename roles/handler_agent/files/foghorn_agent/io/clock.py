# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time."""

from typing import Callable, NamedTuple

SMALLEST_STEP = 1.0  # seconds


class Clocks(NamedTuple):
    """The time, as the agent sees it."""

    monotonic: Callable[[], float]
    """Counts hibernation, too."""
    wall: Callable[[], float]


class Steps:
    """Notices when the wall clock is put right: it and the clock that cannot be set part."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self._ahead = self._difference()

    def look(self) -> float:
        """By how many seconds the wall clock was put on since the last look; negative if it was set back."""
        ahead = self._difference()
        step = ahead - self._ahead
        if abs(step) < SMALLEST_STEP:
            # It is made to run a little faster or slower, which comes to this in time.
            return 0.0
        self._ahead = ahead
        return step

    def _difference(self) -> float:
        return self._clocks.wall() - self._clocks.monotonic()
