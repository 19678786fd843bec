# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated Azure to ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulated_cloud import cloud, https, throwaway

__all__ = ["cloud", "https", "throwaway"]


@pytest.fixture
def azure(cloud: Callable[..., Any]) -> Any:
    """One that is set up as it is by default."""
    return cloud()
