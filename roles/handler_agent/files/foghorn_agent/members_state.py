# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the other members report, and since when each is silent."""

from typing import Any, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from foghorn_core.scheduled_events.event import NameKey, name_key

from .decide.decisions import MemberStatus, is_ready, plan_of
from .decide.in_service import Rotation, read_rotation
from .decide.quorum import OLD_WORD, STRANGERS, MemberView, as_text, shared_events, waiting_for
from .decide.state import Tracked
from .http.members import Job
from .io import log as levels
from .io.workers import Worker
from .recorder import Recorder

_SAY_AGAIN = 10.0  # seconds between two lines about whom an event waits for


class Round(NamedTuple):
    """What all members said of themselves when they were asked together."""

    asked_at: float
    """On the monotonic clock."""
    said: Mapping[NameKey, Rotation]
    """Who is not in it gave no answer that counts."""


class MembersState:
    """Asks the other members, and remembers what they said.

    :param recorder: what is known
    :param session: around `MembersSession.ask`
    """

    def __init__(self, recorder: Recorder, session: Worker) -> None:
        self._recorder = recorder
        self._session = session
        self.statuses: Dict[str, Dict[NameKey, MemberStatus]] = {}
        """By event id in lower case, what other members have said about it last, by the keys of their names."""
        self._heard_from: Dict[NameKey, float] = {}
        """When each that was asked has answered last, or was asked first."""
        self._faults: Dict[NameKey, str] = {}
        """Why the others did not answer when they were asked last."""
        self._answered: Set[NameKey] = set()
        self._said: Dict[str, Tuple[str, float]] = {}
        """By event id, what was logged of whom it waits for, and when more may be."""
        self._next_ask = 0.0
        self._asked_at = 0.0

    @property
    def others(self) -> Dict[NameKey, str]:
        """The URLs of all other members that are configured by name."""
        me = name_key(self._recorder.state.vm_name or "")
        return {name: url for name, url in self._recorder.config.quorum.members.items() if name != me}

    @property
    def silent(self) -> FrozenSet[NameKey]:
        """Who no longer answers, so that others approve in their place."""
        return self._silent_for(self._recorder.config.quorum.silent_after)

    @property
    def stale(self) -> FrozenSet[NameKey]:
        """Who has not answered lately, so that what it said before does not count."""
        return self._silent_for(self._recorder.config.quorum.oldest_word)

    def ask(self, now: float, all_members: bool) -> None:
        """Have those asked that are waited for, if it is time.

        :param now: on the monotonic clock
        :param all_members: whether all are, and not only those of shared events
        """
        self._keep()
        events = shared_events(self._recorder.state, self._recorder.rules)
        self._say_whom_it_waits_for(events, now)
        if not (events or all_members) or now < self._next_ask or self._session.is_busy:
            return
        urls = self.others if all_members else {}
        urls.update(self._urls_of(events))
        if urls:
            quorum = self._recorder.config.quorum
            self._next_ask, self._asked_at = now + quorum.interval, now
            for name in urls:
                self._heard_from.setdefault(name, now)
            self._session.submit(Job(urls, quorum.timeout, quorum.secret_file))

    def collect(self, now: float) -> Optional[Round]:
        """Take in what they said.

        :returns: what they said of themselves, if they have just answered
        """
        heard = None
        for result in self._session.collect():
            if isinstance(result, BaseException):
                self._recorder.log(levels.ERROR, "the other members could not be asked: %s" % result)
                continue
            said: Dict[NameKey, Rotation] = {}
            for name, status in result.items():
                if isinstance(status, dict):
                    said[name] = read_rotation(status)
                    self._take_in(name, status, now)
                else:
                    self._note_fault(name, status)
            heard = Round(self._asked_at, said)
        return heard

    def waiting_for(self, one: Tracked) -> Sequence[Tuple[str, str]]:
        """Whom a shared event waits for, by name, and why, in a word or two."""
        view = MemberView(self.statuses, self._faults, self._urls_of([one]), self._answered, self.stale)
        return waiting_for(one, self._recorder.state.vm_name or "", self._recorder.rules, view)

    def waiting(self) -> "Dict[str, Sequence[Tuple[str, str]]]":
        """The same of each shared event, by its id."""
        shared = shared_events(self._recorder.state, self._recorder.rules)
        return {one.event_id: self.waiting_for(one) for one in shared}

    def old_words(self) -> List[str]:
        """The names of those whose last word is too old to go by."""
        return sorted({name for each in self.waiting().values() for name, reason in each if reason == OLD_WORD})

    def _take_in(self, name: NameKey, status: Mapping[str, Any], now: float) -> None:
        self._faults.pop(name, None)
        self._answered.add(name)
        self._heard_from[name] = now
        statuses = {str(event.get("event_id")).lower(): _word_of(event) for event in status["events"]}
        # Only of what is known here: a member may make up as many events as it likes. What it does not list, it is not
        # ready for any more.
        for event_id in [one.event_id.lower() for one in self._recorder.state.tracked]:
            self.statuses.setdefault(event_id, {}).pop(name, None)
            if event_id in statuses:
                self.statuses[event_id][name] = statuses[event_id]

    def _note_fault(self, name: NameKey, error: Any) -> None:
        reason = getattr(error, "reason", "unreachable")
        if self._faults.get(name) != reason:
            self._recorder.log(levels.WARNING, "member %s: %s" % (name[0], error))
        self._faults[name] = reason
        self._recorder.counters.add("foghorn_member_errors_total", reason=reason)
        if reason in STRANGERS:
            # Whoever held that name there has lost it: what it said does not hold any more.
            for statuses in self.statuses.values():
                statuses.pop(name, None)

    def _urls_of(self, events: Sequence[Tracked]) -> Dict[NameKey, str]:
        me = name_key(self._recorder.state.vm_name or "")
        urls = {}
        for one in events:
            for name in one.event.resources:
                url = self._recorder.config.quorum.url_of(name)
                if url is not None and name_key(name) != me:
                    urls[name_key(name)] = url
        return urls

    def _say_whom_it_waits_for(self, events: Sequence[Tracked], now: float) -> None:
        """Log it when it has changed: from when this machine is ready, since until then nobody is waited for."""
        for one in events:
            said, again_at = self._said.get(one.event_id, ("", now))
            if now < again_at or not is_ready(one, plan_of(self._recorder.rules, one)):
                continue
            text = as_text(self.waiting_for(one))
            if text and text != said:
                self._recorder.log(levels.NOTICE, "waiting for %s" % text, event_id=one.event_id)
                self._said[one.event_id] = text, now + _SAY_AGAIN

    def _silent_for(self, seconds: float) -> FrozenSet[NameKey]:
        now = self._recorder.clocks.monotonic()
        return frozenset(name for name, heard in self._heard_from.items() if now - heard > seconds)

    def _keep(self) -> None:
        """Forget what was said about events that are not tracked any more."""
        listed = {one.event_id for one in self._recorder.state.tracked}
        if not listed:
            # Who is asked again has a new event to fall silent in.
            self._heard_from.clear()
            self._faults.clear()
            self._answered.clear()
        lowered = {event_id.lower() for event_id in listed}
        self.statuses = {key: value for key, value in self.statuses.items() if key in lowered}
        self._said = {key: value for key, value in self._said.items() if key in listed}


def _word_of(event: Mapping[str, Any]) -> MemberStatus:
    return MemberStatus(event.get("ready") is True, event.get("willing") is True, event.get("approves") is True)
