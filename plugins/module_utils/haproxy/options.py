# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The options of the modules for HAProxy.

The options of haproxy_server and haproxy_server_info, checked before HAProxy is asked anything. Every error names the
option, its value and the remedy.
"""

import re
from typing import Any, List, Mapping, NamedTuple, Optional, Tuple, Union

from ..scheduled_events.deadline import read_seconds
from ..scheduled_events.errors import OptionError
from .choice import read_endpoint
from .plan import DRAIN, LARGEST_WEIGHT, MAINTENANCE, READY, STATES, Record

AS_RECORDED = "as_recorded"
"""The state that its record says, which goes then."""

DEFAULT_SOCKET = "/run/haproxy/admin.sock"
DEFAULT_TIMEOUT = 10  # seconds for one command; HAProxy ends an idle connection after as many
DEFAULT_DEADLINE = 300  # seconds

# The characters that HAProxy accepts in a name. Any other could end the command and begin another.
_NAME = re.compile(r"[A-Za-z0-9_:.-]+\Z")
_TCP = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[^\s:/\[\]]+)):(?P<port>[0-9]{1,5})\Z")


class UnixAddress(NamedTuple):
    """A socket in the file system."""

    path: str

    def __str__(self) -> str:
        return self.path


class TcpAddress(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return ("[%s]:%d" if ":" in self.host else "%s:%d") % self


Address = Union[UnixAddress, TcpAddress]


class Order(NamedTuple):
    """The wanted change. All times are in seconds."""

    server: Optional[str] = None
    """None: the records in `restore` say it."""
    backends: Optional[Tuple[str, ...]] = None
    """None: every backend that has the server."""
    state: Optional[str] = None
    """One of `STATES`, or `AS_RECORDED`. None, and nothing to restore: only read."""
    restore: Optional[Tuple[Record, ...]] = None
    keep_maintenance: bool = False
    """Leave a server alone that is in maintenance already, instead of draining it."""
    wait: bool = False
    deadline: float = DEFAULT_DEADLINE
    """How long to wait for sessions to end, or for the server to be up."""
    shutdown_sessions: bool = False
    """End the sessions that remain at the deadline."""


def read_order(options: Mapping[str, Any]) -> Order:
    """Check the options that say what is to be done.

    :raises OptionError: on the first that cannot be meant
    """
    state = options.get("state")
    if state is not None and state not in (*STATES, AS_RECORDED):
        raise OptionError("state: %r is not one of %s, %s" % (state, ", ".join(STATES), AS_RECORDED))
    order = Order(
        server=_read_server(options.get("server")),
        backends=_read_backends(options.get("backend")),
        state=state,
        restore=_read_records(options.get("restore")),
        keep_maintenance=bool(options.get("keep_maintenance")),
        wait=bool(options.get("wait")),
        deadline=read_seconds(options, "deadline"),
        shutdown_sessions=bool(options.get("shutdown_sessions")),
    )
    _check_together(order)
    return order


def read_selection(options: Mapping[str, Any]) -> Tuple[Optional[str], Optional[Tuple[str, ...]]]:
    """Check the options that say which servers are listed: a name or address, and backends; None: all.

    :raises OptionError: on the first that cannot be meant
    """
    return _read_server(options.get("server")), _read_backends(options.get("backend"))


def _check_together(order: Order) -> None:
    if (order.server is None) == (order.restore is None):
        raise OptionError("server, restore: give exactly one: the server, or the recorded state")
    if order.restore is not None and (order.state is not None or order.backends is not None):
        raise OptionError("restore: the recorded state contains state and backend. Omit state and backend")
    if order.wait and order.state not in (DRAIN, MAINTENANCE, AS_RECORDED):
        raise OptionError("wait: only a server that is taken out loses its sessions. Set state to drain or maintenance")
    if order.shutdown_sessions and (not order.wait or order.state == AS_RECORDED):
        raise OptionError("shutdown_sessions: ends the sessions that remain at the deadline. Set wait as well")
    if order.keep_maintenance and order.state != DRAIN:
        raise OptionError("keep_maintenance: is valid only with state: drain. Set state to drain, or omit it")


def read_address(option: str, text: str) -> Address:
    """Check where HAProxy listens for commands.

    :raises OptionError: if it is neither an absolute path nor a host with a port
    """
    if text.startswith("/") and "\0" not in text:
        return UnixAddress(text)
    match = _TCP.match(text)
    if match and 0 < int(match.group("port")) < 65536:
        return TcpAddress(match.group("v6") or match.group("host"), int(match.group("port")))
    raise OptionError(
        "%s: %r is neither the path of a socket nor a host and a port. Give %s, 127.0.0.1:9999 or [::1]:9999"
        % (option, text, DEFAULT_SOCKET)
    )


def _read_backends(names: Optional[List[str]]) -> Optional[Tuple[str, ...]]:
    if names is None:
        return None
    if not names:
        raise OptionError("backend: is empty. Name backends, or leave it out for every backend that the server is in")
    return tuple(_read_name("backend", name) for name in names)


def _read_records(records: Optional[List[Mapping[str, Any]]]) -> Optional[Tuple[Record, ...]]:
    if records is None:
        return None
    return tuple(map(read_record, records))


def read_record(record: Mapping[str, Any]) -> Record:
    """Check what is to be restored of a server.

    :raises OptionError: if it cannot be meant
    """
    weight = record.get("weight")
    if weight is not None and not 0 <= weight <= LARGEST_WEIGHT:
        raise OptionError("restore: weight %r is not a weight of HAProxy, 0 to %d" % (weight, LARGEST_WEIGHT))
    state = record.get("state", READY)
    if state not in STATES:
        raise OptionError("restore: state %r is not one of %s" % (state, ", ".join(STATES)))
    return Record(
        backend=_read_name("restore: backend", record.get("backend")),
        server=_read_name("restore: server", record.get("server")),
        state=state,
        admin_state=record.get("admin_state") or 0,
        weight=weight,
        address=_read_recorded_address(record.get("address")),
    )


def _read_recorded_address(address: Optional[str]) -> Optional[str]:
    if address is not None and read_endpoint(address) is None:
        raise OptionError("restore: address %r is not an address, as 10.0.0.4 or [2001:db8::4]:80" % address)
    return address


def _read_server(name: Optional[str]) -> Optional[str]:
    return name if name is None or read_endpoint(name) is not None else _read_name("server", name)


def _read_name(option: str, name: Any) -> str:
    if not isinstance(name, str) or not _NAME.match(name):
        raise OptionError(
            "%s: %r is not a name in HAProxy's configuration: names have letters, digits and any of - _ . :"
            % (option, name)
        )
    return name
