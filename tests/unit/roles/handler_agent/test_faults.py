# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each fault of the simulator at each stage of an event: the promises hold, and nothing is lost.

The loop is the real one and asks a real simulator over HTTP, with time that moves only when told. The machine is
rehearsed: it asserts, at every moment, that nothing is approved before its stages have succeeded, and that nothing is
restored in the middle of maintenance or that was not removed.

The simulator runs on Python 3.9 and later.
"""

import sys
import time
from typing import Any, Dict, Generator, List, Optional, Sequence, Tuple

import pytest
from ansible_collections.foghorn.azure_events.tests.sizes import sample

if sys.version_info < (3, 9):
    pytest.skip("the simulator needs Python 3.9", allow_module_level=True)
pytest.importorskip("aiohttp")

from azure_simulator.testing import Simulator
from foghorn_agent.decide.decisions import Work
from foghorn_agent.io import log as levels
from foghorn_agent.io.clock import Clocks
from foghorn_agent.io.imds_session import ImdsSession, Poll
from rehearsal import EPOCH, STEP_SECONDS, VM_NAME, Rehearsal

FLEET = {
    "clock": {"manual": True},
    "imds": {"rate_limit": None},
    "vms": [{"name": VM_NAME, "address": "127.0.0.1"}],
}
FAULTS: Dict[str, Dict[str, Any]] = {
    "400": {"kind": "status", "status": 400},
    "404": {"kind": "status", "status": 404},
    "410": {"kind": "status", "status": 410},
    "429": {"kind": "status", "status": 429, "headers": {"Retry-After": "3"}},
    "500": {"kind": "status", "status": 500},
    "503": {"kind": "status", "status": 503},
    "an error as an answer": {"kind": "status", "status": 200, "body": {"error": "busy"}},
    "silence": {"kind": "silence"},
    "silence that is hung up on": {"kind": "silence", "seconds": 0.05},
    "reset": {"kind": "reset"},
    "slow": {"kind": "slow", "seconds": 0.1},
    "truncate": {"kind": "truncate"},
    "garbage": {"kind": "garbage"},
}
# Those that no second try within the same poll gets over.
LASTING = ("400", "an error as an answer", "garbage", "silence", "truncate")
STAGES = ("seen", "drain", "shutdown", "approving", "started", "restore")
CASES: List[Tuple[str, str]] = sample(
    [(name, stage) for stage in STAGES for name in sorted(FAULTS)], lambda case: case[0]
)
COUNT = 3
# Real seconds for an answer, so that a silence does not take long; what is late for it is a fault like the others.
PATIENCE = 0.5
NOTICE, IMPACT, LINGER = 120.0, 4.0, 12.0


class Reality(Rehearsal):
    """A rehearsed machine whose agent asks a real simulator."""

    patience = 2 * NOTICE

    def __init__(self, simulator: Simulator) -> None:
        super().__init__()
        self.simulator = simulator
        imds = self.config.imds._replace(
            endpoint=simulator.imds[VM_NAME], timeout=PATIENCE, first_timeout=PATIENCE, connect_timeout=60.0
        )
        self.config = self.config._replace(imds=imds)
        self._offset = simulator.advance(0.001) - EPOCH.timestamp()
        self._has_begun = False
        self._sessions: Tuple[ImdsSession, ...] = ()

    @property
    def event(self) -> Dict[str, Any]:
        """The only event, as the simulator knows it."""
        record: Dict[str, Any] = self.simulator.status()["events"][0]
        return record

    def wall(self) -> float:
        return super().wall() + self._offset

    def tick(self, seconds: float = 1.0) -> None:
        self.simulator.advance(seconds)
        if not self._has_begun and self.simulator.status()["events"] and self.event["status"] == "Started":
            self._has_begun = True
            self.reboot(IMPACT)
        super().tick(seconds)

    def announce(self, event_type: str = "Reboot") -> None:
        """Announce the event."""
        self.simulator.event(event_type, VM_NAME, notice=NOTICE, impact=IMPACT, linger=LINGER)

    def close(self) -> None:
        """Hang up."""
        for session in self._sessions:
            session._client.close()

    def _die(self, seconds: float) -> None:
        self.close()
        super()._die(seconds)

    def _start_agent(self) -> None:
        # Timeouts are real, so that a silence ends; whatever else the agent knows of time is not.
        clocks = Clocks(time.monotonic, self.wall)
        self._sessions = ImdsSession(self.config, clocks), ImdsSession(self.config, clocks)
        super()._start_agent()

    def _poll(self, _known: Any) -> Poll:
        # Its answer comes in real time, which the agent knows nothing of.
        answer = self._sessions[0].poll(None)
        self.poll_stats.last_answer = self.wall()
        return answer._replace(began=self.now)

    def _approve(self, event_ids: Sequence[str]) -> Sequence[str]:
        for event_id in event_ids:
            self.assert_ready_for(event_id)
        return self._sessions[1].approve(event_ids)

    def step_begins(self, work: Work) -> None:
        super().step_begins(work)
        if work.stage == "restore":
            assert self.event["status"] == "Completed", "restored in the middle of maintenance"


@pytest.fixture
def reality() -> Generator[Reality, None, None]:
    with Simulator(FLEET) as simulator:
        one = Reality(simulator)
        yield one
        one.close()


def at_stage(stage: str, reality: Reality) -> None:
    """Bring the event so far that its next answer belongs to this stage."""
    reality.run_until(2.0)
    if stage == "seen":
        return
    reality.announce()
    if stage in ("drain", "shutdown"):
        reality.tick_until(lambda: stage in [of for _at, of, _name in reality.steps_begun])
    elif stage == "approving":
        # The iteration in which the last step before the event succeeds approves as well.
        reality.tick_until(lambda: "stop" in reality.steps())
        reality.run_until(reality.now + STEP_SECONDS["stop"] - 1.0)
    elif stage == "started":
        reality.tick_until(lambda: reality.event["status"] == "Started")
    else:
        reality.tick_until(lambda: reality.event["status"] == "Started")
        reality.run_until(reality.now + LINGER - 1.0)


@pytest.mark.parametrize(("name", "stage"), CASES)
def test_given_any_fault_at_any_stage_when_it_is_over_then_every_promise_was_kept(
    name: str, stage: str, reality: Reality
) -> None:
    at_stage(stage, reality)
    reality.simulator.fault(vm=VM_NAME, count=COUNT, **FAULTS[name])
    if stage == "seen":
        reality.announce()
    reality.tick_until(lambda: reality.restored)
    event = reality.event
    assert event["approvals"], "the approval was lost"
    assert event["started"] < event["not_before"]
    assert reality.steps() == ["deregister", "wait", "stop", "start", "register"]
    assert reality.restored == 1
    assert not reality.touched
    reality.run_until(reality.now + 5.0)
    assert not reality.state.is_out
    assert reality.state.tracked == ()
    assert status_of(reality)["problems"]["IMDS"] is None
    if stage != "approving" and name in LASTING:
        assert [message for priority, message in reality.log if priority == levels.WARNING], "nobody was told"


@pytest.mark.parametrize("is_applied", [False, True], ids=["unheard", "heard"])
@pytest.mark.parametrize("name", ["400", "503", "an error as an answer", "garbage", "reset", "silence"])
def test_given_a_failing_approval_when_azure_received_it_or_not_then_the_event_is_approved_and_handled_once(
    name: str, is_applied: bool, reality: Reality
) -> None:
    at_stage("approving", reality)
    reality.simulator.fault(vm=VM_NAME, count=COUNT, methods=["POST"], applied=is_applied, **FAULTS[name])
    reality.tick_until(lambda: reality.restored)
    event = reality.event
    assert event["approvals"]
    assert event["started"] < event["not_before"]
    assert reality.steps() == ["deregister", "wait", "stop", "start", "register"]
    errors = [message for priority, message in reality.log if priority == levels.ERROR]
    answered = name == "an error as an answer"
    assert all(message.startswith("the approval did not arrive, and will be sent again: ") for message in errors)
    assert bool(errors) is not answered


def test_given_an_imds_that_throttles_when_polled_too_often_then_the_pause_is_three_seconds_at_most(
    reality: Reality,
) -> None:
    reality.run_until(5.0)
    reality.simulator.fault(vm=VM_NAME, count=1, **dict(FAULTS["429"], headers={"Retry-After": "7"}))
    asked = len(reality.poll_worker.jobs)
    reality.run_until(8.0)
    assert len(reality.poll_worker.jobs) == asked + 1
    reality.run_until(13.0)
    assert len(reality.poll_worker.jobs) >= asked + 4


def status_of(reality: Reality) -> Dict[str, Any]:
    agent: Optional[Any] = reality.agent
    assert agent is not None
    status: Dict[str, Any] = agent.status()
    return status
