# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent's tests share: where its package is found, with the core beside it, a clock set by hand, signals
and the built program.

Runs on Python 3.6 with pytest 7.0 and later.
"""

import contextlib
import os
import runpy
import signal
import sys
import time
from pathlib import Path
from typing import Dict, Generator, List, Set

import pytest

ROOT = Path(__file__).resolve().parents[4]
AGENT = ROOT / "roles" / "handler_agent" / "files"
LINKS = ROOT / ".cache" / "agent"
PATIENCE_WITH_THREADS = 5.0  # seconds

runpy.run_path(str(ROOT / "tools" / "link_collection.py"))["link_core"](str(ROOT), str(LINKS))
# With what the tests share, which lies beside this file.
sys.path[:0] = [str(AGENT), str(LINKS), str(Path(__file__).resolve().parent)]

from edge_helpers import Clock  # noqa: E402 - found on the path set above
from foghorn_agent.platform.posix.wakeups import Signals  # noqa: E402
from real_agent import build  # noqa: E402


def _descriptors() -> Dict[int, str]:
    """What this process has open, by number."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        # The one that reads the directory is gone by now.
        with contextlib.suppress(FileNotFoundError):
            found[int(name)] = os.readlink("/proc/self/fd/" + name)
    return found


def _children() -> Set[int]:
    """The processes that this one has started and not yet reaped."""
    found: Set[int] = set()
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(FileNotFoundError), open("/proc/self/task/%s/children" % thread) as file:
            found.update(int(pid) for pid in file.read().split())
    return found


@pytest.fixture(autouse=True)
def nothing_is_left() -> Generator[None, None, None]:
    """A test that leaves a process, a socket or a file to the garbage collector fails, and no other in its place."""
    descriptors, children = _descriptors(), _children()
    yield

    def left() -> List[str]:
        return ["process %d" % pid for pid in sorted(_children() - children)] + [
            "descriptor %d: %s" % (number, target)
            for number, target in sorted(_descriptors().items())
            if descriptors.get(number) != target
        ]

    # A thread that was asked to end closes its files a moment later.
    ends = time.monotonic() + PATIENCE_WITH_THREADS
    while left() and time.monotonic() < ends:
        time.sleep(0.01)
    left_behind = left()
    for pid in _children() - children:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    assert not left_behind, "left behind: " + ", ".join(left_behind)


@pytest.fixture
def clock() -> Clock:
    """A monotonic clock, set by hand."""
    return Clock()


@pytest.fixture
def signals() -> Generator[Signals, None, None]:
    """What signals ask for, until the test ends."""
    one = Signals()
    yield one
    one.close()


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built program."""
    return build(tmp_path_factory.mktemp("program") / "foghorn-agent")
