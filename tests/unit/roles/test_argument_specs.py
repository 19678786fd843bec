# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `ansible-doc` says of an entry point is what its tasks read, no less and no more."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = Path(__file__).resolve().parents[3] / "roles"
WAYS_BACK = sorted(path.parents[1].name for path in ROLES.glob("*/tasks/restore.yml"))


def entry_points(role: str) -> dict[str, Any]:
    """Return the role's entry points, as its argument specs describe them."""
    specs = yaml.safe_load((ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    entries: dict[str, Any] = specs["argument_specs"]
    return entries


ONLY_OUT = {"__load_balancer_removal_way == 'out'", "__graceful_shutdown_way == 'stop'"}
"""The conditions of what is not for the way back, in a file of both ways."""


def tasks_of(path: Path, seen: set[Path]) -> Iterator[str]:
    """Yield the text of each task of the way back that begins in a file, and of those that it includes."""
    if path in seen:
        return
    seen.add(path)
    pending = list(yaml.safe_load(path.read_text(encoding="utf-8")))
    while pending:
        task = pending.pop()
        when = task.get("when", [])
        if ONLY_OUT.intersection(when if isinstance(when, list) else [str(when)]):
            continue
        for section in ("block", "rescue", "always"):
            pending += task.pop(section, [])
        yield re.sub(r"\w+ if (%s) else" % "|".join(ONLY_OUT), "", str(task).replace("\\'", "'"))
        for key in ("ansible.builtin.include_tasks", "ansible.builtin.import_tasks"):
            # Where an expression chooses, it may be any that it names.
            named = str(task.get(key, "")).replace("__load_balancer_removal_method_file", "'methods/*.yml'")
            for name in re.findall(r"'([\w/*]+[.]yml)'", named) or [re.sub(r"{{.*?}}", "*", named)]:
                up = path.parents[1] if name.startswith("../") else path.parent
                for included in sorted(up.glob(name.removeprefix("../"))) if name else ():
                    yield from tasks_of(included, seen)


def read_by_restore(role: str) -> set[str]:
    """Return the variables that the way back refers to, in its tasks or through the role's own variables."""

    def words(text: str) -> Iterator[str]:
        return (match.group() for match in re.finditer(r"\w+", text))

    path = ROLES / role / "vars" / "main.yml"
    through = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    found: set[str] = set()
    pending = [word for text in tasks_of(ROLES / role / "tasks" / "restore.yml", set()) for word in words(text)]
    while pending:
        word = pending.pop()
        if word not in found:
            found.add(word)
            pending.extend(words(str(through.get(word, ""))))
    return found


def test_given_the_roles_when_they_are_listed_then_two_of_them_have_a_way_back() -> None:
    assert WAYS_BACK == ["graceful_shutdown", "load_balancer_removal"]


@pytest.mark.parametrize("role", WAYS_BACK)
def test_given_restore_when_it_is_documented_then_it_has_the_options_that_its_tasks_read_and_no_others(
    role: str,
) -> None:
    entries = entry_points(role)

    assert set(entries["restore"]["options"]) == set(entries["main"]["options"]) & read_by_restore(role)


@pytest.mark.parametrize("role", WAYS_BACK)
def test_given_an_option_of_both_ways_when_it_is_documented_then_it_is_the_same_option(role: str) -> None:
    entries = entry_points(role)

    for name, option in entries["restore"]["options"].items():
        assert option == entries["main"]["options"][name]
