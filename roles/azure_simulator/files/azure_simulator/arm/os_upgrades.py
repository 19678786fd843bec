# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Microsoft.Compute over HTTP: automatic upgrades of the image of a scale set, batch by batch.

Where the set has a lifecycle hook for it, Compute asks first: about the set before it schedules the upgrade, about the
instances of a batch before it begins with that. It goes on when each of them is answered for, replaces the disks of
those that are approved, and begins with the next batch once this one is healthy.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import partial
from typing import Any, Callable

from .errors import conflict, invalid
from .hook_events import APPROVED, HookEvents
from .lifecycle import BATCH, SCHEDULING, hooks_of
from .ownership import ResourceLookup
from .resources import (
    DELETING,
    UNHEALTHY_PERCENT,
    UPDATING,
    ComputeResources,
    Machine,
    Rolling,
    ScaleSet,
    enabled,
)
from .routing import COMPUTE, SET, ArmAnswer, ArmRequest, Links, Router

HEALTHY_WITHIN = 600.0
"""Simulated seconds that an instance has to become healthy once it has its new disk."""

_LOOK = 1.0  # simulated seconds between two looks at the health of a batch
_IMAGE = ("publisher", "offer", "sku", "version")


class OsUpgrades:
    """The handler, and the upgrades that it has begun."""

    def __init__(
        self, resources: ComputeResources, links: Links, hooks: HookEvents, is_healthy: Callable[[str], bool]
    ) -> None:
        self._resources = resources
        self._world = resources.world
        self._links = links
        self._hooks = hooks
        self._is_healthy = is_healthy
        self._lookup = ResourceLookup(resources)

    def routes(self, router: Router) -> None:
        """Make it known."""
        router.add("POST", f"{SET}/seekAutoOSUpgradeApproval", COMPUTE, self.seek)

    def seek(self, request: ArmRequest) -> ArmAnswer:
        """Begin an automatic upgrade to an image at once, as Compute does of itself when there is a new one.

        What Azure answers to it, and what it refuses, is not published.
        """
        scale_set = self._lookup.scale_set(request)
        image = request.document().get("platformImageReference")
        if not isinstance(image, Mapping) or not all(isinstance(image.get(key), str) for key in _IMAGE):
            raise invalid("platformImageReference", f"platformImageReference must have {', '.join(_IMAGE)}.")
        policy = (scale_set.properties.get("upgradePolicy") or {}).get("automaticOSUpgradePolicy") or {}
        if scale_set.mode == "Manual" or not enabled(policy.get("enableAutomaticOSUpgrade")):
            raise conflict(
                f"Automatic OS upgrades are not enabled for the Virtual Machine Scale Set '{scale_set.name}'."
            )
        if not scale_set.tells_health:
            raise conflict(f"Neither a health probe nor a health extension was provided for '{scale_set.name}'.")
        if scale_set.rolling is not None and not scale_set.rolling.over:
            raise conflict(f"A rolling upgrade of '{scale_set.name}' is in progress already.")
        wanted = {key: str(image[key]) for key in _IMAGE}

        def scheduled(states: Mapping[str, str]) -> None:
            if APPROVED in states.values():
                self._begin(scale_set, wanted)

        self._ask(scale_set, SCHEDULING, [scale_set.resource_id], scheduled)
        seconds = self._resources.config.operation_seconds
        operation = self._resources.begin(
            "seekAutoOSUpgradeApproval",
            scale_set.resource_id,
            scale_set.location,
            lambda _: None,
            request.wanted,
            seconds,
        )
        return ArmAnswer(202, None, self._links.accepted(request, operation, scale_set.subscription))

    def _ask(
        self, scale_set: ScaleSet, kind: str, targets: list[str], answered: Callable[[Mapping[str, str]], None]
    ) -> None:
        """Ask if there is a hook for it. Without a hook, nobody is asked."""
        if any(hook.get("type") == kind for hook in hooks_of(scale_set.properties)):
            self._hooks.ask(scale_set, kind, targets, answered)
        else:
            answered(dict.fromkeys(targets, APPROVED))

    def _begin(self, scale_set: ScaleSet, image: dict[str, Any]) -> None:
        policy = copy.deepcopy(scale_set.properties["upgradePolicy"].get("rollingUpgradePolicy") or {})
        rolling = Rolling(scale_set.unprotected, self._world.now, policy, image)
        rolling.started_by = "Platform"
        scale_set.rolling = rolling
        scale_set.os_upgrades.append(rolling)
        self._next_batch(scale_set, rolling)

    def _next_batch(self, scale_set: ScaleSet, rolling: Rolling) -> None:
        if rolling.over:
            return
        here = scale_set.unprotected
        rolling.pending = [machine for machine in rolling.pending if machine in here]
        if not rolling.pending:
            self._resources.end_rolling(rolling, "Completed")
            return
        batch = {scale_set.id_of(machine): machine for machine in rolling.pending[: rolling.batch_size]}

        def answered(states: Mapping[str, str]) -> None:
            if not rolling.over:
                rolling.pending = [machine for machine in rolling.pending if machine not in batch.values()]
                self._replace(scale_set, rolling, [batch[one] for one, state in states.items() if state == APPROVED])

        self._ask(scale_set, BATCH, list(batch), answered)

    def _replace(self, scale_set: ScaleSet, rolling: Rolling, batch: list[Machine]) -> None:
        """Give a batch its new disks if enough of the set is healthy. Drained instances count as unhealthy."""
        allowed = rolling.policy.get("maxUnhealthyInstancePercent", UNHEALTHY_PERCENT)
        unhealthy = [machine for machine in scale_set.machines.values() if not self._is_healthy(machine.handle)]
        if len(unhealthy) * 100 > allowed * len(scale_set.machines):
            self._resources.fail_rolling(
                rolling,
                "MaxUnhealthyInstancePercentExceededBeforeRollingUpgrade",
                f"Rolling Upgrade failed since {len(unhealthy)} of {len(scale_set.machines)} instances are unhealthy, "
                "which is more than the MaxUnhealthyInstancePercent value defined in the RollingUpgradePolicy.",
            )
            return
        rolling.running = [machine for machine in batch if machine.provisioning_state != DELETING]
        for machine in rolling.running:
            machine.provisioning_state = UPDATING
            self._world.replace_disk(
                machine.handle,
                self._resources.config.instance_seconds,
                partial(self._has_disk, scale_set, rolling, machine),
            )
        seconds = self._resources.config.instance_seconds
        # After the disks, whose end is on the agenda already.
        self._world.at(
            self._world.now + seconds,
            lambda: self._look(scale_set, rolling, self._world.now + HEALTHY_WITHIN),
        )

    def _has_disk(self, scale_set: ScaleSet, rolling: Rolling, machine: Machine) -> None:
        if self._resources.updated(scale_set, machine) and rolling.image is not None:
            machine.image = dict(rolling.image)
            machine.disks += 1

    def _look(self, scale_set: ScaleSet, rolling: Rolling, until: float) -> None:
        """Go on once the batch is healthy, or its time is over."""
        well = [m for m in rolling.running if scale_set.latest(m) and self._is_healthy(m.handle)]
        if len(well) < len(rolling.running) and self._world.now < until:
            self._world.at(self._world.now + _LOOK, lambda: self._look(scale_set, rolling, until))
            return
        rolling.successful += len(well)
        rolling.failed += len(rolling.running) - len(well)
        rolling.running = []
        self._resources.go_on(rolling, lambda: self._next_batch(scale_set, rolling))
