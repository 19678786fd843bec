#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vm_events_info."""

DOCUMENTATION = r"""
module: vm_events_info
short_description: Read which of many VMs have announced maintenance, in one request to Azure
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Asks Azure Resource Graph once for the events of these VMs, in all of their subscriptions, so that a controller does
    not have to connect to each of them. The playbook C(handle_events) chooses so which hosts to ask.
  - Azure lists the events of a VM there only if that was enabled, as with
    M(foghorn.azure_events.scheduled_events_policy). The other VMs are in RV(unlisted). What is listed may lag behind by
    minutes.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  vm_ids:
    description: The ids of the VMs, or of instances of uniform scale sets.
    type: list
    elements: str
    required: true
seealso:
  - module: foghorn.azure_events.scheduled_events_info
  - module: foghorn.azure_events.scheduled_events_policy
"""

EXAMPLES = r"""
- name: Read which of these machines have announced maintenance
  foghorn.azure_events.vm_events_info:
    vm_ids: ["{{ web_3_id }}"]
  delegate_to: localhost
  register: announced

- name: Name the machines that have to be asked themselves
  ansible.builtin.debug:
    msg: "{{ (announced.hit + announced.unlisted) | map(attribute='vm_id') }}"
"""

RETURN = r"""
hit:
  description: The VMs for which Azure lists events that are not over, or may not be.
  returned: success
  type: list
  elements: dict
  contains:
    vm_id:
      description: The id of the VM, as it was given.
      type: str
    event_ids:
      description: The ids of its events.
      type: list
      elements: str
  sample:
    - vm_id: >-
        /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachines/web_3
      event_ids: [602D9444-D2CD-49C7-8624-8643E7171297]
unlisted:
  description: The VMs whose events Azure does not list.
  returned: success
  type: list
  elements: dict
  contains:
    vm_id:
      description: The id of the VM, as it was given.
      type: str
    reason:
      description: The reason.
      type: str
  sample: []
auth_source_used:
  description: The source of the credentials, V(parameters), V(env), V(credential_file), V(cli) or V(msi).
  returned: success
  type: str
  sample: env
subscription_id:
  description: The subscription that was set, otherwise null.
  returned: success
  type: str
  sample: 00000000-0000-0000-0000-000000000001
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import announcements
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module({"vm_ids": {"type": "list", "elements": "str", "required": True}}, prepare)


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    vm_ids = announcements.read_vm_ids(module.params)

    def work(client: ArmClient) -> dict[str, Any]:
        found = announcements.find_announcements(client, vm_ids)
        return {
            "changed": False,
            "hit": [
                {"vm_id": vm_id, "event_ids": [one.event.event_id for one in events]}
                for vm_id, events in found.events.items()
            ],
            "unlisted": [{"vm_id": vm_id, "reason": why} for vm_id, why in found.unlisted.items()],
        }

    return work


if __name__ == "__main__":
    main()
