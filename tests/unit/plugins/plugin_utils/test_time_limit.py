# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every poll of a host has a time limit."""

from __future__ import annotations

import signal
import time

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.time_limit import OutOfTimeError, at_most


def test_given_a_poll_without_an_end_then_it_is_ended_whatever_catches_exceptions_on_the_way() -> None:
    def look() -> None:
        try:
            time.sleep(300)
        except Exception:  # noqa: BLE001 - as libraries do
            pytest.fail("it was caught")

    with pytest.raises(OutOfTimeError), at_most(0.05):
        look()

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_given_a_task_with_its_own_time_limit_then_that_limit_still_applies() -> None:
    struck: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: struck.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 100)
        with at_most(50):
            assert signal.getitimer(signal.ITIMER_REAL)[0] <= 50
        assert 90 < signal.getitimer(signal.ITIMER_REAL)[0] <= 100

        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with at_most(50):
            time.sleep(0.2)
        assert struck == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
