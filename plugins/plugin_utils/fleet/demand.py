# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What the operator, or Azure on the operator's behalf, wants done to a host. No event announces it.

The run of a playbook other than handle_events has demands of one kind. Its hosts leave rotation for a demand as they do
for an event, but never beyond the minimum in service: a demand can wait, or be refused.
"""

from enum import Enum
from typing import NamedTuple

NO_LIMIT = 1e11
"""Seconds since the epoch, in the year 5138: a finite number, so that JSON and the roles can read it."""


class DemandKind(Enum):
    """Which playbook makes the demand, and what it wants done to a host that is out of rotation."""

    MOVE = "move"
    """redeploy_early: Azure moves the VM to another host."""
    UPGRADE = "upgrade"
    """handle_os_upgrades: Azure replaces the disk of the VM with one of a newer image."""
    UPDATE = "update"
    """prepare_for_updates: Azure Update Manager updates the VM, which stays out of rotation for that. If one VM of the
    run of updates is not ready, the run is cancelled."""

    @property
    def reason(self) -> str:
        """Why the host is out of rotation, as it is noted on the host."""
        return _REASONS[self]

    @property
    def must_be_met(self) -> bool:
        """Whether it is a failure to leave a host alone. Azure asks again before it upgrades an image."""
        return self is not DemandKind.UPGRADE


_REASONS = {
    DemandKind.MOVE: "Azure moves it to another host",
    DemandKind.UPGRADE: "Azure replaces its disk with one of a newer image",
    DemandKind.UPDATE: "Azure Update Manager updates it",
}


class Demand(NamedTuple):
    """A demand for one host."""

    kind: DemandKind
    batch: str
    """Hosts with the same batch leave rotation together."""
    ready_by: float = NO_LIMIT
    """When the host must be ready, in seconds since the epoch."""
    all_of: tuple[str, ...] = ()
    """All hosts of the batch, if none of them leaves rotation unless each does; empty if each goes that can go."""
