# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No module imports itself by way of others, and rooms import what docs/architecture.md says, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "plugins/module_utils/scheduled_events",
    "plugins/module_utils/maintenance_policy",
    "plugins/module_utils/arm",
    "plugins/module_utils/haproxy",
    "plugins/plugin_utils/event_driven",
    "plugins/plugin_utils/fleet",
    "roles/handler_agent/files/foghorn_agent",
    "roles/azure_simulator/files/azure_simulator",
)


def modules_of(package: Path) -> dict[str, Path]:
    """Every module of a package, by its dotted name below it; the package itself is the empty name."""
    return {
        ".".join(path.relative_to(package).with_suffix("").parts).removesuffix("__init__").rstrip("."): path
        for path in package.rglob("*.py")
    }


def imports_of(name: str, path: Path, known: set[str]) -> Iterator[str]:
    """The modules of the same package that a module names, also within functions and for types only."""
    inside = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        if node.level - 1 > len([part for part in inside if part]):
            continue  # of another package
        above = [part for part in inside if part][: len(inside) - node.level + 1]
        start = [*above, *(node.module or "").split(".")] if node.module else above
        for alias in node.names:
            # A module of a package that is itself one, or a name in it.
            for candidate in (".".join([*start, alias.name]), ".".join(start)):
                if candidate in known:
                    yield candidate
                    break


@pytest.mark.parametrize("package", PACKAGES)
def test_given_a_package_when_its_imports_are_followed_then_none_leads_back(package: str) -> None:
    modules = modules_of(ROOT / package)
    graph = {
        name: {other for other in imports_of(name, path, set(modules)) if other}
        for name, path in modules.items()
        if name
    }
    assert sum(map(len, graph.values())) > len(graph) / 2, "the imports were not found"
    try:
        order = tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))
    assert set(order) == set(graph)


def test_given_two_modules_that_name_each_other_when_checked_then_both_imports_are_seen(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "__init__.py").write_text("")
    (tmp_path / "inner" / "leaf.py").write_text("def f():\n    from ..top import g\n")
    (tmp_path / "top.py").write_text("from .inner import leaf\nfrom ... import elsewhere\n")
    modules = modules_of(tmp_path)
    assert list(imports_of("inner.leaf", modules["inner.leaf"], set(modules))) == ["top"]
    assert list(imports_of("top", modules["top"], set(modules))) == ["inner.leaf"]


COLLECTION = "ansible_collections.foghorn.azure_events."
# By other names: the agent has the core in its own file, and the simulator is a package of its own.
ELSEWHERE = {"foghorn_core": "plugins/module_utils", "azure_simulator": "roles/azure_simulator/files/azure_simulator"}


def rooms() -> dict[str, tuple[str, set[str]]]:
    """Of each room in docs/architecture.md: its directory, and what it may import."""
    rows = re.findall(
        r"^\| `(\w+)` \| `([\w/]+)` \| [^|]* \| ([^|]*) \|$",
        (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return {name: (directory, set(re.findall(r"`(\w+)`", allowed))) for name, directory, allowed in rows}


def room_of(path: str, known: dict[str, tuple[str, set[str]]]) -> str | None:
    """The room that a file is in: of those whose directory it is below, the innermost."""
    inside = [name for name, (directory, _) in known.items() if path.startswith(directory + "/")]
    return max(inside, key=lambda name: len(known[name][0]), default=None)


def files_named_in(path: Path) -> Iterator[str]:
    """What a file imports of ours, below the root: files, or names in them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = (node.module or "").split(".")
        if node.level:
            start = path.parents[node.level - 1].relative_to(ROOT).joinpath(*module)
        elif (node.module or "").startswith(COLLECTION):
            start = Path(*module[3:])
        elif module[0] in ELSEWHERE:
            start = Path(ELSEWHERE[module[0]], *module[1:])
        else:
            continue
        yield from (str(start / alias.name) for alias in node.names)


def test_given_a_room_then_it_imports_what_the_page_about_architecture_says_and_nothing_else() -> None:
    known = rooms()
    imported: dict[str, set[str]] = {name: set() for name in known}
    for tree in ("plugins", "roles"):
        for path in sorted((ROOT / tree).rglob("*.py")):
            room = room_of(str(path.relative_to(ROOT)), known)
            if room is not None:
                imported[room] |= {other for name in files_named_in(path) if (other := room_of(name, known))} - {room}

    assert len(known) > 10
    assert imported == {name: allowed for name, (_directory, allowed) in known.items()}
