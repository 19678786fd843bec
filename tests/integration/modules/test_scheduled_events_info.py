# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""scheduled_events_info through ansible-playbook, against the simulator over HTTP."""

from __future__ import annotations

import datetime
import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.tests.hostile import hostile_document, what_was_run
from azure_simulator.testing import Simulator

# Members of one availability set, which see each other's events; and standalone machines.
SET = ["web_0", "web_1", "web_2", "web_3"]
ALONE = [
    "quiet",
    "page",
    "error_body",
    "garbage",
    "busy",
    "limping",
    "silent",
    "nameless",
    "throttled",
    "hostile",
    "rude",
]

FLEET = {
    "clock": {"manual": True},
    "imds": {"rate_limit": 1000},
    "vms": [
        {"name": name, "address": f"127.0.1.{number}", **({"availability_set": "web"} if name in SET else {})}
        for number, name in enumerate([*SET, *ALONE], start=1)
    ],
}

PAGE = "<!DOCTYPE html><title>Sign in</title>"


class Scene:
    """What was announced, and what became of each task that asked."""

    def __init__(self, events: dict[str, dict[str, Any]], results: Any, azure: Simulator, proof: Path) -> None:
        self.proof = proof
        self._names = {event["event_id"]: name for name, event in events.items()}
        self._results = results
        self.azure = azure

    def __getitem__(self, task: str) -> dict[str, Any]:
        result: dict[str, Any] = self._results[task]
        return result

    @property
    def output(self) -> str:
        """What a user saw."""
        return str(self._results.output)

    def listed(self, task: str) -> list[str]:
        """The events that a task returned, by our own names for them."""
        assert not self[task].get("failed"), self[task]
        return [self._names[event["event_id"]] for event in self[task]["events"]]

    def error(self, task: str) -> str:
        """The message with which a task failed."""
        assert self[task]["failed"], self[task]
        return str(self[task]["msg"])


@pytest.fixture(scope="module", name="scene")
def fixture_scene(play: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One playbook asks for everything."""
    proof = tmp_path_factory.mktemp("proof")
    with Simulator(FLEET) as azure, socket.socket() as bound:
        # Bound, but not listening: connections are refused, and nobody else can take the port.
        bound.bind(("127.0.0.1", 0))
        nobody = "http://127.0.0.1:%d" % bound.getsockname()[1]
        events = {
            "reboot": azure.event("Reboot", "web_0", description="Wartung für den Host"),
            "terminate": azure.event("Terminate", "web_3", notice=1200),
            "freeze": azure.event("Freeze", ["web_1", "web_0"], notice=1800),
            "redeploy": azure.event("Redeploy", "web_2", event_source="User"),
            "started": azure.event("Freeze", "web_2", status="Started", impact=0),
        }
        azure.fault("status", "page", status=200, body=PAGE, headers={"Content-Type": "text/html"})
        azure.fault("status", "error_body", paths="/metadata/scheduledevents", status=200, body='{"error": "moved"}')
        azure.fault("garbage", "garbage", count=1)
        azure.fault("status", "busy", status=429, count=2)
        azure.fault("status", "limping", status=503)
        azure.fault("silence", "silent")
        azure.fault("status", "nameless", paths="/metadata/instance", status=404)
        azure.fault("status", "throttled", status=429, headers={"Retry-After": "3600"})
        hostile = hostile_document(proof, "hostile").decode("ascii")
        azure.fault("status", "hostile", paths="/metadata/scheduledevents", methods=["GET"], status=200, body=hostile)
        rude = json.dumps({"error": "{{ lookup('pipe', 'touch %s/error') }} \x1b[2J\x9b31m\ud800" % proof})
        azure.fault("status", "rude", paths="/metadata/scheduledevents", status=403, body=rude)

        defaults = {"group/foghorn.azure_events.imds": {"endpoint": azure.imds["web_0"]}}
        yield Scene(events, play(tasks(azure, nobody), module_defaults=defaults), azure, proof)


def tasks(azure: Simulator, nobody: str) -> list[dict[str, Any]]:
    """Ask in every way; each task has the name under which its result is looked at."""
    asked: dict[str, dict[str, Any]] = {
        "everything": {},
        "types": {"event_types": ["Reboot", "Terminate"]},
        "no types": {"event_types": []},
        "sources": {"event_sources": ["User"]},
        "statuses": {"event_statuses": ["Started"]},
        "this vm": {"affecting": "this_vm"},
        "others": {"affecting": "others"},
        "all filters": {
            "event_types": ["Freeze", "Reboot"],
            "event_sources": ["Platform"],
            "event_statuses": ["Scheduled"],
            "affecting": "others",
            "vm_name": "web_9",
        },
        "name given": {"vm_name": "WEB_1", "affecting": "this_vm"},
        "part of a name": {"vm_name": "web_", "affecting": "this_vm"},
        "preview": {"api_version": "2017-03-01"},
        "before sources": {"api_version": "2019-04-01"},
        "source before sources": {"api_version": "2019-04-01", "event_sources": ["Platform"]},
        "date": {"api_version": datetime.date(2020, 7, 1)},
        "unknown version": {"api_version": "2016-01-01"},
        "https": {"endpoint": "https://127.0.0.1"},
        "misspelt type": {"event_types": ["Rebot"]},
        "unknown type": {"event_types": ["Defragment"], "endpoint": azure.imds["nameless"], "vm_name": "nameless"},
        "no azure vm": {"endpoint": nobody, "connect_timeout": 1},
        "nameless but told": {"endpoint": azure.imds["nameless"], "vm_name": "nameless"},
    }
    for name in ALONE[: ALONE.index("hostile")]:
        asked[name] = {"endpoint": azure.imds[name]}
    asked["limping"]["timeout"] = 1.5
    asked["silent"]["timeout"] = 1.5
    module = "foghorn.azure_events.scheduled_events_info"
    listed: list[dict[str, Any]] = [{"name": name, module: arguments} for name, arguments in asked.items()]
    # To a fork, its controller gives out the warning.
    next(task for task in listed if task["name"] == "unknown type")["connection"] = "local"
    listed.append({"name": "rude", module: {"endpoint": azure.imds["rude"], "vm_name": "rude"}, "register": "rude"})
    return [
        *listed,
        {"name": "check mode", module: {}, "check_mode": True, "diff": True},
        {
            "name": "endpoint of the environment",
            module: {},
            "module_defaults": {"group/foghorn.azure_events.imds": {}},
            "environment": {"FOGHORN_IMDS_ENDPOINT": azure.imds["web_1"]},
        },
        {
            "name": "proxies",
            module: {},
            "environment": dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"), nobody),
        },
        *hostile_tasks(azure),
    ]


def hostile_tasks(azure: Simulator) -> list[dict[str, Any]]:
    """Hand texts that try to be executed to everything that a playbook does with what a task returned."""
    info = {"endpoint": azure.imds["hostile"], "vm_name": "hostile"}
    approve = "foghorn.azure_events.scheduled_event_approve"
    told = "hostvars[inventory_hostname].told"
    all_of_them = {"event_ids": "{{ %s.events | map(attribute='event_id') }}" % told}
    return [
        {"name": "told", "foghorn.azure_events.scheduled_events_info": info, "register": "told"},
        {
            "name": "would approve",
            approve: {**info, **all_of_them, "scope": "any"},
            "check_mode": True,
            "diff": True,
            "register": "approvable",
        },
        {"name": "would not approve", approve: {**info, **all_of_them, "vm_name": "other"}, "register": "refused"},
        {
            "name": "approve unknown",
            approve: {**info, **all_of_them, "scope": "any", "timeout": 5},
            "register": "unapproved",
        },
        {"name": "kept", "ansible.builtin.set_fact": {"kept": "{{ %s }}" % told, "one": "{{ %s.events[0] }}" % told}},
        {"name": "shown", "ansible.builtin.debug": {"msg": "{{ %s.events }}" % told}},
        {"name": "shown by name", "ansible.builtin.debug": {"var": told}},
        {"name": "shown as kept", "ansible.builtin.debug": {"msg": "{{ kept }} and {{ hostvars['localhost'].one }}"}},
        {
            "name": "shown one by one",
            "ansible.builtin.debug": {"msg": "{{ item.event_id }}: {{ item.description }} {{ item | to_json }}"},
            "loop": "{{ %s.events }}" % told,
        },
        {
            "name": "passed on",
            "ansible.builtin.debug": {"msg": "{{ passed.description }} {{ passed }}"},
            "vars": {"passed": "{{ hostvars['localhost'].kept.events[0] }}"},
        },
        {
            "name": "shown refusals",
            "ansible.builtin.debug": {
                "msg": "{{ hostvars['localhost'].refused.msg }} {{ unapproved.msg }} {{ approvable }} {{ result_rude }}"
            },
            "vars": {"result_rude": "{{ rude.msg }}"},
        },
        {
            "name": "decided",
            "ansible.builtin.assert": {"that": ["%s.events | length == 4" % told, "kept.vm_name == 'hostile'"]},
        },
    ]


class TestWhatIsReturned:
    def test_given_no_filter_then_all_events_come_in_order_of_urgency(self, scene: Scene) -> None:
        assert scene.listed("everything") == ["started", "redeploy", "reboot", "terminate", "freeze"]

    def test_the_vm_name_is_asked_of_imds(self, scene: Scene) -> None:
        assert scene["everything"]["vm_name"] == "web_0"

    def test_the_incarnation_is_a_number_and_does_not_change_while_the_events_do_not(self, scene: Scene) -> None:
        assert isinstance(scene["everything"]["document_incarnation"], int)
        assert scene["everything"]["document_incarnation"] == scene["types"]["document_incarnation"]

    def test_an_event_has_every_field_and_what_it_means_for_this_vm(self, scene: Scene) -> None:
        (reboot,) = [dict(event) for event in scene["everything"]["events"] if event["event_type"] == "Reboot"]
        not_before = reboot.pop("not_before")
        assert 0 < reboot.pop("seconds_until_start") <= 900

        assert time.strptime(not_before, "%Y-%m-%dT%H:%M:%SZ")
        assert len(reboot.pop("event_id")) == 36
        assert reboot == {
            "event_type": "Reboot",
            "event_status": "Scheduled",
            "event_source": "Platform",
            "resource_type": "VirtualMachine",
            "resources": ["web_0"],
            "description": "Wartung für den Host",
            "duration_in_seconds": -1,
            "affects_this_vm": True,
            "shared": False,
            "leader": "web_0",
            "this_vm_leads": True,
        }

    def test_a_shared_event_names_its_leader(self, scene: Scene) -> None:
        freeze = scene["everything"]["events"][-1]

        assert (freeze["shared"], freeze["leader"], freeze["this_vm_leads"]) == (True, "web_1", False)

    def test_trap_2_an_event_that_has_started_is_still_listed_and_starts_in_0_seconds(self, scene: Scene) -> None:
        started = scene["everything"]["events"][0]

        assert (started["event_status"], started["seconds_until_start"], started["not_before"]) == ("Started", 0, None)

    def test_trap_7_a_duration_of_unknown_length_is_minus_1_and_a_known_one_is_itself(self, scene: Scene) -> None:
        durations = {event["event_type"]: event["duration_in_seconds"] for event in scene["everything"]["events"]}

        assert (durations["Reboot"], durations["Freeze"]) == (-1, 5)

    def test_given_no_events_then_the_list_is_empty(self, scene: Scene) -> None:
        assert scene["quiet"]["events"] == []

    @pytest.mark.parametrize("task", ["everything", "check mode", "no types", "quiet"])
    def test_nothing_ever_changes(self, scene: Scene, task: str) -> None:
        assert scene[task]["changed"] is False

    def test_given_check_mode_then_it_returns_the_same(self, scene: Scene) -> None:
        assert scene.listed("check mode") == scene.listed("everything")


class TestTextsThatWantToBeRun:
    def test_trap_11_given_a_hostile_document_then_no_use_of_what_is_returned_runs_any_of_it(
        self, scene: Scene
    ) -> None:
        assert what_was_run(scene.proof) == []
        told = "{{ lookup('pipe', 'touch %s/event_id') }}" % scene.proof
        assert told in [event["event_id"] for event in scene["told"]["events"]]
        assert scene["decided"]["msg"] == "All assertions passed"

    def test_trap_11_given_a_hostile_document_then_each_event_is_returned_and_hits_this_vm(self, scene: Scene) -> None:
        assert [event["affects_this_vm"] for event in scene["told"]["events"]] == [True] * 4
        assert scene["kept"]["ansible_facts"]["kept"]["events"] == scene["told"]["events"]

    def test_trap_11_given_escape_sequences_then_none_gets_to_the_terminal(self, scene: Scene) -> None:
        assert not {"\x1b", "\x07", "\x9b", "\x00"} & set(scene.output)
        assert "was refused: 403 Forbidden: {{ lookup(" in scene.error("rude")

    def test_given_an_approval_of_others_is_refused_then_their_texts_are_quoted_and_not_run(self, scene: Scene) -> None:
        assert "/event_id') }}, which" in scene.error("would not approve")
        assert scene["would approve"]["changed"] is True


class TestFilters:
    @pytest.mark.parametrize(
        ("task", "listed"),
        [
            ("types", ["reboot", "terminate"]),
            ("no types", []),
            ("sources", ["redeploy", "terminate"]),
            ("statuses", ["started"]),
            ("this vm", ["reboot", "freeze"]),
            ("others", ["started", "redeploy", "terminate"]),
            ("all filters", ["reboot", "freeze"]),
        ],
    )
    def test_given_a_filter_then_only_what_it_chooses_is_listed(
        self, scene: Scene, task: str, listed: list[str]
    ) -> None:
        assert scene.listed(task) == listed

    def test_given_a_vm_name_in_any_case_then_it_identifies_this_vm(self, scene: Scene) -> None:
        assert scene["name given"]["vm_name"] == "WEB_1"
        assert scene.listed("name given") == ["freeze"]
        assert scene["name given"]["events"][0]["this_vm_leads"] is True

    def test_trap_8_given_a_part_of_a_name_then_it_matches_no_vm(self, scene: Scene) -> None:
        assert scene.listed("part of a name") == []


class TestApiVersions:
    def test_given_the_preview_then_names_have_lost_their_underscore(self, scene: Scene) -> None:
        assert scene.listed("preview") == ["started", "redeploy", "reboot", "freeze"]
        assert {name for event in scene["preview"]["events"] for name in event["resources"]} == {*SET} - {"web_3"}

    def test_given_a_version_without_a_field_then_it_is_none(self, scene: Scene) -> None:
        for event in scene["before sources"]["events"]:
            assert event["event_source"] is None
            assert event["duration_in_seconds"] is None
            assert event["description"]

    def test_given_a_version_without_sources_then_a_filter_on_them_chooses_nothing(self, scene: Scene) -> None:
        assert scene.listed("source before sources") == []

    def test_given_the_version_as_a_date_of_yaml_then_it_is_understood(self, scene: Scene) -> None:
        assert scene.listed("date") == scene.listed("everything")

    def test_given_a_version_that_imds_does_not_know_then_the_error_names_those_of_scheduled_events(
        self, scene: Scene
    ) -> None:
        assert "400 Bad Request" in scene.error("unknown version")
        assert "Set api_version to one of Scheduled Events: 2024-07-09, 2020-07-01" in scene.error("unknown version")
        assert scene["unknown version"]["requests_tried"] == 1


class TestConnections:
    def test_given_the_environment_variable_then_it_is_the_endpoint(self, scene: Scene) -> None:
        assert scene["endpoint of the environment"]["vm_name"] == "web_1"

    def test_trap_9_given_proxies_in_the_environment_then_imds_is_asked_directly(self, scene: Scene) -> None:
        assert scene["proxies"]["vm_name"] == "web_0"

    def test_given_no_azure_vm_then_it_fails_within_the_connect_timeout_and_says_what_to_do(self, scene: Scene) -> None:
        assert "did not answer within 1 s" in scene.error("no azure vm")
        assert "is this an Azure VM? Set endpoint to" in scene.error("no azure vm")
        assert "ConnectionRefusedError" in scene["no azure vm"]["last_outcome"]

    @pytest.mark.parametrize("task", ["garbage", "busy"])
    def test_given_a_passing_problem_then_the_request_is_repeated(self, scene: Scene, task: str) -> None:
        assert (scene[task]["vm_name"], scene[task]["events"]) == (task, [])

    # The limit may cut the last try of the one that answers short.
    @pytest.mark.parametrize(
        ("task", "outcomes"),
        [("limping", ("503 Service Unavailable", "no answer in time")), ("silent", ("no answer in time",))],
    )
    def test_given_a_lasting_problem_then_the_time_limit_holds(
        self, scene: Scene, task: str, outcomes: tuple[str, ...]
    ) -> None:
        assert "had no usable answer within 1.5 s" in scene.error(task)
        assert scene[task]["last_outcome"].startswith(outcomes)
        assert scene[task]["requests_tried"] >= 1

    def test_given_retry_after_beyond_the_limit_then_it_fails_at_once(self, scene: Scene) -> None:
        assert "had no usable answer within 150 s (1 attempt, the last: 429" in scene.error("throttled")

    def test_given_no_name_can_be_asked_then_the_error_says_to_set_it(self, scene: Scene) -> None:
        assert "The name of this VM is not known: set vm_name" in scene.error("nameless")
        assert scene["nameless but told"]["events"] == []


class TestErrors:
    @pytest.mark.parametrize("task", ["page", "error_body"])
    def test_trap_3_given_an_answer_that_is_no_document_then_it_fails_and_returns_no_events(
        self, scene: Scene, task: str
    ) -> None:
        assert f"The answer of IMDS at {scene.azure.imds[task]} cannot be used: not " in scene.error(task)
        assert "events" not in scene[task]

    @pytest.mark.parametrize(
        ("task", "message"),
        [
            ("https", "endpoint: 'https://127.0.0.1' must begin with http://"),
            ("misspelt type", "event_types: 'Rebot' is not one of Preempt, Terminate, Redeploy, Reboot, "),
            ("misspelt type", "Freeze: did you mean Reboot?"),
        ],
    )
    def test_given_an_invalid_option_then_the_error_names_option_value_and_remedy(
        self, scene: Scene, task: str, message: str
    ) -> None:
        assert message in scene.error(task)

    def test_given_a_type_that_azure_may_add_then_it_is_accepted_with_a_warning(self, scene: Scene) -> None:
        assert scene["unknown type"]["events"] == []
        assert "'Defragment' is not an event type that this version knows" in repr(scene["unknown type"]["warnings"])

    def test_no_error_is_a_traceback(self, scene: Scene) -> None:
        assert "Traceback" not in repr(scene._results)
        assert "MODULE FAILURE" not in repr(scene._results)
