# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds foghorn-agent: one file that Python runs, with the agent and what it shares with the modules in it.

    python3 build_program.py foghorn-agent

Or puts one package into one file, which Python can import it from: a machine takes it sooner than forty.

    python3 build_program.py azure_simulator.zip ../../azure_simulator/files/azure_simulator

The same sources give the same bytes wherever and whenever it is built, so that a program which did not change is not
installed anew. That is why nothing in it is compressed, and every file in it is of the same day.
"""

import os
import sys
import zipfile
from pathlib import Path
from typing import Iterator

HERE = Path(__file__).resolve().parent
# The modules and playbooks share one package, whose parts import each other relatively.
CORE = HERE.parents[2] / "plugins" / "module_utils"
PACKAGES = {
    "foghorn_agent": HERE / "foghorn_agent",
    "foghorn_core/connections": CORE / "connections",
    "foghorn_core/files": CORE / "files",
    "foghorn_core/maintenance_policy": CORE / "maintenance_policy",
    "foghorn_core/scheduled_events": CORE / "scheduled_events",
}
# -I and -S: neither the environment nor packages installed on the machine change what the agent runs.
FIRST_LINE = b"#!/usr/bin/python3 -IS\n"
DAY = (2020, 1, 1, 0, 0, 0)
MAIN = "foghorn_agent/__main__.py"


def build(target: Path) -> None:
    """Write the program."""
    modules = {name: content for package in PACKAGES for name, content in modules_of(package, PACKAGES[package])}
    modules["foghorn_core/__init__.py"] = b""
    # The package's own is the program's.
    modules["__main__.py"] = modules.pop(MAIN)
    _write(target, 0o755, FIRST_LINE, modules)


def pack(target: Path, package: Path) -> None:
    """Write a package."""
    _write(target, 0o644, b"", dict(modules_of(package.name, package)))


def modules_of(package: str, directory: Path) -> "Iterator[tuple[str, bytes]]":
    """All modules of a package and of those in it, and its pages, with their names in the archive."""
    for path in [*directory.rglob("*.py"), *directory.rglob("*.html")]:
        yield "%s/%s" % (package, path.relative_to(directory).as_posix()), path.read_bytes()


def _write(target: Path, mode: int, first_line: bytes, modules: "dict[str, bytes]") -> None:
    unfinished = target.with_name(target.name + ".new")
    with open(unfinished, "wb") as file:
        file.write(first_line)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, content in sorted(modules.items()):
                entry = zipfile.ZipInfo(name, DAY)
                entry.create_system = 3
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, content)
    os.chmod(unfinished, mode)
    os.replace(unfinished, target)


if __name__ == "__main__":
    arguments = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")]
    if len(arguments) == 1 == len(sys.argv) - 1:
        build(arguments[0])
    elif len(arguments) == 2 == len(sys.argv) - 1 and arguments[1].is_dir():
        pack(*arguments)
    else:
        sys.exit("usage: build_program.py FILE [DIRECTORY]")
