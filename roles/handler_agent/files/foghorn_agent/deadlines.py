# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the work for each event begins, and until when it must be done. Times are on the monotonic clock."""

from datetime import datetime
from typing import Container, Dict, FrozenSet, Optional

from .decide.decisions import SECONDS_ONCE_STARTED, plan_of, seconds_before_start
from .decide.policy import DEFAULT_BEGIN_BEFORE
from .recorder import Recorder


class Deadlines:
    """Computes them when an event is first seen or its start changes, and keeps them: the monotonic clock cannot be
    set.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._ends: Dict[str, Optional[float]] = {}
        self._starts: Dict[str, Optional[datetime]] = {}
        """The starts from which the deadlines were computed."""
        self._begin_at: Dict[str, float] = {}
        """When the work begins for events with a later beginning."""
        self._begin_at_the_latest: Dict[str, float] = {}
        """When the work begins for events whose approval is withheld until then."""

    def of(self, event_id: str) -> Optional[float]:
        """When the work for an event must be done. None: at no particular time."""
        return self._ends.get(event_id)

    def left(self, event_id: str, now: float) -> Optional[float]:
        """How many seconds are left until the deadline of an event."""
        ends = self._ends.get(event_id)
        return None if ends is None else ends - now

    def all_left(self, now: float) -> "Dict[str, Optional[float]]":
        """How many seconds are left until the deadline of each event."""
        return {event_id: self.left(event_id, now) for event_id in self._ends}

    def too_early(self, withheld: Container[str], now: float) -> FrozenSet[str]:
        """The ids of the events for which it is too early to begin.

        :param withheld: the ids of those that are not approved now
        """
        early = {key for key, begin_at in self._begin_at.items() if now < begin_at}
        # While no approval can follow, preparing the machine does not make the event start any sooner.
        early.update(key for key, begin_at in self._begin_at_the_latest.items() if key in withheld and now < begin_at)
        return frozenset(early)

    def forget(self) -> None:
        """Recompute those of events that have not started: the wall clock was set, or there are other plans."""
        self._starts = {}

    def find(self, now: float) -> None:
        """Find those of the events that are tracked."""
        wall = self._recorder.clocks.wall()
        ends: Dict[str, Optional[float]] = {}
        begin_at: Dict[str, float] = {}
        at_the_latest: Dict[str, float] = {}
        for one in self._recorder.state.tracked:
            key = one.event_id
            start = one.event.not_before
            kept = self._ends.get(key)
            if one.event.is_started:
                hope = now + SECONDS_ONCE_STARTED
                ends[key] = hope if kept is None else min(kept, hope)
            elif start is None:
                ends[key] = None
            elif key in self._ends and self._starts.get(key) == start:
                # Measured by the monotonic clock, from the moment the event was first seen.
                ends[key] = kept
                if key in self._begin_at:
                    begin_at[key] = self._begin_at[key]
                if key in self._begin_at_the_latest:
                    at_the_latest[key] = self._begin_at_the_latest[key]
            else:
                plan = plan_of(self._recorder.rules, one)
                left = start.timestamp() - wall
                ends[key] = now + seconds_before_start(left, plan.margin)
                if plan.begin_before is not None and left > plan.begin_before:
                    begin_at[key] = now + left - plan.begin_before
                if plan.begin_before is None and left > DEFAULT_BEGIN_BEFORE:
                    at_the_latest[key] = now + left - DEFAULT_BEGIN_BEFORE
        self._starts = {one.event_id: one.event.not_before for one in self._recorder.state.tracked}
        self._ends, self._begin_at, self._begin_at_the_latest = ends, begin_at, at_the_latest
