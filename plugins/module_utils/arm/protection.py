# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of vmss_instance_protection.

An instance of a uniform scale set can be protected from being scaled in, or from everything that is done to the set
as a whole, automatic repairs among it. Members of flexible sets cannot.

Source: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-instance-protection
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from ..scheduled_events.errors import OptionError
from .answers import Answer, Json
from .client import ArmClient, Permission, Write, reporting
from .errors import ArmError, not_as_written
from .ip_configurations import INSTANCE_ID
from .permissions import READ_INSTANCES
from .records import Record, parse_line

KIND = "virtualMachineScaleSets"
SINCE = "2019-03-01"
"""The first version of Compute that has protection."""

RECORD = "instance_protection"
"""The kind of the records."""

# Option, and the corresponding part of the policy.
PARTS = {"scale_in": "protectFromScaleIn", "scale_set_actions": "protectFromScaleSetActions"}

_SET_ID = "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/virtualMachineScaleSets/%s"

WRITE = Permission("Microsoft.Compute/virtualMachineScaleSets/virtualMachines/write", "Virtual Machine Contributor")

_FLEXIBLE = "The members of a flexible scale set cannot be protected: a management lock keeps them from being deleted"


class ProtectionChange(NamedTuple):
    """What was done, or in check mode would be."""

    scale_set_id: str
    instances: tuple[Json, ...]
    """Each with `instance_id`, `changed`, `before` and `after`, in the order in which they were named."""

    @property
    def changed(self) -> bool:
        """Whether any of them was changed."""
        return any(one["changed"] for one in self.instances)


def read_desired_state(options: Mapping[str, Any]) -> dict[str, bool]:
    """Check the options that say which protection is wanted; what is not asked for is left as it is.

    :raises OptionError: if none is
    """
    desired = {option: bool(options[option]) for option in PARTS if options.get(option) is not None}
    if not desired:
        raise OptionError("no change is requested: set one of %s" % ", ".join(PARTS))
    return desired


def read_instances(scale_set: str, instances: Sequence[Any]) -> list[str]:
    """Read ids of instances, or names as events have them (`web_3`).

    :returns: ids
    :raises OptionError: on the first that cannot be one of this set
    """
    ids: dict[str, None] = {}
    for one in instances:
        text = str(one).strip()
        match = re.fullmatch(r"(?:%s_)?([0-9]{1,9})" % re.escape(scale_set), text, re.IGNORECASE)
        if match is None:
            raise OptionError(
                "instances: %r is neither the id of an instance of the uniform scale set %s, which is a number, nor its"
                " name, like %s_0. %s" % (one, scale_set, scale_set, _FLEXIBLE)
            )
        ids.setdefault(match[1])
    if not ids:
        raise OptionError("instances: name at least one")
    return list(ids)


def protect(
    client: ArmClient,
    resource_group: str,
    scale_set: str,
    instances: Sequence[str],
    desired: Mapping[str, bool],
    dry_run: bool = False,
    record: Record | None = None,
) -> ProtectionChange:
    """Set the protection of some instances of a uniform scale set, one after the other.

    :param instances: ids
    :param desired: by the names in `PARTS`
    :param dry_run: decide, but change nothing
    :param record: where each instance is written down before it is protected from the actions of its set
    :raises OptionError: if that cannot be written
    :raises Unfinished: if one failed after others were changed
    :raises ArmError: if that fails before anything was changed
    """
    set_id = client.compute_id(resource_group, KIND, scale_set)

    def keep(key: str, before: Mapping[str, bool]) -> None:
        if record is not None and record.is_wanted and not before["scale_set_actions"]:
            line = json.dumps([client.subscription_id, resource_group, scale_set, key])
            if line.lower() not in (one.lower() for one in record.lines):
                record.add(line)

    if record is not None and record.is_wanted:
        record.read()
    return _protect_all(client, set_id, instances, desired, dry_run, keep)


def unprotect_recorded(client: ArmClient, record: Record, dry_run: bool = False) -> ProtectionChange | None:
    """Let the actions of their set reach those instances again that are written down.

    :returns: None if none is
    :raises OptionError: if that cannot be read
    :raises Unfinished: if one failed after others were changed
    :raises ArmError: if that fails before anything was changed
    """
    done: ProtectionChange | None = None
    for line in record.read():
        subscription, group, scale_set, key = record.checked(_read_line(line), list)
        set_id = _SET_ID % (subscription, group, scale_set)
        one = _protect_all(client, set_id, [key], {"scale_set_actions": False}, dry_run)
        done = one if done is None else ProtectionChange(one.scale_set_id, (*done.instances, *one.instances))
    return done


def _read_line(line: str) -> list[str] | None:
    """Subscription, resource group, name of the set, and id of the instance; None if a record cannot have the line."""
    where = parse_line(line)
    if not isinstance(where, list) or len(where) != 4 or not all(isinstance(part, str) for part in where):
        return None
    return where if INSTANCE_ID.match("%s/virtualMachines/%s" % (_SET_ID % tuple(where[:3]), where[3])) else None


def _protect_all(
    client: ArmClient,
    set_id: str,
    instances: Sequence[str],
    desired: Mapping[str, bool],
    dry_run: bool,
    keep: Callable[[str, Mapping[str, bool]], None] = lambda _key, _before: None,
) -> ProtectionChange:
    client.need_compute(SINCE, "the protection of instances")
    done: list[Json] = []

    def so_far() -> ProtectionChange | None:
        outcome = ProtectionChange(set_id, tuple(done))
        return outcome if outcome.changed else None

    with reporting(client, so_far):
        for key in instances:
            path = "%s/virtualMachines/%s" % (set_id, quote(key, safe=""))
            before, after, answer = _protect_one(client, path, desired, dry_run, functools.partial(keep, key))
            done.append({"instance_id": key, "changed": after != before, "before": before, "after": after})
            if answer is not None:
                done[-1]["after"] = now = _protection_of(client.read_after(answer, path, READ_INSTANCES))
                done[-1]["changed"] = now != before
                if any(now[option] != value for option, value in desired.items()):
                    raise not_as_written("instance %s" % key, now, after)
    return ProtectionChange(set_id, tuple(done))


def _protect_one(
    client: ArmClient,
    path: str,
    desired: Mapping[str, bool],
    dry_run: bool,
    keep: Callable[[Mapping[str, bool]], None],
) -> tuple[Json, Json, Answer | None]:
    """Protection before and after, and the answer to the change, None if nothing was written."""

    def plan(resource: Json, etag: str | None) -> tuple[tuple[Json, Json], Write]:
        if "properties" not in resource:
            raise ArmError("%s has no properties of its own. %s" % (path.rsplit("/", 1)[-1], _FLEXIBLE))
        before = _protection_of(resource)
        after = {**before, **desired}
        if after != before:
            keep(before)
        if after == before or dry_run:
            return (before, after), None
        body: Json = {"properties": {"protectionPolicy": {PARTS[option]: value for option, value in after.items()}}}
        # Instances have no PATCH. A PUT keeps the properties that it leaves out, but not the tags.
        for name in ("location", "tags"):
            if name in resource:
                body[name] = resource[name]
        return (before, after), lambda: client.write("PUT", path, body, etag, WRITE)

    (before, after), answer = client.edit(path, READ_INSTANCES, plan)
    return before, after, answer


def _protection_of(resource: Mapping[str, Any]) -> dict[str, bool]:
    policy = (resource.get("properties") or {}).get("protectionPolicy") or {}
    return {option: policy.get(part) is True for option, part in PARTS.items()}
