# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module files: their documentation is true, no result key is one of Ansible's, and imports are light."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.operations import Listing
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.services import read_services

PLUGINS = "ansible_collections.foghorn.azure_events.plugins"
MODULES = Path(__file__).resolve().parents[4] / "plugins" / "modules"
GROUPS = {
    "imds": ["rotation_claim_info", "scheduled_event_approve", "scheduled_events_info"],
    "arm": [
        "application_gateway_member",
        "application_gateway_member_info",
        "load_balancer_member",
        "load_balancer_member_info",
        "maintenance_rights_info",
        "maintenance_window_info",
        "scheduled_event_acknowledge",
        "scheduled_events_policy",
        "scheduled_events_policy_info",
        "simulate_eviction",
        "update_run_cancel",
        "vm_address_info",
        "vm_events_info",
        "vm_maintenance",
        "vm_pool_info",
        "vm_redeploy",
        "vm_terminate_notification",
        "vmss_automatic_repairs",
        "vmss_instance_protection",
        "vmss_lifecycle_hook_event",
        "vmss_lifecycle_hook_event_info",
        "vmss_lifecycle_hooks",
        "vmss_lifecycle_hooks_info",
        "vmss_rolling_upgrade",
        "vmss_rolling_upgrade_info",
        "vmss_terminate_notification",
        "vmss_terminate_notification_info",
    ],
}
# Their options mean one thing each time they are used: a default for all of them would be no help.
UNGROUPED = [
    "connections_drained",
    "haproxy_server",
    "haproxy_server_info",
    "health_probe_file",
    "maintenance_readiness_info",
    "ordered_services",
    "own_directory",
    "rotation_claim",
    "rotation_command",
]
NAMES = [name for names in GROUPS.values() for name in names] + UNGROUPED
# These run on the controller, in plugins/action: the files in plugins/modules are their documentation alone.
ACTIONS = {"imds": ["maintenance_watch"], "": ["check_variables", "maintenance_step", "wait_until", "windows_agent"]}
# What is in PowerShell, for Windows hosts: tests/windows.
ON_WINDOWS = {"imds": ["win_scheduled_event_approve", "win_scheduled_events_info"]}
# These run on the host, and an action adds what only the controller knows.
WRAPPED = [
    "application_gateway_member",
    "connections_drained",
    "haproxy_server",
    "health_probe_file",
    "load_balancer_member",
    "ordered_services",
    "own_directory",
    "rotation_claim",
    "rotation_claim_info",
    "rotation_command",
    "vmss_automatic_repairs",
    "vmss_instance_protection",
    "vmss_rolling_upgrade",
    "vmss_terminate_notification",
]
# What lies between the modules and the rest: all that makes a result for Ansible.
DOORS = sorted(
    path
    for path in [*MODULES.glob("*.py"), *(MODULES.parent / "module_utils").rglob("*.py")]
    if '"changed":' in path.read_text() or "exit_json(" in path.read_text()
)

# Result keys that mean something to Ansible itself, and those of them that we return in just that sense.
ANSIBLES_OWN = {
    "ansible_facts",
    "attempts",
    "changed",
    "deprecations",
    "diff",
    "exception",
    "failed",
    "finished",
    "invocation",
    "results",
    "retries",
    "skip_reason",
    "skipped",
    "started",
    "stderr",
    "stderr_lines",
    "stdout",
    "stdout_lines",
    "unreachable",
    "warnings",
}
IN_ITS_SENSE = {"changed", "diff"}


class Made(Exception):
    """A module was about to be made; holds how."""


@pytest.fixture(scope="module")
def documented() -> dict[str, Any]:
    """What ansible-doc shows of the modules, fragments merged."""
    command = [str(Path(sys.executable).with_name("ansible-doc")), "--json", "--type", "module"]
    names = [f"foghorn.azure_events.{name}" for name in NAMES]
    shown = subprocess.run([*command, *names], stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    return {name.rpartition(".")[2]: content for name, content in json.loads(shown.stdout).items()}


def load(name: str) -> ModuleType:
    return importlib.import_module(f"{PLUGINS}.modules.{name}")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, name: str) -> dict[str, Any]:
    """The arguments with which main() makes its AnsibleModule."""

    def make(_self: object, argument_spec: Any, **arguments: Any) -> None:
        raise Made({"argument_spec": argument_spec, **arguments})

    module = load(name)
    monkeypatch.setattr(AnsibleModule, "__init__", make)
    with pytest.raises(Made) as caught:
        module.main()
    arguments: dict[str, Any] = caught.value.args[0]
    return arguments


def memberships(name: str) -> list[str]:
    """The action groups of a module, by their full names."""
    return [f"foghorn.azure_events.{group}" for group, names in GROUPS.items() if name in names]


def test_every_module_is_tested_here_and_the_action_groups_have_no_others() -> None:
    runtime = yaml.safe_load((MODULES.parents[1] / "meta" / "runtime.yml").read_text(encoding="utf-8"))

    actions = [name for names in ACTIONS.values() for name in names]
    assert {group: sorted(names) for group, names in runtime["action_groups"].items()} == {
        group: sorted([*names, *ACTIONS.get(group, []), *ON_WINDOWS.get(group, [])]) for group, names in GROUPS.items()
    }
    assert sorted(path.stem for path in MODULES.glob("[!_]*.py")) == sorted([*NAMES, *actions])
    assert sorted(path.stem for path in (MODULES.parent / "action").glob("[!_]*.py")) == sorted([*actions, *WRAPPED])


@pytest.mark.parametrize("name", NAMES)
class TestDocumentation:
    def test_it_has_exactly_the_options_of_the_argument_spec(
        self, documented: dict[str, Any], made: dict[str, Any], name: str
    ) -> None:
        assert set(documented[name]["doc"]["options"]) == set(made["argument_spec"])

    def test_each_option_has_the_type_default_and_choices_of_the_argument_spec(
        self, documented: dict[str, Any], made: dict[str, Any], name: str
    ) -> None:
        for option, shown in documented[name]["doc"]["options"].items():
            spec = made["argument_spec"][option]
            for key in ("type", "elements", "default", "choices", "required"):
                assert shown.get(key) == spec.get(key), f"{option}.{key}"

    def test_check_mode_is_supported_as_documented(
        self, documented: dict[str, Any], made: dict[str, Any], name: str
    ) -> None:
        assert made["supports_check_mode"] is True
        assert documented[name]["doc"]["attributes"]["check_mode"]["support"] == "full"

    def test_its_attributes_are_declared(self, documented: dict[str, Any], name: str) -> None:
        attributes = documented[name]["doc"]["attributes"]

        assert {"check_mode", "diff_mode", "idempotent", "platform"} <= set(attributes)
        assert attributes.get("action_group", {}).get("membership", []) == memberships(name)

    def test_its_examples_are_tasks_that_use_it_with_options_that_it_has(
        self, documented: dict[str, Any], made: dict[str, Any], name: str
    ) -> None:
        tasks = yaml.safe_load(documented[name]["examples"])
        used = [task[f"foghorn.azure_events.{name}"] or {} for task in tasks if f"foghorn.azure_events.{name}" in task]

        assert used
        assert all("name" in task for task in tasks)
        for options in used:
            assert set(options) <= set(made["argument_spec"])

    def test_what_it_returns_has_a_sample_of_the_documented_type(self, documented: dict[str, Any], name: str) -> None:
        types = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict}

        for key, value in documented[name]["return"].items():
            assert isinstance(value["sample"], types[value["type"]]), key
            assert value["description"], key
            assert value["returned"], key


class TestResultKeys:
    """A key of ours that Ansible reads as its own hides results, silences handlers or changes type on the way."""

    @pytest.mark.parametrize("name", NAMES)
    def test_none_that_is_documented_belongs_to_ansible(self, name: str) -> None:
        assert set(yaml.safe_load(load(name).RETURN)) & ANSIBLES_OWN <= IN_ITS_SENSE

    @pytest.mark.parametrize("door", DOORS, ids=lambda path: path.stem)
    def test_none_that_a_door_to_ansible_makes_belongs_to_ansible(self, door: Path) -> None:
        made = set(keys_of_results(door))

        assert made & ANSIBLES_OWN <= IN_ITS_SENSE

    def test_none_of_the_listing_that_is_returned_as_it_is_belongs_to_ansible(self) -> None:
        assert not set(Listing._fields) & ANSIBLES_OWN


def keys_of_results(door: Path) -> Iterator[str]:
    """Whatever could become a key of a result: keys that are written out, of dicts, of calls and of subscripts."""
    for node in ast.walk(ast.parse(door.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            yield from (str(key.value) for key in node.keys if isinstance(key, ast.Constant))
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            yield str(node.slice.value)
        elif isinstance(node, ast.Call):
            yield from (keyword.arg for keyword in node.keywords if keyword.arg)


def test_the_sample_of_an_event_has_exactly_the_documented_keys_that_are_always_there(
    documented: dict[str, Any],
) -> None:
    events = documented["scheduled_events_info"]["return"]["events"]
    always = {key for key, value in events["contains"].items() if "returned" not in value}

    for name in ("scheduled_event_approve", "scheduled_events_info"):
        for event in documented[name]["return"]["events"]["sample"]:
            assert set(event) == always


@pytest.mark.parametrize("name", GROUPS["imds"])
class TestThoseThatAskImds:
    def test_the_environment_variable_of_the_endpoint_is_documented(
        self, documented: dict[str, Any], made: dict[str, Any], name: str
    ) -> None:
        _fallback, variables = made["argument_spec"]["endpoint"]["fallback"]

        assert variables == ["FOGHORN_IMDS_ENDPOINT"]
        assert "E(FOGHORN_IMDS_ENDPOINT)" in " ".join(documented[name]["doc"]["options"]["endpoint"]["description"])

    def test_it_imports_nothing_heavy_beyond_what_every_module_of_ansible_imports(self, name: str) -> None:
        ours = imported_by(f"{PLUGINS}.modules.{name}") - imported_by("ansible.module_utils.basic")

        assert f"{PLUGINS}.module_utils.scheduled_events.client" in ours
        assert {module.split(".")[0] for module in ours} <= ALLOWED


class TestTheOneThatAsksHaproxy:
    def test_it_imports_nothing_heavy_beyond_what_every_module_of_ansible_imports(self) -> None:
        ours = imported_by(f"{PLUGINS}.modules.haproxy_server") - imported_by("ansible.module_utils.basic")

        assert f"{PLUGINS}.module_utils.haproxy.runtime_api" in ours
        # Before Python 3.13 every module of Ansible imports urllib by itself.
        others = {"csv", "difflib", "heapq", "urllib"}
        assert {module.split(".")[0] for module in ours} <= {"ansible_collections", *others}


@pytest.mark.parametrize("name", GROUPS["arm"])
class TestThoseThatAskArm:
    def test_it_imports_no_library_before_it_asks(self, name: str) -> None:
        libraries = {"azure", "cryptography", "msal", "requests", "urllib3"}

        assert not {module.split(".")[0] for module in imported_by(f"{PLUGINS}.modules.{name}")} & libraries


# What http.client needs, and ours: top-level packages that we may add to those of an empty module.
ALLOWED = {
    "ansible_collections",
    "base64",
    "binascii",
    "bisect",
    "calendar",
    "email",
    "hashlib",
    "http",
    "ipaddress",
    "math",
    "quopri",
    "random",
    "ssl",
    "string",
    "urllib",
}


def imported_by(module: str) -> set[str]:
    """The modules that a fresh Python has after importing this one, but for private and built-in ones."""
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}; import {module};"
        " print(*(name for name in sys.modules if not name.split('.')[0].startswith('_')))"
    )
    shown = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return set(shown.stdout.split())


@pytest.mark.parametrize("name", ["ordered_services", "rotation_command"])
def test_given_a_command_that_writes_no_utf_8_when_it_fails_then_the_answer_is_one_that_ansible_reads(
    name: str, tmp_path: Path
) -> None:
    fails = ["sh", "-c", r"printf 'l\344uft' >&2; exit 3"]
    given = {
        "ordered_services": {
            "state": "stopped",
            "record": str(tmp_path / "record"),
            "services": read_services([{"name": "web", "stop": fails, "status": ["true"], "start": ["true"]}]),
        },
        "rotation_command": {
            "rotation": "out",
            "name": "balancer",
            "remove": fails,
            "restore": ["true"],
            "record": {"directory": str(tmp_path / "records"), "name": "web1"},
        },
    }[name]

    code = f"import sys; sys.path[:0] = {sys.path!r}; from {PLUGINS}.modules.{name} import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": given}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    said = json.dumps(json.loads(ended.stdout), ensure_ascii=False)
    assert "l\ufffduft" in said.encode().decode()
