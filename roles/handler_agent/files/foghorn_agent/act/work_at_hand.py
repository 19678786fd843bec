# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step that is running, its outcome, and the next one."""

from typing import Callable, FrozenSet, List, NamedTuple, Optional

from ..deadlines import Deadlines
from ..decide.decisions import (
    Work,
    ended,
    found,
    hook_ended,
    hook_given_up,
    is_wanted,
    next_work,
    plan_of,
    share_of,
    transitions,
    tried,
    undo_with,
    with_hooks_given_up,
)
from ..decide.outcome import StepOutcome
from ..decide.policy import RESTORE, STOP
from ..decide.state import Record, Tracked
from ..decide.undo import Undo, undo_as_json
from ..http.status import Failing, failures
from ..io import log as levels
from ..recorder import Recorder
from .running import Running

_GRACE_BEFORE_EVICTION = 0.5  # seconds between SIGTERM and SIGKILL for what is in the way of an eviction's drain
_STEP_RETRY = 1.0  # seconds after another step that failed
_LONGEST_RETRY = 30.0
_RESTORE_RETRY = 5.0  # seconds after a restore step that failed
_LONGEST_RESTORE_RETRY = 300.0
# Limits, pauses and counts of connections are checked at least twice a second.
SECONDS_TO_LOOK_AGAIN = 0.2


class Retry(NamedTuple):
    """A step that failed, and is to be tried again."""

    work: Work
    outcome: StepOutcome
    again_at: float
    """On the monotonic clock."""
    wait: float
    """Seconds from the failure to then."""
    ends: float
    """The end of its time, on the monotonic clock."""
    tries_end: float
    """When the agent gives it up: equal to `ends`, except for a hook that has to leave the others their share."""
    next_try: float
    """The same as `again_at`, in seconds since the epoch."""
    is_for_next_hook: bool = False
    """Whether the step goes on with the hooks after this one, which has succeeded meanwhile or was given up."""


class WorkAtHand:
    """Runs one step after the other, and tries again those that fail.

    :param start_step: starts a step, on the VM of this name
    :param watch: wakes the loop when this descriptor becomes readable, and no longer for the one before; -1 is none
    """

    def __init__(
        self,
        recorder: Recorder,
        deadlines: Deadlines,
        start_step: Callable[[Work, str], Running],
        watch: Callable[[int], None],
    ) -> None:
        self._recorder = recorder
        self._deadlines = deadlines
        self._start_step = start_step
        self._watch = watch
        self._running: Optional[Running] = None
        self._running_until: Optional[float] = None
        self._recorded: Optional[Work] = None
        """The step that begins when its record is written."""
        self._is_taken_over = False
        """Whether the running step was told to end, to run again later or never."""
        self._retry: Optional[Retry] = None
        self._tries_end = 0.0
        """Until when the step that is running may be tried."""

    def stop(self) -> None:
        """End what is running. It is taken up again at the next start."""
        if self._running is not None:
            self._running.end("the agent is stopping")

    @property
    def running(self) -> Optional[Work]:
        """What is under way."""
        return None if self._running is None else self._running.work

    def is_idle(self) -> bool:
        """Whether no step is under way."""
        return self._running is None or self._running.poll() is not None

    def seconds_to_act(self, now: float) -> Optional[float]:
        """For how long there is nothing to do. None: for ever."""
        if self._running is not None:
            return SECONDS_TO_LOOK_AGAIN
        if self._retry is not None and now < self._retry.again_at:
            return self._retry.again_at - now
        return None

    def note_hook(self, work: Work, hook: str) -> None:
        """Note that one of a step's hooks has succeeded, before the next begins: it is not run again with the step."""
        self._recorder.commit(hook_ended(work, hook))
        if self._retry is not None and self._retry.work.is_same_as(work):
            self._retry = self._retry._replace(tries_end=self._retry.ends, is_for_next_hook=True)

    def failing(self) -> List[Failing]:
        """The steps that have failed: finally, and recently."""
        found = failures(self._recorder.state)
        retry = self._retry
        if (
            retry is not None
            and not retry.is_for_next_hook
            and is_wanted(self._recorder.state, self._recorder.rules, retry.work)
        ):
            work, is_running = retry.work, self._running is not None and self._running.work.is_same_as(retry.work)
            found.append(
                Failing(
                    work.event.event_id,
                    work.stage,
                    work.step.name,
                    retry.outcome.reason,
                    None if is_running else retry.next_try,
                    True,
                )
            )
        return found

    def collect(self) -> None:
        """Process the outcome of the step that is running."""
        if self._running is None:
            return
        outcome = self._running.poll()
        if outcome is None:
            self._watch(self._running.fileno)
            return
        work, was_taken_over = self._running.work, self._is_taken_over
        self._let_go()
        if not was_taken_over:
            self._note_outcome(work, outcome)

    def _let_go(self) -> None:
        self._running = None
        self._is_taken_over = False
        self._watch(-1)

    def _note_outcome(self, work: Work, outcome: StepOutcome) -> None:
        one = self._recorder.state.find(work.event.event_id)
        if one is None:
            return
        if work.is_look:
            # Recorded before the unit is stopped: afterwards nobody could tell whether it ran.
            self._recorder.commit(found(work, outcome))
            return
        again_in = self._schedule_retry(work, outcome)
        if again_in is not None and work.stage != RESTORE:
            self._count_step(work, "tried again")
            self._recorder.commit(tried(work, outcome))
            self._recorder.log(
                levels.WARNING,
                "%s: %s failed: %s; next attempt in %g s" % (work.stage, work.step.name, outcome.reason, again_in),
                event_id=work.event.event_id,
            )
            return
        self._end_tries(one, work, outcome, self._tries_end)

    def _schedule_retry(self, work: Work, outcome: StepOutcome) -> Optional[float]:
        """Try a failed step again while its time allows it. A restore is tried for ever."""
        before = self._retry if self._retry is not None and self._retry.work.is_same_as(work) else None
        if before is not None and work.stage != RESTORE and before.outcome.hook != outcome.hook:
            before = None
        waited = 0.0 if before is None else before.wait
        self._retry = None
        if outcome.succeeded or outcome.cut_off:
            return None
        is_restore = work.stage == RESTORE
        shortest, longest = (_RESTORE_RETRY, _LONGEST_RESTORE_RETRY) if is_restore else (_STEP_RETRY, _LONGEST_RETRY)
        wait = min(longest, max(shortest, 2 * waited))
        now = self._recorder.clocks.monotonic()
        again_at = now + wait
        tries_end = self._share_ends(work, outcome, now) if before is None else before.tries_end
        if not is_restore and again_at >= tries_end:
            return None
        self._retry = Retry(
            work, outcome, again_at, wait, self._tries_end, tries_end, self._recorder.clocks.wall() + wait
        )
        return wait

    def _share_ends(self, work: Work, outcome: StepOutcome, now: float) -> float:
        """Until when a step, or the hook of it that has failed, is tried again."""
        if not outcome.hooks_left:
            return self._tries_end
        # The deadline may have come nearer since the step began. After the deadline, a step has its full time.
        left = self._deadlines.left(work.event.event_id, now)
        ends = self._tries_end if left is None or left <= 0 else min(self._tries_end, now + left)
        return share_of(outcome, now, ends)

    def _end_tries(self, one: Tracked, work: Work, outcome: StepOutcome, ends: float) -> None:
        """A step is not tried again. If that was one of its hooks, the others still have their turn.

        :param ends: when the time of the step is up, on the monotonic clock
        """
        now = self._recorder.clocks.monotonic()
        is_last = not outcome.hooks_left or now >= ends
        stops = plan_of(self._recorder.rules, one).on_failure == STOP and not outcome.cut_off
        if is_last or stops or work.stage == RESTORE:
            self._conclude(one, work, outcome)
            return
        self._retry = Retry(work, outcome, now, 0.0, ends, ends, self._recorder.clocks.wall(), is_for_next_hook=True)
        self._recorder.commit(hook_given_up(work, outcome))
        self._recorder.log(
            levels.ERROR,
            "%s: %s: hook %s is abandoned, and the next hooks run" % (work.stage, work.step.name, outcome.reason),
            event_id=work.event.event_id,
        )

    def _conclude(self, one: Tracked, work: Work, outcome: StepOutcome) -> None:
        plan = plan_of(self._recorder.rules, one)
        if work.stage != RESTORE:
            outcome = with_hooks_given_up(work, plan, one.progress(work.stage).hook_failures, outcome)
        result = "succeeded" if outcome.succeeded else "failed"
        self._count_step(work, result)
        self._recorder.commit(ended(work, plan, outcome))
        self._recorder.log(
            levels.INFO if outcome.succeeded else levels.ERROR,
            "%s: %s %s in %.1f s%s"
            % (work.stage, work.step.name, result, outcome.seconds, ": " + outcome.reason if outcome.reason else ""),
            event_id=work.event.event_id,
        )

    def _count_step(self, work: Work, result: str) -> None:
        if self._recorder.config.dry_run:
            self._recorder.counters.add("foghorn_dry_run_would_total", what=work.stage)
        else:
            self._recorder.counters.add("foghorn_steps_total", stage=work.stage, result=result)

    def decide(self, now: float, waiting: FrozenSet[str]) -> None:
        """Go on with what is most urgent.

        :param waiting: ids of events for which it is too early to begin
        """
        rules = self._recorder.rules
        while True:
            self._recorder.commit(*transitions(self._recorder.state, rules, waiting))
            work = next_work(self._recorder.state, rules, self._deadlines.all_left(now), waiting)
            if work is not None and self._retry is not None and self._retry.work.is_same_as(work):
                is_running = self._running is not None and self._running.work.is_same_as(work)
                if work.stage != RESTORE and now >= self._retry.tries_end and not is_running:
                    # Another event had its turn in the meantime.
                    self._give_up(self._retry)
                    continue
                work = None if now < self._retry.again_at else self._within_its_time(work, self._retry, now)
            if self._recorded is not None and not self._recorded.is_same_as(work):
                self._recorded = None
            if self._running is not None:
                if self._running.work.is_same_as(work):
                    self._tighten(now)
                    return
                self._take_over(self._running, work)
                if self._running.poll() is None:
                    return
                self._let_go()
            if work is None:
                return
            self._record(work)
            if not self._recorder.may_act:
                return
            running = self._begin(work)
            outcome = running.poll()
            if outcome is None:
                return
            # The step took no time, and the next may begin in this turn of the loop.
            self._let_go()
            self._note_outcome(work, outcome)

    def _give_up(self, retry: Retry) -> None:
        one = self._recorder.state.find(retry.work.event.event_id)
        self._retry = None
        if one is not None and retry.is_for_next_hook:
            no_time = StepOutcome(False, "no time is left for the other hooks", "", 0.0, cut_off=True)
            self._conclude(one, retry.work, no_time)
        elif one is not None:
            self._end_tries(one, retry.work, retry.outcome, retry.ends)

    def _within_its_time(self, work: Work, retry: Retry, now: float) -> Work:
        """The same, with no more time than the tries before have left it."""
        if work.stage == RESTORE:
            return work
        share = None if retry.is_for_next_hook else retry.tries_end - now
        return work._replace(seconds=min(work.seconds, retry.ends - now), hook_seconds=share)

    def _record(self, work: Work) -> None:
        if not work.is_look and self._recorded is None:
            self._recorded = work
            self._recorder.commit(
                _step_begun(work, undo_with(self._recorder.rules, work, self._recorder.state.find(work.event.event_id)))
            )

    def _begin(self, work: Work) -> Running:
        self._recorded = None
        if not work.is_look:
            work = work._replace(hooks_done=self._recorder.state.progress(work.event.event_id, work.stage).hooks)
        if self._retry is not None and self._retry.work.is_same_as(work):
            self._tries_end = self._retry.ends
        else:
            self._tries_end = self._recorder.clocks.monotonic() + work.seconds
        self._running = self._start_step(work, self._recorder.state.vm_name or "")
        self._running_until = self._deadlines.of(work.event.event_id)
        self._watch(self._running.fileno)
        return self._running

    def _take_over(self, running: Running, work: Optional[Work]) -> None:
        """End the running step in favour of this one, which begins afterwards: two steps never run side by side."""
        is_eviction = work is not None and work.stage != RESTORE and work.event.event_type == "Preempt"
        reason = "its event is over" if work is None or work.stage == RESTORE else "taken over by a more urgent event"
        if not self._is_taken_over:
            self._is_taken_over = True
            message = "%s: %s is ended: %s" % (running.work.stage, running.work.step.name, reason)
            self._recorder.log(levels.NOTICE, message, event_id=running.work.event.event_id)
        running.end(reason, _GRACE_BEFORE_EVICTION if is_eviction else None)

    def _tighten(self, now: float) -> None:
        assert self._running is not None
        work = self._running.work
        deadline = self._deadlines.of(work.event.event_id)
        if work.stage == RESTORE or deadline is None:
            return
        if self._running_until is None or deadline < self._running_until:
            self._running_until = deadline
            self._running.shorten(max(0.0, deadline - now))


def _step_begun(work: Work, undo: Optional[Undo]) -> Record:
    record: Record = {
        "kind": "step_begun",
        "event_id": work.event.event_id,
        "stage": work.stage,
        "name": work.step.name,
        "seconds": round(work.seconds, 3),
    }
    return record if undo is None else dict(record, undo=undo_as_json(undo))
