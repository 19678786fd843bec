# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""An event: its values, their meaning, and which of several is the most urgent.

Source: https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events
"""

from datetime import datetime, timedelta
from typing import Any, Iterable, List, Mapping, NamedTuple, Optional, Tuple

# The most destructive first: of two events at the same instant the earlier one here is the more urgent.
EVENT_TYPES = ("Preempt", "Terminate", "Redeploy", "Reboot", "SpotRebalanceRecommendation", "Freeze")
# Probable events: they never start, and there is nothing to approve. A policy applies to one only if it names the
# type.
ADVISORY_EVENT_TYPES = ("SpotRebalanceRecommendation",)
# After these the VM is gone: deleted, or for a Spot VM at least deallocated.
FINAL_EVENT_TYPES = ("Preempt", "Terminate")
EVENT_SOURCES = ("Platform", "User")
SCHEDULED = "Scheduled"
STARTED = "Started"
EVENT_STATUSES = (SCHEDULED, STARTED)
# Stands for an id, a type or a status that cannot be read, and begins the name of the field that quotes it.
UNREADABLE = "Unreadable"
# What tells one name from another, see `name_key`.
NameKey = Tuple[str, str]


class Event(NamedTuple):
    """One event, in Azure's own field names and values.

    `event_type`, `event_status` and `event_source` may hold values that this version does not know.
    `None` stands for what the service did not say (an older api-version, an empty `NotBefore`).
    """

    event_id: str
    event_type: str
    event_status: str
    resources: Tuple[str, ...]
    not_before: Optional[datetime] = None
    """Earliest start, UTC."""
    event_source: Optional[str] = None
    resource_type: Optional[str] = None
    description: Optional[str] = None
    duration_in_seconds: Optional[int] = None
    """Expected interruption; 0 is none, -1 is unknown to Azure."""
    other_fields: Mapping[str, Any] = {}
    """Fields that this version does not know, unchanged except for the replacements of `text`."""

    @property
    def is_scheduled(self) -> bool:
        """Announced and not started: only now does an approval have a meaning."""
        return self.event_status == SCHEDULED or (self.is_advisory and self.event_status == STARTED)

    @property
    def is_started(self) -> bool:
        """Under way. Not the end: an event that is over is no longer listed."""
        return self.event_status == STARTED and not self.is_advisory

    @property
    def is_final(self) -> bool:
        """Whether it takes the VM away, so that nothing is left to be restored: deleted or deallocated."""
        return self.event_type in FINAL_EVENT_TYPES

    @property
    def is_advisory(self) -> bool:
        """Whether it only says what may come: it never starts, and approving it has no effect."""
        return self.event_type in ADVISORY_EVENT_TYPES

    @property
    def is_of_unknown_vms(self) -> bool:
        """Whether it cannot be read whom it hits, so that it may be anybody."""
        return UNREADABLE + "Resources" in self.other_fields

    @property
    def is_shared(self) -> bool:
        """Whether it hits more than one VM, so that one approval decides for all of them."""
        return len({name_key(name) for name in self.resources}) > 1

    @property
    def leader(self) -> Optional[str]:
        """The VM that approves for all: the first of the resources. None if no resource is named."""
        return self.resources[0] if self.resources else None

    def affects(self, vm_name: str) -> bool:
        """Whether it hits the VM of this Azure name: the whole name, without case, never a part of it."""
        return any(same_name(name, vm_name) for name in self.resources)

    def is_led_by(self, vm_name: str) -> bool:
        """Whether this VM is the one to approve it."""
        return self.leader is not None and same_name(self.leader, vm_name)

    def is_freeze_of_at_most(self, seconds: float) -> bool:
        """Whether it is a pause that Azure expects to last this long or less. An unknown duration is not short."""
        duration = self.duration_in_seconds
        return self.event_type == "Freeze" and duration is not None and 0 <= duration <= seconds

    def seconds_until_start(self, now: datetime) -> Optional[int]:
        """Whole seconds of notice left at `now`: 0 once started or overdue, None when Azure did not say."""
        if self.is_started:
            return 0
        if self.not_before is None:
            return None
        return max(0, (self.not_before - now) // timedelta(seconds=1))


def same_name(one: str, other: str) -> bool:
    """Whether two VM names, or two event ids, mean the same: equal as a whole, without case."""
    return name_key(one) == name_key(other)


def may_be(event: Event, event_id: str) -> bool:
    """Whether an event that is listed is the one of this id, or may be: one whose id cannot be read may be any."""
    return event.event_id == UNREADABLE or same_name(event.event_id, event_id)


def name_key(name: str) -> NameKey:
    """The form that all spellings of one name share, and that differs for different names."""
    # Lower case alone turns the sign for kelvin into k, and other names would become equal to this one.
    return name.lower(), name.upper()


def in_order_of_urgency(events: Iterable[Event]) -> List[Event]:
    """Sort: what has started, then what may start at any moment, then by the earliest start.

    At the same instant the more destructive type comes first; the event id settles the rest, so that
    the order is the same wherever it is computed. An advisory event has no start: it comes with what may
    start at any moment, but behind every eviction.
    """
    listed = list(events)
    last_eviction = max((_urgency(event) for event in listed if event.event_type == "Preempt"), default=())

    def key(event: Event) -> Tuple[Any, ...]:
        own = _urgency(event)
        return max(own, last_eviction + own) if event.is_advisory else own

    return sorted(listed, key=key)


def _urgency(event: Event) -> Tuple[Any, ...]:
    if event.is_started:
        group, start = 0, 0.0
    elif event.not_before is None:
        group, start = 1, 0.0
    else:
        group, start = 2, event.not_before.timestamp()
    harm = EVENT_TYPES.index(event.event_type) if event.event_type in EVENT_TYPES else len(EVENT_TYPES)
    return group, start, harm, event.event_id.lower()
