# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs tasks through a real ansible-playbook and hands back what became of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import ansible_runs

# Nothing listens there: what forgets to name its endpoint fails, instead of asking a real metadata service.
NOWHERE = "http://127.0.0.1:9"


class Played:
    """A playbook that was run: the result of each task by the task's name, and what a user saw."""

    def __init__(self, results: dict[str, dict[str, Any]], output: str) -> None:
        self._results = results
        self.output = output

    def __getitem__(self, task: str) -> dict[str, Any]:
        return self._results[task]

    @property
    def failed(self) -> list[str]:
        """The tasks that failed."""
        return [task for task, result in self._results.items() if result.get("failed")]

    def __repr__(self) -> str:
        """Show the output: pytest prints it when an assertion fails."""
        return self.output


Play = Callable[..., Played]


@pytest.fixture(scope="session", name="play")
def fixture_play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Run tasks on this machine; each may fail. Keyword arguments are the play's own keywords."""

    def play(
        tasks: str | list[dict[str, Any]],
        options: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        **keywords: Any,
    ) -> Played:
        directory = tmp_path_factory.mktemp("play")
        playbook = directory / "playbook.yml"
        results = directory / "results.json"
        playbook.write_text(yaml.safe_dump([_play(tasks, results, keywords)], sort_keys=False), encoding="utf-8")
        run = ansible_runs.run(
            *("-i", "localhost,", *options, str(playbook)),
            environment={
                "ANSIBLE_DEPRECATION_WARNINGS": "true",
                "FOGHORN_IMDS_ENDPOINT": NOWHERE,
                **(environment or {}),
            },
        )
        assert run.returncode == 0, run.stdout
        # Nothing runs here but ours: whatever a newer ansible-core will refuse, we have to mend.
        assert "[DEPRECATION WARNING]" not in run.stdout, run.stdout
        return Played(json.loads(results.read_text(encoding="utf-8")), run.stdout)

    return play


def _each_as_sent_once(tasks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """These tasks. The first of each of our modules has an interpreter of its own, which takes it a second to load its
    libraries and shows that all were sent; further ones are run by forks (tests/plugins/connection), unless they have
    an environment of their own.
    """
    seen: set[str] = set()
    for task in tasks:
        module = next((key for key in task if key.startswith("foghorn.azure_events.")), "")
        # What wait_until runs is ended with its interpreter, and PowerShell runs no Python.
        is_forked = module in seen and "environment" not in task and not module.endswith("wait_until")
        is_forked = is_forked and ".win_" not in module
        yield {"connection": "machine", **task} if is_forked else task
        seen.add(module)


def _play(tasks: str | list[dict[str, Any]], results: Path, keywords: dict[str, Any]) -> dict[str, Any]:
    """Make a play of the tasks that writes what they registered to a file in the end."""
    listed = yaml.safe_load(tasks) if isinstance(tasks, str) else tasks
    names = [task["name"] for task in listed]
    assert len(set(names)) == len(names), "each task needs a name of its own"
    # A task may override them.
    prepared = [
        {"register": f"result_{number}", "ignore_errors": True, **task}
        for number, task in enumerate(_each_as_sent_once(listed))
    ]
    registered = ", ".join(task["register"] for task in prepared)
    hand_over = {
        "name": "Hand over what was registered",
        "ansible.builtin.copy": {
            "content": "{{ dict(names | zip([%s])) | to_json }}" % registered,
            "dest": str(results),
            "mode": "0600",
        },
        "check_mode": False,
        "diff": False,
        "vars": {"names": names},
    }
    return {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        **keywords,
        "tasks": [*prepared, hand_over],
    }
