# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A role's directory is created and listed, or refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.own_directory_module import (
    own_directory_arguments,
    run_own_directory,
)
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.stand_in import called


def run(path: Path, check_mode: bool = False, **given: Any) -> dict[str, Any]:
    defaults = {name: spec.get("default") for name, spec in own_directory_arguments().items()}
    return called(run_own_directory, check_mode, **{**defaults, "path": str(path), "mode": "0700", **given}).result


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

    result = run(open_to_all / "missing", check_mode, create=create)

    assert result["failed"]
    assert "others than root can write" in result["msg"]


class TestItsId:
    def test_given_none_then_it_is_made_once_and_kept(self, tmp_path: Path) -> None:
        path = tmp_path / "new"

        made = run(path, id_file="removal.id")

        assert re.fullmatch("[0-9a-f]{32}", made["id"])
        assert made == {"changed": True, "files": ["removal.id"], "id": made["id"]}
        assert run(path, id_file="removal.id") == {**made, "changed": False}
        assert run(path, id_file="removal.id", create=False)["id"] == made["id"]
        assert run(tmp_path / "other", id_file="removal.id")["id"] != made["id"]
        assert (path / "removal.id").stat().st_mode & 0o777 == 0o600

    def test_given_none_when_none_is_to_be_made_then_it_is_empty(self, tmp_path: Path) -> None:
        assert run(tmp_path, create=False, id_file="removal.id") == {"changed": False, "files": [], "id": ""}

    def test_given_check_mode_then_none_is_written(self, tmp_path: Path) -> None:
        assert run(tmp_path / "new", check_mode=True, id_file="removal.id")["changed"]

        assert list(tmp_path.iterdir()) == []

    def test_given_a_file_that_holds_none_then_it_is_no_id_and_not_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "removal.id").write_text("web_0")

        assert run(tmp_path, create=False, id_file="removal.id")["id"] == ""
        assert "holds no id" in run(tmp_path, id_file="removal.id")["msg"]
        assert (tmp_path / "removal.id").read_text() == "web_0"

    @pytest.mark.parametrize("name", ["", "..", "a/b", "/etc/id"])
    def test_given_no_name_of_a_file_then_it_is_refused(self, tmp_path: Path, name: str) -> None:
        assert "id_file: %r" % name in run(tmp_path, id_file=name)["msg"]


class TestLines:
    def test_given_a_missing_file_then_it_gets_the_lines_and_can_be_read(self, tmp_path: Path) -> None:
        assert run(tmp_path, lines={"places": ["a", "b", "a"]})["changed"]

        result = run(tmp_path, contents=["places", "missing"])
        assert (result["changed"], result["contents"]) == (False, {"places": "a\nb\n"})

    def test_given_some_of_them_then_the_others_are_appended_once(self, tmp_path: Path) -> None:
        (tmp_path / "places").write_text("b\nz")

        assert run(tmp_path, lines={"places": ["a", "b"]})["changed"]
        assert not run(tmp_path, lines={"places": ["a", "b"]})["changed"]
        assert (tmp_path / "places").read_text() == "b\nz\na\n"

    def test_given_check_mode_then_nothing_is_written(self, tmp_path: Path) -> None:
        assert run(tmp_path, check_mode=True, lines={"places": ["a"]})["changed"]

        assert list(tmp_path.iterdir()) == []

    def test_given_a_file_that_cannot_be_read_then_it_stays_as_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "places").mkdir()

        assert run(tmp_path, lines={"places": ["a"]})["failed"]

    @pytest.mark.parametrize("name", ["../places", "..", ""])
    def test_given_the_path_of_a_file_elsewhere_then_it_is_refused(self, tmp_path: Path, name: str) -> None:
        assert "without a directory" in run(tmp_path, lines={name: ["a"]})["msg"]
