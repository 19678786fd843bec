# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What does an event ask of the hosts that it hits?"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...module_utils.scheduled_events.document import EVENT_TYPES, Event

_LARGEST_SHARE_OF_MARGIN = 0.1


class Policy(NamedTuple):
    """What the operator decided. All times are seconds."""

    minimum_in_service: str = "50%"
    """A number of hosts of each group, or a percentage of them, that stay in service."""
    max_failed: int = 0
    """Of how many hosts steps may fail before the next are left in service."""
    margin: float = 30.0
    """This long before the start of an event its hosts are ready."""
    urgent_within: float = 300.0
    """With less notice than this, an event does not wait for its turn."""
    begin_within: float = 1200.0
    """With less notice than this, an event is met even if it must not be approved."""
    tolerated_freeze: float = 10.0
    """A freeze expected to last up to this long is left alone."""
    approve: bool = True
    listed_for: float = 600.0
    """This long after its start an event is thought to be over. Azure lists most for about ten minutes."""
    end_timeout: float = 1800.0
    """This long after its start an event must be over."""


def read_policy(values: Mapping[str, Any]) -> Policy:
    """Make a policy of what may be text, as Ansible's variables may; what is missing keeps its default."""
    read: dict[str, Any] = {}
    for name, default in Policy()._asdict().items():
        value = values.get(name, default)
        read[name] = value if isinstance(default, bool) else type(default)(value)
    return Policy(**read)


def needs_stop(event: Event) -> bool:
    """Whether services are to be stopped before it: there is time, and it will not merely pause them."""
    return event.is_scheduled and event.event_type != "Freeze"


def is_known(event: Event) -> bool:
    """Whether its type is one that we know, so that approving it is no leap in the dark."""
    return event.event_type in EVENT_TYPES


def start_of(event: Event) -> float | None:
    """The earliest start, seconds since the epoch; None when Azure does not say."""
    return None if event.not_before is None else event.not_before.timestamp()


def notice_of(event: Event, now: float) -> float | None:
    """Seconds until it may start: 0 once started, or overdue, or when Azure does not say. None: not scheduled."""
    if not event.is_scheduled:
        return None
    start = start_of(event)
    return 0.0 if start is None else max(0.0, start - now)


def deadline_of(event: Event, policy: Policy, now: float) -> float:
    """When its hosts are to be ready, seconds since the epoch; what has started has no time left.

    The margin is at most a tenth of the notice, so that little notice is not spent on it.
    """
    notice = notice_of(event, now)
    if notice is None:
        return now
    return now + notice - min(policy.margin, _LARGEST_SHARE_OF_MARGIN * notice)


def is_forced(event: Event, policy: Policy, now: float) -> bool:
    """Whether the platform acts before a turn could come: evictions, what has started, what soon will."""
    notice = notice_of(event, now)
    return notice is None or event.event_type == "Preempt" or notice < policy.urgent_within
