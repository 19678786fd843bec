# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts go through what they include in their own order, and side by side.

Ansible joins the files that hosts include for equal items, and runs a joined file where the first of these hosts has
it: of a host that has the same items in another order, later ones would come first. Files for items that differ are run
by one host after the other. Numbers are equal on all hosts and always in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
FILES = [*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").glob("*/tasks/**/*.yml")]
# On the controller alone.
ON_LOCALHOST = {"roles/terminate_notifications/tasks/main.yml"}
INCLUDES = ("ansible.builtin.include_tasks", "ansible.builtin.include_role")


def loops() -> Iterator[tuple[str, dict[str, Any]]]:
    """All includes that are repeated."""

    def inner(content: Any) -> Iterator[dict[str, Any]]:
        if isinstance(content, list):
            for one in content:
                yield from inner(one)
        elif isinstance(content, dict):
            if "loop" in content and any(name in content for name in INCLUDES):
                yield content
            for key in ("tasks", "block", "rescue", "always"):
                yield from inner(content.get(key, []))

    for path in FILES:
        where = str(path.relative_to(ROOT))
        for task in inner(yaml.safe_load(path.read_text(encoding="utf-8"))):
            if where not in ON_LOCALHOST:
                yield where, task


@pytest.mark.parametrize(("where", "task"), [pytest.param(*one, id=f"{one[0]}: {one[1]['name']}") for one in loops()])
def test_given_an_include_that_is_repeated_then_it_is_by_numbers_that_are_equal_on_all_hosts(
    where: str, task: dict[str, Any]
) -> None:
    assert task["loop"].startswith("{{ range("), where
    # A label is compared as well.
    assert "label" not in task["loop_control"], where


def test_there_are_includes_to_check() -> None:
    assert any(loops())


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name in ("methods", "orders")], ids=str)
def test_given_a_file_that_an_expression_names_then_it_imports_none(path: Path) -> None:
    # To find it, Ansible would evaluate that expression without the variables of hosts.
    assert "import_tasks" not in path.read_text(encoding="utf-8")
