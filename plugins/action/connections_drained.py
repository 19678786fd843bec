# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action connections_drained. The module of the same name documents it."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.unreachable import fail_if_unreachable


class ActionModule(ActionBase):
    """Runs the module on the machine, and shows which connections remain. A lost machine is a failure."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run it."""
        begun: dict[str, Any] = super().run(tmp, task_vars)
        answer = fail_if_unreachable(
            lambda: self._execute_module(task_vars=task_vars), "waiting for the end of its connections"
        )
        remaining = answer.get("remaining")
        if isinstance(remaining, list) and remaining:
            said = "Time ran out, connections remain: %s" % ", ".join(map(str, remaining))
            Display().display(plain("[%s]: %s" % ((task_vars or {}).get("inventory_hostname"), said)), stderr=True)
        return {**begun, **answer}
