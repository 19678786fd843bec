# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""win_scheduled_event_approve: all stories of scheduled_event_approve once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.modules import test_scheduled_event_approve as on_linux

# pytest finds the tests of a class by its name in this file.
globals().update({name: tests for name, tests in vars(on_linux).items() if name.startswith("Test")})


@pytest.fixture(scope="module", name="scene")
def fixture_scene(play_windows: Callable[..., Any]) -> Iterator[on_linux.Scene]:
    yield from on_linux.played(play_windows, "foghorn.azure_events.win_scheduled_event_approve")


def test_all_classes_of_the_linux_module_are_tried() -> None:
    classes = {name for name in vars(on_linux) if name.startswith("Test")}

    assert len(classes) >= 5
    assert classes <= set(globals())
