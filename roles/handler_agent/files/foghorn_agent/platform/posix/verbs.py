# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that the program has on Linux alone: none."""

from typing import Callable, Dict, Sequence, TextIO

USAGE = ""
VERBS: Dict[str, Callable[[Sequence[str], TextIO], int]] = {}


class VerbUsage(Exception):
    """The command line is wrong. The message says how."""


def serve_as_service(work: Callable[[], int]) -> int:
    """Do the work of the service: systemd starts it like any other program.

    :returns: the exit status
    """
    return work()
