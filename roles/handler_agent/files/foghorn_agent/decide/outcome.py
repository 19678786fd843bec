# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a step ended, for decisions about what comes next."""

from typing import NamedTuple


class StepOutcome(NamedTuple):
    """How a step ended."""

    succeeded: bool
    reason: str
    """Why it failed: `exit status 3`, `killed by SIGKILL`, or why it was ended early."""
    output: str
    """The last 8 KiB of its standard output and error. An ellipsis marks what was cut off."""
    seconds: float
    cut_off: bool = False
    """Whether it failed because the plan had no more time for it."""
    hook: str = ""
    """With a directory of hooks: the name of the hook that failed, if one did."""
    hooks_left: int = 0
    """How many hooks come after that one."""
