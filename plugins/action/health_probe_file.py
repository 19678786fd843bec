# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action health_probe_file. The module of the same name documents it."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.unreachable import ReachableAction, lost_while


class ActionModule(ReachableAction):
    """Runs the module on the machine, and notes since when the machine is out of rotation."""

    def lost(self, _host: str) -> str:
        """Say what the machine was doing."""
        return lost_while(
            "restored to rotation" if self._task.args.get("rotation") == "in" else "taken out of rotation"
        )

    def judged(self, answer: dict[str, Any], _host: str) -> dict[str, Any]:
        """The machine says for how long it is out: since when, only the controller's clock can say."""
        said = answer.pop("out_for", None)
        out_for = max(0.0, said) if isinstance(said, (float, int)) else 0.0
        return {**answer, "since": time.time() - out_for}
