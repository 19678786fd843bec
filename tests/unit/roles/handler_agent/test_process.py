# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent with all its edges, within the process of the tests: that it begins, is heard of, and ends.

What it does in between is tested with real processes, beside this file. Runs on Python 3.6 and later.
"""

import contextlib
import json
import os
import signal
import socket
import threading
import urllib.request
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, Generator, List

import pytest
from edge_helpers import PATIENCE, wait_until
from foghorn_agent import log as levels
from foghorn_agent.config import Config, parse_config
from foghorn_agent.service import CannotStart, Service, serve
from foghorn_agent.state import State, Tracked
from foghorn_agent.webhooks import Report, Request
from foghorn_core.document import Event, event_as_azure
from real_agent import free_port

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def signals() -> Generator[None, None, None]:
    """The signals that a service catches, as they were before."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
    before = [signal.getsignal(number) for number in numbers]
    yield
    signal.set_wakeup_fd(-1)
    for number, handler in zip(numbers, before):
        signal.signal(number, handler)


def config(directory: Path, **more: Any) -> Config:
    content: Dict[str, Any] = {
        "imds": {"endpoint": NOBODY, "first_timeout": 0.1},
        "listen": [{"address": "127.0.0.1", "port": free_port()}],
        "state_directory": str(directory / "state"),
        "hooks_directory": str(directory / "hooks.d"),
    }
    return parse_config(dict(content, **more))


def answer_of(port: int) -> str:
    with contextlib.suppress(OSError), urllib.request.urlopen("http://127.0.0.1:%d/healthz" % port) as answer:
        return str(answer.read().decode("ascii"))
    return ""


def test_given_a_service_manager_when_the_agent_runs_until_it_is_told_to_stop_then_it_says_how_it_is(
    tmp_path: Path, capfd: "pytest.CaptureFixture[str]"
) -> None:
    chosen = config(tmp_path)
    path = str(tmp_path / "notify")
    heard: List[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(PATIENCE)

        def ask_and_stop() -> None:
            heard.append(wait_until(lambda: answer_of(chosen.listen[0][1])))
            os.kill(os.getpid(), signal.SIGTERM)

        thread = threading.Thread(target=ask_and_stop)
        thread.start()
        assert serve(chosen, {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "20000000"}) == 0
        thread.join(PATIENCE)
        said = [manager.recv(1000).decode("ascii")]
        while said[-1] != "STOPPING=1":
            said.append(manager.recv(1000).decode("ascii"))
    assert heard == ["running\n"]
    assert said[:3] == ["READY=1", "WATCHDOG=1", "STATUS=in rotation"]
    lines = capfd.readouterr().err.splitlines()
    assert "<5>watching " + NOBODY in lines
    assert lines[-1] == "<5>stopped"


@pytest.mark.parametrize("what", ["directory", "address"])
def test_given_something_that_it_cannot_have_when_served_then_it_says_what_and_fails(
    what: str, tmp_path: Path, capfd: "pytest.CaptureFixture[str]"
) -> None:
    chosen = config(tmp_path)
    with socket.socket() as taken:
        if what == "directory":
            (tmp_path / "state").write_text("")
        else:
            taken.bind(chosen.listen[0])
            taken.listen(1)
        assert serve(chosen, {}) == 1
    assert capfd.readouterr().err.splitlines()[-1].startswith("<3>cannot start: ")


@pytest.fixture
def service(tmp_path: Path) -> Generator[Any, None, None]:
    """What makes a service, and closes what it has opened."""
    made: List[Service] = []
    said: List[Any] = []

    def make(**more: Any) -> Any:
        made.append(Service(config(tmp_path, **more), {}, lambda *what, **_fields: said.append(what)))
        return made[-1], said

    yield make
    for one in made:
        one.close()


def test_given_webhooks_when_something_happens_then_each_is_told_what_it_asked_for(service: Any) -> None:
    one, _said = service(
        webhooks=[
            {"url": NOBODY + "/all", "headers": {"X-From": "us"}},
            {"url": NOBODY + "/drains", "stages": ["drain"], "wrap": ["extra_vars", "event"]},
        ]
    )
    added: List[Request] = []
    one._webhooks.add = added.append
    state = State(vm_name="web_0")
    one._tell({"kind": "stage", "stage": "drain", "state": "begun", "event_id": "E-1", "at": 5.25}, state)
    one._tell({"kind": "approved", "event_ids": ["E-1", "E-2"], "at": 6.0}, state)
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
        one._tell({"kind": "stage", "stage": "drain", "state": done, "event_id": "E-1", "at": 5.25}, state)
    one._tell({"kind": "seen", "event": event_as_azure(event), "at": 5.25}, State(vm_name="web_0"))
    one._tell({"kind": "approved", "event_ids": ["E-2"], "at": 6.0}, state)
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


def test_given_webhooks_when_they_went_one_way_or_another_then_it_is_counted_and_trouble_is_said(service: Any) -> None:
    one, said = service()
    request = Request("http://127.0.0.1:9/?sig=hidden", "{}")
    reports = [
        Report(request, True, True, 1, "200 OK"),
        Report(request, False, False, 1, "503 Busy"),
        Report(request, False, True, 2, "404 Not Found"),
        Report(request, True, True, 1, "201 Created", "AWX dropped limit"),
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
        (levels.WARNING, "webhook to http://127.0.0.1:9/: tried again: 503 Busy"),
        (levels.WARNING, "webhook to http://127.0.0.1:9/: given up: 404 Not Found"),
        (levels.WARNING, "webhook to http://127.0.0.1:9/: delivered: AWX dropped limit"),
    ]


def test_given_what_has_to_be_looked_after_when_the_agent_has_nothing_to_do_then_the_loop_sleeps_no_longer(
    service: Any,
) -> None:
    one, _said = service()
    assert one._longest_sleep(5.0) == 5.0
    with socket.create_connection(one._endpoint.addresses[0], PATIENCE):
        wait_until(lambda: one._turn() or one._endpoint.is_busy)
        assert one._longest_sleep(5.0) == 1.0
    one._webhooks.add(Request(NOBODY, "{}"))
    assert one._longest_sleep(5.0) == 0.5
    one._notifier.watchdog_interval = 0.5
    assert one._longest_sleep(5.0) == 0.25
    one._webhooks.close()


def test_given_a_journal_in_use_when_another_service_starts_then_it_cannot(service: Any) -> None:
    service()
    with pytest.raises(CannotStart, match="is in use: another foghorn-agent is running"):
        service()


def test_given_an_error_that_nobody_foresaw_when_a_turn_ends_in_it_then_it_is_counted_and_the_next_turn_comes(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, said = service()
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
        (levels.ERROR, "this turn ended in an error that nobody foresaw: KeyError: 'unforeseen'")
    ]
    answer = one.agent.respond("/metrics")
    assert b"\nfoghorn_errors_total 2.0\n" in answer[2]
    assert one.agent.respond("/readyz")[0] == 200


def test_given_a_secret_that_cannot_be_used_when_it_begins_then_it_says_so_and_runs(
    service: Any, tmp_path: Path
) -> None:
    _one, said = service(quorum={"secret_file": str(tmp_path / "absent")})
    assert [message for _priority, message in said if "members can neither be asked nor answered" in message]
