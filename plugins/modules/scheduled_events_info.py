#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module scheduled_events_info."""

DOCUMENTATION = r"""
module: scheduled_events_info
short_description: Read the maintenance that Azure has announced for a VM
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads, inside the VM, which reboots, freezes, redeployments, evictions and deletions Azure has announced or begun.
  - Runs on the VM and needs only Python.
  - An answer that is not a document of events is an error, never an empty list.
extends_documentation_fragment:
  - foghorn.azure_events.imds
  - foghorn.azure_events.imds.affecting
  - foghorn.azure_events.filters
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_imds
notes:
  - The first request of a VM enables Scheduled Events and may take two minutes. Events then appear within about five
    minutes. After a day without requests the service is disabled again.
  - IMDS answers 5 requests per second and VM. This module makes two, or one when O(vm_name) is set, and retries if IMDS
    throttles it.
seealso:
  - module: foghorn.azure_events.scheduled_event_approve
  - plugin: foghorn.azure_events.scheduled_events
    plugin_type: lookup
  - name: Azure Scheduled Events
    description: Microsoft's description of the service.
    link: https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events
"""

EXAMPLES = r"""
- name: Read all events that this VM is notified of
  foghorn.azure_events.scheduled_events_info:
  register: scheduled

- name: Show what will happen to this VM, the most urgent first
  ansible.builtin.debug:
    msg: "{{ item.event_type }} in {{ item.seconds_until_start }} s: {{ item.description }}"
  loop: "{{ scheduled.events | selectattr('affects_this_vm') }}"
  loop_control:
    label: "{{ item.event_id }}"

- name: Read only what will take this VM down
  foghorn.azure_events.scheduled_events_info:
    event_types: [Reboot, Redeploy, Preempt, Terminate]
    event_statuses: [Scheduled]
    affecting: this_vm

- name: Read against a simulator
  foghorn.azure_events.scheduled_events_info:
    endpoint: http://127.0.0.1:8080
"""

RETURN = r"""
system:
  description: V(Linux). On Windows, V(Windows).
  returned: success
  type: str
  sample: Linux
vm_name:
  description: The name of this VM in Azure.
  returned: success
  type: str
  sample: web_0
scale_set:
  description:
    - The name of the VM's scale set, empty if it has none.
    - V(none) if O(vm_name) was given, because the module does not ask for it then.
  returned: success
  type: str
  sample: web
resource_id:
  description:
    - The resource id of this VM in Azure, which is unique, unlike its name. Empty if the metadata service does not
      return it.
    - V(none) if O(vm_name) was given, because the module does not ask for it then.
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/blue/providers/Microsoft.Compute/virtualMachines/web_0
vm_id:
  description:
    - The unique id of this VM. A VM that is created again under the same name has another one. Empty if the metadata
      service does not return it.
    - V(none) if O(vm_name) was given, because the module does not ask for it then.
  returned: success
  type: str
  sample: 3f0c5c0e-3c5e-4b0e-9d6f-0f4c2a1d9b11
document_incarnation:
  description:
    - Changes whenever the events of this VM's set change.
    - Check whether it differs, never whether it is greater, because it starts again after the service was disabled.
  returned: success
  type: int
  sample: 4
events:
  description: The chosen events in order of urgency. Started events come first, then events that may start at any
    moment, then the others by their earliest start. V(SpotRebalanceRecommendation) has no start; it follows every
    V(Preempt) and precedes events that start later.
  returned: success
  type: list
  elements: dict
  sample:
    - event_id: 602D9444-D2CD-49C7-8624-8643E7171297
      event_type: Reboot
      event_status: Scheduled
      event_source: Platform
      resource_type: VirtualMachine
      resources: [web_0, web_1]
      description: Host server is undergoing maintenance.
      duration_in_seconds: -1
      not_before: "2026-09-19T18:29:47Z"
      seconds_until_start: 893
      affects_this_vm: true
      shared: true
      leader: web_0
      this_vm_leads: true
  contains:
    event_id:
      description: Id of the event. Compare without case. V(Unreadable) if Azure's id is not a string.
      type: str
    event_type:
      description: V(Freeze), V(Reboot), V(Redeploy), V(Preempt), V(Terminate), or the advisory
        V(SpotRebalanceRecommendation), which may come without an eviction. A type that Azure has added since is
        returned unchanged. V(Unreadable) if it is not a string.
      type: str
    event_status:
      description: V(Scheduled) or V(Started). An event that is over is no longer listed. V(Unreadable) if the status,
        the id or RV(events[].resources) is invalid; such an event is never approved.
      type: str
    event_source:
      description: V(Platform) or V(User); V(none) if O(api_version) lacks it.
      type: str
    resource_type:
      description: Type of the resources. Azure sends V(VirtualMachine).
      type: str
    resources:
      description: Names in Azure of all VMs that the event hits. Empty if the list is invalid. Such an event may hit
        any VM, so it is returned with any O(affecting).
      type: list
      elements: str
    description:
      description: Azure's description; V(none) if O(api_version) lacks it.
      type: str
    duration_in_seconds:
      description: Expected interruption in seconds. V(0) means none, V(-1) unknown, V(none) that O(api_version) lacks
        it.
      type: int
    not_before:
      description: Earliest start, RFC 3339 in UTC; V(none) if Azure does not give it, for example once the event has
        started.
      type: str
    seconds_until_start:
      description: Seconds of notice left by this VM's clock; V(0) once started, V(none) when the start is unknown.
      type: int
    affects_this_vm:
      description: Whether this VM is among RV(events[].resources).
      type: bool
    shared:
      description: Whether the event hits more than one VM, so that one approval applies to all.
      type: bool
    leader:
      description: The first of RV(events[].resources), which approves for all; V(none) if there are none.
      type: str
    this_vm_leads:
      description: Whether this VM is RV(events[].leader).
      type: bool
    other_fields:
      description:
        - Fields that this version of the collection does not know, as Azure sent them.
        - An invalid known field counts as missing. Its value is here, in a field named C(Unreadable) and the field's
          name, as in C(UnreadableNotBefore).
      type: dict
      returned: when Azure sent such fields
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

from ..module_utils.imds_module import connection_arguments, run_info, selection_arguments


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={**connection_arguments(), **selection_arguments()},
        supports_check_mode=True,
    )
    run_info(module)


if __name__ == "__main__":
    main()
