#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module load_balancer_member."""

DOCUMENTATION = r"""
module: load_balancer_member
short_description: Take a VM out of the pools of an Azure load balancer, and restore it
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Removes a VM, or an instance of a uniform scale set, from backend pools of Azure load balancers, or sets its
    C(adminState) in them to V(Down).
  - Returns the removed members in RV(before). With O(restore), exactly these are restored.
  - With O(record), the module writes these members down before it removes them, and O(as_recorded) restores them.
  - It supports members by network interface, by the network model of an instance, and by address.
  - Each write says which version it changes. If somebody else was faster, or another operation is under way, it reads
    again.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.record
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  vm_id:
    description:
      - The id of the VM, or of the instance, as C(compute.resourceId) of the metadata service has it.
      - Required with O(remove=true). With O(restore), records of another VM are refused.
    type: str
  pools:
    description:
      - Ids of the backend pools to leave. A pool without the VM is not an error.
      - By default, all pools that the VM's interfaces name, except those with outbound rules and no others, without
        which the VM would lose its way out. Pools of addresses must be listed.
      - With O(restore), records of other pools are refused.
    type: list
    elements: str
  method:
    description:
      - V(membership) removes the VM from the pool, also from its outbound rules.
      - V(admin_state) keeps it in the pool and sets its C(adminState) to V(Down). New connections stop, whatever the
        probe returns. Established TCP connections continue.
    type: str
    choices: [membership, admin_state]
    default: membership
  remove:
    description: Remove the VM. Give either this, O(restore), or O(as_recorded).
    type: bool
    default: false
  restore:
    description: Restore these records, the RV(before) of an earlier task. Give either this, O(remove=true), or
      O(as_recorded).
    type: list
    elements: dict
    suboptions:
      kind:
        description: Kind of the member, or V(admin_state) if it still is in the pool.
        type: str
        required: true
        choices: [interface, instance, address, admin_state]
      pool:
        description: The id of the pool.
        type: str
        required: true
      resource:
        description: The id of the interface, or of the machine.
        type: str
      interface:
        description: Of an instance, the name of the interface in its model.
        type: str
      ip_configuration:
        description: The name of the IP configuration, for V(admin_state) its id.
        type: str
      address:
        description: For V(admin_state) in a pool of addresses, the address.
        type: str
      admin_state:
        description: The state, V(None), V(Up) or V(Down).
        type: str
      entry:
        description: The entry in a pool of addresses.
        type: dict
attributes:
  diff_mode:
    support: none
notes:
  - Needs C(Microsoft.Network/networkInterfaces/write) and C(…/loadBalancers/backendAddressPools/join/action), for
    instances C(Microsoft.Compute/virtualMachineScaleSets/virtualMachines/write), and for O(method=admin_state) and
    pools by address C(…/loadBalancers/backendAddressPools/write). The roles Network Contributor and Virtual Machine
    Contributor grant them. Without C(…/loadBalancers/read), which both have, pools with outbound rules alone are not
    recognised.
  - An instance that is brought to its set's latest model is in the model's pools again.
  - Azure does not count the remaining connections of a member. Count them on the machine.
  - If VMs share pools, run it for one VM at a time (C(throttle=1)). Otherwise writers wait for each other.
seealso:
  - module: foghorn.azure_events.load_balancer_member_info
  - module: foghorn.azure_events.haproxy_server
  - name: Administrative state
    description: Microsoft's description of how C(adminState) affects connections.
    link: https://learn.microsoft.com/azure/load-balancer/admin-state-overview
"""

EXAMPLES = r"""
- name: Take a VM out of every pool that it is in
  foghorn.azure_events.load_balancer_member:
    vm_id: "{{ web_3_id }}"
    remove: true
  delegate_to: localhost
  throttle: 1
  register: removed

- name: Restore it in exactly these
  foghorn.azure_events.load_balancer_member:
    restore: "{{ removed.before }}"
  delegate_to: localhost
  throttle: 1

- name: Let no new connections to it from one pool, whatever its probe says
  foghorn.azure_events.load_balancer_member:
    vm_id: "{{ web_3_id }}"
    pools: ["{{ pool_id }}"]
    method: admin_state
    remove: true
  delegate_to: localhost
"""

RETURN = r"""
before:
  description:
    - The records of the removed members, or in check mode of the members to remove, for O(restore).
    - Empty with O(restore) and O(as_recorded), and if the VM was in none of the pools.
  returned: success, and when it failed after a change
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
recorded:
  description: The lines of the record. Empty without one.
  returned: if O(record) is given
  type: list
  elements: str
  sample: ['[{"kind": "interface", "pool": "…", "resource": "…", "interface": "", "ip_configuration": "ipconfig1"}]']
records:
  description: The files on this host that hold the record. Remove them once the machine is back, and copies before.
  returned: if O(record) is given
  type: list
  elements: str
  sample: [/var/lib/myself/removals/azure_load_balancer_web3_0123456789abcdef0123456789abcdef.json]
may_still_happen:
  description:
    - V(true) if Azure may have accepted the change, but its result is unknown. The pools may be changed. Absent if
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
  description: The subscription that was set. Null if none was, because ids name theirs.
  returned: success
  type: str
  sample: 00000000-0000-0000-0000-000000000001
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import membership
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.records import Record, record_arguments
from ..module_utils.arm.task import Work, make_module, run_task, warn


def main() -> None:
    """Run the module."""
    module = make_module(
        {
            **record_arguments(),
            "vm_id": {"type": "str"},
            "pools": {"type": "list", "elements": "str"},
            "method": {"type": "str", "default": membership.MEMBERSHIP, "choices": list(membership.METHODS)},
            "remove": {"type": "bool", "default": False},
            "restore": {
                "type": "list",
                "elements": "dict",
                "options": {
                    "kind": {"type": "str", "required": True, "choices": list(membership.KINDS)},
                    "pool": {"type": "str", "required": True},
                    "resource": {"type": "str"},
                    "interface": {"type": "str"},
                    "ip_configuration": {"type": "str"},
                    "address": {"type": "str"},
                    "admin_state": {"type": "str"},
                    "entry": {"type": "dict"},
                },
            },
        },
    )
    record = Record(module.params, membership.RECORD, is_dry=module.check_mode)

    def report(module: AnsibleModule, outcome: membership.MembershipChange) -> dict[str, Any]:
        warn(module, outcome.warnings)
        return {"changed": outcome.changed and not record.only, "before": outcome.before, **record.result()}

    run_task(module, lambda module: prepare(module, record), report)


def prepare(module: AnsibleModule, record: Record) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    order = membership.read_order(module.params)
    record.check()

    def work(client: ArmClient) -> membership.MembershipChange:
        return membership.carry_out(client, order, module.check_mode or record.only, record)

    return work


if __name__ == "__main__":
    main()
