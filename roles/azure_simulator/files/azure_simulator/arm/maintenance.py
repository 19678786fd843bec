# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Microsoft.Maintenance: approving scheduled events from the control plane."""

from __future__ import annotations

from ..events import Event
from ..world import World
from . import versions
from .errors import ArmError, invalid
from .graph import Publisher
from .routing import ArmAnswer, ArmRequest, Router

PROVIDER = "Microsoft.Maintenance"

_RESOURCE = "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute/{type}/{name}"
_EVENTS = f"{_RESOURCE}/providers/Microsoft.Maintenance/scheduledevents"

_DONE = {"value": "Successfully Approved"}


class Maintenance:
    """The handlers of the provider."""

    def __init__(self, world: World, publisher: Publisher) -> None:
        self._world = world
        self._publisher = publisher

    def routes(self, router: Router) -> None:
        """Make them known."""
        router.add("POST", f"{_EVENTS}/{{event}}/acknowledge", PROVIDER, self.acknowledge)
        router.add("POST", _EVENTS, PROVIDER, self.acknowledge_list)

    def acknowledge(self, request: ArmRequest) -> ArmAnswer:
        """Approve one event, for all of its resources."""
        return self._approve(request, [request.names["event"]])

    def acknowledge_list(self, request: ArmRequest) -> ArmAnswer:
        """Approve several events; all of them or none."""
        if request.version < versions.ACKNOWLEDGE_LIST_SINCE:
            raise ArmError(404, "InvalidResourceType", "The resource type 'scheduledevents' could not be found.")
        ids = request.document().get("value")
        if not isinstance(ids, list) or not ids or not all(isinstance(item, str) for item in ids):
            raise invalid("value", "The value of parameter value is invalid: it must be a list of event ids.")
        return self._approve(request, ids)

    def _approve(self, request: ArmRequest, ids: list[str]) -> ArmAnswer:
        events = [self._find(request, event_id) for event_id in ids]
        self._world.approve(f"arm:{request.caller}", events)
        return ArmAnswer(200, _DONE)

    def _find(self, request: ArmRequest, event_id: str) -> Event:
        names = request.names
        wanted = f"/{names['subscription']}/{names['group']}/{names['type']}/{names['name']}".lower()
        event = self._world.events.get(event_id.upper())
        if event is None or not event.listed or wanted not in self._publisher.owners(event):
            raise ArmError(
                404,
                "ResourceNotFound",
                f"The scheduled event '{event_id}' was not found for resource '{names['name']}'. It may be over, or "
                "the resource's scheduledEventsPolicy may not publish its events.",
            )
        return event
