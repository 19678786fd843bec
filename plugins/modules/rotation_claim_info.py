#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module rotation_claim_info."""

DOCUMENTATION = r"""
module: rotation_claim_info
short_description: Read who wants a machine out of rotation, and which run works on it
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads the record of M(foghorn.azure_events.rotation_claim) on the machine.
  - A machine without the file has no claims and no lease. That is not an error.
  - On a Windows machine, claims are not kept, and O(directory), O(paths) and O(units) have no effect.
extends_documentation_fragment:
  - foghorn.azure_events.imds
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_imds
  - foghorn.azure_events.attributes.reads_only
options:
  directory:
    description: Directory of the file, as for M(foghorn.azure_events.rotation_claim).
    type: path
    required: true
  paths:
    description: Paths to look for, returned in RV(present).
    type: list
    elements: path
    default: []
  units:
    description: Names of systemd units to look for. Unknown units are in RV(unknown_units).
    type: list
    elements: str
    default: []
  agent:
    description:
      - The command, as a list of arguments, that prints the status of the machine's handler agent as JSON, as
        C(foghorn-agent status --json) does. What it prints is in RV(agent). If not set, the agent is not asked. On
        Windows, any value asks the agent that the role installs.
    type: list
    elements: str
    default: []
  events:
    description:
      - Whether to read the events that hit the machine as well, into RV(scheduled). If they cannot be read, the module
        fails, and returns all the same what else it has found.
      - The options of the connection to IMDS are for this.
    type: bool
    default: false
seealso:
  - module: foghorn.azure_events.rotation_claim
"""

EXAMPLES = r"""
- name: Read who wants the machine out
  foghorn.azure_events.rotation_claim_info:
    directory: /var/lib/foghorn/handle_events
  register: claimed

- name: Show who has drained it by hand
  ansible.builtin.debug:
    msg: "{{ claimed.claims.by_hand.by }}: {{ claimed.claims.by_hand.reason }}"
  when: "'by_hand' in claimed.claims"
"""

RETURN = r"""
lease:
  description:
    - The run that works on the machine; V(none) if there is none. It has the keys of
      RV(foghorn.azure_events.rotation_claim#module:lease).
  returned: success
  type: dict
  sample: {id: 5c0429c8, playbook: handle_events, by: root on ctl1, process: null, until: 1789841400.1,
    returning: false}
claims:
  description: The claims, by owner. Each has the keys of RV(foghorn.azure_events.rotation_claim#module:claims).
  returned: success
  type: dict
  sample: {by_hand: {reason: new kernel, by: alice on ctl1, since: 1789840800.1}}
tried:
  description: Removals in vain, by event id, as RV(foghorn.azure_events.rotation_claim#module:tried).
  returned: success
  type: dict
  sample: {602d9444-d2cd-49c7-8624-8643e7171297: {at: 1789840800.1, reason: "web1: these services did not stop: web"}}
vm:
  description: The VM whose claims they are, as RV(foghorn.azure_events.rotation_claim#module:vm).
  returned: success
  type: dict
  sample:
    resource_id: /subscriptions/0/resourceGroups/b/providers/Microsoft.Compute/virtualMachines/web_0
    vm_id: 3f0c5c0e-3c5e-4b0e-9d6f-0f4c2a1d9b11
boot_id:
  description: An id that changes at each boot of the machine.
  returned: success
  type: str
  sample: 0c2ea3f4-5d08-4f2c-9c0c-6d6f4cbb6a3a
now:
  description: The machine's clock, in seconds since the epoch.
  returned: success
  type: float
  sample: 1789840812.4
asked_at:
  description: When the machine was asked, in seconds since the epoch by the controller's clock.
  returned: success
  type: float
  sample: 1789840811.2
answered_at:
  description: When its answer was there, by the controller's clock. RV(now) lies between the two, if the clocks agree.
  returned: success
  type: float
  sample: 1789840812.6
present:
  description: Those of the O(paths) that are there.
  returned: success
  type: list
  elements: str
  sample: [/var/lib/foghorn/out_of_rotation]
unknown_units:
  description: Those of the O(units) that systemd does not know. None where there is no systemd that answers.
  returned: success
  type: list
  elements: str
  sample: [ngnix]
triggered_units:
  description:
    - For those of the O(units) that another unit would start again while they are stopped, such as a socket or a timer,
      the active ones of these units that are not among O(units).
  returned: success
  type: dict
  sample: {cups: [cups.socket]}
agent:
  description:
    - What the machine's handler agent has said of itself, empty if there is none. Of one that runs and does not answer,
      RV(ignore:problem) alone.
  returned: success
  type: dict
  sample: {in_rotation: true, events: []}
scheduled:
  description:
    - What M(foghorn.azure_events.scheduled_events_info) returns, for the events that hit the machine. If they could not
      be read, C(msg) says why.
  returned: if O(events)
  type: dict
  sample: {vm_name: web_0, events: []}
system:
  description: V(Windows) for a Windows machine.
  returned: on Windows
  type: str
  sample: Windows
unmanaged:
  description: Why nothing handles the machine, such as an agent that is not installed; empty if its agent does.
  returned: on Windows
  type: str
  sample: ""
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.claim_module import claim_info_arguments, run_claim_info


def main() -> None:
    """Run the module."""
    run_claim_info(AnsibleModule(argument_spec=claim_info_arguments(), supports_check_mode=True))


if __name__ == "__main__":
    main()
