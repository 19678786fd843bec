# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What did it do? Whatever becomes of the disk and of the process.

Runs on Python 3.6 and later.
"""

import errno
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest
from edge_helpers import PATIENCE, environment_of_agent
from foghorn_agent.io.journal import FILE_NAME, LOCK_FILE_NAME, PREVIOUS_FILE_NAME, Journal, JournalError, read_history

RECORDS: List[Dict[str, Any]] = [{"kind": "a", "text": "ä\n\0"}, {"kind": "b", "number": 1.5}, {"kind": "c", "x": None}]
SUMMARY = [{"kind": "summary"}]


def opened(directory: Path, largest_size: int = 1000) -> Journal:
    journal = Journal(str(directory), largest_size)
    journal.open()
    return journal


def content(directory: Path, name: str = FILE_NAME) -> List[Any]:
    return [json.loads(line) for line in (directory / name).read_text("ascii").splitlines()]


def reread(directory: Path) -> List[Any]:
    journal = Journal(str(directory))
    records = journal.open()
    journal.close()
    return records


def test_given_no_journal_when_opened_then_there_is_one_without_records(tmp_path: Path) -> None:
    assert reread(tmp_path) == []
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


def test_given_a_journal_that_a_group_may_read_when_opened_or_condensed_then_it_is_the_agents_alone(
    tmp_path: Path,
) -> None:
    for name in (FILE_NAME, LOCK_FILE_NAME):
        (tmp_path / name).touch(0o640)

    journal = opened(tmp_path)
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600, 0o600]
    journal.begin_anew([RECORDS[0]])
    journal.close()
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


def test_given_any_prefix_of_a_journal_when_opened_then_its_whole_lines_are_read_and_it_can_continue(
    tmp_path: Path,
) -> None:
    journal = opened(tmp_path)
    assert journal.append(*RECORDS) is None
    journal.close()
    journal.close()
    whole = (tmp_path / FILE_NAME).read_bytes()
    for length in range(len(whole) + 1):
        (tmp_path / FILE_NAME).write_bytes(whole[:length])
        # The agent died before the disk had all of it.
        (tmp_path / LOCK_FILE_NAME).write_bytes(b"")
        count = whole[:length].count(b"\n")
        assert list(read_history(str(tmp_path))) == RECORDS[:count]
        journal = Journal(str(tmp_path))
        assert journal.open() == RECORDS[:count]
        journal.append({"kind": "after"})
        journal.close()
        assert content(tmp_path) == [*RECORDS[:count], {"kind": "after"}]


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_given_a_journal_that_lost_records_of_the_disk_when_opened_then_what_is_missing_is_known_from_then_on(
    tmp_path: Path, kept: int
) -> None:
    journal = opened(tmp_path)
    journal.append(*RECORDS)
    journal.close()
    lines = (tmp_path / FILE_NAME).read_bytes().splitlines(True)
    (tmp_path / FILE_NAME).write_bytes(b"".join(lines[:kept]))
    journal = Journal(str(tmp_path))
    assert journal.read() == [*RECORDS[:kept], {"kind": "unreadable"}]
    assert journal.open() == [*RECORDS[:kept], {"kind": "unreadable"}]
    journal.append({"kind": "after"})
    journal.close()
    assert reread(tmp_path) == [*RECORDS[:kept], {"kind": "unreadable"}, {"kind": "after"}]


def test_given_a_lost_journal_when_opened_then_what_is_missing_is_known_from_then_on(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    journal.append(*RECORDS)
    journal.begin_anew(SUMMARY)
    journal.close()
    (tmp_path / FILE_NAME).unlink()
    assert reread(tmp_path) == [{"kind": "unreadable"}]
    assert reread(tmp_path) == [{"kind": "unreadable"}]


@pytest.mark.parametrize("name", [FILE_NAME, LOCK_FILE_NAME])
@pytest.mark.parametrize("other", [None, b"", b"{}\n"])
def test_given_a_journal_that_is_removed_or_replaced_when_written_then_that_is_said_until_it_is_opened_anew(
    tmp_path: Path, name: str, other: Optional[bytes]
) -> None:
    journal = opened(tmp_path)
    assert journal.append() is None
    (tmp_path / name).unlink()
    if other is not None:
        (tmp_path / name).write_bytes(other)
    for records in ([], RECORDS):
        assert journal.append(*records) == "%s was removed or replaced" % (tmp_path / name)
        assert journal.is_lost
    journal.open()
    assert journal.append(*RECORDS) is None
    assert not journal.is_lost
    journal.close()
    assert reread(tmp_path)[-len(RECORDS) :] == RECORDS


@pytest.mark.parametrize("name", ["", FILE_NAME, LOCK_FILE_NAME])
def test_given_a_journal_that_others_can_change_when_opened_then_it_is_not_used(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "state"
    directory.mkdir(mode=0o700)
    if name:
        opened(directory).close()
    (directory / name).chmod(0o777)
    journal = Journal(str(directory))
    with pytest.raises(JournalError, match=r"cannot be used: .*others than root can write"):
        journal.open()
    assert not journal.is_open
    assert journal.read() == []


def test_given_no_directory_when_opened_then_its_own_is_private_and_those_above_it_are_readable(tmp_path: Path) -> None:
    umask = os.umask(0o077)
    try:
        opened(tmp_path / "foghorn" / "agent").close()
    finally:
        os.umask(umask)
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "foghorn", tmp_path / "foghorn" / "agent")]
    assert modes == [0o755, 0o700]


@pytest.mark.parametrize(
    "damage",
    [b"\0" * 4096, b"\0" * 100 + b"\n", b'{"kind": "b', b"\xff\xfe\n", b"[1]\n", b'"text"\n', b"\n\n", b"}\n", b"\r"],
)
def test_given_damage_at_the_end_when_opened_then_what_was_before_it_is_read_and_it_can_continue(
    damage: bytes, tmp_path: Path
) -> None:
    journal = opened(tmp_path)
    journal.append(*RECORDS)
    journal.close()
    with (tmp_path / FILE_NAME).open("ab") as file:
        file.write(damage)
    journal = Journal(str(tmp_path))
    damaged = [record for record in journal.open() if record not in RECORDS]
    # A line that is not empty and is no record is reported: it may have been one.
    assert damaged == [{"kind": "unreadable"}] * (damage.endswith(b"\n") and damage.strip(b"\0\n") != b"")
    assert journal.append({"kind": "after"}) is None
    journal.close()
    assert reread(tmp_path) == [*RECORDS, *damaged, {"kind": "after"}]


def test_given_a_journal_in_use_when_another_opens_it_then_it_is_refused_until_it_is_closed(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    with pytest.raises(JournalError, match=r"journal\.jsonl is in use: another foghorn-agent is running"):
        Journal(str(tmp_path)).open()
    journal.close()
    assert reread(tmp_path) == []


def test_given_a_journal_that_is_condensed_when_another_opens_it_at_any_point_of_that_then_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened(tmp_path)
    refusals: List[str] = []

    def trying_first(function: Any) -> Any:
        def call(*arguments: Any, **details: Any) -> Any:
            with monkeypatch.context() as unpatched:
                for name, original in originals.items():
                    unpatched.setattr(os, name, original)
                with pytest.raises(JournalError, match="is in use") as refusal:
                    Journal(str(tmp_path)).open()
            refusals.append(str(refusal.value))
            return function(*arguments, **details)

        return call

    originals = {name: getattr(os, name) for name in set(BEGINNING_ANEW)}
    with monkeypatch.context() as patched:
        for name, original in originals.items():
            patched.setattr(os, name, trying_first(original))
        journal.begin_anew(SUMMARY)
    journal.close()
    assert len(refusals) == len(BEGINNING_ANEW)
    assert reread(tmp_path) == SUMMARY


def test_given_an_impossible_directory_when_opened_then_the_error_names_the_file_and_it_can_be_tried_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "state").write_text("")
    journal = Journal(str(tmp_path / "state"))
    with pytest.raises(JournalError, match=r"state/journal\.jsonl cannot be used: .*File exists"):
        journal.open()
    assert (journal.is_open, journal.read()) == (False, [])

    (tmp_path / "state").unlink()
    assert journal.open() == []
    assert journal.append(*RECORDS) is None
    assert journal.open() == RECORDS
    journal.close()
    assert reread(tmp_path / "state") == RECORDS


def test_given_a_journal_that_cannot_be_opened_when_it_is_read_then_what_it_holds_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened(tmp_path)
    journal.append(*RECORDS)
    journal.close()
    with (tmp_path / FILE_NAME).open("ab") as file:
        file.write(b'{"kind": "torn')

    def is_read_only(*_arguments: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    # Root may write anywhere, but on a disk that is mounted read-only.
    monkeypatch.setattr(fcntl, "flock", is_read_only)
    with pytest.raises(JournalError, match="Read-only file system"):
        journal.open()
    assert journal.read() == RECORDS


# --- a full disk ------------------------------------------------------------------------------------

CHILD = """
import json, resource, sys
from foghorn_agent.io.journal import Journal

journal = Journal(sys.argv[1])
journal.open()
results = [journal.append({"kind": "first"})]
size = journal._size
# As on a full disk: half of the next line goes through, and then no more.
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, resource.RLIM_INFINITY))
results += [journal.append({"kind": "second"}), journal.append({"kind": "second"}, {"kind": "third"})]
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
results.append(journal.append({"kind": "second"}, {"kind": "third"}, {"kind": "fourth"}))
print(json.dumps(results))
"""


def test_given_a_disk_that_is_full_for_a_while_when_written_then_no_line_is_torn_and_none_is_twice(
    tmp_path: Path,
) -> None:
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        stdout=subprocess.PIPE,
        env=environment_of_agent(),
        timeout=PATIENCE,
        check=True,
    )
    results = json.loads(run.stdout.decode("ascii"))
    assert results[0] is None
    assert results[1] == results[2] == "%s cannot be written: File too large" % (tmp_path / FILE_NAME)
    assert results[3] is None
    assert [record["kind"] for record in content(tmp_path)] == ["first", "second", "third", "fourth"]


def test_given_a_disk_that_does_not_sync_when_written_then_it_counts_as_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened(tmp_path)

    def fail(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        assert str(journal.append({"kind": "a"})).endswith("cannot be written: Input/output error")
        assert (tmp_path / FILE_NAME).read_bytes() == b""
    assert journal.append({"kind": "a"}) is None
    journal.close()
    assert content(tmp_path) == [{"kind": "a"}]


# --- condensing -------------------------------------------------------------------------------------


def test_given_a_journal_past_its_size_when_it_is_condensed_then_the_old_one_is_kept_as_the_previous(
    tmp_path: Path,
) -> None:
    journal = opened(tmp_path, largest_size=50)
    journal.append({"kind": "a"})
    assert not journal.is_large
    journal.append({"kind": "b", "text": "x" * 50})
    assert journal.is_large
    journal.begin_anew(SUMMARY)
    assert not journal.is_large
    journal.append({"kind": "c"})
    journal.close()
    assert [record["kind"] for record in content(tmp_path)] == ["summary", "c"]
    assert [record["kind"] for record in content(tmp_path, PREVIOUS_FILE_NAME)] == ["a", "b"]
    assert [record["kind"] for record in read_history(str(tmp_path))] == ["a", "b", "summary", "c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([FILE_NAME, PREVIOUS_FILE_NAME, LOCK_FILE_NAME])


def test_given_a_large_summary_when_a_record_follows_then_the_journal_is_not_condensed_again(
    tmp_path: Path,
) -> None:
    journal = opened(tmp_path, largest_size=50)
    journal.begin_anew([{"kind": "summary", "text": "x" * 500}])
    journal.append({"kind": "a"})
    assert not journal.is_large
    journal.append({"kind": "b", "text": "x" * 600})
    assert journal.is_large
    journal.close()


BEGINNING_ANEW = (
    *("open", "write", "fsync", "lseek", "write", "fsync", "unlink", "link", "replace", "replace", "lseek", "write"),
    *("open", "fsync"),
)


class Failing:
    """Lets so many calls into the system through, and fails the next one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fail_at: int) -> None:
        self.calls: List[str] = []
        self._fail_at = fail_at
        for name in set(BEGINNING_ANEW):
            monkeypatch.setattr(os, name, self._wrap(name, getattr(os, name)))

    def _wrap(self, name: str, function: Any) -> Any:
        def call(*arguments: Any, **details: Any) -> Any:
            self.calls.append(name)
            if len(self.calls) == self._fail_at:
                raise OSError(28, "No space left on device")
            return function(*arguments, **details)

        return call


def test_given_no_failure_when_it_is_condensed_then_the_calls_are_those_that_are_failed_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened(tmp_path)
    with monkeypatch.context() as patched:
        failing = Failing(patched, 0)
        journal.begin_anew(SUMMARY)
    journal.close()
    assert tuple(failing.calls) == BEGINNING_ANEW


@pytest.mark.parametrize("is_killed", [False, True], ids=["goes on", "killed"])
@pytest.mark.parametrize("fail_at", range(1, len(BEGINNING_ANEW) + 1))
def test_given_a_failure_at_any_point_when_it_is_condensed_then_no_record_is_lost(
    fail_at: int, is_killed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened(tmp_path)
    journal.append(*RECORDS)
    with monkeypatch.context() as patched:
        Failing(patched, fail_at)
        journal.begin_anew(SUMMARY)
    if not is_killed:
        journal.append({"kind": "after"})
    journal.close()
    after = [] if is_killed else [{"kind": "after"}]
    assert reread(tmp_path) in ([*RECORDS, *after], [*SUMMARY, *after])
    history = list(read_history(str(tmp_path)))
    assert [record for record in RECORDS if record not in history] == []
    # The next time finds nothing in its way.
    journal = opened(tmp_path)
    journal.begin_anew(SUMMARY)
    journal.close()
    assert reread(tmp_path) == SUMMARY


# --- reading it -------------------------------------------------------------------------------------


def test_given_no_journal_when_the_history_is_asked_for_then_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"there is no journal in .*: the agent has not run here yet"):
        list(read_history(str(tmp_path)))


def test_given_a_journal_that_cannot_be_read_when_the_history_is_asked_for_then_the_error_says_so(
    tmp_path: Path,
) -> None:
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(JournalError, match=r"journal\.jsonl cannot be read: Is a directory"):
        list(read_history(str(tmp_path)))
