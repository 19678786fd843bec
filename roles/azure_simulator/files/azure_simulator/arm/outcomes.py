# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long-running operations end: by themselves, or as a fault wants it."""

from __future__ import annotations

from typing import NamedTuple

from .errors import ArmError

IN_PROGRESS = "InProgress"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
CANCELED = "Canceled"
NEVER = "never"


class Ending(NamedTuple):
    """What a fault wants to become of an operation: a status to end with, or `NEVER`."""

    status: str
    error: ArmError | None = None
