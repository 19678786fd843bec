# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fleets for the tests of the playbooks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.playbooks.fleet import Fleet


@pytest.fixture
def make_fleet(tmp_path: Path) -> Iterator[Callable[[int], Fleet]]:
    """Make a fleet of so many hosts, which ends with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda count: stack.enter_context(Fleet(tmp_path, 31, count))
