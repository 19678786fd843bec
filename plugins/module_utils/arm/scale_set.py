# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of the modules that notify before a scale set deletes instances.

A notification is set on the scale set's model, with the smallest PATCH that there is, and reaches the
instances when they are brought to that model: by Azure, or by us, as the set's upgrade policy says.

Source: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-terminate-notification
and https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-perform-manual-upgrades
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ..scheduled_events.event import same_name
from . import repairs, rolling_upgrade, virtual_machine
from .answers import Json
from .client import POLL_INTERVAL, ArmClient, Permission, Write, reporting
from .errors import (
    ArmError,
    Busy,
    NotFound,
    OperationFailed,
    OutOfTime,
    Superseded,
    Unfinished,
    not_as_written,
)
from .notification import (
    DesiredState,
    Notifications,
    as_dict,
    differ,
    format_timeout,
    in_effect,
    parse_profile,
    profile_to_send,
    settle,
)
from .permissions import READ_INSTANCES, READ_MACHINES, READ_SCALE_SETS, UPGRADE
from .rollout import (
    MOST_ATTEMPTS,
    NONE,
    OUTDATED,
    Instance,
    RolloutLimits,
    describe_spot,
    is_spot,
    next_batch,
    parse_instance,
    to_update,
)

KIND = "virtualMachineScaleSets"
SINCE = "2019-03-01"
"""The first version of Compute that has terminate notifications on scale sets."""
MANUAL = "Manual"
ROLLING = "Rolling"

WRITE = Permission("Microsoft.Compute/virtualMachineScaleSets/write", "Virtual Machine Contributor")

_MOST_NAMED = 20
# Azure's answer about an instance that was scaled in: 400 InvalidParameter, and not 404.
_IS_GONE = re.compile(r"instanceId (\S+) is not an active Virtual Machine Scale Set VM", re.IGNORECASE)


class ScaleSet(NamedTuple):
    """A scale set, as it was read."""

    resource_id: str
    name: str
    location: str
    orchestration_mode: str
    upgrade_mode: str
    """The upgrade mode: `Manual`, `Automatic`, `Rolling`."""
    notifications: Notifications
    spot: bool
    """Whether its model is Spot. Then all instances are, unless the set mixes priorities."""
    eviction_policy: str | None
    """The eviction policy of Spot instances, if its model has it."""
    mixes: bool
    """Whether part of the instances is Spot and part is not (`priorityMixPolicy`)."""
    has_model: bool
    """A flexible set may have none; then there is nothing to set a notification on."""

    @property
    def is_flexible(self) -> bool:
        """Whether its instances are VMs of their own."""
        return self.orchestration_mode.lower() == "flexible"


class Rollout(NamedTuple):
    """The wanted update of the instances."""

    which: str = NONE
    """One of `rollout.UPDATES`."""
    care: RolloutLimits = RolloutLimits()
    with_protected: bool = False
    """Whether to update instances by hand that their owner protects from the set's actions."""


class ScaleSetChange(NamedTuple):
    """What was done, or in check mode would be."""

    changed: bool
    scale_set: ScaleSet
    before: Notifications
    after: Notifications
    updated: tuple[str, ...]
    """Names of the instances that got the latest model during the run, or were updated again."""
    outdated: tuple[str, ...] | None
    """Names of the instances that do not have the latest model. None: nobody has looked."""
    protected: tuple[str, ...]
    """Names of the instances without the latest model that are left alone because their owner protects them."""
    gone: tuple[str, ...]
    """Names of the instances that were to be updated, and were deleted meanwhile."""
    warnings: tuple[str, ...]


def notify(
    client: ArmClient,
    resource_group: str,
    name: str,
    desired: DesiredState,
    rollout: Rollout = Rollout(),
    wait: bool = True,
    dry_run: bool = False,
) -> ScaleSetChange:
    """Set the notifications of a scale set, and bring its instances to the latest model.

    :param wait: until the operation has ended; must be True for a rollout
    :param dry_run: decide, but change nothing
    :raises Unfinished: if the set was changed, and Azure does not show it, or the rollout did not come to its end
    :raises ArmError: if that fails before anything was changed
    """
    client.need_compute(SINCE, "terminate notifications of scale sets")
    path = client.compute_id(resource_group, KIND, name)
    upgrade_before: list[str | None] = []

    def plan(resource: Json, etag: str | None) -> tuple[tuple[ScaleSet, Notifications], Write]:
        scale_set = parse_scale_set(resource)
        _check_has_model(scale_set)
        wanted = settle(desired, scale_set.notifications)
        profile = profile_to_send(scale_set.notifications, wanted)
        if not profile or dry_run:
            return (scale_set, wanted), None
        if scale_set.upgrade_mode == ROLLING and rollout.which != NONE:
            upgrade_before.append(_start_of(rolling_upgrade.read_latest(client, path)))
        body = {"properties": {"virtualMachineProfile": {"scheduledEventsProfile": profile}}}
        return (scale_set, wanted), lambda: client.write("PATCH", path, body, etag, WRITE, wait)

    (scale_set, wanted), answer = client.edit(path, READ_SCALE_SETS, plan)
    model_changes = wanted != scale_set.notifications
    before = scale_set.notifications
    outcome = ScaleSetChange(model_changes, scale_set, before, wanted, (), (), (), (), _warnings(scale_set, desired))
    if answer is not None and wait:
        with reporting(client, lambda: outcome):
            after = parse_scale_set(client.read_after(answer, path, READ_SCALE_SETS)).notifications
            outcome = outcome._replace(changed=after != before, after=after)
            if differ(after, wanted):
                raise not_as_written(name, as_dict(after), as_dict(wanted))
    if rollout.which == NONE:
        is_behind = model_changes and scale_set.upgrade_mode == MANUAL
        told = (*outcome.warnings, *([_NOTHING_UPDATES % name] if is_behind else []))
        return outcome._replace(outdated=None, warnings=told)
    if dry_run:
        return _predict(client, outcome, rollout, model_changes)
    there = scale_set._replace(notifications=outcome.after)
    work = _Work(client, path, there, rollout, model_changes, upgrade_before)
    with reporting(client, lambda: work.add_to(outcome), lambda: work.progress):
        try:
            work.run()
        except OperationFailed:
            work.read()
            raise
    outcome = work.add_to(outcome)
    if outcome.outdated:
        raise Unfinished(
            "%d instances are still not at the latest model, after %d updates each: %s. Check their state"
            % (len(outcome.outdated), MOST_ATTEMPTS, _names(outcome.outdated)),
            outcome,
        )
    return outcome


def describe_all(
    client: ArmClient,
    resource_group: str | None = None,
    name: str | None = None,
    with_instances: bool = True,
    subscriptions: Sequence[str] = (),
    tags: Mapping[str, Any] | None = None,
) -> list[Json]:
    """Read one scale set, all of a resource group, or all of the subscription, as the info module returns them.

    :param subscriptions: all of these in place of the client's own
    :param tags: only those that have all of these, see `has_tags`
    :returns: of each its `error`: None, or why it could not be read to its end; a set that was named fails instead
    :raises ArmError: if that fails; a single one that does not exist is `NotFound`
    """
    client.need_compute(SINCE, "terminate notifications of scale sets")
    if resource_group and name:
        resources: Iterable[Json] = [client.get(client.compute_id(resource_group, KIND, name), READ_SCALE_SETS)]
    else:
        group = "/resourceGroups/%s" % resource_group if resource_group else ""
        resources = chain.from_iterable(
            client.list_all("/subscriptions/%s%s/providers/Microsoft.Compute/%s" % (one, group, KIND), READ_SCALE_SETS)
            for one in subscriptions or [client.subscription_id]
        )
    chosen = [resource for resource in resources if has_tags(resource, tags or {})]
    return [_describe(client, resource, with_instances, is_alone=name is not None) for resource in chosen]


def has_tags(resource: Mapping[str, Any], tags: Mapping[str, Any]) -> bool:
    """Whether a resource has all of these tags. Names are compared without case, as Azure does.

    :param tags: None as a value: whatever its value
    """
    found = {str(name).lower(): str(value) for name, value in (resource.get("tags") or {}).items()}
    return all(
        name.lower() in found and (value is None or found[name.lower()] == str(value)) for name, value in tags.items()
    )


def parse_scale_set(resource: Mapping[str, Any]) -> ScaleSet:
    """Read a `VirtualMachineScaleSet`, as far as notifications are concerned."""
    properties = resource.get("properties") or {}
    model = properties.get("virtualMachineProfile")
    model = model if isinstance(model, dict) else {}
    return ScaleSet(
        resource_id=str(resource.get("id", "")),
        name=str(resource.get("name", "")),
        location=str(resource.get("location", "")),
        orchestration_mode=str(properties.get("orchestrationMode", "Uniform")),
        upgrade_mode=str((properties.get("upgradePolicy") or {}).get("mode", MANUAL)),
        notifications=parse_profile(model.get("scheduledEventsProfile")),
        spot=is_spot(model),
        eviction_policy=model.get("evictionPolicy"),
        mixes=bool(properties.get("priorityMixPolicy")),
        has_model=bool(model),
    )


def read_instances(client: ArmClient, scale_set: ScaleSet, with_state: bool = False) -> list[Instance]:
    """Read all instances of a scale set.

    Those of a flexible set are asked for as the VMs that they are: the set's own list shows nothing of them. Nor does
    Azure say whether such a VM has the latest model. What counts here is that it has the notifications of
    the set's model, `scale_set.notifications`, or is Spot and would not be told anyway, or that the set has no model.

    :param with_state: whether they are in service, which costs Azure and so counts several times towards its limits
    """
    options = {"$expand": "instanceView"} if with_state else {}
    if not scale_set.is_flexible:
        path = scale_set.resource_id + "/virtualMachines"
        return [parse_instance(one) for one in client.list_all(path, READ_INSTANCES, **options)]
    path = (
        scale_set.resource_id[: scale_set.resource_id.lower().index("/virtualmachinescalesets/")] + "/virtualMachines"
    )
    client.need_compute(virtual_machine.SINCE, "terminate notifications of the VMs in flexible scale sets")
    options["$filter"] = "'virtualMachineScaleSet/id' eq '%s'" % scale_set.resource_id
    return [_parse_member(one, scale_set) for one in client.list_all(path, READ_MACHINES, **options)]


def _parse_member(content: Mapping[str, Any], scale_set: ScaleSet) -> Instance:
    member = parse_instance(content)
    told = in_effect(parse_profile(member.terminate))
    is_there = told == in_effect(scale_set.notifications)
    return member._replace(latest_model=is_there or member.spot or not scale_set.has_model)


class _Work:
    """A running rollout: what was tried, and the results."""

    def __init__(
        self,
        client: ArmClient,
        path: str,
        scale_set: ScaleSet,
        rollout: Rollout,
        model_changed: bool,
        upgrade_before: list[str | None],
    ) -> None:
        self._client = client
        self._path = path
        self._scale_set = scale_set
        self._rollout = rollout
        self._model_changed = model_changed
        # Not empty: the model was changed, and Azure's rolling upgrade for the change is not this one.
        self._upgrade_before = upgrade_before
        self._instances: list[Instance] = []
        self._meant: dict[str, str] = {}
        """Name by key of all instances that were seen outdated, or updated."""
        self._gone: set[str] = set()
        """Keys of the instances that are gone according to Azure, even if its list still shows them."""
        self._attempts: Counter[str] = Counter()

    def run(self) -> None:
        """Update by hand, or watch Azure update."""
        if self._scale_set.upgrade_mode == MANUAL:
            self._update_in_batches()
        else:
            self._watch()

    def add_to(self, outcome: ScaleSetChange) -> ScaleSetChange:
        """Add the progress to the outcome."""
        updated = tuple(one.name for one in self._instances if one.latest_model and one.key in self._meant)
        behind = [one for one in self._instances if not one.latest_model and not one.leaving]
        there = {one.key for one in self._instances}
        return outcome._replace(
            changed=outcome.changed or bool(self._attempts) or bool(updated),
            updated=updated,
            outdated=tuple(one.name for one in behind if not _is_left_alone(one, self._scale_set, self._rollout)),
            protected=tuple(one.name for one in behind if _is_left_alone(one, self._scale_set, self._rollout)),
            gone=tuple(name for key, name in self._meant.items() if key not in there),
        )

    @property
    def progress(self) -> str:
        """How many instances had the latest model when last read."""
        latest = sum(1 for one in self._instances if one.latest_model)
        return "%d of %d instances are at the latest model" % (latest, len(self._instances))

    def read(self, with_state: bool = False) -> list[Instance]:
        """Read the state of the instances."""
        found = read_instances(self._client, self._scale_set, with_state)
        self._instances = [one for one in found if one.key not in self._gone]
        self._meant.update((one.key, one.name) for one in self._waiting(OUTDATED))
        failed = sum(not one.latest_model and self._attempts[one.key] >= MOST_ATTEMPTS for one in self._instances)
        self._client.tell("%s, %d failed" % (self.progress, failed))
        return self._instances

    def _waiting(self, which: str) -> list[Instance]:
        """The instances that have to be updated, without those that are left alone."""
        return [
            one
            for one in to_update(self._instances, which, self._attempts)
            if not _is_left_alone(one, self._scale_set, self._rollout)
        ]

    def _update_in_batches(self) -> None:
        if self._rollout.which == OUTDATED and not self._model_changed:
            # Reading their state costs several times as much, and most runs find nothing to do.
            self.read()
            if not self._waiting(OUTDATED):
                return
        settling = False
        while True:
            # Read again for each batch: instances come, go and fail meanwhile.
            instances = self.read(with_state=True)
            waiting = [one for one in self._waiting(self._rollout.which) if self._attempts[one.key] < MOST_ATTEMPTS]
            if not waiting:
                return
            fresh = [one for one in waiting if not self._attempts[one.key]]
            if not fresh and not settling:
                # Azure may need a moment to show the last update.
                settling = True
                self._client.wait(POLL_INTERVAL, "Instances of %s were not at the latest model" % self._scale_set.name)
                continue
            settling = False
            batch = next_batch(fresh or waiting, instances, self._rollout.care)
            if batch:
                self._update(batch)
            else:
                self._client.wait(
                    POLL_INTERVAL,
                    "As many instances of %s as max_unavailable allows were out of service: %s"
                    % (self._scale_set.name, _names(one.name for one in instances if not one.available)),
                )

    def _update(self, batch: list[Instance]) -> None:
        keys = [one.key for one in batch]
        self._meant.update((one.key, one.name) for one in batch)
        self._attempts.update(keys)
        try:
            self._client.post(self._path + "/manualupgrade", {"instanceIds": keys}, UPGRADE)
        except (Busy, Superseded) as error:
            self._attempts -= Counter(keys)
            self._client.wait(POLL_INTERVAL, str(error).rstrip("."))
        except ArmError as error:
            # One of them may have gone since it was read. The others come again.
            gone = self._gone_of(keys, error)
            if not gone:
                raise
            self._gone |= gone
            # An instance of the batch that was not updated has not had its turn.
            self._attempts -= Counter(keys)

    def _gone_of(self, keys: Collection[str], error: ArmError) -> set[str]:
        """The instances that are gone according to a refusal, or to the end of an operation."""
        match = _IS_GONE.search(str(error))
        if match:
            return {key for key in keys if same_name(key, match[1])}
        return set(keys) - {one.key for one in self.read()} if isinstance(error, NotFound) else set()

    def _watch(self) -> None:
        while self._is_behind():
            if self._scale_set.upgrade_mode == ROLLING:
                self._check_rolling_upgrade()
            self._client.wait(
                POLL_INTERVAL,
                "Azure had not brought all instances of %s (upgrade policy %s) to the latest model"
                % (self._scale_set.name, self._scale_set.upgrade_mode),
            )

    def _is_behind(self) -> bool:
        self.read()
        return bool(self._waiting(OUTDATED))

    def _check_rolling_upgrade(self) -> None:
        upgrade = rolling_upgrade.read_latest(self._client, self._path)
        if self._upgrade_before and _start_of(upgrade) == self._upgrade_before[0]:
            # That upgrade was over before the change. The one for the change has yet to begin.
            return
        if upgrade is not None and upgrade.is_broken_off:
            raise ArmError(
                "The rolling upgrade of %s is %s%s. Correct the cause, then update the instances, or start it again"
                " with vmss_rolling_upgrade"
                % (self._scale_set.name, upgrade.status, ": %s" % upgrade.error if upgrade.error else "")
            )
        if upgrade is None or (upgrade.is_completed and not self._upgrade_before):
            raise ArmError(
                "The upgrade policy of %s is Rolling, no rolling upgrade is under way, and these instances are not at"
                " the latest model: %s. Start one with vmss_rolling_upgrade, or update them by hand"
                % (self._scale_set.name, _names(one.name for one in self._instances if not one.latest_model))
            )


def _is_left_alone(instance: Instance, scale_set: ScaleSet, rollout: Rollout) -> bool:
    """Whether its owner protects it from what would bring it to the latest model.

    Azure leaves it out by itself. We leave it out, too, unless the user says otherwise.
    """
    return instance.protected and not (scale_set.upgrade_mode == MANUAL and rollout.with_protected)


def _check_has_model(scale_set: ScaleSet) -> None:
    if not scale_set.has_model:
        raise ArmError(
            "The scale set %s has no model (virtualMachineProfile) to set a notification on. Set it on its VMs, with"
            " vm_terminate_notification" % scale_set.name
        )


def _predict(client: ArmClient, outcome: ScaleSetChange, rollout: Rollout, model_changes: bool) -> ScaleSetChange:
    scale_set = outcome.scale_set
    instances = read_instances(client, scale_set._replace(notifications=outcome.after))
    if model_changes and not scale_set.is_flexible:
        instances = [one._replace(latest_model=False) for one in instances]
    # Instances that have the latest model are only updated by hand.
    candidates = to_update(instances, rollout.which if scale_set.upgrade_mode == MANUAL else OUTDATED, ())
    names = tuple(one.name for one in candidates if not _is_left_alone(one, scale_set, rollout))
    protected = tuple(
        one.name for one in candidates if _is_left_alone(one, scale_set, rollout) and not one.latest_model
    )
    return outcome._replace(changed=outcome.changed or bool(names), updated=names, protected=protected)


def _start_of(upgrade: rolling_upgrade.Upgrade | None) -> str | None:
    return upgrade.start_time if upgrade is not None else None


_NOTHING_UPDATES = (
    "The instances of %s keep the model that they have: nothing updates them by itself (upgrade mode Manual). Set"
    " update_instances: outdated"
)


def _warnings(scale_set: ScaleSet, desired: DesiredState) -> tuple[str, ...]:
    if scale_set.spot and desired.terminate:
        return (
            "%s are Spot, for which Azure has no terminate notification: an eviction is announced as "
            "Preempt, 30 seconds ahead"
            % ("Some instances of %s" if scale_set.mixes else "The instances of %s")
            % scale_set.name,
        )
    return ()


def _describe(client: ArmClient, resource: Json, with_instances: bool, is_alone: bool) -> Json:
    scale_set = parse_scale_set(resource)
    result: Json = {
        "id": scale_set.resource_id,
        "name": scale_set.name,
        "resource_group": resource_group_of(scale_set.resource_id),
        "location": scale_set.location,
        "orchestration_mode": scale_set.orchestration_mode,
        "upgrade_mode": scale_set.upgrade_mode,
        "spot": scale_set.spot,
        **_describe_spot(scale_set, resource),
        "has_model": scale_set.has_model,
        **as_dict(scale_set.notifications),
        "error": None,
    }
    try:
        result["automatic_repairs"] = repairs.describe(client, resource)
        if with_instances:
            result.update(_describe_instances(scale_set, read_instances(client, scale_set)))
    except OutOfTime:
        raise
    except ArmError as error:
        if is_alone:
            raise
        # A set that cannot be read must not hide the others.
        result["error"] = str(error)
    return result


def _describe_spot(scale_set: ScaleSet, resource: Mapping[str, Any]) -> Json:
    properties = resource.get("properties") or {}
    restore = properties.get("spotRestorePolicy")
    return {
        **describe_spot(properties.get("virtualMachineProfile") or {}),
        "spot_restore_policy": (
            {"enabled": restore.get("enabled") is True, "restore_timeout": restore.get("restoreTimeout")}
            if isinstance(restore, dict)
            else None
        ),
        "can_announce": not scale_set.spot or scale_set.mixes,
    }


def _describe_instances(scale_set: ScaleSet, instances: Sequence[Instance]) -> Json:
    return {
        "instances": [_describe_instance(scale_set, one) for one in instances],
        "outdated_instances": [one.name for one in instances if not one.latest_model and not one.leaving],
        "protected_instances": [one.name for one in instances if one.protected],
    }


def _describe_instance(scale_set: ScaleSet, instance: Instance) -> Json:
    return {
        "instance_id": instance.key,
        "name": instance.name,
        "latest_model": instance.latest_model,
        **describe_spot(
            {"evictionPolicy": instance.eviction_policy or scale_set.eviction_policy}, _is_spot(scale_set, instance)
        ),
        "terminate": _terminate_of(scale_set, instance),
    }


def _is_spot(scale_set: ScaleSet, instance: Instance) -> bool:
    # A uniform instance does not always show its priority, which is then that of its set's model.
    return instance.spot or (scale_set.spot and not scale_set.is_flexible)


def _terminate_of(scale_set: ScaleSet, instance: Instance) -> Json:
    """What a deletion would announce on an instance: its own model decides, which lags behind the set's."""
    if _is_spot(scale_set, instance):
        return {"announced": False, "not_before_timeout": None, "reason": "there is none on Spot instances"}
    if instance.terminate is not None or scale_set.is_flexible:
        terminate = parse_profile(instance.terminate).terminate
    elif instance.latest_model:
        terminate = scale_set.notifications.terminate
    else:
        return {
            "announced": None,
            "not_before_timeout": None,
            "reason": "the instance still has an older model, which Azure does not show",
        }
    timeout = format_timeout(terminate.timeout) if terminate.enable and terminate.timeout is not None else None
    return {"announced": terminate.enable, "not_before_timeout": timeout, "reason": None}


def resource_group_of(resource_id: str) -> str | None:
    """The resource group in a resource's id, in the id's own case."""
    parts = resource_id.split("/")
    pairs: Iterator[tuple[str, str]] = zip(parts[1::2], parts[2::2])
    return next((name for kind, name in pairs if kind.lower() == "resourcegroups"), None)


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _MOST_NAMED
    return ", ".join(listed[:_MOST_NAMED]) + (" and %d more" % more if more > 0 else "")
