#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module application_gateway_member_info."""

DOCUMENTATION = r"""
module: application_gateway_member_info
short_description: Read in which backend pools of Application Gateways a machine is
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads the backend pools that a machine is in, by an IP configuration of its network interface, or by an address or
    name in the pool.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  vm_id:
    description:
      - The id of the VM or instance, C(compute.resourceId) of its metadata service.
      - Give this, O(addresses), or both.
    type: str
  addresses:
    description:
      - IP addresses and names of the machine in O(pools), in addition to the addresses of the VM's interfaces.
      - Requires O(pools).
    type: list
    elements: str
  pools:
    description:
      - Ids of the backend pools to read. A pool without the machine is not an error.
      - By default, all pools that the VM's interfaces name. Pools that have the machine by address must be listed.
    type: list
    elements: str
notes:
  - Needs C(Microsoft.Network/applicationGateways/read) for members by address, and
    C(Microsoft.Network/networkInterfaces/read) and C(Microsoft.Compute/virtualMachines/read), or for instances
    C(Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read) and its C(…/networkInterfaces/read), for a VM. The
    role Reader grants them.
seealso:
  - module: foghorn.azure_events.application_gateway_member
"""

EXAMPLES = r"""
- name: Read in which pools of gateways a VM is
  foghorn.azure_events.application_gateway_member_info:
    vm_id: "{{ web_3_id }}"
    pools: ["{{ gateway_pool_id }}"]
  delegate_to: localhost

- name: Read whether a pool has a machine by its name
  foghorn.azure_events.application_gateway_member_info:
    addresses: [web3.example.com]
    pools: ["{{ gateway_pool_id }}"]
  delegate_to: localhost
"""

RETURN = r"""
members:
  description:
    - One record for each pool, and for each IP configuration, address or name by which the machine is in it.
    - Empty if it is in none.
    - O(foghorn.azure_events.application_gateway_member#module:remove) and its O(ignore:restore) take it, and describe a
      record.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: address
      pool: >-
        /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Network/applicationGateways/front/backendAddressPools/web
      entry:
        ipAddress: 10.0.0.7
      servers: [10.0.0.7]
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


from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import gateway
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module(
        {
            "vm_id": {"type": "str"},
            "addresses": {"type": "list", "elements": "str"},
            "pools": {"type": "list", "elements": "str"},
        },
        prepare,
        required_one_of=[("vm_id", "addresses")],
        required_by={"addresses": ["pools"]},
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    search = gateway.read_search(module.params)
    return lambda client: {"changed": False, "members": gateway.find(client, search)}


if __name__ == "__main__":
    main()
