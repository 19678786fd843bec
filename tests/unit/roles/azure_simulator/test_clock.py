# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated time and the wall's."""

from __future__ import annotations

import pytest
from azure_simulator.clock import ManualClock, ScaledClock


def test_given_a_speed_when_real_time_passes_then_simulated_time_passes_faster_and_maps_back() -> None:
    real = [100.0]
    clock = ScaledClock(60, wall=lambda: 1000.0, monotonic=lambda: real[0])
    assert clock.now() == 1000.0
    real[0] += 2
    assert clock.now() == 1120.0
    assert clock.wall(clock.now() + 900) == 1017.0


def test_given_a_wall_clock_that_is_set_back_when_asked_then_simulated_time_continues() -> None:
    wall, real = [1000.0], [0.0]
    clock = ScaledClock(1, wall=lambda: wall[0], monotonic=lambda: real[0])
    wall[0], real[0] = 500.0, 5.0
    assert clock.now() == 1005.0


def test_given_a_manual_clock_when_moved_then_it_is_its_own_wall_and_never_goes_back() -> None:
    clock = ManualClock(50.0)
    clock.move_to(70.0)
    assert (clock.now(), clock.wall(90.0)) == (70.0, 90.0)
    with pytest.raises(ValueError, match="cannot go back"):
        clock.move_to(69.0)
