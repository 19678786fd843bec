# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action rotation_claim. The module of the same name documents it."""

from __future__ import annotations

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.unreachable import ReachableAction, lost_while


class ActionModule(ReachableAction):
    """Runs the module on the machine. An unreachable machine is a failure, so that no run goes on as if it had the
    claim.
    """

    def lost(self, _host: str) -> str:
        """Say what the machine was doing."""
        return lost_while("leased or released")
