# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each message of the page on troubleshooting is one that the project says, and each kind of error has an entry."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

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


def skeleton(message: str) -> str:
    """A message with an ellipsis for whatever is filled in, and single spaces."""
    message = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "…", message, flags=re.DOTALL)
    message = re.sub(r"%(?:\(\w+\))?[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]", "…", message).replace("%%", "%")
    return " ".join(re.sub("…+", "…", message).split())


def in_python(source: str) -> Iterator[str]:
    """Each text of a program, whole: what its parts are joined from, and f-strings with their gaps."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield skeleton(node.value)
        elif isinstance(node, ast.JoinedStr):
            yield skeleton("".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in node.values))


def in_yaml(content: object) -> Iterator[str]:
    """Each value of a file of tasks, and each text within its expressions."""
    if isinstance(content, str):
        yield skeleton(content)
        yield from map(skeleton, re.findall(r"'([^'\n]+)'", content))
    elif isinstance(content, (dict, list)):
        for one in content.values() if isinstance(content, dict) else content:
            yield from in_yaml(one)


class Loader(yaml.SafeLoader):
    """Also reads files with tags."""


Loader.add_multi_constructor("!", lambda loader, _tag, node: loader.construct_scalar(node))


@cache
def said() -> frozenset[str]:
    """Whatever the code and the playbooks may say."""
    found = {text for path in sources() for text in in_python(path.read_text(encoding="utf-8"))}
    for path in (*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/*/tasks/**/*.yml")):
        found.update(in_yaml(yaml.load(path.read_text(encoding="utf-8"), Loader)))
    return frozenset(found)


def is_said(message: str) -> bool:
    """Whether a message of the page is part of one that the project says, word for word."""
    return any(message in text for text in said())


@pytest.mark.parametrize("message", MESSAGES)
def test_given_a_message_of_the_page_then_the_project_says_it(message: str) -> None:
    assert is_said(message)


@pytest.mark.parametrize(
    "message",
    [
        "IMDS at … did not answer within … s: is this an Azure VM?",
        "IMDS at … did not reply within … s (…, the last: …): is this an Azure VM?",
        "IMDS … is this an Azure VM?",
    ],
)
def test_given_a_message_with_a_word_more_or_less_then_the_project_does_not_say_it(message: str) -> None:
    assert not is_said(message)


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
