# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for nobody but the agent, and what makes them outlast a power cut."""

import contextlib
import fcntl
import os
from typing import Optional, Tuple

from foghorn_core.files.writing import write_text


def open_private(path: str, flags: int = 0) -> int:
    """Open a file for nobody but the agent: it holds whole commands, and a password may be among their arguments."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    # One that was made before, too.
    os.fchmod(descriptor, 0o600)
    return descriptor


def lock(descriptor: int) -> None:
    """Keep other processes from locking the same file, until it is closed.

    :raises BlockingIOError: if another process has locked it
    """
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def replace_open(new_path: str, new: int, path: str, old: int) -> Tuple[int, Optional[OSError]]:
    """Put an open file in the place of another open one.

    :returns: the descriptor of what is at the path now, and why that is still the old one, None if it is not; the other
        one is closed
    """
    kept, closed, problem = new, old, None
    try:
        os.replace(new_path, path)
    except OSError as error:
        kept, closed, problem = old, new, error
    with contextlib.suppress(OSError):
        os.close(closed)
    return kept, problem


def is_at(descriptor: int, path: str) -> bool:
    """Whether an open file is still what is found at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def make_private_directory(directory: str) -> None:
    """Make a directory for the agent alone. Those above it are for others, too: they may hold the probe file."""
    # Whatever the umask, which is not changed: the loop starts steps with one of their own meanwhile.
    missing = [(os.path.abspath(directory), 0o700)]
    while not os.path.isdir(os.path.dirname(missing[-1][0])):
        missing.append((os.path.dirname(missing[-1][0]), 0o755))
    for path, mode in reversed(missing):
        if not os.path.isdir(path):
            os.mkdir(path, mode)
            os.chmod(path, mode)


def sync_directory(directory: str) -> None:
    """Make new names in it outlast a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_private(path: str, text: str) -> None:
    """Write a file for nobody but the agent, that is either as it was or has all of the text.

    :raises OSError: if it cannot be written, or others could change it
    """
    write_text(path, text, 0o600)
