# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller reads of a host: its answer, and what the operator's variables say."""

from __future__ import annotations

from collections import UserString
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.answers import (
    MARKER,
    Variables,
    answer_of,
    report_of,
    status_of,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.orders import note_asked

FOUND: dict[str, Any] = {
    "claims": {},
    "lease": None,
    "present": [],
    "now": 5.0,
    "scheduled": {"vm_name": "vm_0", "events": []},
}
RUN = {"id": "R", "playbook": "handle_events", "by": "root on ctl", "process": None}


class HostVars(dict[str, dict[str, Any]]):
    """Those of ansible-core, with templates that are evaluated as told."""

    def __init__(self, raw: dict[str, Any], **evaluated: Any) -> None:
        super().__init__(web1={**raw, **evaluated})
        self.raw = {"__handle_events_owner": "handle_events", "__handle_events_demand": "", **raw}

    def raw_get(self, name: str) -> dict[str, Any]:
        assert name == "web1"
        return self.raw


def answer(found: Any = FOUND, **variables: Any) -> dict[str, Any]:
    return answer_of(Variables(HostVars({"__handle_events_found": found, **variables})).of("web1"))


def test_given_no_variables_then_the_defaults_hold_and_the_host_is_known() -> None:
    said = answer()
    reading = note_asked("web1", said, RUN)

    assert said["policy"]["minimum_in_service"] == "50%"
    assert said["answer"] == FOUND["scheduled"]
    assert (reading["failure"], reading["vm_name"], reading["methods"]) == ("", "vm_0", ["health_probe"])


def test_given_a_host_that_is_off_then_no_variable_is_read_whose_template_may_lack_its_address() -> None:
    said = answer({}, powerstate="deallocated", graceful_shutdown_services=["nginx"])
    reading = note_asked("web1", said, RUN)

    assert said["variables"]["services"] is None
    assert reading["is_off"] is True


def test_given_text_of_a_host_that_looks_like_a_template_then_it_is_none() -> None:
    hostile = {"msg": "{{ lookup('pipe', 'id') }}"}

    assert answer(hostile)["answer"] == hostile


def test_given_templates_of_the_operator_then_their_values_count_and_those_of_groups_are_evaluated_once() -> None:
    hostvars = HostVars(
        {"handle_events_group": "{{ groups['web'] | first }}", "load_balancer_removal_ports": "{{ ports }}"},
        handle_events_group="web1",
        load_balancer_removal_ports=[80],
    )
    variables = Variables(hostvars)

    assert answer_of(variables.of("web1"))["variables"]["ports"] == [80]
    hostvars["web1"]["handle_events_group"] = "not evaluated again"
    assert answer_of(variables.of("web1"))["variables"]["group"] == "web1"


@pytest.mark.parametrize("found", [7, "text", None, ["a"], {"claims": {}, "present": 7, "scheduled": 7, "agent": "a"}])
def test_given_anything_that_a_host_says_then_it_is_read_and_the_host_is_silent(found: Any) -> None:
    assert note_asked("web1", answer(found), RUN)["vm_name"] is None


def test_given_facts_that_set_variables_of_the_operator_then_no_variable_of_the_host_counts() -> None:
    facts = {"handle_events_minimum_in_service": 0, "load_balancer_removal_methods": {"a": 1}}
    said = answer(**facts, ansible_facts=facts)

    assert said["policy"]["minimum_in_service"] == "50%"
    assert said["variables"]["methods"] is None
    assert "its ansible_facts hold" in note_asked("web1", said, RUN)["failure"]


@pytest.mark.parametrize(
    ("set_to", "is_off"),
    [({"powerstate": "deallocated"}, True), ({"powerstate": "deallocated", "handle_events_is_off": False}, False)],
)
def test_given_what_the_inventory_says_of_its_power_then_the_operator_has_the_last_word(
    set_to: dict[str, Any], is_off: bool
) -> None:
    assert answer(**set_to)["variables"]["is_off"] is is_off


@pytest.mark.parametrize(
    ("variables", "is_there", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"load_balancer_removal_health_probe_file_state": "absent"}, True, False),
        ({"load_balancer_removal_health_probe_file_state": "absent"}, False, True),
        # What a command does leaves its record alone.
        ({"load_balancer_removal_methods": ["command"]}, True, False),
        ({"load_balancer_removal_methods": "haproxy"}, False, False),
    ],
)
def test_given_the_file_of_the_probe_endpoint_then_the_host_is_out_if_the_file_says_so(
    variables: dict[str, Any], is_there: bool, expected: bool
) -> None:
    found = {**FOUND, "present": [MARKER] if is_there else []}

    assert answer(found, **variables)["is_marked"] is expected
    assert not answer({**found, "system": "Windows"}, **variables)["is_marked"]


def test_given_a_record_of_the_role_used_on_its_own_then_it_is_a_trace_and_the_marker_is_none() -> None:
    found = {**FOUND, "present": ["/records/haproxy.balancers", MARKER]}

    assert answer(found)["traces"] == ["/records/haproxy.balancers"]


@pytest.mark.parametrize(("events", "agent"), [([], {}), ([{"event_id": "A"}], {"in_rotation": True})])
def test_given_what_its_agent_says_then_it_counts_only_where_the_host_is_hit(
    events: list[Any], agent: dict[str, Any]
) -> None:
    found = {**FOUND, "agent": {"in_rotation": True}, "scheduled": {"vm_name": "vm_0", "events": events}}

    assert answer(found)["agent"] == agent


def test_given_a_host_that_was_refused_or_whose_python_is_too_old_then_that_is_its_answer() -> None:
    assert answer(__asked_python="it is Python 2.7")["answer"] == {"msg": "it is Python 2.7"}
    refused = {"__handle_events_refusal": "it is a Windows host"}
    assert answer(**refused)["answer"] == FOUND["scheduled"]
    assert answer(__handle_events_demand="move", **refused)["answer"] == {"msg": "it is a Windows host"}


def test_given_a_demand_of_the_playbook_then_it_is_part_of_what_is_known_of_the_host() -> None:
    assert answer(__handle_events_demanded={"is_due": True})["demand"] == {"is_due": True}
    assert answer()["demand"] == {}


@pytest.mark.parametrize("name", ["resource_id", "vm_id"])
def test_given_a_directory_of_another_vm_then_what_is_written_there_is_not_about_this_host(name: str) -> None:
    lease = {"id": "L", "until": 60.0}
    found = {**FOUND, "lease": lease, "vm": {name: "/other"}, "scheduled": {**FOUND["scheduled"], name: "/this"}}

    reading = note_asked("web1", answer(found), RUN)

    assert not reading["leased"]
    assert ("directory of another VM, /other" in reading["failure"]) is (name == "resource_id")


@pytest.mark.parametrize(
    ("ids", "expected"), [({"id": "/b"}, "/b"), ({"id": "/b", "load_balancer_removal_azure_vm_id": "/a"}, "/a")]
)
def test_given_ids_of_the_inventory_then_the_operators_own_comes_first(ids: dict[str, str], expected: str) -> None:
    assert answer(**ids)["variables"]["azure_vm_id"] == expected


def test_given_variables_that_ansible_vault_has_encrypted_then_their_text_counts() -> None:
    # Before ansible-core 2.19 it is no str.
    variables = answer(handle_events_group=UserString("shop"), load_balancer_removal_ports=[UserString("80")])[
        "variables"
    ]

    assert (type(variables["group"]), variables["ports"]) == (str, ["80"])


def test_given_commands_then_they_say_whether_the_host_is_in_if_each_has_a_status() -> None:
    one, other = {"name": "a", "status": ["true"]}, {"name": "b"}

    assert answer(load_balancer_removal_commands=[one])["variables"]["commands_say"]
    assert not answer(load_balancer_removal_commands=[one, other])["variables"]["commands_say"]


@pytest.mark.parametrize(("events", "expected"), [({"skipped": True}, {}), ({"events": []}, {"events": []})])
def test_given_a_host_whose_state_is_asked_for_then_its_traces_and_what_was_read_are_returned(
    events: dict[str, Any], expected: dict[str, Any]
) -> None:
    raw = {"__handle_events_found": {**FOUND, "present": ["/r", MARKER]}, "__status_events": events}
    said = status_of(Variables(HostVars(raw)).of("web1"))

    assert said["traces"] == ["/r", MARKER]
    assert said["answer"] == expected


def reported(*orders: str, **registered: Any) -> dict[str, Any]:
    """What is reported of a host with these orders."""
    given = [{"file": "show.yml"}, *({"do": do, "number": "0/4", "file": f"orders/{do}.yml"} for do in orders)]
    raw = {"__handle_events_next": {"orders": {"web1": given}}, "__handle_events_this_run": RUN, **registered}
    return report_of(Variables(HostVars(raw)).of("web1"))


def test_given_no_orders_then_nothing_is_reported() -> None:
    assert reported() == {}
    assert report_of(Variables(HostVars({"__handle_events_next": {}})).of("web1")) == {}


def test_given_orders_that_were_carried_out_then_the_answer_is_that_of_the_last_task_that_gives_one() -> None:
    answered: dict[str, Any] = {"__handle_events_answer": {"approved": []}}

    assert reported("note", "approve", **answered)["answer"] == {"approved": []}
    # They give none: this is that of an order before.
    assert reported("stop", **answered)["answer"] == {}
    assert reported("ask", __handle_events_found=FOUND)["answer"]["found"] == FOUND


@pytest.mark.parametrize(("number", "counts"), [("0/4", True), ("0/3", False)])
def test_given_a_failure_then_it_counts_if_it_is_of_these_orders(number: str, counts: bool) -> None:
    failed = {"link": 1, "task": "Approve", "answer": {"msg": "no"}}
    noted = {"number": number, **failed}

    assert reported("note", "approve", __handle_events_failure=noted)["failure"] == (failed if counts else {})


def test_given_a_drain_then_it_is_reported_what_is_announced_what_remains_and_what_the_host_leaves_by_itself() -> None:
    drained: dict[str, Any] = {
        "__handle_events_answer": {"events": []},
        "__load_balancer_removal_connections": {"remaining": ["port 80"]},
        "__load_balancer_removal_haproxy_sessions": {"results": [{"timed_out": True, "msg": "lb1"}, {"msg": "lb2"}]},
        "__load_balancer_removal_gateway_drained": {"remaining": ["gateway"]},
        "__load_balancer_removal_health_probe_found": {"confirmed": False},
        "__load_balancer_removal_noted": {"attempt": "R 0/4", "leaving": ["azure"]},
    }
    said = reported("lease", "drain", **drained)

    assert (said["listed"], said["confirmed"]) == ({"events": []}, False)
    assert said["remaining"] == ["port 80", "lb1", "gateway"]
    assert said["warnings"] == ["azure"]
    # Of an attempt before.
    drained["__load_balancer_removal_noted"]["attempt"] = "R 0/2"
    assert reported("lease", "drain", **drained)["warnings"] == []


def test_given_a_stop_and_a_return_then_what_the_roles_have_found_is_reported() -> None:
    stopped = {"__graceful_shutdown_done": {"stretch": {"warnings": ["slow"]}}}
    said = reported("restore", **stopped, __handle_events_renewed={"claims": {"by_hand": {}}})

    assert reported("stop", "note", "approve", **stopped)["stop_warnings"] == ["slow"]
    assert (said["claims"], said["kept_out"], said["partly_out"]) == ({"by_hand": {}}, [], [])
    assert "stop_warnings" not in said


@pytest.mark.parametrize(
    ("serving", "kept_out", "partly_out"),
    [
        ([], ["lb1: web/a is in drain, api/a is in drain"], []),
        (["web/a"], [], ["lb1: web/a is in drain, api/a is in drain"]),
    ],
)
def test_given_a_return_that_haproxy_does_not_follow_then_it_is_reported_where_and_whether_another_serves(
    serving: list[str], kept_out: list[str], partly_out: list[str]
) -> None:
    results = [
        {
            "__load_balancer_removal_haproxy_balancer": "lb1",
            "serving": [],
            "out": ["web/a is in drain", "api/a is in drain"],
        },
        {"__load_balancer_removal_haproxy_balancer": "lb2", "serving": serving, "out": []},
        {"__load_balancer_removal_haproxy_balancer": "lb3", "failed": True},
    ]
    said = reported("restore", __load_balancer_removal_haproxy_done={"results": results})

    assert (said["kept_out"], said["partly_out"]) == (kept_out, partly_out)


@pytest.mark.parametrize("value", [7, "text", None, ["a"], {"results": 7, "remaining": 7, "stretch": 7}])
@pytest.mark.parametrize("order", ["drain", "stop", "restore", "watch"])
def test_given_anything_that_a_host_says_then_its_report_can_be_read(order: str, value: Any) -> None:
    names = ["answer", "failure", "renewed"]
    roles = ["load_balancer_removal_connections", "load_balancer_removal_haproxy_sessions", "graceful_shutdown_done"]
    said = reported(
        order, **{f"__handle_events_{name}": value for name in names}, **{f"__{name}": value for name in roles}
    )

    assert said["number"] == "0/4"
