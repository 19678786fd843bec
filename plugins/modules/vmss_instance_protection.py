#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_instance_protection."""

DOCUMENTATION = r"""
module: vmss_instance_protection
short_description: Protect instances of a scale set, and unprotect them
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Protects instances of a uniform virtual machine scale set from scale-in, or from all actions on the scale set,
    including automatic repairs and upgrades of the model.
  - With O(record), the module writes down which instances it protects from actions of their scale set. Instances that
    were protected before stay so with O(as_recorded).
  - The protection does not prevent actions on a single instance, such as its deletion, and does not prevent Azure's
    host maintenance.
  - Members of flexible scale sets cannot be protected. Use a management lock to prevent their deletion.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.record
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  resource_group:
    description: The resource group. Required, unless O(as_recorded=true).
    type: str
  scale_set:
    description: The name of the uniform scale set. Required, unless O(as_recorded=true).
    type: str
  instances:
    description: Ids of instances (V(3)), or their names in scheduled events (V(web_3)). Required, unless
      O(as_recorded=true).
    type: list
    elements: str
  scale_in:
    description:
      - Whether the instances are protected from scale-in by autoscale.
      - If not set, this stays as it is.
    type: bool
  scale_set_actions:
    description:
      - Whether the instances are protected from actions of their scale set, including scale-in. With O(record), only
        V(true).
      - If not set, this stays as it is.
    type: bool
attributes:
  diff_mode:
    support: full
notes:
  - Needs C(Microsoft.Compute/virtualMachineScaleSets/virtualMachines/write), which the role Virtual Machine Contributor
    grants.
seealso:
  - module: foghorn.azure_events.vmss_automatic_repairs
  - name: Instance protection
    description: Microsoft's description.
    link: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-instance-protection
"""

EXAMPLES = r"""
- name: Have nothing done to an instance while it is drained
  foghorn.azure_events.vmss_instance_protection:
    resource_group: shop
    scale_set: web
    instances: [web_1]
    scale_set_actions: true
  delegate_to: localhost

- name: Treat it like the others again
  foghorn.azure_events.vmss_instance_protection:
    resource_group: shop
    scale_set: web
    instances: [web_1]
    scale_set_actions: false
  delegate_to: localhost
"""

RETURN = r"""
id:
  description: The id of the scale set.
  returned: success if a scale set was asked for
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web
instances:
  description: The instances, by the given names. After a failure, those that were changed before it.
  returned: success if a scale set was asked for, and when it failed after the first was changed
  type: list
  elements: dict
  sample:
    - instance_id: "1"
      changed: true
      before: {scale_in: false, scale_set_actions: false}
      after: {scale_in: false, scale_set_actions: true}
  contains:
    instance_id:
      description: The instance's id.
      type: str
    changed:
      description: Whether its protection was changed, or in check mode would be.
      type: bool
    before:
      description: Its protection before the task.
      type: dict
    after:
      description: Its protection after the task, or in check mode the expected one.
      type: dict
recorded:
  description: The lines of the record. Empty without one.
  returned: if O(record) is given
  type: list
  elements: str
  sample: ['["00000000-0000-0000-0000-000000000001", "shop", "web", "1"]']
records:
  description: The files on this host that hold the record. Remove them once the machine is back, and copies before.
  returned: if O(record) is given
  type: list
  elements: str
  sample: [/var/lib/myself/removals/instance_protection_web3_0123456789abcdef0123456789abcdef.json]
may_still_happen:
  description:
    - V(true) if Azure may have accepted the change, but its result is unknown. The instances may be changed. Absent if
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

from typing import Any, Optional

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import protection
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.options import read_name
from ..module_utils.arm.records import Record, record_arguments
from ..module_utils.arm.task import Work, make_module, run_task
from ..module_utils.scheduled_events.errors import OptionError


def main() -> None:
    """Run the module."""
    module = make_module(
        {
            **record_arguments(),
            "resource_group": {"type": "str"},
            "scale_set": {"type": "str"},
            "instances": {"type": "list", "elements": "str"},
            **{part: {"type": "bool"} for part in protection.PARTS},
        },
        required_if=[("as_recorded", False, ("resource_group", "scale_set", "instances"))],
    )
    record = Record(module.params, protection.RECORD, is_dry=module.check_mode)

    def report(module: AnsibleModule, outcome: Optional[protection.ProtectionChange]) -> dict[str, Any]:
        return {**(report_protection(module, outcome) if outcome else {"changed": False}), **record.result()}

    run_task(module, lambda module: prepare(module, record), report)


def prepare(module: AnsibleModule, record: Record) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options, is_dry = module.params, module.check_mode or record.only
    record.check()
    if record.back:
        return lambda client: protection.unprotect_recorded(client, record, is_dry)
    desired = protection.read_desired_state(options)
    if record.is_wanted and desired != {"scale_set_actions": True}:
        raise OptionError("record: is for scale_set_actions=true alone. To undo that, set as_recorded=true")
    group, name = read_name(options, "resource_group"), read_name(options, "scale_set")
    instances = protection.read_instances(name, options["instances"])

    def work(client: ArmClient) -> protection.ProtectionChange:
        return protection.protect(client, group, name, instances, desired, is_dry, record)

    return work


def report_protection(module: AnsibleModule, outcome: protection.ProtectionChange) -> dict[str, Any]:
    """Put what was done into the result."""
    report: dict[str, Any] = {
        "changed": outcome.changed and not module.params["record_only"],
        "id": outcome.scale_set_id,
        "instances": list(outcome.instances),
    }
    if module._diff:
        report["diff"] = {
            when: {one["instance_id"]: one[when] for one in outcome.instances} for when in ("before", "after")
        }
    return report


if __name__ == "__main__":
    main()
