# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A role's directory is created and listed, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.own_directory_module import run_own_directory
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.stand_in import called


def run(path: Path, check_mode: bool = False, create: bool = True) -> dict[str, Any]:
    params = {"path": str(path), "create": create, "mode": "0700", "group_may_write": False}
    return called(run_own_directory, check_mode, **params).result


def test_given_a_missing_directory_then_it_is_created_if_that_was_asked_for_and_not_in_check_mode(
    tmp_path: Path,
) -> None:
    path = tmp_path / "new" / "inner"

    assert run(path, create=False) == {"changed": False, "files": []}
    assert run(path, check_mode=True) == {"changed": True, "files": []}
    assert not path.parent.exists()
    assert run(path) == {"changed": True, "files": []}
    assert path.stat().st_mode & 0o777 == 0o700
    assert run(path) == {"changed": False, "files": []}


def test_given_files_then_they_are_listed(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).touch()

    assert run(tmp_path, create=False) == {"changed": False, "files": ["a", "b"]}


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("check_mode", [True, False])
def test_given_a_directory_that_others_could_change_then_it_is_refused_also_in_check_mode(
    tmp_path: Path, create: bool, check_mode: bool
) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)

    result = run(open_to_all / "missing", check_mode, create)

    assert result["failed"]
    assert "others than root can write" in result["msg"]
