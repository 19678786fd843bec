# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does who waits for a machine by hand hear when it is there, and what is in the way?"""

from typing import Any, Dict

import pytest
from foghorn_agent.reached import is_back, is_drained

FAILING = {"failing": [{"stage": "drain", "name": "deregister", "error": "exit status 1"}]}
EVENTS = {"events": [{"event_type": "Reboot", "event_id": "E-1", "keeps_out": True}, {"keeps_out": False}]}


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"drained_by_hand": {"drain": "succeeded"}}, (True, True, "out of rotation until it is restored by hand")),
        (
            dict(FAILING, drained_by_hand={"drain": "failed"}),
            (False, True, "the drain failed: drain: deregister: exit status 1"),
        ),
        ({"drained_by_hand": None}, (False, True, "somebody has restored it meanwhile")),
        (
            {"drained_by_hand": {"drain": "begun"}, "step": {"stage": "drain", "name": "wait"}},
            (False, False, "still drains: drain: wait"),
        ),
    ],
)
def test_given_a_drain_by_hand_then_it_is_reached_once_the_drain_has_succeeded(
    status: Dict[str, Any], found: Any
) -> None:
    assert is_drained(status) == found


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"in_rotation": True, "out_of_rotation": False}, (True, True, "in rotation")),
        (
            dict(EVENTS, in_rotation=False, out_of_rotation=True, drained_by_hand={"drain": "succeeded"}),
            (False, False, "still out of rotation, for whoever drained it by hand, Reboot E-1"),
        ),
        (
            {"in_rotation": False, "out_of_rotation": True, "step": {"stage": "restore", "name": "start"}},
            (False, False, "is being restored: restore: start"),
        ),
        (
            {"in_rotation": False, "out_of_rotation": False, "checks": [{"name": "app", "ready": False}]},
            (False, False, "not ready: app"),
        ),
    ],
)
def test_given_a_machine_that_is_awaited_then_who_keeps_it_out_is_named(status: Dict[str, Any], found: Any) -> None:
    assert is_back(status) == found
