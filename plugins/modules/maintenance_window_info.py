#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module maintenance_window_info."""

DOCUMENTATION = r"""
module: maintenance_window_info
short_description: Read which VMs have planned maintenance, and when their owner may begin it
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads the planned maintenance windows of one machine, of a resource group or of whole subscriptions.
  - Azure returns a window only if maintenance is planned. Machines without one are not in the result.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.target
  - foghorn.azure_events.azure.places
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  resource_group:
    description:
      - The resource group of O(name) or O(scale_set).
      - Without a machine, all machines of this resource group are read. If it is not set either, all machines of the
        subscriptions.
    type: str
notes:
  - All VMs form one list, and the instances of each uniform scale set another.
seealso:
  - module: foghorn.azure_events.vm_maintenance
"""

EXAMPLES = r"""
- name: Read what is planned in the subscription
  foghorn.azure_events.maintenance_window_info:
  delegate_to: localhost
  register: planned

- name: Name the machines whose maintenance may be begun now
  ansible.builtin.debug:
    msg: "{{ planned.machines | selectattr('self_service_allowed') | map(attribute='name') }}"
"""

RETURN = r"""
machines:
  description: The machines that have a window.
  returned: success
  type: list
  elements: dict
  sample:
    - id: >-
        /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachines/database
      name: database
      self_service_allowed: true
      self_service_start: "2026-05-01T00:00:00Z"
      self_service_end: "2026-06-05T00:00:00Z"
      scheduled_start: "2026-06-07T00:00:00Z"
      scheduled_end: "2026-06-21T00:00:00Z"
      last_result: None
      last_message: null
  contains:
    id:
      description: The machine's id.
      type: str
    name:
      description: Its name, as scheduled events have it.
      type: str
    self_service_allowed:
      description: Whether its owner may begin the maintenance now.
      type: bool
    self_service_start:
      description: Start of the window for its owner, RFC 3339.
      type: str
    self_service_end:
      description: Until when.
      type: str
    scheduled_start:
      description: Start of the window for Azure, RFC 3339.
      type: str
    scheduled_end:
      description: End of the window for Azure, RFC 3339.
      type: str
    last_result:
      description: Result of the last attempt, V(None), V(RetryLater), V(MaintenanceAborted) or V(MaintenanceCompleted).
      type: str
    last_message:
      description: Azure's message.
      type: str
auth_source_used:
  description: Where the credentials came from, V(parameters), V(env), V(credential_file), V(cli) or V(msi).
  returned: success
  type: str
  sample: env
subscription_id:
  description: The subscription that was asked.
  returned: success
  type: str
  sample: 00000000-0000-0000-0000-000000000001
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import maintenance
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.options import places_arguments, read_optional_name, read_places
from ..module_utils.arm.resource_graph import subscriptions_of
from ..module_utils.arm.target import read_target, target_arguments, target_rules
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    rules = target_rules(required=False, places=True)
    run_module({**target_arguments(), **places_arguments()}, prepare, **rules)


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    names_one = any(options[option] is not None for option in ("id", "name", "scale_set"))
    target = read_target(options) if names_one else None
    group = read_optional_name(options, "resource_group")
    places = read_places(options)

    def work(client: ArmClient) -> dict[str, Any]:
        if target is None:
            subscriptions = subscriptions_of(client, places)
            return {"changed": False, "machines": maintenance.list_windows(client, group, subscriptions)}
        window = maintenance.read_window(client, target)
        found = {"id": target.path(client), "name": target.vm_name(client), **(window or {})}
        return {"changed": False, "machines": [found] if window else []}

    return work


if __name__ == "__main__":
    main()
