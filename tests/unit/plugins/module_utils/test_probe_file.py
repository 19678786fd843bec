# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a file takes a machine out of rotation and back."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.files.ownership import UnsafePath
from ansible_collections.foghorn.azure_events.plugins.module_utils.probe_file import (
    ProbeFileError,
    put_back,
    take_out,
)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
ATTACKER = 12345


@pytest.fixture(name="record")
def fixture_record(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "of" / "probe.json")


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A directory of the attacker's."""
    path = tmp_path / "app" / "theirs"
    path.mkdir(parents=True)
    for one in (path.parent, path):
        os.chown(one, ATTACKER, -1)
    return path


class Precious:
    """A directory elsewhere with a file, which no other user may touch."""

    def __init__(self, path: Path) -> None:
        self.directory = path
        self.file = path / "file"
        path.mkdir(mode=0o700)
        self.file.write_text("secret")
        self.file.chmod(0o600)
        self._before = self._state()

    def _state(self) -> list[Any]:
        found = [path.lstat() for path in sorted(self.directory.iterdir())]
        return [self.file.read_text(), [(one.st_ino, one.st_mode, one.st_uid, one.st_mtime_ns) for one in found]]

    def is_untouched(self) -> bool:
        return self._state() == self._before


@pytest.fixture
def precious(tmp_path: Path) -> Precious:
    return Precious(tmp_path / "precious")


def lines(record: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(record).read_text().splitlines()]


def mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_given_a_file_whose_presence_takes_out_then_it_is_there_and_away_again_and_the_record_stays(
    tmp_path: Path, record: str
) -> None:
    file = tmp_path / "out"
    old = os.umask(0o077)
    try:
        assert take_out(str(file), "present", record, dry=False, succeeds=lambda: True)[:2] == (True, None)
    finally:
        os.umask(old)

    assert lines(record) == [{"means": "present", "file": str(file), "confirms": True}]
    # The application need not be root.
    assert mode(str(file)) == mode(record) == 0o644
    assert mode(os.path.dirname(record)) == 0o755
    assert put_back(record, dry=False) == (True, True)
    assert not file.exists()
    assert put_back(record, dry=False) == (False, True)


def test_given_a_file_whose_absence_takes_out_then_it_comes_back_as_it_was(tmp_path: Path, record: str) -> None:
    file = tmp_path / "in"
    file.write_text("healthy")

    assert take_out(str(file), "absent", record, dry=False, succeeds=lambda: True)[:2] == (True, None)
    assert not file.exists()
    assert take_out(str(file), "absent", record, dry=False, succeeds=lambda: True)[:2] == (False, None)
    assert put_back(record, dry=False) == (True, True)
    assert file.read_text() == "healthy"


@pytest.mark.parametrize("told", [2000, 1 << 33])
def test_given_a_machine_that_is_out_already_then_it_is_reported_since_when_whatever_the_owner_of_the_file_tells(
    tmp_path: Path, record: str, told: int
) -> None:
    file = tmp_path / "out"
    begun = time.time() - 1
    file.touch()
    os.utime(file, (told, told))

    removal = take_out(str(file), "present", record, dry=False, succeeds=lambda: True)

    assert removal == (False, removal.since, True)
    assert removal.since is not None
    assert begun < removal.since <= time.time()
    assert put_back(record, dry=False) == (False, False)
    assert file.exists()


def test_given_variables_that_change_between_two_removals_then_both_are_undone_and_the_same_is_noted_once(
    tmp_path: Path, record: str
) -> None:
    for name in ("a", "b", "a"):
        take_out(str(tmp_path / name), "present", record, dry=False, succeeds=lambda: True)
        (tmp_path / name).unlink()
    for name in ("a", "b"):
        (tmp_path / name).touch()

    assert [Path(line["file"]).name for line in lines(record)] == ["a", "b"]
    assert put_back(record, dry=False) == (True, True)
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


def test_given_an_endpoint_that_failed_before_the_removal_then_the_record_remembers_that_nothing_confirms_it(
    tmp_path: Path, record: str
) -> None:
    file = str(tmp_path / "out")

    assert not take_out(file, "present", record, dry=False, succeeds=lambda: False).confirms
    again = take_out(file, "present", record, dry=False, succeeds=lambda: True)
    assert (again.changed, again.confirms) == (False, False)


def test_given_a_prediction_then_nothing_is_changed(tmp_path: Path, record: str) -> None:
    file = tmp_path / "out"
    assert take_out(str(file), "present", record, dry=True, succeeds=lambda: True) == (True, None, True)
    assert list(tmp_path.iterdir()) == []

    take_out(str(file), "present", record, dry=False, succeeds=lambda: True)
    assert put_back(record, dry=True) == (True, True)
    assert file.exists()


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "5",
        '{"means": "present"}',
        '{"means": "evil", "file": "/x"}',
        '{"means": "present", "file": "FILE"}\n' * 17,
    ],
)
def test_given_an_invalid_record_then_nothing_is_undone(text: str, tmp_path: Path, record: str) -> None:
    file = tmp_path / "out"
    file.touch()
    os.makedirs(os.path.dirname(record))
    Path(record).write_text(text.replace("FILE", str(file)))

    with pytest.raises(ProbeFileError, match="was not written by this role: each of its lines, 16 at most, must"):
        put_back(record, dry=False)
    assert file.exists()


def test_given_a_file_whose_absence_takes_out_when_it_is_away_then_it_stays_in_its_directory_with_all_that_it_has(
    tmp_path: Path, record: str
) -> None:
    file = tmp_path / "in"
    file.touch(mode=0o640)
    before = file.stat()

    take_out(str(file), "absent", record, dry=False, succeeds=lambda: True)

    away = (tmp_path / ".in.out_of_rotation").stat()
    assert (away.st_ino, away.st_mode, away.st_mtime_ns) == (before.st_ino, before.st_mode, before.st_mtime_ns)


@pytest.mark.parametrize("dry", [True, False])
def test_given_a_directory_that_is_made_with_that_of_the_record_when_taken_out_then_the_file_is_there(
    tmp_path: Path, dry: bool
) -> None:
    """So are the defaults on a machine that had neither."""
    file, record = tmp_path / "new" / "out", str(tmp_path / "new" / "state" / "record")

    assert take_out(str(file), "present", record, dry=dry, succeeds=lambda: True).changed
    assert file.exists() != dry


def test_given_a_directory_that_is_missing_when_taken_out_then_only_a_file_that_must_be_there_is_an_error(
    tmp_path: Path, record: str
) -> None:
    file = str(tmp_path / "missing" / "file")

    assert not take_out(file, "absent", record, dry=False, succeeds=lambda: True).changed
    with pytest.raises(ProbeFileError, match="missing/file: its directory does not exist: create it"):
        take_out(file, "present", record, dry=False, succeeds=lambda: True)
    assert put_back(record, dry=False) == (False, True)


@needs_root
@pytest.mark.parametrize("means", ["present", "absent"])
def test_given_an_attacker_who_places_a_link_while_the_endpoint_is_asked_when_taken_out_then_it_is_not_followed(
    theirs: Path, record: str, precious: Precious, means: str
) -> None:
    file = theirs / "file"
    if means == "absent":
        file.touch()

    def attack() -> bool:
        file.unlink(missing_ok=True)
        file.symlink_to(precious.file)
        return True

    try:
        take_out(str(file), means, record, dry=False, succeeds=attack)
    except FileExistsError:
        assert means == "present"
    assert precious.is_untouched()
    put_back(record, dry=False)
    assert precious.is_untouched()


@needs_root
@pytest.mark.parametrize("means", ["present", "absent"])
def test_given_an_attacker_who_exchanges_the_directory_while_the_endpoint_is_asked_then_nothing_moves_elsewhere(
    theirs: Path, record: str, precious: Precious, means: str
) -> None:
    file = theirs / "file"
    if means == "absent":
        file.touch()

    def attack() -> bool:
        theirs.rename(theirs.with_name("moved"))
        theirs.symlink_to(precious.directory)
        return True

    take_out(str(file), means, record, dry=False, succeeds=attack)
    with pytest.raises(UnsafePath, match="could have placed the symbolic link"):
        put_back(record, dry=False)
    assert precious.is_untouched()


@needs_root
@pytest.mark.parametrize("means", ["present", "absent"])
@pytest.mark.parametrize("kind", ["a link", "a link to a directory", "a pipe", "a file"])
def test_given_an_attacker_who_replaces_the_file_while_the_machine_is_out_when_restored_then_nothing_elsewhere_changes(
    theirs: Path, record: str, precious: Precious, means: str, kind: str
) -> None:
    file = theirs / "file"
    if means == "absent":
        file.touch()
    take_out(str(file), means, record, dry=False, succeeds=lambda: True)
    planted = file if means == "present" else theirs / ".file.out_of_rotation"
    planted.unlink()
    plant: dict[str, Callable[[], object]] = {
        "a link": lambda: planted.symlink_to(precious.file),
        "a link to a directory": lambda: planted.symlink_to(precious.directory),
        "a pipe": lambda: os.mkfifo(planted),
        "a file": planted.touch,
    }
    plant[kind]()

    if (means, kind) == ("absent", "a pipe"):
        with pytest.raises(ProbeFileError, match=r"\.file\.out_of_rotation is not a file: find out who put it there"):
            put_back(record, dry=False)
    else:
        assert put_back(record, dry=False) == (True, True)
        assert os.path.lexists(file) == (means == "absent")
    assert precious.is_untouched()


@pytest.mark.parametrize("means", ["present", "absent"])
@pytest.mark.parametrize("plant", [os.mkdir, os.mkfifo])
def test_given_something_else_in_place_of_the_file_when_taken_out_then_it_is_an_error_and_nothing_is_written_down(
    tmp_path: Path, record: str, means: str, plant: Callable[[Path], None]
) -> None:
    plant(tmp_path / "file")

    with pytest.raises(ProbeFileError, match="/file is not a file: find out who put it there, and remove it"):
        take_out(str(tmp_path / "file"), means, record, dry=False, succeeds=lambda: True)
    assert not os.path.exists(record)


def test_given_a_directory_in_place_of_the_file_when_restored_then_it_is_an_error_and_the_directory_stays(
    tmp_path: Path, record: str
) -> None:
    file = tmp_path / "file"
    take_out(str(file), "present", record, dry=False, succeeds=lambda: True)
    file.unlink()
    file.mkdir()

    with pytest.raises(ProbeFileError, match="/file is not a file"):
        put_back(record, dry=False)
    assert file.is_dir()


@needs_root
def test_given_a_record_that_another_user_could_have_written_then_nothing_is_done(
    theirs: Path, precious: Precious
) -> None:
    record = str(theirs / "record")
    Path(record).write_text(json.dumps({"means": "present", "file": str(precious.file)}))
    refused = r"user 12345 owns \S*/app: chown it to root"

    with pytest.raises(UnsafePath, match=refused):
        put_back(record, dry=False)
    with pytest.raises(UnsafePath, match=refused):
        take_out(str(theirs / "file"), "present", record, dry=False, succeeds=lambda: True)
    assert precious.is_untouched()
    assert not (theirs / "file").exists()
