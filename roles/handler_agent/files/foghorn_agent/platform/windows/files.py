# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for nobody but the agent, and what makes them outlast a power cut."""

import contextlib
import os
import time
from typing import Callable, Optional, Tuple, Union

# Behind what the file holds: a locked byte cannot be read either.
_LOCKED_BYTE = 1 << 30
_BUSY = (5, 32, 33)  # access denied, sharing violation, lock violation
_PATIENCE = 2.0  # seconds that whoever looks at a file, a virus scanner say, has to let go of it
_PAUSE = 0.05  # seconds
_ONLY_ADMINISTRATORS = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"


def open_private(path: str, flags: int = 0) -> int:
    """Open a file in a directory that is closed to others, as the agent's are."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_BINARY | os.O_NOINHERIT | flags, 0o600)


def lock(descriptor: int) -> None:
    """Keep other processes from locking the same file, until it is closed.

    :raises BlockingIOError: if another process has locked it
    """
    import msvcrt

    at = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        raise BlockingIOError("is locked") from None
    finally:
        os.lseek(descriptor, at, os.SEEK_SET)


def replace_open(new_path: str, new: int, path: str, old: int) -> Tuple[int, Optional[OSError]]:
    """Put an open file in the place of another open one. Windows does not do it: both are closed meanwhile.

    :returns: the descriptor of what is at the path now, -1 if it cannot be opened again; and why that is still the old
        one, None if it is not. The new one is open under no other descriptor
    """
    os.close(old)
    os.close(new)
    problem = None
    try:
        patiently(lambda: os.replace(new_path, path))
    except OSError as error:
        problem = error
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_BINARY | os.O_NOINHERIT)
        os.lseek(descriptor, 0, os.SEEK_END)
    except OSError as error:
        return -1, problem or error
    return descriptor, problem


def is_at(_descriptor: int, _path: str) -> bool:
    """Whether an open file is still what is found at a path: Windows lets nobody move or remove it."""
    return True


def make_private_directory(directory: str) -> None:
    """Make a directory for administrators alone, whatever those above it let others do."""
    directory = os.path.abspath(directory)
    if os.path.isdir(directory):
        return
    os.makedirs(os.path.dirname(directory), exist_ok=True)
    make_closed_directory(directory)


def make_closed_directory(directory: str) -> None:
    """Make one directory that nobody but administrators can use, from the first moment on.

    :raises OSError: if it cannot be made
    """
    import ctypes

    from . import win32

    class Attributes(ctypes.Structure):
        _fields_ = (("length", ctypes.c_uint32), ("descriptor", ctypes.c_void_p), ("is_inherited", ctypes.c_int))

    descriptor = ctypes.c_void_p()
    if not win32.advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW(
        _ONLY_ADMINISTRATORS, 1, ctypes.byref(descriptor), None
    ):
        raise win32.last_error(directory)
    try:
        attributes = Attributes(ctypes.sizeof(Attributes), descriptor, 0)
        if not win32.kernel32.CreateDirectoryW(directory, ctypes.byref(attributes)):
            raise win32.last_error(directory)
    finally:
        win32.kernel32.LocalFree(descriptor)


def sync_directory(_directory: str) -> None:
    """Nothing: NTFS writes down what becomes of names by itself."""


def write_private(path: str, content: Union[str, bytes]) -> None:
    """Write a file in a closed directory, that is either as it was or has all of the content.

    :raises OSError: if it cannot be written
    """
    new_path = path + ".new"
    descriptor = open_private(new_path, os.O_TRUNC)
    try:
        left = memoryview(content.encode("utf-8") if isinstance(content, str) else content)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    try:
        patiently(lambda: os.replace(new_path, path))
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(new_path)
        raise


def patiently(do: Callable[[], None]) -> None:
    """Do something with a file, again for as long as somebody else has it open. Waits.

    :raises OSError: if it cannot be done
    """
    ends = time.monotonic() + _PATIENCE
    while True:
        try:
            return do()
        except OSError as error:
            if getattr(error, "winerror", None) not in _BUSY or time.monotonic() >= ends:
                raise
        time.sleep(_PAUSE)
