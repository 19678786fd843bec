# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How does a module that runs for long say how far it is?"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.task import _writer
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.progress_action import INTERRUPTED, showing_progress

PATIENCE = 30.0  # seconds


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_given_progress_then_each_change_is_reported_and_what_ctrl_c_does_once(tmp_path: Path) -> None:
    told: list[str] = []
    with showing_progress(told.append, str(tmp_path), 0.01, 0.0, 3600.0) as path:
        write = _writer(path)
        write("400 of 1000 instances are at the latest model, 0 failed")
        wait_until(lambda: len(told) == 1)
        write("9 of 10, 0 failed")
        wait_until(lambda: len(told) == 2)
    assert told == [
        "400 of 1000 instances are at the latest model, 0 failed, after 0 s. " + INTERRUPTED,
        "9 of 10, 0 failed, after 0 s",
    ]
    assert list(tmp_path.iterdir()) == []


def test_given_nothing_new_then_it_is_reported_again_so_that_nobody_takes_it_for_dead(tmp_path: Path) -> None:
    told: list[str] = []
    with showing_progress(told.append, str(tmp_path), 0.01, 0.0, 0.02):
        wait_until(lambda: len(told) >= 2)
    assert told[0].startswith("the state of the instances is not known yet, after 0 s")
    assert told[1].startswith("the state of the instances is not known yet, after 0 s")


def test_given_changes_in_quick_succession_then_not_all_of_them_are_reported(tmp_path: Path) -> None:
    told: list[str] = []
    with showing_progress(told.append, str(tmp_path), 0.01, 3600.0, 3600.0) as path:
        write = _writer(path)
        write("1 of 10")
        wait_until(lambda: told)
        write("2 of 10")
        time.sleep(0.1)
    assert len(told) == 1


def test_given_a_module_that_fails_then_nothing_is_left_behind(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError("so it is")

    with pytest.raises(ValueError, match="so it is"), showing_progress(lambda _line: None, str(tmp_path), 0.01):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_given_a_missing_file_then_none_is_made_and_the_work_continues(tmp_path: Path) -> None:
    _writer(str(tmp_path / "nosuch"))("1 of 10")
    _writer(None)("1 of 10")
    assert list(tmp_path.iterdir()) == []
