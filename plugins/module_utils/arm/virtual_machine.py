# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of vm_terminate_notification.

A VM that stands alone, or is a member of a flexible scale set, has a notification of its own.

Source: https://learn.microsoft.com/rest/api/compute/virtual-machines/update
"""

from __future__ import annotations

from typing import NamedTuple

from .answers import Json
from .client import ArmClient, Permission, Write, reporting
from .errors import NotFound, not_as_written
from .notification import DesiredState, Notifications, as_dict, differ, parse_profile, profile_to_send, settle
from .permissions import READ_MACHINES
from .rollout import describe_spot, is_spot

KIND = "virtualMachines"

SINCE = "2021-03-01"
"""The first version of Compute that has terminate notifications on VMs."""
WRITE = Permission("Microsoft.Compute/virtualMachines/write", "Virtual Machine Contributor")


class MachineChange(NamedTuple):
    """What was done, or in check mode would be."""

    changed: bool
    resource: Json
    before: Notifications
    after: Notifications
    warnings: tuple[str, ...]


def notify(
    client: ArmClient, resource_group: str, name: str, desired: DesiredState, wait: bool = True, dry_run: bool = False
) -> MachineChange:
    """Set the notifications of one VM.

    :param wait: until the operation has ended
    :param dry_run: decide, but change nothing
    :raises Unfinished: if it was changed, and Azure does not show it
    :raises ArmError: if that fails
    """
    client.need_compute(SINCE, "terminate notifications of VMs")
    path = client.compute_id(resource_group, KIND, name)

    def plan(resource: Json, etag: str | None) -> tuple[tuple[Json, Notifications, Notifications], Write]:
        before = _parse(resource)
        wanted = settle(desired, before)
        profile = profile_to_send(before, wanted)
        if not profile or dry_run:
            return (resource, before, wanted), None
        body = {"properties": {"scheduledEventsProfile": profile}}
        return (resource, before, wanted), lambda: client.write("PATCH", path, body, etag, WRITE, wait)

    try:
        (resource, before, wanted), answer = client.edit(path, READ_MACHINES, plan)
    except NotFound as error:
        raise NotFound(
            "%s. An instance of a uniform scale set is not a VM of its own: use vmss_terminate_notification" % error,
            error.status,
            error.code,
        ) from None
    outcome = MachineChange(wanted != before, resource, before, wanted, _warnings(resource, desired))
    if answer is not None and wait:
        with reporting(client, lambda: outcome):
            after = _parse(client.read_after(answer, path, READ_MACHINES))
            outcome = outcome._replace(changed=after != before, after=after)
            if differ(after, wanted):
                raise not_as_written(name, as_dict(after), as_dict(wanted))
    return outcome


def describe(resource: Json) -> Json:
    """Whether it is Spot, what becomes of it then, and whether there can be a terminate notification on it."""
    found = describe_spot(resource.get("properties") or {})
    return {**found, "can_announce": found["priority"] != "Spot"}


def _parse(resource: Json) -> Notifications:
    return parse_profile((resource.get("properties") or {}).get("scheduledEventsProfile"))


def _warnings(resource: Json, desired: DesiredState) -> tuple[str, ...]:
    if desired.terminate and is_spot(resource.get("properties") or {}):
        return (
            "%s is a Spot VM, for which Azure has no terminate notification: an eviction is announced as "
            "Preempt, 30 seconds ahead" % resource.get("name"),
        )
    return ()
