#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_lifecycle_hook_event."""

DOCUMENTATION = r"""
module: vmss_lifecycle_hook_event
short_description: Answer Azure's question before it upgrades the image of a scale set
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Approves or rejects all or some instances of a lifecycle hook event, or extends the time that Azure waits.
  - Azure continues when each instance has an answer. Instances that are not named keep their state, so you can approve
    each when it is ready.
  - The module does nothing and returns the RV(reason) if the instances already have this answer, including by the
    default action, if no event is active, or if O(name) is not listed.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  resource_group:
    description: The resource group.
    type: str
    required: true
  scale_set:
    description: The name of the scale set.
    type: str
    required: true
  name:
    description:
      - The name of the event. By default the active event about an upgrade. If two are active, the error names both.
        Active events of other types, such as the deletion of an instance, are answered only by name.
    type: str
  state:
    description:
      - V(approved) lets Azure upgrade the instances, or the scale set.
      - V(rejected) prevents the upgrade.
      - V(delayed) makes Azure wait longer for an answer.
    type: str
    required: true
    choices: [approved, rejected, delayed]
  instances:
    description:
      - The instances to answer for, by id (V(3)) or by name in scheduled events (V(web_3)). By default all waiting
        instances; an empty list means none.
      - Not with O(state=delayed).
    type: list
    elements: str
  until:
    description:
      - The time until which Azure must wait, with its zone, like V(2026-11-25T22:00:00Z). A time after the event's
        C(max_wait_until) is an error. If Azure already waits as long, nothing is done.
      - Goes with O(state=delayed) alone.
    type: str
  by:
    description:
      - How much longer Azure must wait, as an ISO 8601 duration like V(PT30M). Each run adds it.
      - Goes with O(state=delayed) alone.
    type: str
attributes:
  diff_mode:
    support: full
  idempotent:
    support: partial
    details: Not with O(by), which is added to whatever Azure waits until.
notes:
  - Needs C(Microsoft.Compute/virtualMachineScaleSets/lifecycleHookEvents/read) and C(…/write), which the role Virtual
    Machine Contributor grants.
  - Lifecycle hooks are a public preview, in Microsoft.Compute 2025-11-01 and later.
seealso:
  - module: foghorn.azure_events.vmss_lifecycle_hook_event_info
  - module: foghorn.azure_events.vmss_lifecycle_hooks
"""

EXAMPLES = r"""
- name: Have Azure wait half an hour longer
  foghorn.azure_events.vmss_lifecycle_hook_event:
    resource_group: shop
    scale_set: web
    state: delayed
    by: PT30M
  delegate_to: localhost
  run_once: true

- name: Let Azure upgrade one instance, which is drained
  foghorn.azure_events.vmss_lifecycle_hook_event:
    resource_group: shop
    scale_set: web
    state: approved
    instances: [web_0]
  delegate_to: localhost
  run_once: true

- name: Let Azure upgrade all that still wait
  foghorn.azure_events.vmss_lifecycle_hook_event:
    resource_group: shop
    scale_set: web
    state: approved
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
reason:
  description: Why nothing was done. V(none) if something was done.
  returned: success, and when it failed after a change
  type: str
  sample: no event is active
answered:
  description: The ids of the answered instances or of the scale set.
  returned: success, and when it failed after a change
  type: list
  elements: str
  sample:
    - >-
      /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/0
event:
  description:
    - The event after the task, or in check mode the expected one, as
      M(foghorn.azure_events.vmss_lifecycle_hook_event_info) returns it. V(none) if there is none.
  returned: success, and when it failed after a change
  type: dict
  sample:
    name: 445c0a08-cfc5-4ef6-bb89-fe77c5178628
    type: UpgradeAutoOSRollingBatchStarting
    state: Completed
    time_created: "2026-11-25T06:17:55Z"
    wait_until: "2026-11-25T06:47:55Z"
    max_wait_until: "2026-11-25T10:17:55Z"
    seconds_left: 1790
    default_action: Approve
    priority: null
    targets:
      - id: >-
          /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/0
        instance_id: "0"
        vm_name: web_0
        state: Approved
may_still_happen:
  description:
    - V(true) if Azure may have accepted the answer, but the result is unknown. Absent if Azure refused it.
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

from ..module_utils.arm import lifecycle_hook_events
from ..module_utils.arm.options import read_name, read_optional_name
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module(
        {
            "resource_group": {"type": "str", "required": True},
            "scale_set": {"type": "str", "required": True},
            "name": {"type": "str"},
            "state": {"type": "str", "required": True, "choices": list(lifecycle_hook_events.STATES)},
            "instances": {"type": "list", "elements": "str"},
            "until": {"type": "str"},
            "by": {"type": "str"},
        },
        prepare,
        report_answer,
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    answer = lifecycle_hook_events.read_answer(options)
    group, scale_set = read_name(options, "resource_group"), read_name(options, "scale_set")
    name = read_optional_name(options, "name")
    return lambda client: lifecycle_hook_events.answer_event(client, group, scale_set, name, answer, module.check_mode)


def report_answer(module: AnsibleModule, outcome: lifecycle_hook_events.EventChange) -> dict[str, Any]:
    """Put what was done into the result."""
    report: dict[str, Any] = {
        "changed": outcome.changed,
        "reason": outcome.reason,
        "answered": list(outcome.answered),
        "event": outcome.after,
    }
    if module._diff:
        report["diff"] = {"before": outcome.before or {}, "after": outcome.after or {}}
    return report


if __name__ == "__main__":
    main()
