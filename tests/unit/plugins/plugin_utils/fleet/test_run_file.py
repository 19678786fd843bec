# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run is kept in a file between two tasks, and goes on as if it had never been there."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.advance import begin
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.balancers import Balancers
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.clocks import ClockReading
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Attempt, Host
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import Policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.run import Run
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.run_file import (
    Kept,
    RunFileError,
    as_json,
    read_run,
    write_run,
)

from .conftest import NOW, event
from .test_advance import World, play


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "run.json")


def test_given_a_fleet_when_its_run_is_kept_in_a_file_between_all_orders_then_it_ends_as_without(path: str) -> None:
    def make() -> World:
        shared = event(resources=("vm_0", "vm_1"), event_id="shared", notice=3000)
        return World(NOW, 4, [shared, event("Freeze", ("vm_2",), event_id="freeze", notice=500, duration=60)])

    kept: list[Run] = []

    def keep(run: Run) -> Run:
        write_run(path, Kept(run))
        found = read_run(path, run.policy).run
        assert as_json(found) == as_json(run)
        kept.append(found)
        return found

    assert play(make(), between=keep, has_more=True) == play(make(), has_more=True)
    assert len(kept) > 10


def test_given_a_host_with_all_that_may_be_known_of_it_when_written_then_nothing_is_lost(path: str) -> None:
    host = Host(
        "web1",
        "vm_1",
        (event(resources=("vm_1",), notice=3000),),
        clock=ClockReading(NOW, NOW + 1, NOW),
        tried=(Attempt("a", 60.0, "it broke"),),
        agent={"in_rotation": True, "events": []},
        seen={"a": 5.0},
        groups=("backend web",),
    )
    run = begin([host, Host("web2")], Policy(), NOW)

    balancers = Balancers(groups={"web1": ["backend web"]}, down=["web2"])
    write_run(path, Kept(run, balancers, "/srv/out", {"web1": "/id"}))

    found, *others = read_run(path, run.policy)
    assert others == [balancers, "/srv/out", {"web1": "/id"}]
    assert found.hosts["web1"].reading == host
    assert found.hosts["web1"].reading.events[0].not_before == host.events[0].not_before
    assert found == run._replace(plan=found.plan)


@pytest.mark.parametrize("text", ["", "7", "[]", "{}", '{"plan": 7}'])
def test_given_input_that_is_no_run_when_read_then_the_file_is_named(path: str, text: str) -> None:
    Path(path).write_text(text)

    with pytest.raises(RunFileError, match=r"run\.json is not the file of a run"):
        read_run(path, Policy())


def test_given_a_file_when_it_is_written_then_nobody_else_may_read_it(path: str) -> None:
    write_run(path, Kept(begin([Host("web1")], Policy(), NOW)))

    assert Path(path).stat().st_mode & 0o777 == 0o600
