# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file may import a playbook twice: the second run knows nothing of what the first has found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

PLAYBOOKS = Path(__file__).resolve().parents[3] / "playbooks"
DIRECTORIES = ("handle_events", "handle_os_upgrades", "redeploy_early")
# Each run sets these for a host, or for all, before it reads them.
SET_ANYWAY = {"__handle_events_kept", "__handle_events_whom"}


def facts_of(content: Any) -> Iterator[str]:
    """The names of all facts that a list of tasks sets, at any depth."""
    if isinstance(content, list):
        for value in content:
            yield from facts_of(value)
    elif isinstance(content, dict):
        yield from content.get("ansible.builtin.set_fact", {})
        for value in content.values():
            yield from facts_of(value)


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_whatever_a_run_may_leave_behind_is_forgotten_by_the_next() -> None:
    forgotten = set(facts_of(read(PLAYBOOKS / "tasks" / "handle_events" / "begin.yml")))
    paths = [path for name in DIRECTORIES for path in (PLAYBOOKS / "tasks" / name).rglob("*.yml")]
    left = {name for path in [*paths, PLAYBOOKS / "handle_events.yml"] for name in facts_of(read(path))}

    assert len(forgotten) > 5
    assert {name for name in left if name.startswith("__handle_events_")} - forgotten == SET_ANYWAY


def test_nothing_is_forgotten_that_nobody_sets() -> None:
    begin = PLAYBOOKS / "tasks" / "handle_events" / "begin.yml"
    others = [path for path in PLAYBOOKS.rglob("*.yml") if path != begin]
    written = "\n".join(path.read_text(encoding="utf-8") for path in others)

    for name in facts_of(read(begin)):
        assert name in written, name
