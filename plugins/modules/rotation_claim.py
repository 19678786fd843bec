#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module rotation_claim."""

DOCUMENTATION = r"""
module: rotation_claim
short_description: Record on a machine who wants it out of rotation, and which run works on it
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Keeps a small file on the machine. The module does not take the machine out of rotation and does not restore it; the
    role P(foghorn.azure_events.load_balancer_removal#role) does.
  - An owner claims the machine before its removal, and gives the claim up after its restore. The machine stays out as
    long as there is a claim.
  - A run leases the machine while it works on it. No other run gets a lease until the lease ends. Each call is one
    atomic step.
  - The playbooks of this collection use it. Use it in your own playbooks to take machines out for other reasons.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
options:
  directory:
    description:
      - Directory of the file. It must survive a reboot, and all users must use the same one.
      - It is created if missing, and removed with the last claim if it contains nothing else.
    type: path
    required: true
  state:
    description:
      - V(leased) leases the machine for O(run), and fails while another run has the lease. With O(owner), it claims the
        machine too.
      - V(renewed) does the same for a run that already has the lease, and fails if it has lost the lease.
      - V(released) ends the lease of O(run). With O(owner), it gives up the claim too. It fails if that was the last
        claim and any of the O(records) still exists.
    type: str
    choices: [leased, renewed, released]
    required: true
  run:
    description: The run that works on the machine.
    type: dict
    required: true
    suboptions:
      id:
        description: Unique id of the run.
        type: str
        required: true
      playbook:
        description: Its playbook, for information.
        type: str
        default: ''
      by:
        description: User and host of the run, for information.
        type: str
        default: ''
      process:
        description: Data that its controller needs to find out whether the run is alive. It is stored unchanged.
        type: dict
  seconds:
    description: Duration of the lease in seconds, by the machine's clock. More than 0.
    type: float
    default: 600
  take_over:
    description:
      - The RV(lease.id) of a run that is known to be dead. Its lease is ignored.
      - V(any) takes over any lease. Use it only if no other run is alive.
    type: str
    default: ''
  beside:
    description:
      - With O(state=leased) and O(owner), whether the claim alone is sufficient if another run works on the machine,
        has taken it out for another owner, and is not O(returning) it yet.
      - That run then keeps its lease, which RV(lease) shows, and leaves the machine out at its end.
    type: bool
    default: false
  returning:
    description:
      - With O(state=leased) and O(state=renewed), whether O(run) is about to restore the machine. O(owner) claims it
        then only if nobody does.
    type: bool
    default: false
  owner:
    description: Owner of the claim, for example V(by_hand).
    type: str
    default: ''
  reason:
    description: Reason of the claim, for information. At most 200 characters are kept.
    type: str
    default: ''
  is_final:
    description: Whether the event deletes the machine.
    type: bool
    default: false
  starts_at:
    description: Latest start of its events, in seconds since the epoch.
    type: float
  approving:
    description: Ids of events whose approval may have been sent. At most 100 are kept.
    type: list
    elements: str
    default: []
  left_out:
    description: Whether its event is over but the machine stays out, because it will be deleted.
    type: bool
    default: false
  seen:
    description:
      - Ids of the claim's events. The time at which each was first given is kept, so that its original notice is known
        later. If not set, the previous ids stay. At most 100 are kept.
    type: list
    elements: str
  tried:
    description:
      - Events for which the machine was taken out in vain, by id, with the error, for information. An empty text
        removes the event. Entries expire after eight days.
      - It outlasts the claims, so that nobody takes the machine out for the same event repeatedly. At most 100 are
        kept.
    type: dict
    default: {}
  records:
    description:
      - Names of files in O(directory) that exist until the machine is restored. While one exists, the last claim cannot
        be given up.
    type: list
    elements: str
    default: []
  id_file:
    description: Name of a file in O(directory) with what tells this machine from others. If set, RV(files) and RV(id)
      are returned, as M(foghorn.azure_events.own_directory) does.
    type: str
  contents:
    description: With O(id_file), names of files in O(directory) whose text is returned, if they exist.
    type: list
    elements: str
    default: []
  vm:
    description:
      - Which VM the machine is, so that the claims of another VM are not taken for its own. Without it, they are.
      - Claims of a VM that had the same O(vm.resource_id) before are void, but for one of V(handle_events), which says
        that there is something to restore. The directory of any other VM is refused.
    type: dict
    suboptions:
      resource_id:
        description: Its resource id in Azure.
        type: str
      vm_id:
        description: Its unique id, which a VM that is created again under the same name does not have.
        type: str
attributes:
  diff_mode:
    support: full
  idempotent:
    details: A prolonged lease is not a change.
seealso:
  - module: foghorn.azure_events.rotation_claim_info
"""

EXAMPLES = r"""
- name: Claim the machine for a change of our own, unless somebody is at work on it
  foghorn.azure_events.rotation_claim:
    directory: /var/lib/foghorn/handle_events
    state: leased
    run:
      id: "{{ change_number }}"
      playbook: change_kernel.yml
    owner: kernel change
    reason: "Change {{ change_number }}"
    seconds: 900

- name: Give the claim up, once the machine was restored
  foghorn.azure_events.rotation_claim:
    directory: /var/lib/foghorn/handle_events
    state: released
    run:
      id: "{{ change_number }}"
    owner: kernel change
"""

RETURN = r"""
lease:
  description: The run that works on the machine; V(none) if there is none.
  returned: success
  type: dict
  sample: {id: 5c0429c8, playbook: handle_events, by: root on ctl1, process: null, until: 1789841400.1,
    returning: false}
  contains:
    id:
      description: Its unique id.
      type: str
    playbook:
      description: What it runs.
      type: str
    by:
      description: Who runs it.
      type: str
    process:
      description: Data that its controller needs to find out whether it is alive.
      type: dict
    until:
      description: When the lease ends, in seconds since the epoch by the machine's clock.
      type: float
    returning:
      description: Whether the run is about to restore the machine.
      type: bool
claims:
  description:
    - The claims, by owner. Times are in seconds since the epoch by the machine's clock.
    - Each has RV(ignore:since), RV(ignore:noted_at), when it was last said, RV(ignore:by), RV(ignore:reason),
      RV(ignore:boot_id), which tells whether the machine has booted since, RV(ignore:is_final),
      RV(ignore:starts_at), RV(ignore:approving), RV(ignore:left_out_at), when O(left_out) was said, and
      RV(ignore:seen), by the id of an event in lower case when it was first said.
  returned: success
  type: dict
  sample: {by_hand: {reason: new kernel, by: alice on ctl1, since: 1789840800.1}}
tried:
  description:
    - By event id in lower case, RV(ignore:at), when the machine was taken out for it in vain, in seconds since the
      epoch by the machine's clock, and the RV(ignore:reason).
  returned: success
  type: dict
  sample: {602d9444-d2cd-49c7-8624-8643e7171297: {at: 1789840800.1, reason: "web1: these services did not stop: web"}}
others:
  description: All owners except O(owner).
  returned: success
  type: list
  elements: str
  sample: [by_hand]
vm:
  description: The VM whose claims they are, as O(vm). Empty where it is not known.
  returned: success
  type: dict
  sample:
    resource_id: /subscriptions/0/resourceGroups/b/providers/Microsoft.Compute/virtualMachines/web_0
    vm_id: 3f0c5c0e-3c5e-4b0e-9d6f-0f4c2a1d9b11
files:
  description: Names of the files in O(directory), sorted. Empty if it does not exist.
  returned: if O(id_file) is set
  type: list
  elements: str
  sample: [claims.json, health_probe.json]
id:
  description: What O(id_file) has. Empty if there is no such file.
  returned: if O(id_file) is set
  type: str
  sample: 5f0c7e0b6d1f4a3e9b2c8d7e6f5a4b3c
contents:
  description: The text of each of the O(contents) that exist, by name.
  returned: if O(id_file) is set
  type: dict
  sample: {}
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
leased:
  description: Whether it failed because another run works on the machine.
  returned: failure
  type: bool
  sample: true
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.claim_module import claim_arguments, run_claim


def main() -> None:
    """Run the module."""
    run_claim(
        AnsibleModule(
            argument_spec=claim_arguments(),
            supports_check_mode=True,
        )
    )


if __name__ == "__main__":
    main()
