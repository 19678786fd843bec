# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""win_scheduled_events_info returns what scheduled_events_info returns, over HTTP and through ansible-playbook.

Which events are chosen and how IMDS is asked, the tests of parity compare. Here is what lies between the core and
Ansible.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.tests.hostile import hostile_document, what_was_run
from azure_simulator.testing import Simulator

NAME = "foghorn.azure_events.scheduled_events_info"
VMS = ["web_0", "web_1", "page", "limping", "nameless", "hostile", "odd"]
FLEET = {
    "clock": {"manual": True},
    "imds": {"rate_limit": 1000},
    "vms": [
        {"name": name, "address": f"127.0.7.{number}", **({"availability_set": "web"} if name[:3] == "web" else {})}
        for number, name in enumerate(VMS, start=1)
    ],
}
# Numbers and names that each layer below us could change.
ODD = {
    "DocumentIncarnation": 2**53 + 1,
    "Events": [
        {
            "EventId": "A",
            "EventType": "Freeze",
            "EventStatus": "Scheduled",
            "Resources": ["odd"],
            "Numbers": [2**53 + 1, 0.1, 1e300, -1, True, None],
            "Empty": [[], {}, [[]], [{}], ""],
            "Date": "2026-09-19T18:29:47Z",
            "Text": "Wartung für \U0001f389 '\"\\ </script> \u00ad",
        }
    ],
}
# Of each task: what is different in Windows' result, or by the time at which it ran.
BY_ITS_TIME = ("seconds_until_start",)


def asked(azure: Simulator) -> dict[str, dict[str, Any]]:
    """The options of each task by its name."""
    return {
        "everything": {"endpoint": azure.imds["web_0"]},
        "chosen": {
            "endpoint": azure.imds["web_0"],
            "event_types": ["freeze"],
            "affecting": "this_vm",
            "vm_name": "WEB_1",
        },
        "page": {"endpoint": azure.imds["page"]},
        "limping": {"endpoint": azure.imds["limping"], "timeout": 1.5},
        "nameless": {"endpoint": azure.imds["nameless"]},
        "no endpoint": {"endpoint": "https://user:secret@127.0.0.1"},
        "unknown type": {"endpoint": azure.imds["web_0"], "event_types": ["Defragment"]},
        "hostile": {"endpoint": azure.imds["hostile"], "vm_name": "hostile"},
        "odd": {"endpoint": azure.imds["odd"], "vm_name": "odd"},
    }


class Scene:
    """What became of each task, by Python and by PowerShell."""

    def __init__(self, played: Any, proof: Path) -> None:
        self.played = played
        self.proof = proof

    def result(self, task: str, on: str) -> dict[str, Any]:
        """A result without what is different, as text that shows every difference."""
        told = self.played[f"{task}, {on}"]
        own = ("invocation", "deprecations", "system", "warnings", "exception", "module_stderr", "module_stdout", "rc")
        kept = {name: value for name, value in told.items() if name not in own}
        for event in kept.get("events", ()):
            for name in BY_ITS_TIME:
                event[name] = None
        return kept


@pytest.fixture(scope="module", name="scene")
def fixture_scene(play_windows: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    proof = tmp_path_factory.mktemp("proof")
    with Simulator(FLEET) as azure:
        azure.event("Reboot", "web_0", description="Wartung für den Host")
        azure.event("Freeze", ["web_1", "web_0"], notice=1800)
        azure.fault("status", "page", status=200, body="<!DOCTYPE html>")
        azure.fault("status", "limping", status=503)
        azure.fault("status", "nameless", paths="/metadata/instance", status=404)
        hostile = hostile_document(proof, "hostile").decode("ascii")
        azure.fault("status", "hostile", paths="/metadata/scheduledevents", status=200, body=hostile)
        azure.fault("status", "odd", paths="/metadata/scheduledevents", status=200, body=json.dumps(ODD))
        tasks = [
            # A fork of the controller would keep the warnings of a module to itself.
            {"name": f"{name}, {on}", module: options, "connection": "local"}
            for name, options in asked(azure).items()
            for on, module in (("Linux", NAME), ("Windows", NAME.replace("scheduled", "win_scheduled")))
        ]
        yield Scene(play_windows(tasks), proof)


@pytest.mark.parametrize(
    ("task", "fails"),
    [
        ("everything", False),
        ("chosen", False),
        ("page", True),
        ("limping", True),
        ("nameless", True),
        ("no endpoint", True),
        ("unknown type", False),
        ("hostile", False),
        ("odd", False),
    ],
)
def test_the_result_is_the_same_as_on_linux(scene: Scene, task: str, fails: bool) -> None:
    on_linux, on_windows = scene.result(task, "Linux"), scene.result(task, "Windows")
    if task == "page":
        # Why it is no JSON, each reader says in its own words.
        for result in (on_linux, on_windows):
            result["msg"] = result["msg"].partition("not JSON: ")[0]
    if task == "limping":
        # How often it is tried, and whether the limit cuts the last try short, is a matter of chance.
        for result in (on_linux, on_windows):
            assert result["last_outcome"] in ("503 Service Unavailable", "no answer in time")
            for name, value in (("msg", result["msg"].partition(" (")[0]), ("requests_tried", 0), ("last_outcome", "")):
                result[name] = value

    assert on_windows == on_linux
    assert bool(on_linux.get("failed")) == fails


def test_given_a_type_that_is_not_known_then_the_warning_is_the_same(scene: Scene) -> None:
    on_linux, on_windows = (scene.played[f"unknown type, {on}"]["warnings"] for on in ("Linux", "Windows"))

    assert on_linux
    assert [str(warning) for warning in on_linux] == [str(warning) for warning in on_windows]


def test_each_says_on_which_system_it_ran(scene: Scene) -> None:
    assert scene.played["everything, Linux"]["system"] == "Linux"
    assert scene.played["everything, Windows"]["system"] == "Windows"


def test_trap_11_given_a_hostile_document_then_none_of_it_is_run(scene: Scene) -> None:
    assert what_was_run(scene.proof) == []


def test_given_a_german_culture_then_numbers_are_what_they_are(
    play: Callable[..., Any], pwsh: Path, tmp_path: Path
) -> None:
    german = tmp_path / "pwsh"
    german.write_text(f'#!/bin/sh\nLC_ALL=de_DE.UTF-8 exec "{pwsh}" "$@"\n', encoding="utf-8")
    german.chmod(0o755)
    shown = subprocess.run([str(german), "-Command", "'{0}' -f 1.5"], stdout=subprocess.PIPE, text=True, check=True)
    assert shown.stdout.strip() == "1,5"

    with Simulator(FLEET) as azure:
        azure.fault("status", "limping", status=503)
        options = {"endpoint": azure.imds["limping"], "timeout": 1.5}
        task = {"name": "limping", NAME.replace("scheduled", "win_scheduled"): options}
        played = play([task], options=("-e", f"ansible_pwsh_interpreter={german}"))

    assert "had no usable answer within 1.5 s" in played["limping"]["msg"]


def test_given_a_host_that_is_reached_with_a_powershell_then_the_plain_name_is_the_module_of_windows(
    play_windows: Callable[..., Any], tmp_path: Path
) -> None:
    # As winrm, psrp and ssh with a PowerShell are: the first kind of file that fits.
    (tmp_path / "powershell_local.py").write_text(
        "DOCUMENTATION = 'name: powershell_local'\n"
        "from ansible.plugins.connection.local import Connection as Local\n"
        "class Connection(Local):\n"
        "    transport = 'powershell_local'\n"
        "    module_implementation_preferences = ('.ps1', '.exe', '')\n",
        encoding="utf-8",
    )
    with Simulator(FLEET) as azure:
        tasks = [
            {"name": connection, NAME: {"vm_name": "web_0"}, "connection": connection}
            for connection in ("powershell_local", "local")
        ]
        played = play_windows(
            tasks,
            environment={"ANSIBLE_CONNECTION_PLUGINS": str(tmp_path)},
            module_defaults={"group/foghorn.azure_events.imds": {"endpoint": azure.imds["web_0"]}},
        )

    assert {name: played[name].get("system") for name in ("powershell_local", "local")} == {
        "powershell_local": "Windows",
        "local": "Linux",
    }, played
