#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vm_pool_info."""

DOCUMENTATION = r"""
module: vm_pool_info
short_description: Read which pools of load balancers and Application Gateways many VMs are in
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads the pools that the network interfaces of VMs, and of instances of uniform scale sets, name. One request covers
    all VMs of a resource group, and one all instances of a scale set.
  - Pools with members by address are not found, and those with outbound rules and no others left out.
  - The playbook C(foghorn.azure_events.handle_events) finds out with it which machines do the same work.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  vm_ids:
    description: The ids of the VMs or instances, C(compute.resourceId) of their metadata service.
    type: list
    elements: str
    required: true
seealso:
  - module: foghorn.azure_events.load_balancer_member
  - module: foghorn.azure_events.application_gateway_member
"""

EXAMPLES = r"""
- name: Find which pools a machine is in
  foghorn.azure_events.vm_pool_info:
    vm_ids: ["{{ web_3_id }}"]
  delegate_to: localhost
  register: azure
"""

RETURN = r"""
vms:
  description: The VMs, in the order of O(vm_ids).
  returned: success
  type: list
  elements: dict
  contains:
    vm_id:
      description: The id of the VM, as it was given.
      type: str
    pools:
      description: The ids of its pools, of load balancers and Application Gateways.
      type: list
      elements: str
  sample:
    - vm_id: >-
        /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachines/web_3
      pools:
        - >-
          /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Network/loadBalancers/lb/backendAddressPools/web
pools:
  description: The pools that these VMs are in.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The id of the pool.
      type: str
    members:
      description:
        - The ids of the VMs in it, including VMs in the same resource groups and scale sets that are not in O(vm_ids).
      type: list
      elements: str
    out_of_service:
      description:
        - Those of RV(pools[].members) that get no new connections, because C(adminState) is V(Down) in the pool, or
          because they are not in O(vm_ids) and are stopped or deallocated.
      type: list
      elements: str
  sample:
    - id: >-
        /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Network/loadBalancers/lb/backendAddressPools/web
      members:
        - >-
          /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachines/web_3
      out_of_service: []
auth_source_used:
  description: Where the credentials came from, V(parameters), V(env), V(credential_file), V(cli) or V(msi).
  returned: success
  type: str
  sample: env
subscription_id:
  description: The subscription that was set. Null if none was, because ids name theirs.
  returned: success
  type: str
  sample: 00000000-0000-0000-0000-000000000001
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import pools
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module({"vm_ids": {"type": "list", "elements": "str", "required": True}}, prepare)


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    vm_ids = pools.read_vm_ids(module.params)

    def work(client: ArmClient) -> dict[str, Any]:
        found = pools.find_pools(client, vm_ids)
        return {
            "changed": False,
            "pools": [
                {"id": pool, "members": of_pool, "out_of_service": found.out_of_service.get(pool, [])}
                for pool, of_pool in found.members.items()
            ],
            "vms": [{"vm_id": vm_id, "pools": of_vm} for vm_id, of_vm in zip(vm_ids, found.of_vms, strict=True)],
        }

    return work


if __name__ == "__main__":
    main()
