# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for a condition: as long as it takes, within the limit, and with progress reports."""

from __future__ import annotations

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.patience import Patience, wait_until


class Wait:
    """A wait whose time is a number, and in which something becomes so after some seconds."""

    def __init__(self, so_after: float, look_takes: float = 0.0) -> None:
        self.now = 1000.0
        self.so_at = self.now + so_after
        self.look_takes = look_takes
        self.looked_at: list[float] = []
        self.told: list[str] = []

    def look(self) -> float:
        self.looked_at.append(self.now - 1000)
        self.now += self.look_takes
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds

    def run(self, timeout: float, interval: float = 1) -> tuple[float, bool]:
        return wait_until(
            look=self.look,
            is_so=lambda seen: seen >= self.so_at,
            patience=Patience(timeout=timeout, interval=interval),
            tell=self.told.append,
            clock=lambda: self.now,
            sleep=self.sleep,
        )


def test_given_a_condition_that_is_already_true_then_it_polls_once_and_says_nothing() -> None:
    wait = Wait(so_after=0)

    assert wait.run(timeout=60) == (1000, True)
    assert wait.looked_at == [0]
    assert wait.told == []


def test_it_polls_at_intervals_until_the_condition_is_true() -> None:
    wait = Wait(so_after=5)

    assert wait.run(timeout=60, interval=2) == (1006, True)
    assert wait.looked_at == [0, 2, 4, 6]


def test_it_polls_once_more_when_the_time_is_up_and_ends() -> None:
    wait = Wait(so_after=99)

    assert wait.run(timeout=5, interval=2) == (1005, False)
    assert wait.looked_at == [0, 2, 4, 5]


def test_given_no_time_then_it_polls_once() -> None:
    wait = Wait(so_after=99)

    assert wait.run(timeout=0) == (1000, False)
    assert wait.looked_at == [0]


def test_the_duration_of_a_poll_counts() -> None:
    wait = Wait(so_after=99, look_takes=4)

    assert wait.run(timeout=10)[1] is False
    assert wait.looked_at == [0, 5, 10]


def test_a_short_wait_is_not_reported_and_a_long_one_is_reported_now_and_then() -> None:
    short, long = Wait(so_after=9), Wait(so_after=99)

    short.run(timeout=600)
    long.run(timeout=600)

    assert short.told == []
    assert long.told == ["10 s of at most 600 s", "40 s of at most 600 s", "70 s of at most 600 s"]
