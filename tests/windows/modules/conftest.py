# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs tasks through ansible-playbook and PowerShell on this machine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.modules.conftest import Play, fixture_play

__all__ = ["fixture_play"]


@pytest.fixture(scope="session", name="play_windows")
def fixture_play_windows(play: Play, pwsh: Path) -> Callable[..., Any]:
    """Like `play`, with PowerShell for the modules that are written in it."""
    return functools.partial(play, options=("-e", f"ansible_pwsh_interpreter={pwsh}"))
