# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lifecycle hooks of a scale set: what may be in its model, and what Compute fills in.

Source: azure-mgmt-compute 39, and azure-cli's recording test_vmss_lifecycle_hook of July 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .errors import invalid

DEFAULT_ACTIONS = ("Approve", "Reject")

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_PATH = "lifecycleHooksProfile.lifecycleHooks"


class Wait(NamedTuple):
    """For how long a hook makes Azure wait."""

    usual: str
    longest: float
    """In seconds."""


SCHEDULING = "UpgradeAutoOSScheduling"
BATCH = "UpgradeAutoOSRollingBatchStarting"
WAITS: Mapping[str, Wait] = {
    SCHEDULING: Wait("PT1H", 2 * 86400),
    BATCH: Wait("PT30M", 4 * 3600),
}
"""By type."""


def seconds_of(text: object) -> float | None:
    """The seconds of an ISO 8601 duration; None when it is none."""
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return days * 86400 + hours * 3600 + minutes * 60 + seconds


def check_hooks(properties: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Refuse hooks that cannot be. Of types that are unknown here, those may stay that are there already."""
    known = {*WAITS, *(hook.get("type") for hook in hooks_of(before))}
    seen = set()
    for hook in hooks_of(properties):
        kind = str(hook.get("type"))
        if kind not in known or kind in seen:
            raise invalid(f"{_PATH}.type", f"The value '{kind}' of parameter '{_PATH}.type' is invalid.")
        seen.add(kind)
        waits = hook.get("waitDuration")
        seconds = seconds_of(waits)
        if kind in WAITS and waits is not None and not (seconds is not None and 0 < seconds <= WAITS[kind].longest):
            raise invalid(
                f"{_PATH}.waitDuration",
                f"The value '{waits}' of parameter '{_PATH}.waitDuration' is invalid for '{kind}'.",
            )
        if kind in WAITS and hook.get("defaultAction") not in (None, *DEFAULT_ACTIONS):
            raise invalid(f"{_PATH}.defaultAction", f"The value of parameter '{_PATH}.defaultAction' is invalid.")


def complete_hooks(properties: dict[str, Any]) -> None:
    """Fill in what Compute fills in. A profile without a hook is not shown, and so is gone."""
    hooks = hooks_of(properties)
    if "lifecycleHooksProfile" in properties and not hooks:
        del properties["lifecycleHooksProfile"]
    for hook in hooks:
        if hook["type"] in WAITS:
            hook.setdefault("waitDuration", WAITS[hook["type"]].usual)
            hook.setdefault("defaultAction", "Approve")


def hooks_of(properties: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The hooks in the model of a set."""
    hooks = (properties.get("lifecycleHooksProfile") or {}).get("lifecycleHooks") or []
    if not isinstance(hooks, list) or not all(isinstance(hook, dict) for hook in hooks):
        raise invalid(_PATH, f"The value of parameter {_PATH} is invalid.")
    return hooks
