#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module maintenance_readiness_info."""

DOCUMENTATION = r"""
module: maintenance_readiness_info
short_description: Find out whether a VM is ready for maintenance
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Checks whether the VM reaches its metadata service, which API versions of scheduled events it has, whether proxy
    variables would affect other programs, whether the agent answers, and whether the probe endpoint answers.
  - Problems are returned as findings, not errors. A missing agent is not a problem.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
options:
  endpoint:
    description:
      - Address of the Instance Metadata Service (IMDS), as V(http://HOST[:PORT]), without a path.
      - If not set, the environment variable E(FOGHORN_IMDS_ENDPOINT) is used.
    type: str
    default: http://169.254.169.254
  timeout:
    description: Seconds within which IMDS must answer, for all requests together. Above 0, up to 86400.
    type: float
    default: 150
  connect_timeout:
    description: Seconds within which a connection to IMDS must be established. Above 0, up to 86400.
    type: float
    default: 5
  agent_command:
    description: Path of the agent's command.
    type: path
    default: /usr/local/bin/foghorn-agent
  probes:
    description:
      - URL of the load balancer's probe, as V(http://127.0.0.1:9797/readyz). Any answer except 200 is a problem.
    type: list
    elements: str
    default: []
  units:
    description:
      - Names of systemd units that are stopped for maintenance. A unit that systemd does not know is a problem. A unit
        that another active unit would start again, such as a socket or a timer that is not in this list, is a note.
    type: list
    elements: str
    default: []
notes:
  - The request for events enables scheduled events on the VM, if nobody has polled for a day. This may take two
    minutes.
seealso:
  - module: foghorn.azure_events.maintenance_rights_info
  - module: foghorn.azure_events.scheduled_events_info
"""

EXAMPLES = r"""
- name: Find out whether this VM is ready for maintenance
  foghorn.azure_events.maintenance_readiness_info:
    probes: ["http://127.0.0.1:9797/readyz"]
  register: readiness

- name: Fail where it is not
  ansible.builtin.assert:
    that: readiness.ready
    fail_msg: "{{ readiness.checks | selectattr('severity', 'equalto', 'error') }}"
"""

RETURN = r"""
ready:
  description: Whether nothing is wrong.
  returned: success
  type: bool
  sample: true
vm:
  description: Data of the metadata service about this VM. A missing value is V(null).
  returned: success
  type: dict
  sample:
    name: web_0
    vm_id: 5b2f6a3c-1111-4c4d-9a51-000000000001
    resource_id: >-
      /subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/0
    scale_set: web
    api_versions: ["2024-07-09", "2020-07-01"]
checks:
  description:
    - The checks. RV(ignore:severity) is V(ok), V(error) for a problem, or V(note) for information.
  returned: success
  type: list
  elements: dict
  sample:
    - check: metadata service
      severity: ok
      found: answers; the name of this VM is web_0
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.imds_module import connection_arguments
from ..module_utils.readiness import run_readiness_info


def main() -> None:
    """Run the module."""
    reached = connection_arguments()
    run_readiness_info(
        AnsibleModule(
            argument_spec={
                **{option: reached[option] for option in ("endpoint", "timeout", "connect_timeout")},
                "agent_command": {"type": "path", "default": "/usr/local/bin/foghorn-agent"},
                "probes": {"type": "list", "elements": "str", "default": []},
                "units": {"type": "list", "elements": "str", "default": []},
            },
            supports_check_mode=True,
        )
    )


if __name__ == "__main__":
    main()
