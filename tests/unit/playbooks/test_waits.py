# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wait is shown as a wait, not as hundreds of failures: FAILED - RETRYING is for failures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted(
    path
    for directory in ("playbooks", "roles")
    for path in (ROOT / directory).rglob("*.yml")
    if "vars" not in path.parts
)
MOST_RETRIES = 3


def tasks_in(content: Any) -> Iterator[dict[str, Any]]:
    """All mappings of a document, at any depth."""
    if isinstance(content, dict):
        yield content
        for value in content.values():
            yield from tasks_in(value)
    elif isinstance(content, list):
        for value in content:
            yield from tasks_in(value)


def test_there_are_tasks_to_read() -> None:
    assert any("foghorn.azure_events.wait_until:" in path.read_text(encoding="utf-8") for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_task_waits_by_trying_again(path: Path) -> None:
    for task in tasks_in(yaml.safe_load(path.read_text(encoding="utf-8"))):
        # Not the option of this name, which actions have; nor a module's, beside what it names.
        if "until" in task and "name" in task and "state" not in task:
            assert task["until"].endswith(" is success"), task["name"]
            assert int(task["retries"]) <= MOST_RETRIES, task["name"]
