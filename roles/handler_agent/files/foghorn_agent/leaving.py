# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether this machine delays its drain until enough other members are in rotation."""

from typing import AbstractSet, Any, Dict, FrozenSet, List, Optional, Tuple

from foghorn_core.scheduled_events.event import name_key

from .deadlines import Deadlines
from .decide.decisions import plan_of
from .decide.in_service import NO_END, latest_begin, why_not_yet
from .decide.policy import Plan
from .decide.state import Tracked
from .io import log as levels
from .members_state import MembersState, Round
from .recorder import Recorder

_SAY_AGAIN = 10.0  # seconds between two lines about why it waits


class Leaving:
    """Holds back the drains that can wait, as `keep_in_service` wants it."""

    def __init__(self, recorder: Recorder, deadlines: Deadlines, members: MembersState) -> None:
        self._recorder = recorder
        self._deadlines = deadlines
        self._members = members
        self._since: Optional[float] = None
        """Since when this machine has told the others that it wants out, on the monotonic clock."""
        self._by = NO_END
        self._why: Optional[str] = None
        """Why it waits."""
        self._said: Tuple[Optional[str], float] = (None, 0.0)
        """What was logged of that, and when more may be."""
        self._overrun: Dict[str, str] = {}
        """By the ids of events for which it did not wait any longer, why it would have had to."""

    @property
    def is_wanted(self) -> bool:
        """Whether it waits, and all members have to be asked."""
        return self._since is not None

    @property
    def problem(self) -> Optional[str]:
        """What was begun although too few were left."""
        return "; ".join(sorted(set(self._overrun.values()))) or None

    def turn(self, now: float, early: AbstractSet[str], heard: Optional[Round]) -> FrozenSet[str]:
        """Find the events whose drain has to wait now.

        :param early: ids of the events that do not want it out yet
        :param heard: what the others have just said of themselves
        """
        keep, state = self._recorder.config.keep_in_service, self._recorder.state
        tracked = {one.event_id for one in state.tracked}
        self._overrun = {key: why for key, why in self._overrun.items() if key in tracked}
        wanting = [] if keep is None or state.is_out else self._wanting(early)
        if not wanting:
            self._end()
            return frozenset()
        starts = [
            NO_END if one.event.not_before is None else one.event.not_before.timestamp() - plan.margin
            for one, plan in wanting
        ]
        by = min(starts)
        if self._since is None or by < self._by:
            # Whoever has heard of a later one may go by that until it asks again.
            self._since, self._why = now, "the other members have not been asked yet"
        self._by = by
        urgent = [one for one, plan in wanting if self._cannot_wait(one, plan, now)]
        if urgent:
            self._overrule(urgent)
            return frozenset(one.event_id for one, _plan in wanting if one not in urgent)
        # A machine that was frozen in between may hear what was so long ago.
        if heard is not None and now - heard.asked_at <= self._recorder.config.quorum.oldest_word:
            self._judge(heard, self._since)
            self._say(now, wanting[0][0])
        elif self._why is None:
            # What they said holds for the moment at which they said it.
            self._why = "the other members are asked again"
        return frozenset(one.event_id for one, _plan in wanting) if self._why else frozenset()

    def describe(self) -> Dict[str, Any]:
        """What others may see of it. They go by `wants_out`."""
        # In a dry run it never leaves: nobody has to wait for it.
        wish = None if self._since is None or self._recorder.config.dry_run else {"by": _as_json(self._by)}
        keep = self._recorder.config.keep_in_service
        in_service = None
        if keep is not None:
            waits = self._why if self._since is not None else None
            in_service = {"keep": str(keep), "waits": waits, "did_not_wait": self.problem}
        return {"wants_out": wish, "in_service": in_service}

    def _wanting(self, early: AbstractSet[str]) -> "List[Tuple[Tracked, Plan]]":
        found = []
        for one in self._recorder.state.tracked:
            if one.rebooted or one.event_id in early:
                continue
            plan = plan_of(self._recorder.rules, one)
            if plan.takes_out:
                found.append((one, plan))
        return found

    def _cannot_wait(self, one: Tracked, plan: Plan, now: float) -> bool:
        latest = latest_begin(one, plan, self._deadlines.of(one.event_id))
        return latest is not None and now >= latest

    def _judge(self, heard: Round, since: float) -> None:
        config, me = self._recorder.config, name_key(self._recorder.state.vm_name or "")
        assert config.keep_in_service is not None
        others = self._members.others
        self._why = why_not_yet(config.keep_in_service, config.settle, (me, self._by), others, heard.said)
        # Whoever asked this machine before it said that it wants out may be about to go on that. By then it has gone.
        if self._why is None and heard.asked_at < since + config.quorum.oldest_word:
            self._why = "the other members must first be told that this machine wants to leave rotation"

    def _overrule(self, urgent: List[Tracked]) -> None:
        for one in urgent:
            if one.event_id in self._overrun:
                continue
            why = self._why or "the other members have not been asked yet"
            self._overrun[one.event_id] = "%s cannot wait any longer, although %s" % (one.event.event_type, why)
            self._recorder.log(levels.WARNING, self._overrun[one.event_id], event_id=one.event_id)

    def _say(self, now: float, one: Tracked) -> None:
        said, again_at = self._said
        if self._why == said or (now < again_at and self._why is not None):
            return
        if self._why is None:
            message = "%s takes this machine out: enough other members stay in rotation" % one.event.event_type
        else:
            message = "%s has to wait with its drain: %s" % (one.event.event_type, self._why)
        self._recorder.log(levels.NOTICE, message, event_id=one.event_id)
        self._said = self._why, now + _SAY_AGAIN

    def _end(self) -> None:
        self._since, self._by, self._why = None, NO_END, None
        self._said = None, 0.0


def _as_json(by: float) -> Optional[float]:
    return None if by == NO_END else by
