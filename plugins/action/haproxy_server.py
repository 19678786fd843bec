# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action haproxy_server names the balancer of a failure, which a lost connection to it is."""

from __future__ import annotations

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.unreachable import PlacedAction


class ActionModule(PlacedAction):
    """Runs the module of the same name, which documents it."""
