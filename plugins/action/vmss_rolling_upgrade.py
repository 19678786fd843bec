# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the controller adds to the module vmss_rolling_upgrade: it says how far the module is."""

from __future__ import annotations

from typing import Any

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.speaking import speaking


class ActionModule(ActionBase):
    """Runs the module, and shows its progress while it runs."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run it. In the background nobody would see the progress."""
        begun: dict[str, Any] = super().run(tmp, task_vars)
        if self._task.async_val:
            return {**begun, **self._execute_module(task_vars=task_vars, wrap_async=True)}
        name = self._task.args.get("name")
        display = Display()
        with speaking(
            lambda line: display.display("[%s]: %s" % (name, line), stderr=True), constants.DEFAULT_LOCAL_TMP
        ) as path:
            arguments = {**self._task.args, "progress_file": path}
            return {**begun, **self._execute_module(module_args=arguments, task_vars=task_vars)}
