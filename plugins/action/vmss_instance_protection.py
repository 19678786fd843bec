# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action vmss_instance_protection fails if the host that asks Azure is lost."""

from __future__ import annotations

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.unreachable import AzureAction


class ActionModule(AzureAction):
    """Runs the module of the same name, which documents it."""
