# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the agent's program on a disk that hangs for as long as a file says so.

usage: FOGHORN_HANG=FILE hanging_disk.py PROGRAM ARGUMENT...

FILE holds the names of the calls that hang below its own directory: `open`, `write`, `fsync`, `replace` and others.
Without FILE nothing hangs. Runs on Python 3.6 and later.
"""

import os
import sys
import time
from typing import Any, Callable

program = sys.argv.pop(1)
sys.path.insert(0, program)
# As the program does it.
sys.modules["ssl"] = None  # type: ignore[assignment]

from foghorn_agent import cli  # noqa: E402 - found on the path set above

FLAG = os.environ.get("FOGHORN_HANG", "/nowhere/hang")
DISK = os.path.join(os.path.dirname(FLAG), "state")


def hangs(name: str) -> bool:
    """Whether this call hangs now."""
    try:
        with open(FLAG, encoding="ascii") as file:
            return name in file.read().split()
    except FileNotFoundError:
        return False


def hanging(name: str) -> Callable[..., Any]:
    """The call, which waits while the disk hangs."""
    function = getattr(os, name)

    def call(what: Any, *more: Any, **details: Any) -> Any:
        where = os.readlink("/proc/self/fd/%d" % what) if isinstance(what, int) else os.fspath(what)
        while where.startswith(DISK) and hangs(name):
            time.sleep(0.02)
        return function(what, *more, **details)

    return call


for each in ("open", "write", "lseek", "fsync", "link", "replace", "rename", "unlink", "mkdir"):
    setattr(os, each, hanging(each))

sys.exit(cli.main())
