# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""How commands of the operator take a machine out of rotation and back.

What undoes it is written down before it is done, where the commands run: so a machine that is away can be restored, by
what the operator had said when it left.
"""

import contextlib
import json
import os
import re
from typing import Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .files.directory import Directory, open_own_directory
from .files.records import Owner, name_of, names
from .polling import poll_until
from .service_states import Runner

_KIND = "command"
_NAME = re.compile(r"[A-Za-z0-9_.-]+\Z")
_IN, _OUT = 0, 1


class CommandError(ValueError):
    """A command failed, or its record is none. The message says which."""


class Commands(NamedTuple):
    """What an operator gives for a balancer."""

    name: str
    """Of the balancer."""
    remove: Sequence[str]
    restore: Sequence[str]
    status: Sequence[str]
    """Ends with 0 while the machine is in rotation, with 1 while it is not. Empty: nobody can tell."""


class World(NamedTuple):
    """What it takes to run them."""

    run: Runner
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    within: float
    """Seconds in which the status must change."""
    is_dry: bool


def check_name(name: str) -> str:
    """Check the name of a balancer, which is in those of files.

    :raises ValueError: if it cannot be
    """
    if not _NAME.match(name):
        raise ValueError("name: %r: give letters, digits and any of - _ . and nothing else" % name)
    return name


def take_out(owner: Owner, commands: Commands, world: World) -> bool:
    """Write down how to undo it, and take the machine out, unless somebody else has.

    :returns: whether the command was run, or in a dry run would be
    :raises CommandError: if it failed, or an earlier record is none
    :raises OSError: if no record can be written, and nothing was run then; or others could change it
    """
    is_in = _is_in(commands.status, world.run) if commands.status else True
    with _records(owner, None if world.is_dry else 0o755) as directory:
        record = _find(directory, owner, commands.name)
        ended = record + ".ended"
        is_recorded = directory is not None and directory.status(record) is not None
        if not (is_recorded or is_in):
            # Somebody else has taken it out, and brings it back.
            return False
        # Where there is a status it says whether to run; it may have been forgotten since.
        must_run = is_in if commands.status else directory is None or directory.status(ended) is None
        if directory is None or world.is_dry:
            return must_run
        if is_recorded:
            # It tells what was done the first time.
            _read(directory, record)
        else:
            undo = {"restore": list(commands.restore), "status": list(commands.status)}
            # Commands may hold what others are not to know.
            directory.replace(record, json.dumps(undo), 0o600)
        if must_run:
            _run(commands.remove, world.run)
        if directory.status(ended) is None:
            directory.create(ended, b"", 0o600)
        if must_run and commands.status:
            _await(commands.status, _OUT, world)
    return must_run


def put_back(owner: Owner, name: str, world: World) -> bool:
    """Run what is written down, and forget it once the machine is back.

    :param name: of the balancer
    :returns: whether there was a record
    :raises CommandError: if the command failed, or the record is none
    :raises OSError: if it cannot be read, or others could change it
    """
    with _records(owner, None) as directory:
        if directory is None:
            return False
        record = _find(directory, owner, name)
        if directory.status(record) is None:
            return False
        restore, status = _read(directory, record)
        if not world.is_dry:
            # First, so that a removal that follows an interrupted return runs its command again.
            with contextlib.suppress(FileNotFoundError):
                directory.remove(record + ".ended")
            _run(restore, world.run)
            if status:
                _await(status, _IN, world)
            directory.remove(record)
            directory.sync()
    return True


@contextlib.contextmanager
def _records(owner: Owner, new_mode: Optional[int]) -> Iterator[Optional[Directory]]:
    with contextlib.ExitStack() as stack:
        directory = None  # type: Optional[Directory]
        with contextlib.suppress(FileNotFoundError):
            directory = stack.enter_context(open_own_directory(owner.directory, new_mode))
        yield directory


def _find(directory: Optional[Directory], owner: Owner, name: str) -> str:
    """The name of the record of the machine, or of the one to be."""
    ending = "_%s.json" % name
    there = names(directory, _KIND, ending) if directory else ()
    return next((file for file, of, machine in there if owner.owns(of, machine)), name_of(_KIND, owner, ending))


def _read(directory: Directory, file: str) -> Tuple[List[str], List[str]]:
    try:
        content = json.loads(directory.read(file))
        restore, status = list(content["restore"]), list(content["status"])
        if not restore or not all(isinstance(part, str) for part in restore + status):
            raise ValueError("it has no command")
    except (LookupError, TypeError, ValueError) as error:
        raise CommandError(
            "%s was not written by this module (%s). Restore the machine by hand, and remove the file"
            % (os.path.join(directory.path, file), error)
        ) from None
    return restore, status


def _is_in(status: Sequence[str], run: Runner) -> bool:
    code, said, error = run(list(status))
    if code not in (_IN, _OUT):
        raise CommandError(
            "status: %s ended with exit status %s, which is neither 0, in rotation, nor 1, out of it: %s"
            % (" ".join(status), code, str(error or said).strip() or "no output")
        )
    return bool(code == _IN)


def _run(command: Sequence[str], run: Runner) -> None:
    code, said, error = run(list(command))
    if code != 0:
        raise CommandError(
            "%s ended with exit status %s: %s" % (command[0], code, str(error or said).strip() or "no output")
        )


def _await(status: Sequence[str], wanted: int, world: World) -> None:
    def look() -> str:
        code, said, error = world.run(list(status))
        if code == wanted:
            return ""
        return "%s ended with exit status %s, not %d%s" % (
            " ".join(status),
            code,
            wanted,
            ": " + str(error or said).strip() if error or said else "",
        )

    why = poll_until(look, world.within, world.clock, world.sleep)
    if why:
        raise CommandError(why)
