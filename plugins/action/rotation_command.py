# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action rotation_command names the command of a failure, which a lost connection to its host is."""

from __future__ import annotations

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.unreachable import PlacedAction


class ActionModule(PlacedAction):
    """Runs the module of the same name, which documents it."""

    def place(self) -> str:
        """The name of the command."""
        return str(self._task.args.get("name"))
