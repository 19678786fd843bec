# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which services of a machine are running, and what a record of those that were stopped may say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.service_states import (
    ServiceStateError,
    read_record,
    state_of,
    stopped_with,
)


def says(code: int = 0, text: str = "", error: str = "") -> Any:
    """A command that ends like this, whatever it is."""
    return lambda _command: (code, text, error)


def unit(active: str, load: str = "loaded", kind: str = "simple") -> str:
    return state_of("nginx", [], says(0, f"Type={kind}\nLoadState={load}\nActiveState={active}\n"))


@pytest.mark.parametrize(
    ("active", "state"),
    [
        *((active, "running") for active in ("active", "reloading", "refreshing")),
        *((active, "starting") for active in ("activating", "maintenance")),
        ("deactivating", "stopping"),
        *((active, "stopped") for active in ("inactive", "failed", "")),
    ],
)
def test_given_a_unit_then_only_what_is_known_to_be_down_is_down(active: str, state: str) -> None:
    assert unit(active) == state


@pytest.mark.parametrize(
    ("load", "state"), [("loaded", "stopped"), ("masked", "stopped"), ("not-found", "unknown"), ("", "unknown")]
)
def test_given_a_unit_that_systemd_does_not_know_then_that_is_its_state(load: str, state: str) -> None:
    assert unit("inactive", load) == state
    assert unit("active", load) == "running"


def test_given_a_unit_that_is_about_to_be_started_or_stopped_then_it_is_to_be_started() -> None:
    assert unit("inactive\nJob=7") == unit("active\nJob=7") == "starting"
    assert unit("reloading\nJob=7") == "running"
    assert unit("inactive\nJob=") == unit("inactive\nJob=0") == "stopped"


def test_given_a_oneshot_that_is_over_then_it_has_ended_unless_it_failed() -> None:
    assert unit("inactive", kind="oneshot") == "ended"
    assert unit("failed", kind="oneshot") == "stopped"


def test_given_a_oneshot_at_its_work_then_it_runs() -> None:
    assert unit("activating", kind="oneshot") == "running"


@pytest.mark.parametrize(("code", "state"), [(0, "running"), (1, "stopped"), (2, "stopped"), (3, "stopped")])
def test_given_a_command_for_the_status_then_its_exit_status_counts_and_not_its_output(code: int, state: str) -> None:
    assert state_of("app", ["x"], says(code, "ActiveState=active\nType=oneshot")) == state


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (["look", "up"], 7, "app: look up ended with .+ 7, which is neither 0, running, nor 1 to 3, stopped: no$"),
        ([], 1, "app: systemctl show .+ status 1: no$"),
    ],
)
def test_given_a_command_that_ends_as_none_may_then_nothing_is_known(
    status: list[str], code: int, message: str
) -> None:
    with pytest.raises(ServiceStateError, match=message):
        state_of("app", status, says(code, "", "no\n"))


UNITS = {
    "base.service": (
        "active",
        "RequiredBy=needs.service idle.service\nConsistsOf=part.timer once.service fixed.target",
    ),
    "needs.service": ("activating", "BoundBy=bound.service base.service\nRequiredBy="),
    "idle.service": ("inactive", "RequiredBy=behind-idle.service"),
    "part.timer": ("active", ""),
    "once.service": ("active", "Transient=yes"),
    "fixed.target": ("active", "CanStart=no"),
    "bound.service": ("active", ""),
    "behind-idle.service": ("active", ""),
}


def test_given_units_that_need_a_unit_then_those_that_run_and_can_be_started_again_stop_with_it() -> None:
    def show(command: list[str]) -> tuple[int, str, str]:
        names = ["base.service" if name == "alias" else name for name in command[command.index("--") + 1 :]]
        texts = [f"{UNITS[name][1]}\nId={name}\nActiveState={UNITS[name][0]}\nCanStart=yes" for name in names]
        return 0, "\n\n".join(texts) + "\n", ""

    behind = ["needs.service", "part.timer", "bound.service", "behind-idle.service"]
    assert stopped_with("alias", show) == behind
    assert stopped_with("base", says(1)) == stopped_with("base", says()) == []


def test_given_a_record_of_two_removals_then_what_was_stopped_last_comes_first_and_each_once() -> None:
    lines = [[{"name": "web", "timeout": 1}, {"name": "db"}], [], [{"name": "web", "timeout": 2}]]

    assert read_record("\n".join(map(json.dumps, lines)) + "\n\n") == [{"name": "web", "timeout": 2}, {"name": "db"}]


@pytest.mark.parametrize("text", ["no JSON", "5", "[5]", '[{"nam": "web"}]', '{"name": "web"}'])
def test_given_an_invalid_record_then_that_is_reported(text: str) -> None:
    with pytest.raises(ServiceStateError, match="it contains no lists of services: "):
        read_record(text)
