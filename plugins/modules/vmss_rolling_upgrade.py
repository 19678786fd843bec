#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module vmss_rolling_upgrade."""

DOCUMENTATION = r"""
module: vmss_rolling_upgrade
short_description: Start, await or cancel a rolling upgrade of a scale set
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - A rolling upgrade brings the instances of a virtual machine scale set to the latest image, or to the latest
    extensions, batch by batch, following the scale set's C(rollingUpgradePolicy). Azure stops it when too many
    instances are unhealthy.
  - B(An image upgrade replaces the OS disk of each instance), which is out of service meanwhile. Azure announces it to
    the instance only if the OS image notifications of M(foghorn.azure_events.vmss_terminate_notification) are on.
  - Azure runs one rolling upgrade of a scale set at a time. It starts upgrades automatically if the upgrade policy is
    C(Rolling) or automatic image upgrades are on. The module never starts a second one.
extends_documentation_fragment:
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.scale_set
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_arm
options:
  state:
    description:
      - V(started) starts an upgrade, unless one of any kind is running.
      - V(finished) only waits for the end of a running upgrade, if there is one.
      - V(cancelled) cancels the running upgrade. Azure still finishes the current batch.
    type: str
    default: started
    choices: [started, finished, cancelled]
  upgrade:
    description: What to upgrade to its latest version.
    type: str
    default: os_image
    choices: [os_image, extensions]
  wait:
    description:
      - Wait until the upgrade is over, also one that was already running, and fail if it has not upgraded everything.
      - With V(false) the module ends when Azure has accepted the request. Not for O(state=finished).
    type: bool
    default: true
  progress_file:
    description: Set by the action of this name, which shows the progress. Do not set it.
    type: path
attributes:
  check_mode:
    details: If Azure would refuse the upgrade because there is no health probe or extension, the module warns.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details: A completed upgrade does not prevent another. Azure leaves instances with the latest version alone.
notes:
  - The module prints its progress at least every 30 seconds, also in AWX.
  - An upgrade of a large scale set takes hours. Increase O(timeout), or set O(wait=false) and check later.
  - Azure refuses an upgrade of a scale set without a source of health, a probe of its load balancer (uniform sets only)
    or the Application Health extension.
  - Needs C(Microsoft.Compute/virtualMachineScaleSets/read), C(…/rollingUpgrades/read), and C(…/osRollingUpgrade/action)
    or C(…/extensionRollingUpgrade/action) to start, C(…/rollingUpgrades/action) to cancel. The role Virtual Machine
    Contributor grants all.
seealso:
  - module: foghorn.azure_events.vmss_rolling_upgrade_info
  - module: foghorn.azure_events.vmss_terminate_notification
  - name: Rolling upgrades
    description: Microsoft's description.
    link: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-configure-rolling-upgrades
"""

EXAMPLES = r"""
- name: Bring the instances of a scale set to the latest image
  foghorn.azure_events.vmss_rolling_upgrade:
    resource_group: shop
    name: web
    timeout: 14400
  delegate_to: localhost
  run_once: true

- name: Wait until the current rolling upgrade is over
  foghorn.azure_events.vmss_rolling_upgrade:
    resource_group: shop
    name: web
    state: finished
  delegate_to: localhost
  run_once: true

- name: Call an upgrade off
  foghorn.azure_events.vmss_rolling_upgrade:
    resource_group: shop
    name: web
    state: cancelled
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
id:
  description: The id of the scale set.
  returned: success
  type: str
  sample: >-
    /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web
reason:
  description: Why nothing was done, V(none) if something was done.
  returned: success, and failures of the upgrade itself
  type: str
  sample: a rolling upgrade is under way already, since 2026-11-20T10:00:00Z
upgrade:
  description: The latest rolling upgrade of the scale set as last read, V(none) if there was never one.
  returned: success, and failures of the upgrade itself
  type: dict
  contains:
    status:
      description: V(RollingForward), V(RollingBack), V(Completed), V(Cancelled) or V(Faulted).
      type: str
    under_way:
      description: Whether it is running.
      type: bool
    start_time:
      description: Start time, in Azure's format.
      type: str
    successful:
      description: Number of upgraded instances.
      type: int
    failed:
      description: How many failed.
      type: int
    in_progress:
      description: Number of instances in progress.
      type: int
    pending:
      description: Number of pending instances.
      type: int
    error:
      description: Why Azure stopped it, V(none) if Azure gives no reason.
      type: str
  sample:
    status: Completed
    under_way: false
    start_time: "2026-11-20T10:00:00.0000000+00:00"
    successful: 6
    failed: 0
    in_progress: 0
    pending: 0
    error: null
may_still_happen:
  description:
    - V(true) if Azure may have accepted the request, but its result is unknown. The upgrade may be started or
      cancelled. Absent if Azure refused the request or reported a failure.
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

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.arm import rolling_upgrade
from ..module_utils.arm.options import read_name, scale_set_arguments
from ..module_utils.arm.task import Work, progress_arguments, run_module, warn
from ..module_utils.scheduled_events.errors import OptionError


def main() -> None:
    """Run the module."""
    run_module(
        {
            **scale_set_arguments(),
            "state": {"type": "str", "default": rolling_upgrade.STARTED, "choices": list(rolling_upgrade.STATES)},
            "upgrade": {"type": "str", "default": rolling_upgrade.OS_IMAGE, "choices": list(rolling_upgrade.WHAT)},
            "wait": {"type": "bool", "default": True},
            **progress_arguments(),
        },
        prepare,
        report_rolling_upgrade,
    )


def prepare(module: AnsibleModule) -> Work:
    """Check the options. Nothing is asked of Azure before the work that is returned."""
    options = module.params
    group, name = read_name(options, "resource_group"), read_name(options, "name")
    state, what, wait = options["state"], options["upgrade"], options["wait"]
    if state == rolling_upgrade.FINISHED and not wait:
        raise OptionError(
            "wait: false is not valid with state: %s, which waits. To only read, use vmss_rolling_upgrade_info" % state
        )
    return lambda client: rolling_upgrade.bring_to(client, group, name, state, what, wait, module.check_mode)


def report_rolling_upgrade(module: AnsibleModule, outcome: rolling_upgrade.UpgradeChange) -> dict[str, Any]:
    """Put what was done into the result."""
    warn(module, outcome.warnings)
    return {
        "changed": outcome.changed,
        "id": outcome.scale_set_id,
        "reason": outcome.reason,
        "upgrade": rolling_upgrade.as_dict(outcome.upgrade),
    }


if __name__ == "__main__":
    main()
