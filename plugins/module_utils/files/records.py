# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Records that a host keeps of other machines, in one directory, where they outlast what becomes of the machines.

The name of a record has the name of a machine and what tells it from others. So the machine finds its record whatever
its name is meanwhile. One that is away, or has lost its disk, cannot say which it is: then its name decides.
"""

import re
from typing import Iterator, NamedTuple, Tuple

from .directory import Directory

_MACHINE = re.compile("[0-9a-f]{32}\\Z")
_PLAIN = re.compile("[^/\\0]+\\Z")


class Owner(NamedTuple):
    """Whose records are meant, and where they are."""

    directory: str
    """In which no other user may be able to change anything."""
    name: str
    machine: str
    """Tells the machine from others: 32 hexadecimal digits. Empty: it cannot say."""

    def owns(self, name: str, machine: str) -> bool:
        """Whether a record with these in its name is this machine's, or was written while it could not say its id."""
        if self.machine and machine:
            return machine == self.machine
        return name == self.name


def check_owner(owner: Owner) -> Owner:
    """Check what is put into names of files.

    :raises ValueError: if it cannot be
    """
    if owner.machine and not _MACHINE.match(owner.machine):
        raise ValueError("machine %r is no id: give 32 hexadecimal digits, or leave it out" % owner.machine)
    if not _PLAIN.match(owner.name):
        raise ValueError("%r is no name: give one without a slash" % owner.name)
    return owner


def names(directory: Directory, kind: str, ending: str) -> Iterator[Tuple[str, str, str]]:
    """The records of a kind with an ending: the name of each file, and the name and the id of the machine in it."""
    form = re.compile("%s_(.+)_([0-9a-f]{32}|)%s\\Z" % (re.escape(kind), re.escape(ending)))
    for name in sorted(directory.names()):
        match = form.match(name)
        if match:
            yield name, match.group(1), match.group(2)


def name_of(kind: str, owner: Owner, ending: str) -> str:
    """The name of a new record."""
    return "%s_%s_%s%s" % (kind, owner.name, owner.machine, ending)
