# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control API: what operators and tests may ask for, and how mistakes are answered."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Callable
from typing import Any

import pytest
from azure_simulator.client import ControlClient, ControlError
from azure_simulator.event_log import Record
from azure_simulator.testing import Simulator

from .conftest import approve, ask

Simulate = Callable[..., Simulator]


def call(
    azure: Simulator, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    """One call to the control API, without the client's help."""
    connection = http.client.HTTPConnection(azure.control.removeprefix("http://"), timeout=30)
    try:
        connection.request(method, f"/_simulator/{path}", body, {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


REBOOT = json.dumps({"event_type": "Reboot", "resources": ["web_0"]})


@pytest.mark.parametrize(
    ("headers", "status", "said"),
    [
        ({"Host": "rebound.example"}, 403, "Host: 'rebound.example' is neither the address that was asked"),
        ({"Host": "127.0.0.99"}, 403, "Host: "),
        ({"Host": "[broken"}, 403, "Host: "),
        ({"Origin": "http://page.example"}, 403, "Origin: 'http://page.example' is a web page"),
        ({"Origin": "null"}, 403, "Origin: 'null'"),
        ({"Content-Type": "text/plain"}, 415, "Content-Type: 'text/plain' is not application/json"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "Content-Type: "),
    ],
)
def test_given_what_a_web_page_can_make_a_browser_send_then_it_is_refused_and_nothing_happens(
    azure: Simulator, headers: dict[str, str], status: int, said: str
) -> None:
    code, answer = call(azure, "POST", "events", REBOOT, headers)
    assert code == status
    assert answer["error"].startswith(said)
    assert azure.status()["events"] == []


def test_given_the_page_when_asked_then_it_may_run_its_own_script_only_and_a_rebound_name_does_not_get_it(
    azure: Simulator,
) -> None:
    connection = http.client.HTTPConnection(azure.control.removeprefix("http://"), timeout=30)
    connection.request("GET", "/")
    answer = connection.getresponse()
    page, policy = answer.read().decode(), answer.headers["Content-Security-Policy"]
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert re.fullmatch(
        r"default-src 'none'; script-src '(sha256-[\w+/]{43}=)'; style-src '(sha256-[\w+/]{43}=)'; connect-src 'self';"
        r" base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        policy,
    )
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|(?:src|href)=", page)

    connection.request("GET", "/", headers={"Host": "rebound.example"})
    refused = connection.getresponse()
    assert (refused.status, b"<html" in refused.read()) == (403, False)
    connection.close()


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:99", "{address}", "simulator.example", "SIMULATOR.example:80"]
)
def test_given_its_own_address_or_a_name_that_it_was_given_when_asked_then_it_answers(
    simulate: Simulate, host: str
) -> None:
    azure = simulate(control={"hosts": ["Simulator.example"], "port": 0})
    own = azure.control.removeprefix("http://")
    headers = {"Host": host.format(address=own), "Content-Type": "application/json; charset=utf-8"}
    headers["Origin"] = "http://" + headers["Host"]
    assert call(azure, "POST", "events", REBOOT, headers)[0] == 201


@pytest.mark.parametrize(
    ("event_type", "details", "description"),
    [
        ("Preempt", {}, ""),
        ("Freeze", {}, "Host server is undergoing maintenance."),
        ("Reboot", {}, "Host server is undergoing maintenance."),
        (
            "Reboot",
            {"event_source": "User"},
            "Virtual machine is going to be restarted as requested by authorized user.",
        ),
    ],
)
def test_given_an_event_when_it_is_announced_then_it_is_described_in_words_that_were_seen(
    simulate: Simulate, event_type: str, details: dict[str, Any], description: str
) -> None:
    assert simulate().event(event_type, "web_0", **details)["description"] == description


def test_given_an_event_when_announced_then_its_record_has_everything(azure: Simulator) -> None:
    record = azure.event(
        "Reboot",
        ["web_0", "web_1"],
        event_source="User",
        description="",
        duration=-1,
        notice=300,
        event_id="602d9444-d2cd-49c7-8624-8643e7171297",
        becomes="Freeze",
    )
    now = azure.status()["now"]
    assert record == {
        "event_id": "602D9444-D2CD-49C7-8624-8643E7171297",
        "event_type": "Reboot",
        "event_source": "User",
        "resources": ["web_0", "web_1"],
        "status": "Scheduled",
        "description": "",
        "duration_in_seconds": -1,
        "becomes": "Freeze",
        "created": now,
        "not_before": pytest.approx(now + 300, abs=0.01),
        "started": None,
        "impact_started": None,
        "impact_ended": None,
        "ended": None,
        "notice_left_at_approval": None,
        "approvals": [],
        "history": [{"at": now, "what": "Scheduled"}],
    }
    assert call(azure, "GET", f"events/{record['event_id'].lower()}") == (200, record)
    assert call(azure, "GET", "events") == (200, [record])


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("{", "body: is not JSON"),
        ("[]", "body: is not a JSON object"),
        ('{"resources": ["db"]}', "event_type: is missing: one of Freeze, Reboot"),
        ('{"event_type": "Boot", "resources": ["db"]}', "event_type: 'Boot' is not one of"),
        ('{"event_type": "Reboot", "resources": []}', "resources: [] is not a list of texts"),
        ('{"event_type": "Reboot", "resources": ["x"]}', "resources[0]: 'x' is not the name of a VM"),
        ('{"event_type": "Reboot", "resources": ["db", "db"]}', "resources: names a VM twice"),
        ('{"event_type": "Reboot", "resources": ["db"], "notice": -1}', "notice: -1 must be at least 0"),
        ('{"event_type": "Reboot", "resources": ["db"], "notice": "5"}', "notice: '5' is not a number"),
        ('{"event_type": "Reboot", "resources": ["db"], "impact": 5, "linger": 4}', "linger: 4 must be at least"),
        ('{"event_type": "Reboot", "resources": ["db"], "event_id": "1"}', "event_id: '1' is not a GUID"),
        ('{"event_type": "Reboot", "resources": ["db"], "status": "Completed"}', "status: 'Completed' is not one of"),
        ('{"event_type": "Preempt", "resources": ["db"], "becomes": "Freeze"}', "becomes: only a Reboot or Redeploy"),
        ('{"event_type": "Reboot", "resources": ["db"], "becomes": "Preempt"}', "becomes: only a SpotRebalanceRec"),
        (
            '{"event_type": "SpotRebalanceRecommendation", "resources": ["db"], "becomes": "Preempt", "notice": 400}',
            "notice: 400 must be at most the linger of 300",
        ),
        (
            '{"event_type": "SpotRebalanceRecommendation", "resources": ["db"], "status": "Started"}',
            "event_type: a SpotRebalanceRecommendation never starts",
        ),
        ('{"event_type": "Reboot", "resources": ["db"], "desription": ""}', "desription: is not an option here: did"),
        ('{"event_type": "Reboot", "resources": ["db"], "description": 7}', "description: 7 is not a text"),
    ],
)
def test_given_an_invalid_event_when_announced_then_the_answer_is_400_and_names_why(
    azure: Simulator, body: str, error: str
) -> None:
    status, answer = call(azure, "POST", "events", body)
    assert status == 400
    assert error in answer["error"]
    assert azure.status()["events"] == []


def test_given_a_scheduled_event_when_deleted_then_it_is_withdrawn_and_a_started_one_is_not(azure: Simulator) -> None:
    event = azure.event("Preempt", "web_0")
    assert azure.withdraw(event["event_id"])["status"] == "Canceled"
    started = azure.event("Reboot", "web_0", status="Started")
    assert call(azure, "DELETE", f"events/{started['event_id']}")[0] == 409
    assert call(azure, "DELETE", "events/nothing")[0] == 404


def test_given_a_clock_that_runs_when_advanced_then_it_is_refused(simulate: Simulate) -> None:
    with pytest.raises(ControlError, match=r"set clock\.manual") as error:
        simulate(clock={"speed": 2}).advance(1)
    assert error.value.status == 409


@pytest.mark.parametrize("body", ["{}", '{"seconds": -1}', '{"seconds": "1"}', '{"seconds": 1, "minutes": 1}'])
def test_given_an_invalid_step_when_advanced_then_the_answer_is_400(simulate: Simulate, body: str) -> None:
    assert call(simulate(), "POST", "advance", body)[0] == 400


def test_given_clients_that_count_when_they_report_then_the_status_has_their_last_count(azure: Simulator) -> None:
    assert azure.status()["load"] == {}
    azure.client.load(10, 0)
    azure.client.load(30, 2)
    assert azure.status()["load"] == {"sent": 30, "lost": 2}


@pytest.mark.parametrize("body", ["{}", '{"sent": 1}', '{"sent": -1, "lost": 0}', '{"sent": 1, "lost": 0, "late": 1}'])
def test_given_an_invalid_count_when_reported_then_it_is_refused_and_not_shown(azure: Simulator, body: str) -> None:
    assert call(azure, "POST", "load", body)[0] == 400
    assert azure.status()["load"] == {}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "nothing", 404), ("PUT", "events", 405), ("DELETE", "faults/none", 404), ("GET", "log?after=x", 400)],
)
def test_given_a_call_that_does_not_exist_when_made_then_the_answer_is_json_and_says_so(
    simulate: Simulate, method: str, path: str, status: int
) -> None:
    found, answer = call(simulate(), method, path)
    assert found == status
    assert answer["error"]


def test_given_requests_and_approvals_when_status_is_read_then_it_says_who_asked_when_and_who_approved(
    azure: Simulator,
) -> None:
    event = azure.event("Freeze", ["web_0"])
    azure.advance(50)
    ask(azure.imds["web_1"])
    approve(azure.imds["web_1"], event["event_id"])
    status = azure.status()
    web_1 = status["vms"]["web_1"]
    assert (web_1["state"], web_1["enabled"], web_1["requests"]) == ("running", True, {"GET": 1, "POST": 1})
    assert web_1["last_request"] == pytest.approx(status["now"], abs=0.01)
    assert status["vms"]["db"]["last_request"] is None
    assert status["vms"]["web_0"]["state"] == "frozen"
    approval = status["events"][0]["approvals"][0]
    assert approval == {"vm": "web_1", "at": pytest.approx(status["now"], abs=0.01), "repeated": False}
    assert status["events"][0]["notice_left_at_approval"] == 850


def test_given_the_log_when_read_from_an_entry_on_then_it_continues_where_that_was(azure: Simulator) -> None:
    ask(azure.imds["db"])
    first = azure.log()
    azure.event("Freeze", ["db"])
    later = azure.log(after=first[-1]["seq"])
    assert [entry["kind"] for entry in first] == ["scope", "scope", "request"]
    assert [(entry["kind"], entry["what"]) for entry in later] == [("event", "Scheduled")]
    assert azure.log() == first + later


def test_given_many_requests_when_the_log_is_full_then_they_push_out_one_another_only() -> None:
    record = Record(lambda: 0.0, kept=3)
    record.add("event", what="first")
    for _turn in range(10):
        record.add("request", what="answered")
    assert [entry["seq"] for entry in record.after()] == [1, 9, 10, 11]
    assert record.after(10) == record.after()[-1:]


def test_given_no_resource_manager_when_its_faults_are_asked_for_then_the_answer_says_what_is_missing(
    simulate: Simulate,
) -> None:
    status, answer = call(simulate(), "GET", "arm/faults")

    assert status == 404
    assert answer["error"] == "there is no Resource Manager: the configuration has no section arm"


def test_given_nobody_who_listens_when_called_then_the_error_says_what_to_check() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ControlError, match="is it running, is --control right"):
        ControlClient(f"http://127.0.0.1:{port}").status()


@pytest.mark.parametrize("url", ["127.0.0.1:8700", "https://127.0.0.1", "http://"])
def test_given_an_invalid_address_when_used_then_it_is_refused(url: str) -> None:
    with pytest.raises(ControlError, match="is not a control address"):
        ControlClient(url)
