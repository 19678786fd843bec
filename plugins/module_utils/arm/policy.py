# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of scheduled_events_policy, and how Azure writes such a policy.

The `scheduledEventsPolicy` of a VM, an availability set or a scale set says which events Azure approves by
itself, and whether they are published to Event Grid and Resource Graph. In the PATCH model of a scale set it
does not exist, so that there the resource is written back as it was read, but for the policy and for what Azure
would check without need, and only if nobody has changed it since.

Source: https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError
from .answers import Json
from .client import ArmClient, Permission, Write, reporting
from .errors import ArmError

VIRTUAL_MACHINE = "virtual_machine"
AVAILABILITY_SET = "availability_set"
SCALE_SET = "scale_set"

# Option, and the corresponding part of the policy.
APPROVALS = {
    "approve_user_initiated_reboot": "userInitiatedReboot",
    "approve_user_initiated_redeploy": "userInitiatedRedeploy",
    "approve_all_instances_down": "allInstancesDown",
}
# Azure's default where a part is absent. This is why "off" has to be written for a part that is on.
_APPROVED_IF_ABSENT = {"userInitiatedReboot": False, "userInitiatedRedeploy": False, "allInstancesDown": True}
PUBLISH = "publish"
TARGETS = "scheduledEventsAdditionalPublishingTargets"
TARGET = "eventGridAndResourceGraph"
SINCE = "2024-03-01"
"""The first version of Compute that has the policy."""
PUBLISHED_SINCE = "2025-04-01"
"""The first version that has every field of publishing."""
DEFAULT_EVENTS_VERSION = "2020-07-01"

_EVENTS_VERSION_FIELD = "scheduledeventsapiversion"
_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


class Kind(NamedTuple):
    """A kind of resource that has a policy."""

    path: str
    patches: bool
    """Whether its PATCH model has the policy."""

    @property
    def read(self) -> Permission:
        """What reading one needs."""
        return Permission("Microsoft.Compute/%s/read" % self.path, "Reader")

    @property
    def write(self) -> Permission:
        """What writing one needs."""
        return Permission("Microsoft.Compute/%s/write" % self.path, "Virtual Machine Contributor")


KINDS = {
    VIRTUAL_MACHINE: Kind("virtualMachines", True),
    AVAILABILITY_SET: Kind("availabilitySets", True),
    SCALE_SET: Kind("virtualMachineScaleSets", False),
}


class DesiredPolicy(NamedTuple):
    """The wanted policy. None, or absent: leave it unchanged."""

    approvals: Mapping[str, bool] = {}
    """By the option's name."""
    publish: bool | None = None
    events_version: str | None = None
    """The version in which events are published; None keeps the one that is set, or takes the newest."""


class PolicyChange(NamedTuple):
    """What was done, or in check mode would be."""

    changed: bool
    resource: Json
    before: Json
    after: Json
    warnings: tuple[str, ...]


def read_desired_state(options: Mapping[str, Any]) -> DesiredPolicy:
    """Check the options that say which policy is wanted.

    :raises OptionError: on the first that cannot be meant
    """
    version = options.get("publish_api_version")
    if version is not None and not _VERSION.match(version):
        raise OptionError("publish_api_version: %r is not a date like %s" % (version, DEFAULT_EVENTS_VERSION))
    desired = DesiredPolicy(
        {name: options[name] for name in APPROVALS if options.get(name) is not None}, options.get(PUBLISH), version
    )
    if not desired.approvals and desired.publish is None:
        raise OptionError("no change is requested: set one of %s" % ", ".join([*APPROVALS, PUBLISH]))
    return desired


def set_policy(
    client: ArmClient,
    kind: Kind,
    resource_group: str,
    name: str,
    desired: DesiredPolicy,
    wait: bool = True,
    dry_run: bool = False,
) -> PolicyChange:
    """Set the policy of one resource.

    :param wait: until the operation has ended
    :param dry_run: decide, but change nothing
    :raises Unfinished: if it was changed, and Azure does not show it
    :raises ArmError: if that fails
    """
    if desired.publish is None:
        client.need_compute(SINCE, "policies of scheduled events")
    else:
        client.need_compute(PUBLISHED_SINCE, "policies that publish scheduled events")
    path = client.compute_id(resource_group, kind.path, name)

    def plan(resource: Json, etag: str | None) -> tuple[tuple[Json, Json, Json], Write]:
        current = policy_of(resource)
        differing = parts_to_send(desired, current)
        owner = _scale_set_of(resource) if kind is KINDS[VIRTUAL_MACHINE] else None
        if differing and owner is not None:
            raise ArmError(
                "%s is a member of the scale set %s, and Azure refuses a policy of its own there: set it on the scale"
                " set (scale_set: %s). Nothing was written" % (name, owner, owner)
            )
        wanted = {**as_dict(current), **as_dict_of_parts(differing)}
        found = (resource, as_dict(current), wanted)
        if not differing or dry_run:
            return found, None
        if kind.patches:
            body = {"properties": {"scheduledEventsPolicy": differing}}
            return found, lambda: client.write("PATCH", path, body, etag, kind.write, wait)
        # Older versions of Compute show no etag: then it is written right after it was read.
        whole = with_policy(resource, differing)
        return found, lambda: client.write("PUT", path, whole, etag, kind.write, wait)

    try:
        (resource, before, wanted), answer = client.edit(path, kind.read, plan)
    except ArmError as error:
        if error.status != 400 or _EVENTS_VERSION_FIELD not in str(error).lower():
            raise
        refused = desired.events_version or DEFAULT_EVENTS_VERSION
        remedy = (
            "Set another, if this region has one; otherwise leave publish out"
            if refused == DEFAULT_EVENTS_VERSION
            else "Set one that it has, as %s, in which no SpotRebalanceRecommendation is published"
            % DEFAULT_EVENTS_VERSION
        )
        raise ArmError(
            "publish_api_version: this region does not publish events in the version %s. %s. %s"
            % (refused, remedy, error),
            error.status,
            error.code,
        ) from None
    outcome = PolicyChange(wanted != before, resource, before, wanted, _warnings(kind, resource))
    if answer is not None and wait:
        with reporting(client, lambda: outcome):
            after = as_dict(policy_of(client.read_after(answer, path, kind.read)))
            outcome = outcome._replace(changed=after != before, after=after)
            if after != wanted:
                raise ArmError(
                    "Azure accepted the change of %s, but then shows %s in place of %s. Is the preview feature"
                    " SendScheduledEventsPolicy registered?" % (name, after, wanted)
                )
    return outcome


def describe_all(
    client: ArmClient,
    resource_group: str | None = None,
    option: str | None = None,
    name: str | None = None,
    subscriptions: Sequence[str] = (),
) -> list[Json]:
    """Read the policy of one resource, or those of all of a resource group or the subscription.

    :param option: which kind `name` is of, a key of `KINDS`
    :param subscriptions: all of these in place of the client's own
    :raises ArmError: if that fails; a single one that does not exist is `NotFound`
    """
    client.need_compute(SINCE, "policies of scheduled events")
    if option is not None and name is not None:
        path = client.compute_id(str(resource_group), KINDS[option].path, name)
        return [_describe(option, client.get(path, KINDS[option].read))]
    group = "/resourceGroups/%s" % resource_group if resource_group else ""
    return [
        _describe(one, resource)
        for subscription in subscriptions or [client.subscription_id]
        for one, kind in KINDS.items()
        for resource in client.list_all(
            "/subscriptions/%s%s/providers/Microsoft.Compute/%s" % (subscription, group, kind.path), kind.read
        )
    ]


def policy_of(resource: Mapping[str, Any]) -> Json:
    """The `scheduledEventsPolicy` of a resource; empty if it has none."""
    policy = (resource.get("properties") or {}).get("scheduledEventsPolicy")
    return policy if isinstance(policy, dict) else {}


def parts_to_send(desired: DesiredPolicy, current: Mapping[str, Any]) -> Json:
    """The parts of a policy that differ from what is desired, each of them whole. Empty if none does."""
    parts: Json = {}
    for option, part in APPROVALS.items():
        wanted = desired.approvals.get(option)
        if wanted is not None and wanted != _approves(current, part):
            parts[part] = {"automaticallyApprove": wanted}
    if desired.publish is not None:
        enabled, version = _publishes(current)
        if desired.publish:
            wanted_version = desired.events_version or version or DEFAULT_EVENTS_VERSION
        else:
            # Without publishing, a version has no meaning.
            wanted_version = version or DEFAULT_EVENTS_VERSION
        # Those whom the CLI has opted in show no version, and are published.
        if desired.publish != enabled or (desired.publish and desired.events_version not in (None, version)):
            parts[TARGETS] = {TARGET: {"enable": desired.publish, "scheduledEventsApiVersion": wanted_version}}
    return parts


def with_policy(resource: Mapping[str, Any], parts: Mapping[str, Any]) -> Json:
    """The resource as it was read, with these parts in its policy, and nothing else touched.

    Left out is what Azure keeps where it is absent, and would check the writer's rights on where it is sent: the
    image, which may be of another tenant, and what is read-only of identities.
    """
    changed = copy.deepcopy(dict(resource))
    storage = (changed.get("properties", {}).get("virtualMachineProfile") or {}).get("storageProfile") or {}
    storage.pop("imageReference", None)
    identity = changed.get("identity") or {}
    for read_only in ("principalId", "tenantId"):
        identity.pop(read_only, None)
    if identity.get("userAssignedIdentities"):
        identity["userAssignedIdentities"] = {one: {} for one in identity["userAssignedIdentities"]}
    policy = changed.setdefault("properties", {}).setdefault("scheduledEventsPolicy", {})
    for name, part in parts.items():
        if name == TARGETS:
            policy.setdefault(TARGETS, {})[TARGET] = part[TARGET]
        else:
            policy[name] = part
    return changed


def as_dict(policy: Mapping[str, Any]) -> Json:
    """Write a policy in the words of the module's options. What it does not show has Azure's default."""
    enabled, version = _publishes(policy)
    return {
        **{option: _approves(policy, part) for option, part in APPROVALS.items()},
        PUBLISH: enabled,
        "publish_api_version": version,
    }


def as_dict_of_parts(parts: Mapping[str, Any]) -> Json:
    """Only the parts that are present, in the words of the module's options."""
    whole = as_dict(parts)
    return {option: value for option, value in whole.items() if APPROVALS.get(option, TARGETS) in parts}


def _approves(policy: Mapping[str, Any], part: str) -> bool:
    approves = (policy.get(part) or {}).get("automaticallyApprove")
    return _APPROVED_IF_ABSENT[part] if approves is None else approves is True


def _publishes(policy: Mapping[str, Any]) -> tuple[bool, str | None]:
    target = (policy.get(TARGETS) or {}).get(TARGET) or {}
    return target.get("enable") is True, target.get("scheduledEventsApiVersion")


def _describe(option: str, resource: Mapping[str, Any]) -> Json:
    return {
        "kind": option,
        "id": resource.get("id"),
        "name": resource.get("name"),
        "location": resource.get("location"),
        "policy": as_dict(policy_of(resource)),
        "follows": _owner_of(resource),
    }


def _scale_set_of(resource: Mapping[str, Any]) -> str | None:
    """The name of the flexible set that a VM is a member of; None: it is in none."""
    owner = ((resource.get("properties") or {}).get("virtualMachineScaleSet") or {}).get("id")
    return str(owner).rsplit("/", 1)[-1] if owner else None


def _owner_of(resource: Mapping[str, Any]) -> str | None:
    """The id of the set that a VM is a member of, whose policy counts; None: it is in none."""
    properties = resource.get("properties") or {}
    owners = ((properties.get(name) or {}).get("id") for name in ("virtualMachineScaleSet", "availabilitySet"))
    return next((str(owner) for owner in owners if owner), None)


def _warnings(kind: Kind, resource: Mapping[str, Any]) -> tuple[str, ...]:
    owner = _owner_of(resource) if kind is KINDS[VIRTUAL_MACHINE] else None
    if owner is None:
        return ()
    return (
        "%s is a member of %s, whose policy applies instead of its own"
        % (resource.get("name"), owner.rsplit("/", 1)[-1]),
    )
