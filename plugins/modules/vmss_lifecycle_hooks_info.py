#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_lifecycle_hooks_info."""

DOCUMENTATION = r"""
module: vmss_lifecycle_hooks_info
short_description: Read the lifecycle hooks of a scale set, and whether they can ever ask
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads the lifecycle hooks of a virtual machine scale set, and the reasons that prevent Azure from asking.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.scale_set
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
notes:
  - Needs C(Microsoft.Compute/virtualMachineScaleSets/read), which the role Reader grants.
  - Lifecycle hooks are a public preview of Azure's, in Microsoft.Compute 2025-11-01 and later.
seealso:
  - module: foghorn.azure_events.vmss_lifecycle_hooks
"""

EXAMPLES = r"""
- name: Read whether Azure asks
  foghorn.azure_events.vmss_lifecycle_hooks_info:
    resource_group: shop
    name: web
  delegate_to: localhost
  run_once: true
  register: hooks
"""

RETURN = r"""
id:
  description: The id of the scale set.
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web
hooks:
  description: The hooks, including types that this module does not know.
  returned: success
  type: list
  elements: dict
  contains:
    type:
      description: Before what Azure asks.
      type: str
    wait_duration:
      description: How long it waits for an answer, as an ISO 8601 duration.
      type: str
    default_action:
      description: Action for targets without an answer by then.
      type: str
  sample: [{type: UpgradeAutoOSRollingBatchStarting, wait_duration: PT1H, default_action: Approve}]
obstacles:
  description: Reasons why no hook of this scale set will ever trigger. Empty if there are none.
  returned: success
  type: list
  elements: str
  sample: [automatic upgrades of its image are off (enableAutomaticOSUpgrade)]
stops_when_drained:
  description:
    - Whether Azure would stop an upgrade for good once all instances of a batch are drained. Azure counts drained
      instances as unhealthy, and continues only while at most C(maxUnhealthyInstancePercent) are.
  returned: success
  type: bool
  sample: false
replaces_instances:
  description:
    - Whether an upgrade deletes instances and creates new ones, in place of giving them a new disk (C(maxSurge)).
  returned: success
  type: bool
  sample: false
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

from ..module_utils.arm import lifecycle_hooks
from ..module_utils.arm.options import read_name, scale_set_arguments
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module(scale_set_arguments(), prepare)


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    group, name = read_name(module.params, "resource_group"), read_name(module.params, "name")
    return lambda client: {"changed": False, **lifecycle_hooks.read_hooks(client, group, name)}


if __name__ == "__main__":
    main()
