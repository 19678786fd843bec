#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_rolling_upgrade_info."""

DOCUMENTATION = r"""
module: vmss_rolling_upgrade_info
short_description: Read the progress of a scale set's rolling upgrade, and past upgrades
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads the running or last rolling upgrade of a virtual machine scale set, and Azure's history of its image upgrades.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.scale_set
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
notes:
  - Needs C(Microsoft.Compute/virtualMachineScaleSets/read), C(…/rollingUpgrades/read) and C(…/osUpgradeHistory/read),
    which the role Reader grants.
seealso:
  - module: foghorn.azure_events.vmss_rolling_upgrade
"""

EXAMPLES = r"""
- name: Read the progress of the rolling upgrade
  foghorn.azure_events.vmss_rolling_upgrade_info:
    resource_group: shop
    name: web
  delegate_to: localhost
  run_once: true
  register: rolling
"""

RETURN = r"""
id:
  description: The id of the scale set.
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web
upgrade:
  description:
    - The running or last rolling upgrade, as M(foghorn.azure_events.vmss_rolling_upgrade) returns it. V(none) if there
      was never one.
  returned: success
  type: dict
  sample:
    status: RollingForward
    under_way: true
    start_time: "2026-11-20T10:00:00.0000000+00:00"
    successful: 2
    failed: 0
    in_progress: 1
    pending: 3
    error: null
os_upgrade_history:
  description: The image upgrades in Azure's history, each with the keys of RV(upgrade) and more.
  returned: success
  type: list
  elements: dict
  contains:
    end_time:
      description: End time, in Azure's format, V(none) while it runs.
      type: str
    started_by:
      description: Who started it, V(User), V(Platform) or V(Unknown).
      type: str
    image:
      description: The new image, as Azure describes it.
      type: dict
  sample:
    - status: Completed
      under_way: false
      start_time: "2026-11-20T10:00:00.0000000+00:00"
      end_time: "2026-11-20T10:40:00.0000000+00:00"
      successful: 6
      failed: 0
      in_progress: 0
      pending: 0
      error: null
      started_by: User
      image: {publisher: Canonical, offer: ubuntu-24_04-lts, sku: server, version: 24.04.202611010}
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

from ..module_utils.arm import rolling_upgrade
from ..module_utils.arm.options import read_name, scale_set_arguments
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module(scale_set_arguments(), prepare)


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    group, name = read_name(module.params, "resource_group"), read_name(module.params, "name")
    return lambda client: {"changed": False, **rolling_upgrade.describe(client, group, name)}


if __name__ == "__main__":
    main()
