# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The built program as one real process, against the simulator.

The simulator runs on Python 3.9 and later.
"""

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, Optional

import pytest
from edge_helpers import Receiver
from foghorn_agent import service as module
from foghorn_agent.platform import program as own_program
from real_agent import RealAgent, wait_for

if sys.version_info < (3, 9):
    pytest.skip("the simulator needs Python 3.9", allow_module_level=True)
pytest.importorskip("aiohttp")

from azure_simulator.testing import Simulator

HERE = Path(__file__).resolve().parent
FLEET = {"vms": [{"name": "web_0", "address": "127.0.0.1"}, {"name": "web_1", "address": "127.0.0.2"}]}
LIFE = {"notice": 60, "impact": 0.5, "linger": 4}


@pytest.fixture
def azure() -> Generator[Simulator, None, None]:
    with Simulator(FLEET) as simulator:
        yield simulator


@pytest.fixture
def receiver() -> Generator[Receiver, None, None]:
    with Receiver() as one:
        yield one


Begin = Callable[..., RealAgent]


@pytest.fixture
def begin(program: Path, azure: Simulator, tmp_path: Path) -> Generator[Begin, None, None]:
    tmp_path.chmod(0o755)
    agents: List[RealAgent] = []

    def start(settings: Optional[Dict[str, Any]] = None, name: str = "web_0") -> RealAgent:
        agents.append(RealAgent(program, tmp_path / name, azure.imds[name], settings))
        agents[-1].begin()
        wait_for(lambda: status(agents[-1]).get("vm_name"), agents)
        return agents[-1]

    yield start
    for agent in agents:
        agent.close()


def status(agent: RealAgent) -> Dict[str, Any]:
    run = agent.run("status", "--json")
    content: Dict[str, Any] = json.loads(run.stdout.decode("ascii")) if run.returncode == 0 else {}
    return content


def event_of(azure: Simulator) -> Dict[str, Any]:
    record: Dict[str, Any] = azure.status()["events"][0]
    return record


def is_restored(agent: RealAgent) -> Callable[[], bool]:
    return lambda: "register" in agent.noted("end") and not status(agent)["events"]


def test_given_a_reboot_when_it_is_handled_then_the_machine_does_too(begin: Begin, azure: Simulator) -> None:
    agent = begin()
    assert agent.ask("/readyz") == 200
    azure.event("Reboot", "web_0", **LIFE)
    wait_for(lambda: agent.ask("/readyz") == 503, [agent])
    wait_for(is_restored(agent), [agent])
    assert agent.noted("end") == ["deregister", "wait", "stop", "start", "register"]
    assert agent.ask("/readyz") == 200
    event = event_of(azure)
    assert [approval["vm"] for approval in event["approvals"]] == ["web_0"]
    assert event["started"] < event["not_before"]
    assert event["approvals"][0]["at"] >= agent.times("end", "stop")[0] - 0.01
    assert agent.times("begin", "start")[0] >= event["ended"] - 0.01

    history = agent.run("history").stdout.decode("ascii")
    for words in ("identity     web_0", "drain begun", "shutdown succeeded", "approved", "ended", "restore succeeded"):
        assert words in history
    table = agent.run("status").stdout.decode("ascii").splitlines()
    assert (table[0], table[-1]) == ("web_0  in rotation", "no events")


def test_given_a_python_that_is_removed_when_a_shared_event_comes_then_it_is_handled_as_ever(
    program: Path, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    vms = [dict(vm, availability_set="set") for vm in FLEET["vms"]]
    removed = tmp_path / "removed"
    settings = {"ready_checks": [{"command": ["/bin/true"]}]}
    with Simulator({"vms": vms}) as azure, contextlib.ExitStack() as stack:
        agents = [
            RealAgent(program, tmp_path / name, azure.imds[name], settings, HERE / "replaced_python.py")
            for name in ("web_0", "web_1")
        ]
        for agent in agents:
            stack.callback(agent.close)
            agent.begin({"FOGHORN_REPLACED": str(removed)})
        wait_for(lambda: all(status(agent).get("vm_name") for agent in agents), agents)
        for agent, other, name in zip(agents, reversed(agents), ("web_1", "web_0")):
            agent.set("quorum", {"secret_file": str(agent.secret_file), "members": {name: other.url}, "interval": 0.5})
            agent.send_signal(signal.SIGHUP)
        in_effect = "the new configuration is in effect"
        wait_for(lambda: all(in_effect in agent.output.read_text() for agent in agents), agents)
        removed.touch()
        azure.event("Reboot", ["web_1", "web_0"], **LIFE)
        wait_for(lambda: all("register" in agent.noted("end") for agent in agents), agents)
        event = event_of(azure)
    assert event["started"] < event["not_before"]


def test_given_a_step_under_way_when_told_to_stop_then_the_step_is_ended_and_run_again_at_the_next_start(
    begin: Begin, azure: Simulator, tmp_path: Path
) -> None:
    script = "echo $$ >> %s/pids; test -e %s/go || exec sleep 600" % (tmp_path, tmp_path)
    policy = {"drain": [{"command": ["/bin/sh", "-c", script], "name": "slow", "timeout": 600}], "begin_before": 900}
    agent = begin({"policies": [policy]})
    azure.event("Reboot", "web_0", **dict(LIFE, notice=900))
    wait_for((tmp_path / "pids").exists, [agent])
    wait_for(lambda: status(agent)["step"], [agent])
    assert agent.end(signal.SIGTERM) == 0
    pid = int((tmp_path / "pids").read_text().split()[0])
    assert not Path("/proc/%d" % pid).exists()
    assert "stopped" in agent.output.read_text()

    (tmp_path / "go").write_text("")
    agent.begin()
    wait_for(lambda: "drain succeeded" in agent.run("history").stdout.decode("ascii"), [agent])
    assert len((tmp_path / "pids").read_text().split()) == 2


def test_given_a_dry_run_when_it_is_made_real_in_the_middle_of_an_event_then_from_there_on_all_is_done(
    begin: Begin, azure: Simulator, receiver: Receiver
) -> None:
    agent = begin({"dry_run": True, "webhooks": [{"url": receiver.url}]})
    azure.event("Reboot", "web_0", **LIFE)
    wait_for(lambda: "dry run: would approve Reboot" in agent.output.read_text(), [agent])
    assert agent.ask("/readyz") == 200
    assert "dry run: Reboot" in agent.output.read_text()
    assert "drain: deregister: would run /bin/sh" in agent.output.read_text()
    assert (agent.noted("begin"), event_of(azure)["approvals"], receiver.heard) == ([], [], [])
    assert not (agent.directory / "state" / "journal.jsonl").exists()
    agent.set("dry_run", False)
    agent.send_signal(signal.SIGHUP)
    wait_for(is_restored(agent), [agent])
    assert agent.noted("begin") == ["deregister", "wait", "stop", "start", "register"]
    assert event_of(azure)["started"] < event_of(azure)["not_before"]
    wait_for(lambda: "restore" in {json.loads(one.body)["data"].get("stage") for one in receiver.heard}, [agent])


def test_given_a_hook_that_fails_when_the_agent_is_killed_and_tries_again_then_the_hooks_before_it_have_run_once(
    begin: Begin, azure: Simulator, tmp_path: Path
) -> None:
    drain = tmp_path / "hooks" / "drain"
    drain.mkdir(mode=0o755, parents=True)
    for name, script in (("10-good", "true"), ("20-bad", "test -e %s/well" % tmp_path), ("30-last", "true")):
        (drain / name).write_text("#!/bin/sh\necho ${0##*/} >> %s/ran\n%s\n" % (tmp_path, script))
        (drain / name).chmod(0o755)
    policy = {"drain": [{"hooks": True, "timeout": 600}], "begin_before": 900}
    agent = begin({"policies": [policy], "hooks_directory": str(tmp_path / "hooks")})
    azure.event("Reboot", "web_0", notice=900)
    wait_for(lambda: status(agent)["failing"], [agent])
    assert status(agent)["failing"][0]["error"] == "20-bad: exit status 1"
    agent.end(signal.SIGKILL)
    (tmp_path / "well").touch()
    agent.begin()
    wait_for(lambda: "drain succeeded" in agent.output.read_text(), [agent])
    ran = (tmp_path / "ran").read_text().split()
    assert (ran.count("10-good"), ran[-2:]) == (1, ["20-bad", "30-last"])


def test_given_a_silent_imds_when_the_agent_waits_then_the_endpoint_answers_and_no_processor_time_is_wasted(
    begin: Begin, azure: Simulator
) -> None:
    agent = begin({"imds": {"endpoint": azure.imds["web_0"], "poll_interval": 0.25, "timeout": 5}})
    azure.fault("silence", "web_0")
    wait_for(lambda: "IMDS cannot be read" in agent.output.read_text(), [agent])
    before = processor_seconds(agent)
    for _time in range(20):
        assert agent.ask("/readyz") == 200
        threading.Event().wait(0.1)
    # A loop that never sleeps would have burnt as much time as has gone by.
    assert processor_seconds(agent) - before < 0.5


NASTY = """
trap '' TERM
(trap '' TERM; echo child $$ > {directory}/began; sleep 600) &
yes flood
"""


def test_given_a_hook_that_ignores_sigterm_forks_and_floods_when_an_eviction_comes_then_it_is_drained_for_at_once(
    begin: Begin, azure: Simulator, tmp_path: Path
) -> None:
    hooks = tmp_path / "hooks"
    (hooks / "drain").mkdir(mode=0o755, parents=True)
    hook = hooks / "drain" / "10-nasty"
    hook.write_text("#!/bin/sh" + NASTY.format(directory=tmp_path))
    hook.chmod(0o755)
    policies = [
        {"match": {"event_types": ["Preempt"]}, "drain": [{"command": ["/bin/touch", str(tmp_path / "drained")]}]},
        {"drain": [{"hooks": True, "timeout": 600}], "begin_before": 900},
    ]
    agent = begin({"policies": policies, "hooks_directory": str(hooks)})
    azure.event("Reboot", "web_0", notice=900)
    wait_for((tmp_path / "began").exists, [agent])
    for _time in range(20):
        assert agent.ask("/readyz") == 503
        threading.Event().wait(0.05)
    group = int((tmp_path / "began").read_text().split()[1])
    assert is_alive(group)
    azure.event("Preempt", "web_0", notice=30)
    wait_for((tmp_path / "drained").exists, [agent])
    assert not is_alive(group)
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)
    took = records(agent, "step_begun")[-1]["at"] - records(agent, "seen")[-1]["at"]
    # Half a second of grace, and what a busy machine takes for two wakings.
    assert 0.4 < took < 5.0
    # It may have begun the hook again, which nothing else would end.
    agent.end(signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(int((tmp_path / "began").read_text().split()[1]), signal.SIGKILL)


def is_alive(pid: int) -> bool:
    return Path("/proc/%d" % pid).exists()


def records(agent: RealAgent, kind: str) -> List[Dict[str, Any]]:
    lines = agent.run("history", "--json").stdout.decode("ascii").splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


def processor_seconds(agent: RealAgent) -> float:
    assert agent._process is not None
    words = Path("/proc/%d/stat" % agent._process.pid).read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / 100.0


def test_given_a_state_directory_that_is_removed_when_the_agent_is_killed_and_back_then_it_knows_what_it_did(
    begin: Begin, azure: Simulator
) -> None:
    agent = begin()
    azure.event("Reboot", "web_0", **dict(LIFE, impact=4))
    wait_for(lambda: agent.noted("begin"), [agent])
    shutil.rmtree(agent.directory / "state")
    wait_for(lambda: event_of(azure).get("started"), [agent])
    wait_for(lambda: agent.run("hold").returncode == 0, [agent])
    agent.end(signal.SIGKILL)
    agent.begin()
    wait_for(lambda: "register" in agent.noted("end"), [agent])
    assert b"nothing is approved until it is released" in agent.run("status").stdout


def test_given_a_checkout_when_asked_where_the_program_is_then_it_is_the_packages_directory() -> None:
    assert own_program.path() == str(Path(module.__file__).resolve().parent)
