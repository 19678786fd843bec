#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module simulate_eviction."""

DOCUMENTATION = r"""
module: simulate_eviction
short_description: Evict a Spot VM, for a rehearsal
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - B(This really evicts the machine), although Azure calls it a simulation. Azure announces a V(Preempt) event to the
    VM. At most 30 seconds later it deallocates or deletes the VM, depending on its eviction policy.
  - Use it to rehearse an eviction. It does nothing without O(confirm=true).
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.target
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  confirm:
    description: Set to V(true) to confirm the eviction. Otherwise the module fails and does nothing.
    type: bool
    default: false
attributes:
  check_mode:
    details: Checks that the machine exists and is Spot. Needs O(confirm=true) as well.
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
  description: The resource id of the evicted machine.
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rehearsal/providers/Microsoft.Compute/virtualMachines/worker-7
may_still_happen:
  description:
    - V(true) if Azure may have accepted the request, but its result is unknown. The machine may be evicted. Absent if
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
  description: The subscription that was asked.
  returned: success
  type: str
  sample: 00000000-0000-0000-0000-000000000001
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import eviction
from ..module_utils.arm.target import read_target, target_arguments, target_rules
from ..module_utils.arm.task import Work, run_module
from ..module_utils.scheduled_events.errors import OptionError


def main() -> None:
    """Run the module."""
    run_module({**target_arguments(), "confirm": {"type": "bool", "default": False}}, prepare, **target_rules())


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    target = read_target(options)
    if not options["confirm"]:
        raise OptionError(
            "confirm: false, so nothing was done. This is a real eviction: Azure evicts %s at most 30 seconds "
            "after this module runs. Set confirm to true for that" % target.words
        )
    return lambda client: {"changed": True, "id": eviction.evict(client, target, module.check_mode)}


if __name__ == "__main__":
    main()
