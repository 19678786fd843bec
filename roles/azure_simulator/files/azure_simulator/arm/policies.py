# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What values may be in a `scheduledEventsPolicy`."""

from __future__ import annotations

from typing import Any

from .errors import invalid
from .resources import enabled

PUBLISHED = ("2020-07-01", "2024-07-09")
"""The versions in which events are published."""


def check_policy(policy: object) -> None:
    """Refuse a scheduledEventsPolicy whose switches are not booleans."""
    if not isinstance(policy, dict):
        return
    for name in ("userInitiatedReboot", "userInitiatedRedeploy", "allInstancesDown"):
        if isinstance(policy.get(name), dict):
            check_switch(policy[name], "automaticallyApprove", f"scheduledEventsPolicy.{name}")
    targets = policy.get("scheduledEventsAdditionalPublishingTargets") or {}
    if isinstance(targets.get("eventGridAndResourceGraph"), dict):
        check_switch(targets["eventGridAndResourceGraph"], "enable", "eventGridAndResourceGraph")
        version = targets["eventGridAndResourceGraph"].get("scheduledEventsApiVersion")
        if version is not None and targets["eventGridAndResourceGraph"].get("enable") is None:
            # Recorded by azure-cli in October 2025.
            raise invalid(
                "scheduledEventsAdditionalPublishingTargets.eventGridAndResourceGraph.scheduledEventsApiVersion",
                "Scheduled Events API version is not enabled for region.",
            )
        if version is not None and version not in PUBLISHED:
            raise invalid(
                "eventGridAndResourceGraph.scheduledEventsApiVersion",
                f"The value '{version}' of parameter 'eventGridAndResourceGraph.scheduledEventsApiVersion' is invalid.",
            )


def check_switch(owner: dict[str, Any], name: str, path: str) -> None:
    """Refuse what is neither true nor false; words for them become what they mean."""
    value = owner.get(name)
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str) and value.lower() in ("true", "false"):
        owner[name] = enabled(value)
        return
    raise invalid(f"{path}.{name}", f"The value of parameter {path}.{name} is invalid.")
