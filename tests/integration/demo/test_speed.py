# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much time the demo gives a machine that is busy with other things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import demo
import pytest


class _Azure(demo.Demo):
    """A demo that is not started. Its Azure runs ten times as fast as a real one."""

    def __init__(self) -> None:
        super().__init__(10.0, demo.plain)
        self.notices: list[float] = []
        self.waits: list[float] = []

    def announce(self, maintenance: demo.Maintenance) -> dict[str, Any]:
        self.notices.append(maintenance.notice)
        return {"not_before": 0.0}

    def watch(self, seconds: float) -> None:
        self.waits.append(seconds)

    def handle(self) -> None:
        """Run nothing."""

    def settle(self, wave: Sequence[demo.Maintenance]) -> None:
        """Wait for nothing."""


@pytest.mark.parametrize(("ping", "speed"), [(0.5, 15), (4.0, 9), (1000.0, 1)])
def test_given_a_slow_machine_when_the_demo_begins_then_azures_clock_is_slower_and_never_slower_than_a_real_one(
    ping: float, speed: float
) -> None:
    assert demo.speed_for(ping) == speed


def test_given_a_machine_that_gets_busy_meanwhile_then_what_is_announced_from_then_on_leaves_it_the_time_it_needs() -> (
    None
):
    azure = _Azure()
    pings = iter([1.0, 8.0, 1.0])

    demo.with_handler(azure, demo.WAVES, lambda: next(pings))

    assert azure.notices == [900, 900, 2000, 900]


def test_given_the_times_of_another_run_when_nobody_handles_the_events_then_each_is_announced_when_it_was_there() -> (
    None
):
    azure = _Azure()

    demo.without_handler(azure, demo.WAVES, [0.0, 0.1, 30.0, 60.0])

    assert azure.waits == [pytest.approx(instant, abs=5) for instant in (0.0, 0.1, 30.0, 60.0)]
    assert azure.notices == [900, 900, 900, 900]
