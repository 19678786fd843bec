# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service manager of Windows, asked by its own functions."""

import contextlib
import ctypes
from typing import Any, Callable, Iterator, List, NamedTuple

STOPPED, START_PENDING, STOP_PENDING, RUNNING = 1, 2, 3, 4
DOES_NOT_EXIST = 1060
"""What Windows answers about a service that is not there."""

_CONNECT, _CREATE_SERVICE = 0x1, 0x2
_QUERY_CONFIG, _CHANGE_CONFIG, _QUERY, _ENUMERATE, _START, _STOP = 0x1, 0x2, 0x4, 0x8, 0x10, 0x20
_DELETE = 0x10000
_ALL_ACCESS = 0xF01FF
_OWN_PROCESS, _AUTOMATIC, _LOG_FAILURE = 0x10, 2, 1
_DESCRIPTION, _FAILURE_ACTIONS, _ACT_ON_FAILURE = 1, 2, 4
_RESTART = 1
_INVALID_LEVEL = 124  # Wine does not know all of them
_STATUS_INFO = 0
_CONTROL_STOP, _CONTROL_PARAMETERS_CHANGED = 1, 6
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


def code_of(error: OSError) -> int:
    """The number of Windows in an error; 0 if it has none."""
    return getattr(error, "winerror", None) or 0


class _Status(ctypes.Structure):
    """SERVICE_STATUS_PROCESS."""

    _fields_ = tuple(
        (name, ctypes.c_uint32)
        for name in ("type", "state", "accepted", "code", "specific", "checkpoint", "hint", "process", "flags")
    )


class _Dependent(ctypes.Structure):
    """ENUM_SERVICE_STATUSW."""

    _fields_ = (("name", ctypes.c_wchar_p), ("shown", ctypes.c_wchar_p), ("status", ctypes.c_uint32 * 7))


class _Config(ctypes.Structure):
    """QUERY_SERVICE_CONFIGW."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("start", ctypes.c_uint32),
        ("error", ctypes.c_uint32),
        ("command", ctypes.c_wchar_p),
        *((name, ctypes.c_void_p) for name in ("group", "tag", "dependencies")),
        ("account", ctypes.c_wchar_p),
        ("shown", ctypes.c_wchar_p),
    )


class _Action(ctypes.Structure):
    """SC_ACTION."""

    _fields_ = (("kind", ctypes.c_uint32), ("delay", ctypes.c_uint32))


class _FailureActions(ctypes.Structure):
    """SERVICE_FAILURE_ACTIONSW."""

    _fields_ = (
        ("reset", ctypes.c_uint32),
        ("reboot", ctypes.c_wchar_p),
        ("command", ctypes.c_wchar_p),
        ("count", ctypes.c_uint32),
        ("actions", ctypes.POINTER(_Action)),
    )


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
    with _whole(_CONNECT) as whole, _closing(
        lambda: _win32().advapi32.OpenServiceW(whole, name, access), name
    ) as service:
        yield service


def _whole(access: int) -> "contextlib.AbstractContextManager[Any]":
    return _closing(lambda: _win32().advapi32.OpenSCManagerW(None, None, access), "service manager")


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
            if code_of(error) != _MORE_DATA:
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


def exists(name: str) -> bool:
    """Whether there is a service of that name."""
    try:
        _state(name)
    except OSError as error:
        if code_of(error) == DOES_NOT_EXIST:
            return False
        raise
    return True


def command_of(name: str) -> str:
    """The command line that a service runs, if it starts with the machine; empty if it does not.

    :raises OSError: if it is not there
    """
    size = ctypes.c_uint32(8192)
    buffer = ctypes.create_string_buffer(size.value)
    with opened(name, _QUERY_CONFIG) as service:
        if not _win32().advapi32.QueryServiceConfigW(service, buffer, size, ctypes.byref(size)):
            raise _win32().last_error(name)
    config = ctypes.cast(buffer, ctypes.POINTER(_Config)).contents
    return str(config.command) if config.start == _AUTOMATIC else ""


def install(name: str, command: str, description: str) -> None:
    """Have a service that starts with the machine, as LocalSystem, and again when it has failed.

    :raises OSError: if it cannot be made
    """
    win32 = _win32()
    if exists(name):
        with opened(name, _CHANGE_CONFIG) as service:
            done = win32.advapi32.ChangeServiceConfigW(
                service, _OWN_PROCESS, _AUTOMATIC, _LOG_FAILURE, command, *(None,) * 3, "LocalSystem", None, name
            )
            if not done:
                raise win32.last_error(name)
    else:
        with _whole(_CONNECT | _CREATE_SERVICE) as whole, _closing(
            lambda: win32.advapi32.CreateServiceW(
                *(whole, name, name, _ALL_ACCESS, _OWN_PROCESS, _AUTOMATIC, _LOG_FAILURE, command), *(None,) * 5
            ),
            name,
        ):
            pass
    actions = (_Action * 3)(*(_Action(_RESTART, seconds * 1000) for seconds in (1, 5, 30)))
    with opened(name, _CHANGE_CONFIG | _START) as service:
        for kind, value in (
            (_DESCRIPTION, ctypes.c_wchar_p(description)),
            (_FAILURE_ACTIONS, _FailureActions(86400, None, None, len(actions), actions)),
            # Also when it ends with an error and says so.
            (_ACT_ON_FAILURE, ctypes.c_int(1)),
        ):
            if not win32.advapi32.ChangeServiceConfig2W(service, kind, ctypes.byref(value)):
                error = win32.last_error(name)
                if code_of(error) != _INVALID_LEVEL:
                    raise error


def uninstall(name: str) -> None:
    """Have no service of that name, once it has stopped.

    :raises OSError: if it cannot be removed
    """
    with opened(name, _DELETE) as service:
        if not _win32().advapi32.DeleteService(service):
            raise _win32().last_error(name)


def tell_parameters_changed(name: str) -> None:
    """Tell a service that runs that its configuration has changed.

    :raises OSError: if it does not hear that
    """
    status = (ctypes.c_uint32 * 7)()
    # Of all controls, this one needs the right to pause.
    with opened(name, 0x40) as service:
        if not _win32().advapi32.ControlService(service, _CONTROL_PARAMETERS_CHANGED, ctypes.byref(status)):
            raise _win32().last_error(name)
