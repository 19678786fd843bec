# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds foghorn-agent: one file that Python runs, with the agent and the core in it.

    python3 build_program.py foghorn-agent

The same sources give the same bytes wherever and whenever it is built, so that a program which did not change is not
installed anew. That is why nothing in it is compressed, and every file in it is of the same day.
"""

import os
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = {
    "foghorn_agent": HERE / "foghorn_agent",
    "foghorn_core": HERE.parents[2] / "plugins" / "module_utils" / "scheduled_events",
}
# -I and -S: neither the environment nor what is installed on the machine has a say in what the agent runs.
FIRST_LINE = b"#!/usr/bin/python3 -IS\n"
DAY = (2020, 1, 1, 0, 0, 0)
MAIN = (HERE / "foghorn_agent" / "__main__.py").read_bytes()


def build(target: Path) -> None:
    """Write the program."""
    unfinished = target.with_name(target.name + ".new")
    with open(unfinished, "wb") as file:
        file.write(FIRST_LINE)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, content in [("__main__.py", MAIN), *sources()]:
                entry = zipfile.ZipInfo(name, DAY)
                entry.create_system = 3
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, content)
    os.chmod(unfinished, 0o755)
    os.replace(unfinished, target)


def sources() -> "list[tuple[str, bytes]]":
    """All modules, with their names in the archive."""
    return [
        ("%s/%s" % (package, path.name), path.read_bytes())
        for package, directory in sorted(PACKAGES.items())
        for path in sorted(directory.glob("*.py"))
        if path.name != "__main__.py"
    ]


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: build_program.py FILE")
    build(Path(sys.argv[1]))
