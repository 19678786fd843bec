# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events at an instant of our own: functions, not fixtures, for they hold nothing."""

from __future__ import annotations

from datetime import UTC, datetime

from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event

NOW = datetime(2026, 9, 19, 18, 0, tzinfo=UTC).timestamp()


def event(
    event_type: str = "Reboot",
    resources: tuple[str, ...] = ("vm_0",),
    notice: float | None = 900,
    status: str = "Scheduled",
    duration: int | None = -1,
    event_id: str = "",
) -> Event:
    """Make an event; without `notice` its start is unknown."""
    return Event(
        event_id=event_id or f"{event_type}-{'-'.join(resources)}",
        event_type=event_type,
        event_status=status,
        resources=resources,
        duration_in_seconds=duration,
        not_before=None if notice is None or status != "Scheduled" else datetime.fromtimestamp(NOW + notice, UTC),
    )
