# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Which units does this machine's systemd not know?"""

import subprocess
from typing import List, Sequence

_NOT_FOUND = "LoadState=not-found"
_PATIENCE = 5.0  # seconds


def unknown_units(names: Sequence[str]) -> List[str]:
    """Return those of the units that systemd has never heard of; none where there is no systemd that answers."""
    if not names:
        return []
    command = ["systemctl", "show", "--property=LoadState", "--", *names]
    try:
        answer = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    states = [line for line in answer.stdout.decode("utf-8", "replace").splitlines() if line]
    # One for each, in order.
    return [name for name, state in zip(names, states) if state == _NOT_FOUND] if len(states) == len(names) else []
