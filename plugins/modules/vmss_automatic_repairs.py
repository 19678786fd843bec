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
  - With O(record), repairs that are suspended for one machine are resumed only if no other machine has a record of the
    same scale set in the same directory. Repairs that somebody else has suspended stay suspended.
  - The record of another machine does not count if it names a VM that Azure has deleted or is deleting. The module
    removes it.
  - The module does not turn repairs on or off in the scale set's model. If they are off, it does nothing.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.record
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  resource_group:
    description: The resource group. Required, unless O(as_recorded=true).
    type: str
  name:
    description: The name of the scale set. Required, unless O(as_recorded=true).
    type: str
  state:
    description: Whether repairs run or are suspended. Required, unless O(as_recorded=true).
    type: str
    choices: [running, suspended]
  vm_id:
    description: The resource id of the machine's VM, or of its instance of a uniform scale set, for its O(record).
      Without it, the record of a machine that was deleted keeps the repairs suspended until somebody removes the file.
    type: str
attributes:
  diff_mode:
    support: full
  idempotent:
    support: partial
    details: Azure does not show whether the repairs of a flexible scale set are suspended. For these, every run
      requests O(state) again.
notes:
  - Needs C(Microsoft.Compute/virtualMachineScaleSets/setOrchestrationServiceState/action) and
    C(Microsoft.Compute/virtualMachineScaleSets/instanceView/read), which the role Virtual Machine Contributor grants.
  - With O(vm_id) also C(Microsoft.Compute/virtualMachines/read), or for a uniform scale set
    C(Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read), which the same role grants.
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
  returned: success if a scale set was asked for, and when it failed after a change
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web
before:
  description:
    - The state before the task. C(state) is V(running), V(suspended), V(off) if the model has no repairs, or V(unknown)
      if Azure does not show it, as for flexible scale sets.
  returned: success if a scale set was asked for, and when it failed after a change
  type: dict
  sample: {state: running}
after:
  description: The state after the task, or in check mode the expected one, in the same form.
  returned: success if a scale set was asked for, and when it failed after a change
  type: dict
  sample: {state: suspended}
recorded:
  description: The lines of the record, each the id of a scale set, and after a space O(vm_id). Empty without one.
  returned: if O(record) is given
  type: list
  elements: str
  sample:
    - >-
      /subscriptions/00000000-0000-0000-0000-000000000001/resourcegroups/shop/providers/microsoft.compute/virtualmachinescalesets/web
      /subscriptions/00000000-0000-0000-0000-000000000001/resourcegroups/shop/providers/microsoft.compute/virtualmachines/web_3
records:
  description: The files on this host that hold the record. Remove them once the machine is back, and copies before.
  returned: if O(record) is given
  type: list
  elements: str
  sample: [/var/lib/myself/removals/suspended_repairs_web3_0123456789abcdef0123456789abcdef]
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

from typing import Any, Optional

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import repairs
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.ip_configurations import check_vm_id
from ..module_utils.arm.options import read_name
from ..module_utils.arm.records import Record, record_arguments
from ..module_utils.arm.task import Work, before_and_after, make_module, run_task, warn


def main() -> None:
    """Run the module."""
    module = make_module(
        {
            **record_arguments(),
            "resource_group": {"type": "str"},
            "name": {"type": "str"},
            "state": {"type": "str", "choices": list(repairs.STATES)},
            "vm_id": {"type": "str"},
        },
        mutually_exclusive=[("state", "as_recorded")],
        required_by={"vm_id": ("record",)},
        required_if=[("as_recorded", False, ("resource_group", "name", "state"))],
    )
    record = Record(module.params, repairs.RECORD, ending="", is_dry=module.check_mode)

    def report(module: AnsibleModule, outcome: Optional[repairs.RepairsChange]) -> dict[str, Any]:
        return {**(report_repairs(module, outcome) if outcome else {"changed": False}), **record.result()}

    run_task(module, lambda module: prepare(module, record), report)


def prepare(module: AnsibleModule, record: Record) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options, is_dry = module.params, module.check_mode or record.only
    record.check()
    vm_id = options["vm_id"] or ""
    if vm_id:
        check_vm_id("vm_id", vm_id)
    scale_set = None if record.back else (read_name(options, "resource_group"), read_name(options, "name"))

    def work(client: ArmClient) -> Optional[repairs.RepairsChange]:
        if scale_set is not None and not record.is_wanted:
            return repairs.set_state(client, *scale_set, options["state"], is_dry)
        if scale_set is None or options["state"] == repairs.RUNNING:
            return repairs.resume_recorded(client, record, is_dry, scale_set)
        return repairs.suspend_recorded(client, *scale_set, record, is_dry, vm_id)

    return work


def report_repairs(module: AnsibleModule, outcome: repairs.RepairsChange) -> dict[str, Any]:
    """Put what was done into the result."""
    warn(module, outcome.warnings)
    return {
        "changed": outcome.changed and not module.params["record_only"],
        "id": outcome.scale_set_id,
        **before_and_after(module, {"state": outcome.before}, {"state": outcome.after}),
    }


if __name__ == "__main__":
    main()
