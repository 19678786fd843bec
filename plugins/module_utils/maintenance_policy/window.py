# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The times of the week at which approvals are allowed. Pure, apart from the files of the time zones."""

import re
from typing import TYPE_CHECKING, NamedTuple, Optional, Sequence, Tuple

from .reader import Section

if TYPE_CHECKING:
    from .zones import LocalTime

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MINUTES_OF_A_DAY = 1440

_TIME_OF_DAY = re.compile(r"(?:([01][0-9]|2[0-3]):([0-5][0-9])|24:00)\Z")
_ZONE = "UTC, +02:00 or a name like Europe/Berlin, on Linux with tzdata"
_FIRST_DAY = 3  # 1970 began on a Thursday.


class Window(NamedTuple):
    """A time of the day, on some days of the week, by the clocks of a zone.

    A minute that the clocks leave out in spring is in no window, one that they show twice in autumn is so twice.
    """

    days: Tuple[int, ...]
    """The days on which it begins; Monday is 0."""
    begins: int
    """Minutes since midnight."""
    ends: int
    """Minutes since midnight, exclusive. If this is not after the beginning, it is on the next day."""
    zone: str

    @property
    def length(self) -> int:
        """Minutes from its beginning to its end, by the clocks."""
        return (self.ends - self.begins - 1) % MINUTES_OF_A_DAY + 1

    def holds(self, local_minutes: int) -> bool:
        """Whether a minute is within it, by the zone's own count."""
        day, minute = divmod(local_minutes, MINUTES_OF_A_DAY)
        weekday = (day + _FIRST_DAY) % 7
        if self.begins < self.ends:
            return weekday in self.days and self.begins <= minute < self.ends
        return (weekday in self.days and minute >= self.begins) or (
            (weekday - 1) % 7 in self.days and minute < self.ends
        )


def read_windows(section: Section, name: str, directories: Optional[Sequence[str]] = None) -> Tuple[Window, ...]:
    """Read a list of them. What is wrong with it is noted in the section.

    :param directories: where time zones are found; None to take one that is unknown here
    """
    return tuple(_read_window(each, directories) for each in section.sections(name))


def _read_window(section: Section, directories: Optional[Sequence[str]]) -> Window:
    # Imported here to save the agent's memory: most policies may approve at any time.
    from .zones import UTC, is_known, read_zone

    begins = _read_time(section, "from", 0)
    ends = _read_time(section, "to", MINUTES_OF_A_DAY)
    if begins == ends:
        section.mistake("to", "%02d:%02d" % divmod(ends, 60), "another time than that of from")
    days = section.texts("days", DAYS)
    zone: Optional[str] = UTC
    if section.has("time_zone"):
        zone = read_zone(section.content["time_zone"])
        if zone is None or (directories is not None and not is_known(zone, directories)):
            section.mistake("time_zone", section.content["time_zone"], _ZONE)
    return Window(tuple(DAYS.index(day) for day in days or DAYS), begins, ends, zone or UTC)


def _read_time(section: Section, name: str, default: int) -> int:
    if not section.has(name):
        return default
    value = section.content[name]
    # YAML 1.1 reads 22:30 without quotes as a number of base 60.
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MINUTES_OF_A_DAY:
        return value
    if not isinstance(value, str) or not _TIME_OF_DAY.match(value):
        section.mistake(name, value, "a time of the day like 06:30")
        return default
    hours, minutes = value.split(":")
    return int(hours) * 60 + int(minutes)


def why_closed(
    windows: Sequence[Window], instant: float, clocks: "LocalTime", spread: float = 0.0, share: float = 0.0
) -> Optional[str]:
    """Why now is not the time; None if it is, or if there are no windows.

    :param instant: seconds since the epoch
    :param spread: seconds within which a window opens for all, never more than half of the window
    :param share: the part of `spread`, from 0 to less than 1, after which it opens for the one who asks
    """
    # Imported here to save the agent's memory: most policies may approve at any time.
    from .zones import UnknownZone

    problems = []
    has_begun = False
    for window in windows:
        try:
            minutes = clocks.minutes(window.zone, instant)
        except UnknownZone as error:
            problems.append(str(error))
            continue
        if window.holds(minutes):
            # Who waits comes to the window's beginning so many seconds later than the clocks do.
            waits = share * min(spread, window.length * 30)
            if window.holds(minutes + int((instant % 60 - waits) // 60)):
                return None
            has_begun = True
    if not windows:
        return None
    if has_begun:
        return "its moment within approve_spread has not come"
    return "; ".join(["outside approve_between", *problems])
