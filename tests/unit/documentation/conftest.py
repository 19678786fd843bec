# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the agent's package is found, with the core beside it, and the agent's rehearsal."""

import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LINKS = ROOT / ".cache" / "agent"

runpy.run_path(str(ROOT / "tools" / "link_collection.py"))["link_core"](str(ROOT), str(LINKS))
sys.path[:0] = [
    str(ROOT / "roles" / "handler_agent" / "files"),
    str(LINKS),
    str(ROOT / "tests" / "unit" / "roles" / "handler_agent"),
]
