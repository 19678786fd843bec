# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""How a file takes this machine out of rotation and back: the endpoint that a balancer probes looks at it.

Its directory may be the application's, and who owns it can put anything in any place there, at any time. So the file is
made, renamed and removed by its name in the opened directory, and is never opened or followed. The record lies where
nobody else can change it.
"""

import contextlib
import json
import os
import stat
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .files.directory import Directory, open_directory, split_path
from .files.writing import read_text, text_of, write_text

PRESENT = "present"
ABSENT = "absent"
MEANS = (PRESENT, ABSENT)
"""Which state of the file takes the machine out."""

MOST_LINES = 16
"""Usually there is one line in a record: there are more when variables changed between two removals."""


class ProbeFileError(ValueError):
    """A record is none, or something else is in place of a file. The message says which, and the remedy."""


class Removal(NamedTuple):
    """What it takes to take the machine out, or has taken."""

    changed: bool
    since: Optional[float]
    """Since when the file is there which takes it out, in seconds since the epoch, if it was there before."""
    confirms: bool
    """Whether the endpoint succeeded before the removal, so that its failure confirms the removal."""


def take_out(file: str, means: str, record: str, dry: bool, succeeds: Callable[[], bool]) -> Removal:
    """Write down what will be done, and then do it, unless the machine is out already.

    :param means: one of `MEANS`
    :param record: the file in which it is written down what is to be undone
    :param dry: whether to change nothing
    :param succeeds: asks whether the endpoint succeeds now
    :raises ProbeFileError: if the record of an earlier removal is none, or something else is in place of the file
    :raises OSError: if the file or the record cannot be written, or others could change the record
    """
    before = text_of(record)
    recorded = [line for line in _read(before, record) if line["file"] == file]
    with _place_of(file) as (place, name):
        status = _look(place, name, stat.S_ISREG if means == PRESENT else _is_file_or_link)
        if (status is not None) == (means == PRESENT):
            # Either there is a record of it, or somebody else did it, and there must be none.
            # Not st_mtime, which its owner can set: to when nobody waits, or for ever.
            since = min(status.st_ctime, time.time()) if status else None
            return Removal(False, since, all(line.get("confirms") for line in recorded))
        confirms = succeeds()
        line = json.dumps({"means": means, "file": file, "confirms": confirms})
        lines = before.splitlines()
        after = before if line in lines else "\n".join([*lines, line, ""])
        if not dry:
            if after != before:
                write_text(record, after, 0o644)
            if place:
                _change(place, name, means)
            else:
                # It may have been made with the directory of the record.
                with _place_of(file) as (made, name):
                    _change(_needed(made, file), name, means)
    return Removal(True, None, confirms)


def _change(place: Directory, name: str, means: str) -> None:
    if means == PRESENT:
        place.create(name, b"", 0o644)
    else:
        place.rename(name, _kept_name(name))


def put_back(record: str, dry: bool) -> Tuple[bool, bool]:
    """Undo what is written down. The record is left there.

    :returns: whether anything is changed, and whether there is a record
    :raises ProbeFileError: if the record is none, and nothing is undone then; or something else is in place of a file
    :raises OSError: if a file cannot be restored, or others could change the record
    """
    try:
        undos = _read(read_text(record), record)
    except FileNotFoundError:
        return False, False
    undone = [_undo(undo["means"], undo["file"], dry) for undo in undos]
    return any(undone), True


def _undo(means: str, file: str, dry: bool) -> bool:
    with _place_of(file) as (place, name):
        if means == PRESENT:
            # Also what the application has put in its place: as long as it is there, the machine is out.
            undone = _look(place, name, lambda mode: not stat.S_ISDIR(mode))
            if place and undone and not dry:
                place.remove(name)
            return undone is not None
        undone = _look(place, _kept_name(name), _is_file_or_link)
        if place and undone and not dry:
            place.rename(_kept_name(name), name)
        return undone is not None


@contextlib.contextmanager
def _place_of(file: str) -> Iterator[Tuple[Optional[Directory], str]]:
    """The directory of a file, if it is there, and the name of the file in it."""
    directory, name = split_path(file)
    with contextlib.ExitStack() as stack:
        place = None  # type: Optional[Directory]
        with contextlib.suppress(FileNotFoundError):
            place = stack.enter_context(open_directory(directory))
        yield place, name


def _needed(place: Optional[Directory], file: str) -> Directory:
    if place is None:
        raise ProbeFileError("%s: its directory does not exist: create it, or correct the path" % file)
    return place


def _look(place: Optional[Directory], name: str, fits: Callable[[int], bool]) -> Optional[os.stat_result]:
    status = place.status(name) if place else None
    if place and status and not fits(status.st_mode):
        raise ProbeFileError(
            "%s is not a file: find out who put it there, and remove it" % os.path.join(place.path, name)
        )
    return status


def _is_file_or_link(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _kept_name(name: str) -> str:
    """The name that a file has in its directory while its absence takes the machine out."""
    return ".%s.out_of_rotation" % name


def _read(text: str, path: str) -> List[Dict[str, Any]]:
    lines = [line for line in text.splitlines() if line.strip()]
    undos = []  # type: List[Dict[str, Any]]
    with contextlib.suppress(ValueError):
        undos = [json.loads(line) for line in lines]
    meant = [
        undo
        for undo in undos
        if isinstance(undo, dict) and undo.get("means") in MEANS and isinstance(undo.get("file"), str)
    ]
    if len(lines) > MOST_LINES or len(meant) != len(lines):
        raise ProbeFileError(
            "%s was not written by this role: each of its lines, %d at most, must be present or absent, and "
            "a file. Check it, and restore the machine by hand." % (path, MOST_LINES)
        )
    return meant
