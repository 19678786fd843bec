# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The secrets that only the members of a quorum hold."""

from typing import Tuple

from foghorn_core.scheduled_events.signature import LARGEST_SECRETS, parse_secrets

from ..platform import ownership


class NoSecret(Exception):
    """There is no secret that could be used. The message names the file, and says what to do."""


def read_members_secrets(path: str) -> Tuple[bytes, ...]:
    """Read the secret in use, and the one before it if there is one, from a file that is root's alone.

    Read whenever it is needed: it is exchanged without a restart.

    :raises NoSecret: if it is not there, others could read or change it, or it holds no secret
    """
    try:
        return parse_secrets(ownership.read_private(path, LARGEST_SECRETS))
    except ownership.UnsafePath as error:
        raise NoSecret(str(error)) from None
    except ValueError as error:
        raise NoSecret("%s: %s" % (path, error)) from None
