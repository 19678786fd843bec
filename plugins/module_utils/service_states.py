# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Which services of a machine are running, and which were stopped here, according to their record."""

import json
import re
from typing import Any, Callable, Dict, List, Mapping, Sequence

RUNNING = "running"
STARTING = "starting"
"""A unit that systemd starts, or starts again and again because it fails."""
STOPPING = "stopping"
"""A unit whose stop has not ended."""
STOPPED = "stopped"
ENDED = "ended"
UNKNOWN = "unknown"
"""A unit that systemd has never heard of."""
STATES = (RUNNING, STARTING, STOPPING, STOPPED, ENDED, UNKNOWN)

# What systemd says of a unit that is not down. Only what is known to be down is down.
_RELOADING = ("reloading", "refreshing")
_UP = ("active", *_RELOADING)
_CHANGING = ("activating", "deactivating", "maintenance")
# `is-active` has one answer for a unit that is stopped and for one that does not exist.
_SHOW = ["systemctl", "show", *("--property=" + name for name in ("LoadState", "ActiveState", "Job", "Type")), "--"]
# The units that systemd stops with a unit, and does not start with it.
_BEHIND = ("RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo")
# A transient unit is gone when it is stopped.
_SHOW_BEHIND = [
    "systemctl",
    "show",
    *("--property=" + name for name in ("Id", "ActiveState", "CanStart", "Transient", *_BEHIND)),
    "--",
]
# Exit statuses of a command for the status, as of init scripts: not running, dead with a file left.
_DOWN = (1, 2, 3)

# Runs a command; returns its exit status, and what it said on the standard output and the standard error output.
Runner = Callable[[List[str]], Sequence[Any]]


class ServiceStateError(ValueError):
    """It cannot be known whether a service runs. The message says why."""


def is_asked(service: Mapping[str, Any]) -> bool:
    """Whether a service has a state that can be asked for: of one that is stopped by tasks alone, they find out."""
    return bool(service.get("status") or not service.get("stop_tasks"))


def state_of(name: str, status: Sequence[str], run: Runner) -> str:
    """Ask for the state of a service.

    :param name: that of the unit, where `status` is empty
    :param status: a command that ends with 0 if the service runs, with 1, 2 or 3 if it does not
    :returns: `RUNNING`, `STOPPED`, and of a unit also `STARTING`, `STOPPING`, `UNKNOWN`, or `ENDED` if it has done
        its work, as a oneshot does. A oneshot that does its work is `RUNNING`
    :raises ServiceStateError: if the command ends in another way
    """
    code, said, error = run(list(status) or [*_SHOW, name])
    if code != 0 and not (status and code in _DOWN):
        raise ServiceStateError(
            "%s: %s ended with exit status %s%s: %s"
            % (
                name,
                " ".join(status or _SHOW),
                code,
                ", which is neither 0, running, nor 1 to 3, stopped" if status else "",
                str(error or said).strip() or "no output",
            )
        )
    if status:
        return RUNNING if code == 0 else STOPPED
    active = _property(said, "ActiveState")
    is_oneshot = _property(said, "Type") == "oneshot"
    # At a boot, what is about to be started is inactive, and has a job; so has what runs and is about to be stopped.
    has_job = _property(said, "Job") not in ("", "0")
    if active in (_RELOADING if has_job else _UP) or (active == "activating" and is_oneshot):
        return RUNNING
    if active == "deactivating":
        return STOPPING
    if active in (*_UP, *_CHANGING) or has_job:
        return STARTING
    if _property(said, "LoadState") not in ("loaded", "masked"):
        return UNKNOWN
    return ENDED if is_oneshot and active != "failed" else STOPPED


def stopped_with(name: str, run: Runner) -> List[str]:
    """The units that run, that systemd stops with a unit, and that can be started again. None if it does not answer."""
    found = {}  # type: Dict[str, bool]
    ahead = [name]
    while ahead:
        code, said, _error = run([*_SHOW_BEHIND, *ahead])
        units = str(said or "").split("\n\n") if code == 0 else []
        behind = [each for unit in units for kind in _BEHIND for each in _property(unit, kind).split()]
        for unit in units:
            is_up = _property(unit, "ActiveState") in (*_UP, *_CHANGING)
            can_start = _property(unit, "CanStart") == "yes" and _property(unit, "Transient") != "yes"
            found[_property(unit, "Id")] = is_up and can_start
        ahead = [each for each in dict.fromkeys(behind) if each not in found]
    # The unit itself comes first, whatever it is called.
    return [each for each, is_meant in list(found.items())[1:] if is_meant]


def read_record(text: str) -> List[Dict[str, Any]]:
    """Read the record of services that were stopped, lines of JSON: what was stopped last comes first.

    :raises ServiceStateError: if it is none
    """
    services = {}  # type: Dict[str, Dict[str, Any]]
    try:
        entries = [entry for line in text.splitlines() if line.strip() for entry in json.loads(line)]
        for entry in reversed(entries):
            services.setdefault(_name_of(entry), dict(entry))
    except (TypeError, ValueError) as error:
        raise ServiceStateError("it contains no lists of services: %s" % error) from error
    return list(services.values())


def _name_of(entry: Mapping[str, Any]) -> str:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ValueError("%r has no name" % (entry,))
    return str(entry["name"])


def _property(said: Any, name: str) -> str:
    found = re.search("(?m)^%s=(.*)$" % name, str(said or ""))
    return found.group(1).strip() if found else ""
