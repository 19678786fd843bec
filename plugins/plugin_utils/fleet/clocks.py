# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Compares the clocks of the hosts with that of the controller.

Every deadline of a run is the controller's time, and every notice is told by a host. All instants are seconds since the
epoch.
"""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

TOLERANCE = 30.0
"""Seconds by which two clocks may differ beyond the round trip of the question."""


class ClockReading(NamedTuple):
    """The time of a host's clock, and the controller's time before and after the question."""

    asked_at: float
    answered_at: float
    said: float

    @property
    def differs(self) -> bool:
        """Whether the clocks differ by more than the tolerance and the round trip."""
        return not self.asked_at - TOLERANCE <= self.said <= self.answered_at + TOLERANCE

    def describe(self) -> str:
        """Name both times."""
        # The end of the round trip that is nearer to the host's time.
        here = self.asked_at if self.said < self.asked_at else self.answered_at
        return "%s by its clock when it was %s by the controller's" % (as_utc(self.said), as_utc(here))


def steady_clock(
    epoch: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
) -> Callable[[], float]:
    """Return a clock that begins with the machine's time, and goes on steadily when that is set meanwhile."""
    ahead = epoch() - monotonic()
    return lambda: ahead + monotonic()


def as_utc(instant: float) -> str:
    """Format an instant as Azure does."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(instant))


def time_of_day(instant: float) -> str:
    """Format an instant for lines of output: in UTC, like the times of events."""
    return time.strftime("%H:%M:%S UTC", time.gmtime(instant))


def why_controller_is_wrong(clocks: Mapping[str, ClockReading]) -> str:
    """Say that the controller's clock is wrong; empty unless at least half of the hosts differ from it.

    :param clocks: by the names of the hosts that have answered
    """
    wrong = [name for name, clock in clocks.items() if clock.differs]
    if not wrong or 2 * len(wrong) < len(clocks):
        return ""
    return (
        "The controller's clock is wrong: %s says it was %s, and %d of the %d hosts that answered differ by more than"
        " %g s. Nothing was touched. Set the clock of the controller (timedatectl, chronyc makestep), and run again"
        % (wrong[0], clocks[wrong[0]].describe(), len(wrong), len(clocks), TOLERANCE)
    )


def why_wrong(clock: ClockReading) -> str:
    """Say that the host's clock is wrong; empty if it is not."""
    if not clock.differs:
        return ""
    return "it was %s: set its clock (timedatectl, chronyc makestep), and run again" % clock.describe()
