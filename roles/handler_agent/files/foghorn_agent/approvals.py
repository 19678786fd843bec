# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which events are approved now, why others are not, and the outcome of each request."""

from typing import Any, Callable, Collection, Dict, FrozenSet, List, Sequence, Set

from foghorn_core.maintenance_policy.window import why_closed
from foghorn_core.scheduled_events.errors import Refused
from foghorn_core.scheduled_events.event import Event

from .act.checks import Checks
from .act.running import Running
from .act.still_down import StillDown
from .decide.decisions import Work, awaiting_approval, has_nothing_to_do, is_ready, plan_of, to_approve
from .decide.manual import end_of
from .decide.policy import NEVER, nothing_configured_for, spread_of
from .io import log as levels
from .io.workers import Worker
from .members_state import MembersState
from .recorder import Recorder

_FIRST_RETRY = 2.0  # seconds between approvals that did not arrive
_LONGEST_RETRY = 30.0
_ONCE_MORE = 30.0  # seconds after one that arrived, while the event has not begun


class Approvals:
    """Weighs and sends them.

    :param session: around `ImdsSession.approve`, of a session of its own
    :param start_step: starts a step of a check, on the VM of this name
    :param has_hooks: whether the directory of this stage has a hook to run
    """

    def __init__(
        self,
        recorder: Recorder,
        members: MembersState,
        session: Worker,
        start_step: Callable[[Work, str], Running],
        has_hooks: Callable[[str], bool],
    ) -> None:
        self._recorder = recorder
        self._members = members
        self._session = session
        self._has_hooks = has_hooks
        self._sent = _Sent()
        self._recorded: Dict[str, int] = {}
        """By the ids of events whose approval is recorded and not sent, the number of that approval."""
        self.checks = Checks(lambda work: start_step(work, recorder.state.vm_name or ""))
        self.still_down = StillDown(recorder, lambda work: start_step(work, recorder.state.vm_name or ""))
        self.withheld: Dict[str, str] = {}
        """Why events are not approved now, by their ids."""
        self.without_plan: FrozenSet[str] = frozenset()
        """The ids of events for which nobody has configured anything."""
        self.is_last_before_dry_run = False
        """Whether to finish what was begun, and approve nothing, before a dry run begins."""
        self._local_time: Any = None
        """Set when a policy asks for it."""

    def weigh(self, now: float) -> None:
        """Find out which events must not be approved now even if they are ready, and why."""
        if not self._recorder.state.tracked and not self.checks.is_busy:
            self.withheld = {}
            self.without_plan = frozenset()
            return
        self._note_without_plan()
        candidates = awaiting_approval(self._recorder.state, self._recorder.rules)
        self.checks.turn([(one, plan) for one, plan in candidates if plan.check], now)
        wall = self._recorder.clocks.wall()
        withheld: Dict[str, str] = {}
        for one, plan in candidates:
            reason = None
            if self.is_last_before_dry_run:
                reason = "a dry run is requested"
            if reason is None and self._recorder.state.is_incomplete:
                reason = "records of the journal are missing"
            if reason is None and self._recorder.state.hold is not None:
                reason = "held by hand until %s" % end_of(self._recorder.state.hold.until)
            if reason is None and plan.approve_between:
                spread, share = spread_of(plan, one.event, wall)
                reason = why_closed(plan.approve_between, wall, self._clocks_of_zones(), spread, share)
            if reason is None and one.event_id in self.without_plan:
                reason = nothing_configured_for(one.event.event_type)
            if reason is None and plan.check:
                reason = self.checks.problem_with(one.event_id)
            if reason is None:
                reason = self.still_down.problem_with(one.event_id)
            if reason is not None:
                withheld[one.event_id] = reason
            if reason != self.withheld.get(one.event_id):
                message = "may be approved from now on" if reason is None else "is not approved now: %s" % reason
                self._recorder.log(levels.NOTICE, "%s %s" % (one.event.event_type, message), event_id=one.event_id)
        self.withheld = withheld

    def _note_without_plan(self) -> None:
        found = set()
        hooks: Dict[str, bool] = {}

        def has_hooks(stage: str) -> bool:
            # Evaluated once in a turn, however many events there are.
            if stage not in hooks:
                hooks[stage] = self._has_hooks(stage)
            return hooks[stage]

        for one in self._recorder.state.tracked:
            plan = plan_of(self._recorder.rules, one)
            if one.over or one.is_manual or not has_nothing_to_do(one, plan, has_hooks):
                continue
            found.add(one.event_id)
            # The others are reported as withheld.
            if plan.approve == NEVER and one.event_id not in self.without_plan:
                message = nothing_configured_for(one.event.event_type)
                self._recorder.log(levels.NOTICE, message, event_id=one.event_id)
        self.without_plan = frozenset(found)

    def _clocks_of_zones(self) -> Any:
        # Imported here: most policies may approve at any time.
        from foghorn_core.maintenance_policy.zones import LocalTime

        self._local_time = self._local_time or LocalTime()
        return self._local_time

    def ask(self, now: float) -> None:
        """Approve the events that are due for approval now."""
        ready_here = self._see_ready_down(now)
        if self._session.is_busy:
            return
        members = self._members
        ready = to_approve(
            self._recorder.state, self._recorder.rules, members.statuses, members.silent, self.withheld, members.stale
        )
        self._sent.keep({one.event_id for one in self._recorder.state.tracked})
        due = self._sent.due([event.event_id for event in ready if event.event_id in ready_here], now)
        if not due or not self._recorder.is_up_to_date:
            return
        if self._recorder.config.dry_run:
            self._say_what_would_be_approved([event for event in ready if event.event_id in due])
            return
        # Recorded before it is sent: after a crash the agent knows that Azure may have received it.
        unrecorded = [event_id for event_id in due if self._recorded.get(event_id) != self._approvals_of(event_id)]
        if unrecorded:
            self._recorder.commit({"kind": "approving", "event_ids": unrecorded})
            self._recorded.update((event_id, self._approvals_of(event_id)) for event_id in unrecorded)
            return
        self._recorded = {}
        self._sent.send(due)
        self._session.submit(due)

    def _approvals_of(self, event_id: str) -> int:
        one = self._recorder.state.find(event_id)
        return 0 if one is None else one.approvals

    def _see_ready_down(self, now: float) -> FrozenSet[str]:
        """See that the units of events that are ready are still down; return the ids of those of which it is known."""
        state, rules, looks = self._recorder.state, self._recorder.rules, self.still_down
        ready = [
            (one, plan)
            for one, plan in awaiting_approval(state, rules)
            if is_ready(one, plan) and (one.event_id not in self.withheld or looks.problem_with(one.event_id))
        ]
        if self._recorder.config.dry_run:
            # Nothing was stopped.
            return frozenset(one.event_id for one, _plan in ready)
        looks.turn(ready, now)
        return frozenset(one.event_id for one, plan in ready if looks.is_clear(one, plan, now))

    def _say_what_would_be_approved(self, due: Sequence[Event]) -> None:
        for event in due:
            self._recorder.counters.add("foghorn_dry_run_would_total", what="approve")
            self._recorder.log(levels.NOTICE, "would approve %s" % event.event_type, event_id=event.event_id)
            # Once is enough.
            self._sent.end(event.event_id)

    def collect(self, now: float) -> None:
        """Process the outcomes of the approvals that were sent."""
        for result in self._session.collect():
            if isinstance(result, BaseException):
                self._recorder.counters.add("foghorn_approvals_total", result="failed")
                self._recorder.log(levels.ERROR, "the approval did not arrive, and will be sent again: %s" % result)
                self._sent.fail(result, now)
            else:
                self._recorder.counters.add("foghorn_approvals_total", result="accepted")
                self._sent.arrive(result, now)
                self._recorder.commit({"kind": "approved", "event_ids": list(result)})


class _Sent:
    """The outcomes of approvals that were sent. Times are on the monotonic clock."""

    def __init__(self) -> None:
        self._sent: Sequence[str] = ()
        self._again_at: Dict[str, float] = {}
        self._waited: Dict[str, float] = {}
        """How long to wait before each approval that did not arrive is sent again."""
        self._alone: Set[str] = set()
        """Events that were refused in one request: one of them may have been the reason."""

    def due(self, event_ids: Sequence[str], now: float) -> List[str]:
        """Those of these events that are to be approved now, in one request."""
        due = [event_id for event_id in event_ids if now >= self._again_at.get(event_id, now)]
        alone = [event_id for event_id in due if event_id in self._alone]
        return alone[:1] or due

    def send(self, event_ids: Sequence[str]) -> None:
        """Note that these are being sent."""
        self._sent = event_ids

    def fail(self, error: BaseException, now: float) -> None:
        """Note that what was sent did not arrive, or was refused."""
        if isinstance(error, Refused) and len(self._sent) > 1:
            self._alone.update(self._sent)
            return
        for event_id in self._sent:
            wait = min(_LONGEST_RETRY, max(_FIRST_RETRY, 2 * self._waited.get(event_id, 0.0)))
            self._waited[event_id] = wait
            self._again_at[event_id] = now + wait

    def arrive(self, event_ids: Sequence[Any], now: float) -> None:
        """Note that these arrived."""
        for event_id in event_ids:
            self._again_at[event_id] = now + _ONCE_MORE
            self._waited.pop(event_id, None)
            self._alone.discard(event_id)

    def end(self, event_id: str) -> None:
        """Never send this approval."""
        self._again_at[event_id] = float("inf")

    def keep(self, event_ids: Collection[str]) -> None:
        """Forget all but these."""
        self._again_at = {key: at for key, at in self._again_at.items() if key in event_ids}
        self._waited = {key: wait for key, wait in self._waited.items() if key in event_ids}
        self._alone.intersection_update(event_ids)
