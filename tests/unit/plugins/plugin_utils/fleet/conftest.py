# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events as the module returns them, at an instant of our own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

NOW = datetime(2026, 9, 19, 18, 0, tzinfo=UTC).timestamp()


def make_event(
    event_type: str = "Reboot",
    resources: tuple[str, ...] = ("vm_0",),
    notice: float | None = 900,
    status: str = "Scheduled",
    duration: int | None = -1,
    event_id: str = "",
) -> dict[str, Any]:
    """Make an event; without `notice` its start is unknown."""
    start = None
    if notice is not None and status == "Scheduled":
        start = datetime.fromtimestamp(NOW + notice, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "event_id": event_id or f"{event_type}-{'-'.join(resources)}",
        "event_type": event_type,
        "event_status": status,
        "resources": list(resources),
        "duration_in_seconds": duration,
        "not_before": start,
        "seconds_until_start": 0 if status == "Started" else notice,
    }


@pytest.fixture
def event() -> Callable[..., dict[str, Any]]:
    """`make_event`."""
    return make_event


@pytest.fixture
def now() -> float:
    """The instant that the events are made for."""
    return NOW
