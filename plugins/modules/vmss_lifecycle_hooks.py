#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_lifecycle_hooks."""

DOCUMENTATION = r"""
module: vmss_lifecycle_hooks
short_description: Make Azure ask before it upgrades the image of a scale set
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Automatic image upgrades of a virtual machine scale set replace the OS disks of its instances, batch by batch. A
    lifecycle hook makes Azure wait before that, and create an event to approve or reject. The hook's default action
    applies to targets without an answer.
  - Sends only the hooks, and only if nobody has changed the scale set since it was read.
  - Hooks that are not named stay as they are, including types that this module does not know.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.scale_set
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  state:
    description: Whether the scale set has hooks.
    type: str
    default: present
    choices: [present, absent]
  hooks:
    description:
      - The hooks, at most one of each type. An option that is not given stays as it is; for a new hook, Azure chooses
        it.
      - Required if O(state=present).
    type: list
    elements: dict
    suboptions:
      type:
        description:
          - V(UpgradeAutoOSScheduling) asks once, before an upgrade is scheduled.
          - V(UpgradeAutoOSRollingBatchStarting) asks before each batch, for each of its instances.
        type: str
        required: true
        choices: [UpgradeAutoOSScheduling, UpgradeAutoOSRollingBatchStarting]
      wait_duration:
        description:
          - How long Azure waits for an answer, as an ISO 8601 duration of days, hours, minutes and seconds, like
            V(PT30M).
          - Before it schedules an upgrade, at most two days, by default an hour. Before a batch, at most four hours, by
            default 30 minutes.
        type: str
      default_action:
        description:
          - Action for targets without an answer by then. Azure's default is V(Approve).
          - Some clouds do not accept V(Reject) yet. The error says so.
        type: str
        choices: [Approve, Reject]
  exclusive:
    description: Whether hooks that O(hooks) does not name are removed.
    type: bool
    default: false
  types:
    description:
      - The types of the hooks to remove. By default all; an empty list means none.
      - Goes with O(state=absent) alone.
    type: list
    elements: str
    choices: [UpgradeAutoOSScheduling, UpgradeAutoOSRollingBatchStarting]
attributes:
  check_mode:
    details: Values that Azure chooses for a new hook are V(none) in the prediction.
  diff_mode:
    support: full
notes:
  - Needs C(Microsoft.Compute/virtualMachineScaleSets/write) and C(…/read), which the role Virtual Machine Contributor
    grants.
  - Lifecycle hooks are a public preview of Azure's, in Microsoft.Compute 2025-11-01 and later.
  - A hook of a scale set without automatic image upgrades never asks. Azure accepts it without a warning; this module
    warns.
seealso:
  - module: foghorn.azure_events.vmss_lifecycle_hooks_info
  - module: foghorn.azure_events.vmss_rolling_upgrade
  - name: Automatic upgrades of the OS image
    description: Microsoft's description.
    link: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-automatic-upgrade
"""

EXAMPLES = r"""
- name: Be asked before each batch, for an hour
  foghorn.azure_events.vmss_lifecycle_hooks:
    resource_group: shop
    name: web
    hooks:
      - type: UpgradeAutoOSRollingBatchStarting
        wait_duration: PT1H
  delegate_to: localhost
  run_once: true

- name: Be asked before each batch, and of nothing else
  foghorn.azure_events.vmss_lifecycle_hooks:
    resource_group: shop
    name: web
    hooks:
      - type: UpgradeAutoOSRollingBatchStarting
    exclusive: true
  delegate_to: localhost
  run_once: true

- name: Be asked no more
  foghorn.azure_events.vmss_lifecycle_hooks:
    resource_group: shop
    name: web
    state: absent
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
id:
  description: The id of the scale set.
  returned: success, and when it failed after a change
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web
before:
  description:
    - The hooks before the task, in C(hooks), each with C(type), C(wait_duration) and C(default_action) as Azure writes
      them.
  returned: success, and when it failed after a change
  type: dict
  sample: {hooks: []}
after:
  description: The hooks after the task, or in check mode the expected ones, in the same form.
  returned: success, and when it failed after a change
  type: dict
  sample:
    hooks: [{type: UpgradeAutoOSRollingBatchStarting, wait_duration: PT1H, default_action: Approve}]
obstacles:
  description: Reasons why no hook of this scale set will ever trigger. Empty if there are none.
  returned: success, and when it failed after a change
  type: list
  elements: str
  sample: []
may_still_happen:
  description:
    - V(true) if Azure may have accepted the change, but its result is unknown. The hooks may be changed. Absent if
      Azure refused the change or reported a failure.
  returned: failure
  type: bool
  sample: true
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

from ..module_utils.arm import lifecycle_hooks
from ..module_utils.arm.options import read_name, scale_set_arguments
from ..module_utils.arm.task import Work, before_and_after, run_module


def main() -> None:
    """Run the module."""
    run_module(
        {
            **scale_set_arguments(),
            "state": {"type": "str", "default": lifecycle_hooks.PRESENT, "choices": list(lifecycle_hooks.STATES)},
            "hooks": {
                "type": "list",
                "elements": "dict",
                "options": {
                    "type": {"type": "str", "required": True, "choices": list(lifecycle_hooks.TYPES)},
                    "wait_duration": {"type": "str"},
                    "default_action": {"type": "str", "choices": list(lifecycle_hooks.DEFAULT_ACTIONS)},
                },
            },
            "exclusive": {"type": "bool", "default": False},
            "types": {"type": "list", "elements": "str", "choices": list(lifecycle_hooks.TYPES)},
        },
        prepare,
        report_hooks,
        required_if=[("state", "present", ("hooks",))],
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    desired = lifecycle_hooks.read_desired_state(options)
    group, name = read_name(options, "resource_group"), read_name(options, "name")
    return lambda client: lifecycle_hooks.set_hooks(client, group, name, desired, module.check_mode)


def report_hooks(module: AnsibleModule, outcome: lifecycle_hooks.HooksChange) -> dict[str, Any]:
    """Put what was done into the result."""
    if outcome.obstacles and outcome.after:
        name = read_name(module.params, "name")
        module.warn("No hook of %s will ever trigger: %s" % (name, "; ".join(outcome.obstacles)))
    return {
        "changed": outcome.changed,
        "id": outcome.resource.get("id"),
        "obstacles": list(outcome.obstacles),
        **before_and_after(module, {"hooks": outcome.before}, {"hooks": outcome.after}),
    }


if __name__ == "__main__":
    main()
