# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which boot of the machine this is, how long ago it was, where things lie, and how many descriptors there are."""

import errno
import os
import time
from typing import Mapping, Optional

CONFIG_PATH = "/etc/foghorn/agent.json"
HOOKS_DIRECTORY = "/etc/foghorn/hooks.d"
STATE_DIRECTORY = "/var/lib/foghorn/agent"
RUNTIME_DIRECTORY = "/run/foghorn"

ADMINISTRATOR = "root"

# Of the process, and of the machine.
NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)

# Python 3.6 has no name for it.
_CLOCK_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", 7)
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


def boot_id(path: str = _BOOT_ID) -> Optional[str]:
    """What stays the same until the machine boots again; None where the system does not say."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read(64).strip() or None
    except (OSError, ValueError):
        return None


def elapsed() -> float:
    """Seconds since the machine booted, by a clock that cannot be set. Unlike the monotonic one, it counts the hours
    for which the machine hibernates: what was heard before is old afterwards, and what was to end then has ended.
    """
    return time.clock_gettime(_CLOCK_BOOTTIME)


def is_short_of_descriptors(number: int, spare: int) -> bool:
    """Whether a new descriptor's number says that fewer than so many are left to this process."""
    return number >= os.sysconf("SC_OPEN_MAX") - spare


def state_directory_of(environment: Mapping[str, str]) -> Optional[str]:
    """The directory that the service manager has made for this service to keep things in; the first of several."""
    return _directory_of(environment, "STATE_DIRECTORY")


def runtime_directory_of(environment: Mapping[str, str]) -> Optional[str]:
    """The one that lasts until the next boot."""
    return _directory_of(environment, "RUNTIME_DIRECTORY")


def _directory_of(environment: Mapping[str, str], name: str) -> Optional[str]:
    return environment.get(name, "").partition(":")[0] or None
