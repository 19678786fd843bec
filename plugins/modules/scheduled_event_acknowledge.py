#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module scheduled_event_acknowledge."""

DOCUMENTATION = r"""
module: scheduled_event_acknowledge
short_description: Approve announced maintenance from the controller
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Approves scheduled events through Azure's control plane, for VMs that cannot or should not do so themselves.
  - An approval lets Azure begin on B(all) VMs of the event at once. Approve when all of them are ready.
  - Reads the events from Resource Graph first. An event that has started already, or is over, is left out with the
    reason and changes nothing.
  - Works only for resources whose policy publishes events. M(foghorn.azure_events.scheduled_events_policy) sets that
    policy.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.places
  - foghorn.azure_events.filters
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  event_ids:
    description:
      - Choose these events, compared without case. An empty list chooses none.
      - If not set, pending events that hit any of O(vm_names) are chosen. One of the two options is required.
      - If other filters are set as well, an event must pass them too.
    type: list
    elements: str
  vm_names:
    description:
      - The VMs that are ready, by their names in Azure or their ids, ignoring case.
      - Names may not be unique, ids are. If VMs in several resource groups have a name, the module refuses it and
        approves nothing.
    type: list
    elements: str
  resource_group:
    description: Choose only events of this resource group. By default, all resource groups of the subscriptions.
    type: str
  scope:
    description:
      - Which of the chosen events may be approved.
      - V(own) approves events that hit O(vm_names) and no other VM. The module fails and approves nothing if one of
        the chosen events is still V(Scheduled) and hits another VM as well, or hits none of O(vm_names), whatever its
        status. For an event that several VMs share, name all of them once they are ready, or use V(leader).
      - V(leader) approves events whose first resource is one of O(vm_names), and returns a reason for the others.
      - V(any) approves every chosen event.
    type: str
    choices: [own, leader, any]
    default: own
  subscriptions:
    description:
      - Ids of the subscriptions whose events are read.
      - If not set, O(subscription_id), or the subscriptions in O(vm_names) if these are all ids.
    type: list
    elements: str
  wait:
    description: Wait, within O(timeout), until each approved event has started or is over.
    type: bool
    default: false
attributes:
  check_mode:
    details: Reads the events and predicts what would be approved.
  diff_mode:
    support: full
    details: Shows the status of each chosen event before and after.
  idempotent:
    support: partial
    details: >-
      Azure does not show that an event was approved. Until it starts, a second run approves it again, which is
      harmless, and reports a change.
notes:
  - Reading and approving events needs the role C(Scheduled Events Contributor)
    (C(b67fe603-310e-4889-b9ee-8257d09d353d)) on the subscription, the resource group or the resource. According to
    Microsoft's page of May 2026, Microsoft's service MaintenanceResourceProvider
    (C(78315a30-673a-4a46-8e5c-ce59dbc6adf8)) needs it there as well. Without these, Azure returns no events.
    M(foghorn.azure_events.maintenance_rights_info) reports what is missing.
  - A VM of O(vm_names) that Azure Resource Graph does not know is an error. Otherwise a misspelt name or a missing
    permission would look like a VM without events.
  - Events of one resource are approved in one request. If a later request fails, earlier approvals remain.
seealso:
  - module: foghorn.azure_events.scheduled_event_approve
  - module: foghorn.azure_events.scheduled_events_policy
"""

EXAMPLES = r"""
- name: Approve what hits only these two VMs, once both are drained
  foghorn.azure_events.scheduled_event_acknowledge:
    resource_group: shop
    vm_names: [web_0, web_1]
  delegate_to: localhost
  run_once: true

- name: Approve one event, whomever it hits, and wait until it has begun
  foghorn.azure_events.scheduled_event_acknowledge:
    event_ids: [602D9444-D2CD-49C7-8624-8643E7171297]
    scope: any
    wait: true
    timeout: 600
  delegate_to: localhost
"""

RETURN = r"""
approved:
  description:
    - The events that were approved, or in check mode would be, in order of urgency.
    - Each has the keys of RV(foghorn.azure_events.scheduled_events_info#module:events) except C(affects_this_vm) and
      C(this_vm_leads), and in addition C(resource_id), C(location) and C(zones).
  returned: success, and failure where some were approved
  type: list
  elements: dict
  sample:
    - event_id: 602D9444-D2CD-49C7-8624-8643E7171297
      event_type: Reboot
      event_status: Scheduled
      event_source: Platform
      resource_type: VirtualMachine
      resources: [web_0]
      description: Host server is undergoing maintenance.
      duration_in_seconds: -1
      not_before: "2026-09-19T18:29:47Z"
      seconds_until_start: 893
      shared: false
      leader: web_0
      resource_id: >-
        /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachines/web_0
      location: westeurope
      zones: []
not_approved:
  description: The chosen events that were not approved, each with C(event_id) and C(reason). Events that are still
    listed have the keys of RV(approved) as well.
  returned: success, and failure where some were approved
  type: list
  elements: dict
  sample:
    - event_id: C7061BAC-AFDC-4513-B24B-AA5F13A16123
      reason: "not listed: it has ended, was withdrawn or never existed"
may_still_happen:
  description:
    - V(true) if Azure may have accepted the request, but its result is unknown. The events may be approved. Absent if
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
  description: The subscription of the sign-in, or V(null) if none was set and none was needed.
  returned: success
  type: str
  sample: 00000000-0000-0000-0000-000000000001
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import acknowledgement
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.machines import read_references
from ..module_utils.arm.options import places_arguments, read_optional_name, read_places
from ..module_utils.arm.resource_graph import subscriptions_of
from ..module_utils.arm.task import Work, run_module, warn
from ..module_utils.scheduled_events.approval import OWN, SCOPES
from ..module_utils.scheduled_events.selection import read_selection, warnings_for


def main() -> None:
    """Run the module."""
    run_module(
        {
            "event_ids": {"type": "list", "elements": "str"},
            "vm_names": {"type": "list", "elements": "str"},
            "resource_group": {"type": "str"},
            "scope": {"type": "str", "default": OWN, "choices": list(SCOPES)},
            "event_types": {"type": "list", "elements": "str"},
            "event_sources": {"type": "list", "elements": "str"},
            "event_statuses": {"type": "list", "elements": "str"},
            **places_arguments(),
            "wait": {"type": "bool", "default": False},
        },
        prepare,
        report_approval,
        mutually_exclusive=[("subscriptions", "management_group")],
        required_one_of=[("event_ids", "vm_names")],
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    selection = read_selection(options)
    for warning in warnings_for(options):
        module.warn(warning)
    vms = read_references(options["vm_names"] or ())
    group = read_optional_name(options, "resource_group")
    places = read_places(options)

    def work(client: ArmClient) -> acknowledgement.Acknowledgement:
        return acknowledgement.acknowledge(
            client,
            subscriptions_of(client, places),
            selection,
            vms,
            options["scope"],
            options["wait"],
            module.check_mode,
            group,
        )

    return work


def report_approval(module: AnsibleModule, result: acknowledgement.Acknowledgement) -> dict[str, Any]:
    """Put what was done into the result."""
    warn(module, tuple(result.warnings))
    report: dict[str, Any] = {
        "changed": result.changed,
        "approved": result.approved,
        "not_approved": result.not_approved,
    }
    if module._diff:
        report["diff"] = {"before": result.before, "after": result.after}
    return report


if __name__ == "__main__":
    main()
