# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The times of the week at which approvals are allowed, by the controller's clock."""

import importlib.util
import os
import zoneinfo
from collections.abc import Sequence
from typing import Any

from ..module_utils.maintenance_policy.reader import Section
from ..module_utils.maintenance_policy.window import Window, read_windows, why_closed
from ..module_utils.maintenance_policy.zones import LocalTime


def zone_directories() -> tuple[str, ...]:
    """Where the controller has its time zones: the system's database, or that of the package tzdata of Python."""
    package = importlib.util.find_spec("tzdata")
    places = [] if package is None else list(package.submodule_search_locations or ())
    return (*zoneinfo.TZPATH, *(os.path.join(place, "zoneinfo") for place in places))


def is_open(windows: Sequence[Window], instant: float) -> bool:
    """Whether an instant, in seconds since the epoch, is within one of them, or none are given."""
    return why_closed(windows, instant, LocalTime(zone_directories())) is None


def read_times(content: Any, name: str) -> tuple[Window, ...]:
    """Read a list of times.

    :param name: what to call it in errors
    :raises ValueError: with every mistake in it, and what to write
    """
    mistakes: list[str] = []
    section = Section({name: content}, "", mistakes)
    windows = read_windows(section, name, zone_directories())
    section.finish()
    if mistakes:
        raise ValueError("; ".join(mistakes))
    return windows
