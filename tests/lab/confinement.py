# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The namespaces of a lab, and how its first process keeps them.

The kernel ends every process of a PID namespace when the first one ends, and with the last process go the mounts and
the network. So there is nothing to be cleaned up by name, and nothing that can be left behind.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")

_PRIVATE = "FOGHORN_LAB_PRIVATE_MOUNTS"


class Leak(Exception):
    """There is a way out of where the lab is to be."""


def keep_mounts_private() -> None:
    """Go on in a mount namespace of our own, where cgroups are of version 2, whatever the machine uses otherwise."""
    if _PRIVATE not in os.environ:
        os.environ[_PRIVATE] = "yes"
        again = [sys.executable, *sys.orig_argv[1:]]
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "--", *again])
    del os.environ[_PRIVATE]
    if not (CGROUPS / "cgroup.controllers").exists():
        subprocess.run(["umount", "--recursive", "--lazy", str(CGROUPS)], check=True)
        subprocess.run(["mount", "-t", "cgroup2", "cgroup2", str(CGROUPS)], check=True)


def start_confined(command: list[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a command as the first process of new namespaces. They end when it does, or when we do.

    Its standard input is a pipe that stays open for as long as we live; its standard output is another.
    """
    return subprocess.Popen(
        ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child=SIGKILL", "--", *command],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A key pressed at the terminal is meant for us, and we end it.
        start_new_session=True,
    )


def first_process(confined: "subprocess.Popen[bytes]") -> int:
    """The process id, as we see it, of the first process that `start_confined` started."""
    return int(Path(f"/proc/{confined.pid}/task/{confined.pid}/children").read_text().split()[0])


def enter(first: int) -> list[str]:
    """The prefix that makes a command run in the namespaces of this process."""
    return ["nsenter", f"--target={first}", "--mount", "--net", "--pid", f"--wdns={Path.cwd()}", "--"]


def run_as_first_process(main: Callable[[], int]) -> int:
    """Run `main` in a child, while we do what a first process has to: reap processes whose parents have died."""
    child = os.fork()
    if child == 0:
        os._exit(main())
    signal.signal(signal.SIGTERM, lambda *_arguments: os.kill(child, signal.SIGTERM))
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def assert_alone() -> None:
    """Make sure that we are in a network namespace that nobody has put anything into yet. Raises Leak."""
    interfaces = sorted(line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:])
    if interfaces != ["lo"]:
        raise Leak(f"a lab begins in an empty network namespace, but this one has {', '.join(interfaces)}")


def assert_no_way_out() -> None:
    """Make sure that no route leads out of this network namespace. Raises Leak."""
    for family in ("-4", "-6"):
        routes = subprocess.run(
            ["ip", family, "route", "show", "default"], check=True, stdout=subprocess.PIPE, text=True
        ).stdout.strip()
        if routes:
            raise Leak(f"169.254.169.254 is not to be touched where there is a way out: {routes}")


def remove_cgroup(cgroup: Path) -> None:
    """Remove a cgroup that has no processes any more, and those below it."""
    for directory, _names, _files in os.walk(cgroup, topdown=False):
        os.rmdir(directory)
