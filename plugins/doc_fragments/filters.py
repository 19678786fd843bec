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
      - If not set, events of all types are chosen, including unknown types.
      - Known are V(Preempt), V(Terminate), V(Redeploy), V(Reboot), V(SpotRebalanceRecommendation) and
        V(Freeze), in any case. A type that resembles one of these is refused. Any other type is accepted with a
        warning, because Azure may add types.
    type: list
    elements: str
  event_sources:
    description:
      - Choose events from these sources, V(Platform) or V(User) in any case. O(event_sources=User) means that a user
        requested the event.
      - With an O(ignore:api_version) before V(2019-08-01), events have no source, and this option chooses none.
    type: list
    elements: str
  event_statuses:
    description:
      - Choose events of these statuses, V(Scheduled) or V(Started) in any case.
      - There is no status for the end, because an event that is over or was withdrawn is no longer listed. Only the
        lookup has two more, V(Completed) and V(Canceled), when it reads Azure Resource Graph.
    type: list
    elements: str
"""
