# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Both forms of dates that Azure writes, read without the locale of the machine, and the one that we write."""

import re
from datetime import datetime, timedelta, timezone
from typing import Any, Optional

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Mon, 19 Sep 2016 18:29:47 GMT, or +0200 in its place. strptime would read the names in the machine's locale.
_RFC_1123 = re.compile(
    r"(?:[a-z]{3}, )?([0-9]{1,2}) ([a-z]{3}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) "
    r"(?:gmt|utc|z|([+-])([0-9]{2})([0-9]{2}))\Z"
)
# 2016-09-19T18:29:47Z, with or without a fraction. Without a zone it is UTC: IMDS knows no other.
_ISO_8601 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[t ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?"
    r"(?:z|([+-])([0-9]{2}):?([0-9]{2}))?\Z"
)


def parse_date(text: str) -> datetime:
    """Read `Mon, 19 Sep 2016 18:29:47 GMT` or `2016-09-19T18:29:47Z`, to the second.

    :returns: the instant, in UTC
    :raises ValueError: if it is neither form, or no such date
    """
    lowered = text.strip().lower()
    match = _RFC_1123.match(lowered)
    if match:
        day, month, year, hour, minute, second = match.groups()[:6]
        if month in _MONTHS:
            return _at_offset(_utc(year, _MONTHS.index(month) + 1, day, hour, minute, second), *match.groups()[6:])
    match = _ISO_8601.match(lowered)
    if match:
        return _at_offset(_utc(*match.groups()[:6]), *match.groups()[6:])
    raise ValueError("neither an RFC 1123 nor an ISO 8601 date")


def format_date(instant: datetime) -> str:
    """Write an instant as RFC 3339 in UTC, to the second: `2016-09-19T18:29:47Z`."""
    # isoformat, unlike strftime, writes years before 1000 with four digits everywhere.
    return instant.astimezone(timezone.utc).replace(tzinfo=None, microsecond=0).isoformat() + "Z"


def _utc(year: Any, month: Any, day: Any, hour: Any, minute: Any, second: Any) -> datetime:
    # A leap second has no datetime of its own; the second before it is the safe side of a deadline.
    return datetime(int(year), int(month), int(day), int(hour), int(minute), min(int(second), 59), tzinfo=timezone.utc)


def _at_offset(local: datetime, sign: Optional[str], hours: Any, minutes: Any) -> datetime:
    """The instant at which a clock that is this far from UTC shows `local`. Without a sign it is UTC."""
    if sign is None:
        return local
    if int(hours) > 23 or int(minutes) > 59:
        raise ValueError("offset from UTC out of range")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    try:
        return local - offset if sign == "+" else local + offset
    except OverflowError:
        raise ValueError("date out of range") from None
