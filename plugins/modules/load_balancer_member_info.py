#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module load_balancer_member_info."""

DOCUMENTATION = r"""
module: load_balancer_member_info
short_description: Read in which pools of Azure load balancers a VM is
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads the backend pools that a VM, or an instance of a uniform scale set, is in. With O(method=admin_state), reads
    the pools in which the C(adminState) of the member is not V(Down).
  - Pools are joined by interfaces, by the network model of an instance, or by address. All three are known.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  vm_id:
    description: The id of the VM, or of the instance, as C(compute.resourceId) of the metadata service has it.
    type: str
    required: true
  pools:
    description:
      - Ids of the backend pools to read. A pool without the VM is not an error.
      - By default, all pools that the VM's interfaces name, except those with outbound rules and no others. Pools of
        addresses must be listed.
    type: list
    elements: str
  method:
    description:
      - V(membership) returns each pool that the VM is in.
      - V(admin_state) returns each pool in which the C(adminState) of the VM is not V(Down).
    type: str
    choices: [membership, admin_state]
    default: membership
notes:
  - Needs C(Microsoft.Network/networkInterfaces/read) and C(Microsoft.Compute/virtualMachines/read), for instances
    C(Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read) and its C(…/networkInterfaces/read), and for
    O(method=admin_state) and pools by address C(…/loadBalancers/backendAddressPools/read). The role Reader grants them.
seealso:
  - module: foghorn.azure_events.load_balancer_member
"""

EXAMPLES = r"""
- name: Read in which pools of load balancers a VM is
  foghorn.azure_events.load_balancer_member_info:
    vm_id: "{{ web_3_id }}"
  delegate_to: localhost
  register: pools

- name: Fail if the VM is in no pool
  ansible.builtin.assert:
    that: pools.members | length > 0
    fail_msg: web_3 is in no pool of a load balancer.
"""

RETURN = r"""
members:
  description:
    - One record for each pool, and for each IP configuration by which the VM is in it. Empty if it is in none.
    - The options of O(foghorn.azure_events.load_balancer_member#module:restore) describe a record.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: interface
      pool: >-
        /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Network/loadBalancers/front/backendAddressPools/web
      resource: >-
        /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Network/networkInterfaces/web-3-nic
      interface: ""
      ip_configuration: ipconfig1
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

from ..module_utils.arm import membership
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module(
        {
            "vm_id": {"type": "str", "required": True},
            "pools": {"type": "list", "elements": "str"},
            "method": {"type": "str", "default": membership.MEMBERSHIP, "choices": list(membership.METHODS)},
        },
        prepare,
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    search = membership.read_search(module.params)
    return lambda client: {"changed": False, "members": membership.find(client, search)}


if __name__ == "__main__":
    main()
