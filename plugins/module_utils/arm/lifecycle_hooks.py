# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of vmss_lifecycle_hooks and vmss_lifecycle_hooks_info.

A lifecycle hook makes Azure wait and ask before it upgrades the image of a scale set by itself: once before an upgrade
is scheduled, and again before each batch. The hooks are one list in the set's model, and a list that is sent replaces
the list. So what was read is sent back, types and members that are unknown here included, and only if nobody has
changed the set since.

Source: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-lifecycle-hooks and
the models of azure-mgmt-compute 39.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError
from .answers import Json
from .client import ArmClient, Permission, Write, reporting
from .errors import ArmError, not_as_written
from .permissions import READ_SCALE_SETS

KIND = "virtualMachineScaleSets"
SINCE = "2025-11-01"
"""The first version of Compute that has lifecycle hooks."""

PRESENT = "present"
ABSENT = "absent"
STATES = (PRESENT, ABSENT)

SCHEDULING = "UpgradeAutoOSScheduling"
BATCH_STARTING = "UpgradeAutoOSRollingBatchStarting"
MOST_SECONDS = {SCHEDULING: 2 * 86400, BATCH_STARTING: 4 * 3600}
"""How long Azure waits at most, by type of hook."""
TYPES = tuple(MOST_SECONDS)
REJECT = "Reject"
DEFAULT_ACTIONS = ("Approve", REJECT)

WRITE = Permission("Microsoft.Compute/virtualMachineScaleSets/write", "Virtual Machine Contributor")

# Option, and the corresponding member of a hook.
_MEMBERS = {"wait_duration": "waitDuration", "default_action": "defaultAction"}

_USUAL_PERCENT = 20
"""The size of a batch and the limit of unhealthy instances, where the set has none."""

_NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
_DURATION = re.compile(
    r"P(?=[0-9T])(?:%sD)?(?:T(?=[0-9])(?:%sH)?(?:%sM)?(?:%sS)?)?\Z" % ((_NUMBER,) * 4), re.IGNORECASE
)
_SECONDS_OF_PARTS = (86400, 3600, 60, 1)


class DesiredHooks(NamedTuple):
    """The wanted hooks."""

    hooks: tuple[Json, ...] = ()
    """Each with its `type`, and the options that are given."""
    remove: Collection[str] | None = ()
    """Types whose hooks are removed. None: all that are not in `hooks`."""


class HooksChange(NamedTuple):
    """What was done, or in check mode would be."""

    changed: bool
    resource: Json
    before: list[Json]
    after: list[Json]
    obstacles: tuple[str, ...]


def read_desired_state(options: Mapping[str, Any]) -> DesiredHooks:
    """Check the options that say which hooks are wanted.

    :raises OptionError: on the first that cannot be meant
    """
    if options["state"] == ABSENT:
        for option in ("hooks", "exclusive"):
            if options.get(option):
                raise OptionError("%s is not valid with state: absent. Name the types to remove in types" % option)
        types = options.get("types")
        return DesiredHooks(remove=None if types is None else types)
    if options.get("types") is not None:
        raise OptionError("types is not valid with state: present. Name the hooks in hooks")
    hooks = [_read_hook(hook) for hook in options["hooks"]]
    seen: set[str] = set()
    for hook in hooks:
        if hook["type"] in seen:
            raise OptionError("hooks: two have the type %s. A scale set has at most one of each type" % hook["type"])
        seen.add(hook["type"])
    return DesiredHooks(tuple(hooks), None if options["exclusive"] else ())


def set_hooks(
    client: ArmClient, resource_group: str, name: str, desired: DesiredHooks, dry_run: bool = False
) -> HooksChange:
    """Set the lifecycle hooks of a scale set.

    :param dry_run: decide, but change nothing
    :raises Unfinished: if they were changed, and Azure does not show it
    :raises ArmError: if that fails
    """
    client.need_compute(SINCE, "lifecycle hooks of scale sets")
    path = client.compute_id(resource_group, KIND, name)

    def plan(resource: Json, etag: str | None) -> tuple[tuple[Json, list[Json]], Write]:
        current = hooks_of(resource)
        wanted = settle(desired, current)
        if wanted == current or dry_run:
            return (resource, wanted), None
        if etag is None:
            raise ArmError(
                "%s has no etag, so writing its hooks could undo a concurrent change: nothing was written" % name
            )
        body = {"properties": {"lifecycleHooksProfile": {"lifecycleHooks": wanted}}}
        return (resource, wanted), lambda: client.write("PATCH", path, body, etag, WRITE)

    try:
        (resource, wanted), answer = client.edit(path, READ_SCALE_SETS, plan)
    except ArmError as error:
        if error.status != 400 or REJECT.lower() not in str(error).lower():
            raise
        raise ArmError(
            "default_action: this cloud does not accept Reject yet. Omit it, or set Approve. %s" % error,
            error.status,
            error.code,
        ) from None
    before = hooks_of(resource)
    outcome = HooksChange(wanted != before, resource, describe(before), describe(wanted), obstacles_of(resource))
    if answer is not None:
        with reporting(client, lambda: outcome):
            after = hooks_of(client.read_after(answer, path, READ_SCALE_SETS))
            outcome = outcome._replace(changed=after != before, after=describe(after))
            if settle(desired, after) != after:
                raise not_as_written(name, describe(after), describe(wanted))
    return outcome


def read_hooks(client: ArmClient, resource_group: str, name: str) -> Json:
    """The hooks of a scale set, as the info module returns them.

    :raises ArmError: if that fails
    """
    client.need_compute(SINCE, "lifecycle hooks of scale sets")
    resource = client.get(client.compute_id(resource_group, KIND, name), READ_SCALE_SETS)
    return {
        "id": resource.get("id"),
        "hooks": describe(hooks_of(resource)),
        "obstacles": list(obstacles_of(resource)),
        "stops_when_drained": stops_when_drained(resource),
        "replaces_instances": _rolling_policy(resource).get("maxSurge") is True,
    }


def hooks_of(resource: Mapping[str, Any]) -> list[Json]:
    """The hooks of a scale set, as Azure writes them; empty if it has none."""
    profile = (resource.get("properties") or {}).get("lifecycleHooksProfile") or {}
    hooks = profile.get("lifecycleHooks") if isinstance(profile, dict) else None
    return [hook for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []


def settle(desired: DesiredHooks, current: Sequence[Json]) -> list[Json]:
    """The hooks that will be there: in the order in which they were read, new ones behind them.

    What differs in its spelling alone stays as it is, and so does what is not asked for.
    """
    named = {hook["type"].lower(): hook for hook in desired.hooks}
    removed = None if desired.remove is None else {one.lower() for one in desired.remove}
    wanted = []
    for hook in current:
        kind = str(hook.get("type")).lower()
        if kind in named:
            wanted.append(_merged(hook, named.pop(kind)))
        elif removed is not None and kind not in removed:
            wanted.append(hook)
    return wanted + [_merged({"type": hook["type"]}, hook) for hook in named.values()]


def describe(hooks: Iterable[Mapping[str, Any]]) -> list[Json]:
    """Write hooks as the modules return them."""
    return [
        {"type": hook.get("type"), **{option: hook.get(member) for option, member in _MEMBERS.items()}}
        for hook in hooks
    ]


def obstacles_of(resource: Mapping[str, Any]) -> tuple[str, ...]:
    """Why no hook of this set will ever ask. Empty if nothing prevents it."""
    properties = resource.get("properties") or {}
    policy = properties.get("upgradePolicy") or {}
    found = []
    if str(policy.get("mode", "Manual")).lower() == "manual":
        found.append("its upgrade policy is Manual, and automatic upgrades of the image need Automatic or Rolling")
    if (policy.get("automaticOSUpgradePolicy") or {}).get("enableAutomaticOSUpgrade") is not True:
        found.append("automatic upgrades of its image are off (enableAutomaticOSUpgrade)")
    if not _tells_health(properties):
        found.append("Azure does not know the health of its instances: it has neither a probe nor the extension")
    return tuple(found)


def stops_when_drained(resource: Mapping[str, Any]) -> bool:
    """Whether an upgrade stops for good if a whole batch is drained, because Azure takes drained for unhealthy."""
    policy = _rolling_policy(resource)
    count = int((resource.get("sku") or {}).get("capacity") or 0)
    batch = max(1, count * int(policy.get("maxBatchInstancePercent", _USUAL_PERCENT)) // 100)
    return batch * 100 > count * int(policy.get("maxUnhealthyInstancePercent", _USUAL_PERCENT)) > 0


def _rolling_policy(resource: Mapping[str, Any]) -> Json:
    return ((resource.get("properties") or {}).get("upgradePolicy") or {}).get("rollingUpgradePolicy") or {}


def read_duration(text: str) -> float | None:
    """The seconds of an ISO 8601 duration of days, hours, minutes and seconds; None if it is none."""
    match = _DURATION.match(text.strip())
    if match is None:
        return None
    return sum(float(part or 0) * seconds for part, seconds in zip(match.groups(), _SECONDS_OF_PARTS, strict=True))


def _read_hook(given: Mapping[str, Any]) -> Json:
    hook = {"type": given["type"], **{option: given[option] for option in _MEMBERS if given.get(option) is not None}}
    text = hook.get("wait_duration")
    if text is None:
        return hook
    seconds, most = read_duration(text), MOST_SECONDS[hook["type"]]
    if seconds is None:
        raise OptionError("hooks: wait_duration: %r is not an ISO 8601 duration, such as PT30M or P1DT12H" % text)
    if not 0 < seconds <= most:
        raise OptionError(
            "hooks: wait_duration: %r is out of range. %s waits longer than 0 and at most %d hours"
            % (text, hook["type"], most // 3600)
        )
    return {**hook, "wait_duration": text.strip().upper()}


def _merged(current: Json, hook: Mapping[str, Any]) -> Json:
    changes = {
        member: hook[option]
        for option, member in _MEMBERS.items()
        if option in hook and not _means_the_same(option, hook[option], current.get(member))
    }
    return {**current, **changes}


def _means_the_same(option: str, wanted: str, found: Any) -> bool:
    if not isinstance(found, str):
        return False
    if option == "wait_duration":
        return read_duration(wanted) == read_duration(found)
    return wanted.lower() == found.lower()


def _tells_health(properties: Mapping[str, Any]) -> bool:
    model = properties.get("virtualMachineProfile") or {}
    extensions = (model.get("extensionProfile") or {}).get("extensions") or []
    types = [str((one.get("properties") or {}).get("type")).lower() for one in extensions if isinstance(one, dict)]
    return bool(
        (model.get("networkProfile") or {}).get("healthProbe")
        or properties.get("externalHealthPolicy")
        or any(one.startswith("applicationhealth") for one in types)
    )
