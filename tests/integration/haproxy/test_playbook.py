# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks with haproxy_server really run: its examples, the page's rolling update, and a server's whole way."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import Haproxy, play

ROOT = Path(__file__).resolve().parents[3]

# Each task is one step of a server's way; what became of it is handed over under the task's name.
WAY = """
- name: predicted
  foghorn.azure_events.haproxy_server: {server: web_0, state: drain, wait: true}
  check_mode: true
  diff: true
- name: removed
  foghorn.azure_events.haproxy_server: {server: web_0, state: drain, wait: true}
  diff: true
- name: removed again
  foghorn.azure_events.haproxy_server: {server: web_0, state: drain, wait: true}
- name: restore predicted
  foghorn.azure_events.haproxy_server: {restore: "{{ result_1.before }}"}
  check_mode: true
  diff: true
- name: restored
  foghorn.azure_events.haproxy_server: {restore: "{{ result_1.before }}"}
- name: restored again
  foghorn.azure_events.haproxy_server: {restore: "{{ result_1.before }}"}
- name: read
  foghorn.azure_events.haproxy_server: {server: web_0}
- name: unknown
  foghorn.azure_events.haproxy_server: {server: wbe_0}
- name: misused
  foghorn.azure_events.haproxy_server: {server: web_0, state: ready, wait: true}
"""


class Played:
    """What became of each task, what the user saw, and how the servers were left."""

    def __init__(self, results: dict[str, dict[str, Any]], output: str, states: dict[str, int]) -> None:
        self.results = results
        self.output = output
        self.states = states


def examples() -> list[dict[str, Any]]:
    """The tasks of the module's EXAMPLES."""
    path = ROOT / "plugins" / "modules" / "haproxy_server.py"
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EXAMPLES":
            tasks: list[dict[str, Any]] = yaml.safe_load(ast.literal_eval(node.value))
            return tasks
    raise LookupError(path)


def page() -> str:
    """The playbook of docs/haproxy.md, byte by byte."""
    text = (ROOT / "docs" / "haproxy.md").read_text(encoding="utf-8")
    (playbook,) = re.findall(r"^```yaml\n(# update\.yml\n.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(playbook)


def recorded(tasks: list[dict[str, Any]], path: Path, haproxy: Haproxy) -> dict[str, Any]:
    """Make a play of tasks that may fail, and that writes what became of each to a file."""
    names = [task["name"] for task in tasks]
    prepared = [{"ignore_errors": True, "register": f"result_{number}", **task} for number, task in enumerate(tasks)]
    return {
        "hosts": "balancer",
        "gather_facts": False,
        "module_defaults": {"foghorn.azure_events.haproxy_server": {"socket": haproxy.socket}},
        "tasks": [
            *prepared,
            {
                "ansible.builtin.copy": {
                    "content": "{{ dict(names | zip([%s])) | to_json }}" % ", ".join(t["register"] for t in prepared),
                    "dest": str(path),
                    "mode": "0600",
                },
                "diff": False,
                "vars": {"names": names},
            },
        ],
    }


@pytest.fixture(scope="module", name="played")
def fixture_played(shared_haproxy: Haproxy, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Everything in one run of ansible-playbook: they take their time to start."""
    haproxy = shared_haproxy
    directory = tmp_path_factory.mktemp("play")
    (directory / "update.yml").write_text(page(), encoding="utf-8")
    text = json.dumps(examples()).replace("127.0.0.1:9999", haproxy.tcp)
    tasks = json.loads(text.replace("/var/lib/foghorn/haproxy", str(directory / "records")))
    playbook = [
        recorded(yaml.safe_load(WAY), directory / "way.json", haproxy),
        recorded(tasks, directory / "examples.json", haproxy),
        {"ansible.builtin.import_playbook": "update.yml"},
    ]
    (directory / "all.yml").write_text(yaml.safe_dump(playbook, sort_keys=False), encoding="utf-8")
    asked = f"{sys.executable} -c 'import sys; print(open(sys.argv[1]).read())'"
    inventory = {
        "all": {"vars": {"ansible_connection": "local", "update_command": asked + " " + str(directory / "all.yml")}},
        "balancers": {"hosts": {"balancer": {"haproxy_socket": haproxy.socket}}},
        "web": {"hosts": {"web_0": {}, "web_1": {}}},
    }
    (directory / "inventory.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
    output = play(directory, "all.yml")
    results = {
        name: result
        for part in ("way", "examples")
        for name, result in json.loads((directory / f"{part}.json").read_text(encoding="utf-8")).items()
    }
    return Played(results, output, haproxy.admin_states())


def test_given_check_mode_when_a_server_is_removed_then_it_is_predicted_and_the_diff_shows_it(played: Played) -> None:
    predicted = played.results["predicted"]

    assert predicted["changed"] is True
    assert [server["state"] for server in predicted["servers"]] == ["ready", "ready", "ready"]
    assert predicted["diff"]["before"]["web/web_0"] == {"state": "ready", "weight": 100}
    assert predicted["diff"]["after"]["web/web_0"] == {"state": "drain", "weight": 100}


def test_given_a_prediction_when_the_task_runs_then_the_prediction_was_right(played: Played) -> None:
    predicted, removed = played.results["predicted"], played.results["removed"]

    assert removed["commands"] == predicted["commands"]
    assert removed["before"] == predicted["before"]
    assert removed["diff"] == predicted["diff"]


def test_given_a_server_that_is_out_when_it_is_removed_again_then_nothing_changes(played: Played) -> None:
    assert (played.results["removed again"]["changed"], played.results["removed again"]["commands"]) == (False, [])


def test_given_a_record_when_it_is_restored_then_the_state_is_as_before_and_stays_so(played: Played) -> None:
    assert played.results["restore predicted"]["diff"]["after"] == played.results["predicted"]["diff"]["before"]
    assert played.results["restored"]["changed"] is True
    assert played.results["restored again"]["changed"] is False
    assert played.results["read"]["before"] == played.results["removed"]["before"]


def test_given_a_mistake_when_the_module_runs_then_the_error_has_the_remedy(played: Played) -> None:
    assert "has no server 'wbe_0' in any backend. It has web_0" in played.results["unknown"]["msg"]
    assert "wait: only a server that is taken out loses its sessions" in played.results["misused"]["msg"]


def test_given_the_examples_when_they_are_run_as_pasted_then_none_fails(played: Played) -> None:
    failed = [name for name, result in played.results.items() if result.get("failed")]

    assert failed == ["unknown", "misused"]


def test_given_the_pages_rolling_update_when_it_has_run_then_every_server_is_in_rotation_again(played: Played) -> None:
    for server in ("web_0", "web_1"):
        # Out, and in again; waiting changed nothing.
        assert played.output.count(f"changed: [{server} -> balancer] => (item=balancer)") == 2
        assert f"ok: [{server} -> balancer] => (item=balancer)" in played.output
    assert {place: bits for place, bits in played.states.items() if place.startswith("web/")} == {
        "web/web_0": 0,
        "web/web_1": 0,
    }
