# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""This process as a service: the conversation with the service manager of Windows."""

import ctypes
import threading
from typing import Any, Callable, List, NamedTuple, Optional

NAME = "foghorn-agent"

_OWN_PROCESS = 0x10
_STOPPED, _START_PENDING, _STOP_PENDING, _RUNNING = 1, 2, 3, 4
_STOP, _INTERROGATE, _SHUTDOWN, _PARAMETERS_CHANGED = 1, 4, 5, 6
_ACCEPTED = 1 | 4 | 8  # stop, shutdown, change of parameters
_SPECIFIC_ERROR = 1066
_NOT_IMPLEMENTED = 120
_STARTING_TIME = 30000  # milliseconds
_STOPPING_TIME = 20000  # milliseconds


class _Listeners(NamedTuple):
    stop: Callable[[], None]
    reload: Callable[[], None]


class _Status(ctypes.Structure):
    """SERVICE_STATUS."""

    _fields_ = tuple(
        (name, ctypes.c_uint32) for name in ("type", "state", "accepted", "code", "specific", "checkpoint", "hint")
    )


class _Entry(ctypes.Structure):
    """SERVICE_TABLE_ENTRYW."""

    _fields_ = (("name", ctypes.c_wchar_p), ("main", ctypes.c_void_p))


class _Conversation:
    """With the service manager, from the start of the service to its end."""

    def __init__(self) -> None:
        self.handle: Optional[int] = None
        self.listeners = _Listeners(lambda: None, lambda: None)
        self.is_stopping = False
        self.lock = threading.Lock()

    def say(self, state: int, code: int = 0) -> None:
        """Say how the service is, where there is a service manager. It is never running again once it is stopping."""
        with self.lock:
            if self.handle is None or (self.is_stopping and state not in (_STOP_PENDING, _STOPPED)):
                return
            hint = {_START_PENDING: _STARTING_TIME, _STOP_PENDING: _STOPPING_TIME}.get(state, 0)
            status = _Status(
                _OWN_PROCESS,
                state,
                _ACCEPTED if state == _RUNNING else 0,
                _SPECIFIC_ERROR if code else 0,
                code,
                0 if state in (_RUNNING, _STOPPED) else 1,
                hint,
            )
            from . import win32

            win32.advapi32.SetServiceStatus(self.handle, ctypes.byref(status))

    def control(self, code: int, _type: int = 0, _data: Any = None, _context: Any = None) -> int:
        """Do what the service manager asks for; called in its thread."""
        if code in (_STOP, _SHUTDOWN):
            self.is_stopping = True
            self.say(_STOP_PENDING)
            self.listeners.stop()
        elif code == _PARAMETERS_CHANGED:
            self.listeners.reload()
        elif code != _INTERROGATE:
            return _NOT_IMPLEMENTED
        return 0


_conversation = _Conversation()


def is_service() -> bool:
    """Whether this process is the service."""
    return _conversation.handle is not None


def listen(stop: Callable[[], None], reload: Callable[[], None]) -> None:
    """Say what is to be called when the service is to stop, and when its configuration has changed."""
    _conversation.listeners = _Listeners(stop, reload)
    if _conversation.is_stopping:
        stop()


def say_running() -> None:
    """The service does its work now."""
    _conversation.say(_RUNNING)


def say_stopping() -> None:
    """The service is about to end."""
    _conversation.say(_STOP_PENDING)


def run(work: Callable[[], int]) -> int:
    """Do the work of the service, from the start that the service manager gives it.

    :param work: gives the exit status. It is called in another thread than this one
    :returns: the exit status
    :raises OSError: if it was not the service manager that started this process
    """
    from . import win32

    statuses: List[int] = []
    # Windows calls both at any time: they have to stay.
    main_type = ctypes.WINFUNCTYPE(None, ctypes.c_uint32, ctypes.c_void_p)
    handler_type = ctypes.WINFUNCTYPE(
        ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p
    )
    handler = handler_type(_conversation.control)

    def main(_count: int, _arguments: Any) -> None:
        _conversation.handle = win32.advapi32.RegisterServiceCtrlHandlerExW(NAME, handler, None)
        _conversation.say(_START_PENDING)
        status = 1
        try:
            status = work()
        finally:
            statuses.append(status)
            _conversation.say(_STOPPED, status)

    started = main_type(main)
    table = (_Entry * 2)(_Entry(NAME, ctypes.cast(started, ctypes.c_void_p)), _Entry(None, None))
    if not win32.advapi32.StartServiceCtrlDispatcherW(table):
        raise win32.last_error("%s: is started by the service manager, as net start %s does" % (NAME, NAME))
    return statuses[-1] if statuses else 1
