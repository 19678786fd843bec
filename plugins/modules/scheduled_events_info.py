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
  - Asks Azure's Scheduled Events, from inside the VM, which reboots, freezes, redeployments, evictions and
    deletions are announced or under way.
  - Runs on the VM and needs nothing there but Python.
  - An answer that is not a document of events is an error, never an empty list.
extends_documentation_fragment:
  - foghorn.azure_events.imds
  - foghorn.azure_events.imds.affecting
  - foghorn.azure_events.filters
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_imds
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
notes:
  - The first request to a VM enables Scheduled Events there. It may take two minutes to answer, and events appear
    within about five. After a day without a request the service is disabled again.
  - IMDS answers 5 requests a second for all of a VM together. This module makes two, or one when O(vm_name) is set,
    and tries again when it was too many.
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
    - The name of the scale set that this VM is in, empty if it is in none.
    - V(none) if O(vm_name) was given, because nothing was asked then.
  returned: success
  type: str
  sample: web
resource_id:
  description:
    - The resource id of this VM in Azure, which tells it from VMs of the same name in other resource groups; empty if
      the metadata service does not tell it.
    - V(none) if O(vm_name) was given, because nothing was asked then.
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/blue/providers/Microsoft.Compute/virtualMachines/web_0
document_incarnation:
  description:
    - Changes whenever the events of this VM's set change.
    - Compare for different, never for greater, because it starts again after the service was disabled.
  returned: success
  type: int
  sample: 4
events:
  description: >-
    The chosen events in order of urgency. What has started comes first, then what may start at any moment, then the
    rest by their earliest start. V(SpotRebalanceRecommendation) has no start; it comes behind every V(Preempt) and
    before what starts later.
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
      description: >-
        Identifies the event. Compare without case. V(Unreadable) for one that Azure lists with an id that is no text.
      type: str
      returned: always
    event_type:
      description: >-
        V(Freeze), V(Reboot), V(Redeploy), V(Preempt), V(Terminate) or V(SpotRebalanceRecommendation), which is advisory
        and may come without an eviction; or a type that Azure has added since, as it came; V(Unreadable) if it is no
        text.
      type: str
      returned: always
    event_status:
      description: >-
        V(Scheduled) or V(Started). An event that is over is no longer listed. V(Unreadable) if that, the id or
        RV(events[].resources) cannot be read; such an event is never approved.
      type: str
      returned: always
    event_source:
      description: V(Platform) or V(User); V(none) with an O(api_version) that does not have it.
      type: str
      returned: always
    resource_type:
      description: What the resources are. Azure sends V(VirtualMachine).
      type: str
      returned: always
    resources:
      description: >-
        Names in Azure of all VMs that the event hits. Empty if that cannot be read. Such an event may hit any VM, so it
        is returned whatever O(affecting) is.
      type: list
      elements: str
      returned: always
    description:
      description: Azure's own words; V(none) with an O(api_version) that does not have it.
      type: str
      returned: always
    duration_in_seconds:
      description: >-
        Expected interruption in seconds, where V(0) is none and V(-1) is unknown; V(none) with an O(api_version)
        that does not have it.
      type: int
      returned: always
    not_before:
      description: Earliest start, RFC 3339 in UTC; V(none) when Azure does not say, as once the event has started.
      type: str
      returned: always
    seconds_until_start:
      description: Seconds of notice left by this VM's clock; V(0) once started, V(none) when the start is unknown.
      type: int
      returned: always
    affects_this_vm:
      description: Whether this VM is among RV(events[].resources).
      type: bool
      returned: always
    shared:
      description: Whether the event hits more than one VM, so that one approval decides for all.
      type: bool
      returned: always
    leader:
      description: The first of RV(events[].resources), which approves for all; V(none) when there are none.
      type: str
      returned: always
    this_vm_leads:
      description: Whether this VM is RV(events[].leader).
      type: bool
      returned: always
    other_fields:
      description:
        - Fields that this version of the collection does not know, as Azure sent them.
        - A known one that cannot be read counts as not sent. It is quoted here in a field whose name is C(Unreadable)
          and its own, as in C(UnreadableNotBefore).
      type: dict
      returned: when Azure sent such fields
requests_tried:
  description: How many requests were tried for the one that failed.
  returned: when IMDS did not give a usable answer
  type: int
  sample: 7
last_outcome:
  description: What became of the last attempt.
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
