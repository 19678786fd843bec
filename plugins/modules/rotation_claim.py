#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module rotation_claim."""

DOCUMENTATION = r"""
module: rotation_claim
short_description: Note on a machine who wants it out of rotation, and who is at work on it
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Keeps a small file on the machine. It neither takes the machine out of rotation nor restores it; that is
    for the role P(foghorn.azure_events.load_balancer_removal#role).
  - An owner claims the machine before it is taken out, and gives the claim up after it was restored. The machine is to
    stay out as long as anybody claims it.
  - A run leases the machine while it works on it. No other run gets a lease meanwhile, until the time is up. Each call
    is one atomic step.
  - The playbooks of this collection use it. Use it yourself to take machines out for reasons of your own beside them.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
options:
  directory:
    description:
      - Where the file is kept. It must outlast a reboot, and be the same for all who use it.
      - It is made when it is needed, and removed with the last claim if nothing else is in it or to be remembered.
    type: path
    required: true
  state:
    description:
      - V(leased) leases the machine for O(run), and fails while another run has it. With O(owner), claims it too.
      - V(renewed) does the same for a run that must have the lease already, and fails if it was lost.
      - V(released) ends the lease of O(run). With O(owner), gives its claim up too; it fails if that was the last one
        and any of the O(records) is still there.
    type: str
    choices: [leased, renewed, released]
    required: true
  run:
    description: Who is at work on the machine.
    type: dict
    required: true
    suboptions:
      id:
        description: What tells this run from all others.
        type: str
        required: true
      playbook:
        description: What it runs, for people.
        type: str
        default: ''
      by:
        description: Who runs it and where, for people.
        type: str
        default: ''
      process:
        description: Whatever its controller needs to find out whether the run is alive. It is kept as it is.
        type: dict
  seconds:
    description: How long the lease holds from now, by the machine's clock. More than 0.
    type: float
    default: 600
  take_over:
    description:
      - The RV(lease.id) of a run that is known to be dead, whose lease does not count any more.
      - V(any) takes over whatever lease there is. Only do so when you know that no other run is alive.
    type: str
    default: ''
  beside:
    description:
      - With O(state=leased) and O(owner), whether the claim alone will do if another run is at work on the machine, has
        it out for another owner, and is not O(returning) it yet.
      - That run keeps its lease then, which RV(lease) shows, and leaves the machine out when it has done its work.
    type: bool
    default: false
  returning:
    description: With O(state=leased) and O(state=renewed), whether O(run) is about to restore the machine.
    type: bool
    default: false
  owner:
    description: Whose claim it is, for example V(by_hand).
    type: str
    default: ''
  reason:
    description: Why it wants the machine out, for people. At most 200 characters are kept.
    type: str
    default: ''
  is_final:
    description: Whether it does so for an event that deletes the machine.
    type: bool
    default: false
  starts_at:
    description: When the last of its events may start, in seconds since the epoch.
    type: float
  approving:
    description: Ids of events whose approval may be on its way from now on. At most 100 are kept.
    type: list
    elements: str
    default: []
  left_out:
    description: Whether its event is over and the machine stays out, because it is to be deleted.
    type: bool
    default: false
  seen:
    description:
      - Ids of the events that the claim is for. When each was first said is kept, so that the notice which it had at
        first is known later. If not given, those that were said before stay. At most 100 are kept.
    type: list
    elements: str
  tried:
    description:
      - For which events the machine was taken out in vain, by their ids, and what went wrong, for people. An empty text
        forgets the event, and so do eight days.
      - It is kept beside the claims and outlasts them, so that nobody takes the machine out for the same event over and
        over again. At most 100 are kept.
    type: dict
    default: {}
  records:
    description:
      - Names of files in O(directory) that are there as long as the machine was not restored. While one is, the last
        claim is not given up.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
    details: A lease that is prolonged is no change.
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
  description: Of the run that is at work on the machine now; V(none) if there is none.
  returned: success
  type: dict
  sample: {id: 5c0429c8, playbook: handle_events, by: root on ctl1, process: null, until: 1789841400.1,
    returning: false}
  contains:
    id:
      description: What tells it from all others.
      type: str
    playbook:
      description: What it runs.
      type: str
    by:
      description: Who runs it.
      type: str
    process:
      description: What its controller needs to find out whether it is alive.
      type: dict
    until:
      description: When the lease ends, in seconds since the epoch by the machine's clock.
      type: float
    returning:
      description: Whether the run is about to restore the machine.
      type: bool
claims:
  description:
    - By owner, what it wants the machine out for, all instants in seconds since the epoch by the machine's clock.
    - Each has RV(ignore:since), RV(ignore:noted_at), when it was last said, RV(ignore:by), RV(ignore:reason),
      RV(ignore:boot_id), which tells whether the machine has booted since, RV(ignore:is_final),
      RV(ignore:starts_at), RV(ignore:approving), RV(ignore:left_out_at), when O(left_out) was said, and
      RV(ignore:seen), by the id of an event in lower case when it was first said.
  returned: success
  type: dict
  sample: {by_hand: {reason: new kernel, by: alice on ctl1, since: 1789840800.1}}
tried:
  description:
    - By the id of an event in lower case, RV(ignore:at), when the machine was taken out for it in vain, in seconds
      since the epoch by the machine's clock, and the RV(ignore:reason).
  returned: success
  type: dict
  sample: {602d9444-d2cd-49c7-8624-8643e7171297: {at: 1789840800.1, reason: "web1: these services did not stop: web"}}
others:
  description: The owners but for O(owner).
  returned: success
  type: list
  elements: str
  sample: [by_hand]
boot_id:
  description: What changes whenever the machine boots.
  returned: success
  type: str
  sample: 0c2ea3f4-5d08-4f2c-9c0c-6d6f4cbb6a3a
now:
  description: The machine's clock, in seconds since the epoch.
  returned: success
  type: float
  sample: 1789840812.4
leased:
  description: Whether it failed because another run is at work on the machine.
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
