# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Checks, after the connections of a host have ended, whether its events are still ahead.

That takes minutes, in which an event may be withdrawn, turn into another one, or be joined by one that does not wait.
"""

from collections.abc import Sequence

from ...module_utils.scheduled_events.event import Event, may_be, name_key
from .plan import HostPlan
from .policy import Policy, deadline_of, does_not_wait, needs_stop


def recheck(host_plan: HostPlan, listed: Sequence[Event] | None, policy: Policy, now: float) -> HostPlan:
    """Go on with what is still ahead of a host, before its services are stopped.

    An event that is not listed any more, had not started and was not approved, was withdrawn. That of a deletion may
    have deleted others by then: no service is stopped for it, and its end is for the watch to see.

    :param listed: the events that are listed for the host now; None if it, or its metadata service, did not answer,
        which says nothing about them. A demand is always still ahead
    :param now: seconds since the epoch
    """
    if listed is None or host_plan.demand is not None:
        return host_plan
    unknown = [event for event in listed if event.is_of_unknown_vms]
    now_listed = {name_key(event.event_id): event for event in listed if not event.is_of_unknown_vms}
    events: list[Event] = []
    withdrawn: list[str] = []
    stopping: list[Event] = []
    for event in host_plan.events:
        seen = now_listed.pop(name_key(event.event_id), None)
        if any(may_be(one, event.event_id) for one in unknown):
            events.append(event)
            stopping.append(event)
        elif seen is not None:
            events.append(seen)
            # If an event has started meanwhile, services are stopped as planned: late is better than not at all.
            stopping.append(event if seen.is_started and seen.event_type == event.event_type else seen)
        elif not event.is_scheduled or _was_approved(event, host_plan):
            events.append(event)
        else:
            withdrawn.append(event.event_id)
            events += [event] if event.is_final else []
    added = [event for event in now_listed.values() if does_not_wait(event, policy, now)]
    stopping = [event for event in (*stopping, *added) if needs_stop(event)]
    return host_plan._replace(
        events=(*events, *added),
        stop=bool(stopping),
        stopped_by=min([deadline_of(event, policy, now) for event in stopping] or [now]),
        final=any(event.is_final for event in (*events, *added)),
        withdrawn=tuple(dict.fromkeys([*host_plan.withdrawn, *withdrawn])),
    )


def _was_approved(event: Event, host_plan: HostPlan) -> bool:
    return name_key(event.event_id) in map(name_key, host_plan.approving)
