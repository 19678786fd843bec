#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_automatic_repairs."""

DOCUMENTATION = r"""
module: vmss_automatic_repairs
short_description: Suspend and resume the automatic instance repairs of a scale set
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - A virtual machine scale set with automatic instance repairs replaces unhealthy instances. If the load balancer's
    probe decides about health, an instance that was taken out of rotation is unhealthy too, and Azure replaces it after
    the grace period (10 minutes, unless its model differs).
  - Suspend the repairs before a drain that may take that long, and resume them after it.
  - The module does not turn repairs on or off in the scale set's model. If they are off, it does nothing.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.scale_set
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  state:
    description: Whether repairs run or are suspended.
    type: str
    required: true
    choices: [running, suspended]
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: partial
    details: Azure does not show whether the repairs of a flexible scale set are suspended. For these, every run
      requests O(state) again.
notes:
  - Needs C(Microsoft.Compute/virtualMachineScaleSets/setOrchestrationServiceState/action) and
    C(Microsoft.Compute/virtualMachineScaleSets/instanceView/read), which the role Virtual Machine Contributor grants.
seealso:
  - module: foghorn.azure_events.vmss_instance_protection
  - module: foghorn.azure_events.vmss_terminate_notification_info
  - name: Automatic instance repairs
    description: Microsoft's description.
    link: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-automatic-instance-repairs
"""

EXAMPLES = r"""
- name: Have Azure replace no instance while some are out of rotation
  foghorn.azure_events.vmss_automatic_repairs:
    resource_group: shop
    name: web
    state: suspended
  delegate_to: localhost
  run_once: true

- name: Let repairs go on
  foghorn.azure_events.vmss_automatic_repairs:
    resource_group: shop
    name: web
    state: running
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
    - The state before the task. C(state) is V(running), V(suspended), V(off) if the model has no repairs, or V(unknown)
      if Azure does not show it, as for flexible scale sets.
  returned: success, and when it failed after a change
  type: dict
  sample: {state: running}
after:
  description: The state after the task, or in check mode the expected one, in the same form.
  returned: success, and when it failed after a change
  type: dict
  sample: {state: suspended}
may_still_happen:
  description:
    - V(true) if Azure may have accepted the change, but its result is unknown. The repairs may be suspended or resumed.
      Absent if Azure refused the change or reported a failure.
  returned: failure
  type: bool
  sample: true
auth_source_used:
  description: Where the credentials came from, V(parameters), V(env), V(credential_file), V(cli) or V(msi).
  returned: success
  type: str
  sample: env
subscription_id:
  description: The subscription that was used.
  returned: success
  type: str
  sample: 00000000-0000-0000-0000-000000000001
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import repairs
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.options import read_name
from ..module_utils.arm.task import Work, before_and_after, run_task, sign_in_arguments, warn


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **sign_in_arguments(),
            "resource_group": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "required": True, "choices": list(repairs.STATES)},
        },
        supports_check_mode=True,
    )
    run_task(module, prepare, report_repairs)


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    group, name = read_name(options, "resource_group"), read_name(options, "name")

    def work(client: ArmClient) -> repairs.RepairsChange:
        return repairs.set_state(client, group, name, options["state"], module.check_mode)

    return work


def report_repairs(module: AnsibleModule, outcome: repairs.RepairsChange) -> dict[str, Any]:
    """Put what was done into the result."""
    warn(module, outcome.warnings)
    return {
        "changed": outcome.changed,
        "id": outcome.scale_set_id,
        **before_and_after(module, {"state": outcome.before}, {"state": outcome.after}),
    }


if __name__ == "__main__":
    main()
