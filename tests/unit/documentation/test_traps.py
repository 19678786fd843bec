# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each test that docs/traps.md names is there, and each trap has one, or says that nothing is done about it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SECTIONS = re.split(r"^## ", (ROOT / "docs" / "traps.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
NAMED = {section.split(".")[0]: re.findall(r"^- `(tests/[^`]+)`$", section, re.MULTILINE) for section in SECTIONS}


def find(tree: ast.AST, name: str) -> ast.AST | None:
    """Return the class or function of that name that stands directly in the tree."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return node
    return None


def test_given_the_page_when_its_traps_are_counted_then_they_are_all_there_in_their_order() -> None:
    assert list(NAMED) == [str(number) for number in range(1, 21)]


@pytest.mark.parametrize("section", SECTIONS, ids=NAMED)
def test_given_a_trap_when_it_is_read_then_it_names_a_test_or_says_plainly_that_there_is_none(section: str) -> None:
    number = section.split(".")[0]

    assert (not NAMED[number]) == bool(re.search(r"\*\*We do (nothing|not) .*\*\*", section))


@pytest.mark.parametrize("name", [name for names in NAMED.values() for name in names])
def test_given_a_test_that_is_named_then_it_exists(name: str) -> None:
    file, *path = name.split("::")
    node: ast.AST | None = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    for part in path:
        node = find(node, part) if node else None

    assert isinstance(node, ast.FunctionDef)
    assert node.name.startswith("test_")
