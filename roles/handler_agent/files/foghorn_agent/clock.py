# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time, and which boot of the machine it belongs to."""

from typing import Callable, NamedTuple, Optional

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Clocks(NamedTuple):
    """The time, as the agent sees it."""

    monotonic: Callable[[], float]
    wall: Callable[[], float]


def boot_id(path: str = _BOOT_ID) -> Optional[str]:
    """What stays the same until the machine boots again; None where the system does not say."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read(64).strip() or None
    except (OSError, ValueError):
        return None
