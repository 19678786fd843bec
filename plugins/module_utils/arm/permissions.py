# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Permissions that more than one module speaks of, and whether a sign-in has one.

Source: https://learn.microsoft.com/rest/api/authorization/permissions
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .answers import Json
from .client import ArmClient, Permission

AUTHORIZATION_API_VERSION = "2022-04-01"

# Without it a query succeeds, and has no rows. Azure's list of roles has it under this name; Microsoft's pages about
# scheduled events call it ScheduledEventContributor, which finds nothing.
EVENTS_ROLE = "Scheduled Events Contributor"
ACKNOWLEDGE = Permission("Microsoft.Maintenance/scheduledevents/acknowledge/action", EVENTS_ROLE)
READ_MACHINES = Permission("Microsoft.Compute/virtualMachines/read", "Reader")
READ_SCALE_SETS = Permission("Microsoft.Compute/virtualMachineScaleSets/read", "Reader")
READ_INSTANCES = Permission("Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read", "Reader")
UPGRADE = Permission("Microsoft.Compute/virtualMachineScaleSets/manualUpgrade/action", "Virtual Machine Contributor")
_READ_PERMISSIONS = Permission("Microsoft.Authorization/permissions/read", "Reader")


def is_permitted(permissions: Iterable[Mapping[str, Any]], action: str) -> bool:
    """Whether the permissions include an action that they do not exclude again."""
    return any(_names(one.get("actions"), action) and not _names(one.get("notActions"), action) for one in permissions)


def _names(patterns: Any, action: str) -> bool:
    return any(
        re.fullmatch(".*".join(map(re.escape, str(pattern).split("*"))), action, re.IGNORECASE)
        for pattern in patterns or ()
    )


def permissions_on(client: ArmClient, resource_id: str) -> list[Json]:
    """The sign-in's permissions on a resource or a scope.

    :raises ArmError: if Azure does not say
    """
    path = "%s/providers/Microsoft.Authorization/permissions" % resource_id
    return list(client.list_all(path, _READ_PERMISSIONS, AUTHORIZATION_API_VERSION))
