#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module scheduled_event_approve."""

DOCUMENTATION = r"""
module: scheduled_event_approve
short_description: Approve announced maintenance of a VM, so that Azure begins it
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Approves scheduled events from inside the VM, so that Azure need not wait for their V(NotBefore).
  - An approval lets Azure begin on B(all) VMs of the event at once. Approve when all of them are ready.
  - Reads the events first. An event that has already started, or is no longer listed, is not approved and its reason is
    returned.
  - All approvals of one call are sent in one request. If Azure refuses it, they are sent one by one, so one refused
    event does not prevent the others. Events that are refused alone are in RV(not_approved), with a warning.
extends_documentation_fragment:
  - foghorn.azure_events.imds.approve
  - foghorn.azure_events.imds
  - foghorn.azure_events.imds.affecting
  - foghorn.azure_events.filters
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_imds
notes:
  - V(Terminate) events start in the order of their V(NotBefore). An approved one waits until earlier ones, and those of
    the same instant, are approved or out of time. A warning names them.
seealso:
  - module: foghorn.azure_events.scheduled_events_info
  - name: Azure Scheduled Events
    description: Microsoft's description of the service.
    link: https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events
"""

EXAMPLES = r"""
- name: Let every reboot and redeployment begin that this VM leads
  foghorn.azure_events.scheduled_event_approve:
    event_types: [Reboot, Redeploy]
    scope: leader

- name: Read what will happen to this VM
  foghorn.azure_events.scheduled_events_info:
    affecting: this_vm
  register: scheduled

# The default scope refuses an event that also hits other VMs.
- name: Approve the most urgent event, once for all of its VMs
  foghorn.azure_events.scheduled_event_approve:
    event_ids: "{{ scheduled.events[:1] | map(attribute='event_id') }}"
    scope: leader

- name: Approve what was prepared for, unless it has become something else meanwhile
  foghorn.azure_events.scheduled_event_approve:
    event_ids: "{{ scheduled.events | map(attribute='event_id') }}"
    as_seen: "{{ scheduled.events }}"
    scope: leader

- name: Approve a freeze and wait until it has begun
  foghorn.azure_events.scheduled_event_approve:
    event_types: [Freeze]
    affecting: this_vm
    scope: leader
    wait: true
    wait_timeout: 600
"""

RETURN = r"""
vm_name:
  description: The name of this VM in Azure.
  returned: success
  type: str
  sample: web_0
approved:
  description:
    - The events that were approved, or in check mode would be, in order of urgency.
    - Each has the keys of RV(foghorn.azure_events.scheduled_events_info#module:events).
  returned: success
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
      affects_this_vm: true
      shared: false
      leader: web_0
      this_vm_leads: true
not_approved:
  description:
    - The chosen events that were not approved. Events that are still listed have the keys of
      RV(foghorn.azure_events.scheduled_events_info#module:events) as well.
  returned: success
  type: list
  elements: dict
  sample:
    - event_id: C7061BAC-AFDC-4513-B24B-AA5F13A16123
      reason: "not listed: it has ended, was withdrawn or never existed"
  contains:
    event_id:
      description: Identifies the event.
      type: str
    reason:
      description: Why it was not approved.
      type: str
events:
  description:
    - The chosen events as last read, without events that are no longer listed.
    - Each has the keys of RV(foghorn.azure_events.scheduled_events_info#module:events).
  returned: success
  type: list
  elements: dict
  sample:
    - event_id: 602D9444-D2CD-49C7-8624-8643E7171297
      event_type: Reboot
      event_status: Started
      event_source: Platform
      resource_type: VirtualMachine
      resources: [web_0]
      description: Host server is undergoing maintenance.
      duration_in_seconds: -1
      not_before: null
      seconds_until_start: 0
      affects_this_vm: true
      shared: false
      leader: web_0
      this_vm_leads: true
requests_tried:
  description: Number of attempts of the failed request.
  returned: when IMDS did not give a usable answer
  type: int
  sample: 7
last_outcome:
  description: Result of the last attempt.
  returned: when IMDS did not give a usable answer
  type: str
  sample: 503 Service Unavailable
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.imds_module import connection_arguments, run_approval, selection_arguments


def main() -> None:
    """Run the module."""
    run_approval(
        AnsibleModule(
            argument_spec={
                **connection_arguments(),
                **selection_arguments(),
                "event_ids": {"type": "list", "elements": "str"},
                "as_seen": {"type": "list", "elements": "dict", "default": []},
                "scope": {"type": "str", "default": "own", "choices": ["own", "leader", "any"]},
                "wait": {"type": "bool", "default": False},
                "wait_timeout": {"type": "float", "default": 300},
            },
            supports_check_mode=True,
        )
    )


if __name__ == "__main__":
    main()
