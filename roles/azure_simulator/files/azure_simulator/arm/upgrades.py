# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Microsoft.Compute over HTTP: rolling upgrades of scale sets, and their history."""

from __future__ import annotations

from typing import Any

from .errors import no_such_entity
from .ownership import ResourceLookup
from .resources import ComputeResources, Rolling, ScaleSet, iso
from .routing import COMPUTE, SET, ArmAnswer, ArmRequest, Handler, Links, Pager, Router

_TYPE = "Microsoft.Compute/virtualMachineScaleSets/rollingUpgrades"


class Upgrades:
    """The handlers."""

    def __init__(self, resources: ComputeResources, links: Links, pager: Pager) -> None:
        self._resources = resources
        self._links = links
        self._pager = pager
        self._lookup = ResourceLookup(resources)

    def routes(self, router: Router) -> None:
        """Make them known."""
        router.add("POST", f"{SET}/osRollingUpgrade", COMPUTE, self._start(of_image=True))
        router.add("POST", f"{SET}/extensionRollingUpgrade", COMPUTE, self._start(of_image=False))
        router.add("GET", f"{SET}/rollingUpgrades/latest", COMPUTE, self.latest)
        router.add("POST", f"{SET}/rollingUpgrades/cancel", COMPUTE, self.cancel)
        router.add("GET", f"{SET}/osUpgradeHistory", COMPUTE, self.history)

    def _start(self, of_image: bool) -> Handler:
        def handle(request: ArmRequest) -> ArmAnswer:
            scale_set = self._lookup.scale_set(request)
            operation = self._resources.start_rolling(scale_set, of_image, request.wanted)
            return ArmAnswer(202, None, self._links.accepted(request, operation, scale_set.subscription))

        return handle

    def cancel(self, request: ArmRequest) -> ArmAnswer:
        """Cancel the rolling upgrade."""
        scale_set = self._lookup.scale_set(request)
        operation = self._resources.cancel_rolling(scale_set, request.wanted)
        return ArmAnswer(202, None, self._links.accepted(request, operation, scale_set.subscription))

    def latest(self, request: ArmRequest) -> ArmAnswer:
        """The progress of the latest rolling upgrade. It has no id, in Azure neither."""
        scale_set = self._lookup.scale_set(request)
        rolling = scale_set.rolling
        if rolling is None:
            raise no_such_entity()
        when = self._resources.world.clock.wall
        status = {
            "code": rolling.code,
            "startTime": iso(when(rolling.started)),
            "lastAction": rolling.last_action,
            "lastActionTime": iso(when(rolling.last_action_at)),
        }
        shown = self._show(scale_set, rolling, status)
        shown["properties"]["policy"] = rolling.policy
        return ArmAnswer(200, shown)

    def history(self, request: ArmRequest) -> ArmAnswer:
        """The upgrades of the image: here all that were started by the owner, the newest first."""
        scale_set = self._lookup.scale_set(request)
        when = self._resources.world.clock.wall
        rows = []
        for rolling in reversed(scale_set.os_upgrades):
            status = {"code": rolling.code, "startTime": iso(when(rolling.started))}
            if rolling.ended is not None:
                status["endTime"] = iso(when(rolling.ended))
            row = self._show(scale_set, rolling, status)
            row["properties"] |= {"startedBy": rolling.started_by, "targetImageReference": rolling.image}
            rows.append(row)
        return self._pager.page(request, rows)

    @staticmethod
    def _show(scale_set: ScaleSet, rolling: Rolling, status: dict[str, Any]) -> dict[str, Any]:
        properties: dict[str, Any] = {
            "runningStatus": status,
            "progress": {
                "successfulInstanceCount": rolling.successful,
                "failedInstanceCount": rolling.failed,
                "inProgressInstanceCount": len(rolling.running),
                "pendingInstanceCount": len(rolling.pending),
            },
        }
        if rolling.error is not None:
            properties["error"] = rolling.error.inner()
        return {"location": scale_set.location, "type": _TYPE, "properties": properties}
