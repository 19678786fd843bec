# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the agent take a Windows machine through events, whatever happens to it meanwhile?"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from azure_simulator.testing import Simulator

from .conftest import DATA, PATIENCE, PYTHON, STAGES, Agent, run, run_python, wait_for, windows

Make = Callable[..., Agent]
PREPARED = [*STAGES["drain"], *STAGES["shutdown"]]
LIFE: dict[str, Any] = {"impact": 1, "linger": 1}


def approvals(azure: Simulator) -> list[str]:
    """The ids of the events that were approved."""
    return [str(one["event_id"]) for one in azure.status()["events"] if one["approvals"]]


@pytest.mark.parametrize("event_type", ["Reboot", "Redeploy", "Freeze"])
def test_given_an_event_when_it_comes_then_the_machine_is_prepared_approved_and_restored(
    agent: Make, azure: Simulator, event_type: str
) -> None:
    here = agent()
    here.begin()
    assert here.is_ready()

    # It starts within seconds only if it is approved.
    azure.event(event_type, "win", **LIFE)
    here.wait_for(lambda: not here.is_ready())
    here.wait_for(here.is_ready)

    assert here.noted() == [*PREPARED, *STAGES["restore"]]


def test_given_a_slow_drain_when_the_machine_is_evicted_then_the_eviction_goes_first(
    agent: Make, azure: Simulator
) -> None:
    here = agent()
    here.settings["policies"] = [
        here.policy(match={"event_types": ["Reboot"]}, drain=[here.step("slow", 600)]),
        here.policy(match={"event_types": ["Preempt"]}),
    ]
    here.write()
    here.begin()
    azure.event("Reboot", "win", notice=3000)
    here.wait_for(lambda: "slow" in here.noted("begin"))

    azure.event("Preempt", "win", notice=30)
    here.wait_for(lambda: here.noted() == PREPARED)

    assert "slow" not in here.noted()


def test_given_hooks_in_a_directory_with_spaces_when_an_event_comes_then_they_run_in_order_and_hear_of_it(
    agent: Make, azure: Simulator
) -> None:
    here = agent("a (strange) name")
    hooks = here.directory / "hooks.d" / "drain"
    hooks.mkdir(parents=True)
    (hooks / "10 note.cmd").write_text(f'@echo %FOGHORN_EVENT_TYPE% one>>"{windows(here.notes)}"\r\n')
    (hooks / "20-note.bat").write_text(f'@echo %FOGHORN_STAGE% two>>"{windows(here.notes)}"\r\n')
    (hooks / "README.txt").write_text("Not a hook.")
    here.settings["policies"] = [{"approve": "when_ready", "drain": [{"hooks": True}]}]
    here.write()
    here.begin()

    azure.event("Freeze", "win", **LIFE)
    here.wait_for(lambda: here.notes.exists() and "two" in here.notes.read_text())

    assert here.notes.read_text().split() == ["Freeze", "one", "drain", "two"]


def test_given_a_step_that_hangs_when_its_time_is_up_then_nothing_of_it_is_left(agent: Make, azure: Simulator) -> None:
    here = agent()
    left = here.directory / "left"
    # It starts another program, and neither ends by itself.
    inner = f"import time; time.sleep(6); open({windows(left)!r}, 'w').close()"
    program = (
        f"import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-IS', '-c', {inner!r}])\ntime.sleep(600)\n"
    )
    hanging = {"command": [windows(PYTHON), "-IS", "-c", program], "name": "hangs", "timeout": 3}
    here.settings["policies"] = [here.policy(drain=[hanging])]
    here.write()
    here.begin()

    azure.event("Reboot", "win", notice=3000)
    failed = here.wait_for(lambda: [line for line in here.process.output.splitlines() if "timed out after 3 s" in line])

    assert failed
    with contextlib.suppress(AssertionError):
        wait_for(left.exists, seconds=8)
    assert not left.exists()


@pytest.mark.parametrize("at", ["deregister", "stop", "start"])
def test_given_a_step_under_way_when_the_agent_is_killed_then_the_next_one_goes_on(
    agent: Make, azure: Simulator, at: str
) -> None:
    here = agent()
    here.settings["policies"] = [
        here.policy(
            **{
                stage: [here.step(each, 2.0 if each == at else 0.05) for each in names]
                for stage, names in STAGES.items()
            }
        )
    ]
    here.write()
    here.begin()
    azure.event("Reboot", "win", **LIFE)
    here.wait_for(lambda: at in here.noted("begin"))

    here.process.kill()
    here.begin()
    here.wait_for(here.is_restored)

    # The one that was under way is begun again, and ended once: what it started ended with the agent.
    assert here.noted() == [*PREPARED, *STAGES["restore"]]
    assert here.noted("begin").count(at) == 2


def kinds(here: Agent) -> set[str]:
    """The kinds of records in its journal: of stages and steps, each stage's by itself."""
    with contextlib.suppress(OSError):
        lines = (here.directory / "state/journal.jsonl").read_text().splitlines(keepends=True)
        records = [json.loads(line) for line in lines if line.endswith("\n")]
        told = ("kind", "stage", "state", "name")
        return {" ".join(str(one[name]) for name in told if one.get(name)) for one in records}
    return set()


# The event waits for each new start of the agent, however long that takes.
@pytest.mark.parametrize("azure", [{"manual": True}], indirect=True)
def test_given_an_event_when_the_agent_is_killed_at_each_kind_of_record_then_the_next_one_goes_on(
    agent: Make, azure: Simulator
) -> None:
    steps = {
        f"{what} {stage} {name}"
        for what in ("step_begun", "step_ended")
        for stage, names in STAGES.items()
        for name in names
    }
    stages = {f"stage {stage} {state}" for stage in STAGES for state in ("begun", "succeeded")}
    here = agent()
    here.begin()
    known = kinds(here)
    azure.event("Reboot", "win", impact=60, linger=60, approval_delay=60)
    killed: set[str] = set()
    ends = time.monotonic() + PATIENCE

    def is_restored() -> bool:
        return {"stage restore succeeded"} <= killed and here.is_restored()

    while not is_restored():
        if kinds(here) - known:
            here.process.kill()
            fresh = kinds(here) - known
            killed |= fresh
            known |= killed
            here.begin()
            if "approved" in fresh:
                azure.advance(120)
        time.sleep(0.02)
        assert time.monotonic() < ends, here.process.output

    assert {"seen", "approving", "approved", *stages, *steps} - killed == set()
    assert approvals(azure)
    assert list(dict.fromkeys(here.noted())) == [*PREPARED, *STAGES["restore"]]


def test_given_a_full_disk_when_an_event_comes_then_the_machine_is_prepared_and_approved_when_there_is_room(
    agent: Make, azure: Simulator
) -> None:
    here = agent()
    state = here.directory / "state"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k,mode=700", "full", str(state)], check=True)
    try:
        here.begin()
        filler = state / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
        # What is left of the journal's last page does not hold it.
        azure.event("Reboot", "win", notice=600, impact=1, linger=1, description="x" * 8192)
        here.wait_for(lambda: here.noted() == PREPARED)
        assert here.status()["problems"]["journal"]
        assert approvals(azure) == []

        filler.unlink()
        here.wait_for(here.is_restored)
        assert approvals(azure)
    finally:
        here.end()
        subprocess.run(["umount", str(state)], check=True)


def test_given_an_agent_when_another_is_started_then_that_one_refuses(agent: Make) -> None:
    here = agent()
    here.begin()
    other = here.run("run")
    assert other.process.returncode == 1
    assert "another foghorn-agent is running" in other.output
    assert here.is_ready()


def test_given_commands_by_hand_then_they_work_and_strangers_are_not_heard(agent: Make) -> None:
    here = agent()
    here.begin()
    here.wait_for((here.directory / "state/control.json").exists)
    where = json.loads((here.directory / "state/control.json").read_text())
    requests = (
        b'{"request": "drain"}\n',
        b"0" * 64 + b'\n{"request": "drain"}\n',
        b"x" * 100_000,
        where["token"].encode() + b"\nnonsense\n",
        b"",
    )
    with contextlib.ExitStack() as opened:
        for request in requests:
            stranger = opened.enter_context(socket.create_connection(("127.0.0.1", where["port"])))
            with contextlib.suppress(OSError):
                stranger.sendall(request)
        drained = here.run("drain", "--wait", "5m")
        assert (drained.process.returncode, drained.output) == (0, "out of rotation until it is restored by hand\n")
    assert not here.is_ready()
    assert here.run("hold", "--for", "1h").output.startswith("nothing is approved until ")
    assert "by hand" in here.run("status").output
    assert here.run("release").process.returncode == 0
    waited = here.run("wait-back", "--for", "1", "--json")
    assert (waited.process.returncode, json.loads(waited.output)["reached"]) == (4, False)
    assert here.run("restore", "--wait", "5m").process.returncode == 0
    assert here.is_ready()
    assert "manual" in here.run("history").output
    assert "good, with 1 policy" in here.run("check-config").output
    assert "Preempt" in here.run("explain", "Preempt").output


def test_given_connections_when_an_event_comes_then_the_drain_waits_for_them(agent: Make, azure: Simulator) -> None:
    with contextlib.ExitStack() as opened:
        listener = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = listener.getsockname()[1]
        client = opened.enter_context(socket.create_connection(("127.0.0.1", port)))
        opened.enter_context(listener.accept()[0])
        here = agent()
        here.settings["policies"] = [
            here.policy(
                drain=[here.step("deregister"), {"wait_connections": [port], "timeout": 300}, here.step("wait")]
            )
        ]
        here.write()
        here.begin()
        azure.event("Reboot", "win", **LIFE)
        here.wait_for(lambda: "deregister" in here.noted())
        here.wait_for(lambda: "wait_connections" in here.process.output)
        assert here.noted() == ["deregister"]

        client.close()
        here.wait_for(here.is_ready)
    assert here.noted() == [*PREPARED, *STAGES["restore"]]


def test_given_two_members_when_an_event_hits_both_then_it_is_approved_once_when_both_are_ready(
    agent: Make, azure: Simulator
) -> None:
    members = {name: agent(name, vm=name) for name in ("win", "other")}
    urls = {name: f"http://127.0.0.1:{here.port}" for name, here in members.items()}
    for here in members.values():
        secret = here.directory / "members.secret"
        secret.write_text("0123456789abcdef0123456789abcdef")
        # What Windows is told of a file of Linux is its mode.
        secret.chmod(0o600)
        here.settings["quorum"] = {"secret_file": windows(secret), "members": urls}
        here.settings["policies"] = [here.policy(approve="quorum")]
        here.write()
        here.begin()

    azure.event("Reboot", ["win", "other"], **LIFE)

    for here in members.values():
        here.wait_for(here.is_restored)
        assert here.noted() == [*PREPARED, *STAGES["restore"]]


def test_given_a_webhook_and_a_check_of_the_application_then_both_are_done(agent: Make, azure: Simulator) -> None:
    heard: list[dict[str, Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_details: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Receiver) as server, socket.socket() as application:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # Bound and not listening yet: nobody can have its port.
        application.bind(("127.0.0.1", 0))
        here = agent(
            webhooks=[{"url": f"http://127.0.0.1:{server.server_port}/hook"}],
            ready_checks=[{"tcp": application.getsockname()[1], "interval": 1, "name": "app"}],
        )
        here.begin()
        here.wait_for(lambda: here.get("/readyz") == (503, "not ready: app\n"))
        application.listen()
        here.wait_for(here.is_ready)
        azure.event("Freeze", "win", **LIFE)
        here.wait_for(lambda: "restore" in [one["data"].get("stage") for one in heard])
        server.shutdown()


def test_given_a_webhook_whose_answer_never_ends_when_its_status_has_come_then_it_is_delivered() -> None:
    def serve() -> None:
        connection, _address = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 201 Created\r\nX: ")
            while True:
                connection.sendall(b"x")
                time.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        said = run_python(
            "from foghorn_agent.http.delivery import Request, deliver\n"
            f"print(deliver(Request('http://127.0.0.1:{listener.getsockname()[1]}/', '{{}}', timeout=1.0))[:3])"
        )

    assert said == "(True, False, '201 Created')\n"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"stop": "web.socket"}, "drain[0].stop: expected the name of a service"),
        ({"command": ["C:\\a.cmd", "50%"]}, "drain[0].command: C:\\a.cmd: cmd would change an argument"),
        (
            {"command": ["C:\\a.py"]},
            "drain[0].command: C:\\a.py: expected a file that ends in .exe, ",
        ),
        ({"command": ["relative.exe"]}, "drain[0].command: expected a list of texts whose first is an absolute path"),
    ],
)
def test_given_what_windows_has_not_when_the_configuration_is_checked_then_it_is_refused_by_name(
    agent: Make, step: dict[str, Any], said: str
) -> None:
    here = agent(policies=[{"drain": [step]}])
    checked = here.run("check-config")
    assert checked.process.returncode == 3, checked.output
    assert said in checked.output


def test_given_a_time_zone_when_it_has_a_name_then_it_is_refused_and_an_offset_is_taken(agent: Make) -> None:
    def check(zone: str) -> Any:
        window = {"from": "22:00", "to": "05:00", "time_zone": zone}
        checked = agent(policies=[{"drain": [{"pause": 1}], "approve_between": [window]}]).run("check-config")
        return checked.process.returncode, "approve_between[0].time_zone: expected UTC, +02:00" in checked.output

    # Wine finds the zones of Linux below the current drive, as Windows would find those of any user.
    assert check("Europe/Berlin") == (3, True)
    assert check("+02:00") == (0, False)


def test_given_the_program_when_asked_then_it_says_where_it_looks(program: Any) -> None:
    assert windows(DATA / "agent.json") in run(PYTHON, "-IS", program, "help").output
