#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vm_redeploy."""

DOCUMENTATION = r"""
module: vm_redeploy
short_description: Move a VM to another host
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - B(This takes the machine down) for some minutes, and empties its temporary disk. Azure starts it on another host.
    Its disks, addresses and name stay.
  - If Azure predicts a hardware failure, it announces a V(Redeploy) event up to seven days ahead. Microsoft advises to
    approve the event at a time that suits you; a redeployment by yourself has the same effect. The playbook
    C(foghorn.azure_events.redeploy_early) drains, redeploys and restores the machine.
  - If the machine polls for scheduled events, the redeployment is an event too (source V(User)). It waits for an
    approval, or 10 minutes, unless C(approve_user_initiated_redeploy) of
    M(foghorn.azure_events.scheduled_events_policy) is set.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.target
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  wait:
    description:
      - Wait until the machine runs on another host.
      - With V(false) the module ends once Azure has accepted it. The machine may go down at any moment after that.
    type: bool
    default: true
attributes:
  check_mode:
    details: Checks that the machine exists.
  diff_mode:
    support: none
  idempotent:
    support: none
    details: Each run redeploys.
notes:
  - Needs C(Microsoft.Compute/virtualMachines/redeploy/action), for an instance of a uniform set
    C(Microsoft.Compute/virtualMachineScaleSets/virtualMachines/redeploy/action). The role Virtual Machine Contributor
    grants both.
seealso:
  - module: foghorn.azure_events.vm_maintenance
  - module: foghorn.azure_events.scheduled_events_policy
"""

EXAMPLES = r"""
- name: Move a VM to another host
  foghorn.azure_events.vm_redeploy:
    resource_group: shop
    name: database
  delegate_to: localhost

- name: Move an instance of a scale set to another host
  foghorn.azure_events.vm_redeploy:
    resource_group: shop
    scale_set: web
    instance_id: "1"
  delegate_to: localhost
"""

RETURN = r"""
id:
  description: The id of the machine.
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachines/database
may_still_happen:
  description:
    - V(true) if Azure may have accepted the request, but its result is unknown. The machine may go down at any moment,
      so do not restore it to rotation. Absent if Azure refused the request or reported a failure.
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

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import maintenance
from ..module_utils.arm.target import read_target, target_arguments, target_rules
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module({**target_arguments(), "wait": {"type": "bool", "default": True}}, prepare, **target_rules())


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    target, wait = read_target(module.params), module.params["wait"]
    return lambda client: {"changed": True, "id": maintenance.redeploy(client, target, wait, module.check_mode)}


if __name__ == "__main__":
    main()
