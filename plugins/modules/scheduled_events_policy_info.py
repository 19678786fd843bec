#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module scheduled_events_policy_info."""

DOCUMENTATION = r"""
module: scheduled_events_policy_info
short_description: Read which events Azure approves automatically, and which it publishes
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads the C(scheduledEventsPolicy) of one VM, availability set or scale set, or of all in a resource group or a
    subscription.
  - Values that a policy does not contain have Azure's defaults.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.places
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  resource_group:
    description: The resource group. If not set, all resources of the subscriptions are read.
    type: str
  virtual_machine:
    description: The name of a VM. Needs O(resource_group).
    type: str
  availability_set:
    description: The name of an availability set. Needs O(resource_group).
    type: str
  scale_set:
    description: The name of a scale set. Needs O(resource_group).
    type: str
seealso:
  - module: foghorn.azure_events.scheduled_events_policy
"""

EXAMPLES = r"""
- name: Read the policies of a resource group
  foghorn.azure_events.scheduled_events_policy_info:
    resource_group: shop
  delegate_to: localhost
  register: policies

- name: Name what publishes no events, and follows nothing that could
  ansible.builtin.debug:
    msg: >-
      {{ policies.resources | rejectattr('policy.publish') | selectattr('follows', 'none') | map(attribute='name') }}
"""

RETURN = r"""
resources:
  description: VMs, then availability sets, then scale sets. Instances of uniform sets are none of these.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: scale_set
      id: >-
        /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web
      name: web
      location: westeurope
      policy:
        approve_user_initiated_reboot: false
        approve_user_initiated_redeploy: false
        approve_all_instances_down: true
        publish: true
        publish_api_version: "2020-07-01"
      follows: null
  contains:
    kind:
      description: V(virtual_machine), V(availability_set) or V(scale_set).
      type: str
    id:
      description: Its id.
      type: str
    name:
      description: Its name.
      type: str
    location:
      description: The region.
      type: str
    policy:
      description: Its policy, with the options of M(foghorn.azure_events.scheduled_events_policy).
      type: dict
    follows:
      description: The id of the VM's set, whose policy applies instead of its own.
      type: str
auth_source_used:
  description: Where the credentials came from, V(parameters), V(env), V(credential_file), V(cli) or V(msi).
  returned: success
  type: str
  sample: env
subscription_id:
  description: The subscription that was used.
  returned: success
  type: str
  sample: 00000000-0000-0000-0000-000000000001
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import policy
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.options import places_arguments, read_name, read_optional_name, read_places
from ..module_utils.arm.policy import KINDS
from ..module_utils.arm.resource_graph import subscriptions_of
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module(
        {
            "resource_group": {"type": "str"},
            **places_arguments(),
            **{kind: {"type": "str"} for kind in policy.KINDS},
        },
        prepare,
        mutually_exclusive=[(*KINDS, "subscriptions", "management_group")],
        required_by={kind: ["resource_group"] for kind in KINDS},
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    group = read_optional_name(options, "resource_group")
    option = next((kind for kind in policy.KINDS if options[kind] is not None), None)
    name = read_name(options, option) if option is not None else None
    places = read_places(options)

    def work(client: ArmClient) -> dict[str, Any]:
        subscriptions = subscriptions_of(client, places)
        return {"changed": False, "resources": policy.describe_all(client, group, option, name, subscriptions)}

    return work


if __name__ == "__main__":
    main()
