#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module scheduled_events_policy."""

DOCUMENTATION = r"""
module: scheduled_events_policy
short_description: Set which events Azure approves automatically, and where they are published
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Sets the scheduled events policy of a VM, an availability set or a scale set. A VM in a set takes the set's policy.
  - For a VM or an availability set, sends only the changed options. A scale set can be written only as a whole. The
    module then changes only the policy, and only if nobody has changed the scale set since it was read. It omits the
    image, because Azure keeps it and would otherwise check the writer's access to it.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  resource_group:
    description: The resource group.
    type: str
    required: true
  virtual_machine:
    description: The name of a VM. One of this option, O(availability_set) and O(scale_set) is required.
    type: str
  availability_set:
    description: The name of an availability set.
    type: str
  scale_set:
    description: The name of a scale set.
    type: str
  approve_user_initiated_reboot:
    description: Whether a restart that a user requests begins at once, without an approval.
    type: bool
  approve_user_initiated_redeploy:
    description: Whether a redeployment that a user requests begins at once, without an approval.
    type: bool
  approve_all_instances_down:
    description:
      - Whether Azure approves events when all instances are down.
      - Azure's default is V(true), so V(false) is written into the policy.
    type: bool
  publish:
    description: Whether events are published to Event Grid and Resource Graph.
    type: bool
  publish_api_version:
    description:
      - The version of published events, V(2020-07-01) or V(2024-07-09). A cloud without that version refuses it, and
        the error says so.
      - Azure publishes C(SpotRebalanceRecommendation) only with V(2024-07-09).
      - If not set, the current version stays. If there is none, it becomes V(2020-07-01).
    type: str
  wait:
    description: Wait until Azure has completed the change, and read it back.
    type: bool
    default: true
attributes:
  diff_mode:
    support: full
notes:
  - Options that are not set stay as they are.
  - Needs the role C(Virtual Machine Contributor). For a scale set, Azure also checks access to linked resources -
    C(Microsoft.Network/virtualNetworks/subnets/join/action) on its subnets,
    C(Microsoft.Network/loadBalancers/backendAddressPools/join/action) on its pools, and
    C(Microsoft.ManagedIdentity/userAssignedIdentities/assign/action) on its user-assigned identities.
  - Publishing is a preview. It needs the feature C(Microsoft.Compute/SendScheduledEventsPolicy) in the subscription.
seealso:
  - module: foghorn.azure_events.scheduled_event_acknowledge
  - plugin: foghorn.azure_events.scheduled_events
    plugin_type: lookup
"""

EXAMPLES = r"""
- name: Publish the events of a scale set, so that the controller sees them
  foghorn.azure_events.scheduled_events_policy:
    resource_group: shop
    scale_set: web
    publish: true
  delegate_to: localhost

- name: Let restarts that users ask for happen at once
  foghorn.azure_events.scheduled_events_policy:
    resource_group: shop
    virtual_machine: database
    approve_user_initiated_reboot: true
  delegate_to: localhost
"""

RETURN = r"""
id:
  description: The resource's id.
  returned: success, and when it failed after a change
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachines/database
before:
  description:
    - The policy before the task, by the names of the options.
    - Values that Azure does not return have their defaults. O(approve_all_instances_down) is V(true), all others are
      V(false).
  returned: success, and when it failed after a change
  type: dict
  sample:
    approve_user_initiated_reboot: false
    approve_user_initiated_redeploy: false
    approve_all_instances_down: true
    publish: false
    publish_api_version: null
after:
  description: The policy after the task; in check mode and with O(wait=false), the expected one.
  returned: success, and when it failed after a change
  type: dict
  sample:
    approve_user_initiated_reboot: true
    approve_user_initiated_redeploy: false
    approve_all_instances_down: true
    publish: false
    publish_api_version: null
may_still_happen:
  description:
    - V(true) if Azure may have accepted the change, but its result is unknown. The policy may be changed. Absent if
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
  description: The subscription that was used.
  returned: success
  type: str
  sample: 00000000-0000-0000-0000-000000000001
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import policy
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.options import read_name
from ..module_utils.arm.task import Work, before_and_after, run_module, warn


def main() -> None:
    """Run the module."""
    one_of = [("virtual_machine", "availability_set", "scale_set")]
    run_module(
        {
            "resource_group": {"type": "str", "required": True},
            **{kind: {"type": "str"} for kind in policy.KINDS},
            **{approval: {"type": "bool"} for approval in policy.APPROVALS},
            "publish": {"type": "bool"},
            "publish_api_version": {"type": "str"},
            "wait": {"type": "bool", "default": True},
        },
        prepare,
        report_policy,
        mutually_exclusive=one_of,
        required_one_of=one_of,
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    desired = policy.read_desired_state(options)
    option = next(kind for kind in policy.KINDS if options[kind] is not None)
    group, name = read_name(options, "resource_group"), read_name(options, option)

    def work(client: ArmClient) -> policy.PolicyChange:
        kind = policy.KINDS[option]
        return policy.set_policy(client, kind, group, name, desired, options["wait"], module.check_mode)

    return work


def report_policy(module: AnsibleModule, outcome: policy.PolicyChange) -> dict[str, Any]:
    """Put what was done into the result."""
    warn(module, outcome.warnings)
    return {
        "changed": outcome.changed,
        "id": outcome.resource.get("id"),
        **before_and_after(module, outcome.before, outcome.after),
    }


if __name__ == "__main__":
    main()
