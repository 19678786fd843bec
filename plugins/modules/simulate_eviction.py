#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module simulate_eviction."""

DOCUMENTATION = r"""
module: simulate_eviction
short_description: Evict a Spot VM, for a rehearsal
version_added: 0.1.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - B(This evicts the machine.) The name is Azure's, and nothing about it is simulated. Azure announces a V(Preempt)
    event to the VM, and about 30 seconds later deallocates or deletes it, as its eviction policy says.
  - For rehearsals of what happens when Azure needs the capacity back. Does nothing without O(confirm=true).
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.target
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  confirm:
    description: Set to V(true) to say that the machine may go. Otherwise the module fails and does nothing.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    details: Checks that the machine is there and is Spot. Needs O(confirm=true) as well.
  diff_mode:
    support: none
  idempotent:
    support: none
    details: Each run evicts.
seealso:
  - name: Simulate an eviction
    description: Microsoft's description.
    link: https://learn.microsoft.com/azure/virtual-machines/linux/spot-cli#simulate-an-eviction
"""

EXAMPLES = r"""
- name: Take a Spot VM away, to see what happens
  foghorn.azure_events.simulate_eviction:
    resource_group: rehearsal
    name: worker-7
    confirm: true
  delegate_to: localhost

- name: Take an instance of a scale set away
  foghorn.azure_events.simulate_eviction:
    resource_group: rehearsal
    scale_set: workers
    instance_id: "3"
    confirm: true
  delegate_to: localhost
"""

RETURN = r"""
id:
  description: The id of the machine that is evicted.
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rehearsal/providers/Microsoft.Compute/virtualMachines/worker-7
may_still_happen:
  description:
    - V(true) if Azure may have accepted it, and how it ended could not be seen. The machine may be evicted all the
      same. Absent where Azure has refused, or said that it failed.
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

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm.module import eviction_arguments, run_eviction, sign_in_arguments, target_rules


def main() -> None:
    """Run the module."""
    run_eviction(
        AnsibleModule(
            argument_spec={**sign_in_arguments(), **eviction_arguments()},
            **target_rules(),
            supports_check_mode=True,
        )
    )


if __name__ == "__main__":
    main()
