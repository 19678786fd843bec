#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_terminate_notification_info."""

DOCUMENTATION = r"""
module: vmss_terminate_notification_info
short_description: Read whether Azure announces the deletion of scale sets' instances
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads one virtual machine scale set, or all those of a resource group or of a subscription.
  - Says for each instance whether it is at the latest model, and whether its deletion would be announced to it.
  - Warns of scale sets whose automatic repairs would take an instance for unhealthy that was taken out of rotation.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.places
  - foghorn.azure_events.attributes
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
      - Ids of subscriptions. All scale sets of these are read, or those in their resource groups named
        O(resource_group).
      - If not set, O(subscription_id).
    type: list
    elements: str
  tags:
    description:
      - Only scale sets that have all of these tags, with these values. Names of tags are compared without case.
      - A tag without a value (V(null)) may have any.
    type: dict
  instances:
    description: Read the instances as well, which takes another request for each scale set, or several if it is large.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    details: This module reads only.
  diff_mode:
    support: N/A
    details: This module reads only.
  idempotent:
    support: full
    details: This module reads only.
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
      returned: always
    name:
      description: The scale set's name.
      type: str
      returned: always
    resource_group:
      description: The resource group.
      type: str
      returned: always
    location:
      description: The region.
      type: str
      returned: always
    orchestration_mode:
      description: V(Uniform) or V(Flexible).
      type: str
      returned: always
    upgrade_mode:
      description: Who brings instances to the latest model, V(Manual), V(Automatic) or V(Rolling).
      type: str
      returned: always
    spot:
      description: Whether the instances, or some of them in a mixed set, are Spot and so have no such notification.
      type: bool
      returned: always
    priority:
      description: V(Spot) or V(Regular), by the set's model. In a mixed set, each instance says its own.
      type: str
      returned: always
    eviction_policy:
      description: What becomes of Spot instances that Azure takes back, V(Delete) or V(Deallocate), else V(none).
      type: str
      returned: always
    spot_restore_policy:
      description:
        - Whether Azure tries to bring evicted Spot instances back (C(enabled)), and for how long
          (C(restore_timeout), in ISO 8601). V(none) where the set says nothing.
      type: dict
      returned: always
    can_announce:
      description: >-
        Whether a terminate notification can exist on any of its instances. It cannot on Spot, which announces an
        eviction as V(Preempt).
      type: bool
      returned: always
    has_model:
      description: Whether there is a model to set a notification on, which a flexible set may be without.
      type: bool
      returned: always
    terminate_notification:
      description: The announcement of a deletion, with the keys C(enabled) and C(not_before_timeout).
      type: dict
      returned: always
    os_image_notification:
      description: The announcement of an upgrade of the OS image, with the same keys.
      type: dict
      returned: always
    error:
      description:
        - Why the rest of this scale set could not be read, which is in a warning as well; V(none) if all was read. The
          other scale sets are returned all the same.
        - A scale set that was asked for by its O(name) makes the module fail instead.
      type: str
      returned: always
    automatic_repairs:
      description:
        - Whether Azure repairs instances that look unhealthy.
        - C(state) is V(running), V(suspended), V(off), or V(unknown) where repairs are on and Azure does not show
          whether they are suspended, as of a flexible scale set. C(action) is what it does to them, V(Replace),
          V(Restart) or V(Reimage); C(grace_period) how long after a change it begins, both V(none) where repairs are
          off.
          C(health_probe) is the id of the load balancer's probe that health is read from, V(none) where it is not
          read from one.
      type: dict
      returned: if RV(scale_sets[].error) is none
    instances:
      description: The instances.
      type: list
      elements: dict
      returned: with O(instances=true), if RV(scale_sets[].error) is none
      contains:
        instance_id:
          description: What Azure's API knows it by.
          type: str
          returned: always
        name:
          description: The name by which scheduled events refer to it.
          type: str
          returned: always
        latest_model:
          description:
            - Whether it is at the latest model.
            - >-
              Azure does not say this of the VMs in a flexible set. For these it says whether the VM has the
              notifications of the set's model, or is Spot and would not be told anyway.
          type: bool
          returned: always
        priority:
          description: V(Spot) or V(Regular).
          type: str
          returned: always
        eviction_policy:
          description: V(Delete) or V(Deallocate); V(none) if it is not Spot.
          type: str
          returned: always
        terminate:
          description:
            - Whether its deletion would be announced, by the model that the instance itself has.
            - C(announced) is V(none) when the instance has an older model, which Azure does not show;
              C(not_before_timeout) is how far ahead; C(reason) says why it is not announced, or not known.
          type: dict
          returned: always
    outdated_instances:
      description: Names of the instances that are not at the latest model.
      type: list
      elements: str
      returned: with O(instances=true), if RV(scale_sets[].error) is none
    protected_instances:
      description: Names of the instances that are protected from the actions of their set.
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
from ..module_utils.arm.task import Work, run_task, sign_in_arguments


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **sign_in_arguments(),
            "resource_group": {"type": "str"},
            "name": {"type": "str"},
            **places_arguments(),
            "tags": {"type": "dict"},
            "instances": {"type": "bool", "default": True},
        },
        required_by={"name": ["resource_group"]},
        mutually_exclusive=[("name", "subscriptions", "management_group"), ("name", "tags")],
        supports_check_mode=True,
    )
    run_task(module, prepare)


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
                module.warn("%s could not be read to its end: %s" % (one["id"], one["error"]))
                continue
            danger = repairs.explain_danger(one["name"], one["automatic_repairs"])
            if danger is not None:
                module.warn(danger)
        return {"changed": False, "scale_sets": found}

    return work


if __name__ == "__main__":
    main()
