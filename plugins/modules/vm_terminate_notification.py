#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vm_terminate_notification."""

DOCUMENTATION = r"""
module: vm_terminate_notification
short_description: Make Azure announce the deletion of a VM
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Sets whether Azure announces the deletion of a VM, and OS image upgrades, as scheduled events, and with how much
    notice.
  - For standalone VMs and members of flexible scale sets. The instances of uniform scale sets use the model of their
    set.
  - Sends only what differs.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.notification
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  name:
    description: The name of the VM in Azure.
    type: str
    required: true
attributes:
  diff_mode:
    support: full
notes:
  - Spot VMs have no terminate notification. The module warns if the VM is Spot.
seealso:
  - module: foghorn.azure_events.vmss_terminate_notification
"""

EXAMPLES = r"""
- name: Announce the deletion of a VM 5 minutes ahead
  foghorn.azure_events.vm_terminate_notification:
    resource_group: shop
    name: database
    not_before_timeout: PT5M
  delegate_to: localhost
"""

RETURN = r"""
id:
  description: The VM's id.
  returned: success, and when it failed after a change
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachines/database
name:
  description: The VM's name.
  returned: success, and when it failed after a change
  type: str
  sample: database
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
priority:
  description: V(Spot) or V(Regular).
  returned: success, and when it failed after a change
  type: str
  sample: Spot
eviction_policy:
  description: Its eviction policy, V(Delete) or V(Deallocate); V(none) if it is not Spot.
  returned: success, and when it failed after a change
  type: str
  sample: Delete
can_announce:
  description: Whether it supports terminate notifications. Spot VMs do not.
  returned: success, and when it failed after a change
  type: bool
  sample: false
before:
  description: >-
    The VM's notifications before the task, with the keys of
    RV(foghorn.azure_events.vmss_terminate_notification#module:before).
  returned: success, and when it failed after a change
  type: dict
  sample:
    terminate_notification: {enabled: false, not_before_timeout: null}
    os_image_notification: {enabled: false, not_before_timeout: null}
after:
  description: The VM's notifications after the task; in check mode and with O(wait=false), the expected ones.
  returned: success, and when it failed after a change
  type: dict
  sample:
    terminate_notification: {enabled: true, not_before_timeout: PT5M}
    os_image_notification: {enabled: false, not_before_timeout: null}
may_still_happen:
  description:
    - V(true) if Azure may have accepted the change, but its result is unknown. The notification may be changed. Absent
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

from ..module_utils.arm import virtual_machine
from ..module_utils.arm.notification import as_dict, notification_arguments, read_desired_state
from ..module_utils.arm.options import read_name
from ..module_utils.arm.task import Work, before_and_after, run_module, warn


def main() -> None:
    """Run the module."""
    run_module(notification_arguments(), prepare, report_machine)


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    desired = read_desired_state(options)
    group, name = read_name(options, "resource_group"), read_name(options, "name")
    return lambda client: virtual_machine.notify(client, group, name, desired, options["wait"], module.check_mode)


def report_machine(module: AnsibleModule, outcome: virtual_machine.MachineChange) -> dict[str, Any]:
    """Put what was done into the result."""
    warn(module, outcome.warnings)
    return {
        "changed": outcome.changed,
        "id": outcome.resource.get("id"),
        "name": outcome.resource.get("name"),
        "resource_group": read_name(module.params, "resource_group"),
        "location": outcome.resource.get("location"),
        **virtual_machine.describe(outcome.resource),
        **before_and_after(module, as_dict(outcome.before), as_dict(outcome.after)),
    }


if __name__ == "__main__":
    main()
