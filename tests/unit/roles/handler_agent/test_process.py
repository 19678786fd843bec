# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent with all its edges, within the process of the tests: that it begins, is heard of, and ends.

What it does in between is tested with real processes, beside this file. Runs on Python 3.6 and later.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, Tuple

import pytest
from ansible_collections.foghorn.azure_events.tests.ports import free_port
from edge_helpers import PATIENCE, environment_of_agent, put, wait_until
from foghorn_agent.cli import main
from foghorn_agent.config import Config, ConfigError, parse_config
from foghorn_agent.decide.state import State, Tracked
from foghorn_agent.http.webhooks import Report, Request
from foghorn_agent.io import log as levels
from foghorn_agent.io.config_file import ConfigFile
from foghorn_agent.io.control import ask_agent
from foghorn_agent.io.journal import Journal
from foghorn_agent.platform.posix.wakeups import Signals
from foghorn_agent.service import Service, serve
from foghorn_core.scheduled_events.document import event_as_azure
from foghorn_core.scheduled_events.event import Event

NOBODY = "http://127.0.0.1:9"


def content(directory: Path, **more: Any) -> Dict[str, Any]:
    chosen: Dict[str, Any] = {
        "imds": {"endpoint": NOBODY, "first_timeout": 0.1},
        "listen": [{"address": "127.0.0.1", "port": free_port()}],
        "state_directory": str(directory / "state"),
        "hooks_directory": str(directory / "hooks.d"),
    }
    return dict(chosen, **more)


def config(directory: Path, **more: Any) -> Config:
    return parse_config(content(directory, **more))


def write(path: Path, chosen: Any) -> str:
    path.parent.chmod(0o755)
    put(path, chosen if isinstance(chosen, str) else json.dumps(chosen))
    return str(path)


def answer_of(port: int) -> str:
    with contextlib.suppress(OSError), urllib.request.urlopen("http://127.0.0.1:%d/healthz" % port) as answer:
        return str(answer.read().decode("ascii"))
    return ""


def test_given_a_service_manager_when_the_agent_runs_until_it_is_told_to_stop_then_it_says_how_it_is(
    tmp_path: Path, capfd: "pytest.CaptureFixture[str]"
) -> None:
    chosen = content(tmp_path)
    port = chosen["listen"][0]["port"]
    path = str(tmp_path / "notify")
    heard: List[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(PATIENCE)

        def ask_and_stop() -> None:
            heard.append(wait_until(lambda: answer_of(port)))
            os.kill(os.getpid(), signal.SIGTERM)

        thread = threading.Thread(target=ask_and_stop)
        thread.start()
        file = write(tmp_path / "agent.json", chosen)
        assert serve(file, {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "20000000"}) == 0
        thread.join(PATIENCE)
        said = [manager.recv(1000).decode("ascii")]
        while said[-1] != "STOPPING=1":
            said.append(manager.recv(1000).decode("ascii"))
    assert heard[0].startswith("running\n")
    assert said[:3] == ["READY=1", "WATCHDOG=1", "STATUS=in rotation"]
    lines = capfd.readouterr().err.splitlines()
    assert "<5>watching " + NOBODY in lines
    assert lines[-1] == "<5>stopped"


def meanwhile(do: Callable[[], Any]) -> threading.Thread:
    """Do something while the agent runs, and then tell it to stop."""

    def run() -> None:
        try:
            do()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def health_at(path: Path) -> str:
    """What the agent says at its UNIX socket."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(str(path))
        client.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
        with client.makefile("rb") as answer:
            return answer.read().partition(b"\r\n\r\n")[2].decode("ascii")
    return ""


def status_at(runtime: Path) -> str:
    """What `foghorn-agent status` says to somebody who may not read the configuration, nor reach the port."""
    run = subprocess.run(
        [sys.executable, "-m", "foghorn_agent", "status", "--config", "/dev/null/nowhere"],
        env=dict(environment_of_agent(), RUNTIME_DIRECTORY=str(runtime)),
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
        check=True,
    )
    return run.stdout.decode("ascii")


def test_given_an_address_that_it_cannot_have_when_served_then_it_says_so_and_runs_until_it_can(
    tmp_path: Path, capfd: "pytest.CaptureFixture[str]"
) -> None:
    chosen = content(tmp_path)
    runtime = tmp_path / "run"
    runtime.mkdir()
    said: List[str] = []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", chosen["listen"][0]["port"]))
        taken.listen(1)

        def look() -> None:
            said.append(wait_until(lambda: re.match("(?s).*\nendpoint: ", health_at(runtime / "agent.sock"))).string)
            said.append(status_at(runtime))
            taken.close()
            wait_until(lambda: "endpoint: " not in (health_at(runtime / "agent.sock") or "endpoint: "))

        thread = meanwhile(look)
        assert serve(write(tmp_path / "agent.json", chosen), {"RUNTIME_DIRECTORY": str(runtime)}) == 0
        thread.join(PATIENCE)
    lines = capfd.readouterr().err.splitlines()
    assert "\nendpoint: cannot listen on 127.0.0.1" in said[0]
    assert "\nendpoint  cannot listen on 127.0.0.1" in said[1]
    assert [line for line in lines if "The agent retries, and handles events meanwhile" in line]
    assert "<5>the endpoint listens on all of its addresses" in lines


def test_given_a_configuration_that_is_broken_since_when_asked_by_hand_then_the_running_agent_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: "pytest.CaptureFixture[str]"
) -> None:
    runtime = tmp_path / "run"
    runtime.mkdir()
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(runtime))
    file = write(tmp_path / "agent.json", content(tmp_path))
    said: List[Tuple[int, str]] = []

    def ask() -> None:
        wait_until(lambda: health_at(runtime / "agent.sock"))
        put(Path(file), '{"margin": ')
        for command in (["hold"], ["release"], ["drain"], ["history"], ["restore"]):
            capfd.readouterr()
            said.append((main([*command, "--config", file]), capfd.readouterr().out))

    thread = meanwhile(ask)
    assert serve(file, {"RUNTIME_DIRECTORY": str(runtime)}) == 0
    thread.join(PATIENCE)
    assert [status for status, _text in said] == [0] * 5, said
    assert "  held\n" in said[3][1]


def test_given_a_broken_configuration_when_served_then_it_waits_for_a_good_one(
    tmp_path: Path, capfd: "pytest.CaptureFixture[str]"
) -> None:
    path = tmp_path / "agent.json"
    write(path, "{")
    chosen = content(tmp_path)
    said: List[str] = []

    def has_said(words: str) -> bool:
        said.append(capfd.readouterr().err)
        return words in "".join(said)

    def correct() -> None:
        wait_until(lambda: has_said("no event is handled until the configuration is corrected"))
        write(path, chosen)
        wait_until(lambda: answer_of(chosen["listen"][0]["port"]))

    thread = meanwhile(correct)
    assert serve(str(path), {}) == 0
    thread.join(PATIENCE)
    assert has_said("<5>stopped\n")


@pytest.mark.parametrize("is_lost", [False, True])
def test_given_a_configuration_that_was_good_when_it_is_broken_at_the_next_start_then_the_last_good_one_is_used(
    tmp_path: Path, capfd: "pytest.CaptureFixture[str]", is_lost: bool
) -> None:
    path = tmp_path / "agent.json"
    (tmp_path / "state").mkdir(mode=0o750)
    environment = {"STATE_DIRECTORY": str(tmp_path / "state")}
    chosen = content(tmp_path)
    port = chosen["listen"][0]["port"]
    thread = meanwhile(lambda: wait_until(lambda: answer_of(port)))
    assert serve(write(path, chosen), environment) == 0
    thread.join(PATIENCE)

    path.unlink() if is_lost else write(path, "{")
    answers: List[str] = []

    def look_and_correct() -> None:
        answers.append(wait_until(lambda: answer_of(port)))
        write(path, dict(chosen, margin=3))
        wait_until(lambda: "configuration: " not in (answer_of(port) or "configuration: "))

    thread = meanwhile(look_and_correct)
    assert serve(str(path), environment) == 0
    thread.join(PATIENCE)
    assert "\nconfiguration: %s: is %s" % (path, "missing" if is_lost else "not JSON") in answers[0]
    said = capfd.readouterr().err
    assert "the last valid one stays in effect" in said
    assert "the new configuration is in effect" in said


def test_given_another_agent_on_the_machine_when_served_then_it_says_so_and_fails(
    tmp_path: Path, capfd: "pytest.CaptureFixture[str]"
) -> None:
    other = Journal(str(tmp_path / "state"))
    other.open()
    assert serve(write(tmp_path / "agent.json", content(tmp_path)), {}) == 1
    other.close()
    assert capfd.readouterr().err.splitlines()[-1].startswith("<3>cannot start: ")


@pytest.fixture
def service(tmp_path: Path, signals: Signals) -> Generator[Any, None, None]:
    """What makes a service, and closes what it has opened."""
    made: List[Service] = []
    said: List[Any] = []

    def make(**more: Any) -> Any:
        file = ConfigFile(str(tmp_path / "missing"))
        one = Service(config(tmp_path, **more), {}, lambda *what, **_fields: said.append(what), signals, (), file)
        made.append(one)
        return one, said

    yield make
    for one in made:
        one.close()


def test_given_webhooks_when_something_happens_then_each_receives_what_it_asked_for(service: Any) -> None:
    one, _said = service(
        webhooks=[
            {"url": NOBODY + "/all", "headers": {"X-From": "us"}},
            {"url": NOBODY + "/drains", "stages": ["drain"], "wrap": ["extra_vars", "event"]},
        ]
    )
    # As the agent itself: neither the environment nor packages of the machine change what it runs.
    assert one._webhooks._command[1] == "-IS"
    added: List[Request] = []
    one._webhooks.add = added.append
    state = State(vm_name="web_0")
    one._notify({"kind": "stage", "stage": "drain", "state": "begun", "event_id": "E-1", "at": 5.25}, state)
    one._notify({"kind": "approved", "event_ids": ["E-1", "E-2"], "at": 6.0}, state)
    assert [request.url[len(NOBODY) :] for request in added] == ["/all", "/drains", "/all"]
    assert added[0].headers == (("X-From", "us"),)
    first = json.loads(added[0].body)
    assert (first["type"], first["source"]) == ("io.foghorn.azure_events.drain", "/foghorn-agent/web_0")
    assert first["id"] == "web_0/E-1/drain/1970-01-01T00:00:05.250000Z"
    assert json.loads(added[1].body) == {"extra_vars": {"event": first}}
    assert [request.content_type.partition(";")[0] for request in added] == [
        "application/cloudevents+json",
        "application/json",
        "application/cloudevents+json",
    ]
    assert json.loads(added[2].body)["id"].startswith("web_0/E-1 E-2/approved/")


def test_given_a_dry_run_when_something_happens_then_no_webhook_is_called(service: Any) -> None:
    one, _said = service(dry_run=True, webhooks=[{"url": NOBODY}])
    one._notify({"kind": "approved", "event_ids": ["E-1"], "at": 6.0}, State(vm_name="web_0"))
    assert len(one._webhooks) == 0


def test_given_webhooks_with_bodies_and_states_when_something_happens_then_they_are_filled_and_sent_for_these(
    service: Any,
) -> None:
    one, _said = service(
        webhooks=[
            {
                "url": NOBODY,
                "states": ["begun"],
                "body": {"text": "$text", "until": "${in_3600}", "of": [1, "$event_type"]},
            },
            {"url": NOBODY, "stages": ["seen"], "body": "$vm_name: $event_id $not_before$$"},
        ]
    )
    added: List[Request] = []
    one._webhooks.add = added.append
    event = Event("E-1", "Reboot", "Scheduled", ("web_0",), datetime(2026, 1, 1, tzinfo=timezone.utc))
    state = State(vm_name="web_0", tracked=(Tracked(event, event),))
    for done in ("begun", "succeeded"):
        one._notify({"kind": "stage", "stage": "drain", "state": done, "event_id": "E-1", "at": 5.25}, state)
    one._notify({"kind": "seen", "event": event_as_azure(event), "at": 5.25}, State(vm_name="web_0"))
    one._notify({"kind": "approved", "event_ids": ["E-2"], "at": 6.0}, state)
    assert [(request.content_type.partition(";")[0], request.body) for request in added] == [
        (
            "application/json",
            '{"text": "web_0: drain begun (Reboot E-1)", "until": "1970-01-01T01:00:05Z", "of": [1, "Reboot"]}',
        ),
        (
            "application/json",
            '{"text": "web_0: seen (Reboot E-1)", "until": "1970-01-01T01:00:05Z", "of": [1, "Reboot"]}',
        ),
        ("text/plain", "web_0: E-1 2026-01-01T00:00:00Z$"),
        ("application/json", '{"text": "web_0: approved (E-2)", "until": "1970-01-01T01:00:06Z", "of": [1, ""]}'),
    ]


def test_given_webhooks_when_they_went_one_way_or_another_then_it_is_counted_and_a_problem_is_named(
    service: Any,
) -> None:
    one, said = service()
    request = Request("http://127.0.0.1:9/?sig=hidden", "{}")
    reports = [
        Report(request, True, True, "200 OK"),
        Report(request, False, False, "503 Busy"),
        Report(request, False, True, "404 Not Found"),
        Report(request, True, True, "201 Created", "AWX dropped limit"),
    ]
    for report in reports:
        one._note_webhook(report)
    counted = {labels: value for (_name, labels), value in one.agent.counters.values.items()}
    assert counted == {
        (("result", "delivered"),): 2.0,
        (("result", "tried again"),): 1.0,
        (("result", "given up"),): 1.0,
    }
    assert said[-3:] == [
        (levels.WARNING, "webhook to http://127.0.0.1:9/…: tried again: 503 Busy"),
        (levels.WARNING, "webhook to http://127.0.0.1:9/…: given up: 404 Not Found"),
        (levels.WARNING, "webhook to http://127.0.0.1:9/…: delivered: AWX dropped limit"),
    ]


def test_given_pending_work_of_others_when_the_agent_is_idle_then_the_loop_sleeps_no_longer_than_that_allows(
    service: Any,
) -> None:
    one, _said = service()
    assert one._longest_sleep(5.0) == 5.0
    one._note_config_error(ConfigError("agent.json", ["spoilt"]))
    assert one._longest_sleep(5.0) == 1.0
    one._config_error = None
    with socket.create_connection(one._endpoint.addresses[0], PATIENCE):
        wait_until(lambda: one._turn() or one._endpoint.is_busy)
        assert one._longest_sleep(5.0) == 1.0
    one._webhooks.add(Request(NOBODY, "{}"))
    assert one._longest_sleep(5.0) == 0.5
    one._notifier.watchdog_interval = 0.5
    assert one._longest_sleep(5.0) == 0.25
    one._webhooks.close()


@pytest.fixture
def reloading(tmp_path: Path, signals: Signals) -> Generator[Any, None, None]:
    """A service whose configuration file can be changed; its output; and a call that makes it read the file."""
    path = tmp_path / "agent.json"
    chosen = content(tmp_path)
    write(path, chosen)
    file = ConfigFile(str(path))
    said: List[Any] = []
    one = Service(file.load(), {}, lambda _priority, message, **_fields: said.append(message), signals, (), file)

    def change(changed: Any, is_told: bool = True) -> None:
        write(path, changed if isinstance(changed, str) else dict(chosen, **changed))
        signals.reload_asked = is_told
        one._look_at_config()

    yield one, said, change
    one.close()


def test_given_a_good_configuration_when_told_to_reload_then_it_is_used(reloading: Any) -> None:
    one, said, change = reloading
    port = free_port()
    changed = {"margin": 7, "listen": [{"address": "127.0.0.1", "port": port}], "hooks_directory": "/etc/other"}
    change(changed)
    assert said[-1] == "the new configuration is in effect"
    assert one.agent.config.margin == 7.0
    assert one._endpoint.addresses == [("127.0.0.1", port)]
    assert one._surroundings().hooks_directory == "/etc/other"
    assert one._next is None
    assert one.agent.status()["configuration_modified"] == os.stat(one._file.path).st_mtime
    change(changed)
    assert said[-1] == "the configuration was read again: it is unchanged"


def test_given_a_good_configuration_without_a_reload_then_it_is_not_used(reloading: Any) -> None:
    one, _said, change = reloading
    change({"margin": 7}, is_told=False)
    assert one.agent.config.margin == 10.0


def test_given_a_broken_configuration_when_told_to_reload_then_the_old_one_stays_until_it_is_corrected(
    reloading: Any,
) -> None:
    one, said, change = reloading
    before = one.agent.config
    change('{"margin": ')
    assert one.agent.config is before
    assert "the last valid one stays in effect" in said[-1]
    assert [line for line in one.agent.problems if line.startswith("configuration: ")]
    # It was read, and refused: whoever waits for the verdict has it.
    assert one.agent.status()["configuration_modified"] == os.stat(one._file.path).st_mtime
    count = len(said)
    one._look_at_config()
    assert len(said) == count
    # Without a signal: while the file is broken, the agent checks it by itself.
    change({"margin": 7}, is_told=False)
    assert one.agent.config.margin == 7.0
    assert one.agent.problems == []


def test_given_another_metadata_service_when_told_to_reload_then_the_agent_starts_again(reloading: Any) -> None:
    one, _said, change = reloading
    change({"imds": {"endpoint": NOBODY, "vm_name": "web_7"}})
    chosen = one.run()
    assert chosen.imds.vm_name == "web_7"


def test_given_a_state_directory_that_appears_later_then_manual_commands_work_from_then_on(
    service: Any, tmp_path: Path
) -> None:
    place = tmp_path / "disk"
    place.write_text("in the way")
    one, said = service(state_directory=str(place / "state"))
    first = one._next_control
    wait_until(lambda: one._turn() or one._next_control > first)
    assert len([line for _priority, line in said if line.startswith("commands by hand do not work: ")]) == 1
    assert [line for _priority, line in said if line.endswith("nothing is approved until it can be")]
    place.unlink()
    place.mkdir(mode=0o755, exist_ok=True)
    wait_until(lambda: one._turn() or one._control is not None)
    assert (levels.NOTICE, "commands by hand work again") in said
    asked: List[str] = []
    thread = threading.Thread(
        target=lambda: asked.append(ask_agent(str(place / "state"), {"request": "hold"}, PATIENCE))
    )
    thread.start()
    wait_until(lambda: one._turn() or asked)
    thread.join(PATIENCE)
    assert asked == ["nothing is approved until it is released"]
    assert (place / "state" / "journal.jsonl").stat().st_size


def drained_for(path: Path) -> None:
    """Leave the journal of a machine that is out of rotation, with its services stopped."""
    event = {"EventId": "E-1", "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": ["web_0"]}
    stage = {"kind": "stage", "event_id": "E-1", "stage": "drain", "state": "begun"}
    records = [{"kind": "seen", "event": event, "notice": 900.0, "at": 1.0}, stage]
    path.mkdir(mode=0o700, exist_ok=True)
    (path / "journal.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def test_given_a_dry_run_when_it_is_wanted_or_not_wanted_any_more_then_the_agent_starts_again_with_another_journal(
    reloading: Any,
) -> None:
    one, _said, change = reloading
    change({"dry_run": True})
    assert one._next.dry_run
    assert one._next.journal_directory == os.path.join(one._config.state_directory, "dry_run")


def test_given_a_machine_that_is_out_when_a_dry_run_is_wanted_then_it_is_brought_back_first(reloading: Any) -> None:
    one, said, change = reloading
    one.agent.handle_command({"request": "drain"})
    change({"dry_run": True, "margin": 7})
    assert one._next is None
    assert (one.agent.config.dry_run, one.agent.config.margin) == (False, 7.0)
    assert one.agent.respond("/readyz")[0] == 503
    assert any("the dry run begins when the machine is back in rotation" in line for line in said)
    one.agent.handle_command({"request": "restore"})
    for _turn in range(5):
        one._turn()
    assert one._next == one._wanted
    assert one._wanted.dry_run


def test_given_a_machine_that_is_out_when_no_dry_run_is_wanted_after_all_then_it_continues(reloading: Any) -> None:
    one, _said, change = reloading
    one.agent.handle_command({"request": "drain"})
    change({"dry_run": True})
    change({})
    one.agent.handle_command({"request": "restore"})
    for _turn in range(5):
        one._turn()
    assert one._next is None


@pytest.mark.parametrize("is_out_for_real", [True, False])
def test_given_a_machine_that_is_out_when_started_for_a_dry_run_then_that_waits_only_if_it_is_really_out(
    is_out_for_real: bool, service: Any, tmp_path: Path
) -> None:
    state = Path(content(tmp_path)["state_directory"])
    state.mkdir(mode=0o700, exist_ok=True)
    drained_for(state if is_out_for_real else state / "dry_run")
    one, said = service(dry_run=True)
    one._turn()
    assert one.agent.state.is_out
    assert one.agent.config.dry_run is not is_out_for_real
    assert one.agent.respond("/readyz")[0] == (503 if is_out_for_real else 200)
    assert all(line.startswith("dry run: ") for _priority, line in said) is not is_out_for_real


def test_given_what_a_dry_run_wrote_when_it_is_over_then_a_real_run_knows_nothing_of_it(
    service: Any, tmp_path: Path
) -> None:
    state = Path(content(tmp_path)["state_directory"])
    state.mkdir(mode=0o700, exist_ok=True)
    drained_for(state / "dry_run")
    one, _said = service()
    assert one.agent.state.tracked == ()


def test_given_no_file_when_told_to_reload_then_nothing_happens(service: Any, signals: Signals) -> None:
    one, said = service()
    count = len(said)
    signals.reload_asked = True
    one._look_at_config()
    assert len(said) == count


@pytest.mark.parametrize("is_python_removed", [False, True])
def test_given_an_unexpected_error_in_an_iteration_then_it_is_counted_and_the_loop_continues(
    service: Any, monkeypatch: pytest.MonkeyPatch, is_python_removed: bool
) -> None:
    one, said = service()
    if is_python_removed:
        monkeypatch.setitem(sys.modules, "traceback", None)
    turn = one.agent.turn
    errors = [KeyError("unforeseen"), KeyError("unforeseen")]

    def fail_at_first() -> float:
        if errors:
            raise errors.pop()
        return float(turn())

    monkeypatch.setattr(one.agent, "turn", fail_at_first)
    for _turn in range(3):
        one._turn()
    assert one.agent.state.boot_id is not None
    assert [what for what in said if what[0] == levels.ERROR] == [
        (levels.ERROR, "unexpected error in the agent's loop: KeyError: 'unforeseen'")
    ]
    answer = one.agent.respond("/metrics")
    assert b"\nfoghorn_errors_total 2.0\n" in answer[2]
    assert one.agent.respond("/readyz")[0] == 200


def test_given_a_socket_that_the_system_has_lost_when_waited_for_then_a_step_goes_on_and_an_idle_agent_ends(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, said = service()

    def select(_seconds: float) -> Any:
        raise OSError("not a socket")

    def take_turns() -> None:
        for _turn in range(12):
            one._turn()

    monkeypatch.setattr("foghorn_agent.service._PAUSE_AFTER_ERROR", 0)
    monkeypatch.setattr(one._selector, "select", select)
    with monkeypatch.context() as patched:
        patched.setattr(one.agent, "is_idle", lambda: False)
        take_turns()
    assert [message for priority, message in said if priority == levels.ERROR] == [
        "unexpected error in the agent's loop: OSError: not a socket"
    ]
    with pytest.raises(OSError, match="not a socket"):
        take_turns()


def test_given_a_secret_that_cannot_be_used_when_it_begins_then_it_says_so_and_runs(
    service: Any, tmp_path: Path
) -> None:
    _one, said = service(quorum={"secret_file": str(tmp_path / "absent")})
    assert [message for _priority, message in said if "members can be neither asked nor answered" in message]
