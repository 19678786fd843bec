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
      - Known are V(Preempt), V(Terminate), V(Redeploy), V(Reboot), V(SpotRebalanceRecommendation) and V(Freeze), in any
        case. What is nearly one of these is refused. Any other type is looked for with a warning, because Azure may add
        some.
    type: list
    elements: str
  event_sources:
    description:
      - Choose events from these sources, V(Platform) or V(User) in any case, where O(event_sources=User) is what
        somebody asked Azure to do.
      - Events that are read in a version before V(2019-08-01) have no source, and are not chosen when this is set.
    type: list
    elements: str
  event_statuses:
    description:
      - Choose events of these statuses, V(Scheduled) or V(Started) in any case.
      - There is no status for the end, because an event that is over, or was withdrawn, is no longer listed. Only the
        lookup knows two, V(Completed) and V(Canceled), where it reads Azure Resource Graph.
    type: list
    elements: str
"""
