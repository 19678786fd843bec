# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rehearsal of docs/terminate_notifications.md runs as it is pasted; only the addresses are the simulator's."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.tests import shell
from azure_simulator.testing import Simulator

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "terminate_notifications.md").read_text(encoding="utf-8")
RESOURCES: dict[str, Any] = {
    "imds": {"rate_limit": None},
    "vms": [
        {"name": "web_{0..1}", "address": "127.0.79.64/29", "scale_set": "web", "resource_group": "shop"},
        {"name": "workers_0", "address": "127.0.79.72", "scale_set": "workers", "resource_group": "shop"},
        {"name": "database", "address": "127.0.79.80", "resource_group": "shop"},
    ],
    "arm": {"operation_seconds": 0.1, "instance_seconds": 0.1, "retry_after": 1},
}


def file_of_page(name: str) -> str:
    """The file that the page shows under this name."""
    match = re.search(rf"^```yaml\n# {re.escape(name)}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert match is not None, name
    return match[1]


def commands_of_page(word: str) -> str:
    """The commands of the page that have this word in them."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (found,) = [block for block in blocks if word in block]
    return str(found)


def test_given_a_simulator_when_the_rehearsal_runs_as_pasted_then_it_signs_in_there_and_changes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith(("AZURE_", "FOGHORN_"))]:
        monkeypatch.delenv(name)
    with Simulator(RESOURCES, tmp_path) as azure:
        addresses = {"http://127.0.0.1:8600": azure.arm, "http://127.0.1.1:8080": azure.imds["database"]}
        simulated, commands = file_of_page("simulated.yml"), commands_of_page("@simulated.yml")
        for shown, actual in addresses.items():
            assert shown in simulated + commands
            simulated, commands = simulated.replace(shown, actual), commands.replace(shown, actual)
        (tmp_path / "simulated.yml").write_text(simulated)
        (tmp_path / "scale_sets.yml").write_text(file_of_page("scale_sets.yml"))

        shell.run(commands, tmp_path, HOME=str(tmp_path))

        scale_sets = azure.status()["arm"]["scale_sets"]
        notices = {
            name: instance["terminate_notice"]
            for scale_set in scale_sets.values()
            for name, instance in scale_set["instances"].items()
        }
        assert notices == {"web_0": 600, "web_1": 600, "workers_0": 300}
