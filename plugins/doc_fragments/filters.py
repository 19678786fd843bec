# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Options that choose events by what they say of themselves, wherever they are read."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  event_types:
    description:
      - Choose events of these types. An empty list chooses none.
      - If not set, events of all types are chosen, also of types that are not known yet.
    type: list
    elements: str
    choices: [Preempt, Terminate, Redeploy, Reboot, SpotRebalanceRecommendation, Freeze]
  event_sources:
    description:
      - Choose events from these sources, where O(event_sources=User) is what somebody asked Azure to do.
      - Events that are read in a version before V(2019-08-01) have no source, and are not chosen when this is set.
    type: list
    elements: str
    choices: [Platform, User]
  event_statuses:
    description:
      - Choose events of these statuses.
      - There is no status for the end, because an event that is over, or was withdrawn, is no longer listed.
    type: list
    elements: str
    choices: [Scheduled, Started]
"""
