# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action own_directory. The module of the same name documents it."""

from __future__ import annotations

from typing import Any

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.unreachable import (
    LosableAction,
    fail_if_unreachable,
    lost_while,
)


class ActionModule(LosableAction):
    """Runs the module on the machine. Where it has something to write down, a lost machine is a failure."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run it."""
        begun: dict[str, Any] = super().run(tmp, task_vars)
        if not self._task.args.get("lines"):
            return {**begun, **self._execute_module(task_vars=task_vars)}
        return {
            **begun,
            **fail_if_unreachable(lambda: self._execute_module(task_vars=task_vars), lost_while("keeping its record")),
        }
