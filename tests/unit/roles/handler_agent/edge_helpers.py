# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the agent's edges share.

Runs on Python 3.6 and later.
"""

import os
import re
import selectors
import time
from pathlib import Path
from typing import Any, Callable, Dict, Optional

ROOT = Path(__file__).resolve().parents[4]
AGENT = ROOT / "roles" / "handler_agent" / "files"
LINKS = ROOT / ".cache" / "agent"
PATIENCE = 60.0  # seconds; machines are slow and shared
# A line of metrics, as Prometheus reads it.
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (-?[0-9.e+-]+)\Z')


class Clock:
    """A monotonic clock that only moves when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def put(path: Path, text: str) -> None:
    """Write a file atomically, as the role does: no reader finds half of it."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.chmod(0o644)
    os.replace(str(new), str(path))


def environment_of_agent() -> Dict[str, str]:
    """The environment in which another Python finds the agent, and this one's guard."""
    path = [str(AGENT), str(LINKS), os.environ.get("PYTHONPATH", "")]
    return dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, path)))


def wait_until(ask: Callable[[], Any], watched: Optional[Any] = None) -> Any:
    """Ask again and again, and at once when `watched` becomes readable, until the answer is true; return it."""
    ends = time.monotonic() + PATIENCE
    while True:
        answer = ask()
        if answer:
            return answer
        assert time.monotonic() < ends, "nothing came"
        if watched is None or watched.fileno() < 0:
            time.sleep(0.01)
        else:
            with selectors.DefaultSelector() as selector:
                selector.register(watched.fileno(), selectors.EVENT_READ)
                selector.select(0.05)
