# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent's tests share: where its package is found, with the core beside it, and a clock set by hand.

Runs on Python 3.6 with pytest 7.0 and later.
"""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
AGENT = ROOT / "roles" / "handler_agent" / "files"
LINKS = ROOT / ".cache" / "agent"

runpy.run_path(str(ROOT / "tools" / "link_collection.py"))["link_core"](str(ROOT), str(LINKS))
# With what the tests share, which lies beside this file.
sys.path[:0] = [str(AGENT), str(LINKS), str(Path(__file__).resolve().parent)]

from edge_helpers import Clock  # noqa: E402 - found on the path set above


@pytest.fixture
def clock() -> Clock:
    """A monotonic clock, set by hand."""
    return Clock()
