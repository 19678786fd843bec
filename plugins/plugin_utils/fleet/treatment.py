# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does an event ask of the hosts that it hits?

An event is a dict as scheduled_events_info returns it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...module_utils.scheduled_events.document import EVENT_TYPES, SCHEDULED, parse_date

EventDict = dict[str, Any]

FINAL_TYPES = ("Preempt", "Terminate")
_LARGEST_SHARE_OF_MARGIN = 0.1


class Policy(NamedTuple):
    """What the operator decided. All times are seconds."""

    minimum_in_service: str = "50%"
    """A number of hosts, or a percentage of them."""
    margin: float = 30.0
    """This long before the start of an event its hosts are ready."""
    urgent_within: float = 300.0
    """With less notice than this, an event does not wait for its turn."""
    begin_within: float = 1200.0
    """With less notice than this, an event is met even if it must not be approved."""
    tolerated_freeze: float = 10.0
    """A freeze expected to last up to this long is left alone."""
    approve: bool = True
    end_timeout: float = 1800.0
    """This long after its start an event must be over."""


def read_policy(values: Mapping[str, Any]) -> Policy:
    """Make a policy of what may be text, as Ansible's variables may; what is missing keeps its default."""
    read: dict[str, Any] = {}
    for name, default in Policy()._asdict().items():
        value = values.get(name, default)
        read[name] = value if isinstance(default, bool) else type(default)(value)
    return Policy(**read)


def is_scheduled(event: EventDict) -> bool:
    """Whether it can still be prepared for, and approved."""
    return bool(event["event_status"] == SCHEDULED)


def is_final(event: EventDict) -> bool:
    """Whether the host is deleted: nothing is put back then."""
    return event["event_type"] in FINAL_TYPES


def is_tolerated(event: EventDict, policy: Policy) -> bool:
    """Whether it is a freeze too short to do anything about. An unknown duration is not short."""
    duration = event["duration_in_seconds"]
    return event["event_type"] == "Freeze" and duration is not None and 0 <= duration <= policy.tolerated_freeze


def needs_stop(event: EventDict) -> bool:
    """Whether services are to be stopped before it: there is time, and it will not merely pause them."""
    return is_scheduled(event) and event["event_type"] != "Freeze"


def is_known(event: EventDict) -> bool:
    """Whether its type is one that we know, so that approving it is no leap in the dark."""
    return event["event_type"] in EVENT_TYPES


def start_of(event: EventDict) -> float | None:
    """The earliest start, seconds since the epoch; None when Azure does not say."""
    return None if event["not_before"] is None else parse_date(event["not_before"]).timestamp()


def notice_of(event: EventDict, now: float) -> float | None:
    """Seconds until it may start: 0 once started, or overdue, or when Azure does not say. None: not scheduled."""
    if not is_scheduled(event):
        return None
    start = start_of(event)
    return 0.0 if start is None else max(0.0, start - now)


def deadline_of(event: EventDict, policy: Policy, now: float) -> float:
    """When its hosts are to be ready, seconds since the epoch; what has started has no time left.

    The margin is at most a tenth of the notice, so that little notice is not spent on it.
    """
    notice = notice_of(event, now)
    if notice is None:
        return now
    return now + notice - min(policy.margin, _LARGEST_SHARE_OF_MARGIN * notice)


def is_forced(event: EventDict, policy: Policy, now: float) -> bool:
    """Whether the platform acts before a turn could come: evictions, what has started, what soon will."""
    notice = notice_of(event, now)
    return notice is None or event["event_type"] == "Preempt" or notice < policy.urgent_within
