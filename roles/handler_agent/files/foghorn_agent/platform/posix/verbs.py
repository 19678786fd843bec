# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that the program has on Linux alone: none."""

from typing import Any, Callable, Dict, NamedTuple, Sequence, TextIO

USAGE = ""


class Surroundings(NamedTuple):
    """What such commands need of the rest of the program."""

    check_config: Callable[[bytes, str], Any]
    check_removal: Callable[[], int]


VERBS: Dict[str, Callable[[Sequence[str], TextIO, Surroundings], int]] = {}


class VerbUsage(Exception):
    """The command line is wrong. The message says how."""


def serve_as_service(work: Callable[[], int]) -> int:
    """Do the work of the service: systemd starts it like any other program.

    :returns: the exit status
    """
    return work()
