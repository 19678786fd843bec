# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine's record file is unchanged, or has the whole new text."""

import os
import stat
from pathlib import Path

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.files.ownership import UnsafePath
from ansible_collections.foghorn.azure_events.plugins.module_utils.files.writing import remove, text_of, write_text


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_given_a_directory_that_is_not_there_and_any_umask_when_written_then_both_have_their_modes(
    tmp_path: Path, mode: int
) -> None:
    path = tmp_path / "state" / "record"
    before = os.umask(0o077)
    try:
        write_text(str(path), "text\n", mode)
    finally:
        os.umask(before)

    assert text_of(str(path)) == "text\n"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755


def test_given_a_process_that_dies_before_the_file_has_its_name_then_it_is_as_it_was_and_the_next_write_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "record")
    write_text(path, "first\n", 0o600)

    def die(*_names: str, **_directories: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", die)
        with pytest.raises(KeyboardInterrupt):
            write_text(path, "second, much longer\n", 0o600)
    assert text_of(path) == "first\n"

    write_text(path, "third\n", 0o600)
    assert text_of(path) == "third\n"
    assert os.listdir(tmp_path) == ["record"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_given_a_directory_of_another_user_when_a_file_is_read_written_or_removed_then_it_is_refused(
    tmp_path: Path,
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(str(theirs), 12345, -1)
    (theirs / "record").symlink_to("/etc/passwd")

    for act in (text_of, remove, lambda path: write_text(path, "text", 0o600)):
        for path in (theirs / "record", theirs / "new" / "record"):
            with pytest.raises(UnsafePath, match=r"user 12345 owns \S*/theirs"):
                act(str(path))
    assert os.listdir(str(theirs)) == ["record"]
