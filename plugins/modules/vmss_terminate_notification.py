#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_terminate_notification."""

DOCUMENTATION = r"""
module: vmss_terminate_notification
short_description: Make Azure announce the deletion of a scale set's instances
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Sets in the model of a virtual machine scale set whether Azure announces the deletion of an instance, and OS image
    upgrades, as scheduled events, and with how much notice.
  - Sends only the changed options, so concurrent changes by others are kept.
  - With O(update_instances), updates the instances to the new model as well. Instances with an older model are deleted
    without an announcement.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.notification
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  name:
    description: The name of the scale set.
    type: str
    required: true
  update_instances:
    description:
      - Which instances to update to the latest model. The scale set's upgrade policy decides how.
      - With the policy C(Manual), this module updates them in batches, and then instances that were created meanwhile.
        V(outdated) updates instances that are not at the latest model, V(all) updates every instance once.
      - With C(Automatic) and C(Rolling), Azure updates them, and this module waits until all are at the latest model.
        V(all) then means the same as V(outdated).
      - Needs O(wait=true). Fails if instances are still outdated at the end, and returns its progress.
    type: str
    choices: [none, outdated, all]
    default: none
  batch_size:
    description: Number of instances per request, as a number or a percentage such as V(20%); at least one.
    type: str
    default: 20%
  max_unavailable:
    description:
      - How many instances may be out of service at once, as a number or a percentage such as V(20%); at least one.
      - Instances that are out of service for another reason count too. The update waits until enough are back.
      - Stopped and deallocated instances do not count.
    type: str
    default: 20%
  update_protected:
    description:
      - Also update instances that are protected from actions of their scale set (C(protectFromScaleSetActions)), if the
        upgrade policy is C(Manual).
      - Otherwise they are left alone and returned in RV(protected_instances). With C(Automatic) and C(Rolling), Azure
        always leaves them alone.
    type: bool
    default: false
  progress_file:
    description: Set by the action of this name, which shows how far the module is while it runs. Do not set it.
    type: path
attributes:
  check_mode:
    details: Reads the scale set and its instances, and predicts what would be sent and updated.
  diff_mode:
    support: full
  idempotent:
    support: partial
    details: With O(update_instances=all) every run updates all instances.
notes:
  - The module prints its progress at least every 30 seconds, also in AWX. If it is interrupted, Azure continues the
    operations that it has accepted, and another run resumes.
  - The members of a flexible scale set are VMs. A member counts as up to date if its notifications are those of the
    model. Reading them needs the permission C(Microsoft.Compute/virtualMachines/read).
  - Spot instances have no terminate notification. The module warns if the scale set consists of them.
seealso:
  - module: foghorn.azure_events.vmss_terminate_notification_info
  - module: foghorn.azure_events.vm_terminate_notification
  - name: Terminate notification for scale set instances
    description: Microsoft's description.
    link: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-terminate-notification
"""

EXAMPLES = r"""
- name: Announce deletions 10 minutes ahead, on all instances
  foghorn.azure_events.vmss_terminate_notification:
    resource_group: shop
    name: web
    not_before_timeout: 10m
    update_instances: outdated
    batch_size: 10%
    max_unavailable: "3"
  delegate_to: localhost

- name: Announce upgrades of the OS image as well, for instances to come
  foghorn.azure_events.vmss_terminate_notification:
    resource_group: shop
    name: web
    os_image_notification: true
  delegate_to: localhost

- name: Delete without an announcement
  foghorn.azure_events.vmss_terminate_notification:
    resource_group: shop
    name: web
    state: disabled
  delegate_to: localhost
"""

RETURN = r"""
id:
  description: The scale set's id.
  returned: success, and when it failed after a change
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web
name:
  description: The scale set's name.
  returned: success, and when it failed after a change
  type: str
  sample: web
resource_group:
  description: The resource group.
  returned: success, and when it failed after a change
  type: str
  sample: shop
location:
  description: The region.
  returned: success, and when it failed after a change
  type: str
  sample: westeurope
orchestration_mode:
  description: V(Uniform) or V(Flexible).
  returned: success, and when it failed after a change
  type: str
  sample: Uniform
upgrade_mode:
  description: The upgrade policy, V(Manual), V(Automatic) or V(Rolling).
  returned: success, and when it failed after a change
  type: str
  sample: Manual
before:
  description: The notifications of the scale set's model before the task.
  returned: success, and when it failed after a change
  type: dict
  sample:
    terminate_notification: {enabled: false, not_before_timeout: PT5M}
    os_image_notification: {enabled: false, not_before_timeout: null}
  contains: &notifications
    terminate_notification:
      description: Announcement of deletions.
      type: dict
      contains: &notification
        enabled:
          description: Whether it is announced.
          type: bool
        not_before_timeout:
          description: The notice; V(none) if Azure has no value.
          type: str
    os_image_notification:
      description: Announcement of OS image upgrades.
      type: dict
      contains: *notification
after:
  description: The notifications after the task; in check mode and with O(wait=false), the expected ones.
  returned: success, and when it failed after a change
  type: dict
  sample:
    terminate_notification: {enabled: true, not_before_timeout: PT10M}
    os_image_notification: {enabled: false, not_before_timeout: null}
  contains: *notifications
updated_instances:
  description:
    - Names of the instances that were updated to the latest model, or with O(update_instances=all) updated again.
    - In check mode, those that would be.
  returned: success, or when the update did not finish
  type: list
  elements: str
  sample: [web_0, web_3]
outdated_instances:
  description:
    - Names of the instances that are not at the latest model.
    - V(none) with O(update_instances=none), which does not look at them.
  returned: success, or when the update did not finish
  type: list
  elements: str
  sample: []
protected_instances:
  description:
    - Names of the instances that are not at the latest model and are not updated, because they are protected from
      actions of their scale set (C(protectFromScaleSetActions)) and O(update_protected) is not set.
  returned: success, or when the update did not finish
  type: list
  elements: str
  sample: []
gone_instances:
  description: Names of the instances that were deleted before their update, for example by a scale-in.
  returned: success, or when the update did not finish
  type: list
  elements: str
  sample: []
may_still_happen:
  description:
    - V(true) if Azure may have accepted the change, but its result is unknown. The notifications may be changed. Absent
      if Azure refused the change or reported a failure.
  returned: failure
  type: bool
  sample: true
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

from ..module_utils.arm import scale_set
from ..module_utils.arm.notification import as_dict, notification_arguments, read_desired_state
from ..module_utils.arm.options import read_name
from ..module_utils.arm.rollout import NONE, UPDATES, read_limits
from ..module_utils.arm.task import Work, before_and_after, progress_arguments, run_module, warn
from ..module_utils.scheduled_events.errors import OptionError


def main() -> None:
    """Run the module."""
    run_module(
        {
            **notification_arguments(),
            "update_instances": {"type": "str", "default": NONE, "choices": list(UPDATES)},
            "batch_size": {"type": "str", "default": "20%"},
            "max_unavailable": {"type": "str", "default": "20%"},
            "update_protected": {"type": "bool", "default": False},
            **progress_arguments(),
        },
        prepare,
        report_scale_set,
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    desired = read_desired_state(options)
    rollout = scale_set.Rollout(options["update_instances"], read_limits(options), options["update_protected"])
    if rollout.which != NONE and not options["wait"]:
        raise OptionError(
            "wait: false is not valid with update_instances: %s, because instances can be updated to the new "
            "model only when Azure has stored it. Set wait to true, or update_instances to none" % rollout.which
        )
    group, name = read_name(options, "resource_group"), read_name(options, "name")
    return lambda client: scale_set.notify(client, group, name, desired, rollout, options["wait"], module.check_mode)


def report_scale_set(module: AnsibleModule, outcome: scale_set.ScaleSetChange) -> dict[str, Any]:
    """Put what was done into the result."""
    warn(module, outcome.warnings)
    found = outcome.scale_set
    return {
        "changed": outcome.changed,
        "id": found.resource_id,
        "name": found.name,
        "resource_group": read_name(module.params, "resource_group"),
        "location": found.location,
        "orchestration_mode": found.orchestration_mode,
        "upgrade_mode": found.upgrade_mode,
        "updated_instances": list(outcome.updated),
        "outdated_instances": None if outcome.outdated is None else list(outcome.outdated),
        "protected_instances": list(outcome.protected),
        "gone_instances": list(outcome.gone),
        **before_and_after(module, as_dict(outcome.before), as_dict(outcome.after), list(outcome.updated)),
    }


if __name__ == "__main__":
    main()
