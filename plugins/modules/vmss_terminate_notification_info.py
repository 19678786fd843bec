#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_terminate_notification_info."""

DOCUMENTATION = r"""
module: vmss_terminate_notification_info
short_description: Read whether Azure announces the deletion of scale set instances
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads one virtual machine scale set, or all scale sets of a resource group or subscription.
  - Returns for each instance whether it is at the latest model, and whether its deletion would be announced.
  - Warns of scale sets whose automatic repairs would replace an instance that is out of rotation.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.places
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  resource_group:
    description: The resource group. If not set, all scale sets of the subscription are read.
    type: str
  name:
    description: The name of the scale set. Needs O(resource_group). If not set, all are read.
    type: str
  subscriptions:
    description:
      - Ids of the subscriptions to read, or with O(resource_group), to read its scale sets in.
      - If not set, O(subscription_id).
    type: list
    elements: str
  tags:
    description:
      - Only scale sets with all of these tags and values. Tag names are compared without case.
      - V(null) matches any value.
    type: dict
  instances:
    description: Also read the instances, with an additional request for each scale set, or several for a large one.
    type: bool
    default: true
seealso:
  - module: foghorn.azure_events.vmss_terminate_notification
  - module: foghorn.azure_events.vmss_automatic_repairs
"""

EXAMPLES = r"""
- name: Read all scale sets of the subscription
  foghorn.azure_events.vmss_terminate_notification_info:
  delegate_to: localhost
  register: found

- name: Read what those in production announce, but not their instances
  foghorn.azure_events.vmss_terminate_notification_info:
    subscriptions: [11111111-aaaa-4bbb-8ccc-777777777777]
    tags: {environment: production}
    instances: false
  delegate_to: localhost

- name: Name the instances that would be deleted without an announcement
  ansible.builtin.debug:
    msg: >-
      {{ found.scale_sets | selectattr('error', 'none') | map(attribute='instances') | flatten
      | rejectattr('terminate.announced', 'eq', true) | map(attribute='name') }}
"""

RETURN = r"""
scale_sets:
  description: The scale sets, in Azure's order.
  returned: success
  type: list
  elements: dict
  sample:
    - id: >-
        /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web
      name: web
      resource_group: shop
      location: westeurope
      orchestration_mode: Uniform
      upgrade_mode: Manual
      spot: false
      priority: Regular
      eviction_policy: null
      spot_restore_policy: null
      can_announce: true
      has_model: true
      terminate_notification: {enabled: true, not_before_timeout: PT10M}
      os_image_notification: {enabled: false, not_before_timeout: null}
      error: null
      automatic_repairs: {state: "off", action: null, grace_period: null, health_probe: null}
      instances:
        - instance_id: "0"
          name: web_0
          latest_model: true
          priority: Regular
          eviction_policy: null
          terminate: {announced: true, not_before_timeout: PT10M, reason: null}
      outdated_instances: []
      protected_instances: []
  contains:
    id:
      description: The scale set's id.
      type: str
    name:
      description: The scale set's name.
      type: str
    resource_group:
      description: The resource group.
      type: str
    location:
      description: The region.
      type: str
    orchestration_mode:
      description: V(Uniform) or V(Flexible).
      type: str
    upgrade_mode:
      description: Who brings instances to the latest model, V(Manual), V(Automatic) or V(Rolling).
      type: str
    spot:
      description: Whether the instances, or some of them in a mixed scale set, are Spot and have no such notification.
      type: bool
    priority:
      description: V(Spot) or V(Regular), from the scale set's model. In a mixed scale set, see each instance.
      type: str
    eviction_policy:
      description: Eviction policy of Spot instances, V(Delete) or V(Deallocate), else V(none).
      type: str
    spot_restore_policy:
      description:
        - Whether Azure tries to restore evicted Spot instances (C(enabled)), and for how long (C(restore_timeout), in
          ISO 8601). V(none) if the scale set does not set it.
      type: dict
    can_announce:
      description: Whether any of its instances supports terminate notifications. Spot instances do not; Azure announces
        their eviction as V(Preempt).
      type: bool
    has_model:
      description: Whether it has a model to set a notification in. A flexible scale set may have none.
      type: bool
    terminate_notification:
      description: Announcement of deletions, with the keys C(enabled) and C(not_before_timeout).
      type: dict
    os_image_notification:
      description: Announcement of OS image upgrades, with the same keys.
      type: dict
    error:
      description:
        - Why this scale set could not be read completely, also in a warning; V(none) if it was. The other scale sets
          are returned.
        - A scale set that O(name) selects makes the module fail instead.
      type: str
    automatic_repairs:
      description:
        - Automatic instance repairs.
        - C(state) is V(running), V(suspended), V(off), or V(unknown) if repairs are on and Azure does not show whether
          they are suspended, as for flexible scale sets. C(action) is the repair, V(Replace), V(Restart) or V(Reimage),
          and C(grace_period) the delay after a change; both are V(none) if repairs are off. C(health_probe) is the id
          of the load balancer's probe that decides about health, V(none) if no probe does.
      type: dict
      returned: if RV(scale_sets[].error) is none
    instances:
      description: The instances.
      type: list
      elements: dict
      returned: with O(instances=true), if RV(scale_sets[].error) is none
      contains:
        instance_id:
          description: Its id in Azure's API.
          type: str
        name:
          description: Its name in scheduled events.
          type: str
        latest_model:
          description:
            - Whether it is at the latest model.
            - Azure does not return this for VMs of a flexible scale set. For them it is whether the VM has the
              notifications of the scale set's model, or is Spot and has none anyway.
          type: bool
        priority:
          description: V(Spot) or V(Regular).
          type: str
        eviction_policy:
          description: V(Delete) or V(Deallocate); V(none) if it is not Spot.
          type: str
        terminate:
          description:
            - Whether its deletion would be announced, by the instance's own model.
            - C(announced) is V(none) if the instance has an older model, which Azure does not show.
              C(not_before_timeout) is the notice. C(reason) says why deletions are not announced, or why it is unknown.
          type: dict
    outdated_instances:
      description: Names of the instances that are not at the latest model.
      type: list
      elements: str
      returned: with O(instances=true), if RV(scale_sets[].error) is none
    protected_instances:
      description: Names of the instances that are protected from actions of their scale set.
      type: list
      elements: str
      returned: with O(instances=true), if RV(scale_sets[].error) is none
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

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import repairs, scale_set
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.options import places_arguments, read_optional_name, read_places
from ..module_utils.arm.resource_graph import subscriptions_of
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module(
        {
            "resource_group": {"type": "str"},
            "name": {"type": "str"},
            **places_arguments(),
            "tags": {"type": "dict"},
            "instances": {"type": "bool", "default": True},
        },
        prepare,
        required_by={"name": ["resource_group"]},
        mutually_exclusive=[("name", "subscriptions", "management_group"), ("name", "tags")],
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    group = read_optional_name(options, "resource_group")
    name = read_optional_name(options, "name")
    places = read_places(options)

    def work(client: ArmClient) -> dict[str, Any]:
        subscriptions = subscriptions_of(client, places)
        found = scale_set.describe_all(client, group, name, options["instances"], subscriptions, options["tags"])
        for one in found:
            if one["error"] is not None:
                module.warn("%s could not be read completely: %s" % (one["id"], one["error"]))
                continue
            danger = repairs.explain_danger(one["name"], one["automatic_repairs"])
            if danger is not None:
                module.warn(danger)
        return {"changed": False, "scale_sets": found}

    return work


if __name__ == "__main__":
    main()
