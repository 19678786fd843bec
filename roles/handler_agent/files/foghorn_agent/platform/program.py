# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where this program was started from."""

import os


def path() -> str:
    """The zipapp, or in a checkout the package's directory."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parent = os.path.dirname(here)
    return parent if os.path.isfile(parent) else here
