# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides what comes next.

Everything that is decided is a pure function of the state, the rules, the document and the time, so that it can be
tested at every point of an event's life:

    seen → drain → shutdown → ready → approved → started → over → restore
"""

from typing import (
    AbstractSet,
    Callable,
    Container,
    Dict,
    FrozenSet,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from foghorn_core.scheduled_events.document import Document, event_as_azure
from foghorn_core.scheduled_events.event import (
    UNREADABLE,
    Event,
    NameKey,
    in_order_of_urgency,
    may_be,
    name_key,
    same_name,
)

from .outcome import StepOutcome
from .policy import (
    DRAIN,
    HOOKS,
    IGNORE,
    NEVER,
    QUORUM,
    RESTORE,
    SHUTDOWN,
    STOP,
    Plan,
    Rule,
    Step,
    keyed,
    manual_plan,
    plan_for,
    seconds_for,
)
from .state import BEGUN, ENDED, FAILED, MANUAL_ID, PENDING, SUCCEEDED, WITHDRAWN, HookFailure, Record, State, Tracked
from .undo import Undo, undo_of

_STAGES_BEFORE = (DRAIN, SHUTDOWN)
# What is said of a unit that does not run, or that somebody else is stopping. The words are systemd's.
_STATES_OF_REST = ("inactive", "failed", "deactivating", "unknown")

# An event that has started may hit the machine at any moment. Its stages plan with this much time.
SECONDS_ONCE_STARTED = 30.0
# After the service was disabled and enabled again, events take up to five minutes to be listed once more.
SECONDS_OF_DOUBT = 300.0
# The service manager answers sooner unless it is busy.
SECONDS_TO_LOOK = 5.0
# A machine that still runs this long after the end of an event that was to end it has survived the event.
SECONDS_TO_SURVIVE = 300.0
# An event that is no longer listed may still end the machine within this time.
SECONDS_TO_VANISH = 45.0


class Work(NamedTuple):
    """The next step to run."""

    event: Event
    stage: str
    key: str
    """Of the step, within its stage."""
    step: Step
    seconds: float
    """How long it may take."""
    is_cut: bool
    """Whether that is less than its own timeout, because the deadline is near."""
    rebooted: bool
    is_look: bool = False
    """Whether this only finds out if the unit that the step is to stop is running."""
    outcome: str = ""
    """With a restore: how the event ended, one of `OUTCOMES`."""
    hooks_done: Tuple[str, ...] = ()
    """With a directory of hooks: the names of the hooks that have ended."""
    is_short: bool = False
    """Whether it is less than half of its own timeout, so that hooks have to share what there is."""
    hook_seconds: Optional[float] = None
    """With a directory of hooks, one of which is tried again: what is left of that hook's share."""

    def is_same_as(self, other: "Optional[Work]") -> bool:
        """Whether both are the same step of the same event; the time left may differ."""
        return (
            other is not None
            and same_name(self.event.event_id, other.event.event_id)
            and (self.stage, self.key, self.is_look) == (other.stage, other.key, other.is_look)
        )


class MemberStatus(NamedTuple):
    """What another VM says about a shared event."""

    ready: bool
    """It has done everything that it wants to do before the event."""
    willing: bool
    """Its own plan lets the event be approved."""
    approves: bool
    """Its own plan lets it approve the event for all."""

    @property
    def agrees(self) -> bool:
        """Whether the event may be approved, as far as this VM is concerned."""
        return self.ready and self.willing


_UNHEARD = MemberStatus(False, False, True)


# --- what a document tells ------------------------------------------------------------------------


def observe(state: State, document: Document, wall: float, in_doubt: bool, missed: Container[str] = ()) -> List[Record]:
    """What is new in this document, for this VM, as records.

    :param wall: seconds since the epoch
    :param in_doubt: the service was enabled anew, so that an event which is not listed may only be not listed *yet*
    :param missed: ids of events that are not over yet, although they are not listed
    """
    records: List[Record] = []
    tracked = {one.event_id.lower(): one for one in state.tracked}
    # Each event once, whatever the document says.
    listed = {event.event_id.lower(): event for event in document.events if state.hits_me(event)}
    for key, event in listed.items():
        if key in state.forgotten or key == MANUAL_ID:
            continue
        known = tracked.get(key)
        if known is None:
            start = event.not_before
            notice = None if start is None else start.timestamp() - wall
            records.append({"kind": "seen", "event": event_as_azure(event), "notice": notice, "at": wall})
        elif known.event != event or known.over or (known.rebooted and event.is_scheduled):
            records.append({"kind": "changed", "event": event_as_azure(event), "event_id": event.event_id})
    unknown = [event for event in document.events if event.is_of_unknown_vms]
    hidden = {key for key in [*tracked, *state.forgotten] if any(may_be(event, key) for event in unknown)}
    for key in hidden.difference(listed, state.forgotten):
        one = tracked[key]
        if one.over is None and not one.is_manual and one.event.event_status != UNREADABLE:
            # IMDS may still list it, and it must not be approved.
            event = one.event._replace(event_status=UNREADABLE)
            records.append({"kind": "changed", "event": event_as_azure(event), "event_id": one.event_id})
    if not in_doubt:
        listed_ids = hidden.union(listed)
        for one in state.tracked:
            if one.over is None and not one.is_manual and one.event_id.lower() not in listed_ids:
                if one.event_id in missed:
                    continue
                # If the machine has booted since, the event was most likely the cause: nobody was there to see it
                # start.
                how = ENDED if one.started or one.rebooted else WITHDRAWN
                records.append({"kind": "over", "event_id": one.event_id, "how": how})
        records += [{"kind": "unlisted", "event_id": key} for key in state.forgotten if key not in listed_ids]
        # While an event is missing, the last list that had it stays the last one.
        if not missed and (document.incarnation != state.incarnation or state.in_doubt):
            records.append({"kind": "incarnation", "incarnation": document.incarnation})
    return records


def may_have_taken_effect(one: Tracked, wall: float) -> bool:
    """Whether an event that takes the machine away may just have begun to, should it not be listed any more.

    Nobody saw it start, and it was approved or its time had come. One that was withdrawn before then was withdrawn; of
    a machine that has booted since, it is known.
    """
    if one.over or one.started or one.rebooted or not one.event.is_final:
        return False
    start = one.event.not_before
    return one.approvals > 0 or start is None or start.timestamp() <= wall


def seconds_to_miss(one: Tracked, rules: Sequence[Rule], wall: float) -> float:
    """For how long an event that is no longer listed does not count as over."""
    if may_have_taken_effect(one, wall):
        return SECONDS_TO_VANISH
    is_advised = one.first.is_advisory and one.took_out and one.over is None and not one.rebooted
    return plan_of(rules, one).advice_holds_for if is_advised else 0.0


def renamed(state: State, document: Document) -> bool:
    """Whether a tracked event now affects only other VMs in the list: they are named, or this VM has another name."""
    live = {one.event_id.lower() for one in state.tracked if one.over is None}
    return any(
        event.event_id.lower() in live and not event.is_of_unknown_vms and not state.hits_me(event)
        for event in document.events
    )


def restarted(before: Optional[Document], document: Document) -> bool:
    """Whether the service counts its documents anew: it was disabled in the meantime, and has forgotten.

    The number changes whenever the list does, and otherwise grows. So it began anew if it is smaller, and also if it is
    the same and an event is missing, which cannot be the same list: counted from a small number once more, it may well
    have come to the one it had. Both are told by the document before, and not by the largest number that was ever seen:
    by that, every document after a first new beginning would be another one. A new count that has already passed the
    number of before cannot be told from a list that changed.

    :param before: the document before, as far as it is known; None if there was none
    """
    if before is None or document.incarnation > before.incarnation:
        return False
    listed = {event.event_id.lower() for event in document.events}
    return document.incarnation < before.incarnation or any(
        event.event_id.lower() not in listed for event in before.events
    )


def remembered(state: State) -> Optional[Document]:
    """The last document, as far as the journal knows: its events of this machine."""
    if state.incarnation is None:
        return None
    return Document(
        state.incarnation, tuple(one.event for one in state.tracked if one.over is None and not one.is_manual)
    )


# --- what comes next ------------------------------------------------------------------------------


def transitions(state: State, rules: Sequence[Rule], waiting: AbstractSet[str] = frozenset()) -> List[Record]:
    """The stages that begin or end now, in order. They cost no time; apply them, and there are no more.

    :param waiting: ids of events for which it is too early to begin
    """
    records: List[Record] = []
    may_restore = _may_restore(state, rules, waiting)
    if state.restore.state == BEGUN and not may_restore:
        # Before anything else is done to the machine: a later restore has to undo this as well, and starts again.
        records.append(_restore_record(state, FAILED))
    halted = None
    for one, plan, stage in _stages_to_do(state, rules, waiting):
        if one is halted:
            continue
        record = {"kind": "stage", "event_id": one.event_id, "stage": stage}
        progress = one.progress(stage)
        if progress.state != BEGUN:
            records.append(dict(record, state=BEGUN))
        if one.halted:
            halted = one
            records.append(dict(record, state=FAILED, **_what_came_of(one, plan, stage)))
        elif progress.left_of(plan.steps(stage)):
            return records
        else:
            state_now = FAILED if progress.flawed else SUCCEEDED
            records.append(dict(record, state=state_now, **_what_came_of(one, plan, stage)))
    if may_restore:
        if state.restore.state == PENDING:
            records.append(_restore_record(state, BEGUN))
        if not _restore_left(state, rules):
            records.append(_restore_record(state, SUCCEEDED))
    return records


def _what_came_of(one: Tracked, plan: Plan, stage: str) -> Dict[str, List[str]]:
    """The units that a stage has stopped, and the steps that failed or did not end in time, for notifications."""
    failed = {failure.name: failure.reason for failure in one.failures if failure.stage == stage}
    done = one.progress(stage).done
    stopped = [
        step.stops for key, step in keyed(plan.steps(stage)) if step.stops and key in done and step.name not in failed
    ]
    told = {"stopped": stopped, "failed": ["%s: %s" % each for each in failed.items()]}
    return {name: each for name, each in told.items() if each}


def is_wanted(state: State, rules: Sequence[Rule], work: Work) -> bool:
    """Whether a step that began some time ago still has to be done."""
    if work.stage == RESTORE:
        return state.restore.state == BEGUN and work.key in dict(_restore_left(state, rules))
    one = state.find(work.event.event_id)
    if one is None or one.over is not None:
        return False
    return work.key in dict(one.progress(work.stage).left_of(plan_of(rules, one).steps(work.stage)))


def _restore_record(state: State, progress: str) -> Record:
    """The events that the machine comes back from: they are forgotten afterwards."""
    back_from = [
        {"event_id": one.event_id, "event_type": one.event.event_type, "outcome": one.outcome}
        for one in state.tracked
        if one.took_out and one.over is not None
    ]
    return {"kind": "stage", "stage": RESTORE, "state": progress, "back_from": back_from}


def next_work(
    state: State,
    rules: Sequence[Rule],
    seconds_left: Mapping[str, Optional[float]],
    waiting: AbstractSet[str] = frozenset(),
) -> Optional[Work]:
    """The step that should be running now, once the transitions have been applied.

    :param seconds_left: by event id, seconds until its stages must be done; None where there is no deadline
    :param waiting: ids of events for which it is too early to begin
    """
    for one, plan, stage in _stages_to_do(state, rules, waiting):
        remaining = one.progress(stage).left_of(plan.steps(stage))
        key, step = remaining[0]
        if stage == DRAIN:
            remaining += one.shutdown.left_of(plan.steps(SHUTDOWN))
        seconds = seconds_for([each for _key, each in remaining], seconds_left.get(one.event_id))
        if seconds <= 0 and stage == SHUTDOWN:
            # The machine can no longer be ready in time. It can still stop as well as time allows, since Azure ends
            # it.
            seconds = step.timeout
        if step.stops and key not in one.looked:
            seconds = min(seconds, SECONDS_TO_LOOK)
            return Work(one.event, stage, key, step, seconds, False, one.rebooted, is_look=True)
        is_short = is_too_short(step, seconds)
        return Work(one.event, stage, key, step, seconds, seconds < step.timeout, one.rebooted, is_short=is_short)
    if state.restore.state == BEGUN:
        key, step = _restore_left(state, rules)[0]
        latest = [one for one in state.tracked if one.took_out][-1]
        return Work(
            latest.event, RESTORE, key, step, step.timeout, False, latest.rebooted, outcome=latest.outcome or ""
        )
    return None


def is_too_short(step: Step, seconds: float) -> bool:
    """Whether so little of a step's timeout is left that none of its hooks may have the time of those after it.

    With more, as with all of it, a slow hook may have what it needs: nobody knows how long the others take.
    """
    return seconds < step.timeout / 2


def share_of(outcome: StepOutcome, now: float, ends: float) -> float:
    """When a hook that has just failed for the first time is to be given up for those after it, by the clock of `now`.

    Its share of what was left of the step's time when it began is as large as each other's; the last one has the rest.

    :param ends: when the time of the step is up
    """
    began = now - outcome.seconds
    return began + (ends - began) / (outcome.hooks_left + 1)


def with_hooks_given_up(work: Work, plan: Plan, failures: Sequence[HookFailure], outcome: StepOutcome) -> StepOutcome:
    """What becomes of a step some of whose hooks were given up before, whatever became of the last one."""
    if work.step.kind != HOOKS or not failures:
        return outcome
    cut_off = [each.cut_off for each in failures]
    reasons = [each.reason for each in failures]
    if not outcome.succeeded:
        cut_off.append(outcome.cut_off)
        reasons.append(outcome.reason)
    # A hook that failed by itself ends a plan that ends with a failure. A hook that ran out of time is not forgiven.
    is_cut_off = all(cut_off) if plan.on_failure == STOP else any(cut_off)
    return outcome._replace(succeeded=False, reason="; ".join(reasons), cut_off=is_cut_off)


def hook_given_up(work: Work, outcome: StepOutcome) -> Record:
    """The record of a hook that has finally failed, while those after it still run."""
    return dict(
        hook_ended(work, outcome.hook),
        name=work.step.name,
        succeeded=False,
        # The name of the hook comes before it.
        reason=outcome.reason[len(outcome.hook) + 2 :],
        cut_off=outcome.cut_off,
        seconds=round(outcome.seconds, 3),
    )


def hook_ended(work: Work, hook: str) -> Record:
    """The record of a hook that has succeeded."""
    return {
        "kind": "hook_ended",
        "event_id": work.event.event_id,
        "stage": work.stage,
        "step": work.key,
        "hook": hook,
        "succeeded": True,
    }


def ended(work: Work, plan: Plan, outcome: StepOutcome) -> Record:
    """The record of a step that has finally ended, with what its failure means under the plan."""
    failed = not outcome.succeeded
    return {
        "kind": "step_ended",
        "event_id": work.event.event_id,
        "stage": work.stage,
        "step": work.key,
        "name": work.step.name,
        "succeeded": outcome.succeeded,
        "reason": outcome.reason,
        "seconds": round(outcome.seconds, 3),
        # A step that the plan had no time for is not forgiven: nobody has seen it fail.
        "forbids_approval": failed and (outcome.cut_off or plan.on_failure != IGNORE),
        # A step that ran out of the plan's time leaves the rest of the plan its share.
        "ends_plan": failed and not outcome.cut_off and plan.on_failure == STOP,
    }


def found(work: Work, outcome: StepOutcome) -> Record:
    """The record of how a step found the unit that it is to stop. If that cannot be told, it is taken to be running."""
    return {
        "kind": "found",
        "event_id": work.event.event_id,
        "stage": work.stage,
        "step": work.key,
        "unit": work.step.stops,
        "runs": _runs(outcome.output),
    }


def _runs(said: str) -> bool:
    """Whether a unit runs, or is about to be started: to stop it then is to keep it from that.

    :param said: `ActiveState=` and `Job=` of systemd, or the state alone
    """
    words = said.split()
    told = dict(word.split("=", 1) for word in words if "=" in word)
    state = told.get("ActiveState", words[0] if words else "")
    # One that is being stopped has a job, too.
    is_queued = told.get("Job", "0") not in ("", "0") and state != "deactivating"
    return is_queued or state not in _STATES_OF_REST


def tried(work: Work, outcome: StepOutcome) -> Record:
    """The record of a step that has failed, and will be tried again. It changes nothing: it is for whoever reads it."""
    return {
        "kind": "step_tried",
        "event_id": work.event.event_id,
        "stage": work.stage,
        "name": work.step.name,
        "reason": outcome.reason,
        "seconds": round(outcome.seconds, 3),
    }


def seconds_before_start(left: float, margin: float) -> float:
    """How long an event's stages may take, from the moment at which it is first known when it starts.

    :param left: seconds from then to the earliest start
    :param margin: seconds before the start at which they must be done, as far as half of what is left allows
    """
    if left <= 0:
        # The event may start at any moment, and has not started. That is no worse than an event that has started.
        return SECONDS_ONCE_STARTED
    return left - min(margin, left / 2)


def plan_of(rules: Sequence[Rule], one: Tracked) -> Plan:
    """The plan for an event, which stays the same for all of its life."""
    plan = manual_plan(rules) if one.is_manual else plan_for(rules, one.first, one.notice)
    # A probable event never starts: there is nothing to approve, and no start to wait for.
    return plan._replace(approve=NEVER, begin_before=None) if one.first.is_advisory else plan


def restore_steps(state: State, rules: Sequence[Rule]) -> "Dict[str, Step]":
    """What brings the machine back, by key: what undoes the steps of every event that had one run, each once.

    A unit that these stop is started only if it ran before.
    """
    steps: Dict[str, Step] = {}
    ran: Dict[str, bool] = {}
    for one in state.tracked:
        if one.began:
            undo = _undo_now(state, rules, one)
            for key, step in keyed(undo.steps):
                steps.setdefault(key, step)
            for unit, key in undo.stops:
                # The record of whether it ran before may be lost.
                ran[unit] = ran.get(unit, False) or key in one.drain.done + one.shutdown.done
    ran.update(state.found)
    return {key: step for key, step in steps.items() if ran.get(step.starts, True)}


def _undo_now(state: State, rules: Sequence[Rule], one: Tracked) -> Undo:
    planned = undo_of(plan_of(rules, one))
    if one.undo is None:
        return planned
    undo, keys = one.undo, dict(keyed(planned.steps))
    failed = [key for key, _step in keyed(undo.steps) if key in state.restore_failed and key not in keys]
    if not failed or not keys:
        return undo
    # A step that cannot succeed has been corrected.
    kept = tuple(step for key, step in keyed(undo.steps) if key not in failed)
    return undo._replace(steps=kept).left_over(planned)


def undo_with(rules: Sequence[Rule], work: Work, one: Optional[Tracked]) -> Optional[Undo]:
    """What has to be written down with a step that begins, since it is not yet: what undoes it and those before."""
    if one is None or work.stage == RESTORE:
        return None
    planned = undo_of(plan_of(rules, one))
    undo = planned if one.undo is None else one.undo.left_over(planned)
    return None if undo == one.undo else undo


def _restore_left(state: State, rules: Sequence[Rule]) -> "List[Tuple[str, Step]]":
    return [(key, step) for key, step in restore_steps(state, rules).items() if key not in state.restore.done]


def has_nothing_to_do(one: Tracked, plan: Plan, has_hooks: Callable[[str], bool]) -> bool:
    """Whether nothing prepares the machine for an event: its plan has only hooks, and finds none.

    :param has_hooks: whether the directory of a stage has one to run
    """
    return (
        plan.rests_on_hooks
        and not (one.prepared or one.failures)
        # A hook that is added after its stage has ended does not run.
        and not any(one.progress(stage).left_of(plan.steps(stage)) and has_hooks(stage) for stage in _STAGES_BEFORE)
    )


def is_ready(one: Tracked, plan: Plan) -> bool:
    """Whether all that the plan wants before the event has succeeded, and still holds."""
    return (
        # Until the next document shows whether the event booted the machine, or the machine has to be prepared again.
        not one.rebooted
        and not one.flawed
        # A failure that forbids the approval has flawed the plan; any other, the operator ignores.
        and (one.prepared or bool(one.failures) or plan.approve == NEVER or not plan.rests_on_hooks)
        and all(
            one.progress(stage).state == SUCCEEDED and not one.progress(stage).left_of(plan.steps(stage))
            for stage in _STAGES_BEFORE
            if getattr(plan, stage) is not None
        )
    )


def to_approve(
    state: State,
    rules: Sequence[Rule],
    statuses: Mapping[str, Mapping[NameKey, MemberStatus]],
    silent: FrozenSet[NameKey],
    withheld: Container[str] = (),
    stale: Container[NameKey] = (),
) -> List[Event]:
    """The events that this VM should let begin now.

    :param statuses: by event id in lower case, what other VMs have said about it last, by the keys of their names
    :param silent: keys of the names of VMs that no longer answer: others approve in their place
    :param withheld: ids of events that must not be approved now, for whatever reason
    :param stale: keys of the names of VMs that have not answered lately. What they said before does not count, since
        they may have been told otherwise; but of those in whose place this VM approves, nothing newer will come
    """
    names = [name_key(name) for name in (state.vm_name or "", *state.former_names)]
    events = []
    for one in state.tracked:
        if one.over or not one.event.is_scheduled or one.event_id in withheld:
            continue
        plan = plan_of(rules, one)
        if plan.approve == NEVER or not is_ready(one, plan):
            continue
        if not one.event.is_shared:
            events.append(one.event)
        elif plan.approve == QUORUM:
            members = [name_key(name) for name in one.event.resources]
            said = statuses.get(one.event_id.lower(), {})
            me = next((name for name in names if name in members), None)
            if me is None:
                continue
            before = members[: members.index(me)]
            replaced = [name for name in before if name in silent]
            # A VM that would not approve is passed over even if it answers.
            if all(name in replaced or not said.get(name, _UNHEARD).approves for name in before) and all(
                said.get(name, _UNHEARD).agrees and (name in replaced or name not in stale)
                for name in members
                if name != me
            ):
                events.append(one.event)
    return in_order_of_urgency(events)


def _stages_to_do(
    state: State, rules: Sequence[Rule], waiting: AbstractSet[str]
) -> "Iterator[Tuple[Tracked, Plan, str]]":
    """The stages before the event that are not done, the most urgent event's first."""
    pending = [one for one in state.tracked if not (one.over or one.rebooted or _is_waiting(one, waiting))]
    for one in sorted(pending, key=_order_of_work):
        plan = plan_of(rules, one)
        for stage in _STAGES_BEFORE:
            progress = one.progress(stage)
            if one.halted and progress.state == FAILED:
                break
            # A stage that has ended begins again if the configuration has new steps by now.
            if getattr(plan, stage) is not None and (
                progress.state not in (SUCCEEDED, FAILED) or progress.left_of(plan.steps(stage))
            ):
                yield one, plan, stage


def awaiting_approval(state: State, rules: Sequence[Rule]) -> "List[Tuple[Tracked, Plan]]":
    """The events that this VM's plans let be approved, sooner or later, with their plans."""
    mine = [one for one in state.tracked if one.over is None and one.event.is_scheduled]
    return [(one, plan) for one, plan in ((one, plan_of(rules, one)) for one in mine) if plan.approve != NEVER]


def _is_waiting(one: Tracked, waiting: AbstractSet[str]) -> bool:
    # An event whose work has begun goes on if it is postponed.
    return one.event_id in waiting and not one.took_out


def _order_of_work(one: Tracked) -> "Tuple[bool, bool, float]":
    start = one.event.not_before
    # An eviction leaves half a minute and interrupts even work that has begun. A drain by hand yields to every event:
    # only the person who asked for it waits for it.
    return one.event.event_type != "Preempt", one.is_manual, 0.0 if start is None or one.started else start.timestamp()


def _may_restore(state: State, rules: Sequence[Rule], waiting: AbstractSet[str]) -> bool:
    """Whether the machine is out of rotation although nothing is left that it should be out for."""
    if not state.is_out or state.is_incomplete or any(one.is_final for one in state.tracked):
        return False
    # It also stays out until the event is over that it left rotation for, even if the configuration has no plan for
    # the event any more.
    return not any(
        one.over is None and not _is_waiting(one, waiting) and (one.took_out or plan_of(rules, one).takes_out)
        for one in state.tracked
    )
