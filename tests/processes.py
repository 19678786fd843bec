# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes and their descendants, for tests that end what they started."""

from __future__ import annotations

import contextlib
from pathlib import Path


def with_descendants(pid: int) -> list[int]:
    """A process, and all that it has started directly or through others."""
    found = [pid]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(child) for child in children.read_text().split()]
    return found
