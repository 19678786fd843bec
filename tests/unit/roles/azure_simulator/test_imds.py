# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata service over HTTP: who may ask what, and what comes back."""

from __future__ import annotations

import calendar
import http.client
import json
import threading
import time
from collections.abc import Callable
from email.utils import parsedate
from pathlib import Path
from typing import Any

import pytest
from azure_simulator.imds import Caller, read_start_requests
from azure_simulator.instance import VERSIONS
from azure_simulator.testing import Simulator

from .conftest import approve, ask, eventually

Simulate = Callable[..., Simulator]

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
EVENTS = "/metadata/scheduledevents"
NEWEST = f"{EVENTS}?api-version=2020-07-01"
INSTANCE = "/metadata/instance"

# -- the rules of every request -------------------------------------------------------------


@pytest.mark.parametrize("path", [NEWEST, f"{INSTANCE}?api-version=2021-12-13", "/metadata/versions"])
@pytest.mark.parametrize("headers", [{}, {"Metadata": "false"}, {"Metadata": "true", "X-Forwarded-For": "10.0.0.1"}])
def test_given_a_missing_or_a_forbidden_header_when_asked_then_the_answer_is_400_with_an_error(
    simulate: Simulate, path: str, headers: dict[str, str]
) -> None:
    answer = ask(simulate().imds["web_0"], path, headers=headers)
    assert answer.status == 400
    assert answer.json["error"].startswith("Bad request.")
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"


def test_given_the_preview_version_when_the_header_is_missing_then_it_answers_nevertheless(simulate: Simulate) -> None:
    assert ask(simulate().imds["web_0"], f"{EVENTS}?api-version=2017-03-01", headers={}).status == 200


@pytest.mark.parametrize("header", ["true", "True", "TRUE"])
def test_given_the_header_in_any_case_when_asked_then_it_counts(simulate: Simulate, header: str) -> None:
    assert ask(simulate().imds["web_0"], NEWEST, headers={"metadata": header}).status == 200


@pytest.mark.parametrize(
    "path",
    [
        EVENTS,
        f"{EVENTS}?api-version=",
        f"{EVENTS}?api-version={{latest}}",
        f"{EVENTS}?api-version=2021-12-13",
        f"{NEWEST}&api-version=2020-07-01",
        INSTANCE,
        f"{INSTANCE}?api-version=2017-07-01",
        "/metadata",
    ],
)
def test_given_no_or_a_repeated_or_an_unknown_version_when_asked_then_the_answer_is_the_one_that_was_recorded(
    simulate: Simulate, path: str
) -> None:
    answer = ask(simulate().imds["web_0"], path)
    assert answer.status == 400
    assert answer.json == json.loads((FIXTURES / "not_documents" / "bad_request.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/metadata/nothing?api-version=2021-12-13",
        "/metadata/scheduledevents/more?api-version=2020-07-01",
        "/metadata/identity?api-version=2018-02-01",
        "/metadata/instance/compute/nothing?api-version=2021-12-13",
        "/latest/meta-data",
    ],
)
def test_given_a_missing_path_when_asked_then_the_answer_is_404(simulate: Simulate, path: str) -> None:
    answer = ask(simulate().imds["web_0"], path)
    assert (answer.status, list(answer.json)) == (404, ["error"])


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", NEWEST, "GET, POST"),
        ("DELETE", NEWEST, "GET, POST"),
        ("POST", f"{INSTANCE}?api-version=2021-12-13", "GET"),
        ("POST", "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x", "GET"),
        ("POST", "/metadata/versions", "GET"),
    ],
)
def test_given_another_method_when_asked_then_the_answer_is_405_and_says_which_are_allowed(
    simulate: Simulate, method: str, path: str, allowed: str
) -> None:
    answer = ask(simulate().imds["web_0"], path, method=method)
    assert (answer.status, answer.headers["Allow"]) == (405, allowed)


def test_given_the_path_in_other_case_or_with_a_slash_when_asked_then_it_is_the_same(simulate: Simulate) -> None:
    url = simulate().imds["web_0"]
    for path in ("/metadata/ScheduledEvents", "/metadata/scheduledevents/"):
        assert ask(url, f"{path}?api-version=2020-07-01").status == 200


def test_given_a_connection_that_is_kept_when_asked_often_then_it_serves_them_all(simulate: Simulate) -> None:
    host = simulate().imds["web_0"].removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=30)
    for _turn in range(20):
        connection.request("GET", NEWEST, headers={"Metadata": "true"})
        assert json.loads(connection.getresponse().read())["Events"] == []
    sock = connection.sock
    connection.request("GET", NEWEST, headers={"Metadata": "true"})
    assert connection.sock is sock
    connection.close()


# -- who asks -------------------------------------------------------------------------------


def test_given_vms_known_by_the_address_asked_when_asked_then_each_learns_its_own_name(azure: Simulator) -> None:
    path = f"{INSTANCE}/compute/name?api-version=2021-12-13&format=text"
    assert {name: ask(url, path).body.decode() for name, url in azure.imds.items()} == {
        name: name for name in ("web_0", "web_1", "db")
    }


def test_given_vms_known_by_the_address_asking_when_asked_then_each_learns_its_own_name(simulate: Simulate) -> None:
    azure = simulate(imds={"identify_by": "client", "address": "127.0.77.1"})
    path = f"{INSTANCE}/compute/name?api-version=2021-12-13&format=text"
    assert len(set(azure.imds.values())) == 1
    url = azure.imds["web_0"]
    assert ask(url, path, source="127.0.77.11").body == b"web_1"
    assert ask(url, path, source="127.0.77.20").body == b"db"


def test_given_a_stranger_when_it_asks_then_it_gets_no_answer(simulate: Simulate) -> None:
    azure = simulate(imds={"identify_by": "client", "address": "127.0.77.1"})
    with pytest.raises(http.client.RemoteDisconnected):
        ask(azure.imds["web_0"], source="127.0.77.99")
    entry = azure.log()[-1]
    assert (entry["vm"], entry["what"], entry["address"]) == (None, "closed", "127.0.77.99")


# -- the document ---------------------------------------------------------------------------


def test_given_an_event_when_read_then_the_document_is_the_contracts(azure: Simulator) -> None:
    event = azure.event("Reboot", ["web_0"])
    answer = ask(azure.imds["web_1"])
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert set(answer.json) == {"DocumentIncarnation", "Events"}
    assert answer.json["Events"][0]["EventId"] == event["event_id"]
    assert ask(azure.imds["db"]).json["Events"] == []


def test_given_a_faster_clock_when_an_event_is_announced_then_not_before_is_the_instant_it_really_starts(
    simulate: Simulate,
) -> None:
    azure = simulate(clock={"speed": 300})
    before = time.time()
    event = azure.event("Reboot", ["web_0"], notice=600)
    assert before + 1.5 < event["not_before"] < time.time() + 2.5
    assert int(event["not_before"]) == _epoch(ask(azure.imds["web_1"]).json["Events"][0]["NotBefore"])
    eventually(lambda: ask(azure.imds["web_1"]).json["Events"][0]["EventStatus"] == "Started")
    assert time.time() >= event["not_before"]


def _epoch(text: str) -> int:
    return calendar.timegm(parsedate(text) or ())


def test_given_an_enabling_delay_when_first_asked_then_the_answer_is_held_until_it_is_over(simulate: Simulate) -> None:
    azure = simulate(imds={"enable_delay": 120})
    answers: list[int] = []
    pollers = [
        threading.Thread(target=lambda name=name: answers.append(ask(azure.imds[name]).status))
        for name in ("web_0", "web_1")
    ]
    for poller in pollers:
        poller.start()
    eventually(lambda: all(azure.status()["vms"][name]["last_request"] for name in ("web_0", "web_1")))
    azure.advance(119)
    assert answers == []
    assert not azure.status()["vms"]["web_0"]["enabled"]
    azure.advance(1)
    for poller in pollers:
        poller.join(30)
    assert answers == [200, 200]
    assert azure.status()["vms"]["web_0"]["enabled"]
    assert not azure.status()["vms"]["db"]["enabled"]


def test_given_an_enabling_status_when_first_asked_then_it_is_answered_until_the_delay_is_over(
    simulate: Simulate,
) -> None:
    azure = simulate(imds={"enable_delay": 120, "enabling_status": 404})
    assert ask(azure.imds["web_0"]).status == 404
    azure.advance(119)
    assert ask(azure.imds["web_1"]).status == 404
    azure.advance(1)
    assert ask(azure.imds["web_0"]).status == 200


def test_given_a_scope_that_is_not_enabled_when_instance_metadata_is_read_then_it_stays_so(azure: Simulator) -> None:
    ask(azure.imds["web_0"], f"{INSTANCE}?api-version=2021-12-13")
    assert not azure.status()["vms"]["web_0"]["enabled"]


# -- approving ------------------------------------------------------------------------------


def test_given_an_event_when_approved_in_other_case_then_it_starts_and_repeats_are_welcome(azure: Simulator) -> None:
    event = azure.event("Freeze", ["web_0"])
    ask(azure.imds["web_1"])
    for _turn in range(2):
        answer = approve(azure.imds["web_1"], event["event_id"].lower())
        assert (answer.status, answer.body) == (200, b"")
    record = azure.status()["events"][0]
    assert record["status"] == "Started"
    assert [(a["vm"], a["repeated"]) for a in record["approvals"]] == [("web_1", False), ("web_1", True)]
    assert record["notice_left_at_approval"] == 900


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"StartRequests": []}',
        '{"StartRequests": {}}',
        '{"StartRequests": ["A"]}',
        '{"StartRequests": [{}]}',
        '{"StartRequests": [{"EventId": 7}]}',
        '{"StartRequests": [{"EventId": ""}]}',
        "[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_given_a_malformed_body_when_posted_then_the_answer_is_400_and_nothing_starts(
    azure: Simulator, body: str | bytes
) -> None:
    azure.event("Freeze", ["web_0"])
    answer = ask(azure.imds["web_0"], method="POST", body=body)
    assert answer.status == 400
    assert "StartRequests" in answer.json["error"]
    assert azure.status()["events"][0]["status"] == "Scheduled"


def test_given_the_old_form_with_an_incarnation_when_posted_then_it_is_understood() -> None:
    assert read_start_requests(b'{"DocumentIncarnation": 5, "StartRequests": [{"EventId": "A", "More": 1}]}') == ["A"]


@pytest.mark.parametrize("status", [400, 404, 200])
def test_given_an_unknown_event_when_approved_with_a_known_one_then_the_configured_status_says_so(
    simulate: Simulate, status: int
) -> None:
    azure = simulate(imds={"unknown_event_status": status})
    event = azure.event("Freeze", ["web_0"])
    ask(azure.imds["web_0"])
    answer = approve(azure.imds["web_0"], event["event_id"], "F0F0F0F0-0000-4000-8000-000000000000")
    assert answer.status == status
    if status != 200:
        assert "F0F0F0F0" in answer.json["error"]
    assert azure.status()["events"][0]["status"] == ("Started" if status == 200 else "Scheduled")


def test_given_an_event_of_another_scope_when_approved_then_it_is_unknown(azure: Simulator) -> None:
    event = azure.event("Freeze", ["web_0"])
    ask(azure.imds["db"])
    assert approve(azure.imds["db"], event["event_id"]).status == 400


# -- machines that cannot ask ---------------------------------------------------------------


@pytest.mark.parametrize("event_type", ["Reboot", "Redeploy"])
def test_given_a_machine_that_reboots_or_moves_when_it_asks_then_its_connection_is_reset_until_it_is_back(
    azure: Simulator, event_type: str
) -> None:
    azure.event(event_type, ["web_0"], status="Started", impact=30)
    with pytest.raises(ConnectionResetError):
        ask(azure.imds["web_0"])
    assert ask(azure.imds["web_1"]).json["Events"][0]["EventStatus"] == "Started"
    azure.advance(30)
    assert ask(azure.imds["web_0"]).status == 200


def test_given_a_frozen_machine_when_it_asks_then_the_answer_comes_with_the_thaw(azure: Simulator) -> None:
    azure.event("Freeze", ["web_0"], status="Started", impact=10)
    answers: list[int] = []
    poller = threading.Thread(target=lambda: answers.append(ask(azure.imds["web_0"]).status))
    poller.start()
    eventually(lambda: azure.status()["vms"]["web_0"]["last_request"])
    azure.advance(9)
    assert answers == []
    azure.advance(1)
    poller.join(30)
    assert answers == [200]


def poll_web_0(azure: Simulator) -> tuple[threading.Thread, list[object]]:
    """A request under way, and the errors by which it is lost."""
    lost: list[object] = []

    def poll() -> None:
        try:
            ask(azure.imds["web_0"])
        except ConnectionResetError as error:
            lost.append(type(error))

    poller = threading.Thread(target=poll)
    poller.start()
    eventually(lambda: azure.status()["vms"]["web_0"]["last_request"])
    return poller, lost


def test_given_a_frozen_machine_when_it_reboots_before_the_thaw_then_its_request_is_lost(azure: Simulator) -> None:
    azure.event("Freeze", ["web_0"], status="Started", impact=100)
    poller, lost = poll_web_0(azure)
    azure.event("Reboot", ["web_0"], status="Started")
    poller.join(30)
    assert lost == [ConnectionResetError]


def test_given_a_machine_that_waits_for_enabling_when_it_reboots_meanwhile_then_its_request_is_lost(
    simulate: Simulate,
) -> None:
    azure = simulate(imds={"enable_delay": 60})
    poller, lost = poll_web_0(azure)
    azure.event("Reboot", ["web_0"], status="Started", impact=90)
    azure.advance(60)
    poller.join(30)
    assert lost == [ConnectionResetError]


@pytest.mark.parametrize("event_type", ["Preempt", "Terminate"])
def test_given_a_deleted_machine_when_its_address_is_asked_then_nobody_answers(
    azure: Simulator, event_type: str
) -> None:
    azure.event(event_type, ["web_0"], status="Started", impact=10)
    assert ask(azure.imds["web_0"]).status == 200
    azure.advance(10)
    with pytest.raises(http.client.RemoteDisconnected):
        ask(azure.imds["web_0"])
    assert azure.status()["vms"]["web_0"]["state"] == "deleted"


def test_given_a_machine_that_approves_its_own_reboot_when_it_starts_at_once_then_the_post_is_answered(
    azure: Simulator,
) -> None:
    event = azure.event("Reboot", ["web_0"])
    ask(azure.imds["web_0"])
    assert approve(azure.imds["web_0"], event["event_id"]).status == 200
    assert azure.status()["vms"]["web_0"]["state"] == "rebooting"


# -- the rate limit -------------------------------------------------------------------------


def test_given_five_requests_within_a_second_when_a_sixth_comes_then_it_is_429_whatever_its_path(
    simulate: Simulate,
) -> None:
    azure = simulate(imds={"rate_limit": 5})
    paths = [NEWEST, f"{INSTANCE}?api-version=2021-12-13", "/metadata/versions", "/nothing", EVENTS]
    begin = time.monotonic()
    answers = [ask(azure.imds["web_0"], path) for path in [*paths, NEWEST]]
    if time.monotonic() - begin >= 1:
        pytest.skip("this machine is too slow to ask six times within a second")
    assert [answer.status for answer in answers] == [200, 200, 200, 404, 400, 429]
    assert "Retry-After" not in answers[-1].headers
    assert ask(azure.imds["web_1"]).status == 200


def test_given_a_retry_after_when_the_limit_is_reached_then_the_answer_carries_it(simulate: Simulate) -> None:
    azure = simulate(imds={"rate_limit": 1, "retry_after": 2})
    answers = [ask(azure.imds["web_0"]) for _turn in range(20)]
    refused = [answer for answer in answers if answer.status == 429]
    assert refused
    assert refused[0].headers["Retry-After"] == "2"


def test_given_a_caller_when_a_second_has_passed_since_the_fifth_last_then_it_may_ask_again() -> None:
    caller = Caller(5)
    assert [caller.admit(0.1 * turn) for turn in range(7)] == [True] * 5 + [False] * 2
    assert not caller.admit(0.99)
    assert caller.admit(1.0)
    assert not caller.admit(1.05)
    assert caller.admit(1.1)


# -- instance metadata ----------------------------------------------------------------------


def test_given_a_vm_when_its_compute_metadata_is_read_then_it_is_what_handlers_need(simulate: Simulate) -> None:
    azure = simulate(
        vms=[
            {
                "name": "set_11",
                "address": "127.0.77.11",
                "scale_set": "set",
                "resource_group": "prod",
                "zone": "2",
                "spot": True,
                "vm_id": "02aab8a4-74ef-476e-8182-f6d2ba4166a6",
                "subscription_id": "8d10da13-8125-4ba9-a717-bf7490507b3d",
                "tags": {"team": "web", "tier": "1"},
            }
        ]
    )
    compute = ask(azure.imds["set_11"], f"{INSTANCE}/compute?api-version=2021-12-13").json
    expected = {
        "name": "set_11",
        "vmId": "02aab8a4-74ef-476e-8182-f6d2ba4166a6",
        "resourceId": "/subscriptions/8d10da13-8125-4ba9-a717-bf7490507b3d/resourceGroups/prod/providers/"
        "Microsoft.Compute/virtualMachineScaleSets/set/virtualMachines/11",
        "vmScaleSetName": "set",
        "zone": "2",
        "location": "westeurope",
        "osType": "Linux",
        "resourceGroupName": "prod",
        "subscriptionId": "8d10da13-8125-4ba9-a717-bf7490507b3d",
        "priority": "Spot",
        "tags": "team:web;tier:1",
        "tagsList": [{"name": "team", "value": "web"}, {"name": "tier", "value": "1"}],
    }
    assert {name: compute[name] for name in expected} == expected
    assert compute["osProfile"]["computerName"] == "set00000B"


@pytest.mark.parametrize(("os_type", "publisher"), [("Linux", "Canonical"), ("Windows", "MicrosoftWindowsServer")])
def test_given_an_operating_system_when_asked_for_then_the_image_is_one_of_it(
    simulate: Simulate, os_type: str, publisher: str
) -> None:
    azure = simulate(vms=[{"name": "vm", "address": "127.0.77.11", "os_type": os_type}])
    compute = ask(azure.imds["vm"], f"{INSTANCE}/compute?api-version=2021-12-13").json
    assert (compute["osType"], compute["publisher"]) == (os_type, publisher)


@pytest.mark.parametrize(
    ("version", "has", "lacks"),
    [
        ("2017-04-02", ["name", "vmId", "osType"], ["resourceGroupName", "zone", "resourceId"]),
        ("2017-08-01", ["subscriptionId", "resourceGroupName"], ["vmScaleSetName", "zone"]),
        ("2019-03-11", ["resourceId", "zone", "vmScaleSetName"], ["tagsList", "osProfile"]),
        ("2020-09-01", ["osProfile", "tagsList", "licenseType"], ["priority"]),
        ("2021-02-01", ["priority", "userData"], ["virtualMachineScaleSet"]),
        ("2021-12-13", ["virtualMachineScaleSet", "hostGroup"], ["physicalZone"]),
        ("2025-04-07", ["physicalZone"], []),
    ],
)
def test_given_an_api_version_when_instance_metadata_is_read_then_it_shows_the_fields_it_had(
    simulate: Simulate, version: str, has: list[str], lacks: list[str]
) -> None:
    compute = ask(simulate().imds["web_0"], f"{INSTANCE}/compute?api-version={version}").json
    assert set(has) <= set(compute)
    assert not set(lacks) & set(compute)


def test_given_the_whole_tree_when_read_then_every_single_value_is_a_text(simulate: Simulate) -> None:
    def leaves(node: Any) -> list[Any]:
        if isinstance(node, dict):
            return [leaf for value in node.values() for leaf in leaves(value)]
        if isinstance(node, list):
            return [leaf for value in node for leaf in leaves(value)]
        return [node]

    tree = ask(simulate().imds["web_0"], f"{INSTANCE}?api-version=2025-04-07").json
    assert set(tree) == {"compute", "network"}
    assert all(isinstance(leaf, str) for leaf in leaves(tree))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/compute/name", b"web_0"),
        ("/network/interface/0/ipv4/ipAddress/0/privateIpAddress", b"127.0.77.10"),
        ("", b"compute/\nnetwork/"),
        ("/network/interface", b"0/"),
        ("/network/interface/0", b"ipv4/\nipv6/\nmacAddress"),
    ],
)
def test_given_format_text_when_read_then_a_value_is_bare_and_a_node_is_a_list_of_names(
    simulate: Simulate, path: str, body: bytes
) -> None:
    answer = ask(simulate().imds["web_0"], f"{INSTANCE}{path}?api-version=2021-12-13&format=text")
    assert (answer.status, answer.body) == (200, body)
    assert answer.headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize("query", ["", "&format=json", "&format=xml"])
def test_given_a_single_value_when_asked_as_anything_but_text_then_the_answer_is_400(
    simulate: Simulate, query: str
) -> None:
    answer = ask(simulate().imds["web_0"], f"{INSTANCE}/compute/name?api-version=2021-12-13{query}")
    assert answer.status == 400


@pytest.mark.parametrize("path", ["/network/interface/1", "/network/interface/x", "/compute/name/more"])
def test_given_a_place_that_is_not_in_the_tree_when_asked_then_the_answer_is_404(simulate: Simulate, path: str) -> None:
    assert ask(simulate().imds["web_0"], f"{INSTANCE}{path}?api-version=2021-12-13&format=text").status == 404


def test_given_the_versions_endpoint_when_asked_without_a_version_then_it_lists_them(simulate: Simulate) -> None:
    assert ask(simulate().imds["web_0"], "/metadata/versions").json == {"apiVersions": list(VERSIONS)}
