# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that the program has on Windows alone."""

import json
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, TextIO

OK = 0
NOT_ACTIVE = 3  # as of systemctl

USAGE = """\
on Windows, as an administrator:
  install [--files DIRECTORY] [--check] [--json]   have this program, its Python and its service on this machine, and
                                                   what DIRECTORY holds: agent.json, hooks.d, members.secret
  uninstall [--check] [--json]                     remove all of it
  service stop|start|is-active NAME                as a step of the agent does it, with the services that depend on it
"""


class Surroundings(NamedTuple):
    """What these commands need of the rest of the program."""

    check_config: Callable[[bytes, str], Any]
    """Raises what is wrong with a configuration."""
    check_removal: Callable[[], int]
    """Says why the agent must not be removed now, and gives the status for that; 0 if it may be."""


class VerbUsage(Exception):
    """The command line is wrong. The message says how."""


def service(words: Sequence[str], output: TextIO, _around: Surroundings) -> int:
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


def install(words: Sequence[str], output: TextIO, around: Surroundings) -> int:
    """Install the program; see `installing.install`.

    :returns: the exit status
    :raises VerbUsage: if it cannot be meant
    :raises InstallError, OSError: if it cannot be done
    """
    from . import installing, machine

    options = _options(words, ("--files",))
    directory = options.get("--files")
    given = {} if directory is None else installing.files_below(directory)
    config = given.get("agent.json", installing.content_of(machine.CONFIG_PATH))
    if config is not None:
        around.check_config(config, machine.CONFIG_PATH)
    return _report(installing.install(given, "--check" in options), options, output)


def uninstall(words: Sequence[str], output: TextIO, around: Surroundings) -> int:
    """Remove the program; see `installing.uninstall`.

    :returns: the exit status
    :raises VerbUsage: if it cannot be meant
    :raises OSError: if it cannot be done
    """
    from . import installing

    options = _options(words)
    status = around.check_removal()
    return status or _report(installing.uninstall("--check" in options), options, output)


def _options(words: Sequence[str], with_value: Sequence[str] = ()) -> Dict[str, Optional[str]]:
    left, found = list(words), {}
    while left:
        word = left.pop(0)
        if word not in ("--check", "--json", *with_value) or (word in with_value and not left):
            raise VerbUsage("%s is not an option here, or lacks its value" % word)
        found[word] = left.pop(0) if word in with_value else None
    return found


def _report(result: Dict[str, Any], options: Dict[str, Optional[str]], output: TextIO) -> int:
    if "--json" in options:
        output.write(json.dumps(result, sort_keys=True) + "\n")
        return OK
    lines: List[str] = list(result["changes"]) or ["nothing was to be changed"]
    lines += ["%s is in use by this command: remove it yourself" % path for path in result.get("left", ())]
    output.write("".join(line + "\n" for line in lines))
    return OK


VERBS: Dict[str, Callable[[Sequence[str], TextIO, Surroundings], int]] = {
    "install": install,
    "uninstall": uninstall,
    "service": service,
}


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
