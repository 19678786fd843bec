# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Small files in which a machine keeps what was done to it, by their paths.

Root acts on what they say, so nobody else may be able to change them: see `open_own_directory`.
"""

import contextlib

from .directory import open_own_directory, split_path


def text_of(path: str) -> str:
    """Read a file; empty if there is none.

    :raises UnsafePath: if others could have written it
    """
    with contextlib.suppress(FileNotFoundError):
        return read_text(path)
    return ""


def read_text(path: str) -> str:
    """Read a file.

    :raises FileNotFoundError: if there is none
    :raises UnsafePath: if others could have written it
    """
    directory, name = split_path(path)
    with open_own_directory(directory) as place:
        return place.read(name)


def write_text(path: str, text: str, mode: int) -> None:
    """Write a file that is either as it was or has all of the text. Its directory is made if there is none.

    For one process at a time.

    :raises UnsafePath: if others could change it
    """
    directory, name = split_path(path)
    # The application must see what is in the directory above.
    with open_own_directory(directory, new_mode=0o755) as place:
        place.replace(name, text, mode)


def remove(path: str) -> None:
    """Remove a file.

    :raises FileNotFoundError: if there is none
    :raises UnsafePath: if others could have put another one there
    """
    directory, name = split_path(path)
    with open_own_directory(directory) as place:
        place.remove(name)
