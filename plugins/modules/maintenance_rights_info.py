#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module maintenance_rights_info."""

DOCUMENTATION = r"""
module: maintenance_rights_info
short_description: Check what the sign-in may do about maintenance, and which permissions are missing
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Asks Azure about the sign-in's permissions, the preview features, the role of Microsoft's Maintenance service, the
    policies that publish events, and whether Azure Resource Graph answers.
  - For each missing permission, returns the Azure CLI command that grants it. The module runs none of them.
  - An answer that Azure refuses is returned as a finding, not an error. The module fails if the sign-in fails or
    nothing answers.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  scopes:
    description:
      - The resource ids to check, of subscriptions, resource groups, VMs, scale sets or availability sets.
      - An instance of a uniform scale set stands for its set. The policy of a VM in a set is that of the set.
      - By default, the subscription of the sign-in. An empty list checks nothing.
    type: list
    elements: str
  needs:
    description:
      - What you need the sign-in for. This decides the severity of missing permissions.
      - V(read) reads VMs, scale sets and policies, V(change) sets terminate notifications and updates instances,
        V(publish) sets the policy of scheduled events.
      - V(see_events) reads events from Azure Resource Graph, V(approve) acknowledges them there.
      - V(rebalance) receives rebalance recommendations for Spot VMs, which are only published in version
        V(2024-07-09).
    type: list
    elements: str
    choices: [read, change, publish, see_events, approve, rebalance]
    default: []
notes:
  - Azure does not say which assigned service principal is Microsoft's service MaintenanceResourceProvider. If one has
    the role, the check is V(unknown), with the command that shows its id.
  - The module does not check conditions of role assignments, policies and locks. They may still deny what is permitted
    here.
seealso:
  - module: foghorn.azure_events.maintenance_readiness_info
  - module: foghorn.azure_events.scheduled_events_policy
"""

EXAMPLES = r"""
- name: Find out whether events of this subscription can be seen and approved
  foghorn.azure_events.maintenance_rights_info:
    needs: [see_events, approve]
  delegate_to: localhost
  register: rights

- name: Show the commands that give what is missing
  ansible.builtin.debug:
    msg: "{{ rights.checks | selectattr('severity', 'equalto', 'error') | map(attribute='command') }}"
"""

RETURN = r"""
checks:
  description: The checks, permissions first.
  returned: success
  type: list
  elements: dict
  sample:
    - scope: /subscriptions/00000000-0000-0000-0000-000000000001
      check: feature Microsoft.Compute/SendScheduledEventsPolicy
      state: missing
      severity: error
      needed_for: [publish, see_events, approve, rebalance]
      found: NotRegistered
      command: >-
        az feature register --subscription 00000000-0000-0000-0000-000000000001 --namespace Microsoft.Compute
        --name SendScheduledEventsPolicy
  contains:
    scope:
      description: The resource id that it concerns.
      type: str
    check:
      description: What was looked at.
      type: str
    state:
      description: V(ok), V(missing), or V(unknown) if Azure does not answer it.
      type: str
    severity:
      description:
        - V(ok), V(error) if something is missing that O(needs) requires, V(warning) if that could not be determined.
        - V(note) is for permissions that O(needs) does not require.
      type: str
    needed_for:
      description: The choices of O(needs) that require it.
      type: list
      elements: str
    found:
      description: What Azure said.
      type: str
    command:
      description: The Azure CLI command that grants the missing permission. Empty if no command helps.
      type: str
lacking:
  description: The choices of O(needs) that lack something.
  returned: success
  type: list
  elements: str
  sample: [see_events, approve]
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

from ..module_utils.arm import rights
from ..module_utils.arm.client import ArmClient
from ..module_utils.arm.task import Work, run_module


def main() -> None:
    """Run the module."""
    run_module(
        {
            "scopes": {"type": "list", "elements": "str"},
            "needs": {"type": "list", "elements": "str", "default": [], "choices": list(rights.RIGHTS)},
        },
        prepare,
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    given, needs = module.params["scopes"], module.params["needs"]
    scopes = rights.read_scopes(given or ())

    def work(client: ArmClient) -> dict[str, Any]:
        # An empty list is of somebody who has no scopes, not of somebody who means all.
        own = rights.read_scopes(["/subscriptions/%s" % client.subscription_id]) if given is None else scopes
        checks = rights.inspect(client, own)
        return {
            "changed": False,
            "checks": [rights.as_row(check, needs) for check in checks],
            "lacking": rights.lacking(checks, needs),
        }

    return work


if __name__ == "__main__":
    main()
