# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a file takes a machine out of rotation and back."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.probe_file import (
    ProbeFileError,
    Record,
    put_back,
    take_out,
)


@pytest.fixture(name="record")
def fixture_record(tmp_path: Path) -> Record:
    return Record(str(tmp_path / "state" / "of" / "probe.json"), str(tmp_path / "state" / "of" / "kept"))


def lines(record: Record) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(record.path).read_text().splitlines()]


def mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_given_a_file_whose_presence_takes_out_then_it_is_there_and_away_again_and_the_record_stays(
    tmp_path: Path, record: Record
) -> None:
    file = tmp_path / "out"
    old = os.umask(0o077)
    try:
        assert take_out(str(file), "present", record, dry=False, succeeds=lambda: True)[:2] == (True, None)
    finally:
        os.umask(old)

    assert lines(record) == [{"means": "present", "file": str(file), "confirms": True}]
    # The application need not be root.
    assert mode(str(file)) == mode(record.path) == 0o644
    assert mode(os.path.dirname(record.path)) == 0o755
    assert put_back(record, dry=False) == (True, True)
    assert not file.exists()
    assert put_back(record, dry=False) == (False, True)


def test_given_a_file_whose_absence_takes_out_then_it_comes_back_as_it_was(tmp_path: Path, record: Record) -> None:
    file = tmp_path / "in"
    file.write_text("healthy")

    assert take_out(str(file), "absent", record, dry=False, succeeds=lambda: True)[:2] == (True, None)
    assert not file.exists()
    assert take_out(str(file), "absent", record, dry=False, succeeds=lambda: True)[:2] == (False, None)
    assert put_back(record, dry=False) == (True, True)
    assert file.read_text() == "healthy"


def test_given_a_machine_that_is_out_already_then_it_is_reported_since_when_and_nothing_is_written_down(
    tmp_path: Path, record: Record
) -> None:
    file = tmp_path / "out"
    file.touch()
    os.utime(file, (1000, 2000))

    assert take_out(str(file), "present", record, dry=False, succeeds=lambda: True) == (False, 2000.0, True)
    assert put_back(record, dry=False) == (False, False)
    assert file.exists()


def test_given_variables_that_change_between_two_removals_then_both_are_undone_and_the_same_is_noted_once(
    tmp_path: Path, record: Record
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
    tmp_path: Path, record: Record
) -> None:
    file = str(tmp_path / "out")

    assert not take_out(file, "present", record, dry=False, succeeds=lambda: False).confirms
    again = take_out(file, "present", record, dry=False, succeeds=lambda: True)
    assert (again.changed, again.confirms) == (False, False)


def test_given_a_prediction_then_nothing_is_changed(tmp_path: Path, record: Record) -> None:
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
def test_given_an_invalid_record_then_nothing_is_undone(text: str, tmp_path: Path, record: Record) -> None:
    file = tmp_path / "out"
    file.touch()
    os.makedirs(os.path.dirname(record.path))
    Path(record.path).write_text(text.replace("FILE", str(file)))

    with pytest.raises(ProbeFileError, match="was not written by this role: each of its lines, 16 at most, must"):
        put_back(record, dry=False)
    assert file.exists()
