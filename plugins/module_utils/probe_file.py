# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""How a file takes this machine out of rotation and back: the endpoint that a balancer probes looks at it."""

import contextlib
import json
import os
import shutil
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .files.writing import text_of, write_text

PRESENT = "present"
ABSENT = "absent"
MEANS = (PRESENT, ABSENT)
"""Which state of the file takes the machine out."""

MOST_LINES = 16
"""Usually there is one line in a record: there are more when variables changed between two removals."""


class ProbeFileError(ValueError):
    """A record is none. The message says which, and the remedy."""


class Record(NamedTuple):
    """Where it is written down what is to be undone, and where a file is kept meanwhile whose absence takes out."""

    path: str
    kept: str


class Removal(NamedTuple):
    """What it takes to take the machine out, or has taken."""

    changed: bool
    since: Optional[float]
    """Since when the file is there which takes it out, in seconds since the epoch, if it was there before."""
    confirms: bool
    """Whether the endpoint succeeded before the removal, so that its failure confirms the removal."""


def take_out(file: str, means: str, record: Record, dry: bool, succeeds: Callable[[], bool]) -> Removal:
    """Write down what will be done, and then do it, unless the machine is out already.

    :param means: one of `MEANS`
    :param dry: whether to change nothing
    :param succeeds: asks whether the endpoint succeeds now
    :raises ProbeFileError: if the record of an earlier removal is none
    """
    before = text_of(record.path)
    if os.path.lexists(file) == (means == PRESENT):
        # Either there is a record of it, or somebody else did it, and there must be none.
        since = os.lstat(file).st_mtime if means == PRESENT else None
        recorded = [line for line in _read(record.path) if line["file"] == file] if before else []
        return Removal(False, since, all(line.get("confirms") for line in recorded))
    confirms = succeeds()
    line = json.dumps({"means": means, "file": file, "confirms": confirms})
    lines = before.splitlines()
    after = before if line in lines else "\n".join([*lines, line, ""])
    if not dry:
        if after != before:
            write_text(record.path, after, 0o644)
        if means == PRESENT:
            with open(file, "a"):
                os.chmod(file, 0o644)
        else:
            shutil.move(file, record.kept)
    return Removal(True, None, confirms)


def put_back(record: Record, dry: bool) -> Tuple[bool, bool]:
    """Undo what is written down. The record is left there.

    :returns: whether anything is changed, and whether there is a record
    :raises ProbeFileError: if the record is none; nothing is undone then
    """
    try:
        undos = _read(record.path)
    except FileNotFoundError:
        return False, False
    changed = False
    for undo in undos:
        there = undo["file"] if undo["means"] == PRESENT else record.kept
        if not os.path.lexists(there):
            continue
        changed = True
        if dry:
            continue
        if undo["means"] == PRESENT:
            os.remove(undo["file"])
        else:
            shutil.move(record.kept, undo["file"])
    return changed, True


def _read(path: str) -> List[Dict[str, Any]]:
    with open(path, encoding="utf-8") as stream:
        lines = [line for line in stream.read().splitlines() if line.strip()]
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
