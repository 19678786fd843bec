# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has been done so far.

The state is nothing but the sum of the journal's records: `apply` adds one, so that it is the same after a crash as
before. What comes next is decided in `decisions`.
"""

from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from foghorn_core.scheduled_events.document import event_as_azure, parse_event
from foghorn_core.scheduled_events.event import SCHEDULED, Event, same_name

from .policy import DRAIN, MANUAL, RESTORE, SHUTDOWN, Step, keyed
from .undo import Undo, read_undo, undo_as_json

Record = Dict[str, Any]

# States of a stage.
PENDING = "pending"
BEGUN = "begun"
SUCCEEDED = "succeeded"
FAILED = "failed"

# How an event left the list.
ENDED = "ended"
WITHDRAWN = "withdrawn"
# How an event ended by an operator's decision.
FORGOTTEN = "forgotten"
RELEASED = "released"

# How an ended event turned out when the machine is restored: maintenance that is over, or an end of the machine that
# did not come.
COMPLETED = "completed"
SURVIVED = "survived"
_MOST_NAMES = 8
OUTCOMES = (COMPLETED, SURVIVED, WITHDRAWN, FORGOTTEN, RELEASED)

# A drain by hand is kept as an event with this id. Azure's ids are GUIDs.
MANUAL_ID = "manual"


class HookFailure(NamedTuple):
    """A hook that was given up, while those after it still run."""

    name: str
    """Of its step."""
    reason: str
    """With the name of the hook."""
    cut_off: bool
    """Whether it had to end because the plan had no more time for it."""


class Progress(NamedTuple):
    """How far a stage has come."""

    state: str = PENDING
    done: Tuple[str, ...] = ()
    """The keys of the steps that have ended. By what they do and not by their place, so that they are known again
    should the configuration have changed in the meantime."""
    flawed: bool = False
    """Whether one of the steps failed, or ran out of time, in a way that forbids the approval."""
    hooks: Tuple[str, ...] = ()
    """The hooks of the running step that have ended. They do not run again with the step."""
    hook_failures: Tuple[HookFailure, ...] = ()
    """The hooks among these that were given up, in order."""

    def left_of(self, steps: Sequence[Step]) -> "List[Tuple[str, Step]]":
        """The steps of this list that have not ended, with their keys."""
        return [(key, step) for key, step in keyed(steps) if key not in self.done]


class Failure(NamedTuple):
    """A step that has finally failed."""

    stage: str
    name: str
    reason: str


class Tracked(NamedTuple):
    """An event of this VM, and what was done about it."""

    first: Event
    """The event as it was first seen."""
    event: Event
    """The event as it was last listed."""
    notice: Optional[float] = None
    """Seconds from the first sight to the earliest start."""
    seen_at: float = 0.0
    """Seconds since the epoch."""
    drain: Progress = Progress()
    shutdown: Progress = Progress()
    looked: Tuple[str, ...] = ()
    """The keys of the steps that stop a unit and have checked whether it runs."""
    began: bool = False
    """Whether a step of its drain or shutdown ever began, so that there is something to restore."""
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
    survived: bool = False
    """Whether the machine has run on for minutes after the end of the event that was to end the machine."""
    failures: Tuple[Failure, ...] = ()
    """The steps that have finally failed, in the order in which they did."""
    prepared: bool = False
    """Whether a hook has succeeded for it: a directory without hooks prepares nothing."""
    undo: Optional[Undo] = None
    """What undoes the steps that began. None: none has, or its record is lost."""

    @property
    def event_id(self) -> str:
        return self.event.event_id

    @property
    def is_manual(self) -> bool:
        """Whether this is a drain by hand and no event of Azure's."""
        return self.event_id == MANUAL_ID

    def progress(self, stage: str) -> Progress:
        """How far `drain` or `shutdown` has come."""
        return self.drain if stage == DRAIN else self.shutdown

    def with_progress(self, stage: str, progress: Progress) -> "Tracked":
        """The same event, with one stage further on."""
        return self._replace(drain=progress) if stage == DRAIN else self._replace(shutdown=progress)

    @property
    def took_out(self) -> bool:
        """Whether the machine left rotation for it."""
        return self.drain.state != PENDING or self.shutdown.state != PENDING

    @property
    def outcome(self) -> Optional[str]:
        """How it ended, for the restore: one of `OUTCOMES`. None before its end."""
        if self.over != ENDED:
            return self.over
        return SURVIVED if self.event.is_final else COMPLETED

    @property
    def is_final(self) -> bool:
        """Whether it has taken this machine away, as far as anybody knows. A machine that boots again is alive."""
        return self.over == ENDED and self.event.is_final and not (self.rebooted or self.survived)


class Hold(NamedTuple):
    """An operator withholds all approvals. Times are in seconds since the epoch."""

    since: float
    until: Optional[float] = None
    """None: until it is released."""
    is_of_earlier_boot: bool = False
    """Whether its times are by a clock that the machine has set anew since."""


class State(NamedTuple):
    """All that the agent knows."""

    vm_id: Optional[str] = None
    vm_name: Optional[str] = None
    boot_id: Optional[str] = None
    incarnation: Optional[int] = None
    tracked: Tuple[Tracked, ...] = ()
    """In the order in which they were first seen."""
    restore: Progress = Progress()
    restore_failed: Tuple[str, ...] = ()
    """The keys of the steps of the running restore that have failed, and have not succeeded since."""
    found: Tuple[Tuple[str, bool], ...] = ()
    """The units that were stopped since the machine was in rotation, and whether they ran before."""
    in_doubt: bool = False
    """Whether IMDS counts its documents from the beginning again, and may not list everything yet."""
    hold: Optional[Hold] = None
    forgotten: Tuple[str, ...] = ()
    """The ids, in lower case, of events to leave alone while they are listed."""
    former_names: Tuple[str, ...] = ()
    """Earlier names of this VM."""
    unreadable: int = 0
    """How many records of the journal could not be understood."""
    is_incomplete: bool = False
    """Whether the state may lack something that happened since the machine was last in rotation."""
    was_out: bool = False
    """Whether the machine was out of rotation according to what the journal lacks."""

    @property
    def is_out(self) -> bool:
        """Whether the machine is out of rotation: from the moment a drain begins until it is restored."""
        return self.was_out or any(one.took_out for one in self.tracked)

    def hits_me(self, event: Event) -> bool:
        """Whether an event names this VM, by its name or, if it is tracked, by one that it had before."""
        return event.affects(self.vm_name or "") or (
            any(event.affects(name) for name in self.former_names) and self.find(event.event_id) is not None
        )

    def progress(self, event_id: str, stage: str) -> Progress:
        """How far a stage of an event has come. The restore is common to all events."""
        one = self.find(event_id)
        if stage == RESTORE:
            return self.restore
        return Progress() if one is None else one.progress(stage)

    def find(self, event_id: str) -> Optional[Tracked]:
        """What is known of an event."""
        for one in self.tracked:
            if same_name(one.event_id, event_id):
                return one
        return None


# --- record by record ----------------------------------------------------------------------------


class _Draft:
    """A state in the making, so that adding a record does not copy all the others."""

    def __init__(self, state: State) -> None:
        self.begin(state)

    def begin(self, state: State) -> None:
        """Start from this state."""
        self.vm_id = state.vm_id
        self.vm_name = state.vm_name
        self.boot_id = state.boot_id
        self.incarnation = state.incarnation
        self.restore = state.restore
        self.restore_failed = state.restore_failed
        self.found = dict(state.found)
        self.in_doubt = state.in_doubt
        self.hold = state.hold
        self.forgotten = state.forgotten
        self.former_names = state.former_names
        self.unreadable = state.unreadable
        self.is_incomplete = state.is_incomplete
        self.was_out = state.was_out
        self.expected = 0
        """How many tracked events follow a summary."""
        self.tracked = {one.event_id.lower(): one for one in state.tracked}

    def as_state(self) -> State:
        return State(
            self.vm_id,
            self.vm_name,
            self.boot_id,
            self.incarnation,
            tuple(self.tracked.values()),
            self.restore,
            self.restore_failed,
            tuple(self.found.items()),
            self.in_doubt,
            self.hold,
            self.forgotten,
            self.former_names,
            self.unreadable,
            self.is_incomplete or self.expected > 0,
            self.was_out or self.expected > 0,
        )

    def miss(self, record: Mapping[str, Any]) -> None:
        """Count a record that cannot be understood, or that is about something unknown."""
        self.unreadable += 1
        self.is_incomplete = True
        # Nobody knows whose record a damaged one was. Those around it show it: they depend on it.
        self.was_out = self.was_out or record.get("stage") in (DRAIN, SHUTDOWN) or record.get("kind") == "tracked"

    def trust(self) -> None:
        """Take the known state to be complete."""
        self.is_incomplete = self.was_out = False
        self.expected = 0

    def change(self, event_id: str, change: Callable[[Tracked], Tracked]) -> None:
        """Change what is known of an event, if it is known."""
        one = self.tracked.get(event_id.lower())
        if one is not None:
            self.tracked[event_id.lower()] = change(one)

    def change_all(self, change: Callable[[Tracked], Tracked]) -> None:
        """Change what is known of every event."""
        self.tracked = {key: change(one) for key, one in self.tracked.items()}


def apply(state: State, *records: Mapping[str, Any]) -> State:
    """Add records to the state. One of a kind that this version does not know changes nothing."""
    draft = _Draft(state)
    for record in records:
        _add(draft, record)
    return draft.as_state()


def replay(records: Iterable[Mapping[str, Any]]) -> State:
    """Rebuild the state from a journal, or from any prefix of one.

    A record that cannot be understood is left out and counted: an agent that starts with less than it knew does more
    for its machine than one that does not start.
    """
    draft = _Draft(State())
    for record in records:
        try:
            change = _CHANGES[record["kind"]]
            if _is_of_unknown_event(draft, record):
                draft.miss(record)
            change(draft, record)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            draft.miss(record)
    return draft.as_state()


def _is_of_unknown_event(draft: _Draft, record: Mapping[str, Any]) -> bool:
    """Whether the record is about work for an event whose beginning is unknown because it was lost."""
    kinds = ("stage", "found", "step_begun", "step_ended", "hook_ended", "step_tried")
    return record["kind"] in kinds and record["stage"] != RESTORE and record["event_id"].lower() not in draft.tracked


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
            "restore_failed": list(state.restore_failed),
            "found": dict(state.found),
            "in_doubt": state.in_doubt,
            "hold": None if state.hold is None else list(state.hold),
            "forgotten": list(state.forgotten),
            "former_names": list(state.former_names),
            "is_incomplete": state.is_incomplete,
            "was_out": state.was_out,
            "events": len(state.tracked),
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
            undo=None if one.undo is None else undo_as_json(one.undo),
        )
        records.append(dict(record))
    return records


def _summary(draft: _Draft, record: Mapping[str, Any]) -> None:
    # Everything is read before anything is changed, here and below: a record counts as a whole or not at all.
    expected = int(record["events"])
    begun = State(
        record["vm_id"],
        record["vm_name"],
        record["boot_id"],
        record["incarnation"],
        restore=_progress(record["restore"]),
        restore_failed=tuple(record["restore_failed"]),
        found=tuple(record["found"].items()),
        in_doubt=record["in_doubt"],
        hold=_hold(record["hold"]),
        forgotten=tuple(record["forgotten"]),
        former_names=tuple(record["former_names"]),
        is_incomplete=record["is_incomplete"],
        was_out=record["was_out"],
    )
    draft.begin(begun)
    draft.expected = expected


def _tracked(draft: _Draft, record: Mapping[str, Any]) -> None:
    fields = {name: value for name, value in record.items() if name in Tracked._fields}
    fields.update(
        first=parse_event(record["first"]),
        event=parse_event(record["event"]),
        drain=_progress(record["drain"]),
        shutdown=_progress(record["shutdown"]),
        looked=tuple(record["looked"]),
        failures=tuple(Failure(*each[: len(Failure._fields)]) for each in record["failures"]),
        undo=None if record["undo"] is None else read_undo(record["undo"]),
    )
    one = Tracked(**fields)
    draft.tracked[one.event_id.lower()] = one
    draft.expected = max(0, draft.expected - 1)


def _identity(draft: _Draft, record: Mapping[str, Any]) -> None:
    vm_id, vm_name = record["vm_id"], record["vm_name"]
    if is_another_vm(draft.vm_id, vm_id):
        # This is the disk of another machine, from an image: nothing that was known there is true here.
        draft.begin(State(boot_id=draft.boot_id))
    elif draft.vm_name and draft.vm_name != vm_name:
        draft.former_names = (draft.vm_name, *(name for name in draft.former_names if name != vm_name))[:_MOST_NAMES]
    draft.vm_id, draft.vm_name = vm_id, vm_name


def is_another_vm(known: Optional[str], told: Optional[str]) -> bool:
    """Whether two ids belong to two different VMs. An unknown id may belong to any."""
    return bool(known and told) and str(known).lower() != str(told).lower()


def _boot(draft: _Draft, record: Mapping[str, Any]) -> None:
    before, draft.boot_id = draft.boot_id, record["boot_id"]
    if before is not None and before != draft.boot_id:
        draft.restore, draft.restore_failed = Progress(), ()
        draft.change_all(_after_boot)
        if draft.hold is not None:
            draft.hold = draft.hold._replace(is_of_earlier_boot=True)


def _after_boot(one: Tracked) -> Tracked:
    if one.over and not one.is_final:
        return one
    if one.is_manual:
        # The drain may have been meant for this very boot: the machine stays out, and the drain runs again, since a
        # boot undoes what a step set in memory.
        return _anew(one)
    # Most likely by the event itself, which the next document will tell. If it is still only scheduled, the machine
    # has booted for another reason, and its services are up again: then nothing of what was done holds.
    return one._replace(rebooted=True)


def _anew(one: Tracked) -> Tracked:
    return one._replace(
        rebooted=False,
        drain=_begun_again(one.drain),
        shutdown=Progress(),
        looked=(),
        flawed=False,
        halted=False,
        approvals=0,
        accepted=False,
        failures=(),
        prepared=False,
    )


def _begun_again(progress: Progress) -> Progress:
    # Once out of rotation, the machine stays out: only the steps have to run again.
    return Progress() if progress.state == PENDING else Progress(BEGUN)


def _incarnation(draft: _Draft, record: Mapping[str, Any]) -> None:
    draft.incarnation = record["incarnation"]
    draft.in_doubt = False


def _doubt(draft: _Draft, _record: Mapping[str, Any]) -> None:
    draft.in_doubt = True


def _survived(draft: _Draft, record: Mapping[str, Any]) -> None:
    draft.change(record["event_id"], lambda one: one._replace(survived=True))


def _seen(draft: _Draft, record: Mapping[str, Any]) -> None:
    event = parse_event(record["event"])
    one = Tracked(first=event, event=event, notice=record["notice"], seen_at=record["at"], started=event.is_started)
    if event.event_type == "Preempt":
        one = _after_advice(one, draft.tracked.values())
    draft.tracked[event.event_id.lower()] = one


def _after_advice(one: Tracked, tracked: Iterable[Tracked]) -> Tracked:
    """An eviction continues the drain that began when it was only likely."""
    for other in tracked:
        if other.first.is_advisory and other.took_out and not (other.over or other.flawed or other.rebooted):
            return one._replace(
                drain=Progress(BEGUN, other.drain.done),
                looked=other.looked,
                began=other.began,
                undo=other.undo,
                prepared=other.prepared,
            )
    return one


def _changed(draft: _Draft, record: Mapping[str, Any]) -> None:
    event = parse_event(record["event"])

    def change(one: Tracked) -> Tracked:
        # The event was over, and perhaps half restored, or the machine has booted since: the earlier preparation no
        # longer holds.
        if event.is_scheduled and (one.rebooted or one.over):
            one = _anew(one)
        return one._replace(event=event, started=one.started or event.is_started, over=None, survived=False)

    draft.change(event.event_id, change)


def _over(draft: _Draft, record: Mapping[str, Any]) -> None:
    how = record["how"]
    draft.change(record["event_id"], lambda one: one._replace(over=how))
    # An event that changed nothing needs no restore, and need not be remembered.
    one = draft.tracked.get(record["event_id"].lower())
    if one is not None and not one.took_out:
        del draft.tracked[record["event_id"].lower()]


def _manual(draft: _Draft, record: Mapping[str, Any]) -> None:
    if not record["wanted"]:
        draft.change(MANUAL_ID, lambda one: one._replace(over=RELEASED))
        return
    # Plans and steps treat it as an event. The machine is out of rotation from this record on.
    event = Event(MANUAL_ID, MANUAL, SCHEDULED, (draft.vm_name,) if draft.vm_name else ())
    one = draft.tracked.get(MANUAL_ID, Tracked(first=event, event=event, drain=Progress(BEGUN)))
    # A running restore has to undo what had begun before as well.
    draft.tracked[MANUAL_ID] = _anew(one)._replace(over=None, seen_at=record["at"])


def _held(draft: _Draft, record: Mapping[str, Any]) -> None:
    draft.hold = _hold((record["at"], record["until"], False))


def _released(draft: _Draft, _record: Mapping[str, Any]) -> None:
    draft.hold = None


def _forgotten(draft: _Draft, record: Mapping[str, Any]) -> None:
    key = record["event_id"].lower()
    if key not in draft.forgotten:
        draft.forgotten = (*draft.forgotten, key)
    _over(draft, {"event_id": key, "how": FORGOTTEN})


def _unlisted(draft: _Draft, record: Mapping[str, Any]) -> None:
    key = record["event_id"].lower()
    draft.forgotten = tuple(one for one in draft.forgotten if one != key)


def _stage(draft: _Draft, record: Mapping[str, Any]) -> None:
    stage, state = record["stage"], record["state"]
    if stage != RESTORE:
        draft.change(
            record["event_id"], lambda one: one.with_progress(stage, one.progress(stage)._replace(state=state))
        )
        return
    # If not begun, the restore is done, or was given up because the machine has to leave rotation again.
    draft.restore = Progress(BEGUN) if state == BEGUN else Progress()
    draft.restore_failed = ()
    if state == SUCCEEDED:
        # The missing records are earlier ones.
        draft.trust()
        draft.found = {}
        draft.tracked = {key: one for key, one in draft.tracked.items() if not one.over}


def _found(draft: _Draft, record: Mapping[str, Any]) -> None:
    unit, runs, key = record["unit"], bool(record["runs"]), record["step"]
    # A unit that was once found running is to run again: a later check may find it stopped by the agent itself.
    draft.found[unit] = runs or draft.found.get(unit, False)
    draft.change(record["event_id"], lambda one: one._replace(looked=(*one.looked, key)))


def _step_begun(draft: _Draft, record: Mapping[str, Any]) -> None:
    stage = record["stage"]
    if stage == RESTORE:
        return
    undo = read_undo(record["undo"]) if "undo" in record else None

    def change(one: Tracked) -> Tracked:
        if one.progress(stage).state == PENDING:
            one = one.with_progress(stage, Progress(BEGUN))
        return one._replace(began=True, undo=undo or one.undo)

    draft.change(record["event_id"], change)


def _step_ended(draft: _Draft, record: Mapping[str, Any]) -> None:
    stage, key, succeeded = record["stage"], record["step"], record["succeeded"]
    if stage == RESTORE:
        others = tuple(one for one in draft.restore_failed if one != key)
        draft.restore_failed = others if succeeded else (*others, key)
        if succeeded:
            draft.restore = Progress(BEGUN, (*draft.restore.done, key))
        return
    forbids_approval, ends_plan = record["forbids_approval"], record["ends_plan"]

    def change(one: Tracked) -> Tracked:
        before = one.progress(stage)
        flawed = before.flawed or forbids_approval
        one = one.with_progress(stage, Progress(BEGUN, (*before.done, key), flawed))
        if not succeeded:
            one = one._replace(failures=(*one.failures, Failure(stage, str(record["name"]), str(record["reason"]))))
        return one._replace(flawed=one.flawed or forbids_approval, halted=one.halted or ends_plan)

    draft.change(record["event_id"], change)


def _hook_ended(draft: _Draft, record: Mapping[str, Any]) -> None:
    stage, hook = record["stage"], str(record["hook"])
    if stage == RESTORE:
        draft.restore = draft.restore._replace(hooks=(*draft.restore.hooks, hook))
        return
    failure = None
    if not record["succeeded"]:
        failure = HookFailure(str(record["name"]), "%s: %s" % (hook, record["reason"]), bool(record["cut_off"]))

    def change(one: Tracked) -> Tracked:
        progress = one.progress(stage)
        failures = progress.hook_failures if failure is None else (*progress.hook_failures, failure)
        one = one.with_progress(stage, progress._replace(hooks=(*progress.hooks, hook), hook_failures=failures))
        return one._replace(prepared=one.prepared or failure is None)

    draft.change(record["event_id"], change)


def _approving(draft: _Draft, record: Mapping[str, Any]) -> None:
    for event_id in record["event_ids"]:
        draft.change(event_id, lambda one: one._replace(approvals=one.approvals + 1))


def _approved(draft: _Draft, record: Mapping[str, Any]) -> None:
    for event_id in record["event_ids"]:
        draft.change(event_id, lambda one: one._replace(accepted=True))


def _progress(content: Any) -> Progress:
    state, done, flawed, hooks, hook_failures = content[: len(Progress._fields)]
    failed = tuple(HookFailure(*each[: len(HookFailure._fields)]) for each in hook_failures)
    return Progress(state, tuple(done), bool(flawed), tuple(hooks), failed)


def _hold(content: Any) -> Optional[Hold]:
    if content is None:
        return None
    since, until, is_of_earlier_boot = content
    return Hold(float(since), None if until is None else float(until), bool(is_of_earlier_boot))


def _clock(draft: _Draft, record: Mapping[str, Any]) -> None:
    by = float(record["by"])
    hold = draft.hold
    # What corrects the clock of this boot says nothing of the one that an earlier boot had.
    if hold is not None and hold.until is not None and not hold.is_of_earlier_boot:
        draft.hold = Hold(hold.since + by, hold.until + by)


def _trusted(draft: _Draft, _record: Mapping[str, Any]) -> None:
    draft.trust()
    draft.unreadable = 0


def _nothing(_draft: _Draft, _record: Mapping[str, Any]) -> None:
    """Only readers of the history need it."""


_CHANGES: Dict[str, Callable[[_Draft, Mapping[str, Any]], None]] = {
    "summary": _summary,
    "tracked": _tracked,
    "identity": _identity,
    "boot": _boot,
    "first_start": _boot,
    "incarnation": _incarnation,
    "doubt": _doubt,
    "survived": _survived,
    "seen": _seen,
    "changed": _changed,
    "over": _over,
    "manual": _manual,
    "held": _held,
    "released": _released,
    "trusted": _trusted,
    "clock": _clock,
    "step_tried": _nothing,
    "forgotten": _forgotten,
    "unlisted": _unlisted,
    "stage": _stage,
    "found": _found,
    "step_begun": _step_begun,
    "step_ended": _step_ended,
    "hook_ended": _hook_ended,
    "approving": _approving,
    "approved": _approved,
}

# The records that webhooks report: the stages, and what concerns more than the agent.
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
    "manual",
    "held",
    "released",
    "forgotten",
)
# The last status of each stage that webhooks report.
TOLD_STATES = (BEGUN, SUCCEEDED, FAILED)


def topic(record: Mapping[str, Any]) -> str:
    """The name under which webhooks report a record: one of `TOLD`, or something that they do not report."""
    return str(record["stage"] if record["kind"] == "stage" else record["kind"])
