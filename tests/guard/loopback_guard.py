# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse every connection and every name lookup that leaves this machine, and remember that it was tried.

The real metadata service answers at one fixed address on any cloud machine, so a test that reaches out by mistake may
read, or approve, somebody's real events. Allowed are 127.0.0.0/8, ::1 and UNIX sockets.

`install` changes `socket` for good. With this directory on PYTHONPATH, `sitecustomize` calls it in every Python
process that the tests start. Code under test may catch the error, so each refusal is also a line in the file that
`FOGHORN_GUARD_LOG` names; tests/conftest.py fails the test during which a line appears.

Runs on Python 3.6 and later.
"""

import functools
import ipaddress
import os
import socket
import sys
from typing import Any, Callable, FrozenSet

LOG_VARIABLE = "FOGHORN_GUARD_LOG"


class NonLoopbackError(RuntimeError):
    """Something under test tried to leave this machine. Not an OSError: that would be retried as a network fault."""


def install() -> None:
    """Guard this process. Safe to call again."""
    if hasattr(socket.socket.connect, "__wrapped__"):
        return
    _guard(socket.socket, "connect", _check_connect)
    _guard(socket.socket, "connect_ex", _check_connect)
    _guard(socket.socket, "sendto", _check_sendto)
    _guard(socket.socket, "sendmsg", _check_sendmsg)
    _guard(socket, "getaddrinfo", _check_lookup)
    _guard(socket, "gethostbyname", _check_lookup)
    _guard(socket, "gethostbyname_ex", _check_lookup)
    _guard(socket, "gethostbyaddr", _check_reverse_lookup)
    _guard(socket, "getnameinfo", _check_getnameinfo)


def _guard(owner: Any, name: str, check: Callable[..., None]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return original(*args, **kwargs)

    setattr(owner, name, guarded)


def _check_connect(sock: socket.socket, address: Any) -> None:
    _check_address(sock, address)


def _check_sendto(sock: socket.socket, _data: Any, *flags_and_address: Any) -> None:
    _check_address(sock, flags_and_address[-1])


def _check_sendmsg(
    sock: socket.socket, _buffers: Any, _ancillary: Any = (), _flags: int = 0, address: Any = None
) -> None:
    if address is not None:
        _check_address(sock, address)


def _check_getnameinfo(address: Any, flags: int) -> None:
    if not flags & socket.NI_NUMERICHOST:
        _check_reverse_lookup(address[0])


def _check_address(sock: socket.socket, address: Any) -> None:
    if sock.family == socket.AF_UNIX:
        return
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        _refuse(f"{sock.family!s} {address!r}")
    if address[0] != "localhost" and not _is_loopback(address[0]):
        _refuse("{!r} port {!r}".format(*address[:2]))


def _check_lookup(host: Any, *_args: Any, **_kwargs: Any) -> None:
    """Let through what resolves without asking anyone: no name, a literal, this machine's names."""
    name = _text(host)
    if name and name.lower() not in _own_names() and _literal(name) is None:
        _refuse(f"the name {name!r}")


def _check_reverse_lookup(host: Any) -> None:
    """A literal may only be turned into a name where no name server is asked."""
    name = _text(host)
    if _literal(name) is None:
        _check_lookup(name)
    elif not _is_loopback(name):
        _refuse(f"the name of {name!r}")


def _own_names() -> FrozenSet[str]:
    names = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback", socket.gethostname().lower())
    return frozenset(names)


def _is_loopback(host: Any) -> bool:
    address = _literal(_text(host))
    mapped = getattr(address, "ipv4_mapped", None)
    return address is not None and (mapped or address).is_loopback


def _literal(name: str) -> Any:
    try:
        return ipaddress.ip_address(name.split("%")[0])
    except ValueError:
        return None


def _text(host: Any) -> str:
    if host is None:
        return ""
    return host.decode("ascii", "replace") if isinstance(host, (bytes, bytearray)) else str(host)


def _refuse(what: str) -> None:
    message = "the loopback guard refused {} to {}".format(what, " ".join(sys.argv[:2]) or "python")
    log = os.environ.get(LOG_VARIABLE)
    if log:
        with open(log, "a", encoding="utf-8") as stream:
            stream.write(message + "\n")
    raise NonLoopbackError(message)
