# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source and the filter run as ansible-rulebook loads them, by their path, and their documentation is right."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven import deliveries, options
from azure_simulator.testing import Simulator

ROOT = Path(__file__).resolve().parents[4]
PLUGINS = ROOT / ".cache/collections/ansible_collections/foghorn/azure_events/extensions/eda/plugins"
SOURCE = PLUGINS / "event_source" / "scheduled_events.py"
FILTER = PLUGINS / "event_filter" / "azure_maintenance_event.py"
PATIENCE = 60.0  # seconds


def documented(path: Path, name: str) -> Any:
    """What a plugin says of itself, read as Galaxy does: without running it."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return yaml.safe_load(ast.literal_eval(node.value))
    raise AssertionError("%s has no %s" % (path, name))


def test_given_the_source_when_a_rulebook_runs_it_then_its_events_come_and_it_ends_when_cancelled() -> None:
    main = runpy.run_path(str(SOURCE))["main"]

    async def check(endpoint: str) -> Any:
        queue: asyncio.Queue[Any] = asyncio.Queue(1)
        task = asyncio.create_task(main(queue, {"source": "imds", "endpoint": endpoint}))
        event = await asyncio.wait_for(queue.get(), PATIENCE)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait_for(task, PATIENCE)
        assert task.cancelled()
        return event

    with Simulator({"vms": [{"name": "web_0", "address": "127.0.102.1"}]}) as azure:
        azure.event("Reboot", "web_0", description="{{ 7 * 7 }}")
        event = asyncio.run(check(azure.imds["web_0"]))

    assert event["azure_maintenance"]["event_type"] == "Reboot"
    assert event["azure_maintenance"]["description"] == "\ufffd{ 7 * 7 }}"
    assert json.dumps(event)


def test_given_arguments_that_cannot_be_meant_when_a_rulebook_runs_the_source_then_it_says_so() -> None:
    main = runpy.run_path(str(SOURCE))["main"]

    with pytest.raises(ValueError, match=r"^source: 'x' is not one of agents, resource_graph, imds"):
        asyncio.run(main(asyncio.Queue(), {"source": "x"}))


def test_given_the_filter_when_a_rulebook_runs_it_for_two_sources_then_each_has_a_memory_of_its_own() -> None:
    event = {"payload": {"eventType": "Microsoft.Maintenance.PreMaintenanceEvent", "id": "1", "data": {}}}
    first, second = (runpy.run_path(str(FILTER))["main"] for _number in range(2))

    assert [len(first(event, remember=5)), len(first(event, remember=5)), len(second(event))] == [1, 0, 1]


@pytest.mark.parametrize("path", [SOURCE, FILTER], ids=lambda path: path.stem)
def test_given_a_python_that_has_the_package_ansible_when_a_plugin_is_loaded_then_it_finds_its_own_collection(
    path: Path, tmp_path: Path
) -> None:
    # That package has an `ansible_collections` of its own, which is a regular package and hides all others.
    (tmp_path / "ansible_collections").mkdir()
    (tmp_path / "ansible_collections" / "__init__.py").touch()
    code = "import ansible_collections, runpy, sys; print('main' in runpy.run_path(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}

    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE)

    assert done.stdout == "True\n"


def test_given_the_sources_documentation_when_its_options_are_compared_then_they_are_those_that_it_takes() -> None:
    told = set(documented(SOURCE, "DOCUMENTATION")["options"])
    # Those of the sign-in are where the documentation says.
    sign_in = options._OF_SOURCE["resource_graph"] - {"subscriptions", "management_group", "auth_source"}

    assert told == (options._COMMON.union(*options._OF_SOURCE.values())) - sign_in


def test_given_the_filters_documentation_when_its_options_are_compared_then_they_are_those_that_it_takes() -> None:
    assert set(documented(FILTER, "DOCUMENTATION")["options"]) == set(deliveries._OPTIONS)


@pytest.mark.parametrize("path", [SOURCE, FILTER], ids=lambda path: path.stem)
def test_given_the_examples_when_they_are_read_then_they_use_the_plugin(path: Path) -> None:
    assert "foghorn.azure_events." + path.stem in json.dumps(documented(path, "EXAMPLES"))


def test_given_galaxy_lists_extensions_when_their_list_is_read_then_it_has_all_that_are_there() -> None:
    listed = yaml.safe_load((ROOT / "meta" / "extensions.yml").read_text(encoding="utf-8"))["extensions"]

    assert {one["args"]["ext_dir"] for one in listed} == {"eda/plugins/" + path.name for path in PLUGINS.iterdir()}
