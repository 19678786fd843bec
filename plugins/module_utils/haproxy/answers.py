# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Reads the answers of HAProxy.

Tables are read by the names of their columns: their number and order have changed from version to version.
Source: HAProxy's management guide, "show servers state", "show stat", "show info" and "show proc".
"""

import csv
import re
from typing import Dict, List, NamedTuple, Sequence

from .plan import RESOLUTION_MAINTENANCE, ServerState

_SERVER = "2"  # type of a row of `show stat`
_PROCESS = re.compile(r"(cur|old)-\d+$")  # how a master (-S) lists its workers among the servers, until HAProxy 2.4


class AnswerError(ValueError):
    """An answer that is not what HAProxy gives. The message says what is wrong."""


class Sessions(NamedTuple):
    """The sessions of a server in one backend."""

    backend: str
    server: str
    current: int
    queued: int
    is_backup: bool = False
    """Whether it serves only where nobody else does."""
    is_checked: bool = True
    """Whether its health check has had a result since the server left maintenance, or there is none to wait for."""


class Process(NamedTuple):
    """The process that answered."""

    pid: int
    processes: int
    """How many processes run side by side, each with a state of its own; 1 since HAProxy 2.5."""
    version: str
    uptime: int = 0
    """Seconds. In a container, each process has the same number."""


def read_servers(text: str) -> List[ServerState]:
    """Read the answer to `show servers state`.

    :raises AnswerError: if it is none
    """
    # The first line is the version of the format, which does not matter for columns that are read by name.
    lines = text.split("\n")[1:]
    if not lines or not lines[0].startswith("# "):
        raise AnswerError("there is no line with the names of columns")
    names = lines[0][2:].split()
    servers = [_server(_row(names, line.split(), _SERVER_COLUMNS)) for line in lines[1:] if line]
    return [found for found in servers if not (found.backend == "MASTER" and _PROCESS.match(found.server))]


_SERVER_COLUMNS = ("be_id", "be_name", "srv_id", "srv_name", "srv_op_state", "srv_admin_state", "srv_uweight")


def _server(row: Dict[str, str]) -> ServerState:
    return ServerState(
        backend=row["be_name"],
        server=row["srv_name"],
        backend_id=_number(row, "be_id"),
        server_id=_number(row, "srv_id"),
        operational_state=_number(row, "srv_op_state"),
        admin_state=_number(row, "srv_admin_state"),
        weight=_number(row, "srv_uweight"),
        # Only for a hint: not every version has it.
        agent_state=int(row["srv_agent_state"]) if row.get("srv_agent_state", "").isdecimal() else 0,
        address=_address(row),
        port=int(row["srv_port"]) if row.get("srv_port", "").isdecimal() else 0,
    )


def _address(row: Dict[str, str]) -> str:
    """The IP address, if there is one: a server whose name does not resolve may still show the one that it had."""
    shown = row.get("srv_addr", "-")
    return "" if shown in ("-", "0.0.0.0", "::") or _number(row, "srv_admin_state") & RESOLUTION_MAINTENANCE else shown


def read_sessions(text: str) -> List[Sessions]:
    """Read the servers in the answer to `show stat`.

    :raises AnswerError: if it is none
    """
    lines = text.split("\n")
    if not lines[0].startswith("# "):
        raise AnswerError("there is no line with the names of columns")
    names = lines[0][2:].split(",")
    # Line by line: a stray quote in the text of a check must not hide the servers after it.
    table = [fields for line in lines[1:] if line for fields in csv.reader([line])]
    rows = [_row(names, fields, ("pxname", "svname", "scur", "qcur", "type")) for fields in table]
    return [
        Sessions(
            row["pxname"],
            row["svname"],
            _number(row, "scur"),
            _number(row, "qcur"),
            row.get("bck") == "1",
            not row.get("check_health") or row["check_health"] != row.get("check_rise") or row.get("check_fall") == "1",
        )
        for row in rows
        if row["type"] == _SERVER
    ]


def read_process(text: str) -> Process:
    """Read the answer to `show info`.

    :raises AnswerError: if it is none
    """
    said = {}
    for line in text.splitlines():
        name, _colon, value = line.partition(":")
        said[name.strip()] = value.strip()
    if "Pid" not in said:
        raise AnswerError("there is no Pid")
    return Process(
        pid=_number(said, "Pid"),
        processes=_number(said, "Nbproc") if "Nbproc" in said else 1,
        version=said.get("Version", "unknown"),
        uptime=_number(said, "Uptime_sec") if "Uptime_sec" in said else 0,
    )


def read_old_workers(text: str) -> List[int]:
    """Read from the answer to `show proc` the processes that were replaced and still serve what they had begun.

    :raises AnswerError: if it is none
    """
    if not text.startswith("#<PID>"):
        raise AnswerError("there is no list of processes")
    old = []
    section = ""
    for line in text.splitlines():
        if line.startswith("#"):
            section = line
        elif section == "# old workers" and line:
            old.append(_number({"PID": line.split()[0]}, "PID"))
    return old


def shared_sockets(text: str) -> List[str]:
    """Name those in the answer to `show cli sockets` behind which any of several processes answers."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    # The pairs connect the master to its workers.
    return [row[0] for row in rows if len(row) == 3 and not row[2].isdigit() and not row[0].startswith("sockpair@")]


def _row(names: Sequence[str], fields: Sequence[str], needed: Sequence[str]) -> Dict[str, str]:
    row = dict(zip(names, fields))
    missing = [name for name in needed if name not in row]
    if missing:
        raise AnswerError("%s is missing in %r" % (" and ".join(missing), " ".join(fields)[:100]))
    return row


def _number(row: Dict[str, str], name: str) -> int:
    try:
        return int(row[name])
    except ValueError:
        raise AnswerError("%s is %r, which is not a number" % (name, row[name])) from None
