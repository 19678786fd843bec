# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of vmss_automatic_repairs.

A scale set with automatic instance repairs replaces (or restarts, or reimages) instances that look unhealthy. Where
health is what the balancer's probe says, an instance that fails the probe on purpose, because it was taken out of
rotation, looks unhealthy, too. Repairs can be suspended meanwhile.

Source: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-automatic-instance-repairs
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from .answers import Json
from .client import POLL_INTERVAL, ArmClient, Permission, reporting
from .errors import ArmError, Lost, NotFound
from .ip_configurations import GROUP, INSTANCE_ID, is_vm_id
from .permissions import READ_INSTANCES, READ_MACHINES, READ_SCALE_SETS
from .records import Record

KIND = "virtualMachineScaleSets"
SERVICE = "AutomaticRepairs"
SINCE = "2020-06-01"
"""The first version of Compute that suspends and resumes."""

RUNNING = "running"
SUSPENDED = "suspended"
OFF = "off"
"""The set's model has no automatic repairs: there is nothing to suspend."""
UNKNOWN = "unknown"
"""The set's model has them, and Azure does not show whether they are suspended: a flexible set has no instance view."""
STATES = (RUNNING, SUSPENDED)
RECORD = "suspended_repairs"
"""The kind of the records: each line is the id of a scale set, in lower case, and after a space that of the VM, if it
is known."""
_ACTIONS = {RUNNING: "Resume", SUSPENDED: "Suspend"}

_SET_ID = re.compile(GROUP + r"/microsoft\.compute/virtualmachinescalesets/[^/?#\s]+\Z", re.IGNORECASE)

READ_VIEW = Permission("Microsoft.Compute/virtualMachineScaleSets/instanceView/read", "Reader")
SET_STATE = Permission(
    "Microsoft.Compute/virtualMachineScaleSets/setOrchestrationServiceState/action", "Virtual Machine Contributor"
)


class RepairsChange(NamedTuple):
    """What was done, or in check mode would be."""

    changed: bool
    scale_set_id: str
    before: str
    """`RUNNING`, `SUSPENDED`, `OFF` or `UNKNOWN`."""
    after: str
    warnings: tuple[str, ...]


def set_state(client: ArmClient, resource_group: str, name: str, state: str, dry_run: bool = False) -> RepairsChange:
    """Suspend the automatic repairs of a scale set, or let them go on.

    :param state: one of `STATES`
    :param dry_run: look, but change nothing
    :raises Unfinished: if it was set, and Azure does not show it within the time limit
    :raises ArmError: if that fails
    """
    return _set_state(client, client.compute_id(resource_group, KIND, name), state, dry_run)


def suspend_recorded(
    client: ArmClient, resource_group: str, name: str, record: Record, dry_run: bool = False, vm_id: str = ""
) -> RepairsChange:
    """Suspend the automatic repairs of a scale set for a machine, and write down that it needs that.

    Repairs that are suspended for another machine stay so for this one as well; those that somebody else has suspended
    are somebody else's.

    :param vm_id: the machine's VM; once Azure has deleted it, its record keeps no repairs suspended
    :raises OptionError: if that cannot be written, and nothing was changed then
    :raises Unfinished: as `set_state`
    :raises ArmError: as `set_state`
    """
    set_id = client.compute_id(resource_group, KIND, name).lower()

    def keep(before: str) -> None:
        # Of a flexible set nobody sees who has suspended them. A machine that is gone has suspended them all the same.
        is_ours = before in (RUNNING, UNKNOWN) or (before == SUSPENDED and any(_vms_of_others(record, set_id)))
        if is_ours:
            record.add(("%s %s" % (set_id, vm_id.lower())).rstrip())

    record.read()
    return _set_state(client, client.compute_id(resource_group, KIND, name), SUSPENDED, dry_run, keep)


def resume_recorded(
    client: ArmClient, record: Record, dry_run: bool = False, scale_set: tuple[str, str] | None = None
) -> RepairsChange | None:
    """Let those repairs go on that were suspended for the machine, unless another one needs them suspended.

    :param scale_set: resource group and name of a set that may not be written down, because the record is lost
    :returns: the last change; None if nothing was to be changed
    :raises OptionError: if the record cannot be read
    :raises Unfinished: as `set_state`
    :raises ArmError: as `set_state`
    """
    set_ids = [line.partition(" ")[0] for line in record.read()]
    for set_id in set_ids:
        if not _SET_ID.match(set_id):
            record.checked(None, str)
    if scale_set is not None:
        set_ids.append(client.compute_id(scale_set[0], KIND, scale_set[1]).lower())
    record.end()
    done: RepairsChange | None = None
    for set_id in dict.fromkeys(set_ids):
        if not _is_needed_by_others(client, record, set_id, dry_run):
            done = _set_state(client, set_id, RUNNING, dry_run)
    return done


def _vms_of_others(record: Record, set_id: str) -> Iterator[tuple[str, list[str]]]:
    """Other machines' records that need the repairs of this set suspended: each file, and the VM if it is known."""
    for file, lines in record.of_others().items():
        parts = [line.partition(" ") for line in lines]
        if any(part[0] == set_id for part in parts):
            yield file, [part[2] for part in parts if part[0] == set_id and is_vm_id(part[2])]


def _is_needed_by_others(client: ArmClient, record: Record, set_id: str, dry_run: bool) -> bool:
    for file, vm_ids in _vms_of_others(record, set_id):
        if not vm_ids or any(_is_there(client, vm_id) for vm_id in vm_ids):
            return True
        if not dry_run:
            record.remove_of_other(file)
    return False


def _is_there(client: ArmClient, vm_id: str) -> bool:
    try:
        vm = client.get(vm_id, READ_INSTANCES if INSTANCE_ID.match(vm_id) else READ_MACHINES)
    except NotFound:
        return False
    return (vm.get("properties") or {}).get("provisioningState") != "Deleting"


def _set_state(
    client: ArmClient,
    path: str,
    state: str,
    dry_run: bool = False,
    keep: Callable[[str], None] = lambda _before: None,
) -> RepairsChange:
    client.need_compute(SINCE, "suspending and resuming automatic repairs")
    name = path.rpartition("/")[2]
    before = _find_state(client, path)
    keep(before)
    if before in (state, OFF):
        return RepairsChange(False, path, before, before, _warnings(name, state, before))
    outcome = RepairsChange(True, path, before, state, _warnings(name, state, before))
    if not dry_run:
        body = {"serviceName": SERVICE, "action": _ACTIONS[state]}
        try:
            client.post_when_free(path + "/setOrchestrationServiceState", body, SET_STATE, repeatable=True)
        except Lost:
            if before == UNKNOWN:
                raise
        except ArmError as error:
            if before != UNKNOWN or error.status not in (400, 409) or error.may_have_begun:
                raise
            raise ArmError(
                "%s is a flexible scale set, and Azure does not take this state for its automatic repairs: set"
                " automaticRepairsPolicy.enabled to false for the time of the work instead, or have the Application"
                " Health extension report health apart from rotation. %s" % (name, error),
                error.status,
                error.code,
            ) from None
        with reporting(client, lambda: outcome):
            while before != UNKNOWN and read_state(client, path) != state:
                client.wait(POLL_INTERVAL, "Azure did not show the automatic repairs of %s as %s" % (name, state))
    return outcome


def _find_state(client: ArmClient, path: str) -> str:
    try:
        return read_state(client, path)
    except ArmError as error:
        if error.status != 400:
            raise
        resource = client.get(path, READ_SCALE_SETS)
        if not _is_flexible(resource):
            raise
    return str(describe(client, resource)["state"])


def read_state(client: ArmClient, scale_set_id: str) -> str:
    """Whether the repairs of a uniform scale set run: `RUNNING`, `SUSPENDED` or `OFF`.

    :raises ArmError: if that fails
    """
    services = client.get(scale_set_id + "/instanceView", READ_VIEW).get("orchestrationServices") or []
    states = [
        str(one.get("serviceState")).lower()
        for one in services
        if str(one.get("serviceName")).lower() == SERVICE.lower()
    ]
    return next((state for state in states if state in STATES), OFF)


def describe(client: ArmClient, resource: Mapping[str, Any]) -> Json:
    """The repairs of a scale set that was read, as the info module returns them. Asks for their state if they are on.

    :raises ArmError: if that fails
    """
    properties = resource.get("properties") or {}
    policy = properties.get("automaticRepairsPolicy") or {}
    model = properties.get("virtualMachineProfile") or {}
    probe = ((model.get("networkProfile") or {}).get("healthProbe") or {}).get("id")
    if policy.get("enabled") is not True:
        return {"state": OFF, "action": None, "grace_period": None, "health_probe": probe}
    return {
        "state": UNKNOWN if _is_flexible(resource) else read_state(client, str(resource.get("id"))),
        # What Azure does where the policy does not say.
        "action": policy.get("repairAction") or "Replace",
        "grace_period": policy.get("gracePeriod") or "PT10M",
        "health_probe": probe,
    }


def explain_danger(name: str, repairs: Mapping[str, Any]) -> str | None:
    """What somebody should know who takes instances of this set out of rotation; None: nothing.

    :param repairs: see `describe`
    """
    if repairs["state"] != RUNNING or not repairs["health_probe"]:
        return None
    return (
        "Automatic repairs of %s are on and use the probe of its load balancer (%s). Azure treats an "
        "instance that was taken out of rotation as unhealthy, and does a %s on it after %s. Suspend the "
        "repairs during maintenance (vmss_automatic_repairs), protect the instance "
        "(vmss_instance_protection), or report health with the Application Health extension"
        % (name, str(repairs["health_probe"]).rsplit("/", 1)[-1], repairs["action"], repairs["grace_period"])
    )


def _is_flexible(resource: Mapping[str, Any]) -> bool:
    return str((resource.get("properties") or {}).get("orchestrationMode")).lower() == "flexible"


def _warnings(name: str, state: str, found: str) -> tuple[str, ...]:
    if found == UNKNOWN:
        return (
            "%s is a flexible scale set. Azure does not show whether its automatic repairs are suspended: "
            "the result is the requested state, and every run requests it again" % name,
        )
    if found == OFF and state == RUNNING:
        return ("%s has no automatic repairs that could resume. Turn them on in its automaticRepairsPolicy" % name,)
    return ()
