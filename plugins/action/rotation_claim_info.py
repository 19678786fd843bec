# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action rotation_claim_info. The module of the same name documents it."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Runs the module on the host, and notes the time of the answer by the controller's clock."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run it. The host reads the clock that it returns between the two instants."""
        begun: dict[str, Any] = super().run(tmp, task_vars)
        asked_at = time.time()
        answer = self._execute_module(task_vars=task_vars)
        return {**begun, **answer, "asked_at": asked_at, "answered_at": time.time()}
