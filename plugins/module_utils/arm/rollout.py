# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Chooses the instances that are updated next.

A change of a scale set's model reaches its instances only when they are updated. Who may be updated
together is decided here, by pure functions over what was read.

Source: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-upgrade-policy
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError

NONE = "none"
OUTDATED = "outdated"
ALL = "all"
UPDATES = (NONE, OUTDATED, ALL)

# An instance that is still outdated after this many updates will not change with another.
MOST_ATTEMPTS = 2
# More than this many ids, Azure may refuse in one request.
LARGEST_BATCH = 100

# Neither in service, so that an update costs nothing, nor failed.
_RESTING = frozenset(["deallocated", "deallocating", "stopped", "stopping"])

_COUNT = re.compile(r"([0-9]{1,6})(%?)\Z")


class Instance(NamedTuple):
    """One instance of a scale set, with what an update needs to know."""

    key: str
    """Its key in the API: the instance id in a uniform set, the name in a flexible one."""
    name: str
    latest_model: bool
    available: bool = True
    """Whether it is in service: an update may take that away for a while."""
    resting: bool = False
    """Stopped or deallocated on purpose: out of service, and not faulty."""
    leaving: bool = False
    """Being deleted: an update is pointless."""
    terminate: Mapping[str, Any] | None = None
    """The `scheduledEventsProfile` of the instance itself, if Azure shows it."""
    spot: bool = False
    eviction_policy: str | None = None
    """Its eviction policy, if Azure shows it."""
    protected: bool = False
    """Its owner protects it from the set's actions: Azure does not update it by itself."""


class RolloutLimits(NamedTuple):
    """The size of a batch and the limit of unavailable instances."""

    batch_size: str = "20%"
    """The limit of one request: a number, or a share of the set, at least one."""
    max_unavailable: str = "20%"
    """The limit of instances out of service, including those that are out for other reasons."""


def read_limits(options: Mapping[str, Any]) -> RolloutLimits:
    """Check the options that say how many instances are updated at a time.

    :raises OptionError: on the first that cannot be meant
    """
    return RolloutLimits(_read_count(options, "batch_size"), _read_count(options, "max_unavailable"))


def parse_instance(content: Mapping[str, Any]) -> Instance:
    """Read one element of `GET …/virtualMachineScaleSets/{set}/virtualMachines`, or a VM that is in a flexible set.

    There, where instances have no number, the name is the key.
    """
    properties = content.get("properties") or {}
    name = str(content.get("name", ""))
    states = states_in(properties)
    provisioning = str(properties.get("provisioningState", "")).lower()
    resting = states.get("powerstate") in _RESTING
    healthy = states.get("healthstate", "healthy") == "healthy"
    return Instance(
        key=str(content.get("instanceId") or name),
        name=name,
        latest_model=properties.get("latestModelApplied") is True,
        available=provisioning == "succeeded" and healthy and not resting,
        resting=resting and provisioning == "succeeded",
        leaving=provisioning == "deleting",
        terminate=properties.get("scheduledEventsProfile"),
        spot=is_spot(properties),
        eviction_policy=properties.get("evictionPolicy"),
        protected=(properties.get("protectionPolicy") or {}).get("protectFromScaleSetActions") is True,
    )


def is_spot(properties: Mapping[str, Any]) -> bool:
    """Whether a VM, an instance or a set's profile with these properties is Spot of any kind: Low is its old name."""
    return str(properties.get("priority", "")).lower() in ("spot", "spotplus", "low")


def describe_spot(properties: Mapping[str, Any], spot: bool | None = None) -> dict[str, str | None]:
    """What a VM, an instance or a set's profile is, as the modules return it.

    :param spot: whether it is Spot, where that is known from elsewhere
    """
    is_one = is_spot(properties) if spot is None else spot
    # Azure's default if the policy does not say.
    policy = str(properties.get("evictionPolicy") or "Deallocate")
    return {"priority": "Spot" if is_one else "Regular", "eviction_policy": policy if is_one else None}


def to_update(instances: Sequence[Instance], which: str, updated: Collection[str]) -> list[Instance]:
    """The instances that an update is wanted for, in the order of the list.

    :param which: one of `UPDATES`
    :param updated: keys of those that this run has brought to the latest model; `all` takes none of them twice
    """
    if which == NONE:
        return []
    return [
        instance
        for instance in instances
        if not instance.leaving and (not instance.latest_model or (which == ALL and instance.key not in updated))
    ]


def next_batch(waiting: Sequence[Instance], instances: Sequence[Instance], care: RolloutLimits) -> list[Instance]:
    """Choose those of `waiting` that may be updated together, now.

    Those that are not in service anyway come first, and cost nothing. The others may come until as many
    are out of service as `max_unavailable` allows. Empty: wait until some are back.
    """
    total = len(instances)
    size = min(count_of(care.batch_size, total), LARGEST_BATCH)
    out_of_service = sum(1 for one in instances if not one.available and not one.resting and not one.leaving)
    may_go = max(0, count_of(care.max_unavailable, total) - out_of_service)
    batch: list[Instance] = []
    for instance in sorted(waiting, key=lambda one: one.available):
        if len(batch) == size or (instance.available and may_go == 0):
            break
        may_go -= instance.available
        batch.append(instance)
    return batch


def count_of(count: str, total: int) -> int:
    """Turn `3` or `20%` into a number of instances: at least one."""
    match = _COUNT.match(count)
    if match is None:
        raise ValueError("neither a number nor a share: %r" % count)
    number = int(match.group(1))
    return max(1, number * total // 100 if match.group(2) else number)


def _read_count(options: Mapping[str, Any], name: str) -> str:
    value = str(options[name]).strip()
    match = _COUNT.match(value)
    if match is None or int(match.group(1)) < 1 or (match.group(2) and int(match.group(1)) > 100):
        raise OptionError(
            "%s: %r is neither a number of instances, from 1 on, nor a share of them, from 1%% to 100%%" % (name, value)
        )
    return value


def states_in(properties: Mapping[str, Any]) -> dict[str, str]:
    """`{"powerstate": "running", "healthstate": "healthy"}`, as far as the instance view is there.

    :param properties: with an `instanceView`
    """
    view = properties.get("instanceView") or {}
    statuses = list(view.get("statuses") or [])
    health = (view.get("vmHealth") or {}).get("status")
    if health:
        statuses.append(health)
    # For example PowerState/running.
    codes = [str(status.get("code", "")).lower() for status in statuses]
    return {code.partition("/")[0]: code.partition("/")[2] for code in codes}
