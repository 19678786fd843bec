# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the agent take a Windows machine through events, whatever happens to it meanwhile?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from azure_simulator.testing import Simulator

from .conftest import STAGES, Agent

Make = Callable[..., Agent]
PREPARED = [*STAGES["drain"], *STAGES["shutdown"]]


def record(azure: Simulator, event_id: str) -> dict[str, Any]:
    return next(one for one in azure.status()["events"] if one["event_id"].lower() == event_id.lower())


@pytest.mark.parametrize("event_type", ["Reboot", "Redeploy", "Freeze"])
def test_given_an_event_when_it_comes_then_the_machine_is_prepared_approved_and_restored(
    agent: Make, azure: Simulator, event_type: str
) -> None:
    here = agent()
    here.begin()
    assert here.is_ready()

    azure.event(event_type, "win", impact=1, linger=1)
    here.wait_for(lambda: not here.is_ready())
    here.wait_for(here.is_ready)

    assert here.noted() == [*PREPARED, *STAGES["restore"]]
