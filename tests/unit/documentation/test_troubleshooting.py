# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each message of the page on troubleshooting is one that the project says, and each kind of error has an entry."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^> - (.+)$", PAGE, re.MULTILINE)
CODE = ("plugins/module_utils", "plugins/plugin_utils", "plugins/action", "plugins/filter", "plugins/lookup")
AGENT = "roles/handler_agent/files/foghorn_agent"
# How the page calls the packages: an error is named for what its reader was doing.
PACKAGES = {
    "plugins/module_utils/scheduled_events": "scheduled_events",
    "plugins/module_utils/maintenance_policy": "scheduled_events",
    "plugins/module_utils/arm": "arm",
    "plugins/module_utils/haproxy": "haproxy",
    "plugins/module_utils": "module",
    "plugins/plugin_utils/event_driven": "event_driven",
    "plugins/plugin_utils": "fleet",
    AGENT: "agent",
}
BUILT_IN = {"Exception", "ValueError", "OSError", "BaseException"}


def sources() -> Iterator[Path]:
    for directory in (*CODE, AGENT):
        yield from sorted((ROOT / directory).rglob("*.py"))


@cache
def said() -> list[str]:
    """Whatever the code and the playbooks may say: literals, and the text of YAML."""
    found = []
    for path in sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found += [
            node.value.replace("%%", "%")
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
    for path in (*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/*/tasks/**/*.yml")):
        found.append(" ".join(path.read_text(encoding="utf-8").split()))
    return found


@pytest.mark.parametrize("message", MESSAGES)
def test_given_a_message_of_the_page_then_the_project_says_it(message: str) -> None:
    pattern = re.compile(".*".join(map(re.escape, message.split("…"))), re.DOTALL)

    assert any(pattern.search(text) for text in said())


def errors() -> Iterator[str]:
    """The errors that are raised, or that nothing else is derived from, by package and name."""
    classes: dict[tuple[str, str], list[str]] = {}
    parents, raised = set(), set()
    for path in sources():
        directory = str(path.relative_to(ROOT))
        package = next((name for place, name in PACKAGES.items() if directory.startswith(f"{place}/")), "")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes[package, node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
                raised.add(node.exc.func.id)

    def is_error(name: str) -> bool:
        return name in BUILT_IN or any(
            is_error(base) for (_at, one), bases in classes.items() if one == name for base in bases
        )

    for bases in classes.values():
        parents.update(bases)
    for (package, name), bases in classes.items():
        if not name.startswith("_") and any(map(is_error, bases)) and (name in raised or name not in parents):
            yield f"{package}.{name}"


def test_given_the_errors_of_the_project_then_each_has_an_entry_and_no_other_is_named() -> None:
    named = {name for entry in re.findall(r"^<!-- ([\w. ]+) -->$", PAGE, re.MULTILINE) for name in entry.split()}

    assert named == set(errors())


def test_given_an_entry_then_it_has_a_message_and_says_what_to_do() -> None:
    entries = re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)

    assert len(entries) > 20
    assert [title for title, text in entries if "\n> - " not in text] == []
    assert [title for title, text in entries if not text.rpartition("\n> - ")[2].partition("\n")[2].strip()] == []
