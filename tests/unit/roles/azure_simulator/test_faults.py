# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on request: what a client sees of each, and how long they last."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from azure_simulator.client import FAULTS, ControlError
from azure_simulator.faults import FaultQueue, parse_fault, read_fault
from azure_simulator.reading import Invalid
from azure_simulator.testing import Simulator

from .conftest import approve, ask

Simulate = Callable[..., Simulator]


def raw_answer(url: str) -> bytes:
    """Everything the service sends before it closes the connection."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30) as sock:
        sock.sendall(
            b"GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\nHost: x\r\nMetadata: true\r\n\r\n"
        )
        received = b""
        while data := sock.recv(65536):
            received += data
        return received


def test_given_a_version_that_the_service_lacks_when_asked_then_only_that_one_is_not_found(azure: Simulator) -> None:
    azure.fault("status", "web_0", status=404, api_versions=["2024-07-09"])
    statuses = [
        ask(azure.imds[vm], f"/metadata/scheduledevents?api-version={version}").status
        for vm, version in (("web_0", "2024-07-09"), ("web_0", "2020-07-01"), ("web_1", "2024-07-09"))
    ]
    assert statuses == [404, 200, 200]


# -- kinds ----------------------------------------------------------------------------------


def test_given_a_status_when_asked_then_it_comes_with_its_body_and_headers(azure: Simulator) -> None:
    azure.fault(
        "status", "web_0", status=410, body="<html>moving", headers={"Retry-After": "7", "Content-Type": "text/html"}
    )
    answer = ask(azure.imds["web_0"])
    assert (answer.status, answer.body) == (410, b"<html>moving")
    assert (answer.headers["Retry-After"], answer.headers["Content-Type"]) == ("7", "text/html")
    assert ask(azure.imds["web_1"]).status == 200


def test_given_a_status_with_json_when_asked_then_it_is_sent_as_json(azure: Simulator) -> None:
    azure.fault("status", "web_0", status=200, body={"error": "not a document"})
    answer = ask(azure.imds["web_0"])
    assert (answer.status, answer.json) == (200, {"error": "not a document"})
    assert answer.headers["Content-Type"].startswith("application/json")


def test_given_a_reset_when_asked_then_the_connection_is_reset(azure: Simulator) -> None:
    azure.fault("reset", "web_0")
    with pytest.raises(ConnectionResetError):
        ask(azure.imds["web_0"])


def test_given_a_silence_when_asked_then_nothing_comes_until_the_connection_is_closed(azure: Simulator) -> None:
    azure.fault("silence", "web_0", seconds=0.3)
    begin = time.monotonic()
    with pytest.raises(http.client.RemoteDisconnected):
        ask(azure.imds["web_0"])
    assert time.monotonic() - begin >= 0.3


def test_given_an_endless_silence_when_the_simulator_stops_then_it_does_not_wait(azure: Simulator) -> None:
    azure.fault("silence", "web_0")
    parts = urlsplit(azure.imds["web_0"])
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30) as sock:
        sock.sendall(b"GET /metadata/versions HTTP/1.1\r\nHost: x\r\nMetadata: true\r\n\r\n")
        while not azure.status()["vms"]["web_0"]["last_request"]:
            time.sleep(0.01)
        begin = time.monotonic()
        azure.__exit__(None, None, None)
        assert time.monotonic() - begin < 10


def test_given_a_slow_answer_when_asked_then_it_is_whole_but_takes_its_time(azure: Simulator) -> None:
    azure.fault("slow", "web_0", seconds=0.4)
    begin = time.monotonic()
    assert ask(azure.imds["web_0"]).json["Events"] == []
    assert time.monotonic() - begin >= 0.35


def test_given_a_pace_when_asked_then_bytes_come_no_faster(azure: Simulator) -> None:
    azure.fault("slow", "web_0", bytes_per_second=600)
    begin = time.monotonic()
    size = len(raw_answer(azure.imds["web_0"]))
    assert time.monotonic() - begin >= 0.9 * size / 600


def test_given_a_truncation_when_asked_then_less_comes_than_the_header_says(azure: Simulator) -> None:
    azure.fault("truncate", "web_0")
    with pytest.raises(http.client.IncompleteRead) as error:
        ask(azure.imds["web_0"])
    assert error.value.partial == b'{"DocumentIncarnat'


def test_given_a_truncation_when_an_approval_is_posted_then_even_its_empty_answer_is_cut(azure: Simulator) -> None:
    event = azure.event("Freeze", ["web_0"])
    ask(azure.imds["web_0"])
    azure.fault("truncate", "web_0", methods=["POST"])
    with pytest.raises(http.client.IncompleteRead):
        approve(azure.imds["web_0"], event["event_id"])
    assert azure.status()["events"][0]["status"] == "Started"


def test_given_garbage_when_asked_then_it_is_no_http(azure: Simulator) -> None:
    azure.fault("garbage", "web_0")
    with pytest.raises(http.client.BadStatusLine):
        ask(azure.imds["web_0"])
    azure.clear_faults()
    azure.fault("garbage", "web_0", body="HELO\n")
    assert raw_answer(azure.imds["web_0"]) == b"HELO\n"


@pytest.mark.parametrize("kind", ["reset", "status"])
@pytest.mark.parametrize(("applied", "status"), [(True, "Started"), (False, "Scheduled")])
def test_given_a_lost_answer_when_it_is_applied_then_the_approval_counts_and_else_not(
    azure: Simulator, kind: str, applied: bool, status: str
) -> None:
    event = azure.event("Freeze", ["web_0"])
    ask(azure.imds["web_0"])
    azure.fault(kind, "web_0", methods=["POST"], applied=applied)
    try:
        assert approve(azure.imds["web_0"], event["event_id"]).status == 500
    except ConnectionResetError:
        assert kind == "reset"
    assert azure.status()["events"][0]["status"] == status


# -- whom they hit, and for how long --------------------------------------------------------


def test_given_a_path_and_methods_when_asked_then_only_those_go_wrong(azure: Simulator) -> None:
    azure.fault("status", "*", paths="/metadata/scheduledevents", methods=["GET"], status=503)
    for name in ("web_0", "db"):
        assert ask(azure.imds[name]).status == 503
        assert ask(azure.imds[name], method="POST", body="{").status == 400
        assert ask(azure.imds[name], "/metadata/instance?api-version=2021-12-13").status == 200


def test_given_a_count_when_that_many_answers_failed_then_the_fault_is_over(azure: Simulator) -> None:
    azure.fault("status", "web_0", status=500, count=2)
    assert [ask(azure.imds["web_0"]).status for _turn in range(4)] == [500, 500, 200, 200]
    assert azure.status()["faults"] == []


def test_given_two_faults_when_asked_then_the_older_comes_first(azure: Simulator) -> None:
    azure.fault("status", "web_0", status=500, count=1)
    azure.fault("status", "web_0", status=429, count=1)
    assert [ask(azure.imds["web_0"]).status for _turn in range(3)] == [500, 429, 200]


def test_given_a_time_when_it_is_over_then_the_fault_is_gone() -> None:
    now = [0.0]
    queue = FaultQueue(
        [parse_fault({"vm": "*", "kind": "reset", "for": 10}, vms=(), read=read_fault)], clock=lambda: now[0]
    )

    def strike() -> object:
        return queue.strike(lambda plan: plan.hits("a", "GET", "/metadata", ""))

    now[0] = 9.9
    assert strike() is not None
    assert queue.records()[0]["seconds_left"] == pytest.approx(0.1)
    now[0] = 10.0
    assert strike() is None
    assert queue.all() == []


def test_given_a_fault_when_removed_then_all_is_well_again_and_it_is_unknown(azure: Simulator) -> None:
    fault_id = azure.fault("status", "web_0", status=500)
    azure.client.end_faults(FAULTS, fault_id)
    assert ask(azure.imds["web_0"]).status == 200
    with pytest.raises(ControlError) as error:
        azure.client.end_faults(FAULTS, fault_id)
    assert error.value.status == 404


def test_given_a_fault_in_the_configuration_when_started_then_it_is_in_force(simulate: Simulate) -> None:
    azure = simulate(faults=[{"vm": "db", "kind": "status", "status": 404, "count": 1}])
    assert [ask(azure.imds["db"]).status for _turn in range(2)] == [404, 200]


def test_given_requests_when_they_were_hit_then_the_log_says_by_what(azure: Simulator) -> None:
    fault_id = azure.fault("status", "web_0", status=500, count=1)
    ask(azure.imds["web_0"])
    ask(azure.imds["web_0"])
    requests = [entry for entry in azure.log() if entry["kind"] == "request"]
    assert [(entry["status"], entry.get("fault")) for entry in requests] == [(500, fault_id), (200, None)]


@pytest.mark.parametrize(
    ("fault", "mistake"),
    [
        ({}, "vm: is missing"),
        ({"vm": "x", "kind": "reset"}, "vm: 'x' is not the name of a VM"),
        ({"vm": "*", "kind": "explode"}, "kind: 'explode' is not one of status, silence"),
        ({"vm": "*", "kind": "status", "status": 99}, "status: 99 must lie between 200 and 599"),
        ({"vm": "*", "kind": "reset", "status": 500}, "status: has no effect with the kind reset, only for status"),
        (
            {"vm": "*", "kind": "reset", "body": "x"},
            "body: has no effect with the kind reset, only for status, garbage",
        ),
        ({"vm": "*", "kind": "status", "body": 7}, "body: 7 is neither a text nor JSON"),
        (
            {"vm": "*", "kind": "slow", "seconds": 1, "bytes_per_second": 1},
            "seconds: give either it or bytes_per_second",
        ),
        ({"vm": "*", "kind": "reset", "count": 0}, "count: 0 must lie between 1 and"),
        ({"vm": "*", "kind": "reset", "for": 0}, "for: 0 must be more than 0"),
        ({"vm": "*", "kind": "reset", "methods": ["BREW"]}, "methods[0]: 'BREW' is not one of"),
    ],
)
def test_given_an_invalid_fault_when_asked_for_then_it_is_refused(fault: dict[str, Any], mistake: str) -> None:
    with pytest.raises(Invalid) as error:
        parse_fault(fault, vms=("a",), read=read_fault)
    assert any(found.startswith(mistake) for found in error.value.mistakes), error.value.mistakes


def test_given_two_clients_when_one_is_kept_waiting_then_the_other_is_not(azure: Simulator) -> None:
    azure.fault("silence", "web_0", seconds=20, count=1)

    def wait() -> None:
        with pytest.raises(OSError):  # noqa: PT011  # closed, in whatever way, when the simulator stops
            ask(azure.imds["web_0"])

    waiting = threading.Thread(target=wait)
    waiting.start()
    while not azure.status()["vms"]["web_0"]["requests"]["GET"]:
        time.sleep(0.01)
    begin = time.monotonic()
    assert json.loads(ask(azure.imds["web_0"]).body)["Events"] == []
    assert time.monotonic() - begin < 15
    azure.__exit__(None, None, None)
    waiting.join(30)
    assert not waiting.is_alive()
