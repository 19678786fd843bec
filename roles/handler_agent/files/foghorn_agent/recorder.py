# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent knows, and how it is recorded before anything is done about it."""

import gc
from typing import Any, Callable, Dict, Sequence, Tuple

from .config import Config
from .decide.decisions import SECONDS_TO_SURVIVE
from .decide.doubts import doubt_about_records
from .decide.manual import MANUAL_KINDS, as_message
from .decide.policy import DRAIN, STAGES, Rule
from .decide.state import BEGUN, MANUAL_ID, TOLD, Record, State, apply, occasion, replay, summarise
from .http.metrics import Counters
from .http.status import Health
from .io import log as levels
from .io.clock import Clocks
from .io.journal import Journal, JournalError
from .io.log import Log

_WRITE_RETRY = 1.0  # seconds between tries to write what the disk did not take
_MOST_UNWRITTEN = 1000  # records, then they are condensed to the state that they amount to
# The first is of no interest, the second has been logged with all that is known of it.
_UNANNOUNCED = ("incarnation", "hook_ended", "step_ended", "step_tried", "unlisted", "clock")


class Recorder:
    """Holds what all parts of the agent share, and changes the state only by records in the journal.

    :param config: replaced when another one is in force
    :param journal: opened already, unless it could not be: then that is tried again
    :param tell: is given each record that others may want to know of, and the state after it
    :param state: what the journal's records amount to
    """

    def __init__(
        self,
        config: Config,
        clocks: Clocks,
        journal: Journal,
        log: Log,
        tell: Callable[[Record, State], None],
        state: State,
    ) -> None:
        self.config = config
        self.clocks = clocks
        self.journal = journal
        self.log = log
        self.state = state
        self.counters = Counters()
        self.health = Health(running_since=clocks.wall())
        self._tell = tell
        self._next_write = 0.0
        self._stages_began: Dict[Tuple[str, str], float] = {}
        """When the stages under way began, on the monotonic clock, by event id in lower case, empty for a restore."""

    @property
    def rules(self) -> Sequence[Rule]:
        """By which it is decided what to do about an event."""
        return self.config.rules

    @property
    def is_up_to_date(self) -> bool:
        """Whether a crash now would make the agent forget nothing."""
        return self.journal.is_open and not self.journal.unwritten

    def commit(self, *records: Record) -> None:
        """Write down what was decided, before anything is done about it."""
        if not records:
            return
        wall = self.clocks.wall()
        for record in records:
            record.setdefault("at", wall)
        had_events = bool(self.state.tracked)
        self.state = apply(self.state, *records)
        self._write(*records)
        if self.journal.is_large:
            self.journal.begin_anew(summarise(self.state))
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

    def turn(self, now: float) -> None:
        """Write what the disk did not take, if it is time to try again.

        :param now: on the monotonic clock
        """
        if now < self._next_write:
            return
        if not self.journal.is_open:
            self._open_journal()
        if self.health.journal_problem or not self.is_up_to_date:
            self._write()

    def note_records(self) -> None:
        """Say what the journal lacks, and keep what could not be read."""
        problem = doubt_about_records(self.state, self.journal.damaged_path)
        if problem is not None and problem != self.health.records_problem:
            self.log(levels.ERROR, problem)
            if self.state.unreadable:
                self.journal.keep_aside()
        self.note(records_problem=problem)

    def note(self, **problems: Any) -> None:
        """Change what is known of the agent's health."""
        self.health = self.health._replace(**problems)

    def _time_stage(self, record: Record) -> None:
        if occasion(record) not in STAGES and record["kind"] != "manual":
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

    def _write(self, *records: Record) -> None:
        problem = self.journal.append(*records)
        if len(self.journal.unwritten) > _MOST_UNWRITTEN:
            self.journal.condense(summarise(self.state))
        self._next_write = self.clocks.monotonic() + _WRITE_RETRY
        if problem != self.health.journal_problem:
            self.note(journal_problem=problem)
            if problem:
                self.log(levels.ERROR, "%s: nothing is approved until it can be" % problem)
            else:
                self.log(levels.NOTICE, "the journal can be written again")

    def _open_journal(self) -> None:
        try:
            records = self.journal.open()
        except JournalError:
            # It says why with each record that it cannot take.
            return
        # What it holds was perhaps not known when the agent started. What has been done since comes on top, in memory
        # as in the file, so that a crash makes no difference.
        self.state = replay([*records, *self.journal.unwritten])
        self.note_records()

    def _announce(self, record: Record) -> None:
        if record["kind"] in _UNANNOUNCED:
            return
        message, fields = _as_message(record)
        self.log(levels.INFO if record["kind"] == "step_begun" else levels.NOTICE, message, **fields)
        if occasion(record) in TOLD:
            self._tell(record, self.state)


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
