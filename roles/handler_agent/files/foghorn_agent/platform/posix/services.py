# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The units of systemd, which start and stop what the machine is for."""

import os
import re
import subprocess
from typing import Any, List

from foghorn_core.files.ownership import problem_with

WHAT_IS_NAMED = "the name of a systemd unit"
HOW_TO_SEE = "systemctl status foghorn-agent"

_SYSTEMCTL = ("/usr/bin/systemctl", "/bin/systemctl")
_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]+\Z")
_SUFFIX = re.compile(r"\.(?:service|socket|target|timer|path|mount|automount|swap|slice|scope)\Z")
_DIRECTORIES = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/run/systemd/generator",
    "/run/systemd/generator.late",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)


def is_name(value: Any) -> bool:
    """Whether a unit may have this name."""
    return isinstance(value, str) and bool(_NAME.match(value)) and value[0] != "-"


def full_name(name: str) -> str:
    """The name under which a unit is known, whoever names it."""
    return name if _SUFFIX.search(name) else name + ".service"


def command_to(action: str, name: str) -> List[str]:
    """The command that does something with a unit.

    :param action: `stop`, `start`, or `is-active`, which prints the state that the unit is in, and the job that waits
        for it: at a boot, what is about to be started is inactive
    """
    look = ["show", "--property=ActiveState", "--property=Job"]
    return [_systemctl(), *(look if action == "is-active" else [action]), "--", name]


def problems_with(name: str) -> List[str]:
    """What is wrong with a unit: it is not there, or others than root could change it."""
    directories = [directory for directory in _DIRECTORIES if os.path.isdir(directory)]
    if not directories:
        return []
    prefix, at, rest = name.partition("@")
    names = [name, prefix + "@." + rest.rpartition(".")[2]] if at else [name]
    paths = [os.path.join(directory, each) for directory in directories for each in names]
    # systemd takes the first one.
    path = next((path for path in paths if os.path.lexists(path)), None)
    if path is None:
        return ["there is no unit %s" % name]
    # A masked unit links to /dev/null, which everybody may write, and does nothing.
    problem = problem_with(path) if os.path.realpath(path) != os.devnull else None
    return [] if problem is None else [problem]


def active_triggers(name: str) -> List[str]:
    """The sockets, timers and others that would start a unit now. None where there is no systemd that answers."""
    return _active_of(name, "TriggeredBy", "UpheldBy")


def stopped_with(name: str) -> List[str]:
    """The active units that systemd stops with a unit, and does not start with it. None where it does not answer."""
    return _active_of(name, "RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo")


def _systemctl() -> str:
    """Where the system has systemctl, whatever lies in directories that come first on the PATH."""
    return next(filter(os.path.exists, _SYSTEMCTL), _SYSTEMCTL[0])


def _active_of(name: str, *kinds: str) -> List[str]:
    """The units of these kinds that are active now."""
    said = _ask("show", *("--property=" + kind for kind in kinds), "--", name)
    units = [unit for line in said.splitlines() for unit in line.partition("=")[2].split()]
    states = _ask("is-active", "--", *units).split() if units else []
    return [unit for unit, state in zip(units, states) if state == "active"]


def _ask(*arguments: str) -> str:
    command = (_systemctl(), *arguments)
    try:
        asked = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=5, check=False)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return asked.stdout.decode("utf-8", "replace")
