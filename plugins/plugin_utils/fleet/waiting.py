# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""One host waits for the end of its events, or for its batch, while other hosts wait as well."""

import multiprocessing
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.scheduled_events.event import Event
from .policy import Policy
from .progress import Progress, describe_wait, watch

Events = Sequence[Event] | None

# Seconds until a host notices that the wait of another host has ended, at most.
_SIGNAL_DELAY = 1.0
# Seconds between two renewals of a lease, which lasts far longer.
_RENEWED_EVERY = 60.0
# Seconds for which nothing is said of a wait, at most: CI systems and controllers end a job that prints nothing for ten
# minutes.
_TOLD_EVERY = 300.0
# Seconds that a host waits, at most, while other hosts wait for its process.
_CROWDED = 10.0
# The shortest pause, in seconds: work that is due and still not done is not retried in a busy loop.
_SHORTEST = 1.0


class RunEndedError(Exception):
    """The run that waits has ended, without its workers."""


def sleep_within_run() -> Callable[[float], None]:
    """Return what sleeps in a worker of ansible-playbook.

    A worker outlives an ansible-playbook that is killed, and would renew the lease of its host until the wait is over.

    :raises RunEndedError: when ansible-playbook has ended
    """
    run = multiprocessing.parent_process()

    def sleep(seconds: float) -> None:
        if run is not None and os.getppid() != run.pid:
            raise RunEndedError("ansible-playbook has ended")
        time.sleep(seconds)

    return sleep


class WatchLimits(NamedTuple):
    """How often a host polls, and until when it waits. All times are seconds."""

    policy: Policy
    poll_interval: float
    until: float | None = None
    """The latest end of the wait, in seconds since the epoch: then it is other hosts' turn."""
    is_crowded: bool = False
    """Whether more hosts wait than there are processes: some begin to wait when others have ended."""


class Poll(NamedTuple):
    """The answer of a host."""

    events: Events
    """The events that are listed for it; None if it, or its metadata service, did not answer."""
    why_silent: str = ""


class BatchSignal:
    """The first host whose wait ends sends it; all other hosts of the batch notice it, in their own processes."""

    def __init__(self, path: str) -> None:
        """:param path: a file that exists once the signal was sent; in a directory that is removed with the run"""
        self._path = path

    def send(self) -> None:
        """Notify the others."""
        with open(self._path, "a", encoding="ascii"):
            pass

    def was_sent(self) -> bool:
        """Whether a host has sent it."""
        return os.path.exists(self._path)


class Waiting(NamedTuple):
    """What a wait needs from its environment."""

    poll: Callable[[], Poll]
    signal: BatchSignal
    clock: Callable[[], float]
    """Seconds since the epoch."""
    sleep: Callable[[float], None]
    is_relieved: Callable[[], bool] = lambda: False
    """Whether another run is about to take over: no host of the batch waits any longer then."""


def wait(
    progress: Mapping[str, Any],
    limits: WatchLimits,
    world: Waiting,
    renew: Callable[[], str],
    notify: Callable[[str], None],
) -> Progress:
    """Poll until a host's events are over, or another host has news; at least once.

    :param progress: how far the wait has come
    :param renew: prolongs the lease of the host; returns who has taken it over, or an empty text
    :param notify: is given a line when the wait begins, when what is waited for has changed, and every five minutes
    :returns: the new state; its `lost` says who has taken the host over, if anybody has
    """
    ends_at = _ends_at(limits, world.clock())
    renews_at = 0.0
    state = dict(progress)
    while True:
        seen = world.poll()
        now = world.clock()
        state = watch(state, seen.events, limits.policy, now, limits.poll_interval, seen.why_silent)
        waits_for = describe_wait(state, seen.events, limits.policy)
        if waits_for != state["told"] or now >= state["told_at"] + _TOLD_EVERY:
            state.update(told=waits_for, told_at=now)
            notify(waits_for)
        if seen.events is not None and not state["over"] and now >= renews_at:
            renews_at = now + _RENEWED_EVERY
            lost = renew()
            if lost:
                state.update(over=True, restore=False, lost=lost)
        if state["over"] or state["gave_up"]:
            world.signal.send()
            return state
        if not _pause(limits, world, ends_at):
            return state


def wait_for_batch(known: Sequence[Event], limits: WatchLimits, world: Waiting) -> None:
    """Poll until the list of a host's events has changed, or another host has news; at least once."""
    ends_at = _ends_at(limits, world.clock())
    while True:
        listed = world.poll().events
        if listed is not None and _as_listed(listed) != _as_listed(known):
            world.signal.send()
            return
        if not _pause(limits, world, ends_at):
            return


def _as_listed(events: Sequence[Event]) -> set[tuple[Any, ...]]:
    return {(event.event_id.lower(), event.event_type, event.event_status, event.not_before) for event in events}


def _ends_at(limits: WatchLimits, now: float) -> float:
    until = float("inf") if limits.until is None else max(limits.until, now + _SHORTEST)
    return min(until, now + _CROWDED) if limits.is_crowded else until


def _pause(limits: WatchLimits, world: Waiting, ends_at: float) -> bool:
    """Wait for the time of the next poll; return whether there is one."""
    now = world.clock()
    polls_at = min(now + limits.poll_interval, ends_at)
    while now < polls_at and not world.signal.was_sent():
        world.sleep(min(polls_at - now, _SIGNAL_DELAY))
        now = world.clock()
    if now >= ends_at or world.signal.was_sent():
        return False
    if world.is_relieved():
        world.signal.send()
        return False
    return True
