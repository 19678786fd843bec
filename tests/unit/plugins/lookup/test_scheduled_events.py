# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup: its documentation is true, it uses JMESPath correctly, and its errors are readable."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible import constants
from ansible.errors import AnsibleLookupError
from ansible.utils.display import Display
from ansible_collections.foghorn.azure_events.plugins.lookup.scheduled_events import LookupModule
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.options import places_arguments
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.task import sign_in_arguments
from ansible_collections.foghorn.azure_events.plugins.module_utils.imds_module import (
    connection_arguments,
    selection_arguments,
)
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.arm.scripted_arm import ScriptedArm, ok
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.scheduled_events.scripted_imds import (
    ScriptedImds,
    Step,
    compute,
    event,
    events,
    status,
)

NAME = "foghorn.azure_events.scheduled_events"

Query = Callable[..., list[Any]]


@pytest.fixture(scope="module")
def documented() -> dict[str, Any]:
    """What ansible-doc shows of the lookup, fragments merged."""
    command = [str(Path(sys.executable).with_name("ansible-doc")), "--json", "--type", "lookup", NAME]
    shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    content: dict[str, Any] = json.loads(shown.stdout)[NAME]
    return content


class TestDocumentation:
    def test_it_has_the_options_of_both_kinds_of_modules_and_some_of_its_own(self, documented: dict[str, Any]) -> None:
        shared = {**connection_arguments(), **selection_arguments()}

        of_resource_graph = {
            *sign_in_arguments(),
            *places_arguments(),
            "resource_group",
            "finished",
            "inventory_variable",
        }
        assert set(documented["doc"]["options"]) == {*shared, "_terms", "source", "query", *of_resource_graph}

    def test_each_requirement_is_one_library_because_ansible_doc_puts_commas_between_them(
        self, documented: dict[str, Any]
    ) -> None:
        for requirement in documented["doc"]["requirements"]:
            assert len(requirement.split(" >= ")) == 2
            assert "," not in requirement

    def test_each_shared_option_has_the_type_default_and_choices_of_the_modules(
        self, documented: dict[str, Any]
    ) -> None:
        for option, spec in {**connection_arguments(), **selection_arguments()}.items():
            for key in ("type", "elements", "default", "choices"):
                assert documented["doc"]["options"][option].get(key) == spec.get(key), f"{option}.{key}"

    def test_the_endpoint_comes_from_the_same_environment_variable(self, documented: dict[str, Any]) -> None:
        assert documented["doc"]["options"]["endpoint"]["env"] == [{"name": "FOGHORN_IMDS_ENDPOINT"}]

    def test_its_examples_are_tasks_that_query_it(self, documented: dict[str, Any]) -> None:
        tasks = yaml.safe_load(documented["examples"])

        assert len(tasks) == 4
        assert all(f"query('{NAME}'" in json.dumps(task) for task in tasks)


SCRIPT = (
    compute("web_0"),
    events(
        event("AA-1", "web_0"),
        event("BB-2", "web_1", "web_2", EventType="Freeze"),
        event("CC-3", "web_2", EventType="Redeploy", EventSource="User"),
    ),
)


@pytest.fixture
def call(documented: dict[str, Any]) -> Query:
    """Call the lookup as Ansible does: with the options that its documentation defines."""
    constants.config.initialize_plugin_configuration_definitions("lookup", NAME, documented["doc"]["options"])

    def run(*terms: Any, **options: Any) -> list[Any]:
        lookup = LookupModule()
        lookup._load_name = NAME
        found: list[Any] = lookup.run(list(terms), {}, **options)
        return found

    return run


@pytest.fixture
def query(call: Query) -> Query:
    """Call the lookup against an IMDS that plays a script."""

    def run(*terms: Any, script: tuple[Step, ...] = SCRIPT, **options: Any) -> list[Any]:
        with ScriptedImds(*script) as imds:
            return call(*terms, endpoint=imds.url, **options)

    return run


def ids(found: list[Any]) -> list[str]:
    return [one["event_id"] for one in found]


class TestLookingUp:
    def test_given_no_names_then_the_events_of_all_vms_are_found(self, query: Query) -> None:
        assert ids(query()) == ["CC-3", "AA-1", "BB-2"]

    def test_given_names_then_the_events_that_hit_any_of_them_are_found_in_any_case(self, query: Query) -> None:
        assert ids(query("WEB_1", "web_0")) == ["AA-1", "BB-2"]

    def test_given_lists_of_names_then_they_are_taken_together(self, query: Query) -> None:
        assert ids(query(["web_1"], "web_0")) == ["AA-1", "BB-2"]

    def test_given_filters_then_they_choose(self, query: Query) -> None:
        assert ids(query(event_types=["Freeze", "Redeploy"], event_sources=["User"])) == ["CC-3"]
        assert ids(query(affecting="this_vm")) == ["AA-1"]

    def test_given_a_vm_name_then_imds_is_not_asked_for_it(self, query: Query) -> None:
        found = query(script=SCRIPT[1:], vm_name="web_2", affecting="this_vm")

        assert ids(found) == ["CC-3", "BB-2"]
        assert [one["this_vm_leads"] for one in found] == [True, False]


class TestQueries:
    @pytest.mark.parametrize(
        ("expression", "found"),
        [
            ("[].event_id", ["CC-3", "AA-1", "BB-2"]),
            ("[?shared].event_id", ["BB-2"]),
            ("[?event_type=='Reboot' || event_type=='Redeploy'].resources[]", ["web_2", "web_0"]),
            ("length(@)", [3]),
            ("[0].event_type", ["Redeploy"]),
            ("[?event_type=='Preempt'] | [0]", []),
            ("[?event_type=='Preempt']", []),
            ("[?seconds_until_start > `0`] | length(@) == `3`", [True]),
        ],
    )
    def test_given_an_expression_then_its_result_takes_the_place_of_the_list(
        self, query: Query, expression: str, found: list[Any]
    ) -> None:
        assert query(query=expression) == found

    @pytest.mark.parametrize("expression", ["[?", "", "[].{", "a b"])
    def test_given_input_that_is_no_expression_then_the_error_shows_it_before_anything_is_asked(
        self, query: Query, expression: str
    ) -> None:
        with pytest.raises(AnsibleLookupError) as caught:
            query(script=(), query=expression)

        shown = f"scheduled_events: query: {expression!r} is not a JMESPath expression: "
        assert str(caught.value).startswith(shown)

    def test_given_an_expression_that_does_not_fit_then_the_error_says_so(self, query: Query) -> None:
        with pytest.raises(AnsibleLookupError, match=r"scheduled_events: query: .*abs"):
            query(query="abs(@)")

    def test_given_no_jmespath_then_the_error_says_what_to_install(
        self, query: Query, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delitem(sys.modules, "jmespath", raising=False)
        real_import = builtins.__import__

        def without_jmespath(name: str, *args: Any, **kwargs: Any) -> Any:
            if name == "jmespath":
                raise ImportError(name)
            return real_import(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", without_jmespath)

        assert ids(query()) == ["CC-3", "AA-1", "BB-2"]
        with pytest.raises(AnsibleLookupError, match="query: needs the Python library jmespath on the controller"):
            query(script=(), query="[]")


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"endpoint": "https://127.0.0.1"}, "endpoint: 'https://127.0.0.1' must begin with http://"),
            ({"api_version": "latest"}, "api_version: 'latest' is not a date like 2020-07-01"),
            ({"timeout": 0}, "timeout: 0 is not a time"),
            ({"vm_name": " "}, "vm_name: ' ' is empty"),
            ({"timeout": "soon"}, "timeout"),
            ({"source": "moon"}, "moon"),
            ({"event_types": ["Reboot", "Rebot"]}, "event_types: 'Rebot' is not one of"),
        ],
    )
    def test_given_an_invalid_option_then_the_error_names_it(
        self, call: Query, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(AnsibleLookupError, match=r"^scheduled_events: ") as caught:
            call(**{"endpoint": "http://127.0.0.1:9", **options})

        assert message in str(caught.value)

    def test_given_a_mistyped_option_then_it_is_not_passed_over(self, query: Query) -> None:
        with pytest.raises(AnsibleLookupError, match=r"affects: 'this_vm' .*affecting"):
            query(affects="this_vm")

    def test_given_an_invalid_name_then_nothing_is_asked(self, query: Query) -> None:
        with pytest.raises(AnsibleLookupError, match="scheduled_events: '' is not the name of a VM"):
            query("", script=())

    def test_given_imds_refuses_then_the_error_says_what_it_answered(self, query: Query) -> None:
        with pytest.raises(AnsibleLookupError, match=r"^scheduled_events: GET http://.*: 400 Bad Request: no"):
            query(script=(status(400, {"error": "no"}),))

    def test_trap_3_given_no_document_then_it_is_an_error_and_never_an_empty_list(self, query: Query) -> None:
        with pytest.raises(AnsibleLookupError, match=r"^scheduled_events: The answer of IMDS at http://.* no Events"):
            query(script=(compute("web_0"), status(200, {"error": "moved"})))


class TestSigningIn:
    @pytest.mark.parametrize(("mode", "warnings"), [("ignore", 1), ("validate", 0)])
    def test_given_certificates_are_not_checked_then_it_warns_as_the_modules_do(
        self, call: Query, monkeypatch: pytest.MonkeyPatch, mode: str, warnings: int
    ) -> None:
        warned: list[str] = []
        monkeypatch.setattr(Display(), "warning", warned.append)
        sign_in = {"auth_source": "msi", "cert_validation_mode": mode}
        with ScriptedArm(ok({})) as arm, pytest.raises(AnsibleLookupError, match="Is cloud_environment the address"):
            call(source="resource_graph", cloud_environment=arm.url, **sign_in)

        assert [one.partition(" can read the credentials")[0] for one in warned] == [
            "cert_validation_mode: ignore: anybody on the network path to %s" % arm.url
        ] * warnings


def test_given_no_query_then_jmespath_is_not_even_imported() -> None:
    code = f"import sys; sys.path[:0] = {sys.path!r}; import {LookupModule.__module__}; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=60)

    assert LookupModule.__module__ in shown.stdout.split()
    assert not {"jmespath", "aiohttp", "requests"} & set(shown.stdout.split())
