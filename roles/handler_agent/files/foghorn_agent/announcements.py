# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what the metadata service announces, and whether it speaks of this machine."""

from typing import Dict, List, Optional

from foghorn_core.scheduled_events.document import Document
from foghorn_core.scheduled_events.errors import OutOfTime
from foghorn_core.scheduled_events.text import plain

from .deadlines import Deadlines
from .decide.decisions import (
    SECONDS_OF_DOUBT,
    SECONDS_TO_SURVIVE,
    observe,
    remembered,
    renamed,
    restarted,
    seconds_to_miss,
)
from .decide.doubts import describe_source_vm
from .decide.state import is_another_vm
from .io import log as levels
from .io.imds_session import Poll, PollStats
from .io.workers import Worker
from .recorder import Recorder

_LONGEST_OBEDIENCE = 3.0  # seconds without a poll because IMDS wants it so: of an eviction's notice, most is left


class Announcements:
    """Asks IMDS at its pace, and turns what it says into records.

    :param poll: around `ImdsSession.poll`
    :param poll_stats: the same session's
    :param is_known_vm: whether what is tracked is known to be this VM's
    """

    def __init__(
        self, recorder: Recorder, deadlines: Deadlines, poll: Worker, poll_stats: PollStats, is_known_vm: bool
    ) -> None:
        self._recorder = recorder
        self._deadlines = deadlines
        self._poll = poll
        self._poll_stats = poll_stats
        self.document: Optional[Document] = None
        """The last answer of IMDS."""
        self.is_quiet = False
        """Whether the poll under way repeats itself until there is something new."""
        self.is_known_vm = is_known_vm
        """Whether what is tracked is known to be this VM's: it was here before it booted, or IMDS has said so."""
        self._next_poll = recorder.clocks.monotonic()
        self._doubt_until: Optional[float] = None
        self._ended_since: Dict[str, float] = {}
        """Since when events that were to end this machine have been over."""
        self._gone_since: Dict[str, float] = {}
        """Since when events that are tracked have not been listed any more."""

    def begin_anew(self) -> None:
        """Compare what is known with what IMDS lists before anything is done about it: it was read just now."""
        self.document = None
        self.is_known_vm = False
        # A poll that waits for something new answers then.
        self._poll_stats.is_identity_wanted = True

    def ask(self, now: float) -> None:
        """Ask for the next document, if it is time."""
        if now < self._next_poll:
            return
        known = self.document if self._may_be_quiet() else None
        if self._poll.submit(known):
            self.is_quiet = known is not None
            # Measured from start to start: the configured pace holds however long an answer takes.
            self._next_poll = max(self._next_poll + self._recorder.config.imds.poll_interval, now)

    def seconds_to_ask(self, now: float) -> Optional[float]:
        """How long until it is time; None while the answer is awaited, which wakes the loop."""
        return None if self._poll.is_busy else max(0.0, self._next_poll - now)

    def collect(self, now: float) -> None:
        """Process the answer of IMDS."""
        for result in self._poll.collect():
            if isinstance(result, Poll):
                self._recorder.counters.add("foghorn_polls_total", result="answered")
                self._take_in(result, now)
            else:
                self._recorder.counters.add("foghorn_polls_total", result="failed")
                self._note_problem(result)

    def _take_in(self, poll: Poll, now: float) -> None:
        wall = self._recorder.clocks.wall()
        if self._recorder.health.imds_problem is not None:
            self._recorder.log(levels.NOTICE, "IMDS answers again")
        self._recorder.note(imds_problem=None)
        if not poll.is_identity_new and renamed(self._recorder.state, poll.document):
            # Checked before the event is taken to be over for this machine.
            self._poll_stats.is_identity_wanted = True
            return
        vm_id = poll.vm_id or self._recorder.state.vm_id
        if is_another_vm(self._recorder.state.vm_id, vm_id):
            text = describe_source_vm(self._recorder.state)
            self._recorder.log(levels.WARNING, text)
            self._recorder.note(identity_problem=text if self._recorder.state.is_out else None)
        if (vm_id, poll.vm_name) != (self._recorder.state.vm_id, self._recorder.state.vm_name):
            self._recorder.commit({"kind": "identity", "vm_id": vm_id, "vm_name": poll.vm_name})
            # Gaps in the journal of another VM are none of this one's.
            self._recorder.note_records()
        if poll.is_identity_new and poll.other_name is not None:
            text = (
                "imds.vm_name is %s, and IMDS calls this VM %s: events of that name are ignored; correct imds.vm_name, "
                "or remove it" % (plain(poll.vm_name), plain(poll.other_name))
            )
            known = self._recorder.health.identity_problem or ""
            if text not in known:
                self._recorder.log(levels.WARNING, text)
                self._recorder.note(identity_problem="; ".join(filter(None, [known, text])))
        self.is_known_vm = True
        in_doubt = self._is_in_doubt(poll.document, now)
        self._recorder.commit(
            *observe(self._recorder.state, poll.document, wall, in_doubt, self._missed(poll.document, now, wall))
        )
        told = () if self.document is None else self.document.events
        for event in poll.document.events:
            if event.is_of_unknown_vms and event not in told:
                self._recorder.log(
                    levels.WARNING,
                    "the machines of the %s %s cannot be read: it is not approved, and no event that it may be "
                    "counts as over" % (event.event_type, event.event_id),
                )
        self._note_survival(now)
        self.document = poll.document
        if self.is_quiet:
            self._next_poll = poll.began + self._recorder.config.imds.poll_interval
        self._deadlines.find(now)

    def _is_in_doubt(self, document: Document, now: float) -> bool:
        if restarted(self.document or remembered(self._recorder.state), document):
            self._doubt_until = now + SECONDS_OF_DOUBT
            if not self._recorder.state.in_doubt:
                self._recorder.commit({"kind": "doubt"})
        elif self._recorder.state.in_doubt and self._doubt_until is None:
            # Nobody knows how long it had lasted when the agent ended, or how long ago that was.
            self._doubt_until = now + SECONDS_OF_DOUBT
        # The wait has its full length, whatever is listed meanwhile, and under whichever incarnation.
        if self._doubt_until is not None and now >= self._doubt_until:
            self._doubt_until = None
        return self._doubt_until is not None

    def _missed(self, document: Document, now: float, wall: float) -> List[str]:
        """The events that are neither listed nor over: they may end this machine now, or later."""
        listed = {event.event_id.lower() for event in document.events}
        gone = {
            one.event_id: seconds_to_miss(one, self._recorder.rules, wall)
            for one in self._recorder.state.tracked
            if one.event_id.lower() not in listed
        }
        self._gone_since = {event_id: self._gone_since.get(event_id, now) for event_id in gone}
        return [event_id for event_id, seconds in gone.items() if now - self._gone_since[event_id] < seconds]

    def _note_survival(self, now: float) -> None:
        ended_events = [one for one in self._recorder.state.tracked if one.is_final]
        self._ended_since = {one.event_id: self._ended_since.get(one.event_id, now) for one in ended_events}
        for event_id, since in self._ended_since.items():
            if now - since >= SECONDS_TO_SURVIVE:
                self._recorder.commit({"kind": "survived", "event_id": event_id})

    def _note_problem(self, error: BaseException) -> None:
        if self._recorder.health.imds_problem is None:
            self._recorder.log(levels.WARNING, "IMDS cannot be read: %s" % error)
        self._recorder.note(imds_problem=str(error))
        if isinstance(error, OutOfTime) and error.retry_after is not None:
            wait = min(error.retry_after, _LONGEST_OBEDIENCE)
            self._next_poll = max(self._next_poll, self._recorder.clocks.monotonic() + wait)

    def _may_be_quiet(self) -> bool:
        """Whether a document with an unchanged incarnation would change nothing."""
        return (
            not self._recorder.state.tracked
            and self._doubt_until is None
            and self._recorder.health.imds_problem is None
        )
