# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent knows, and how it is recorded before anything is done about it.

What is decided holds at once: the probe says no, others see it. It is on the disk a moment later, and if the disk
hangs, much later. Meanwhile the loop goes on, and what must be written first waits: see `may_act`.
"""

import gc
from collections import deque
from datetime import datetime, timezone
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Tuple, Union

from foghorn_core.scheduled_events.dates import format_date

from .config import Config
from .decide.decisions import SECONDS_TO_SURVIVE
from .decide.doubts import doubt_about_records
from .decide.manual import MANUAL_KINDS, as_message
from .decide.policy import DRAIN, STAGES, Rule
from .decide.state import BEGUN, MANUAL_ID, TOLD, Record, State, apply, replay, summarise, topic
from .http.metrics import Counters
from .http.status import Health
from .io import log as levels
from .io.clock import Clocks
from .io.disk import Disk
from .io.journal import Journal
from .io.log import Log

_WRITE_RETRY = 1.0  # seconds between tries to write what the disk did not take
_SECONDS_TO_LOOK = 60.0  # at most, until it is noticed that the journal was removed
_SECONDS_TO_HANG = 1.0  # after which it is said that the disk hangs
_MOST_UNWRITTEN = 1000  # records, then they are condensed to the state that they amount to
# The first is of no interest, the second has been logged with all that is known of it.
_UNANNOUNCED = ("incarnation", "hook_ended", "step_ended", "step_tried", "unlisted", "clock")


class Recorder:
    """Holds what all parts of the agent share, and changes the state only by records in the journal.

    :param config: replaced when another one is in force
    :param journal: opened already, unless it could not be: then that is tried again
    :param disk: writes it
    :param notify: is given each record that others may want to know of, and the state after it
    :param state: what the journal's records amount to
    """

    def __init__(
        self,
        config: Config,
        clocks: Clocks,
        journal: Journal,
        disk: Disk,
        log: Log,
        notify: Callable[[Record, State], None],
        state: State,
    ) -> None:
        self.config = config
        self.clocks = clocks
        self.journal = journal
        self.log = log
        self.state = state
        self.counters = Counters()
        self.health = Health(running_since=clocks.wall())
        self.is_read_anew = False
        """Whether the state has been read from the journal since this was last set to False."""
        self.unwritten: List[Record] = []
        """What the disk does not have yet, in order."""
        self._asked = 0
        """How many of these, from the first on, the disk is taking now,"""
        self._refused = 0
        """and how many it has refused. They are tried again with those that follow."""
        # If the disk hangs, it is still being opened.
        self._is_open = journal.is_open and disk.began is None
        self._disk = disk
        self._notify = notify
        self._untold: Deque[Tuple[Record, State]] = deque(maxlen=_MOST_UNWRITTEN)
        self._next_write = 0.0
        self._next_look = 0.0
        self._said_of: float = 0.0
        """When the last job began of which it was said that it hangs."""
        self._stages_began: Dict[Tuple[str, str], float] = {}
        """When the stages under way began, on the monotonic clock, by event id in lower case, empty for a restore."""

    @property
    def rules(self) -> Sequence[Rule]:
        """By which it is decided what to do about an event."""
        return self.config.rules

    @property
    def is_up_to_date(self) -> bool:
        """Whether a crash now would make the agent forget nothing."""
        return self._is_open and not self.unwritten

    @property
    def may_act(self) -> bool:
        """Whether the disk has taken or refused all that was decided: what is refused does not keep steps waiting."""
        return self._refused == len(self.unwritten)

    def commit(self, *records: Record) -> None:
        """Decide. It is written down at the end of this turn; before that nothing may be done about it."""
        if not records:
            return
        wall = self.clocks.wall()
        for record in records:
            record.setdefault("at", wall)
        had_events = bool(self.state.tracked)
        self.state = apply(self.state, *records)
        self.unwritten.extend(records)
        for record in records:
            self._announce(record)
            self._time_stage(record)
        lowered = {one.event_id.lower() for one in self.state.tracked}
        self._stages_began = {key: at for key, at in self._stages_began.items() if key[0] in ("", *lowered)}
        if not lowered and self.state.hold is None and self.health.clock_problem:
            self.note(clock_problem=None)
        if had_events and not lowered:
            # Python puts what is used no more into lists of its own, and a process that mostly waits does not come
            # to empty them: with each event it would take a little more memory, to a mebibyte in all.
            gc.collect()

    def collect(self) -> None:
        """Take in what became of what was written, and tell others what may be told from here on."""
        self._disk.collect()
        while self._untold and self.may_act:
            self._notify(*self._untold.popleft())

    def write(self, now: float) -> None:
        """Have written what is not, if the disk is free and it is time.

        :param now: on the monotonic clock
        """
        began = self._disk.began
        if began is not None:
            if now - began >= _SECONDS_TO_HANG:
                self._condense()
            if now - began >= _SECONDS_TO_HANG and began != self._said_of:
                self._said_of = began
                since = datetime.fromtimestamp(self.clocks.wall() - (now - began), timezone.utc)
                text = "%s: the disk has not answered since %s, and the next step and all approvals wait for it"
                self._note_problem(text % (self.journal.path, format_date(since)), "")
            return
        if self.may_act and now < self._next_write:
            return
        records = tuple(self.unwritten)
        if not self._is_open:
            self._asked = len(records)
            self._disk.do(self.journal.open, self._note_opened)
        elif records or self.health.journal_problem or now >= self._next_look:
            self._next_look = now + _SECONDS_TO_LOOK
            self._asked = len(records)
            self._disk.do(lambda: self.journal.append(*records), self._note_written)

    def _condense(self) -> None:
        """Keep what rebuilds the present state in place of too many records that the disk does not take."""
        if len(self.unwritten) > _MOST_UNWRITTEN:
            self.unwritten[self._asked :] = summarise(self.state)
            self._refused = min(self._refused, self._asked)

    def note_records(self) -> None:
        """Say what the journal lacks, and keep what could not be read."""
        # Until it is open, nobody knows what it holds.
        problem = doubt_about_records(self.state, self.journal.damaged_path) if self._is_open else None
        if problem is not None and problem != self.health.records_problem:
            self.log(levels.ERROR, problem)
            if self.state.unreadable:
                self._disk.do(self.journal.keep_aside)
        self.note(records_problem=problem)

    def note(self, **problems: Any) -> None:
        """Change what is known of the agent's health."""
        self.health = self.health._replace(**problems)

    def _time_stage(self, record: Record) -> None:
        if topic(record) not in STAGES and record["kind"] != "manual":
            return
        now = self.clocks.monotonic()
        # One restore is for all events. A drain by hand begins when it is asked for.
        key = str(record.get("event_id", "")).lower(), str(record.get("stage", DRAIN))
        if record["kind"] == "manual":
            self._stages_began[MANUAL_ID, DRAIN] = now
        elif record["state"] == BEGUN:
            self._stages_began[key] = now
        elif key in self._stages_began and not self.config.dry_run:
            self.counters.observe(now - self._stages_began.pop(key), stage=key[1], result=record["state"])

    def _note_opened(self, result: Union[List[Record], Exception]) -> None:
        asked, self._asked = self._asked, 0
        self._is_open = not isinstance(result, Exception)
        if isinstance(result, Exception):
            self._refused = asked
            self._condense()
            self._note_problem(str(result))
            return
        # What it holds was perhaps not known when the agent started. What has been done since comes on top, in memory
        # as in the file, so that a crash makes no difference.
        # The documents since were compared with less than the journal knows: the next one is compared with all of it.
        self.unwritten = [record for record in self.unwritten if record["kind"] != "incarnation"]
        self.state = replay([*result, *self.unwritten])
        self.is_read_anew = True
        self._refused = 0
        self.note_records()

    def _note_written(self, problem: Union[str, Exception, None]) -> None:
        if problem is None:
            del self.unwritten[: self._asked]
        self._refused = 0 if problem is None else self._asked
        self._asked = 0
        if problem is not None:
            self._condense()
        if self.journal.is_lost:
            self.unwritten = self._what_is_known()
            self._refused = len(self.unwritten)
            self._is_open = False
        self._note_problem(None if problem is None else str(problem))
        if self.journal.is_large and self.may_act and self._is_open:
            self._asked = len(self.unwritten)
            summary = summarise(self.state)
            self._disk.do(lambda: self.journal.begin_anew(summary), self._note_begun_anew)

    def _what_is_known(self) -> List[Record]:
        """What is to follow a journal that lies where this one was."""
        state, at = self.state, self.clocks.wall()
        if state._replace(vm_id=None, vm_name=None, boot_id=None, incarnation=None, former_names=()) != State():
            # It stands in place of what the other says.
            return summarise(state)
        # Nothing is under way here: what the other says of this machine counts, on a disk that was mounted late, say.
        identity: Record = {"kind": "identity", "at": at, "vm_id": state.vm_id, "vm_name": state.vm_name}
        boot: Record = {"kind": "boot", "at": at, "boot_id": state.boot_id}
        return [boot] if state.vm_name is None else [boot, identity]

    def _note_begun_anew(self, is_done: Any) -> None:
        if is_done is True:
            # The records are part of the state, and so of its summary.
            del self.unwritten[: self._asked]
            self._refused = 0
        self._asked = 0

    def _note_problem(self, problem: Optional[str], until: str = ": nothing is approved until it can be") -> None:
        self._next_write = self.clocks.monotonic() + _WRITE_RETRY
        if problem != self.health.journal_problem:
            self.note(journal_problem=problem)
            if problem:
                self.log(levels.ERROR, problem + until)
            else:
                self.log(levels.NOTICE, "the journal can be written again")

    def _announce(self, record: Record) -> None:
        if record["kind"] in _UNANNOUNCED:
            return
        message, fields = _as_message(record)
        self.log(levels.INFO if record["kind"] == "step_begun" else levels.NOTICE, message, **fields)
        if topic(record) in TOLD:
            # Once it is written: whoever hears of it may act on it.
            self._untold.append((record, self.state))


def _as_message(record: Record) -> Tuple[str, Dict[str, Any]]:
    kind = record["kind"]
    fields: Dict[str, Any] = {"event_id": record.get("event_id")}
    if kind in ("seen", "changed"):
        event = record["event"]
        fields = {"event_id": event["EventId"], "event_type": event["EventType"], "status": event["EventStatus"]}
        what = "is announced" if kind == "seen" else "has changed"
        names = " and ".join(event["Resources"])
        return "%s of %s %s: %s" % (event["EventType"], names, what, event["EventStatus"]), fields
    if kind == "over":
        return "the event is over: %s" % record["how"], fields
    if kind == "stage":
        back_from = ["%(event_type)s %(event_id)s %(outcome)s" % one for one in record.get("back_from", ())]
        return "%s %s%s" % (record["stage"], record["state"], ": " * bool(back_from) + ", ".join(back_from)), fields
    if kind == "step_begun":
        return "%s: %s, for %g s at most" % (record["stage"], record["name"], record["seconds"]), fields
    if kind == "identity":
        return "this machine is %s" % record["vm_name"], fields
    if kind == "found":
        then = "will be started again" if record["runs"] else "is not running, and will not be started"
        return "%s %s afterwards" % (record["unit"], then), fields
    if kind == "survived":
        return "the machine is still running %d s after Azure should have taken it away" % SECONDS_TO_SURVIVE, fields
    if kind == "doubt":
        return "scheduled events were enabled again: a missing event may not be listed yet", fields
    if kind in MANUAL_KINDS:
        return as_message(record), fields
    if kind == "boot":
        return "the machine has booted", fields
    if kind == "first_start":
        return "the journal begins here", fields
    return "%s %s" % (kind, ", ".join(record.get("event_ids", ()))), fields
