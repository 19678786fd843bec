# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No module imports itself by way of others, and rooms import what docs/architecture.md says, and nothing else.

In the agent, what only one system has is in its room for systems.
"""

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


AGENT = ROOT / "roles/handler_agent/files/foghorn_agent"
PLATFORM = AGENT / "platform"
# Before it has run, nothing else may be imported.
EXEMPT = AGENT / "precompile.py"
SYSTEM_NAMES = {
    *("AF_UNIX", "SOCK_CLOEXEC", "SOCK_SEQPACKET", "SO_DOMAIN", "SO_EXCLUSIVEADDRUSE", "SO_PEERCRED", "SO_REUSEADDR"),
    *("chown", "fchmod", "fchown", "fork", "geteuid", "getpgid", "getuid", "kill", "killpg", "setsid", "umask"),
    *(
        "O_BINARY",
        "O_CLOEXEC",
        "O_DIRECTORY",
        "O_NOFOLLOW",
        "O_PATH",
        "WEXITSTATUS",
        "WIFEXITED",
        "WNOHANG",
        "WTERMSIG",
    ),
    *("pipe", "pread", "pwrite", "set_blocking", "sysconf", "waitid", "waitpid"),
    *("os.name", "select.epoll", "select.poll", "sys.getwindowsversion", "sys.platform"),
    *("creationflags", "pass_fds", "preexec_fn", "start_new_session", "startupinfo"),
}
SYSTEM_MODULE = re.compile(
    r"(?:ctypes|fcntl|grp|msvcrt|nt|posix|pwd|resource|signal|termios|winreg|foghorn_core\.(?:connections|files))(?:\.|\Z)"
    rf"|(?:os|select|socket|sys)\.(?:{'|'.join(name.rpartition('.')[2] for name in sorted(SYSTEM_NAMES))})\Z"
    r"|\.+platform\.(?:posix|windows)\."
)
SYSTEM_TEXT = re.compile(r"/(?:etc|proc|run|sys|var)(?:/|\Z)|.*\bsystemctl\b", re.DOTALL)


def of_one_system(path: Path) -> Iterator[str]:
    """What a module imports, names or has in a text that only one system has. Docstrings and comments do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from filter(SYSTEM_MODULE.match, _imported(node))
        elif isinstance(node, ast.Attribute):
            yield from SYSTEM_NAMES & {node.attr, ast.unparse(node)}
        elif isinstance(node, ast.keyword):
            yield from SYSTEM_NAMES & {node.arg or ""}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield from filter(SYSTEM_TEXT.match, [node.value])


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    start = "." * node.level + (f"{node.module}." if node.module else "") if isinstance(node, ast.ImportFrom) else ""
    return [start + alias.name for alias in node.names]


def test_given_a_module_of_the_agent_outside_platform_then_it_has_nothing_that_only_one_system_has() -> None:
    paths = [path for path in AGENT.rglob("*.py") if PLATFORM not in path.parents and path != EXEMPT]
    assert len(paths) > 40
    found = {str(path.relative_to(AGENT)): sorted(set(of_one_system(path))) for path in paths}
    assert {name: each for name, each in found.items() if each} == {}


def test_given_the_room_for_systems_then_the_system_is_chosen_in_one_place() -> None:
    choosing = [path for path in PLATFORM.rglob("*.py") if "sys.platform" in of_one_system(path)]
    assert choosing == [PLATFORM / "__init__.py"]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def f():\n    import fcntl\n", ["fcntl"]),
        ("import ctypes.util\n", ["ctypes.util"]),
        ("from foghorn_core.files.ownership import check_path\n", ["foghorn_core.files.ownership.check_path"]),
        ("from os import fork\n", ["os.fork"]),
        ("from ..platform.posix import door\n", ["..platform.posix.door"]),
        ("import os\nos.killpg(1, 9)\n", ["killpg"]),
        ("import socket\nsocket.socket(socket.AF_UNIX)\n", ["AF_UNIX"]),
        ("import select\nselect.poll()\n", ["select.poll"]),
        ("f(start_new_session=True)\n", ["start_new_session"]),
        ("f('/proc/net')\n", ["/proc/net"]),
        ("f(['systemctl', 'stop'])\n", ["systemctl"]),
        ('"""About systemctl and /proc."""\nchild.poll()  # os.fork\n', []),
    ],
)
def test_given_something_of_one_system_when_a_module_has_it_then_it_is_found(
    code: str, found: list[str], tmp_path: Path
) -> None:
    (tmp_path / "module.py").write_text(code)
    assert list(of_one_system(tmp_path / "module.py")) == found


def test_given_what_decides_for_one_machine_then_it_imports_nothing_that_acts() -> None:
    imported = {Path(name) for path in AGENT.glob("decide/*.py") for name in files_named_in(path)}
    edges = {AGENT.relative_to(ROOT) / name for name in ("act", "http", "io", "platform")}
    assert len(imported) > 20
    assert {name for name in imported if edges & {name, *name.parents}} == set()
