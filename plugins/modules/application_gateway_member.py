#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module application_gateway_member."""

DOCUMENTATION = r"""
module: application_gateway_member
short_description: Take machines out of the backend pools of an Application Gateway, and restore them
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Removes members from their pools, and restores them, for any number of machines.
    M(foghorn.azure_events.application_gateway_member_info) returns the members.
  - A pool has members by IP configurations of network interfaces, or by addresses or names. Members by address are part
    of the gateway and are changed all together in one write.
  - Each write names the version that it changes. If somebody else has changed it, or another operation is running, the
    module reads it again.
  - With O(record) and O(record_only), it finds the members of one machine and writes them down. O(as_recorded) restores
    what is written down.
  - Then the module waits until the gateway has drained the removed members, or reports the restored members as healthy.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.record
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  vm_id:
    description:
      - The id of the VM or instance, C(compute.resourceId) of its metadata service.
      - If this or O(addresses) is given, records of another machine are refused.
    type: str
  addresses:
    description:
      - IP addresses and names of the machine, in addition to the addresses of the VM's interfaces.
      - If this or O(vm_id) is given, records of another machine are refused.
    type: list
    elements: str
  pools:
    description:
      - Ids of backend pools. If given, records of other pools are refused.
    type: list
    elements: str
  remove:
    description:
      - Remove these members, the C(members) of M(foghorn.azure_events.application_gateway_member_info) for one or
        several machines.
      - Give either this, O(restore), O(record_only), or O(as_recorded).
    type: list
    elements: dict
    suboptions: &records
      kind:
        description: Kind of the member.
        type: str
        required: true
        choices: [interface, instance, address]
      pool:
        description: The id of the pool.
        type: str
        required: true
      resource:
        description: The id of the interface, or of the instance.
        type: str
      interface:
        description: For an instance, the name of the interface in its model.
        type: str
      ip_configuration:
        description: The name of the IP configuration.
        type: str
      entry:
        description: The address or name in the pool.
        type: dict
      servers:
        description: The gateway's name for the member in its health report.
        type: list
        elements: str
  restore:
    description:
      - Restore these members, which were removed with O(remove), for one or several machines.
      - Give either this, O(remove), O(record_only), or O(as_recorded).
    type: list
    elements: dict
    suboptions: *records
  wait:
    description:
      - Whether to wait for the state in the gateway, even if nothing was changed.
      - Members that still drain after O(wait_timeout) are returned in RV(remaining). Members that are not healthy by
        then fail the module.
    type: bool
    default: true
  wait_timeout:
    description: Maximum seconds to wait.
    type: float
    default: 300
attributes:
  diff_mode:
    support: none
notes:
  - Members by address need C(Microsoft.Network/applicationGateways/write) and C(…/backendhealth/action). Members by
    interface need C(Microsoft.Network/networkInterfaces/write), or for instances
    C(Microsoft.Compute/virtualMachineScaleSets/virtualMachines/write), and
    C(Microsoft.Network/applicationGateways/backendAddressPools/join/action). The roles Network Contributor and Virtual
    Machine Contributor grant these.
  - Azure takes minutes to change a gateway, and a second change cancels the first. Give all machines of a batch to one
    task, and let only one task write at a time (C(throttle=1)).
  - The gateway's C(connectionDraining) limits how long requests may take. Without it they are cut off.
  - A stopped gateway is not changed, because the change would start it.
  - An instance that is updated to the latest model of its scale set is in the model's pools again.
seealso:
  - module: foghorn.azure_events.application_gateway_member_info
  - module: foghorn.azure_events.load_balancer_member
  - name: Connection draining
    description: Microsoft's description of connection draining.
    link: https://learn.microsoft.com/azure/application-gateway/features#connection-draining
"""

EXAMPLES = r"""
- name: Find out which members of gateways a VM is
  foghorn.azure_events.application_gateway_member_info:
    vm_id: "{{ web_3_id }}"
    pools: ["{{ gateway_pool_id }}"]
  delegate_to: localhost
  register: found

- name: Take it out of these pools of the gateway
  foghorn.azure_events.application_gateway_member:
    remove: "{{ found.members }}"
  delegate_to: localhost

- name: Restore it in exactly these pools of the gateway
  foghorn.azure_events.application_gateway_member:
    restore: "{{ found.members }}"
  delegate_to: localhost
"""

RETURN = r"""
remaining:
  description: Addresses and names that still drained when time ran out.
  returned: success
  type: list
  elements: str
  sample: []
members:
  description: The members that were found, in the form of O(remove).
  returned: if O(record_only) is true, without O(as_recorded)
  type: list
  elements: dict
  sample: []
recorded:
  description: The lines of the record. Empty without one.
  returned: if O(record) is given
  type: list
  elements: str
  sample: ['[{"kind": "address", "pool": "…", "entry": {"ipAddress": "10.0.0.4"}, "servers": ["10.0.0.4"]}]']
records:
  description: The files on this host that hold the record. Remove them once the machine is back, and copies before.
  returned: if O(record) is given
  type: list
  elements: str
  sample: [/var/lib/myself/removals/application_gateway_web3_0123456789abcdef0123456789abcdef.json]
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

from ..module_utils.arm import gateway
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.records import Record, record_arguments
from ..module_utils.arm.task import Work, make_module, run_task, warn


def main() -> None:
    """Run the module."""
    records = {
        "type": "list",
        "elements": "dict",
        "options": {
            "kind": {"type": "str", "required": True, "choices": list(gateway.KINDS)},
            "pool": {"type": "str", "required": True},
            "resource": {"type": "str"},
            "interface": {"type": "str"},
            "ip_configuration": {"type": "str"},
            "entry": {"type": "dict"},
            "servers": {"type": "list", "elements": "str"},
        },
    }
    module = make_module(
        {
            **record_arguments(),
            "vm_id": {"type": "str"},
            "addresses": {"type": "list", "elements": "str"},
            "pools": {"type": "list", "elements": "str"},
            "remove": dict(records),
            "restore": dict(records),
            "wait": {"type": "bool", "default": True},
            "wait_timeout": {"type": "float", "default": gateway.DEFAULT_WAIT},
        },
    )
    record = Record(module.params, gateway.RECORD, is_dry=module.check_mode)

    def report(module: AnsibleModule, outcome: gateway.GatewayChange) -> dict[str, Any]:
        warn(module, outcome.warnings)
        members = {"members": list(outcome.found)} if record.only and not record.back else {}
        return {"changed": outcome.changed, "remaining": outcome.remaining, **members, **record.result()}

    run_task(module, lambda module: prepare(module, record), report)


def prepare(module: AnsibleModule, record: Record) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    order = gateway.read_order(module.params)
    record.check()

    def work(client: ArmClient) -> gateway.GatewayChange:
        if record.back:
            return gateway.restore_recorded(client, order, record, module.check_mode)
        if record.only:
            return gateway.keep(client, order.machine, record)
        return gateway.carry_out(client, order, module.check_mode)

    return work


if __name__ == "__main__":
    main()
