# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rotation_claim_info returns of hosts."""

from __future__ import annotations

from typing import Any

NOW = 1_789_840_800.0


def found(lease: dict[str, Any] | None = None, **claims: dict[str, Any]) -> dict[str, Any]:
    """What rotation_claim returned."""
    return {"lease": lease, "claims": claims, "boot_id": "boot1", "now": NOW, "present": []}


def claim(**details: Any) -> dict[str, Any]:
    """A claim as rotation_claim keeps it."""
    return {
        "since": NOW - 60,
        "noted_at": NOW - 60,
        "by": "root on ctl1",
        "reason": "Reboot A",
        "boot_id": "boot1",
        "is_final": False,
        "starts_at": NOW - 60,
        "approving": [],
        "left_out_at": None,
    } | details


def lease_of(run: dict[str, Any]) -> dict[str, Any]:
    """A lease as rotation_claim returns it."""
    return {"id": run["id"], "playbook": "handle_events", "by": "root on ctl1", "until": NOW + 60} | {
        "process": run["process"]
    }
