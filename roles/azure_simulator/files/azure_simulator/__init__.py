# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Azure in miniature: what a virtual machine and its operator see of Scheduled Events.

Run it with ``azure-in-miniature serve --config fleet.yml``, or in a test with
:class:`azure_simulator.testing.Simulator`. It shares no code with the handlers that are tried
against it: it is their judge.
"""

__version__ = "1.0.0"
