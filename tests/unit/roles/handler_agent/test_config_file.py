# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which configuration is in force when the file is valid, broken, corrected, missing?

Runs on Python 3.6 and later.
"""

import json
import os
from pathlib import Path
from typing import Any, Optional

import pytest
from foghorn_agent.config import Config, ConfigError
from foghorn_agent.io.config_file import ConfigFile

COPY = "agent.last_good.json"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    (tmp_path / "kept").mkdir(mode=0o750)
    return tmp_path / "agent.json"


def write(path: Path, content: Any) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text)
    path.chmod(0o644)


def load(file: ConfigFile) -> Config:
    """What the file says, which is kept if it is good."""
    config = file.load()
    file.keep()
    return config


def kept_in(path: Path) -> str:
    return str(path.parent / "kept")


def test_given_a_good_file_when_it_is_broken_at_the_next_start_then_what_was_good_last_is_known(path: Path) -> None:
    write(path, {"margin": 7})
    assert load(ConfigFile(str(path), kept_in(path))).margin == 7.0
    assert (path.parent / "kept" / COPY).stat().st_mode & 0o777 == 0o600
    write(path, '{"margin": ')
    file = ConfigFile(str(path), kept_in(path))
    with pytest.raises(ConfigError, match="is not JSON"):
        load(file)
    assert file.load_last_good() == Config(margin=7.0, rules=file.load_last_good().rules)  # type: ignore[union-attr]


def test_given_a_file_that_changes_when_it_is_good_then_the_newest_is_kept(path: Path) -> None:
    file = ConfigFile(str(path), kept_in(path))
    for margin in (7, 8):
        write(path, {"margin": margin})
        load(file)
    assert json.loads((path.parent / "kept" / COPY).read_text()) == {"margin": 8}


def test_given_no_file_and_none_before_when_loaded_then_the_defaults_are_used(path: Path) -> None:
    file = ConfigFile(str(path), kept_in(path))
    assert load(file) == Config()
    assert load(file) == Config()
    assert file.load_last_good() is None


@pytest.mark.parametrize("is_truncated", [False, True])
@pytest.mark.parametrize("is_kept", [False, True])
def test_given_a_file_that_is_lost_when_loaded_again_then_it_is_a_mistake_and_the_last_good_one_stays(
    path: Path, is_truncated: bool, is_kept: bool
) -> None:
    write(path, {"dry_run": True})
    file = ConfigFile(str(path), kept_in(path) if is_kept else None)
    load(file)
    path.write_text("") if is_truncated else path.unlink()
    for again in [file, ConfigFile(str(path), kept_in(path))] if is_kept else [file]:
        for _time in range(2):
            with pytest.raises(ConfigError, match="is not JSON" if is_truncated else "is missing"):
                load(again)
        if is_kept:
            assert again.load_last_good() == Config(dry_run=True, rules=Config().rules)
    write(path, {})
    assert load(file) == Config()


def test_given_a_file_and_a_spoilt_copy_when_the_file_is_lost_then_the_defaults_are_not_used(path: Path) -> None:
    write(path.parent / "kept" / COPY, "[]")
    with pytest.raises(ConfigError, match="is missing"):
        load(ConfigFile(str(path), kept_in(path)))


@pytest.mark.parametrize("copy", [None, "[]", '{"of a later version": 1}'])
def test_given_nothing_good_of_before_when_asked_for_then_there_is_nothing(copy: Optional[str], path: Path) -> None:
    if copy is not None:
        write(path.parent / "kept" / COPY, copy)
    assert ConfigFile(str(path), kept_in(path)).load_last_good() is None


def test_given_a_copy_that_others_could_have_written_when_asked_for_then_it_is_not_used(path: Path) -> None:
    write(path.parent / "kept" / COPY, {"margin": 7})
    (path.parent / "kept" / COPY).chmod(0o666)
    assert ConfigFile(str(path), kept_in(path)).load_last_good() is None


@pytest.mark.parametrize("directory", [None, "/dev/null/nowhere"])
def test_given_nowhere_to_keep_it_when_loaded_then_it_is_loaded_anyway(directory: Optional[str], path: Path) -> None:
    write(path, {"margin": 7})
    file = ConfigFile(str(path), directory)
    assert load(file).margin == 7.0
    assert file.load_last_good() is None


def test_given_a_file_when_it_changes_in_any_way_that_may_be_the_remedy_then_it_has_changed(path: Path) -> None:
    write(path, {"margin": 7})
    file = ConfigFile(str(path))
    assert file.has_changed
    load(file)
    assert not file.has_changed
    os.utime(str(path), (1, 1))
    assert file.has_changed
    load(file)
    other = path.with_name("other")
    write(other, {"margin": 8})
    other.replace(path)
    assert file.has_changed
    load(file)
    path.unlink()
    assert file.has_changed
