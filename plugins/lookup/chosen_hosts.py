# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The lookup of the hosts that an operator has chosen."""

from __future__ import annotations

DOCUMENTATION = r"""
name: chosen_hosts
short_description: List the hosts that patterns match
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - "Internal: may change without notice."
  - Lists the hosts of the inventory that match, like P(ansible.builtin.inventory_hostnames#lookup). A pattern may also
    be a list of patterns, or a list as text, as a survey or C(--extra-vars) hands it over.
options:
  _terms:
    description: The patterns, each a text or a list.
    type: list
    elements: raw
    required: true
"""

EXAMPLES = r"""
- name: Show which hosts were chosen
  ansible.builtin.debug:
    msg: "{{ query('foghorn.azure_events.chosen_hosts', ['web*', 'db-1']) }}"
"""

RETURN = r"""
_raw:
  description: The names of the hosts, in the order of the inventory.
  type: list
  elements: str
"""

from typing import Any

from ansible.plugins.lookup.inventory_hostnames import LookupModule as InventoryHostnames
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.typed import host_patterns


class LookupModule(InventoryHostnames):
    """Lists hosts."""

    def run(self, terms: list[Any], variables: dict[str, Any] | None = None, **_options: Any) -> list[str]:
        """List the hosts that match any of the patterns."""
        patterns = ",".join(pattern for term in terms for pattern in host_patterns(term))
        found: list[str] = super().run([patterns], variables=variables)
        return found
