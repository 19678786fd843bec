#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module update_run_cancel."""

DOCUMENTATION = r"""
module: update_run_cancel
short_description: Cancel a run of Azure Update Manager before it begins
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Azure Update Manager sends an event about 30 minutes before a scheduled run of updates. The run then begins, whether
    the machines are prepared or not. This module cancels the run for all of its machines. The schedule and later runs
    stay.
  - Azure accepts a cancellation until ten minutes before the run begins. After that the module fails.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  run_id:
    description:
      - The id of the run. It is C(data.correlationId) of the event, and C(run_id) of the event filter
        C(foghorn.azure_events.azure_maintenance_event).
    type: str
    required: true
attributes:
  check_mode:
    details: Check mode does not ask Azure, and does not notice a run that cannot be cancelled.
  diff_mode:
    support: none
  idempotent:
    support: none
    details: A cancelled run is cancelled again.
notes:
  - Needs C(Microsoft.Maintenance/applyUpdates/write) on the maintenance configuration. The role Contributor grants it.
seealso:
  - name: Manage pre and post events
    description: Microsoft's description.
    link: https://learn.microsoft.com/azure/update-manager/manage-pre-post-events
"""

EXAMPLES = r"""
- name: Cancel the updates for which the machines are not ready
  foghorn.azure_events.update_run_cancel:
    run_id: "{{ event.azure_maintenance.run_id }}"
  delegate_to: localhost
"""

RETURN = r"""
id:
  description: The id of the run.
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Maintenance/maintenanceConfigurations/patches/providers/Microsoft.Maintenance/applyUpdates/20261122150000
status:
  description: Azure's status of the run. V(none) in check mode.
  returned: success
  type: str
  sample: Cancelled
may_still_happen:
  description:
    - V(true) if Azure may have accepted the request, but its result is unknown. The run may be cancelled. Absent if
      Azure refused the request or reported a failure.
  returned: failure
  type: bool
  sample: true
auth_source_used:
  description: Where the credentials came from, V(parameters), V(env), V(credential_file), V(cli) or V(msi).
  returned: success
  type: str
  sample: env
subscription_id:
  description: The subscription of the sign-in, V(none) if it has none.
  returned: success
  type: str
  sample: 00000000-0000-0000-0000-000000000001
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import update_run
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module({"run_id": {"type": "str", "required": True}}, prepare)


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    run_id = module.params["run_id"]

    def work(client: ArmClient) -> dict[str, Any]:
        return {"changed": True, "id": run_id, "status": update_run.cancel(client, run_id, module.check_mode)}

    return work


if __name__ == "__main__":
    main()
