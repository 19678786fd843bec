#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vm_maintenance."""

DOCUMENTATION = r"""
module: vm_maintenance
short_description: Begin the planned maintenance of a VM's host now
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Planned maintenance that needs a restart comes with a self-service window of about 35 days. If the window is open,
    this module begins the maintenance. Otherwise it does nothing and returns the reason.
  - B(It takes the machine down) for some minutes, and empties its temporary disk. Azure starts it again on a host that
    is already maintained.
  - If the machine polls for scheduled events, this may wait for an approval, as for
    M(foghorn.azure_events.vm_redeploy).
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.target
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  wait:
    description:
      - Wait until the maintenance is done.
      - With V(false) the module ends once Azure has accepted it. The machine may go down at any moment after that.
    type: bool
    default: true
attributes:
  diff_mode:
    support: none
  idempotent:
    details: After its maintenance, a machine has no open window.
notes:
  - Needs C(Microsoft.Compute/virtualMachines/performMaintenance/action) and C(…/instanceView/read), for an instance of
    a uniform set the same below C(Microsoft.Compute/virtualMachineScaleSets/virtualMachines). The role Virtual Machine
    Contributor grants them.
seealso:
  - module: foghorn.azure_events.maintenance_window_info
  - name: Planned maintenance
    description: Microsoft's description.
    link: https://learn.microsoft.com/azure/virtual-machines/maintenance-notifications
"""

EXAMPLES = r"""
- name: Have a VM maintained now, if that is planned
  foghorn.azure_events.vm_maintenance:
    resource_group: shop
    name: database
  delegate_to: localhost
"""

RETURN = r"""
id:
  description: The id of the machine.
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachines/database
reason:
  description: Why nothing was done, V(none) if something was done.
  returned: success
  type: str
  sample: no maintenance is planned for it
window:
  description:
    - The window, V(none) if there is none. It has the keys of
      RV(foghorn.azure_events.maintenance_window_info#module:machines) except C(id) and C(name).
  returned: success
  type: dict
  sample:
    self_service_allowed: true
    self_service_start: "2026-05-01T00:00:00Z"
    self_service_end: "2026-06-05T00:00:00Z"
    scheduled_start: "2026-06-07T00:00:00Z"
    scheduled_end: "2026-06-21T00:00:00Z"
    last_result: None
    last_message: null
may_still_happen:
  description:
    - V(true) if Azure may have accepted the request, but its result is unknown. The machine may go down at any moment,
      so do not restore it to rotation. Absent if Azure refused the request or reported a failure.
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

from ..module_utils.arm import maintenance
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.target import read_target, target_arguments, target_rules
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module({**target_arguments(), "wait": {"type": "bool", "default": True}}, prepare, **target_rules())


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    target = read_target(options)

    def work(client: ArmClient) -> dict[str, Any]:
        path, window, reason = maintenance.maintain(client, target, options["wait"], module.check_mode)
        return {"changed": reason is None, "id": path, "reason": reason, "window": window}

    return work


if __name__ == "__main__":
    main()
