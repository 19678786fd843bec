# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python3 -m azure_simulator``."""

import sys

from .cli import main

sys.exit(main())
