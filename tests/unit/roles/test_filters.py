# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the templates of roles and playbooks ask of Ansible's filters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FILES = sorted(path for room in ("roles", "playbooks") for path in (ROOT / room).rglob("*.yml"))
SET_FILTER = re.compile(r"\|\s*(union|intersect|difference|symmetric_difference)\b")
COUNTED = re.compile(r"\|\s*difference\([\w.]+\)\s*\|\s*(length|sort)\b")
"""The order is of no account where a list is counted or sorted at once."""


def unordered(text: str) -> list[str]:
    """The set filters of a text whose order something sees."""
    return SET_FILTER.findall(COUNTED.sub("", text))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_given_any_template_then_none_of_its_lists_is_in_the_order_of_a_set(path: Path) -> None:
    # Ansible makes these of Python's sets: machines would be restored, and services started, in another order each run.
    assert unordered(path.read_text()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{{ a | union(b) }}", ["union"]),
        ("{{ a | difference(b) | join(', ') }}", ["difference"]),
        ("{{ a | difference(b.c) | length }}", []),
    ],
)
def test_given_a_filter_of_sets_then_it_is_found_unless_its_order_is_of_no_account(text: str, found: list[str]) -> None:
    assert unordered(text) == found
