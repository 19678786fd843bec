# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of what the agent did.

A file of JSON lines, one for each thing that was decided or done, written through to the disk before the
agent acts on it. Whatever prefix of it survives a crash, a torn last line included, can be read again.
Everything here may wait for the disk: `Disk` does it beside the loop.
It is bounded: past a size, it becomes the previous journal, and a new one begins with what has to be known.
"""

import contextlib
import json
import os
from typing import Any, Dict, Iterable, Iterator, List, Optional

from ..platform import files, ownership

Record = Dict[str, Any]

FILE_NAME = "journal.jsonl"
PREVIOUS_FILE_NAME = "journal.previous.jsonl"
DAMAGED_FILE_NAME = "journal.damaged.jsonl"
LOCK_FILE_NAME = "journal.lock"
LARGEST_SIZE = 512 * 1024  # bytes; two files of it at the most
_NEW_SUFFIX = ".new"
UNREADABLE = "unreadable"
"""The kind of what stands for a line that cannot be read, or for lines that are missing."""
_LARGEST_MARK = 20  # digits


class JournalError(Exception):
    """The journal cannot be written or read. The message names the file and the remedy."""


class JournalInUse(JournalError):
    """Another process has the journal. Two agents on one machine would get in each other's way."""


class Journal:
    """Appends records. Only one process may have it open: `open` takes a lock.

    :param directory: made if it is not there
    :param largest_size: bytes past which it `is_large`
    """

    def __init__(self, directory: str, largest_size: int = LARGEST_SIZE) -> None:
        self.path = os.path.join(directory, FILE_NAME)
        self._previous_path = os.path.join(directory, PREVIOUS_FILE_NAME)
        self.damaged_path = os.path.join(directory, DAMAGED_FILE_NAME)
        self._lock_path = os.path.join(directory, LOCK_FILE_NAME)
        self._directory = directory
        self._largest_size = largest_size
        # On a file of its own, which is never replaced as the journal is: whoever opens the old journal could not tell.
        # It holds a mark: how many bytes of the journal the disk has. A journal with fewer has lost records.
        self._lock = -1
        self._descriptor = -1
        self._size = 0
        self._size_at_first = 0
        self.openings = 0
        """How often it was opened."""
        self.is_lost = False
        """Whether the last `append` found other files at their paths, or none: no start would read what is written."""

    @property
    def is_open(self) -> bool:
        """Whether there is a file to append to."""
        return self._descriptor >= 0

    def read(self) -> List[Record]:
        """Read what is there, as far as it can be read, where it cannot be opened: on a disk mounted read-only, say."""
        try:
            self._check_paths()
            with open(self.path, "rb") as file:
                content = file.read()
        except OSError:
            content = b""
        records = list(_parse_lines(content[: _length_of_whole_lines(content)]))
        try:
            with open(self._lock_path, "rb") as file:
                mark = _as_mark(file.read(_LARGEST_MARK))
        except OSError:
            mark = 0
        return records + [{"kind": UNREADABLE}] * (len(content) < mark)

    def open(self) -> List[Record]:
        """Read what is there, cut off a torn last line, and prepare to append.

        If it is open already, it is opened anew.

        :raises JournalInUse: if another process has it
        :raises JournalError: if the file cannot be opened
        """
        self.close()
        self.is_lost = False
        try:
            files.make_private_directory(self._directory)
            self._check_paths()
            self._lock = files.open_private(self._lock_path)
            files.lock(self._lock)
            self._descriptor = files.open_private(self.path)
            with open(self.path, "rb") as file:
                content = file.read()
            self._size = _length_of_whole_lines(content)
            os.ftruncate(self._descriptor, self._size)
            os.lseek(self._descriptor, 0, os.SEEK_END)
            files.sync_directory(self._directory)
            if self._size < _as_mark(os.read(self._lock, _LARGEST_MARK)):
                content = content[: self._size] + _as_line({"kind": UNREADABLE})
                self._write([{"kind": UNREADABLE}])
        except BlockingIOError:
            self.close()
            raise JournalInUse("%s is in use: another foghorn-agent is running" % self.path) from None
        except OSError as error:
            self.close()
            raise JournalError("%s cannot be used: %s" % (self.path, error)) from None
        self.openings += 1
        return list(_parse_lines(content[: self._size]))

    def append(self, *records: Record) -> Optional[str]:
        """Write records and wait until the disk has them. The journal must be open.

        :returns: None, or why they are not on the disk: then none of them is
        """
        try:
            if records:
                self._write(records)
        except OSError as error:
            return "%s cannot be written: %s" % (self.path, error.strerror or error)
        # Without the lock's, another agent could lock a new one.
        opened = {self._lock_path: self._lock, self.path: self._descriptor}
        lost = [path for path, descriptor in opened.items() if not files.is_at(descriptor, path)]
        self.is_lost = bool(lost)
        return "%s was removed or replaced" % lost[-1] if lost else None

    @property
    def is_large(self) -> bool:
        """Whether it is time to `begin_anew`."""
        # A summary that is large itself has to double first, or every record would begin another journal.
        return self._size > max(self._largest_size, 2 * self._size_at_first)

    def begin_anew(self, summary: Iterable[Record]) -> bool:
        """Make this the previous journal, and begin another with the records that rebuild the present state.

        :returns: whether it was done. If the disk does not let it, the old one goes on: there is no harm in it but its
            size
        """
        try:
            self._begin_anew(b"".join(_as_line(record) for record in summary))
        except OSError:
            return False
        # It is the journal now, whether or not a power cut would undo that.
        with contextlib.suppress(OSError):
            files.sync_directory(self._directory)
        return True

    def keep_aside(self) -> None:
        """Keep this journal under another name besides, for whoever wants to know what could not be read in it."""
        # Otherwise the disk does not let it, and says so with the next record.
        with contextlib.suppress(OSError):
            _replace_link(self.path, self.damaged_path)

    def close(self) -> None:
        """Close the file, which lets another process have it."""
        for descriptor in (self._descriptor, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._descriptor = self._lock = -1

    def _write(self, records: Iterable[Record]) -> None:
        lines = b"".join(_as_line(record) for record in records)
        try:
            _write_all(self._descriptor, lines)
            os.fsync(self._descriptor)
        except OSError:
            # Half a line must not stay in front of the next one.
            os.ftruncate(self._descriptor, self._size)
            os.lseek(self._descriptor, 0, os.SEEK_END)
            raise
        self._size += len(lines)
        # Without it, what is lost goes unnoticed, and nothing else.
        with contextlib.suppress(OSError):
            self._mark(self._size)

    def _check_paths(self) -> None:
        """Refuse what others can change: the undo steps in a forged journal would run as root.

        :raises UnsafePath: if they can
        """
        ownership.check_path(self._directory)
        for path in (self.path, self._lock_path):
            if os.path.lexists(path):
                ownership.check_path(path)

    def _mark(self, size: int) -> None:
        os.lseek(self._lock, 0, os.SEEK_SET)
        os.write(self._lock, b"%0*d" % (_LARGEST_MARK, size))

    def _begin_anew(self, lines: bytes) -> None:
        new_path = self.path + _NEW_SUFFIX
        descriptor = files.open_private(new_path, os.O_TRUNC)
        try:
            _write_all(descriptor, lines)
            os.fsync(descriptor)
            # The new one is smaller, and has lost nothing.
            self._mark(0)
            os.fsync(self._lock)
            # By a second name, so that at every moment there is a journal under its own.
            _replace_link(self.path, self._previous_path)
        except OSError:
            os.close(descriptor)
            raise
        # It is the journal from here on: what went into the old one would not be read again.
        self._descriptor, problem = files.replace_open(new_path, descriptor, self.path, self._descriptor)
        if problem is not None:
            raise problem
        self._size = self._size_at_first = len(lines)
        with contextlib.suppress(OSError):
            self._mark(self._size)


def read_history(directory: str) -> Iterator[Record]:
    """Read all that is kept, oldest first, without disturbing the agent that writes it.

    :raises JournalError: if there is none, it cannot be read, or others could have written it
    """
    found = False
    for name in (PREVIOUS_FILE_NAME, FILE_NAME):
        path = os.path.join(directory, name)
        if not os.path.lexists(path):
            continue
        try:
            with open(ownership.check_path(path), "rb") as file:
                content = file.read()
        except ownership.UnsafePath as error:
            raise JournalError(str(error)) from None
        except OSError as error:
            raise JournalError("%s cannot be read: %s" % (path, error.strerror)) from None
        found = True
        yield from _parse_lines(content[: _length_of_whole_lines(content)])
    if not found:
        raise JournalError("there is no journal in %s: the agent has not run here yet" % directory)


def _as_mark(content: bytes) -> int:
    return int(content) if content.isdigit() else 0


def _as_line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":"), sort_keys=True).encode("ascii") + b"\n"


def _length_of_whole_lines(content: bytes) -> int:
    return content.rfind(b"\n") + 1


def _parse_lines(content: bytes) -> Iterator[Record]:
    """Read lines; one that cannot be is a record of the kind `unreadable`."""
    for line in content.split(b"\n"):
        # A power cut may leave a block of zeros behind. What it held was never acted upon.
        if not line.strip(b"\0\r "):
            continue
        try:
            record = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            record = None
        yield record if isinstance(record, dict) else {"kind": UNREADABLE}


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _replace_link(path: str, other_path: str) -> None:
    temporary = other_path + _NEW_SUFFIX
    try:
        os.unlink(temporary)
    except FileNotFoundError:
        pass
    os.link(path, temporary)
    os.replace(temporary, other_path)
