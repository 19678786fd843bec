# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What a module was to change in Azure for a machine, written down on the host that asks Azure.

There it outlasts the machine, and no machine can change it: whoever restores has more rights in Azure than a machine.
A record has lines; most have one. There are more if a machine left other places when it was removed again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from ..files.directory import Directory, open_own_directory
from ..files.records import Owner, check_owner, name_of, names
from ..scheduled_events.errors import OptionError
from .answers import Json
from .options import ArgumentSpec

_ENDING_NOW = ".ending"
"""Of a record whose machine is being restored: it keeps nobody else waiting."""


def record_arguments() -> ArgumentSpec:
    """The options of a module that keeps a record."""
    return {
        "record": {
            "type": "dict",
            "options": {
                "directory": {"type": "path", "required": True},
                "name": {"type": "str", "required": True},
                "machine": {"type": "str", "default": ""},
            },
        },
        "record_only": {"type": "bool", "default": False},
        "as_recorded": {"type": "bool", "default": False},
    }


class Record:
    """The record of one machine, of one kind of change."""

    def __init__(self, options: Mapping[str, Any], kind: str, ending: str = ".json", is_dry: bool = False) -> None:
        """Nothing is checked yet, see `check`.

        :param options: those of `record_arguments`
        :param kind: with which the names of its files begin
        :param is_dry: write nothing
        """
        self._given: Mapping[str, Any] | None = options.get("record")
        self._kind = kind
        self._ending = ending
        self._is_dry = is_dry
        self._owner = Owner("", "", "")
        self.only = bool(options.get("record_only"))
        """Change nothing in Azure."""
        self.back = bool(options.get("as_recorded"))
        """Undo what is written down."""
        self.lines: list[str] = []
        self._files: list[str] = []

    @property
    def is_wanted(self) -> bool:
        """Whether a record is kept at all."""
        return self._given is not None

    def check(self) -> None:
        """Check the options.

        :raises OptionError: if one cannot be meant
        """
        if self._given is None:
            if self.only or self.back:
                raise OptionError("record: is missing. record_only and as_recorded need it")
            return
        given = self._given
        with _naming():
            self._owner = check_owner(Owner(given["directory"], given["name"], given.get("machine") or ""))

    def read(self) -> list[str]:
        """Read its lines.

        :raises OptionError: if it cannot be read, or others could change it
        """
        self.lines, self._files = [], []
        with self._opened() as directory:
            for file in self._ours(directory) if directory else ():
                self._files.append(file)
                self.lines += directory.read(file, of_anybody=True).splitlines() if directory else []
        return self.lines

    def add(self, line: str) -> None:
        """Write down a line for good, unless it is there. What is there tells how things were before the first time.

        :raises OptionError: if it cannot be written, or others could change it
        """
        if not self._is_dry:
            with self._made() as directory:
                plain = list(self._ours(directory, is_ending_meant=False))
                file = plain[0] if plain else name_of(self._kind, self._owner, self._ending)
                before = directory.read(file, of_anybody=True).splitlines() if plain else []
                if line not in before:
                    directory.replace(file, "".join("%s\n" % one for one in [*before, line]), 0o600)
        self.read()
        if self._is_dry and line not in self.lines:
            self.lines.append(line)

    def add_values(self, found: Iterable[Json], key: Callable[[Json], Hashable]) -> None:
        """Write down those values, in one line of JSON, that are not in it yet.

        :param key: tells values apart
        :raises OptionError: as `add`, and if a line is none of this module's
        """
        known = {key(one) for one in self.values()}
        new = [one for one in found if key(one) not in known]
        if new:
            self.add(json.dumps(new))

    def values(self) -> list[Json]:
        """Read what `add_values` has written.

        :raises OptionError: as `read`, and if a line is none of this module's
        """
        return [self.checked(one, dict) for line in self.read() for one in self.checked(parse_line(line), list)]

    def checked(self, value: Any, kind: type[Any]) -> Any:
        """Return a value of a kind.

        :raises OptionError: if it is none
        """
        if not isinstance(value, kind):
            raise OptionError(
                "record: %s was not written by this module. Restore the machine by hand, and remove the file"
                % ", ".join(self._paths())
            )
        return value

    def end(self) -> None:
        """Have it keep nobody else waiting, before anybody looks: of two that return at once none takes the other for
        one that stays out.

        :raises OptionError: if that fails
        """
        if self._is_dry or self.only:
            return
        with self._opened() as directory:
            for file in self._ours(directory, is_ending_meant=False) if directory else ():
                if directory:
                    directory.rename(file, file + _ENDING_NOW)
        self.read()

    def of_others(self) -> dict[str, list[str]]:
        """The lines of other machines' records, by file. Without records whose machine is being restored.

        :raises OptionError: if they cannot be read
        """
        found: dict[str, list[str]] = {}
        with self._opened() as directory:
            if directory is None:
                return found
            for file, of, machine in names(directory, self._kind, self._ending):
                # Some may be other users', who share the directory.
                with contextlib.suppress(PermissionError, FileNotFoundError):
                    if not self._owner.owns(of, machine):
                        found[file] = directory.read(file, of_anybody=True).splitlines()
        return found

    def remove_of_other(self, file: str) -> None:
        """Remove the record of a machine that will never return, unless it is another user's.

        :raises OptionError: if that fails
        """
        with self._opened() as directory, contextlib.suppress(PermissionError, FileNotFoundError):
            if directory:
                directory.remove(file)

    def result(self) -> dict[str, Any]:
        """The part of the module's result."""
        return {"recorded": self.lines, "records": self._paths()} if self.is_wanted else {}

    def _paths(self) -> list[str]:
        return [os.path.join(self._owner.directory, file) for file in self._files]

    def _ours(self, directory: Directory, is_ending_meant: bool = True) -> Iterator[str]:
        for ending in (self._ending, self._ending + _ENDING_NOW)[: 2 if is_ending_meant else 1]:
            for file, of, machine in names(directory, self._kind, ending):
                if self._owner.owns(of, machine):
                    yield file

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Directory | None]:
        with _naming(), contextlib.ExitStack() as stack:
            directory = None
            with contextlib.suppress(FileNotFoundError):
                directory = stack.enter_context(open_own_directory(self._owner.directory, None, trusts_group=True))
            yield directory

    @contextlib.contextmanager
    def _made(self) -> Iterator[Directory]:
        with _naming(), open_own_directory(self._owner.directory, 0o700, trusts_group=True) as directory:
            yield directory


def parse_line(line: str) -> Any:
    """Read a line of JSON; None if it is none."""
    try:
        return json.loads(line)
    except ValueError:
        return None


@contextlib.contextmanager
def _naming() -> Iterator[None]:
    try:
        yield
    except OptionError:
        raise
    except (OSError, ValueError) as error:
        raise OptionError("record: %s" % error) from error
