# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of vm_redeploy, vm_maintenance and maintenance_window_info.

A host that is about to fail, or to be maintained, can be left early and on purpose. Either way the machine moves to
another host: its memory and its temporary disk are lost. Azure's `maintenanceRedeployStatus` says when its owner may
begin planned maintenance himself, and when Azure will.

Source: https://learn.microsoft.com/azure/virtual-machines/maintenance-notifications and
https://learn.microsoft.com/troubleshoot/azure/virtual-machines/linux/redeploy-to-new-node-linux
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .answers import Json
from .client import ArmClient
from .permissions import READ_INSTANCES, READ_MACHINES, READ_SCALE_SETS
from .target import Target

SINCE = "2017-12-01"
"""The first version of Compute that has all of it."""

# The names of Azure's fields in results.
_TIMES = {
    "self_service_start": "preMaintenanceWindowStartTime",
    "self_service_end": "preMaintenanceWindowEndTime",
    "scheduled_start": "maintenanceWindowStartTime",
    "scheduled_end": "maintenanceWindowEndTime",
}


def redeploy(client: ArmClient, target: Target, wait: bool = True, dry_run: bool = False) -> str:
    """Have Azure move a machine to another host.

    :param wait: until it runs there; else until Azure has accepted it
    :param dry_run: look whether it is there, and leave it
    :returns: its id
    :raises ArmError: if that fails
    """
    path = target.path(client)
    if dry_run:
        client.get(path, target.needs("read", "Reader"))
    else:
        client.post_when_free(path + "/redeploy", None, target.needs("redeploy/action"), wait=wait)
    return path


def maintain(
    client: ArmClient, target: Target, wait: bool = True, dry_run: bool = False
) -> tuple[str, Json | None, str | None]:
    """Have Azure do the planned maintenance of a machine's host now, if it is time for it.

    :param wait: until the machine runs on another host; else until Azure has accepted it
    :param dry_run: look, but begin nothing
    :returns: its id; its window as it was found, see `describe_window`; why nothing was done, None if something was
    :raises ArmError: if that fails
    """
    path = target.path(client)
    window = read_window(client, target)
    reason = _why_not(window)
    if reason is None and not dry_run:
        client.post_when_free(path + "/performMaintenance", None, target.needs("performMaintenance/action"), wait=wait)
    return path, window, reason


def read_window(client: ArmClient, target: Target) -> Json | None:
    """The window of planned maintenance of one machine; None if there is none.

    :raises ArmError: if that fails
    """
    client.need_compute(SINCE, "windows of planned maintenance")
    return describe_window(
        client.get(target.path(client) + "/instanceView", target.needs("instanceView/read", "Reader"))
    )


def list_windows(client: ArmClient, resource_group: str | None = None, subscriptions: Sequence[str] = ()) -> list[Json]:
    """The machines of the subscription that have a window of planned maintenance.

    All VMs are read in one list, the instances of each uniform scale set in one each.

    :param resource_group: only those of this one
    :param subscriptions: all of these in place of the client's own
    :raises ArmError: if that fails
    """
    client.need_compute(SINCE, "windows of planned maintenance")
    found = []
    for subscription in subscriptions or [client.subscription_id]:
        for machine in _machines(client, subscription, resource_group):
            window = describe_window((machine.get("properties") or {}).get("instanceView") or {})
            if window is not None:
                found.append({"id": machine.get("id"), "name": machine.get("name"), **window})
    return found


def describe_window(view: Mapping[str, Any]) -> Json | None:
    """The `maintenanceRedeployStatus` of an instance view as the modules return it; None if there is none."""
    status = view.get("maintenanceRedeployStatus")
    if not isinstance(status, dict) or not any(value not in (None, "") for value in status.values()):
        return None
    return {
        "self_service_allowed": status.get("isCustomerInitiatedMaintenanceAllowed") is True,
        **{name: status.get(azures) or None for name, azures in _TIMES.items()},
        "last_result": status.get("lastOperationResultCode") or "None",
        "last_message": status.get("lastOperationMessage") or None,
    }


def _why_not(window: Mapping[str, Any] | None) -> str | None:
    if window is None:
        return "no maintenance is planned for it"
    if window["self_service_allowed"]:
        return None
    if window["last_result"].lower() == "maintenancecompleted":
        return "its maintenance is done"
    return "you can start it only from %s to %s" % (window["self_service_start"], window["self_service_end"])


def _machines(client: ArmClient, subscription: str, resource_group: str | None) -> Iterator[Json]:
    everything = "/subscriptions/%s/providers/Microsoft.Compute/" % subscription
    group = "/subscriptions/%s/resourceGroups/%s/" % (subscription, resource_group)
    for machine in client.list_all(everything + "virtualMachines", READ_MACHINES, statusOnly="true"):
        if resource_group is None or str(machine.get("id", "")).lower().startswith(group.lower()):
            yield machine
    sets = group + "providers/Microsoft.Compute/" if resource_group is not None else everything
    for resource in client.list_all(sets + "virtualMachineScaleSets", READ_SCALE_SETS):
        mode = str((resource.get("properties") or {}).get("orchestrationMode", "Uniform"))
        # The machines of flexible sets are among those above.
        if mode.lower() != "flexible":
            path = "%s/virtualMachines" % resource.get("id", "")
            # The list is expensive, and the only one that shows the instances' windows.
            yield from client.list_all(path, READ_INSTANCES, **{"$expand": "instanceView"})
