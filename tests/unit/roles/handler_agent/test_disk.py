# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does the agent do while its disk hangs? It answers and watches, and does nothing that must be written first.

Runs on Python 3.6 and later.
"""

import contextlib
import json
import os
import resource
import select
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any, Dict, Generator, List, Optional, Set

import pytest
from ansible_collections.foghorn.azure_events.tests.sizes import sample
from edge_helpers import EVENTS, PATIENCE, Clock, MetadataService
from foghorn_agent.http.status import as_table
from foghorn_agent.io.disk import Disk
from real_agent import RealAgent, wait_for
from rehearsal import Life, Rehearsal, fleet_of, tick_all

HERE = Path(__file__).resolve().parent
# --- the thread -----------------------------------------------------------------------------------


def test_given_several_jobs_when_one_fails_then_all_are_done_in_order_and_each_result_is_handed_on() -> None:
    disk = Disk(Clock())
    results: List[Any] = []
    done: List[str] = []
    release = threading.Event()

    def fail() -> None:
        raise OSError("no space")

    def wait() -> None:
        release.wait(PATIENCE)
        done.append("first")

    disk.do(wait, results.append)
    disk.do(fail, results.append)
    disk.do(lambda: "third", results.append)
    disk.collect()
    assert (results, disk.began) == ([], 1000.0)
    release.set()
    while disk.began is not None:
        select.select([disk], [], [], PATIENCE)
        disk.collect()
    disk.close()
    assert done == ["first"]
    assert [str(result) for result in results] == ["None", "no space", "third"]


# --- in memory ------------------------------------------------------------------------------------


def test_given_a_disk_that_hangs_when_an_eviction_comes_then_the_probe_says_no_first_and_nothing_else_is_done() -> None:
    rehearsal = Rehearsal([Life("Preempt", notice=30.0)])
    rehearsal.run_until(2.0)
    before = list(rehearsal.history)
    rehearsal.disk_hangs = True
    rehearsal.run_until(4.0)
    assert rehearsal.answer("/readyz")[0] == 503
    rehearsal.run_until(10.0)
    assert rehearsal.history == before
    assert (rehearsal.steps(), rehearsal.told, rehearsal.approvals) == ([], before_told(rehearsal), [])
    # All of it is said, at every door.
    status = rehearsal.status()
    problem = status["problems"]["journal"]
    assert problem.startswith(
        "/var/lib/foghorn-agent/journal.jsonl: the disk has not answered since 2026-01-01T00:00:0"
    )
    assert problem in as_table(status)
    assert problem in rehearsal.answer("/healthz")[1]
    assert 'foghorn_problems{with="journal"} 1.0\n' in rehearsal.answer("/metrics")[1]
    assert "foghorn_journal_unwritten 0.0\n" not in rehearsal.answer("/metrics")[1]
    assert rehearsal.messages("has not answered") == [problem]
    assert len(rehearsal.poll_worker.jobs) == 10

    rehearsal.disk_hangs = False
    rehearsal.run_until(11.0)
    assert rehearsal.steps() == ["deregister"]
    assert [record["kind"] for record in rehearsal.told][-1] == "stage"
    rehearsal.tick_until(lambda: rehearsal.approvals)
    assert rehearsal.status()["problems"]["journal"] is None


def before_told(rehearsal: Rehearsal) -> List[Dict[str, Any]]:
    return [record for record in rehearsal.told if record["kind"] in ("first_start", "identity")]


HANGS_AT = sample([(name, at) for name in ("Reboot", "Preempt") for at in range(2, 45)], lambda point: point[0])


@pytest.mark.parametrize("is_killed", [False, True])
def test_given_a_disk_that_hangs_at_any_moment_when_it_goes_on_then_nothing_was_done_meanwhile_and_nothing_is_lost(
    is_killed: bool,
) -> None:
    for event_type, at in HANGS_AT:
        where = "%s, the disk hangs at %d s" % (event_type, at)
        rehearsal = Rehearsal([Life(event_type, notice=120.0, fate="unharmed", linger=30.0)])
        rehearsal.run_until(float(at))
        rehearsal.disk_hangs = True
        begun, approved, written = list(rehearsal.steps_begun), list(rehearsal.approvals), list(rehearsal.history)
        rehearsal.run_until(at + 12.0)
        assert rehearsal.steps_begun == begun, where
        assert rehearsal.approvals == approved, where
        if rehearsal.boots == 0:
            assert rehearsal.history == written, where
        if is_killed:
            rehearsal.kill()
        rehearsal.disk_hangs = False
        rehearsal.run_until(rehearsal.now + 20.0)
        # An end of the machine that did not come is waited for.
        while not rehearsal.azure.is_over or rehearsal.state.is_out:
            assert rehearsal.now < 1000.0, where
            rehearsal.tick()
        assert not rehearsal.touched, where
        assert rehearsal.approvals, where


def test_given_a_disk_that_hangs_when_other_members_ask_then_this_machine_does_not_say_that_it_is_ready() -> None:
    lives = [Life("Reboot", notice=200.0, resources=("web_0", "web_1"))]
    one, other = fleet_of(["web_0", "web_1"], lives)
    while "stop" not in other.steps():
        tick_all([one, other])
    other.disk_hangs = True
    tick_all([one, other], 30)
    assert [event["ready"] for event in other.status()["events"]] == [False]
    assert one.approvals == []
    other.disk_hangs = False
    one.tick_until(lambda: tick_all([other]) or one.approvals)  # type: ignore[func-returns-value]


def test_given_a_disk_that_is_slower_than_what_was_seen_holds_when_an_approval_is_due_then_it_is_sent() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=200.0)])
    for _second in range(180):
        if rehearsal.approvals:
            break
        rehearsal.disk_hangs = int(rehearsal.now) % 4 != 0
        rehearsal.tick()
    assert len(rehearsal.approvals) == 1


def test_given_a_disk_that_hangs_when_asked_by_hand_then_it_holds_at_once_and_the_answer_says_what_is_missing() -> None:
    rehearsal = Rehearsal()
    rehearsal.run_until(5.0)
    rehearsal.disk_hangs = True
    say = rehearsal.running.handle_command({"request": "drain"})
    assert rehearsal.answer("/readyz")[0] == 503
    assert say() is None
    rehearsal.run_until(7.0)
    assert "; it is lost when the agent restarts: /var/lib" in str(say())
    assert rehearsal.steps() == []
    rehearsal.disk_hangs = False
    rehearsal.run_until(8.0)
    assert say() == "out of rotation until it is restored by hand"
    assert rehearsal.steps() == ["deregister"]


def test_given_a_disk_that_hangs_for_long_when_much_happens_then_what_is_kept_for_it_stays_bounded() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)])
    rehearsal.run_until(2.0)
    rehearsal.disk_hangs = True
    rehearsal.run_until(10.0)
    recorder = rehearsal.running._recorder
    for _time in range(3):
        recorder.commit(*({"kind": "clock", "by": 0.0} for _record in range(900)))
        rehearsal.tick()
    assert len(recorder.unwritten) <= 1000
    state = rehearsal.state
    rehearsal.disk_hangs = False
    recorder.collect()
    recorder.write(rehearsal.now)
    recorder.collect()
    rehearsal.kill()
    rehearsal.disk_hangs = True
    rehearsal.run_until(rehearsal.now + 5.0)
    assert rehearsal.state.find("E-1") == state.find("E-1")


# --- a real process -------------------------------------------------------------------------------

EVENT = {
    "EventId": "E-1",
    "EventType": "Preempt",
    "ResourceType": "VirtualMachine",
    "Resources": ["web_0"],
    "EventStatus": "Scheduled",
    "NotBefore": "",
    "Description": "",
    "EventSource": "Platform",
    "DurationInSeconds": -1,
}


ANNOUNCED = (200, {"DocumentIncarnation": 2, "Events": [EVENT]})


class Hanging(RealAgent):
    """A machine whose disk can be made to hang, with a service manager that listens."""

    def __init__(self, program: Path, directory: Path, endpoint: str) -> None:
        super().__init__(program, directory, endpoint, launcher=HERE / "hanging_disk.py")
        self.flag = directory / "hang"
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(directory / "notify"))
        self.manager.setblocking(False)
        (directory / "run").mkdir()

    def start(self) -> None:
        self.begin(
            {
                "FOGHORN_HANG": str(self.flag),
                "NOTIFY_SOCKET": str(self.directory / "notify"),
                "WATCHDOG_USEC": "400000",
                "STATE_DIRECTORY": str(self.directory / "state"),
                "RUNTIME_DIRECTORY": str(self.directory / "run"),
            }
        )

    def heard(self) -> Set[str]:
        """What the service manager was told since it was asked last."""
        found = set()
        with contextlib.suppress(BlockingIOError):
            while True:
                found.add(self.manager.recv(4096).decode("utf-8"))
        return found

    def hang(self, *calls: str) -> None:
        self.flag.write_text(" ".join(calls))

    def go_on(self) -> None:
        self.flag.unlink()

    def close(self) -> None:
        super().close()
        self.manager.close()


@pytest.fixture
def imds() -> Generator[MetadataService, None, None]:
    with MetadataService() as one:
        yield one


@pytest.fixture
def agent(program: Path, imds: MetadataService, tmp_path: Path) -> Generator[Hanging, None, None]:
    tmp_path.chmod(0o755)
    one = Hanging(program, tmp_path / "web_0", imds.url)
    yield one
    one.close()


def assert_alive(agent: Hanging) -> None:
    """It gives signs of life, and answers."""
    agent.heard()
    wait_for(lambda: "WATCHDOG=1" in agent.heard(), [agent])
    for path in ("/metrics", "/status", "/healthz"):
        assert agent.ask(path) == 200
    assert b"the disk has not answered since" in wait_for(lambda: problem_of(agent), [agent])


def problem_of(agent: Hanging) -> Optional[bytes]:
    said = agent.run("status").stdout
    return said if b"journal  " in said else None


def test_given_a_disk_that_hangs_when_an_eviction_comes_then_the_agent_lives_and_stops_in_time(
    agent: Hanging, imds: MetadataService
) -> None:
    agent.start()
    wait_for(lambda: agent.ask("/readyz") == 200 and b"web_0" in agent.run("status").stdout, [agent])
    agent.hang("fsync")
    imds.answers[EVENTS] = ANNOUNCED
    began = time.monotonic()
    wait_for(lambda: agent.ask("/readyz") == 503, [agent])
    assert time.monotonic() - began < 5.0
    assert_alive(agent)
    assert agent.noted("begin") == []
    began = time.monotonic()
    assert agent.end() == 0
    # systemd waits for 20 s.
    assert time.monotonic() - began < 10.0


def test_given_a_disk_that_hangs_for_a_while_when_it_goes_on_then_so_does_the_work(
    agent: Hanging, imds: MetadataService
) -> None:
    agent.start()
    wait_for(lambda: agent.ask("/readyz") == 200 and b"web_0" in agent.run("status").stdout, [agent])
    agent.hang("fsync")
    imds.answers[EVENTS] = ANNOUNCED
    wait_for(lambda: agent.ask("/readyz") == 503, [agent])
    assert_alive(agent)
    # The copy of the configuration waits as well.
    agent.set("margin", 3)
    agent.send_signal(1)
    wait_for(lambda: "the new configuration is in effect" in agent.output.read_text(), [agent])
    assert b"it is lost when the agent restarts" in agent.run("hold").stdout
    assert_alive(agent)
    assert agent.noted("begin") == []
    agent.go_on()
    wait_for(lambda: agent.noted("end") == ["deregister", "wait", "stop"], [agent])
    assert b"nothing is approved until it is released" in agent.run("hold").stdout
    copy = agent.directory / "state" / "agent.last_good.json"
    wait_for(lambda: json.loads(copy.read_text())["margin"] == 3, [agent])


def test_given_no_descriptors_left_when_a_step_begins_then_clients_that_send_nothing_go(
    agent: Hanging, imds: MetadataService
) -> None:
    agent.start()
    wait_for(lambda: agent.ask("/readyz") == 200 and b"web_0" in agent.run("status").stdout, [agent])
    assert agent._process is not None
    address = ("127.0.0.1", int(agent.url.rpartition(":")[2]))
    with contextlib.ExitStack() as stack:
        for _client in range(50):
            stack.enter_context(socket.create_connection(address, PATIENCE))
        wait_for(lambda: len(descriptors_of(agent)) > 60, [agent])
        most = max(descriptors_of(agent)) + 1
        resource.prlimit(agent._process.pid, resource.RLIMIT_NOFILE, (most, most))
        imds.answers[EVENTS] = ANNOUNCED
        wait_for(lambda: agent.noted("end") == ["deregister", "wait", "stop"], [agent])
    assert "could not be started" not in agent.output.read_text()


def descriptors_of(agent: Hanging) -> List[int]:
    assert agent._process is not None
    return [int(name) for name in os.listdir("/proc/%d/fd" % agent._process.pid)]


def test_given_a_disk_that_hangs_when_the_agent_begins_then_it_lives_and_the_machine_is_out_until_it_is_known(
    agent: Hanging,
) -> None:
    agent.hang("open")
    agent.start()
    wait_for(lambda: agent.ask("/readyz") == 503, [agent])
    assert_alive(agent)
    agent.go_on()
    wait_for(lambda: agent.ask("/readyz") == 200, [agent])
    assert not problem_of(agent)


def test_given_an_event_that_ended_while_the_disk_hung_at_the_start_when_it_goes_on_then_the_machine_is_restored(
    agent: Hanging, imds: MetadataService
) -> None:
    agent.start()
    wait_for(lambda: agent.ask("/readyz") == 200 and b"web_0" in agent.run("status").stdout, [agent])
    imds.answers[EVENTS] = (200, {"DocumentIncarnation": 2, "Events": [dict(EVENT, EventType="Reboot")]})
    wait_for(lambda: "stop" in agent.noted("end"), [agent])
    agent.end(signal.SIGKILL)
    imds.answers[EVENTS] = (200, {"DocumentIncarnation": 3, "Events": []})
    agent.hang("open")
    agent.start()
    wait_for(lambda: agent.ask("/readyz") == 503, [agent])
    asked = len(imds.asked)
    wait_for(lambda: len(imds.asked) > asked + 8, [agent])
    agent.go_on()
    wait_for(lambda: agent.ask("/readyz") == 200, [agent])
    assert agent.noted("end") == ["deregister", "wait", "stop", "start", "register"]


def test_given_a_journal_that_appears_late_when_nothing_is_under_way_then_what_it_began_is_brought_to_its_end() -> None:
    before = Rehearsal([Life("Freeze", notice=60.0)])
    before.tick_until(lambda: before.approvals)
    rehearsal = Rehearsal([])
    rehearsal.touched = True
    rehearsal.run_until(5.0)
    rehearsal.journal.lose(list(before.records))
    # Its events are missed in a document that is older than it knows, and doubted for five minutes.
    rehearsal.run_until(400.0)
    assert rehearsal.steps() == ["start", "register"]
    assert not rehearsal.state.is_out
