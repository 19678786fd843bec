# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action vmss_terminate_notification shows the module's progress."""

from __future__ import annotations

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.progress_action import ProgressAction


class ActionModule(ProgressAction):
    """Runs the module, and shows its progress while it runs."""
