# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time, and which boot of the machine it belongs to."""

from typing import Callable, NamedTuple, Optional

SMALLEST_STEP = 1.0  # seconds
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Clocks(NamedTuple):
    """The time, as the agent sees it."""

    monotonic: Callable[[], float]
    wall: Callable[[], float]


def boot_id(path: str = _BOOT_ID) -> Optional[str]:
    """What stays the same until the machine boots again; None where the system does not say."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read(64).strip() or None
    except (OSError, ValueError):
        return None


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
