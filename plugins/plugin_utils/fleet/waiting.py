# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""How does one host wait for the end of its events, beside others that do the same?"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.scheduled_events.document import Event
from .progress import LONGEST_ROUND, SHORTEST_ROUND, Progress, describe_wait, watch
from .treatment import Policy

Events = Sequence[Event] | None

# Seconds. So long it takes at most until a host knows that the wait of another one has ended.
_HEARING = 1.0


class Round(NamedTuple):
    """How long is waited at a time. All times are seconds."""

    policy: Policy
    poll_interval: float
    until: float | None = None
    """When the round is to end at the latest, since the epoch: other hosts are to be taken then."""
    is_crowded: bool = False
    """Whether more hosts wait than there are processes to wait in: some begin when others have ended."""


class Bell:
    """Rung by the first host whose wait ends, and heard by all others of its round, in processes of their own."""

    def __init__(self, path: str) -> None:
        """:param path: a file that is there when it has been rung; in a directory that goes with the run"""
        self._path = path

    def ring(self) -> None:
        """Let the others know."""
        with open(self._path, "a", encoding="ascii"):
            pass

    def has_rung(self) -> bool:
        """Whether somebody has."""
        return os.path.exists(self._path)


def wait(
    progress: Mapping[str, Any],
    turn: Round,
    look: Callable[[], Events],
    tell: Callable[[str], None],
    bell: Bell,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Progress:
    """Look until the wait is over, or the round; at least once.

    :param progress: how far the wait has come
    :param look: the events that are listed for the host; None if it, or its metadata service, did not answer
    :param tell: is given a line when the wait begins, and whenever what is waited for has changed
    :param clock: seconds since the epoch
    """
    ends_at = progress["round_ends_at"] if turn.until is None else min(progress["round_ends_at"], turn.until)
    state = dict(progress)
    while True:
        events = look()
        now = clock()
        longest = SHORTEST_ROUND if turn.is_crowded else LONGEST_ROUND
        state = watch(state, events, turn.policy, now, turn.poll_interval, longest)
        waits_for = describe_wait(state, events, turn.policy)
        if waits_for != state["told"]:
            state["told"] = waits_for
            tell(waits_for)
        if state["over"] or state["gave_up"]:
            bell.ring()
            return state
        looks_at = now + turn.poll_interval
        if looks_at > ends_at:
            looks_at = ends_at
        while now < looks_at and not bell.has_rung():
            sleep(min(looks_at - now, _HEARING))
            now = clock()
        if now >= ends_at or bell.has_rung():
            return state
