# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wait has one clock from its beginning to its end."""

from __future__ import annotations

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.clocks import steady_clock


@pytest.mark.parametrize("set_by", [-3600.0, 3600.0])
def test_given_the_machines_clock_is_set_meanwhile_then_a_steady_one_goes_on(set_by: float) -> None:
    now = {"epoch": 1788220800.0, "since boot": 70.0}
    clock = steady_clock(lambda: now["epoch"], lambda: now["since boot"])
    assert clock() == 1788220800.0

    now["epoch"] += set_by
    now["since boot"] += 5.0

    assert clock() == 1788220805.0
