# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that the program has on Windows alone."""

from typing import Callable, Dict, Sequence, TextIO

OK = 0
FAILED = 1
NOT_ACTIVE = 3  # as of systemctl

USAGE = """\
on Windows:
  service stop|start|is-active NAME   as a step of the agent does it, with the services that depend on it
"""


class VerbUsage(Exception):
    """The command line is wrong. The message says how."""


def service(words: Sequence[str], output: TextIO) -> int:
    """Stop or start a service, or print the state that it is in. Waits until it is done.

    :returns: the exit status
    :raises VerbUsage: if it cannot be meant
    :raises OSError: if it cannot be done
    """
    from . import services

    if len(words) != 2 or words[0] not in ("stop", "start", "is-active"):
        raise VerbUsage("service needs stop, start or is-active, and the name of one service")
    action, name = words
    if not services.is_name(name):
        raise VerbUsage("%s is not %s" % (name, services.WHAT_IS_NAMED))
    name = services.full_name(name)
    if action == "is-active":
        word = services.state_word(services.manager(), name)
        output.write(word + "\n")
        return OK if word == "active" else NOT_ACTIVE
    done = (services.stop if action == "stop" else services.start)(services.manager(), name, services.Notes())
    for each in done:
        output.write("%s %s\n" % ("stopped" if action == "stop" else "started", each))
    return OK


VERBS: Dict[str, Callable[[Sequence[str], TextIO], int]] = {"service": service}


def serve_as_service(work: Callable[[], int]) -> int:
    """Do the work of the service, which has no standard streams.

    :raises OSError: if it was not the service manager that started this process
    """
    import os
    import sys

    from . import machine, nt_service

    os.environ["STATE_DIRECTORY"] = machine.STATE_DIRECTORY
    if sys.stderr is None:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    return nt_service.run(work)
