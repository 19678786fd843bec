# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Whether an ansible-core executes templates in the text of events (CVE-2024-11079)."""

from __future__ import annotations

import re

# By minor version, the first in which that is fixed. `requires_ansible` only warns.
_FIXED = {(2, 16): 14, (2, 17): 7, (2, 18): 1}
_VERSION = re.compile(r"(\d+)\.(\d+)\.?(\d*)(.*)", re.ASCII)


def mistakes_in_version(version: str) -> list[str]:
    """Say that this version is none that may be used, if that is so. A release candidate is not its release."""
    read = _VERSION.match(version)
    if read:
        minor, patch = (int(read[1]), int(read[2])), int(read[3] or 0)
        is_earlier = bool(re.match(r"\.?(a|b|rc|dev)", read[4]))
        if minor >= (2, 19) or (minor in _FIXED and patch - is_earlier >= _FIXED[minor]):
            return []
    return [
        "ansible-core %s would execute templates in the text of events on this controller (CVE-2024-11079), or is too"
        " old for this collection. Use ansible-core 2.16.14 or a later 2.16, 2.17.7 or a later 2.17, 2.18.1 or a later"
        " 2.18, or 2.19 or later" % version
    ]
