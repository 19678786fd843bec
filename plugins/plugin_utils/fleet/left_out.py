# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""A list, on the controller, of hosts that a run may have left out of rotation, for runs that do not ask every host.

An empty file for each host, written before the first thing is done to it, and removed once it is back. What is on the
host itself decides what is done about it.
"""

import os
import pathlib
import urllib.parse
from collections.abc import Iterable


def names_in(directory: str) -> set[str]:
    """The names in the inventory of the hosts that are noted; none if nothing was ever noted.

    :raises OSError: if that cannot be read
    """
    try:
        return {urllib.parse.unquote(name) for name in os.listdir(directory)}
    except FileNotFoundError:
        return set()


def note(directory: str, names: Iterable[str]) -> None:
    """Note hosts that are about to be taken out.

    :raises OSError: if that cannot be written
    """
    for name in names:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        pathlib.Path(_path(directory, name)).touch(mode=0o600)


def forget(directory: str, names: Iterable[str]) -> None:
    """Forget hosts that are back; those that are not noted are none.

    :raises OSError: if that cannot be written
    """
    for name in names:
        pathlib.Path(_path(directory, name)).unlink(missing_ok=True)


def _path(directory: str, name: str) -> str:
    # A name in an inventory may be anything, and a single dot is not a file name.
    return os.path.join(directory, urllib.parse.quote(name, safe="").replace(".", "%2E"))
