# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which members a shared event waits for, and why. Pure."""

from typing import Container, List, Mapping, NamedTuple, Sequence, Tuple

from foghorn_core.scheduled_events.event import NameKey, name_key

from .decisions import MemberStatus, is_ready, plan_of
from .policy import QUORUM, Rule
from .state import State, Tracked

NOT_CONFIGURED = "not configured"
NOT_ASKED = "not asked yet"
ANOTHER_MACHINE = "another machine"
OTHER_SECRET = "other secret"
NOT_SIGNED = "not signed"
OLD_WORD = "old word"
STRANGERS = (ANOTHER_MACHINE, OTHER_SECRET, NOT_SIGNED)
"""Something answers at its address, and it is not the member."""


class MemberView(NamedTuple):
    """What is known about the other members."""

    statuses: Mapping[str, Mapping[NameKey, MemberStatus]]
    """By event id in lower case, each member's last answer about it."""
    faults: Mapping[NameKey, str]
    """By member, the reason why it gave no answer when it was last asked, in a word or two."""
    known: Mapping[NameKey, str]
    """By member, its URL, if it has one."""
    answered: Container[NameKey] = ()
    """The members that have answered at least once."""
    stale: Container[NameKey] = ()
    """The members that have not answered lately: their earlier answers do not count."""


def shared_events(state: State, rules: Sequence[Rule]) -> List[Tracked]:
    """The events about which other members have to be asked."""
    return [
        tracked
        for tracked in state.tracked
        if tracked.over is None
        and tracked.event.is_scheduled
        and tracked.event.is_shared
        and plan_of(rules, tracked).approve == QUORUM
    ]


def waiting_for(tracked: Tracked, vm_name: str, rules: Sequence[Rule], view: MemberView) -> "List[Tuple[str, str]]":
    """The members that a shared event waits for, by name, and why, in a word or two."""
    me = name_key(vm_name)
    statuses = view.statuses.get(tracked.event_id.lower(), {})
    found: List[Tuple[str, str]] = []
    for name in tracked.event.resources:
        key = name_key(name)
        if key == me:
            if not is_ready(tracked, plan_of(rules, tracked)):
                found.append((name, "not ready"))
        elif key not in statuses or not statuses[key].agrees or key in view.stale:
            found.append((name, _reason(key, statuses, view)))
    if not found:
        approvers = [
            name for name in tracked.event.resources if name_key(name) == me or statuses[name_key(name)].approves
        ]
        found = [(name, "is to approve") for name in approvers[:1] if name_key(name) != me]
    return found


def as_text(waiting: "Sequence[Tuple[str, str]]") -> str:
    """The waiting members and reasons as a line for the log."""
    return ", ".join("%s (%s)" % one for one in waiting)


def _reason(key: NameKey, statuses: Mapping[NameKey, MemberStatus], view: MemberView) -> str:
    if key not in view.known:
        return NOT_CONFIGURED
    if key in view.faults:
        return view.faults[key]
    if key not in view.answered:
        return NOT_ASKED
    if key not in statuses:
        return "does not know of it"
    if statuses[key].agrees:
        return OLD_WORD
    return "not ready" if statuses[key].willing else "not willing"
