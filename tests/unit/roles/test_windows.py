# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Agent and controller each read the times at which may be approved: do both mean the same?"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.windows import is_open, read_windows
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]
LINKS = ROOT / ".cache" / "agent"

runpy.run_path(str(ROOT / "tools" / "link_collection.py"))["link_core"](str(ROOT), str(LINKS))
sys.path[:0] = [str(ROOT / "roles" / "handler_agent" / "files"), str(LINKS)]

from foghorn_agent.config import ConfigError, parse_config  # noqa: E402 - found on the path set above
from foghorn_agent.windows import why_closed  # noqa: E402
from foghorn_agent.zones import LocalTime  # noqa: E402

DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
ZONES = ["UTC", "+05:45", "-11:30", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia"]

times_of_day = st.one_of(
    st.sampled_from(["00:00", "24:00", "24:01", "9:00", "23:59"]),
    st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda time: "{:02}:{:02}".format(*time)),
)
windows = st.fixed_dictionaries(
    {},
    optional={
        "days": st.lists(st.sampled_from(DAYS), unique=True),
        "from": times_of_day,
        "to": times_of_day,
        "time_zone": st.sampled_from(ZONES),
    },
)


def opinion_of_the_agent(content: Any, instant: float) -> bool | None:
    """Whether it is time; None if it takes no such configuration."""
    rule = {"drain": [{"pause": 1}], "approve_between": content}
    try:
        config = parse_config({"policies": [rule]})
    except ConfigError:
        return None
    return why_closed(config.rules[0].plan.approve_between, instant, LocalTime()) is None


def opinion_of_the_controller(content: Any, instant: float) -> bool | None:
    """The same."""
    try:
        return is_open(read_windows(content, "handle_events_approve_between"), instant)
    except ValueError:
        return None


@given(content=st.lists(windows, max_size=3), minute=st.integers(20_000_000, 40_000_000), second=st.floats(0, 59.99))
def test_given_times_when_read_by_the_agent_and_by_the_controller_then_both_say_the_same(
    content: list[dict[str, Any]], minute: int, second: float
) -> None:
    instant = 60 * minute + second

    assert opinion_of_the_agent(content, instant) == opinion_of_the_controller(content, instant)


@pytest.mark.parametrize("time", ["00:00", "22:30"])
def test_given_a_time_that_ends_when_it_begins_then_neither_takes_it(time: str) -> None:
    content = [{"from": time, "to": time}]

    assert opinion_of_the_agent(content, 0) is None
    with pytest.raises(ValueError, match=r"approve_between\[0\]: it ends when it begins, at '%s'" % time):
        read_windows(content, "approve_between")
