# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the programs that a policy asks before an approval.

They only look, so they run beside the steps, one at a time, again and again for as long as an event can be approved.
What they said is not remembered over a restart: it is asked anew, and nothing is approved until it is known.
"""

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from foghorn_core.scheduled_events.text import plain

from ..decide.decisions import Work
from ..decide.outcome import StepOutcome
from ..decide.policy import CHECK, Plan, keyed
from ..decide.state import Tracked
from .running import Running

SECONDS_BETWEEN = 10.0

_LONGEST_QUOTE = 200  # characters


class _Answer(NamedTuple):
    problem: Optional[str]
    """None: all of them agree."""
    again_at: float


class Checks:
    """Runs the checks of all events in turn.

    :param start: starts one
    """

    def __init__(self, start: Callable[[Work], Running]) -> None:
        self._start = start
        self._answers: Dict[str, _Answer] = {}
        self._running: Optional[Running] = None
        self._left: List[Work] = []

    @property
    def is_busy(self) -> bool:
        """Whether one is under way."""
        return self._running is not None

    def turn(self, wanted: "Sequence[Tuple[Tracked, Plan]]", now: float) -> None:
        """Take the checks further.

        :param wanted: the events whose approval waits for their checks
        :param now: on the monotonic clock
        """
        by_id = {one.event_id: (one, plan) for one, plan in wanted}
        self._answers = {event_id: answer for event_id, answer in self._answers.items() if event_id in by_id}
        if self._running is not None:
            if self._running.work.event.event_id not in by_id:
                self._left = []
                self._running.end("its result is no longer needed", grace_seconds=0)
            outcome = self._running.poll()
            if outcome is None:
                return
            work, self._running = self._running.work, None
            self._conclude(work, outcome, now)
        if not self._left:
            answers = ((each, self._answers.get(event_id)) for event_id, each in by_id.items())
            due = (each for each, answer in answers if answer is None or now >= answer.again_at)
            self._left = next(map(_works_of, due), [])
        if self._left:
            self._running = self._start(self._left.pop(0))

    def problem_with(self, event_id: str) -> Optional[str]:
        """Why an event is not to be approved now; None if all of its checks agree."""
        answer = self._answers.get(event_id)
        return "its checks have not ended yet" if answer is None else answer.problem

    def stop(self) -> None:
        """End what is running."""
        if self._running is not None:
            self._running.end("the agent is stopping", grace_seconds=0)

    def is_idle(self) -> bool:
        """Whether none is under way any more."""
        return self._running is None or self._running.poll() is not None

    def _conclude(self, work: Work, outcome: StepOutcome, now: float) -> None:
        if outcome.succeeded and self._left:
            return
        self._left = []
        problem = None
        if not outcome.succeeded:
            said = plain(outcome.output.strip().rpartition("\n")[2])[:_LONGEST_QUOTE]
            problem = "check %s: %s%s" % (work.step.name, outcome.reason, ": " + said if said else "")
        self._answers[work.event.event_id] = _Answer(problem, now + SECONDS_BETWEEN)


def _works_of(wanted: "Tuple[Tracked, Plan]") -> List[Work]:
    one, plan = wanted
    return [Work(one.event, CHECK, key, step, step.timeout, False, one.rebooted) for key, step in keyed(plan.check)]
