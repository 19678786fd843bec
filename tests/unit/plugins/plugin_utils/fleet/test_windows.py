# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""At which times of the week events are approved."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.windows import is_open, read_window

NIGHTS = {"days": ["mon", "fri"], "from": "22:00", "to": "05:00", "time_zone": "Europe/Berlin"}


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        # A Monday, and Berlin is two hours ahead in summer.
        ("2026-07-06T19:59:00+00:00", False),
        ("2026-07-06T20:00:00+00:00", True),
        ("2026-07-07T02:59:00+00:00", True),
        ("2026-07-07T03:00:00+00:00", False),
        ("2026-07-07T20:30:00+00:00", False),
        ("2026-07-11T01:00:00+00:00", True),
        # And one hour in winter.
        ("2026-12-07T20:30:00+00:00", False),
        ("2026-12-07T21:00:00+00:00", True),
    ],
)
def test_given_a_time_past_midnight_then_it_belongs_to_the_day_on_which_it_begins(moment: str, expected: bool) -> None:
    window = read_window(NIGHTS, "here")

    assert is_open([window], datetime.fromisoformat(moment).timestamp()) == expected


@pytest.mark.parametrize(
    ("content", "moment", "expected"),
    [
        ({}, "2026-07-06T00:00:00+00:00", True),
        ({"days": ["TUE"]}, "2026-07-06T23:59:00+00:00", False),
        ({"from": "12:00"}, "2026-07-06T11:59:59+00:00", False),
        ({"to": "12:00"}, "2026-07-06T11:59:59+00:00", True),
        ({"from": 1320}, "2026-07-06T22:00:00+00:00", True),
        ({"to": "06:00", "time_zone": "+02:00"}, "2026-07-06T04:00:00+00:00", False),
        # As YAML 1.1 reads +10:00 and -10:00 without quotes.
        ({"to": "06:00", "time_zone": 600}, "2026-07-06T20:00:00+00:00", False),
        ({"to": "06:00", "time_zone": -600}, "2026-07-06T15:59:00+00:00", True),
        ({"to": "06:00", "time_zone": "-02:00"}, "2026-07-06T07:59:00+00:00", True),
    ],
)
def test_given_only_part_of_a_time_then_the_rest_is_all_week_all_day_and_utc(
    content: dict[str, Any], moment: str, expected: bool
) -> None:
    assert is_open([read_window(content, "here")], datetime.fromisoformat(moment).timestamp()) == expected


def test_given_no_times_then_it_is_always_time() -> None:
    assert is_open([], 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("22:00-05:00", r"here: a time is a dictionary of days, from, to and time_zone, not '22:00-05:00'"),
        ({"form": "22:00"}, r"here\.form: not known: there are days, from, to and time_zone"),
        ({"days": "mon"}, r"here\.days: 'mon': write a list of mon, tue"),
        ({"days": ["monday"]}, r"here\.days: \['monday'\]: write a list of mon, tue"),
        ({"from": "9:00"}, r"here\.from: '9:00' is no time of the day"),
        ({"to": "24:01"}, r"here\.to: '24:01' is no time of the day"),
        ({"to": True}, r"here\.to: True is no time of the day"),
        ({"time_zone": "Europe/Atlantis"}, r"here\.time_zone: the controller does not know .* 'Europe/Atlantis'"),
        ({"time_zone": 1440}, r"here\.time_zone: the controller does not know"),
        ({"time_zone": True}, r"here\.time_zone: the controller does not know"),
        ({"time_zone": "../etc/passwd"}, r"here\.time_zone: the controller does not know"),
    ],
)
def test_given_what_is_no_time_then_it_is_refused_with_its_place(content: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_window(content, "here")
