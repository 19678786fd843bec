# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""At which times of the week may be approved? In the words of the handler agent's `approve_between`."""

import re
import zoneinfo
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, NamedTuple

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])\Z|(24):(00)\Z")
_FIXED = re.compile(r"([+-])([01][0-9]|2[0-3]):([0-5][0-9])\Z")
_MINUTES_OF_A_DAY = 1440


class Window(NamedTuple):
    """A time of the day, on some days of the week, by the clocks of a zone."""

    days: tuple[int, ...]
    """On which it begins; Monday is 0."""
    begins: int
    """Minutes since midnight."""
    ends: int
    """The same; no longer part of it. If it is not after the beginning, it is on the next day."""
    zone: tzinfo

    def holds(self, instant: float) -> bool:
        """Whether an instant, in seconds since the epoch, is within it."""
        local = datetime.fromtimestamp(instant, self.zone)
        minute = 60 * local.hour + local.minute
        if self.begins < self.ends:
            return local.weekday() in self.days and self.begins <= minute < self.ends
        begun_today = local.weekday() in self.days and minute >= self.begins
        return begun_today or ((local.weekday() - 1) % 7 in self.days and minute < self.ends)


def is_open(windows: Sequence[Window], instant: float) -> bool:
    """Whether an instant, in seconds since the epoch, is within one of them, or there are none."""
    return not windows or any(window.holds(instant) for window in windows)


def read_windows(content: Any, where: str) -> tuple[Window, ...]:
    """Read a list of them.

    :param where: what to call it in errors
    :raises ValueError: if it makes no sense. The message says where, and what to write
    """
    if isinstance(content, (str, Mapping)) or not isinstance(content, Sequence):
        raise ValueError("%s: write a list of times, each with days, from, to and time_zone, not %r" % (where, content))
    return tuple(read_window(one, "%s[%d]" % (where, index)) for index, one in enumerate(content))


def read_window(content: Any, where: str) -> Window:
    """Read what the operator wrote.

    :param where: what to call it in errors
    :raises ValueError: if it makes no sense. The message says where, and what to write
    """
    if not isinstance(content, Mapping):
        raise ValueError("%s: a time is a dictionary of days, from, to and time_zone, not %r" % (where, content))
    unknown = sorted(set(map(str, content)) - {"days", "from", "to", "time_zone"})
    if unknown:
        raise ValueError("%s.%s: not known: there are days, from, to and time_zone" % (where, unknown[0]))
    days = content.get("days") or DAYS
    if isinstance(days, str) or not all(str(day).lower() in DAYS for day in days):
        raise ValueError("%s.days: %r: write a list of %s" % (where, days, ", ".join(DAYS)))
    begins = _read_time(content.get("from", "00:00"), where + ".from")
    ends = _read_time(content.get("to", "24:00"), where + ".to")
    if begins == ends:
        raise ValueError(
            "%s: it ends when it begins, at '%02d:%02d': write another from or to" % (where, *divmod(begins, 60))
        )
    return Window(
        days=tuple(DAYS.index(str(day).lower()) for day in days),
        begins=begins,
        ends=ends,
        zone=_read_zone(content.get("time_zone", "UTC"), where + ".time_zone"),
    )


def _read_time(text: Any, where: str) -> int:
    # YAML 1.1 reads 22:30 without quotes as a number of base 60.
    if isinstance(text, int) and not isinstance(text, bool) and 0 <= text <= _MINUTES_OF_A_DAY:
        return text
    found = _TIME_OF_DAY.match(str(text))
    if not found:
        raise ValueError("%s: %r is no time of the day: write it with quotes, for example '22:30'" % (where, text))
    hour, minute = [int(one) for one in found.groups() if one is not None]
    return 60 * hour + minute


def _read_zone(content: Any, where: str) -> tzinfo:
    # YAML 1.1 reads +10:00 as a number of base 60, and so does a controller that hands over variables of a launch.
    if isinstance(content, int) and not isinstance(content, bool) and abs(content) < _MINUTES_OF_A_DAY:
        return timezone(timedelta(minutes=content))
    text = str(content)
    fixed = _FIXED.match(text)
    if fixed:
        offset = timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
        return timezone(-offset if fixed[1] == "-" else offset)
    if text == "UTC":
        return timezone.utc
    try:
        return zoneinfo.ZoneInfo(text)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            "%s: the controller does not know the time zone %r: write UTC, +02:00 or a name like Europe/Berlin, and"
            " install tzdata if that is missing" % (where, text)
        ) from error
