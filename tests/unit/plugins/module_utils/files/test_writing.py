# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine's record file is unchanged, or has the whole new text."""

import os
import stat
from pathlib import Path

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.files.writing import text_of, write_text


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
