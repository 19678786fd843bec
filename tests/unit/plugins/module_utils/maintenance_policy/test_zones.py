# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time in other zones, compared with what Python's own zoneinfo says, and the times of the week.

zoneinfo came with Python 3.9; what needs no other opinion runs on Python 3.6 and later.
"""

import random
import struct
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Dict, List, Tuple

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.maintenance_policy.window import Window, why_closed
from ansible_collections.foghorn.azure_events.plugins.module_utils.maintenance_policy.zones import (
    DIRECTORIES,
    LocalTime,
    UnknownZone,
    offset_at,
    read_zone,
)

HAS_DATABASE = any((Path(directory) / "Europe" / "Berlin").exists() for directory in DIRECTORIES)
needs_database = pytest.mark.skipif(not HAS_DATABASE, reason="this machine has no time zone database")
# North and south, with rules and without, of half an hour, of a quarter, and rules with days and hours of their own.
ZONES = (
    "Europe/Berlin",
    "Europe/Dublin",
    "America/New_York",
    "America/Nuuk",
    "America/Sao_Paulo",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Jerusalem",
    "Asia/Tehran",
    "Africa/Casablanca",
    "Australia/Sydney",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Pacific/Apia",
    "Etc/GMT+5",
    "Etc/UTC",
)
SPRING = datetime(2026, 3, 29, 1, tzinfo=timezone.utc).timestamp()
AUTUMN = datetime(2026, 10, 25, 1, tzinfo=timezone.utc).timestamp()
ALL_DAYS = tuple(range(7))


def zone_file(
    rule: str, instants: Tuple[int, ...] = (), offsets: Tuple[int, ...] = (0,), version: bytes = b"2"
) -> bytes:
    """A file of the database: one type of local time for each of the instants, after a first one."""
    letter = "q" if version >= b"2" else "l"
    kinds = range(1, len(instants) + 1)
    header = struct.pack(">4sc15x6l", b"TZif", version, 0, 0, 0, len(instants), len(offsets), 4)
    body = struct.pack(">%d%s%dB" % (len(instants), letter, len(instants)), *instants, *kinds)
    body += b"".join(struct.pack(">lBB", offset, 0, 0) for offset in offsets) + b"ABC\0"
    if version < b"2":
        return header + body
    # The part for those who read only 32 bits may be empty.
    empty = struct.pack(">4sc15x6l", b"TZif", version, 0, 0, 0, 0, 0, 0)
    return empty + header + body + b"\n" + rule.encode("ascii") + b"\n"


@pytest.fixture
def database(tmp_path: Path) -> Dict[str, bytes]:
    files = {
        "Ends": zone_file("", (1000, 2000), (60, 3600, 7200)),
        "Old": zone_file("", (1000, 2000), (60, 3600, 7200), b"\0"),
        "Fixed": zone_file("<+0330>-3:30"),
        "Days": zone_file("AAA0BBB,J60/0,J300/0"),
        "Zero": zone_file("AAA0BBB,59/0,299/0"),
        "Strange": zone_file("AAA0BBB,Q1,Q2"),
        "Worse": zone_file("no rule"),
        "Short": b"TZif2",
        "Other": b"#!/bin/sh" + b"\0" * 100,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "Directory").mkdir()
    return files


@needs_database
@pytest.mark.skipif(sys.version_info < (3, 9), reason="zoneinfo came with Python 3.9")
@pytest.mark.parametrize("zone", ZONES)
def test_given_a_zone_when_asked_at_any_time_then_the_local_time_is_that_of_zoneinfo(zone: str) -> None:
    import zoneinfo

    other = zoneinfo.ZoneInfo(zone)
    randomness = random.Random(zone)
    instants = [randomness.randrange(0, 4102444800) for _each in range(300)]
    # Every quarter of an hour, and the second before it, of each day of two years on which the clocks change.
    days = [1577836800 + 86400 * day for day in range(800)]
    changes = [day for day in days if offset_at(zone, day) != offset_at(zone, day + 86400)]
    instants += [day + 900 * step - second for day in changes for step in range(97) for second in (0, 1)]
    for instant in instants:
        there = datetime.fromtimestamp(instant, other).utcoffset()
        assert there is not None
        assert offset_at(zone, instant) == there.total_seconds(), datetime.fromtimestamp(instant, timezone.utc)


@pytest.mark.parametrize(
    ("zone", "instant", "offset"),
    [
        ("Ends", 0, 60),
        ("Ends", 999.9, 60),
        ("Ends", 1000, 3600),
        ("Ends", 1e10, 7200),
        ("Old", 1500, 3600),
        ("Fixed", 1e9, 12600),
        # 1 March, in a year with a 29 February and in one without; and by days that are counted through.
        ("Days", datetime(2024, 2, 29, 23, 59, tzinfo=timezone.utc).timestamp(), 0),
        ("Days", datetime(2024, 3, 1, tzinfo=timezone.utc).timestamp(), 3600),
        ("Days", datetime(2025, 2, 28, 23, 59, tzinfo=timezone.utc).timestamp(), 0),
        ("Days", datetime(2025, 3, 1, tzinfo=timezone.utc).timestamp(), 3600),
        ("Zero", datetime(2024, 2, 29, tzinfo=timezone.utc).timestamp(), 3600),
        ("Zero", datetime(2025, 2, 28, 23, 59, tzinfo=timezone.utc).timestamp(), 0),
    ],
)
def test_given_a_file_of_the_database_when_asked_then_it_says_so(
    database: Dict[str, bytes], tmp_path: Path, zone: str, instant: float, offset: int
) -> None:
    assert zone in database
    assert offset_at(zone, instant, ["/nowhere", str(tmp_path)]) == offset


@pytest.mark.parametrize(
    ("zone", "problem"),
    [
        ("Mars/Olympus", "is not in the time zone database of this machine: install tzdata"),
        ("Ends/Further", "is not in the time zone database of this machine"),
        ("../Ends", "is not the name of a time zone"),
        ("Directory", "cannot be read"),
        ("Short", "unpack"),
        ("Other", "its file is not a time zone file"),
        ("Strange", "its rule cannot be read: 'Q1'"),
        ("Worse", "its rule cannot be read: 'no rule'"),
    ],
)
def test_given_a_zone_that_is_not_known_when_asked_then_the_reason_is_reported(
    database: Dict[str, bytes], tmp_path: Path, zone: str, problem: str
) -> None:
    assert database
    with pytest.raises(UnknownZone, match="^" + zone.replace(".", r"\.") + ": .*" + problem):
        offset_at(zone, 0.0, [str(tmp_path)])


def test_given_an_offset_when_asked_then_no_database_is_needed() -> None:
    assert [offset_at(zone, 0.0, []) for zone in ("UTC", "+02:00", "-03:30")] == [0, 7200, -12600]


@pytest.mark.parametrize("text", ["UTC", "+02:00", "-11:30", "Europe/Berlin", "America/Argentina/Ushuaia", "Etc/GMT+5"])
def test_given_what_may_be_a_zone_when_checked_then_it_is_one(text: str) -> None:
    assert read_zone(text) == text


@pytest.mark.parametrize("text", ["", "/etc/passwd", "../UTC", "Europe/", "+2", "Europe/Berlin\n", "a b"])
def test_given_input_that_is_no_zone_when_checked_then_it_is_refused(text: str) -> None:
    assert read_zone(text) is None


# --- times of the week ------------------------------------------------------------------------------


def minutes_open(window: Window, begins: float, hours: int = 24) -> List[str]:
    """The times, in UTC, at which a window opens and closes, within so many hours."""
    clocks, found, was_open = LocalTime(), [], False
    for minute in range(hours * 60 + 1):
        instant = begins + 60.0 * minute
        is_open = why_closed((window,), instant, clocks) is None
        if is_open != was_open:
            found.append(datetime.fromtimestamp(instant, timezone.utc).strftime("%a %H:%M"))
        was_open = is_open
    return found


def at(year: int, month: int, day: int) -> float:
    return datetime(year, month, day, tzinfo=timezone.utc).timestamp()


def test_given_no_windows_when_asked_then_it_is_always_time() -> None:
    assert why_closed((), 0.0, LocalTime()) is None


def test_given_a_window_on_some_days_when_the_week_passes_then_it_is_open_on_those() -> None:
    window = Window((0, 2), 9 * 60, 10 * 60 + 30, "UTC")
    # 5 January 2026 is a Monday.
    assert minutes_open(window, at(2026, 1, 5), 168) == ["Mon 09:00", "Mon 10:30", "Wed 09:00", "Wed 10:30"]


def test_given_a_window_past_midnight_when_the_week_passes_then_it_belongs_to_the_day_on_which_it_begins() -> None:
    window = Window((4, 6), 22 * 60, 5 * 60, "UTC")
    opens = "Mon 00:00, Mon 05:00, Fri 22:00, Sat 05:00, Sun 22:00, Mon 05:00"
    assert ", ".join(minutes_open(window, at(2026, 1, 5), 192)) == opens


def test_given_a_whole_day_when_it_passes_then_it_is_open_from_midnight_to_midnight() -> None:
    assert minutes_open(Window((0,), 0, 1440, "UTC"), at(2026, 1, 4), 72) == ["Mon 00:00", "Tue 00:00"]


def test_given_a_window_to_midnight_when_it_passes_then_it_does_not_run_on() -> None:
    assert minutes_open(Window((0,), 23 * 60, 1440, "UTC"), at(2026, 1, 5), 72) == ["Mon 23:00", "Tue 00:00"]


@needs_database
def test_given_another_zone_when_its_day_is_another_then_the_days_are_the_zones_own() -> None:
    window = Window((0,), 8 * 60, 9 * 60, "Asia/Tokyo")
    assert minutes_open(window, at(2026, 1, 4), 48) == ["Sun 23:00", "Mon 00:00"]


@needs_database
@pytest.mark.parametrize(
    ("begins", "ends", "opens"),
    [
        # At 01:00 UTC the clocks go from 02:00 to 03:00: what lies between is never.
        ((2, 15), (2, 45), []),
        ((1, 30), (2, 30), ["Sun 00:30", "Sun 01:00"]),
        ((2, 30), (3, 30), ["Sun 01:00", "Sun 01:30"]),
        ((1, 0), (4, 0), ["Sun 00:00", "Sun 02:00"]),
    ],
)
def test_given_clocks_that_are_set_forward_then_a_window_does_not_include_the_missing_hour(
    begins: Tuple[int, int], ends: Tuple[int, int], opens: List[str]
) -> None:
    window = Window(ALL_DAYS, begins[0] * 60 + begins[1], ends[0] * 60 + ends[1], "Europe/Berlin")
    assert minutes_open(window, SPRING - 7200, 6) == opens


@needs_database
@pytest.mark.parametrize(
    ("begins", "ends", "opens"),
    [
        # At 01:00 UTC the clocks go from 03:00 back to 02:00: what lies between comes twice.
        ((2, 15), (2, 45), ["Sun 00:15", "Sun 00:45", "Sun 01:15", "Sun 01:45"]),
        ((1, 30), (2, 30), ["Sat 23:30", "Sun 00:30", "Sun 01:00", "Sun 01:30"]),
        ((2, 30), (3, 30), ["Sun 00:30", "Sun 01:00", "Sun 01:30", "Sun 02:30"]),
    ],
)
def test_given_clocks_that_are_set_back_then_a_window_includes_the_hour_that_comes_twice_both_times(
    begins: Tuple[int, int], ends: Tuple[int, int], opens: List[str]
) -> None:
    window = Window(ALL_DAYS, begins[0] * 60 + begins[1], ends[0] * 60 + ends[1], "Europe/Berlin")
    assert minutes_open(window, AUTUMN - 7200, 6) == opens


def test_given_a_zone_that_is_not_known_when_asked_then_it_is_never_time_and_the_reason_is_reported() -> None:
    windows = (Window(ALL_DAYS, 0, 1440, "Mars/Olympus"), Window(ALL_DAYS, 0, 60, "UTC"))
    assert why_closed(windows, 1800.0, LocalTime()) is None
    said = why_closed(windows, 7200.0, LocalTime())
    assert said is not None
    assert said.startswith("outside approve_between; Mars/Olympus: is not in the time zone database")


def test_given_a_database_that_is_brought_up_to_date_when_a_minute_has_passed_then_it_is_noticed(
    tmp_path: Path,
) -> None:
    clocks = LocalTime([str(tmp_path)])
    (tmp_path / "Here").write_bytes(zone_file("AAA-1"))
    assert clocks.minutes("Here", 120.0) == 62
    (tmp_path / "Here").write_bytes(zone_file("AAA-2"))
    assert clocks.minutes("Here", 179.0) == 62
    assert clocks.minutes("Here", 180.0) == 123
