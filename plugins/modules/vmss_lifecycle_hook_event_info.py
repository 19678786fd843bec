#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_lifecycle_hook_event_info."""

DOCUMENTATION = r"""
module: vmss_lifecycle_hook_event_info
short_description: Read Azure's questions about the image upgrade of a scale set, and how long it waits
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads the lifecycle hook events of a virtual machine scale set, including completed ones.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  resource_group:
    description: The resource group.
    type: str
    required: true
  scale_set:
    description: The name of the scale set.
    type: str
    required: true
  name:
    description: The name of the event. By default, all events.
    type: str
  states:
    description: Only events in one of these states. By default, all states.
    type: list
    elements: str
    choices: [Active, Completed]
  types:
    description: Only events of hooks of these types, in Azure's spelling. By default, all types.
    type: list
    elements: str
notes:
  - Needs C(Microsoft.Compute/virtualMachineScaleSets/lifecycleHookEvents/read), which the role Reader grants.
  - Lifecycle hooks are a public preview of Azure's, in Microsoft.Compute 2025-11-01 and later.
seealso:
  - module: foghorn.azure_events.vmss_lifecycle_hook_event
  - module: foghorn.azure_events.vmss_lifecycle_hooks
"""

EXAMPLES = r"""
- name: Read which instances Azure asks about
  foghorn.azure_events.vmss_lifecycle_hook_event_info:
    resource_group: shop
    scale_set: web
    states: [Active]
  delegate_to: localhost
  run_once: true
  register: waiting
"""

RETURN = r"""
events:
  description: The events, in Azure's order.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name, a GUID.
      type: str
    type:
      description: The type of the hook.
      type: str
    state:
      description: V(Active), or V(Completed) when all of its targets are in a final state.
      type: str
    time_created:
      description: When Azure asked, in UTC.
      type: str
    wait_until:
      description: Until when Azure waits, in UTC. After that it takes the default action for waiting targets.
      type: str
    max_wait_until:
      description: Latest time to which that can be extended, in UTC.
      type: str
    seconds_left:
      description: Seconds until RV(events[].wait_until), by the controller's clock; 0 if it has passed.
      type: int
    default_action:
      description: Action for targets without an answer, V(Approve) or V(Reject).
      type: str
    priority:
      description: Azure's priority of the upgrade, given before it schedules one. V(none) otherwise.
      type: str
    targets:
      description:
        - The targets, instances or the scale set itself. Each has C(id), C(instance_id), C(vm_name) and C(state), which
          is V(Waiting), V(Approved) or V(Rejected). C(instance_id) and C(vm_name) are V(none) for the scale set.
      type: list
      elements: dict
  sample:
    - name: 445c0a08-cfc5-4ef6-bb89-fe77c5178628
      type: UpgradeAutoOSRollingBatchStarting
      state: Active
      time_created: "2026-11-25T06:17:55Z"
      wait_until: "2026-11-25T06:47:55Z"
      max_wait_until: "2026-11-25T10:17:55Z"
      seconds_left: 1790
      default_action: Approve
      priority: null
      targets:
        - id: >-
            /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/0
          instance_id: "0"
          vm_name: web_0
          state: Waiting
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

from ..module_utils.arm import lifecycle_hook_events
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.options import read_name
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module(
        {
            "resource_group": {"type": "str", "required": True},
            "scale_set": {"type": "str", "required": True},
            "name": {"type": "str"},
            "states": {"type": "list", "elements": "str", "choices": list(lifecycle_hook_events.EVENT_STATES)},
            "types": {"type": "list", "elements": "str"},
        },
        prepare,
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    group, scale_set = read_name(options, "resource_group"), read_name(options, "scale_set")
    choice = (options["name"], options["states"], options["types"])

    def work(client: ArmClient) -> dict[str, Any]:
        return {"changed": False, "events": lifecycle_hook_events.list_events(client, group, scale_set, *choice)}

    return work


if __name__ == "__main__":
    main()
