# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""At which times of the week may be approved? Pure, but for the time zones' own files."""

from typing import TYPE_CHECKING, NamedTuple, Optional, Sequence, Tuple

if TYPE_CHECKING:
    from .zones import LocalTime

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MINUTES_OF_A_DAY = 1440

_FIRST_DAY = 3  # 1970 began on a Thursday.


class Window(NamedTuple):
    """A time of the day, on some days of the week, by the clocks of a zone.

    A minute that the clocks leave out in spring is in no window, one that they show twice in autumn is so twice.
    """

    days: Tuple[int, ...]
    """On which it begins; Monday is 0."""
    begins: int
    """Minutes since midnight."""
    ends: int
    """The same; no longer part of it. If it is not after the beginning, it is on the next day."""
    zone: str

    def holds(self, local_minutes: int) -> bool:
        """Whether a minute is within it, by the zone's own count."""
        day, minute = divmod(local_minutes, MINUTES_OF_A_DAY)
        weekday = (day + _FIRST_DAY) % 7
        if self.begins < self.ends:
            return weekday in self.days and self.begins <= minute < self.ends
        return (weekday in self.days and minute >= self.begins) or (
            (weekday - 1) % 7 in self.days and minute < self.ends
        )


def why_closed(windows: Sequence[Window], instant: float, clocks: "LocalTime") -> Optional[str]:
    """Why now is not the time; None if it is, or if there are no windows.

    :param instant: seconds since the epoch
    """
    # Only here: the agent's memory is dear, and most policies may approve at any time.
    from .zones import UnknownZone

    troubles = []
    for window in windows:
        try:
            if window.holds(clocks.minutes(window.zone, instant)):
                return None
        except UnknownZone as error:
            troubles.append(str(error))
    if not windows:
        return None
    return "; ".join(["outside approve_between", *troubles])
