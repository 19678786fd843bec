# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether this machine may leave rotation now, or too few members would remain. Pure.

No member has a say over another: each decides by what all of them say of themselves. Those that want out go in the
order of their deadlines, and a machine goes only while enough of the others stay.
"""

from typing import Any, Collection, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from foghorn_core.scheduled_events.event import NameKey

from .policy import DRAIN, SHUTDOWN, Plan
from .state import Tracked

# An eviction leaves half a minute.
_NEVER_WAITS = "Preempt"
# The loop turns once a second, and the first step has to be started.
_RESERVE = 2.0  # seconds
_MOST_NAMED = 5
NO_END = float("inf")


class Keep(NamedTuple):
    """How many members are to stay in rotation."""

    number: int
    is_share: bool = False
    """Whether that is a percentage of all members, this machine included."""

    def of(self, members: int) -> int:
        """How many of this number of members that is, rounded up."""
        return -(-self.number * members // 100) if self.is_share else self.number

    def __str__(self) -> str:
        return "%d%%" % self.number if self.is_share else str(self.number)


class Rotation(NamedTuple):
    """A member's report of itself."""

    is_in: bool
    seconds: float = NO_END
    """For how long it has been in rotation, as far as it says."""
    wants_out: bool = False
    by: float = NO_END
    """When it has to be done with the work before its event, in seconds since the epoch."""


_SILENT = Rotation(False)


def read_rotation(status: Mapping[str, Any]) -> Rotation:
    """Read what a member says. What cannot be understood counts as out of rotation.

    :param status: what its `/status` answers, which is somebody else's
    """
    wish, seconds = status.get("wants_out"), status.get("rotation_seconds")
    by = wish.get("by") if isinstance(wish, dict) else None
    if any(one is not None and not _is_number(one) for one in (seconds, by)) or not isinstance(
        wish, (dict, type(None))
    ):
        return _SILENT
    return Rotation(
        status.get("in_rotation") is True,
        NO_END if seconds is None else float(seconds),
        wish is not None,
        NO_END if by is None else float(by),
    )


def latest_begin(one: Tracked, plan: Plan, ends: Optional[float]) -> Optional[float]:
    """The last moment at which the work for an event may begin and still have all the time that its steps may take.

    :param ends: when its stages must be done, on the clock of the result; None without a start
    :returns: minus infinity for one that does not wait at all; None for one that may wait for ever
    """
    if not one.event.is_scheduled or one.event.event_type == _NEVER_WAITS:
        return -NO_END
    if ends is None:
        return None
    return ends - _RESERVE - sum(step.timeout for stage in (DRAIN, SHUTDOWN) for step in plan.steps(stage))


def why_not_yet(
    keep: Keep,
    settle: float,
    me: Tuple[NameKey, float],
    others: Collection[NameKey],
    said: Mapping[NameKey, Rotation],
) -> Optional[str]:
    """Why this machine has to stay in rotation for now; None if it may leave.

    :param settle: for how many seconds a member has to have been in rotation to count
    :param me: the key of this machine's name, and until when it has to be done, in seconds since the epoch
    :param others: the keys of the names of all other members
    :param said: what they say of themselves now; who is not in it is silent
    """
    name, by = me
    reasons = [(other, _reason(said.get(other), settle, (by, name), other)) for other in sorted(others)]
    missing = [(other, reason) for other, reason in reasons if reason is not None]
    staying, wanted = len(reasons) - len(missing), keep.of(len(reasons) + 1)
    if staying >= wanted:
        return None
    return "%d of the other %d members stay in rotation, and %d are to%s" % (
        staying,
        len(reasons),
        wanted,
        ": " * bool(missing) + ", ".join(_named(missing)),
    )


def _reason(said: Optional[Rotation], settle: float, mine: Tuple[float, NameKey], other: NameKey) -> Optional[str]:
    if said is None:
        return "silent"
    if not said.is_in:
        return "out"
    if said.seconds < settle:
        return "just back"
    return "goes before" if said.wants_out and (said.by, other) < mine else None


def _named(missing: Sequence[Tuple[NameKey, Optional[str]]]) -> List[str]:
    named = ["%s (%s)" % (other[0], reason) for other, reason in missing[:_MOST_NAMED]]
    left = len(missing) - len(named)
    return [*named, "%d more" % left] if left else named


def _is_number(value: Any) -> bool:
    # A NaN is not equal to itself, and would be before and after everything.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15
