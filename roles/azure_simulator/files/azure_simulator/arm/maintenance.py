# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Microsoft.Maintenance: approving scheduled events from the control plane, cancelling runs of updates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from ..events import Event
from ..world import World
from . import versions
from .config import UpdateRunConfig
from .errors import ArmError, invalid
from .graph import Publisher
from .routing import ArmAnswer, ArmRequest, Router

PROVIDER = "Microsoft.Maintenance"

_RESOURCE = "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute/{type}/{name}"
_EVENTS = f"{_RESOURCE}/providers/Microsoft.Maintenance/scheduledevents"

_DONE = {"value": "Successfully Approved"}

_RUN = (
    "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Maintenance/maintenanceConfigurations"
    "/{configuration}/providers/Microsoft.Maintenance/applyUpdates/{run}"
)
_CUT_OFF = 600.0
"""Seconds before its beginning, after which a run cannot be cancelled any more."""


@dataclass
class _UpdateRun:
    """A run of updates, and whether somebody has cancelled it."""

    config: UpdateRunConfig
    name: str
    begins: float
    """A simulated instant."""
    is_cancelled: bool = False

    @property
    def run_id(self) -> str:
        """As the event before the run has it in ``correlationId``."""
        return _RUN.format(
            subscription=self.config.subscription_id,
            group=self.config.resource_group,
            configuration=self.config.configuration,
            run=self.name,
        )

    def status(self, now: float) -> str:
        """In Azure's words."""
        if self.is_cancelled:
            return "Cancelled"
        return "Pending" if now < self.begins else "InProgress"


class Maintenance:
    """The handlers of the provider."""

    def __init__(self, world: World, publisher: Publisher, update_runs: tuple[UpdateRunConfig, ...] = ()) -> None:
        self._world = world
        self._publisher = publisher
        self._runs: dict[str, _UpdateRun] = {}
        for config in update_runs:
            begins = world.now + config.begins
            wall = datetime.fromtimestamp(world.clock.wall(begins), timezone.utc)
            run = _UpdateRun(config, config.name or wall.strftime("%Y%m%d%H%M%S"), begins)
            self._runs[run.run_id.lower()] = run

    def routes(self, router: Router) -> None:
        """Make them known."""
        router.add("POST", f"{_EVENTS}/{{event}}/acknowledge", PROVIDER, self.acknowledge)
        router.add("POST", _EVENTS, PROVIDER, self.acknowledge_list)
        router.add("PUT", _RUN, PROVIDER, self.cancel)

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

    def cancel(self, request: ArmRequest) -> ArmAnswer:
        """Cancel a run of updates, which is all that may be done with it."""
        run = self._runs.get(request.path.lower())
        if run is None:
            raise ArmError(404, "ResourceNotFound", f"The Resource '{request.path}' was not found.")
        properties = request.document().get("properties")
        status = properties.get("status") if isinstance(properties, dict) else None
        if status != "Cancel":
            raise ArmError(400, "BadRequest", f"The status {status!r} cannot be set; only 'Cancel' can.")
        if self._world.now > run.begins - _CUT_OFF and not run.is_cancelled:
            raise ArmError(
                400, "BadRequest", "The maintenance can be cancelled until 10 minutes before its start only."
            )
        run.is_cancelled = True
        configuration, _provider, _name = run.run_id.rpartition("/providers/")
        return ArmAnswer(
            200,
            {
                "id": run.run_id.lower(),
                "name": run.config.configuration,
                "type": "Microsoft.Maintenance/applyUpdates",
                "properties": {"status": run.status(self._world.now), "resourceId": configuration.lower()},
            },
        )

    def update_runs(self) -> list[dict[str, Any]]:
        """The runs of updates, for the control API."""
        return [{"run_id": run.run_id, "status": run.status(self._world.now)} for run in self._runs.values()]

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
