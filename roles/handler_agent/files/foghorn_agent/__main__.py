# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts foghorn-agent."""

import sys


def start() -> int:
    """Do what the command line asks for.

    :returns: the exit status
    """
    if "run" in sys.argv[1:]:
        # Only the service lives long enough to gain from this.
        from foghorn_agent.precompile import compile_elsewhere

        compile_elsewhere()
    from foghorn_agent.cli import main

    return main()


sys.exit(start())
