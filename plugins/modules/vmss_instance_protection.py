#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_instance_protection."""

DOCUMENTATION = r"""
module: vmss_instance_protection
short_description: Protect instances of a scale set, and unprotect them
version_added: 0.1.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Protects chosen instances of a uniform virtual machine scale set from being scaled in, or from all that is done to
    the set as a whole. Automatic repairs and upgrades of the model are among that.
  - What is done to an instance by itself, its deletion among it, is not held up by this, nor is anything that Azure
    does for the maintenance of a host.
  - Members of flexible scale sets cannot be protected. A management lock keeps those from being deleted.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  resource_group:
    description: The resource group.
    type: str
    required: true
  scale_set:
    description: The name of the uniform scale set.
    type: str
    required: true
  instances:
    description: Ids of instances (V(3)), or their names as scheduled events have them (V(web_3)).
    type: list
    elements: str
    required: true
  scale_in:
    description:
      - Whether the instances are protected from being scaled in by autoscale.
      - If not set, that stays as it is.
    type: bool
  scale_set_actions:
    description:
      - Whether the instances are protected from the actions of their set, which includes being scaled in.
      - If not set, that stays as it is.
    type: bool
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
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
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web
instances:
  description: The instances, as they were named. After a failure, those that were done.
  returned: success, and when it failed after the first was changed
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
      returned: always
    changed:
      description: Whether its protection was changed, or in check mode would be.
      type: bool
      returned: always
    before:
      description: Its protection as it was found.
      type: dict
      returned: always
    after:
      description: Its protection as it is now, or in check mode would be.
      type: dict
      returned: always
may_still_happen:
  description:
    - V(true) if Azure may have accepted it, and how it ended could not be seen. The instances may be changed all the
      same. Absent where Azure has refused, or said that it failed.
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

from ..module_utils.arm.module import protection_arguments, run_protection, sign_in_arguments


def main() -> None:
    """Run the module."""
    run_protection(
        AnsibleModule(
            argument_spec={**sign_in_arguments(), **protection_arguments()},
            supports_check_mode=True,
        )
    )


if __name__ == "__main__":
    main()
