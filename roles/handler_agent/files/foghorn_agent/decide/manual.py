# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that people give by hand, and their meaning. Pure.

A machine is out of rotation for as long as one owner wants it out: an event, or whoever drained it by hand. So nothing
that is asked for by hand can restore a machine in the middle of maintenance.
"""

import re
from datetime import datetime, timezone
from typing import Any, List, Mapping, Optional, Sequence

from foghorn_core.scheduled_events.dates import format_date
from foghorn_core.scheduled_events.text import plain

from ..config import Quorum
from .state import MANUAL_ID, Record, State, Tracked

DRAIN = "drain"
RESTORE = "restore"
HOLD = "hold"
RELEASE = "release"
FORGET = "forget"
REQUESTS = (DRAIN, RESTORE, HOLD, RELEASE, FORGET)

# The kinds of their records.
MANUAL_KINDS = ("manual", "held", "released", "trusted", "forgotten")

_LONGEST_HOLD = 30 * 86400.0  # seconds
_PERIOD = re.compile(r"([0-9]{1,7})([smhd]?)\Z")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class RequestError(ValueError):
    """The request cannot be carried out. The message says why."""


def parse_period(text: str) -> float:
    """Read a length of time like `90`, `90s`, `15m`, `2h` or `7d`.

    :returns: seconds
    :raises RequestError: if it is none, or longer than 30 days
    """
    match = _PERIOD.match(text)
    seconds = float(match.group(1)) * _UNITS[match.group(2)] if match else 0.0
    if not 0 < seconds <= _LONGEST_HOLD:
        raise RequestError("%s: expected a time like 90s, 15m, 2h or 7d, up to 30d" % plain(text))
    return seconds


def records_of(state: State, asked: Mapping[str, Any], wall: float) -> List[Record]:
    """What a request changes, as records. None if it is so already.

    :param asked: `request`, one of `REQUESTS`; with `hold` its `seconds`, or None for no end; with `forget` the
        `event_id`
    :param wall: seconds since the epoch
    :raises RequestError: if it is no request, or cannot be done
    """
    request = asked.get("request")
    if request == DRAIN:
        return [] if _is_drained(state) else [{"kind": "manual", "wanted": True}]
    if request == RESTORE:
        trusted: List[Record] = [{"kind": "trusted"}] if state.unreadable or state.is_incomplete else []
        return ([{"kind": "manual", "wanted": False}] if _is_drained(state) else []) + trusted
    if request == HOLD:
        return [{"kind": "held", "until": _until(asked.get("seconds"), wall)}]
    if request == RELEASE:
        return [] if state.hold is None else [{"kind": "released"}]
    if request == FORGET:
        return [{"kind": "forgotten", "event_id": _known(state, asked.get("event_id")).event_id}]
    raise RequestError("%r is not a request: expected one of %s" % (request, ", ".join(REQUESTS)))


def answer_to(
    state: State, asked: Mapping[str, Any], agreed: Sequence[Tracked] = (), quorum: Optional[Quorum] = None
) -> str:
    """Tell how things are, once a request has been met.

    :param state: after it
    :param agreed: the events that other members may have heard this one agree to
    :param quorum: how they ask this one
    """
    request = asked.get("request")
    if request == DRAIN:
        return "out of rotation until it is restored by hand"
    if request == HOLD:
        assert state.hold is not None
        sent = [one for one in state.tracked if one.approvals and not one.over and not one.started]
        late = "".join("; %s may begin at any moment: it was approved before" % _named(one) for one in sent)
        if quorum is not None:
            late += "".join(
                "; another member may approve %s within %g s, based on earlier answers, or after %g s without an "
                "answer of this machine" % (_named(one), quorum.oldest_word, quorum.silent_after)
                for one in agreed
                if one not in sent
            )
        return "nothing is approved until %s%s" % (end_of(state.hold.until), late)
    if request == RELEASE:
        return "approvals are no longer withheld by hand"
    keepers = [one for one in state.tracked if one.over is None and one.took_out]
    if keepers:
        return "still out of rotation, for %s" % ", ".join(_named(one) for one in keepers)
    return "is being restored to rotation" if state.is_out else "in rotation"


def as_message(record: Record) -> str:
    """Describes a record of `MANUAL_KINDS` for the log."""
    kind = record["kind"]
    if kind == "manual":
        return "drained by hand" if record["wanted"] else "no longer drained by hand"
    if kind == "held":
        return "nothing is approved until %s, by hand" % end_of(record["until"])
    if kind == "trusted":
        return "the missing records were resolved, by hand"
    if kind == "released":
        return "approvals are no longer withheld by hand"
    return "the event is ignored from now on, by hand"


def end_of(until: Optional[float]) -> str:
    """The end of a hold, for a person."""
    return "it is released" if until is None else format_date(datetime.fromtimestamp(until, timezone.utc))


def _is_drained(state: State) -> bool:
    one = state.find(MANUAL_ID)
    return one is not None and one.over is None


def _until(seconds: Any, wall: float) -> Optional[float]:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= _LONGEST_HOLD:
        raise RequestError("seconds: expected a number up to %d, got %r" % (_LONGEST_HOLD, seconds))
    return wall + seconds


def _known(state: State, event_id: Any) -> Tracked:
    one = state.find(event_id) if isinstance(event_id, str) else None
    if one is not None and not one.is_manual:
        return one
    known = [each.event_id for each in state.tracked if not each.is_manual]
    raise RequestError(
        "%s is not an event of this machine: %s"
        % (plain(str(event_id)[:100]), "there are none now" if not known else "there are " + ", ".join(known))
    )


def _named(one: Tracked) -> str:
    return "whoever drained it by hand" if one.is_manual else "%s %s" % (one.event.event_type, one.event_id)
