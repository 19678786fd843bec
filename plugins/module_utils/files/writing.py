# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Small files in which a machine keeps what was done to it."""

import contextlib
import os


def text_of(path: str) -> str:
    """Read a file; empty if there is none."""
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as stream:
        return stream.read()
    return ""


def new_name(name: str) -> str:
    """The name under which a file is written before it takes its own; one may be left by a process that died."""
    return ".%s.new" % name


def write_text(path: str, text: str, mode: int) -> None:
    """Write a file that is either as it was or has all of the text, whatever dies meanwhile, a machine included.

    For one process at a time. Its directory is made if there is none.
    """
    directory, name = os.path.split(path)
    if not os.path.isdir(directory):
        os.makedirs(directory, exist_ok=True)
        # Whatever root's umask: the application must see what is in the directory above.
        os.chmod(directory, 0o755)
    new = os.path.join(directory, new_name(name))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())
    os.replace(new, path)
    # The new name must outlast a power cut as well.
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
