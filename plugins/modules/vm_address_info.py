#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vm_address_info."""

DOCUMENTATION = r"""
module: vm_address_info
short_description: Read the addresses of a VM from Azure, and check whether a host is reached at one of them
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads the private addresses of the network interfaces of a VM, or of an instance of a uniform scale set.
  - A compromised host can claim to be another VM. Use O(host) to verify its identity before you change anything in
    Azure because of what it reports.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  vm_id:
    description: The id of the VM or instance, C(compute.resourceId) of its metadata service.
    type: str
    required: true
  host:
    description:
      - The address or name at which the host is reached. The module resolves a name where it runs.
      - Public addresses are not checked. A host that is reached at one is not recognized as the VM.
    type: str
seealso:
  - module: foghorn.azure_events.load_balancer_member
"""

EXAMPLES = r"""
- name: Ask Azure whether this host is the VM that it says it is
  foghorn.azure_events.vm_address_info:
    vm_id: "{{ web_3_id }}"
    host: 10.0.0.4
  delegate_to: localhost
  register: azure

- name: Say so
  ansible.builtin.debug:
    msg: "{{ 'It is.' if azure.held else 'It is not: the VM has ' ~ azure.addresses | join(', ') }}"
"""

RETURN = r"""
addresses:
  description: The private addresses of its network interfaces.
  returned: success
  type: list
  elements: str
  sample: [10.0.0.4]
held:
  description: Whether O(host) is one of them. Null if O(host) is not given.
  returned: success
  type: bool
  sample: true
scale_set:
  description: The id of the VM's scale set. Null if it has none.
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web
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

from ..module_utils.arm import address
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module({"vm_id": {"type": "str", "required": True}, "host": {"type": "str"}}, prepare)


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    question = address.read_question(module.params)

    def work(client: ArmClient) -> dict[str, Any]:
        found = address.look_up(client, question)
        held = found.is_held if module.params["host"] else None
        return {"changed": False, "addresses": found.private, "held": held, "scale_set": found.scale_set}

    return work


if __name__ == "__main__":
    main()
