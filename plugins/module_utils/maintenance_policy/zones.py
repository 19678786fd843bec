# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Local times in time zones with IANA names, from the database of the machine.

Neither does Python 3.6 know them, nor may a process with threads change its TZ for a moment: others read its
environment meanwhile. So the files are read here: RFC 8536, and POSIX's rule at their end for all that comes after.
"""

import os
import re
import struct
from bisect import bisect_right
from datetime import date
from typing import Any, Match, NamedTuple, Optional, Sequence, Tuple

# Windows has no such files, and finds these paths below the root of a drive, where any user may put some.
DIRECTORIES: Sequence[str] = (
    ("/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo")
    if os.name == "posix"
    else ()
)
UTC = "UTC"

_MINUTES_OF_A_DAY = 1440
_LARGEST_FILE = 1024 * 1024  # bytes
_EPOCH = date(1970, 1, 1).toordinal()
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*\Z")
_FIXED = re.compile(r"([+-])([01][0-9]|2[0-3]):([0-5][0-9])\Z")
_HEADER = struct.Struct(">4sc15x6l")
_ABBREVIATION = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]+>)"
_TIME = r"[+-]?[0-9]{1,3}(?::[0-9]{2}){0,2}"
_RULE = re.compile(
    r"%s(?P<std>%s)(?:%s(?P<dst>%s)?,(?P<begins>[^,]+),(?P<ends>[^,]+))?\Z"
    % (_ABBREVIATION, _TIME, _ABBREVIATION, _TIME)
)
_DAY = re.compile(r"(?:M([0-9]{1,2})\.([1-5])\.([0-6])|(J?)([0-9]{1,3}))(?:/(%s))?\Z" % _TIME)


class UnknownZone(ValueError):
    """This machine cannot tell the time of a zone. The message says why."""


class _Table(NamedTuple):
    """The content of a file: the offsets, in seconds east of UTC, and the second from which each one holds."""

    first: int
    instants: Sequence[int]
    offsets: Sequence[int]
    rule: str
    """The rule for everything after the last of the instants."""


def read_zone(given: Any) -> Optional[str]:
    """Spell what may be a zone: `UTC`, `+02:00` or a name like `Europe/Berlin`, be it known here or not.

    :returns: None if it is none
    """
    # YAML 1.1 reads +10:00 as a number of base 60, and so does a controller that hands over variables of a launch.
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) < _MINUTES_OF_A_DAY:
        return "%s%02d:%02d" % ("-" if given < 0 else "+", abs(given) // 60, abs(given) % 60)
    if not isinstance(given, str) or not (_FIXED.match(given) or _NAME.match(given)):
        return None
    return UTC if given.upper() == UTC else str(given)


def is_known(zone: str, directories: Sequence[str]) -> bool:
    """Whether the time of a zone can be told here."""
    try:
        offset_at(zone, 0.0, directories)
    except UnknownZone:
        return False
    return True


def offset_at(zone: str, instant: float, directories: Sequence[str] = DIRECTORIES) -> int:
    """How many seconds a zone's clocks are ahead of UTC at an instant.

    :param instant: seconds since the epoch
    :raises UnknownZone: if this machine does not know the zone
    """
    if zone == UTC:
        return 0
    fixed = _FIXED.match(zone)
    if fixed:
        seconds = int(fixed.group(2)) * 3600 + int(fixed.group(3)) * 60
        return -seconds if fixed.group(1) == "-" else seconds
    try:
        table = _read_table(_read_file(zone, directories))
        passed = bisect_right(table.instants, instant)
        if table.rule and passed == len(table.instants):
            return _offset_by_rule(table.rule, int(instant // 1))
        return table.offsets[passed - 1] if passed else table.first
    except (ValueError, IndexError, struct.error) as error:
        raise UnknownZone("%s: %s" % (zone, error)) from None


def _read_file(zone: str, directories: Sequence[str]) -> bytes:
    if not _NAME.match(zone):
        raise ValueError("is not the name of a time zone")
    for directory in directories:
        path = os.path.join(directory, zone)
        try:
            with open(path, "rb") as file:
                return file.read(_LARGEST_FILE)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise ValueError("%s cannot be read: %s" % (path, error.strerror)) from None
    raise ValueError("is not in the time zone database of this machine: install tzdata")


def _read_table(content: bytes) -> _Table:
    magic, version, counts = _read_header(content, 0)
    if magic != b"TZif":
        raise ValueError("its file is not a time zone file")
    at, width = _HEADER.size, 4
    if version >= b"2":
        # The same data again, for more years, and with the rule behind it.
        at += _length(counts, width)
        _magic, _version, counts = _read_header(content, at)
        at, width = at + _HEADER.size, 8
    instant_count, type_count = counts[3], counts[4]
    instants = struct.unpack_from(">%d%s" % (instant_count, "q" if width == 8 else "l"), content, at)
    types_at = at + instant_count * width
    kinds = struct.unpack_from(">%dB" % instant_count, content, types_at)
    offsets = [struct.unpack_from(">l", content, types_at + instant_count + 6 * each)[0] for each in range(type_count)]
    rule = ""
    if version >= b"2":
        rule = content[at + _length(counts, width) :].split(b"\n")[1].decode("ascii")
    return _Table(offsets[0], instants, [offsets[kind] for kind in kinds], rule)


def _read_header(content: bytes, at: int) -> Tuple[bytes, bytes, Tuple[int, ...]]:
    magic, version, *counts = _HEADER.unpack_from(content, at)
    return magic, version, tuple(counts)


def _length(counts: Tuple[int, ...], width: int) -> int:
    """How many bytes follow a header."""
    is_ut, is_std, leaps, instants, types, characters = counts
    return instants * (width + 1) + types * 6 + characters + leaps * (width + 4) + is_std + is_ut


def _offset_by_rule(rule: str, instant: int) -> int:
    """The offset by a rule of POSIX's, like `CET-1CEST,M3.5.0,M10.5.0/3`."""
    match = _RULE.match(rule)
    if not match:
        raise ValueError("its rule cannot be read: %r" % rule)
    # POSIX counts westward.
    standard = -_seconds(match.group("std"))
    if match.group("begins") is None:
        return standard
    summer = standard + 3600 if match.group("dst") is None else -_seconds(match.group("dst"))
    year = date.fromordinal(_EPOCH + (instant + standard) // 86400).year
    begins = _instant_of(match.group("begins"), year) - standard
    ends = _instant_of(match.group("ends"), year) - summer
    if begins < ends:
        return summer if begins <= instant < ends else standard
    # South of the equator, summer is at the end of the year and at its beginning.
    return standard if ends <= instant < begins else summer


def _instant_of(text: str, year: int) -> int:
    """When a rule's day and time come in a year, as if it were UTC."""
    match = _DAY.match(text)
    if not match:
        raise ValueError("its rule cannot be read: %r" % text)
    time_of_day = 7200 if match.group(6) is None else _seconds(match.group(6))
    return (_day_of(match, year) - _EPOCH) * 86400 + time_of_day


def _day_of(match: "Match[str]", year: int) -> int:
    month, week, weekday, is_julian, number = match.groups()[:5]
    if month is None:
        day = date(year, 1, 1).toordinal() + int(number)
        if not is_julian:
            return day
        # Counted from 1, and 29 February never counts.
        is_leap = date(year, 12, 31).toordinal() - date(year, 1, 1).toordinal() == 365
        return day - 1 + (is_leap and int(number) >= 60)
    first = date(year, int(month), 1)
    day = first.toordinal() + (int(weekday) - first.isoweekday()) % 7 + 7 * (int(week) - 1)
    # Week 5 is the last one.
    return day if date.fromordinal(day).month == first.month else day - 7


def _seconds(text: str) -> int:
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    seconds = sum(part * unit for part, unit in zip(parts, (3600, 60, 1)))
    return -seconds if text.startswith("-") else seconds


class LocalTime:
    """The time in zones, to the minute. Each is looked up once a minute, so that a newer database is noticed."""

    def __init__(self, directories: Sequence[str] = DIRECTORIES) -> None:
        self._directories = directories
        self._minute: Optional[int] = None
        self._known = {}  # type: dict[str, int]

    def minutes(self, zone: str, instant: float) -> int:
        """Minutes that a zone's clocks have counted since 1970 began there.

        :raises UnknownZone: if this machine does not know the zone
        """
        minute = int(instant // 60)
        if minute != self._minute:
            self._minute, self._known = minute, {}
        if zone not in self._known:
            self._known[zone] = int((minute * 60 + offset_at(zone, minute * 60.0, self._directories)) // 60)
        return self._known[zone]
