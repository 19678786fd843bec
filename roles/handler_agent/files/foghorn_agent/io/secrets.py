# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The secrets that only the members of a quorum hold."""

import os
import stat
from typing import Tuple

from foghorn_core.files.ownership import UnsafePath, check_path
from foghorn_core.scheduled_events.signature import LARGEST_SECRETS, parse_secrets


class NoSecret(Exception):
    """There is no secret that could be used. The message names the file, and says what to do."""


def read_members_secrets(path: str) -> Tuple[bytes, ...]:
    """Read the secret in use, and the one before it if there is one, from a file that is root's alone.

    Read whenever it is needed: it is exchanged without a restart.

    :raises NoSecret: if it is not there, others could read or change it, or it holds no secret
    """
    try:
        real = check_path(path)
        with open(real, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(LARGEST_SECRETS + 1)
    except UnsafePath as error:
        raise NoSecret(str(error)) from None
    except OSError as error:
        raise NoSecret("%s: cannot be read: %s" % (path, error.strerror)) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise NoSecret(
            "%s: others than root can use it (mode %o): chmod 0600 it, and exchange the secret"
            % (path, stat.S_IMODE(mode))
        )
    if len(content) > LARGEST_SECRETS:
        raise NoSecret("%s: is larger than %d bytes" % (path, LARGEST_SECRETS))
    try:
        return parse_secrets(content)
    except ValueError as error:
        raise NoSecret("%s: %s" % (path, error)) from None
