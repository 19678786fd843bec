# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Small files in which a machine keeps what was done to it."""

import contextlib
import os
import tempfile


def text_of(path: str) -> str:
    """Read a file; empty if there is none."""
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as stream:
        return stream.read()
    return ""


def write_text(path: str, text: str, mode: int) -> None:
    """Write a file that is either as it was or has all of the text, whatever dies meanwhile."""
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        os.makedirs(directory, exist_ok=True)
        # Whatever root's umask: the application must see what is in the directory above.
        os.chmod(directory, 0o755)
    handle, new = tempfile.mkstemp(dir=directory)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())
    os.replace(new, path)
