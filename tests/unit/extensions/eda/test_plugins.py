# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source and the filter run as ansible-rulebook loads them, by their path, and their documentation is right."""

from __future__ import annotations

import ast
import asyncio
import base64
import contextlib
import importlib.metadata
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
    assert json.loads(base64.b64decode(event["azure_maintenance"]["texts"])) == {"description": "{{ 7 * 7 }}"}
    assert "description" not in event["azure_maintenance"]


def test_given_invalid_arguments_when_a_rulebook_runs_the_source_then_it_says_so() -> None:
    main = runpy.run_path(str(SOURCE))["main"]

    with pytest.raises(ValueError, match=r"^source: 'x' is not one of agents, resource_graph, imds"):
        asyncio.run(main(asyncio.Queue(), {"source": "x"}))


def updates(*runs: str) -> dict[str, Any]:
    """A delivery of events of Update Manager's, each before another run."""
    kind = "Microsoft.Maintenance.PreMaintenanceEvent"
    return {"payload": [{"eventType": kind, "id": run, "data": {}} for run in runs]}


def run_filter(monkeypatch: pytest.MonkeyPatch, version: str | None) -> Any:
    """The filter as ansible-rulebook of a version loads it."""

    def installed(name: str) -> str:
        assert name == "ansible-rulebook"
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(importlib.metadata, "version", installed)
    return runpy.run_path(str(FILTER))["main"]


def test_given_the_filter_when_a_rulebook_runs_it_for_two_sources_then_each_has_a_memory_of_its_own() -> None:
    first, second = (runpy.run_path(str(FILTER))["main"] for _number in range(2))

    given = [first(updates("1"), remember=5), first(updates("1"), remember=5), second(updates("1"))]

    assert ["azure_maintenance" in one for one in given] == [True, False, True]


@pytest.mark.parametrize("version", ["1.2.0", "1.3.2", "1.10.0", "2.0b1", None])
def test_given_a_rulebook_that_takes_lists_when_a_delivery_has_several_or_none_then_it_gets_a_list(
    version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = run_filter(monkeypatch, version)

    assert len(main(updates("1", "2"))) == 2
    assert main(updates("1", "2")) == []


@pytest.mark.parametrize("version", ["1.0.5", "1.1.7"])
def test_given_a_rulebook_that_takes_one_event_for_one_when_deliveries_come_then_it_never_gets_a_list(
    version: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One of the automation platform 2.5 ends at the first list that a filter gives it."""
    main = run_filter(monkeypatch, version)

    assert main(updates("1"))["azure_maintenance"]["phase"] == "pre"
    assert main(updates("1")) == {}, "nothing that a rule could match"
    assert not caplog.messages
    assert main(updates("2", "3"))["azure_maintenance"]["kind"] == "update_manager"
    assert "events lost of one delivery: 1" in caplog.text


@pytest.mark.parametrize("version", ["1.1.7", "1.3.2"])
def test_given_any_version_when_one_event_comes_then_it_is_given_by_itself(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that puts its events with put_nowait takes no list."""
    main = run_filter(monkeypatch, version)
    stranger = {"payload": {"what": "ever"}}

    assert main(stranger) is stranger
    assert isinstance(main(updates("1")), dict)


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


# ansible-rulebook 1.1 runs on 3.9.
OLDEST = subprocess.run(
    [str(ROOT / "tools" / "find_python.sh"), "--between", "3.9", "3.10"],
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
).stdout.strip()


@pytest.mark.skipif(not OLDEST, reason="there is neither Python 3.9 nor 3.10 on this machine")
def test_given_the_oldest_python_of_ansible_rulebook_when_a_delivery_comes_then_the_filter_reads_it() -> None:
    code = (
        "import json, runpy, sys; runpy.run_path(sys.argv[1])['main'];"
        " event = runpy.run_path(sys.argv[2])['main'](json.loads(sys.argv[3]));"
        " print(event['azure_maintenance']['phase'])"
    )

    command = [OLDEST, "-c", code, str(SOURCE), str(FILTER), json.dumps(updates("1"))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE)

    assert done.stdout == "pre\n"


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
