# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Has whoever calls `ansible-playbook` get the warm one, for as long as this process lives.

Usage, beside its use as a module: owner.py COMMAND [ARGUMENT …]

Runs on Python 3.6 and later.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile

BIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")


class Owner:
    """A directory for what is kept between runs, and the processes that serve them."""

    def __init__(self) -> None:
        self._directory = tempfile.mkdtemp(prefix="warm-")
        path = os.path.join(self._directory, "owner")
        os.mkfifo(path)
        # Servers hold the other end; this one is closed with the process, whatever ends it.
        self._end = os.open(path, os.O_RDWR)
        with open(os.path.join(self._directory, "servers"), "wb"):
            pass
        os.environ["WARM_DIRECTORY"] = self._directory
        os.environ["PATH"] = BIN + os.pathsep + os.environ.get("PATH", os.defpath)

    def close(self) -> None:
        """End the servers, and leave nothing behind."""
        os.close(self._end)
        with open(os.path.join(self._directory, "servers"), "r+b") as servers:
            fcntl.flock(servers, fcntl.LOCK_EX)
        shutil.rmtree(self._directory)


def main() -> int:
    """Run a command; return its exit status."""
    owner = Owner()
    try:
        return subprocess.call(sys.argv[1:])
    finally:
        owner.close()


if __name__ == "__main__":
    sys.exit(main())
