# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lay this checkout out as Ansible and Python look for it: PATH/ansible_collections/foghorn/azure_events.

That directory holds one link for each entry of the checkout. A single link to the checkout would hold itself again.
The handler agent looks for what it shares with the modules beside itself, as the package foghorn_core.
Runs on Python 3.6 and later, for the tests of managed-node code.
"""

import contextlib
import os


def link_collection(root: str, collections: str) -> str:
    """Make the layout below the directory `collections` for the checkout at `root`; return the collection's path.

    May run at any time and in several processes at once: what is right already stays as it is.
    """
    target = os.path.join(collections, "ansible_collections", "foghorn", "azure_events")
    os.makedirs(target, exist_ok=True)
    wanted = {name for name in os.listdir(root) if not name.startswith(".") and name != "dist"}
    # Where another process is at the same work, it may be faster.
    for name in set(os.listdir(target)) - wanted:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(target, name))
    for name in wanted - set(os.listdir(target)):
        with contextlib.suppress(FileExistsError):
            os.symlink(os.path.join(root, name), os.path.join(target, name))
    return target


def link_core(root: str, directory: str) -> None:
    """Make `module_utils` of the checkout at `root` the package `foghorn_core` in `directory`, at any time as above."""
    os.makedirs(directory, exist_ok=True)
    core = os.path.join(os.path.abspath(root), "plugins", "module_utils")
    target, link = os.path.relpath(core, os.path.abspath(directory)), os.path.join(directory, "foghorn_core")
    # An older checkout linked one of its directories.
    if os.path.islink(link) and os.readlink(link) != target:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(link)
    with contextlib.suppress(FileExistsError):
        os.symlink(target, link)


if __name__ == "__main__":
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    link_collection(here, os.path.join(here, ".cache", "collections"))
    link_core(here, os.path.join(here, ".cache", "agent"))
