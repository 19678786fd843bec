# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""How does one host wait for the end of its events, or for its turn, beside others that do the same?"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.scheduled_events.event import Event
from .progress import Progress, describe_wait, watch
from .treatment import Policy

Events = Sequence[Event] | None

# Seconds. So long it takes at most until a host knows that the wait of another one has ended.
_HEARING = 1.0
# Between two renewals of a lease, which outlasts that by far.
_RENEWED_EVERY = 120.0
# So long one waits where others wait for its process.
_CROWDED = 10.0
# What is to be done at once, and is not, is not tried without a pause.
_SHORTEST = 1.0


class Round(NamedTuple):
    """How long is waited: until somebody has news, however long that takes. All times are seconds."""

    policy: Policy
    poll_interval: float
    until: float | None = None
    """When the wait is to end at the latest, since the epoch: other hosts are to be taken then."""
    is_crowded: bool = False
    """Whether more hosts wait than there are processes to wait in: some begin when others have ended."""


class Look(NamedTuple):
    """What a host has answered."""

    events: Events
    """Those that are listed for it; None if it, or its metadata service, did not answer."""
    why_silent: str = ""


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


class Waiting(NamedTuple):
    """What a wait needs of the world."""

    look: Callable[[], Look]
    bell: Bell
    clock: Callable[[], float]
    """Seconds since the epoch."""
    sleep: Callable[[float], None]


def wait(
    progress: Mapping[str, Any],
    turn: Round,
    world: Waiting,
    renew: Callable[[], str],
    tell: Callable[[str], None],
) -> Progress:
    """Look until a host's events are over, or another host has news; at least once.

    :param progress: how far the wait has come
    :param renew: prolongs the lease of the host; returns who has taken it over, or an empty text
    :param tell: is given a line when the wait begins, and whenever what is waited for has changed
    :returns: the new state; its `lost` says who has taken the host over, if anybody has
    """
    ends_at = _ends_at(turn, world.clock())
    renews_at = 0.0
    state = dict(progress)
    while True:
        seen = world.look()
        now = world.clock()
        state = watch(state, seen.events, turn.policy, now, turn.poll_interval, seen.why_silent)
        waits_for = describe_wait(state, seen.events, turn.policy)
        if waits_for != state["told"]:
            state["told"] = waits_for
            tell(waits_for)
        if seen.events is not None and not state["over"] and now >= renews_at:
            renews_at = now + _RENEWED_EVERY
            lost = renew()
            if lost:
                state.update(over=True, restore=False, lost=lost)
        if state["over"] or state["gave_up"]:
            world.bell.ring()
            return state
        if not _pause(turn, world, ends_at):
            return state


def wait_for_turn(known: Sequence[Event], turn: Round, world: Waiting) -> None:
    """Look until what is listed for a host is not what is known of it, or another host has news; at least once."""
    ends_at = _ends_at(turn, world.clock())
    while True:
        listed = world.look().events
        if listed is not None and _as_listed(listed) != _as_listed(known):
            world.bell.ring()
            return
        if not _pause(turn, world, ends_at):
            return


def _as_listed(events: Sequence[Event]) -> set[tuple[Any, ...]]:
    return {(event.event_id.lower(), event.event_type, event.event_status, event.not_before) for event in events}


def _ends_at(turn: Round, now: float) -> float:
    until = float("inf") if turn.until is None else max(turn.until, now + _SHORTEST)
    return min(until, now + _CROWDED) if turn.is_crowded else until


def _pause(turn: Round, world: Waiting, ends_at: float) -> bool:
    """Wait for the time of the next look; return whether there is one."""
    now = world.clock()
    looks_at = min(now + turn.poll_interval, ends_at)
    while now < looks_at and not world.bell.has_rung():
        world.sleep(min(looks_at - now, _HEARING))
        now = world.clock()
    return now < ends_at and not world.bell.has_rung()
