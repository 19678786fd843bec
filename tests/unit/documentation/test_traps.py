# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each test that docs/traps.md names is there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "traps.md").read_text(encoding="utf-8")


def find(tree: ast.AST, name: str) -> ast.AST | None:
    """Return the class or function of that name that stands directly in the tree."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return node
    return None


@pytest.mark.parametrize("name", re.findall(r"^- `(tests/[^`]+)`$", PAGE, re.MULTILINE))
def test_given_a_test_that_is_named_then_it_exists(name: str) -> None:
    file, *path = name.split("::")
    node: ast.AST | None = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    for part in path:
        node = find(node, part) if node else None

    assert isinstance(node, ast.FunctionDef)
    assert node.name.startswith("test_")
