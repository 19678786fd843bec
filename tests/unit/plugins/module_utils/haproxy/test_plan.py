# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be set so that a server is as it should be?"""

from typing import List

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.plan import (
    DRAIN,
    MAINTENANCE,
    READY,
    STATES,
    Goal,
    Record,
    ServerState,
    commands_for,
    goal_of,
    goal_of_record,
    record_of,
)
from hypothesis import given
from hypothesis import strategies as st


def server(admin_state: int = 0, weight: int = 100) -> ServerState:
    return ServerState("web", "web_0", 3, 1, 2, admin_state, weight)


def obey(found: ServerState, commands: List[str]) -> ServerState:
    """What HAProxy makes of commands."""
    bits = {"drain": 8, "maint": 1, "ready": 0}
    for command in commands:
        _set, _server, place, what, value = command.split()
        assert place == "web/web_0"
        if what == "weight":
            found = found._replace(weight=int(value))
        else:
            found = found._replace(admin_state=(found.admin_state & ~9) | bits[value])
    return found


servers = st.builds(server, st.integers(0, 127), st.integers(0, 256))


@pytest.mark.parametrize(
    ("admin_state", "state", "effective_state"),
    [
        (0, READY, READY),
        (1, MAINTENANCE, MAINTENANCE),
        (2, READY, MAINTENANCE),
        (4, READY, READY),
        (5, MAINTENANCE, MAINTENANCE),
        (8, DRAIN, DRAIN),
        (10, DRAIN, MAINTENANCE),
        (12, DRAIN, DRAIN),
        (16, READY, DRAIN),
        (32, READY, MAINTENANCE),
        (64, READY, READY),
    ],
)
def test_given_bits_when_they_are_read_then_what_was_set_is_distinguished_from_what_is_inherited(
    admin_state: int, state: str, effective_state: str
) -> None:
    found = server(admin_state)

    assert (found.state, found.effective_state) == (state, effective_state)


@given(servers, st.sampled_from(STATES))
def test_given_any_server_when_a_state_is_set_twice_then_it_holds_and_the_second_time_sends_nothing(
    found: ServerState, state: str
) -> None:
    after = obey(found, commands_for(goal_of(found, state), found))

    assert after.state == state
    assert commands_for(goal_of(after, state), after) == []


@given(servers, st.lists(st.sampled_from(STATES)))
def test_given_any_server_when_it_was_moved_about_then_its_record_restores_it(
    found: ServerState, states: List[str]
) -> None:
    record = record_of(found)
    now = found._replace(weight=1)
    for state in states:
        now = obey(now, commands_for(goal_of(now, state), now))

    goal = goal_of_record(record, now)

    assert goal is not None
    restored = obey(now, commands_for(goal, now))
    assert (restored.state, restored.weight) == (found.state, found.weight)
    assert restored.admin_state & ~9 == found.admin_state & ~9


def test_given_a_weight_and_a_state_when_they_are_set_then_the_server_has_its_weight_before_it_works() -> None:
    commands = commands_for(Goal("web", "web_0", READY, 50), server(8, 100))

    assert commands == ["set server web/web_0 weight 50", "set server web/web_0 state ready"]


def test_given_maintenance_when_it_is_to_be_kept_then_drain_does_not_let_bound_clients_in_again() -> None:
    assert goal_of(server(1), DRAIN, keep_maintenance=True).state == MAINTENANCE


def test_given_maintenance_when_drain_is_asked_for_then_it_is_drained() -> None:
    assert goal_of(server(1), DRAIN).state == DRAIN


def test_given_inherited_maintenance_when_it_is_to_be_kept_then_it_is_drained_for_it_may_end_any_time() -> None:
    assert goal_of(server(2), DRAIN, keep_maintenance=True).state == DRAIN


def test_given_a_server_that_the_configuration_disabled_since_when_it_is_restored_then_it_is_left_alone() -> None:
    assert goal_of_record(Record("web", "web_0", READY, 0, 100), server(5)) is None


def test_given_a_server_that_was_always_disabled_when_it_is_restored_then_its_state_is_set() -> None:
    assert goal_of_record(Record("web", "web_0", READY, 4, None), server(5)) == Goal("web", "web_0", READY)
