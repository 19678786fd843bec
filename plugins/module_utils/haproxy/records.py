# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""How the servers of a machine were before it was taken out, written down beside HAProxy.

The name of a record has the server, what tells the machine from others, and the socket, as one of several HAProxys on a
host. The machine finds it whichever server it is meanwhile, and the server whichever machine it has. A machine that is
away, or has lost its disk, cannot say which it is: its records are those of its server.
"""

import contextlib
import json
import os
import re
from typing import Any, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import quote

from ..files.directory import Directory, open_own_directory
from ..scheduled_events.errors import OptionError
from .options import read_record
from .plan import Record

_MACHINE = re.compile("[0-9a-f]{32}\\Z")


class BadRecord(ValueError):
    """A record cannot be read, or says nothing that can be restored. The message names it and the remedy."""


class Owner(NamedTuple):
    """Whose records are meant, and where they are."""

    directory: str
    """In which no other user may be able to change anything."""
    machine: str
    """Tells the machine from others: 32 hexadecimal digits. Empty: it cannot say."""
    vm_id: str
    """Azure's unique id of the VM; empty if it is not known."""


class Kept(NamedTuple):
    """One record."""

    name: str
    """Of its file."""
    called: str
    """The name of the server, or its address, when it was taken out."""
    vm_id: str
    before: Tuple[Record, ...]
    was_up: Tuple[str, ...]
    """The backends in which it served, or would have."""


def read_owner(options: Optional[Mapping[str, Any]]) -> Optional[Owner]:
    """Check the option `record`.

    :raises OptionError: if it cannot be meant
    """
    if options is None:
        return None
    machine = options.get("machine") or ""
    if machine and not _MACHINE.match(machine):
        raise OptionError("record: machine %r is no id: give 32 hexadecimal digits, or leave it out" % machine)
    return Owner(options["directory"], machine, options.get("vm_id") or "")


def keep(owner: Owner, socket: str, now: Kept) -> None:
    """Write down how the servers are, before they are changed.

    What was written down before stays: by an earlier removal, or by another machine that had this server. It tells how
    the server was before the first time. From now on it is this machine's.

    :raises OSError: if it cannot be written, or others could change it
    :raises BadRecord: if the record that is there is none
    """
    with open_own_directory(owner.directory, 0o755) as directory:
        there = [name for name, server, _machine in _names(directory, socket) if server == now.called]
        first = _read(directory, there[0]) if there else now
        # A machine that cannot say its id will ask for its record by the id that the record has.
        name = there[0] if there and not owner.machine else _name(now.called, owner.machine, socket)
        content = {
            "vm_id": owner.vm_id or first.vm_id,
            "server": first.called,
            "before": [dict(record._asdict()) for record in first.before],
            "was_up": first.was_up,
        }
        directory.replace(name, json.dumps(content), 0o644)
        for replaced in there:
            if replaced != name:
                directory.remove(replaced)


def find(owner: Owner, socket: str, server: str) -> List[Kept]:
    """Read the records of the machine. One that cannot say its id has those of this server.

    :raises OSError: if others could change them, or they cannot be read
    :raises BadRecord: if one of them is none
    """
    with contextlib.suppress(FileNotFoundError), open_own_directory(owner.directory) as directory:
        return [
            _read(directory, name)
            for name, of_server, machine in _names(directory, socket)
            if (owner.machine and machine == owner.machine) or (of_server == server and not (owner.machine and machine))
        ]
    return []


def forget(owner: Owner, records: Sequence[Kept]) -> None:
    """Remove records.

    :raises OSError: if they cannot be removed
    """
    if records:
        with open_own_directory(owner.directory) as directory:
            for kept in records:
                directory.remove(kept.name)
            directory.sync()


def _names(directory: Directory, socket: str) -> Iterator[Tuple[str, str, str]]:
    """The records of this HAProxy: the name of each, and the server and the machine in it."""
    form = re.compile("haproxy_(.+)_([0-9a-f]{32}|)%s\\Z" % re.escape(_ending(socket)))
    for name in sorted(directory.names()):
        match = form.match(name)
        if match:
            yield name, match.group(1), match.group(2)


def _name(server: str, machine: str, socket: str) -> str:
    return "haproxy_%s_%s%s" % (server, machine, _ending(socket))


def _ending(socket: str) -> str:
    return "_at_%s.json" % quote(socket, safe="")


def _read(directory: Directory, name: str) -> Kept:
    try:
        content = json.loads(directory.read(name))
        return Kept(
            name,
            str(content["server"]),
            str(content["vm_id"]),
            tuple(read_record(record) for record in content["before"]),
            tuple(str(backend) for backend in content["was_up"]),
        )
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise BadRecord(
            "%s was not written by this module (%s). Restore the server by hand, and remove the file"
            % (os.path.join(directory.path, name), error)
        ) from None
