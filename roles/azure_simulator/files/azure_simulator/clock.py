# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated time: as fast as the wall, N times faster, or advanced by hand.

Two kinds of instants occur. *Simulated* ones (epoch seconds) are what the world is driven by.
*Wall* ones are what clients compare with their own clock: ``NotBefore`` and every time in the
control API.
"""

from __future__ import annotations

import time
from typing import Callable, Protocol


class Clock(Protocol):
    """What the world and its doors ask of time."""

    @property
    def speed(self) -> float:
        """Simulated seconds per real second."""

    @property
    def manual(self) -> bool:
        """True when time moves only by :meth:`ManualClock.move_to`."""

    def now(self) -> float:
        """The simulated instant."""

    def wall(self, instant: float) -> float:
        """The wall-clock instant at which a simulated one is reached."""


class ScaledClock:
    """Starts at the real time and runs ``speed`` times as fast; never goes back."""

    manual = False

    def __init__(
        self,
        speed: float = 1.0,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.speed = speed
        self._monotonic = monotonic
        self._start = wall()
        self._start_monotonic = monotonic()

    def now(self) -> float:
        return self._start + (self._monotonic() - self._start_monotonic) * self.speed

    def wall(self, instant: float) -> float:
        return self._start + (instant - self._start) / self.speed


class ManualClock:
    """Stands still until it is moved. Its simulated time is its wall time."""

    manual = True
    speed = 1.0

    def __init__(self, start: float | None = None) -> None:
        self._now = time.time() if start is None else start

    def now(self) -> float:
        return self._now

    def wall(self, instant: float) -> float:
        return instant

    def move_to(self, instant: float) -> None:
        """Move forward to ``instant``; ValueError when that lies in the past."""
        if instant < self._now:
            raise ValueError(f"time cannot go back from {self._now} to {instant}")
        self._now = instant
