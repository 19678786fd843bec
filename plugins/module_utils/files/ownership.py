# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Who could change the file at a path, or read what is private.

What root runs or trusts has to be in the hands of root: the file, every directory above it, and every symbolic link
on the way with the directories above that.
"""

import os
import stat
from typing import List, Optional

MOST_LINKS = 40  # as the kernel allows


class UnsafePath(OSError):
    """Somebody else could change what is found at a path, or it cannot be told. The message says what to do."""


def check_path(path: str) -> str:
    """Follow an absolute path from the root, link by link, and refuse it if others could lead it elsewhere.

    In the hands of root is what root owns, or the user that runs this process, and nobody else may write. A
    directory with the sticky bit, like `/tmp`, may be writable on the way, since nobody can replace in it
    what is not theirs, but not at the end of the path.

    :returns: where it leads, free of links
    :raises UnsafePath: if others than root could change what is found there, or nothing is
    """
    real = "/"
    _check_step(real, path, is_last=False)
    links = 0
    ahead = path_parts(path)
    while ahead:
        name = ahead.pop()
        if name == "..":
            real = os.path.dirname(real)
            continue
        step = os.path.join(real, name)
        mode = _check_step(step, path, is_last=not ahead)
        if not stat.S_ISLNK(mode):
            real = step
            continue
        links += 1
        if links > MOST_LINKS:
            raise UnsafePath("%s: more than %d symbolic links on the way" % (path, MOST_LINKS))
        target = os.readlink(step)
        ahead += path_parts(target)
        if os.path.isabs(target):
            real = "/"
    return real


def problem_with(path: str) -> Optional[str]:
    """Why root must not run or trust what is at a path, with the remedy; None if it may."""
    try:
        check_path(path)
    except UnsafePath as error:
        return str(error)
    return None


def read_private(path: str, largest: int) -> bytes:
    """Read a file that nobody else may read or change: one with a secret.

    A process without root may read a file of root's by its group: this is how root gives a secret to a service.

    :param path: absolute; it is followed as in `check_path`
    :param largest: bytes that the file may have
    :raises UnsafePath: if others could read or change it, or it cannot be read. The message has nothing of its content
    """
    real = check_path(path)
    try:
        # Opening a pipe would wait for a writer.
        with open(real, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            found = os.fstat(file.fileno())
            content = file.read(largest + 1) if stat.S_ISREG(found.st_mode) else None
    except OSError as error:
        raise UnsafePath("%s: cannot be read: %s" % (path, error.strerror)) from None
    if content is None:
        raise UnsafePath("%s: is not a regular file" % path)
    is_by_group = found.st_uid == 0 and os.geteuid() != 0
    if found.st_mode & (stat.S_IRWXO if is_by_group else stat.S_IRWXO | stat.S_IRWXG):
        raise UnsafePath(
            "%s: others than root can use it (mode %o): chmod 0600 it, and exchange the secret"
            % (path, stat.S_IMODE(found.st_mode))
        )
    if len(content) > largest:
        raise UnsafePath("%s: is larger than %d bytes" % (path, largest))
    return content


def path_parts(path: str) -> List[str]:
    """The names in a path, the last one first."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _check_step(step: str, path: str, is_last: bool) -> int:
    try:
        found = os.lstat(step)
    except OSError as error:
        raise UnsafePath("%s: cannot be checked: %s: %s" % (path, step, error.strerror)) from None
    weakness = weakness_of(found, step, is_last)
    if weakness:
        raise UnsafePath("%s: %s" % (path, weakness))
    return found.st_mode


def weakness_of(found: os.stat_result, step: str, is_last: bool, trusts_group: bool = False) -> str:
    """Say how others could change what is found at a step of a path, and the remedy; empty if they cannot.

    :param is_last: whether it is the end of the path, where a directory with the sticky bit does not do
    :param trusts_group: whether a group may write
    """
    if found.st_uid not in (0, os.geteuid()):
        return "user %d owns %s: chown it to root" % (found.st_uid, step)
    writers = stat.S_IWOTH if trusts_group else stat.S_IWOTH | stat.S_IWGRP
    mode = found.st_mode
    # The mode of a link means nothing: to change a link is to replace it.
    is_safe = stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX and not is_last)
    if is_safe or not mode & writers:
        return ""
    return "others than root can write %s (mode %o): chmod go-w it" % (step, stat.S_IMODE(mode))
