# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts foghorn-agent."""

import sys

from foghorn_agent.cli import main

sys.exit(main())
