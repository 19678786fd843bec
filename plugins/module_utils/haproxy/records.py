# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""How the servers of a machine were before it was taken out, written down beside HAProxy.

Of the socket there are as many records as machines are out: several HAProxys may be on a host, and a machine's server
may have another name meanwhile.
"""

import contextlib
import json
import os
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import quote

from ..files.directory import Directory, open_own_directory
from ..files.records import Owner, check_owner, name_of, names
from ..scheduled_events.errors import OptionError
from .options import read_record
from .plan import Record

_KIND = "haproxy"


class BadRecord(ValueError):
    """A record cannot be read, or says nothing that can be restored. The message names it and the remedy."""


class Kept(NamedTuple):
    """One record."""

    file: str
    """Its name."""
    called: str
    """The name of the server, or its address, when it was taken out."""
    vm_id: str
    """Azure's unique id of the VM; empty if it is not known."""
    before: Tuple[Record, ...]
    was_up: Tuple[str, ...]
    """The backends in which it served, or would have."""


def read_owner(options: Optional[Mapping[str, Any]], server: Optional[str]) -> Optional[Owner]:
    """Check the option `record`: its owner has the name of the server.

    :raises OptionError: if it cannot be meant
    """
    if options is None or server is None:
        return None
    try:
        return check_owner(Owner(options["directory"], server, options.get("machine") or ""))
    except ValueError as error:
        raise OptionError("record: %s" % error) from error


def keep(owner: Owner, socket: str, now: Kept) -> None:
    """Write down how the servers are, before they are changed.

    What was written down before stays: by an earlier removal, or by another machine that had this server. It tells how
    the server was before the first time. From now on it is this machine's.

    :raises OSError: if it cannot be written, or others could change it
    :raises BadRecord: if the record that is there is none
    """
    with open_own_directory(owner.directory, 0o755) as directory:
        there = [file for file, server, _machine in names(directory, _KIND, _ending(socket)) if server == owner.name]
        first = _read(directory, there[0]) if there else now
        # A machine that cannot say its id will ask for its record by the id that the record has.
        file = there[0] if there and not owner.machine else name_of(_KIND, owner, _ending(socket))
        content = {
            "vm_id": now.vm_id or first.vm_id,
            "server": first.called,
            "before": [dict(record._asdict()) for record in first.before],
            "was_up": first.was_up,
        }
        directory.replace(file, json.dumps(content), 0o644)
        for replaced in there:
            if replaced != file:
                directory.remove(replaced)


def find(owner: Owner, socket: str) -> List[Kept]:
    """Read the records of the machine. One that cannot say its id has those of its server.

    :raises OSError: if others could change them, or they cannot be read
    :raises BadRecord: if one of them is none
    """
    with contextlib.suppress(FileNotFoundError), open_own_directory(owner.directory) as directory:
        return [
            _read(directory, file)
            for file, server, machine in names(directory, _KIND, _ending(socket))
            if owner.owns(server, machine)
        ]
    return []


def list_records(path: str, socket: str) -> List[Tuple[str, str]]:
    """Say of which machines there are records: the server of each, and the unique id of the VM.

    :raises OSError: if others could change them, or they cannot be read
    """
    found = []
    with contextlib.suppress(FileNotFoundError), open_own_directory(path) as directory:
        for file, server, machine in names(directory, _KIND, _ending(socket)):
            with contextlib.suppress(BadRecord):
                if machine:
                    found.append((server, _read(directory, file).vm_id))
    return found


def forget(owner: Owner, records: Sequence[Kept]) -> None:
    """Remove records.

    :raises OSError: if they cannot be removed
    """
    if records:
        with open_own_directory(owner.directory) as directory:
            for kept in records:
                directory.remove(kept.file)
            directory.sync()


def _ending(socket: str) -> str:
    return "_at_%s.json" % quote(socket, safe="")


def _read(directory: Directory, file: str) -> Kept:
    try:
        content = json.loads(directory.read(file))
        return Kept(
            file,
            str(content["server"]),
            str(content["vm_id"]),
            tuple(read_record(record) for record in content["before"]),
            tuple(str(backend) for backend in content["was_up"]),
        )
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise BadRecord(
            "%s was not written by this module (%s). Restore the server by hand, and remove the file"
            % (os.path.join(directory.path, file), error)
        ) from None
