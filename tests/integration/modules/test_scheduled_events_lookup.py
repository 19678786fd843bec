# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup scheduled_events through ansible-playbook, against the simulator over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.tests.hostile import hostile_document, what_was_run
from azure_simulator.testing import Simulator

NAME = "foghorn.azure_events.scheduled_events"

FLEET = {
    "clock": {"manual": True},
    "imds": {"rate_limit": 1000},
    "vms": [
        *(
            {"name": f"web_{number}", "address": f"127.0.3.{number + 1}", "availability_set": "web"}
            for number in range(3)
        ),
        {"name": "page", "address": "127.0.3.10"},
        {"name": "refusing", "address": "127.0.3.11"},
        {"name": "hostile", "address": "127.0.3.12"},
    ],
}

# What is asked, by the name under which the result is looked at: the arguments of query().
ASKED = {
    "all": "",
    "named": "'WEB_1', 'web_9'",
    "named in a list": "['web_1', 'web_2']",
    "filtered": "event_types=['Reboot', 'Freeze'], affecting='this_vm'",
    "name given": "vm_name='web_1', affecting='this_vm'",
    "endpoint given": "endpoint=other, affecting='this_vm'",
    "JMESPath": "query=restarted",
    "JMESPath to one value": "query='length(@)'",
    "JMESPath to nothing": "query='[9]'",
    "no JMESPath": "query='[?'",
    "no name": "''",
    "no time": "timeout=0",
    "unknown type": "event_types=['Rebot']",
    "unknown source": "source='moon'",
    "page": "endpoint=page",
    "refusing": "endpoint=refusing",
    "unknown version": "api_version='2016-01-01'",
    "hostile": "endpoint=hostile",
    "hostile by JMESPath": "endpoint=hostile, query='[].[event_id, description, other_fields]'",
}


class Scene:
    """What was announced, and what became of each query."""

    def __init__(self, ids: dict[str, str], played: Any, proof: Path) -> None:
        self.proof = proof
        self._names = {event_id: name for name, event_id in ids.items()}
        self.played = played

    def found(self, task: str) -> Any:
        """What a query gave."""
        assert not self.played[task].get("failed"), self.played[task]
        return self.played[task]["msg"]

    def listed(self, task: str) -> list[str]:
        """The events that a query gave, by our own names for them."""
        return [self._names[event["event_id"]] for event in self.found(task)]

    def error(self, task: str) -> str:
        """The message with which a query failed."""
        assert self.played[task]["failed"], self.played[task]
        return str(self.played[task]["msg"])


@pytest.fixture(scope="module", name="scene")
def fixture_scene(play: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One playbook asks for everything."""
    proof = tmp_path_factory.mktemp("proof")
    with Simulator(FLEET) as azure:
        ids = {
            "reboot": azure.event("Reboot", "web_0")["event_id"],
            "freeze": azure.event("Freeze", ["web_1", "web_0"], notice=1800)["event_id"],
            "redeploy": azure.event("Redeploy", "web_2")["event_id"],
        }
        azure.fault("status", "page", status=200, body="<!DOCTYPE html>")
        azure.fault("status", "refusing", status=403, body='{"error": "no entry"}')
        hostile = hostile_document(proof, "hostile").decode("ascii")
        azure.fault("status", "hostile", paths="/metadata/scheduledevents", status=200, body=hostile)
        tasks = [
            {"name": name, "ansible.builtin.debug": {"msg": "{{ query('%s', %s) }}" % (NAME, arguments)}}
            for name, arguments in ASKED.items()
        ]
        variables = {
            "other": azure.imds["web_2"],
            "page": azure.imds["page"],
            "refusing": azure.imds["refusing"],
            "hostile": azure.imds["hostile"],
            "restarted": "[?event_type=='Reboot' || event_type=='Redeploy'].resources[]",
        }
        tasks += hostile_tasks()
        played = play(tasks, environment={"FOGHORN_IMDS_ENDPOINT": azure.imds["web_0"]}, vars=variables)
        yield Scene(ids, played, proof)


def hostile_tasks() -> list[dict[str, Any]]:
    """Hand texts that try to be executed to everything that a playbook does with what a lookup gave."""
    found = "query('%s', endpoint=hostile)" % NAME
    return [
        {"name": "kept", "ansible.builtin.set_fact": {"kept": "{{ %s }}" % found}},
        {"name": "kept, shown", "ansible.builtin.debug": {"msg": "{{ hostvars['localhost'].kept }} {{ kept[0] }}"}},
        {
            "name": "one by one",
            "ansible.builtin.debug": {"msg": "{{ item.event_id }}: {{ item.description }} {{ item | to_json }}"},
            "loop": "{{ %s }}" % found,
        },
        {
            "name": "passed on",
            "ansible.builtin.debug": {"msg": "{{ passed.description }} {{ passed }}"},
            "vars": {"passed": "{{ (%s)[0] }}" % found},
        },
    ]


class TestLookingUp:
    @pytest.mark.parametrize(
        ("task", "listed"),
        [
            ("all", ["redeploy", "reboot", "freeze"]),
            ("named", ["freeze"]),
            ("named in a list", ["redeploy", "freeze"]),
            ("filtered", ["reboot", "freeze"]),
            ("name given", ["freeze"]),
            ("endpoint given", ["redeploy"]),
        ],
    )
    def test_given_names_and_filters_then_only_what_they_choose_is_found(
        self, scene: Scene, task: str, listed: list[str]
    ) -> None:
        assert scene.listed(task) == listed

    def test_an_event_is_as_the_module_returns_it(self, scene: Scene) -> None:
        freeze = scene.found("all")[-1]

        assert freeze["event_type"] == "Freeze"
        assert freeze["resources"] == ["web_1", "web_0"]
        assert (freeze["affects_this_vm"], freeze["leader"], freeze["this_vm_leads"]) == (True, "web_1", False)
        assert freeze["duration_in_seconds"] == 5


class TestJmespath:
    def test_given_an_expression_then_its_result_takes_the_place_of_the_list(self, scene: Scene) -> None:
        assert scene.found("JMESPath") == ["web_2", "web_0"]

    def test_given_a_result_that_is_no_list_then_it_comes_as_a_list(self, scene: Scene) -> None:
        assert scene.found("JMESPath to one value") == [3]
        assert scene.found("JMESPath to nothing") == []


class TestTextsThatWantToBeRun:
    def test_trap_11_given_a_hostile_document_then_no_use_of_what_is_found_runs_any_of_it(self, scene: Scene) -> None:
        assert what_was_run(scene.proof) == []
        told = "{{ lookup('pipe', 'touch %s/event_id') }}" % scene.proof
        assert told in [event["event_id"] for event in scene.found("hostile")]
        assert told in [event[0] for event in scene.found("hostile by JMESPath")]
        assert len(scene.played["one by one"]["results"]) == 4
        assert not {"kept", "kept, shown", "one by one", "passed on"} & set(scene.played.failed)

    def test_trap_11_given_escape_sequences_then_none_gets_to_the_terminal(self, scene: Scene) -> None:
        assert not {"\x1b", "\x07", "\x9b", "\x00"} & set(scene.played.output)


class TestErrors:
    @pytest.mark.parametrize(
        ("task", "message"),
        [
            ("no JMESPath", "query: '[?' is not a JMESPath expression"),
            ("no name", "'' is not the name of a VM. Give Azure's names, as text"),
            ("no time", "timeout: 0 is not a time. Give seconds, above 0 and up to 86400"),
            ("page", "cannot be used: not JSON"),
            ("refusing", "was refused: 403 Forbidden: no entry. The name of this VM is not known: set vm_name"),
            ("unknown version", "Set api_version to one of Scheduled Events: 2024-07-09, 2020-07-01"),
        ],
    )
    def test_given_a_mistake_or_a_failure_then_the_task_fails_with_a_readable_message(
        self, scene: Scene, task: str, message: str
    ) -> None:
        assert "scheduled_events: " in scene.error(task)
        assert message in scene.error(task)

    @pytest.mark.parametrize(("task", "value"), [("unknown type", "did you mean Reboot?"), ("unknown source", "moon")])
    def test_given_an_invalid_choice_then_the_error_shows_it_and_the_choices(
        self, scene: Scene, task: str, value: str
    ) -> None:
        assert "scheduled_events: " in scene.error(task)
        assert value in scene.error(task)

    def test_no_error_is_a_traceback_or_unexpected(self, scene: Scene) -> None:
        assert "Traceback" not in scene.played.output
        assert "unhandled exception" not in scene.played.output
        assert "Unexpected" not in scene.played.output
