# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of hosts that a run may have left out."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.left_out import forget, note, noted_in
from hypothesis import given
from hypothesis import strategies as st


def test_given_hosts_that_were_noted_then_they_are_known_until_they_are_forgotten(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "list"

    assert noted_in(str(directory)) == {}
    note(str(directory), {"web1": "", "../../etc/passwd": "/Id", "..": ""})
    note(str(directory), {"web1": "/id1"})
    (directory / ".web1.new").touch()
    assert noted_in(str(directory)) == {"web1": "/id1", "../../etc/passwd": "/Id", "..": ""}
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir() if path.name != ".web1.new"} == {0o600}
    forget(str(directory), {"..": "", "web1": "", "web2": ""})
    assert noted_in(str(directory)) == {"../../etc/passwd": "/Id"}


def test_given_a_host_that_was_noted_under_another_name_when_it_is_back_then_it_is_forgotten(tmp_path: Path) -> None:
    note(str(tmp_path), {"old": "/ID1", "other": "/id2", "unknown": ""})
    forget(str(tmp_path), {"new": "/id1", "else": ""})

    assert noted_in(str(tmp_path)) == {"other": "/id2", "unknown": ""}


def test_given_no_host_to_note_then_no_directory_is_made(tmp_path: Path) -> None:
    note(str(tmp_path / "list"), {})
    forget(str(tmp_path / "list"), {"web1": ""})

    assert not (tmp_path / "list").exists()


@given(names=st.sets(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)))
def test_given_any_names_then_each_is_found_again(names: set[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        note(directory, dict.fromkeys(names, "/id"))
        assert noted_in(directory) == dict.fromkeys(names, "/id")
