# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real agent really dies of SIGKILL while it writes its journal or talks to IMDS, and is started again.

A sample of the points, for a type of event that a machine survives and one that it does not, with ALL=1 for each type;
the unit tests kill a rehearsed agent. All machines of one type go through their event at the same time.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.tests.sizes import sample
from azure_simulator.testing import Simulator

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / "unit" / "roles" / "handler_agent")]

from real_agent import RealAgent, build, wait_for  # noqa: E402 - found on the path set above

KILLED_AT = Path(__file__).with_name("killed_at.py")
BEFORE = ["deregister", "wait", "stop"]
AFTER = ["start", "register"]
# Of about 10 writes before the event is over, and of 2 POSTs at most.
POINTS = (
    "fsync:3:after",  # who this machine is
    "fsync:4:before",  # the event is seen, and a step is to begin
    "fsync:4:after",  # it begins
    "fsync:5:before",
    "fsync:7:after",
    "fsync:8:before",
    "POST:1:before",
    "POST:1:after",  # approved, and nothing written down
    "GET:3:after",
)
SURVIVED = ("Freeze", "Reboot", "Redeploy")
DELETING = ("Preempt", "Terminate")
LIFE = {"notice": 60, "impact": 1, "linger": 2}


class Machine(RealAgent):
    """A machine whose agent is killed once, and started again at once, as systemd does."""

    def __init__(self, program: Path, directory: Path, endpoint: str, point: str) -> None:
        super().__init__(program, directory, endpoint, launcher=KILLED_AT)
        self.point = point
        self.deaths = 0

    def look_after(self) -> None:
        """Start the agent again if it was killed."""
        if not self.is_running():
            assert self.wait() == -signal.SIGKILL, self.output.read_text()
            self.deaths += 1
            self.begin()


@contextlib.contextmanager
def running(program: Path, directory: Path, points: tuple[str, ...]) -> Iterator[tuple[Simulator, list[Machine]]]:
    """An Azure with a machine for each point."""
    vms = [{"name": f"vm_{index}", "address": f"127.0.0.{index + 1}"} for index in range(len(points))]
    with Simulator({"vms": vms}) as azure, contextlib.ExitStack() as stack:
        machines = []
        for index, point in enumerate(points):
            name = f"vm_{index}"
            machines.append(Machine(program, directory / name, azure.imds[name], point))
            stack.callback(machines[-1].close)
            machines[-1].begin({"FOGHORN_KILL_AT": point})
        yield azure, machines


def wait_for_all(machines: list[Machine], azure: Simulator, status: str) -> dict[str, dict[str, Any]]:
    """Look after the machines until all events have come so far; return these by the name of the machine."""

    def look() -> dict[str, dict[str, Any]]:
        for machine in machines:
            machine.look_after()
        events = {event["resources"][0]: event for event in azure.status()["events"]}
        return events if all(event["status"] == status for event in events.values()) else {}

    found: dict[str, dict[str, Any]] = wait_for(look, machines)
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built program."""
    return build(tmp_path_factory.mktemp("program") / "foghorn-agent")


@pytest.mark.parametrize("event_type", sample([*SURVIVED, *DELETING], DELETING.__contains__))
def test_given_an_agent_that_is_killed_when_it_is_started_again_then_every_promise_holds(
    event_type: str, program: Path, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    is_deleting = event_type in DELETING
    with running(program, tmp_path, POINTS) as (azure, machines):
        for index in range(len(machines)):
            azure.event(event_type, f"vm_{index}", **LIFE)
        events = wait_for_all(machines, azure, "Completed")
        if not is_deleting:

            def are_restored() -> bool:
                for machine in machines:
                    machine.look_after()
                return all("register" in machine.noted("end") for machine in machines)

            wait_for(are_restored, machines)
            # Whatever would be done twice has its time.
            time.sleep(1.0)
    for index, machine in enumerate(machines):
        where = f"{event_type}, killed at {machine.point}: {machine.notes.read_text()}"
        event = events[f"vm_{index}"]
        assert machine.deaths == 1, where
        assert event["approvals"], f"the approval was lost: {where}"
        assert event["started"] < event["not_before"], where
        approved = event["approvals"][0]["at"]
        for step in BEFORE:
            # The simulator's clock and that of the steps are the same, to the millisecond.
            assert machine.times("end", step)[0] <= approved + 0.01, f"approved before {step}: {where}"
        begun = machine.noted("begin")
        if is_deleting:
            assert not set(AFTER) & set(begun), f"restored: {where}"
        else:
            assert machine.times("begin", "start")[0] >= event["ended"] - 0.01, f"restored too early: {where}"
            assert machine.noted("end")[-2:] == AFTER, where
        # A kill lets one step at most run again.
        assert len(begun) <= len(set(begun)) + 1, where
