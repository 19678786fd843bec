# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is what signals ask for noted, and is the loop woken?

Runs on Python 3.6 and later.
"""

import os
import select
import signal

import pytest
from edge_helpers import PATIENCE
from foghorn_agent.platform.posix.wakeups import Signals


def is_readable(signals: Signals, patience: float = PATIENCE) -> bool:
    return bool(select.select([signals], [], [], patience)[0])


@pytest.mark.parametrize(
    ("number", "asked"),
    [
        (signal.SIGTERM, (True, False)),
        (signal.SIGINT, (True, False)),
        (signal.SIGHUP, (False, True)),
        (signal.SIGCHLD, (False, False)),
    ],
)
def test_given_a_signal_when_it_comes_then_it_is_noted_and_the_loop_is_woken_once(
    number: int, asked: object, signals: Signals
) -> None:
    assert not is_readable(signals, 0.0)
    os.kill(os.getpid(), number)
    assert is_readable(signals)
    assert (signals.stop_asked, signals.reload_asked) == asked
    signals.empty()
    assert not is_readable(signals, 0.0)


def test_given_handlers_of_before_when_closed_then_they_are_back() -> None:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
    before = [signal.getsignal(number) for number in numbers]
    one = Signals()
    assert [signal.getsignal(number) for number in numbers] != before
    one.close()
    assert [signal.getsignal(number) for number in numbers] == before
    assert signal.set_wakeup_fd(-1) == -1
