# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of simulate_eviction.

It evicts a Spot VM: Azure announces a Preempt, and some 30 seconds later takes the machine.

Source: https://learn.microsoft.com/azure/virtual-machines/linux/spot-cli#simulate-an-eviction
"""

from __future__ import annotations

from .client import ArmClient
from .errors import ArmError
from .permissions import READ_SCALE_SETS
from .rollout import is_spot
from .target import Target


def evict(client: ArmClient, target: Target, dry_run: bool = False) -> str:
    """Evict a machine.

    :param dry_run: look whether it could be, and leave it
    :returns: its resource id
    :raises ArmError: if it is not Spot, or if that fails
    """
    path = target.path(client)
    _check_is_spot(client, target, path)
    if not dry_run:
        client.post_when_free(path + "/simulateEviction", None, target.needs("simulateEviction/action"))
    return path


def _check_is_spot(client: ArmClient, target: Target, path: str) -> None:
    # A uniform instance does not always show its priority; its set's model does.
    properties = client.get(path, target.needs("read", "Reader")).get("properties") or {}
    if target.in_set and "priority" not in properties:
        set_id = path[: path.lower().rindex("/virtualmachines/")]
        model = client.get(set_id, READ_SCALE_SETS)
        properties = (model.get("properties") or {}).get("virtualMachineProfile") or {}
    if not is_spot(properties):
        raise ArmError("%s is not a Spot VM: Azure evicts only Spot VMs. Nothing was done" % target.words)
