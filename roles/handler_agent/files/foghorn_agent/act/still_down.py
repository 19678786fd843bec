# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sees, right before an approval, that the units which were stopped for an event are still down.

Minutes may have passed, and a socket or a timer may have started one again. That one is stopped once more; one that
runs again then keeps the event from being approved, until it is down.
"""

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from ..decide.decisions import SECONDS_TO_LOOK, Work, found
from ..decide.outcome import StepOutcome
from ..decide.policy import DRAIN, SHUTDOWN, Plan, keyed
from ..decide.state import Tracked
from ..io import log as levels
from ..recorder import Recorder
from .running import Running

# What was seen holds for so long.
_SECONDS_FRESH = 2.0


class _Seen(NamedTuple):
    problem: Optional[str]
    at: float


class StillDown:
    """Looks at the units of all events that are ready, in turn.

    :param start: starts a step
    """

    def __init__(self, recorder: Recorder, start: Callable[[Work], Running]) -> None:
        self._recorder = recorder
        self._start = start
        self._seen: Dict[str, _Seen] = {}
        self._running: Optional[Running] = None
        self._left: List[Work] = []
        self._stopped_again: Set[Tuple[str, str, str]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a look is under way."""
        return self._running is not None

    def turn(self, wanted: "Sequence[Tuple[Tracked, Plan]]", now: float) -> None:
        """Take the looks further.

        :param wanted: the events that are ready
        :param now: on the monotonic clock
        """
        works = {one.event_id: works_of(one, plan) for one, plan in wanted}
        self._seen = {event_id: seen for event_id, seen in self._seen.items() if event_id in works}
        self._stopped_again = {each for each in self._stopped_again if each[0] in works}
        if self._running is not None:
            outcome = self._running.poll()
            if outcome is None:
                return
            work, self._running = self._running.work, None
            if work.event.event_id in works:
                self._conclude(work, outcome, now)
            else:
                self._left = []
        if not self._left:
            self._left = next(
                (of_event for event_id, of_event in works.items() if of_event and not self._is_fresh(event_id, now)), []
            )
        if self._left:
            self._running = self._start(self._left.pop(0))

    def problem_with(self, event_id: str) -> Optional[str]:
        """Why an event must not be approved; None if nothing is known to run again."""
        seen = self._seen.get(event_id)
        return None if seen is None else seen.problem

    def is_clear(self, one: Tracked, plan: Plan, now: float) -> bool:
        """Whether all units of an event have just been seen down."""
        return not works_of(one, plan) or (self._is_fresh(one.event_id, now) and not self.problem_with(one.event_id))

    def stop(self) -> None:
        """End what is running."""
        if self._running is not None:
            self._running.end("the agent is stopping", grace_seconds=0)

    def is_idle(self) -> bool:
        """Whether none is under way any more."""
        return self._running is None or self._running.poll() is not None

    def _is_fresh(self, event_id: str, now: float) -> bool:
        seen = self._seen.get(event_id)
        return seen is not None and now - seen.at <= _SECONDS_FRESH

    def _conclude(self, work: Work, outcome: StepOutcome, now: float) -> None:
        event_id, step = work.event.event_id, (work.event.event_id, work.stage, work.key)
        if not work.is_look:
            # The look after it says what it has come to.
            return
        runs = bool(found(work, outcome)["runs"])
        if runs and step not in self._stopped_again:
            self._stopped_again.add(step)
            self._recorder.log(
                levels.WARNING, "%s runs again, and is stopped once more" % work.step.stops, event_id=event_id
            )
            self._left[:0] = [work._replace(is_look=False, seconds=work.step.timeout), work]
        elif runs:
            self._left = []
            problem = "%s runs again, although it was stopped twice: stop what starts it" % work.step.stops
            self._seen[event_id] = _Seen(problem, now)
        elif not self._left:
            self._seen[event_id] = _Seen(None, now)


def works_of(one: Tracked, plan: Plan) -> List[Work]:
    """The looks at the units that were stopped for an event. A stop that failed is dealt with as the plan says."""
    failed = {(failure.stage, failure.name) for failure in one.failures}
    return [
        Work(one.event, stage, key, step, SECONDS_TO_LOOK, False, one.rebooted, is_look=True)
        for stage in (DRAIN, SHUTDOWN)
        for key, step in keyed(plan.steps(stage))
        if step.stops and (stage, step.name) not in failed
    ]
