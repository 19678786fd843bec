# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines that a page shows, run as a user who pastes them would."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PATIENCE = 300  # seconds; machines are slow and shared


def run(commands: str, directory: Path, **environment: str) -> str:
    """Run command lines in a directory, with these additions to the environment; return their output.

    Fails the test at the first command that fails.
    """
    done = subprocess.run(
        ["/bin/sh", "-ec", commands],
        cwd=directory,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
