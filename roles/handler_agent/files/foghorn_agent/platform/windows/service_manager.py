# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service manager of Windows, asked by its own functions."""

import contextlib
import ctypes
from typing import Any, Callable, Iterator, List, NamedTuple

STOPPED, START_PENDING, STOP_PENDING, RUNNING = 1, 2, 3, 4

_CONNECT = 0x1
_QUERY, _ENUMERATE, _START, _STOP = 0x4, 0x8, 0x10, 0x20
_STATUS_INFO = 0
_CONTROL_STOP = 1
_NOT_STOPPED = 1  # SERVICE_ACTIVE
_MORE_DATA = 234


class ServiceManager(NamedTuple):
    """What is asked of the service manager. Each raises an `OSError` with the number of Windows in `winerror`."""

    state: Callable[[str], int]
    """In which of the states a service is."""
    dependents: Callable[[str], List[str]]
    """Which services that depend on it are not stopped, directly or not, in the order in which they can be stopped."""
    stop: Callable[[str], None]
    """Tell it to stop."""
    start: Callable[[str], None]
    """Tell it to start."""


class _Status(ctypes.Structure):
    """SERVICE_STATUS_PROCESS."""

    _fields_ = tuple(
        (name, ctypes.c_uint32)
        for name in ("type", "state", "accepted", "code", "specific", "checkpoint", "hint", "process", "flags")
    )


class _Dependent(ctypes.Structure):
    """ENUM_SERVICE_STATUSW."""

    _fields_ = (("name", ctypes.c_wchar_p), ("shown", ctypes.c_wchar_p), ("status", ctypes.c_uint32 * 7))


def _win32() -> Any:
    # Nothing else of Windows is needed to import this.
    from . import win32

    return win32


def manager() -> ServiceManager:
    """The one of this machine."""
    return ServiceManager(_state, _dependents, _stop, _start)


@contextlib.contextmanager
def opened(name: str, access: int) -> Iterator[Any]:
    """A handle of a service.

    :raises OSError: if it is not there, or not for this user
    """
    with _closing(lambda: _win32().advapi32.OpenSCManagerW(None, None, _CONNECT), "service manager") as whole, _closing(
        lambda: _win32().advapi32.OpenServiceW(whole, name, access), name
    ) as service:
        yield service


@contextlib.contextmanager
def _closing(open_it: Callable[[], Any], about: str) -> Iterator[Any]:
    handle = open_it()
    if not handle:
        raise _win32().last_error(about)
    try:
        yield handle
    finally:
        _win32().advapi32.CloseServiceHandle(handle)


def _state(name: str) -> int:
    status, needed = _Status(), ctypes.c_uint32()
    with opened(name, _QUERY) as service:
        if not _win32().advapi32.QueryServiceStatusEx(
            service, _STATUS_INFO, ctypes.byref(status), ctypes.sizeof(status), ctypes.byref(needed)
        ):
            raise _win32().last_error(name)
    return int(status.state)


def _dependents(name: str) -> List[str]:
    size, count = ctypes.c_uint32(), ctypes.c_uint32()
    with opened(name, _ENUMERATE) as service:
        buffer: Any = None
        while not _win32().advapi32.EnumDependentServicesW(
            service, _NOT_STOPPED, buffer, size.value if buffer else 0, ctypes.byref(size), ctypes.byref(count)
        ):
            error = _win32().last_error(name)
            if _win32().code_of(error) != _MORE_DATA:
                raise error
            buffer = ctypes.create_string_buffer(size.value)
        found = ctypes.cast(buffer, ctypes.POINTER(_Dependent)) if buffer else None
        names = [str(found[number].name) for number in range(count.value)] if found else []
    return [each for each in names if _state(each) != STOPPED]


def _stop(name: str) -> None:
    status = (ctypes.c_uint32 * 7)()
    with opened(name, _STOP) as service:
        if not _win32().advapi32.ControlService(service, _CONTROL_STOP, ctypes.byref(status)):
            raise _win32().last_error(name)


def _start(name: str) -> None:
    with opened(name, _START) as service:
        if not _win32().advapi32.StartServiceW(service, 0, None):
            raise _win32().last_error(name)
