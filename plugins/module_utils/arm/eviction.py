# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What does simulate_eviction do, from start to end?

It evicts a Spot VM: Azure announces a Preempt, and some 30 seconds later takes the machine.

Source: https://learn.microsoft.com/azure/virtual-machines/linux/spot-cli#simulate-an-eviction
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from .client import ArmClient, Permission
from .errors import ArmError
from .rollout import is_spot

_ROLE = "Virtual Machine Contributor"


class Target(NamedTuple):
    """A machine: a VM of its own, or an instance of a scale set."""

    resource_group: str
    name: str
    scale_set: str | None = None
    """If set, `name` is the id of one of its instances."""


def evict(client: ArmClient, target: Target, dry_run: bool = False) -> str:
    """Evict a machine.

    :param dry_run: look whether it could be, and leave it
    :returns: its resource id
    :raises ArmError: if it is not Spot, or if that fails
    """
    if target.scale_set is None:
        action = "Microsoft.Compute/virtualMachines"
        path = client.compute_id(target.resource_group, "virtualMachines", target.name)
    else:
        action = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines"
        path = "%s/virtualMachines/%s" % (_scale_set_id(client, target), quote(target.name, safe=""))
    _check_is_spot(client, target, path, Permission(action + "/read", "Reader"))
    if not dry_run:
        client.post_when_free(path + "/simulateEviction", None, Permission(action + "/simulateEviction/action", _ROLE))
    return path


def _check_is_spot(client: ArmClient, target: Target, path: str, read: Permission) -> None:
    # A uniform instance does not always show its priority; its set's model does.
    properties = client.get(path, read).get("properties") or {}
    if target.scale_set is not None and "priority" not in properties:
        model = client.get(
            _scale_set_id(client, target), Permission("Microsoft.Compute/virtualMachineScaleSets/read", "Reader")
        )
        properties = (model.get("properties") or {}).get("virtualMachineProfile") or {}
    if not is_spot(properties):
        raise ArmError("%s is not a Spot machine: Azure evicts nothing else, and nothing was done" % target.name)


def _scale_set_id(client: ArmClient, target: Target) -> str:
    return client.compute_id(target.resource_group, "virtualMachineScaleSets", str(target.scale_set))
