# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has been done, and what comes next?

The state is nothing but the sum of the journal's records: `apply` adds one. Everything that is decided is a
pure function of the state, the rules, the document and the time, so that it is the same after a crash as
before, and can be tested at every point of an event's life:

    seen → drain → shutdown → ready → approved → started → over → restore
"""

import json
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from foghorn_core.document import (
    Document,
    Event,
    event_as_azure,
    in_order_of_urgency,
    parse_document,
    same_name,
)

from .policy import (
    CONTINUE,
    DRAIN,
    NEVER,
    QUORUM,
    RESTORE,
    SHUTDOWN,
    Plan,
    Rule,
    Step,
    keyed,
    plan_for,
    seconds_for,
)

Record = Dict[str, Any]

# States of a stage.
PENDING = "pending"
BEGUN = "begun"
SUCCEEDED = "succeeded"
FAILED = "failed"

# How an event came to be no longer listed.
ENDED = "ended"
WITHDRAWN = "withdrawn"

# The reason, or the end of it, why a step did not succeed that the plan had no more time for.
CUT_OFF = "cut off at the deadline"

# After these the machine is gone, unless the event was withdrawn.
_FINAL_TYPES = ("Preempt", "Terminate")
_STAGES_BEFORE = (DRAIN, SHUTDOWN)

# An event that has begun may take the machine at any moment; this is what its stages may hope for.
SECONDS_ONCE_STARTED = 30.0
# After the service was disabled and enabled again, events take up to five minutes to be listed once more.
SECONDS_OF_DOUBT = 300.0


class Progress(NamedTuple):
    """How far a stage has come."""

    state: str = PENDING
    done: Tuple[str, ...] = ()
    """The keys of the steps that have ended. By what they do and not by their place, so that they are known again
    should the configuration have changed in the meantime."""

    def left_of(self, steps: Sequence[Step]) -> "List[Tuple[str, Step]]":
        """Those of the steps that have not ended, with their keys."""
        return [(key, step) for key, step in keyed(steps) if key not in self.done]


class Tracked(NamedTuple):
    """An event of this VM and what was done about it."""

    first: Event
    """As it was when it was first seen."""
    event: Event
    """As it was when it was last listed."""
    notice: Optional[float] = None
    """Seconds from the first sight to the earliest start."""
    seen_at: float = 0.0
    """Seconds since the epoch."""
    drain: Progress = Progress()
    shutdown: Progress = Progress()
    began: bool = False
    """Whether a step was ever begun, so that there is something to restore."""
    flawed: bool = False
    """Whether a step failed in a way that forbids the approval."""
    halted: bool = False
    """Whether a step failed in a way that ends the plan."""
    approvals: int = 0
    """How often an approval was sent."""
    accepted: bool = False
    """Whether IMDS took one."""
    started: bool = False
    rebooted: bool = False
    """Whether the machine has booted since it was last listed as scheduled."""
    over: Optional[str] = None

    @property
    def event_id(self) -> str:
        return self.event.event_id

    def progress(self, stage: str) -> Progress:
        """How far `drain` or `shutdown` has come."""
        return self.drain if stage == DRAIN else self.shutdown

    def with_progress(self, stage: str, progress: Progress) -> "Tracked":
        """The same, with one stage come further."""
        return self._replace(drain=progress) if stage == DRAIN else self._replace(shutdown=progress)

    @property
    def took_out(self) -> bool:
        """Whether the machine left rotation for it."""
        return self.drain.state != PENDING or self.shutdown.state != PENDING

    @property
    def is_final(self) -> bool:
        """Whether it has deleted this machine, as far as anybody knows."""
        return self.over == ENDED and self.event.event_type in _FINAL_TYPES


class State(NamedTuple):
    """All that the agent knows."""

    vm_id: Optional[str] = None
    vm_name: Optional[str] = None
    boot_id: Optional[str] = None
    incarnation: Optional[int] = None
    tracked: Tuple[Tracked, ...] = ()
    """In the order in which they were first seen."""
    restore: Progress = Progress()

    @property
    def is_out(self) -> bool:
        """Whether the machine is out of rotation: from the moment a drain begins until it is restored."""
        return any(one.took_out for one in self.tracked)

    def find(self, event_id: str) -> Optional[Tracked]:
        """What is known of an event."""
        for one in self.tracked:
            if same_name(one.event_id, event_id):
                return one
        return None


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

    def is_same_as(self, other: "Optional[Work]") -> bool:
        """Whether it is the same step of the same event; the time left may differ."""
        return (
            other is not None
            and same_name(self.event.event_id, other.event.event_id)
            and (self.stage, self.key) == (other.stage, other.key)
        )


# --- the state, record by record ------------------------------------------------------------------


class _Draft:
    """A state in the making, so that many records cost no more than each its own."""

    def __init__(self, state: State) -> None:
        self.begin(state)

    def begin(self, state: State) -> None:
        """Start from this state, whatever was here before."""
        self.vm_id = state.vm_id
        self.vm_name = state.vm_name
        self.boot_id = state.boot_id
        self.incarnation = state.incarnation
        self.restore = state.restore
        self.tracked = {one.event_id.lower(): one for one in state.tracked}

    def as_state(self) -> State:
        return State(
            self.vm_id, self.vm_name, self.boot_id, self.incarnation, tuple(self.tracked.values()), self.restore
        )

    def change(self, event_id: str, change: Callable[[Tracked], Tracked]) -> None:
        """Change what is known of an event, if it is known."""
        one = self.tracked.get(event_id.lower())
        if one is not None:
            self.tracked[event_id.lower()] = change(one)

    def change_all(self, change: Callable[[Tracked], Tracked]) -> None:
        """Change what is known of every event."""
        self.tracked = {key: change(one) for key, one in self.tracked.items()}

    def keep(self, is_kept: Callable[[Tracked], bool]) -> None:
        """Forget the other events."""
        self.tracked = {key: one for key, one in self.tracked.items() if is_kept(one)}


def apply(state: State, *records: Mapping[str, Any]) -> State:
    """Add records to the state. One of a kind that this version does not know changes nothing."""
    draft = _Draft(state)
    for record in records:
        _add(draft, record)
    return draft.as_state()


def replay(records: Iterable[Mapping[str, Any]]) -> State:
    """Rebuild the state from a journal, or from any prefix of one.

    A record that cannot be understood is left out: an agent that starts with less than it knew does more for its
    machine than one that does not start.
    """
    draft = _Draft(State())
    for record in records:
        try:
            _add(draft, record)
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    return draft.as_state()


def _add(draft: _Draft, record: Mapping[str, Any]) -> None:
    change = _CHANGES.get(record.get("kind", ""))
    if change is not None:
        change(draft, record)


def summarise(state: State) -> List[Record]:
    """The fewest records that rebuild this state."""
    records: List[Record] = [
        {
            "kind": "summary",
            "vm_id": state.vm_id,
            "vm_name": state.vm_name,
            "boot_id": state.boot_id,
            "incarnation": state.incarnation,
            "restore": list(state.restore),
        }
    ]
    for one in state.tracked:
        record: Dict[str, Any] = one._asdict()
        record.update(
            kind="tracked",
            first=event_as_azure(one.first),
            event=event_as_azure(one.event),
            drain=list(one.drain),
            shutdown=list(one.shutdown),
        )
        records.append(dict(record))
    return records


def _summary(draft: _Draft, record: Mapping[str, Any]) -> None:
    # All of it is read before anything is changed, here and below: a record counts as a whole or not at all.
    restore = _progress(record["restore"])
    draft.begin(State(record["vm_id"], record["vm_name"], record["boot_id"], record["incarnation"], (), restore))


def _tracked(draft: _Draft, record: Mapping[str, Any]) -> None:
    fields = {name: value for name, value in record.items() if name in Tracked._fields}
    fields.update(
        first=_event(record["first"]),
        event=_event(record["event"]),
        drain=_progress(record["drain"]),
        shutdown=_progress(record["shutdown"]),
    )
    one = Tracked(**fields)
    draft.tracked[one.event_id.lower()] = one


def _identity(draft: _Draft, record: Mapping[str, Any]) -> None:
    vm_id, vm_name = record["vm_id"], record["vm_name"]
    if draft.vm_id and vm_id and draft.vm_id != vm_id:
        # The disk of another machine, from an image: nothing of what was known there is true here.
        draft.begin(State(boot_id=draft.boot_id))
    draft.vm_id, draft.vm_name = vm_id, vm_name


def _boot(draft: _Draft, record: Mapping[str, Any]) -> None:
    before, draft.boot_id = draft.boot_id, record["boot_id"]
    if before is not None and before != draft.boot_id:
        draft.restore = Progress()
        draft.change_all(_after_boot)


def _after_boot(one: Tracked) -> Tracked:
    if one.over:
        return one
    # Most likely by the event itself, which the next document will tell. If it is still only scheduled, the machine
    # has booted for another reason, and its services are up again: then nothing of what was done holds.
    return one._replace(rebooted=True)


def _anew(one: Tracked) -> Tracked:
    return one._replace(
        rebooted=False,
        drain=_begun_again(one.drain),
        shutdown=Progress(),
        flawed=False,
        halted=False,
        approvals=0,
        accepted=False,
    )


def _begun_again(progress: Progress) -> Progress:
    # Once out of rotation, the machine stays out: it is only the steps that have to be taken anew.
    return Progress() if progress.state == PENDING else Progress(BEGUN)


def _incarnation(draft: _Draft, record: Mapping[str, Any]) -> None:
    draft.incarnation = record["incarnation"]


def _seen(draft: _Draft, record: Mapping[str, Any]) -> None:
    event = _event(record["event"])
    draft.tracked[event.event_id.lower()] = Tracked(
        first=event, event=event, notice=record["notice"], seen_at=record["at"], started=event.is_started
    )


def _changed(draft: _Draft, record: Mapping[str, Any]) -> None:
    event = _event(record["event"])

    def change(one: Tracked) -> Tracked:
        # It was over, and perhaps half restored, or has booted since: what was done for it does not hold any more.
        if event.is_scheduled and (one.rebooted or one.over):
            one = _anew(one)
        return one._replace(event=event, started=one.started or event.is_started, over=None)

    draft.change(event.event_id, change)


def _over(draft: _Draft, record: Mapping[str, Any]) -> None:
    how = record["how"]
    draft.change(record["event_id"], lambda one: one._replace(over=how))
    # What it did not touch needs no restoring, and no remembering.
    one = draft.tracked.get(record["event_id"].lower())
    if one is not None and not one.took_out:
        del draft.tracked[record["event_id"].lower()]


def _stage(draft: _Draft, record: Mapping[str, Any]) -> None:
    stage, state = record["stage"], record["state"]
    if stage != RESTORE:
        draft.change(
            record["event_id"], lambda one: one.with_progress(stage, one.progress(stage)._replace(state=state))
        )
        return
    # If not begun: done, or given up because the machine is needed out of rotation once more.
    draft.restore = Progress(BEGUN) if state == BEGUN else Progress()
    if state == SUCCEEDED:
        draft.keep(lambda one: not (one.over and one.took_out))


def _step_begun(draft: _Draft, record: Mapping[str, Any]) -> None:
    draft.change(record["event_id"], lambda one: one._replace(began=True))


def _step_ended(draft: _Draft, record: Mapping[str, Any]) -> None:
    stage, key, succeeded = record["stage"], record["step"], record["succeeded"]
    if stage == RESTORE:
        if succeeded:
            draft.restore = Progress(BEGUN, (*draft.restore.done, key))
        return
    forbids_approval, ends_plan = record["forbids_approval"], record["ends_plan"]

    def change(one: Tracked) -> Tracked:
        one = one.with_progress(stage, Progress(BEGUN, (*one.progress(stage).done, key)))
        return one._replace(flawed=one.flawed or forbids_approval, halted=one.halted or ends_plan)

    draft.change(record["event_id"], change)


def _approving(draft: _Draft, record: Mapping[str, Any]) -> None:
    for event_id in record["event_ids"]:
        draft.change(event_id, lambda one: one._replace(approvals=one.approvals + 1))


def _approved(draft: _Draft, record: Mapping[str, Any]) -> None:
    for event_id in record["event_ids"]:
        draft.change(event_id, lambda one: one._replace(accepted=True))


def _progress(content: Any) -> Progress:
    state, done = content
    return Progress(state, tuple(done))


def _event(content: Any) -> Event:
    return parse_document(json.dumps({"DocumentIncarnation": 0, "Events": [content]})).events[0]


_CHANGES = {
    "summary": _summary,
    "tracked": _tracked,
    "identity": _identity,
    "boot": _boot,
    "incarnation": _incarnation,
    "seen": _seen,
    "changed": _changed,
    "over": _over,
    "stage": _stage,
    "step_begun": _step_begun,
    "step_ended": _step_ended,
    "approving": _approving,
    "approved": _approved,
}

# What others are told of: the stages, and the kinds of records that are no matter of the agent alone.
TOLD = (
    "seen",
    "changed",
    DRAIN,
    SHUTDOWN,
    "approving",
    "approved",
    "over",
    RESTORE,
    "boot",
    "identity",
)


def occasion(record: Mapping[str, Any]) -> str:
    """What a record is to others: one of `TOLD`, or something that they are not told of."""
    return str(record["stage"] if record["kind"] == "stage" else record["kind"])


# --- what a document tells ------------------------------------------------------------------------


def observe(state: State, document: Document, wall: float, in_doubt: bool) -> List[Record]:
    """What is new in this document, for this VM, as records.

    :param wall: seconds since the epoch
    :param in_doubt: the service was enabled anew, so that an event which is not listed may only be not listed *yet*
    """
    vm_name = state.vm_name or ""
    records: List[Record] = []
    tracked = {one.event_id.lower(): one for one in state.tracked}
    # Each once, whatever the document says.
    listed = {event.event_id.lower(): event for event in document.events if event.affects(vm_name)}
    for key, event in listed.items():
        known = tracked.get(key)
        if known is None:
            start = event.not_before
            notice = None if start is None else start.timestamp() - wall
            records.append({"kind": "seen", "event": event_as_azure(event), "notice": notice, "at": wall})
        elif known.event != event or known.over or (known.rebooted and event.is_scheduled):
            records.append({"kind": "changed", "event": event_as_azure(event), "event_id": event.event_id})
    if not in_doubt:
        for one in state.tracked:
            if one.over is None and one.event_id.lower() not in listed:
                how = ENDED if one.started else WITHDRAWN
                records.append({"kind": "over", "event_id": one.event_id, "how": how})
        if document.incarnation != state.incarnation:
            records.append({"kind": "incarnation", "incarnation": document.incarnation})
    return records


def restarted(state: State, document: Document) -> bool:
    """Whether the service counts its documents anew: it was disabled in the meantime, and has forgotten."""
    return state.incarnation is not None and document.incarnation < state.incarnation


# --- what comes next ------------------------------------------------------------------------------


def transitions(state: State, rules: Sequence[Rule]) -> List[Record]:
    """The stages that begin or end now, in order. They cost no time; apply them, and there are no more."""
    records: List[Record] = []
    may_restore = _may_restore(state, rules)
    if state.restore.state == BEGUN and not may_restore:
        # Before anything else is done to the machine: a later restore has to undo that, too, and begins anew.
        records.append({"kind": "stage", "stage": RESTORE, "state": FAILED})
    halted = None
    for one, plan, stage in _stages_to_do(state, rules):
        if one is halted:
            continue
        record = {"kind": "stage", "event_id": one.event_id, "stage": stage}
        progress = one.progress(stage)
        if progress.state != BEGUN:
            records.append(dict(record, state=BEGUN))
        if one.halted:
            halted = one
            records.append(dict(record, state=FAILED))
        elif progress.left_of(plan.steps(stage)):
            return records
        else:
            records.append(dict(record, state=SUCCEEDED))
    if may_restore:
        if state.restore.state == PENDING:
            records.append({"kind": "stage", "stage": RESTORE, "state": BEGUN})
        if not _restore_left(state, rules):
            records.append({"kind": "stage", "stage": RESTORE, "state": SUCCEEDED})
    return records


def next_work(state: State, rules: Sequence[Rule], seconds_left: Mapping[str, Optional[float]]) -> Optional[Work]:
    """The step that should be running now, once the transitions have been applied.

    :param seconds_left: by event id, seconds until its stages must be done; None where there is no deadline
    """
    for one, plan, stage in _stages_to_do(state, rules):
        remaining = one.progress(stage).left_of(plan.steps(stage))
        key, step = remaining[0]
        if stage == DRAIN:
            remaining += one.shutdown.left_of(plan.steps(SHUTDOWN))
        seconds = seconds_for([each for _key, each in remaining], seconds_left.get(one.event_id))
        if seconds <= 0 and stage == SHUTDOWN:
            # Too late to be ready, not too late to stop as well as time allows: Azure ends it, not we.
            seconds = step.timeout
        return Work(one.event, stage, key, step, seconds, seconds < step.timeout, one.rebooted)
    if state.restore.state == BEGUN and _may_restore(state, rules):
        key, step = _restore_left(state, rules)[0]
        latest = [one for one in state.tracked if one.took_out][-1]
        return Work(latest.event, RESTORE, key, step, step.timeout, False, latest.rebooted)
    return None


def ended(work: Work, plan: Plan, succeeded: bool, reason: str, seconds: float) -> Record:
    """The record of a step that has ended, with what its failure means under the plan."""
    # By how it ended, not by how little time it had: a step may fail of itself long before the deadline.
    out_of_time = reason.endswith(CUT_OFF)
    forgiven = plan.on_failure == CONTINUE and not out_of_time
    return {
        "kind": "step_ended",
        "event_id": work.event.event_id,
        "stage": work.stage,
        "step": work.key,
        "name": work.step.name,
        "succeeded": succeeded,
        "reason": reason,
        "seconds": round(seconds, 3),
        "forbids_approval": not succeeded and not forgiven,
        # A step that ran out of the plan's time leaves the rest of the plan its share.
        "ends_plan": not succeeded and not forgiven and not out_of_time,
    }


def plan_of(rules: Sequence[Rule], one: Tracked) -> Plan:
    """The plan for an event, which stays the same for all of its life."""
    return plan_for(rules, one.first, one.notice)


def restore_steps(state: State, rules: Sequence[Rule]) -> "Dict[str, Step]":
    """What brings the machine back, by key: the restore steps of every event that had a step run, each once."""
    steps: Dict[str, Step] = {}
    for one in state.tracked:
        if one.began:
            for key, step in keyed(plan_of(rules, one).steps(RESTORE)):
                steps.setdefault(key, step)
    return steps


def _restore_left(state: State, rules: Sequence[Rule]) -> "List[Tuple[str, Step]]":
    return [(key, step) for key, step in restore_steps(state, rules).items() if key not in state.restore.done]


def is_ready(one: Tracked, plan: Plan) -> bool:
    """Whether all that the plan wants before the event has succeeded, and still holds."""
    return (
        # Until the next document tells whether it booted by the event, or has to be made ready anew.
        not one.rebooted
        and not one.flawed
        and not one.halted
        and all(
            one.progress(stage).state == SUCCEEDED and not one.progress(stage).left_of(plan.steps(stage))
            for stage in _STAGES_BEFORE
            if getattr(plan, stage) is not None
        )
    )


def to_approve(
    state: State, rules: Sequence[Rule], ready_members: Mapping[str, FrozenSet[str]], silent: FrozenSet[str]
) -> List[Event]:
    """The events that this VM should let begin now.

    :param ready_members: by event id in lower case, the names in lower case of other VMs that have said they are ready
    :param silent: names in lower case of VMs that no longer answer
    """
    me = (state.vm_name or "").lower()
    events = []
    for one in state.tracked:
        if one.over or not one.event.is_scheduled or one.rebooted or one.flawed or one.halted:
            continue
        plan = plan_of(rules, one)
        if plan.approve == NEVER or not is_ready(one, plan):
            continue
        if not one.event.is_shared:
            events.append(one.event)
        elif plan.approve == QUORUM:
            members = [name.lower() for name in one.event.resources]
            ready = ready_members.get(one.event_id.lower(), frozenset())
            before_me = members[: members.index(me)] if me in members else members
            everybody = all(name in ready or name == me for name in members)
            if everybody and all(name in silent for name in before_me):
                events.append(one.event)
    return in_order_of_urgency(events)


def _stages_to_do(state: State, rules: Sequence[Rule]) -> "Iterator[Tuple[Tracked, Plan, str]]":
    """The stages before the event that are not done, the most urgent event's first."""
    waiting = [one for one in state.tracked if not (one.over or one.rebooted)]
    for one in sorted(waiting, key=_order_of_work):
        plan = plan_of(rules, one)
        for stage in _STAGES_BEFORE:
            progress = one.progress(stage)
            if progress.state == FAILED:
                break
            # What has succeeded begins anew if the configuration has got further steps in the meantime.
            if getattr(plan, stage) is not None and (
                progress.state != SUCCEEDED or progress.left_of(plan.steps(stage))
            ):
                yield one, plan, stage


def _order_of_work(one: Tracked) -> "Tuple[bool, float]":
    start = one.event.not_before
    # An eviction leaves half a minute: it goes ahead even of what has begun.
    return one.event.event_type != "Preempt", 0.0 if start is None or one.started else start.timestamp()


def _may_restore(state: State, rules: Sequence[Rule]) -> bool:
    """Whether the machine is out of rotation with nothing left that it should be out for."""
    if not state.is_out or any(one.is_final for one in state.tracked):
        return False
    # Nor before the end of what it was taken out for, should the configuration have lost its plan in the meantime.
    return not any(one.over is None and (one.took_out or plan_of(rules, one).takes_out) for one in state.tracked)
