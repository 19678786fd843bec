# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action connections_drained. The module of the same name documents it."""

from __future__ import annotations

from typing import Any

from ansible.utils.display import Display
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.unreachable import ReachableAction, lost_while


class ActionModule(ReachableAction):
    """Runs the module on the machine, and shows which connections remain. A lost machine is a failure."""

    def lost(self, _host: str) -> str:
        """Say what the machine was doing."""
        return lost_while("waiting for the end of its connections")

    def judged(self, answer: dict[str, Any], host: str) -> dict[str, Any]:
        """Show them."""
        remaining = answer.get("remaining")
        if isinstance(remaining, list) and remaining:
            said = "Time ran out, connections remain: %s" % ", ".join(map(str, remaining))
            Display().display(plain("[%s]: %s" % (host, said)), stderr=True)
        return answer
