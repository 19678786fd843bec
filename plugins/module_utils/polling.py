# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Looks again and again until something is so, or the time is up."""

from typing import Callable

# Says why it is not so yet; empty if it is.
Look = Callable[[], str]

# Seconds, between two looks and for one.
_EVERY = 1.0
TIMEOUT = 5


def poll_until(look: Look, within: float, clock: Callable[[], float], sleep: Callable[[float], None]) -> str:
    """Look until it is so, at least once; say why it is not when the time is up.

    :param within: seconds
    :param clock: seconds, from any beginning
    """
    ends = clock() + within
    while True:
        why = look()
        left = ends - clock()
        if not why or left <= 0:
            return why and "the check did not succeed within %g s: %s" % (within, why)
        sleep(min(_EVERY, left))


def other_status(url: str, status_of: Callable[[str, int], int]) -> str:
    """Say what a URL answers if that is not 200.

    :param status_of: asks a URL within so many seconds; returns the status of the answer
    """
    try:
        status = status_of(url, TIMEOUT)
    except (OSError, ValueError) as error:
        return str(error) or "no answer"
    return "" if status == 200 else "it answers with %s" % status
