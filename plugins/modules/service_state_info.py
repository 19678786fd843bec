#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module service_state_info."""

DOCUMENTATION = r"""
module: service_state_info
short_description: Read which services of a host run, and which were stopped for maintenance
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Checks all services at once, systemd units and others, as the role P(foghorn.azure_events.graceful_shutdown#role)
    describes them.
  - If the host is unreachable, the module fails, so that a C(rescue) can handle it.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
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
options:
  services:
    description:
      - The services, as in C(graceful_shutdown_services), each a systemd unit name or a dictionary with C(name).
      - A C(status) command exits with 0 if the service is running, and with 1, 2 or 3 if it is not.
      - A service with C(stop_tasks) and without C(status) is not checked. It counts as running.
    type: list
    elements: raw
    default: []
  record:
    description:
      - The role's record of stopped services on the host. If set, the module checks the recorded services, the last
        stopped one first, and uses O(services) only for the files of tasks that start them.
      - Without such a file, nothing was stopped.
    type: path
  expected:
    description:
      - Fails unless all services are in this state.
      - A unit that has completed, such as a C(oneshot), does not have to run.
    type: str
    choices: [any, running, stopped]
    default: any
seealso:
  - module: ansible.builtin.service_facts
"""

EXAMPLES = r"""
- name: See that the web server and the database are running
  foghorn.azure_events.service_state_info:
    services:
      - nginx
      - name: database
        status: [/usr/bin/pg_isready, -q]
    expected: running
"""

RETURN = r"""
services:
  description: The checked services, with all options of C(graceful_shutdown_services).
  returned: success
  type: list
  elements: dict
  sample:
    - &nginx
      name: nginx
      status: []
      stop: []
      start: []
      stop_tasks: ""
      start_tasks: ""
      timeout: 90.0
      reserve: 0.0
      on_failure: fail
      healthy: {}
running:
  description: The running services, in the same order.
  returned: success
  type: list
  elements: dict
  sample: [*nginx]
states:
  description: State of each service by name, V(running), V(stopped), V(ended) or V(unknown).
  returned: success
  type: dict
  sample: {nginx: running}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.service_module import run_service_states, service_arguments


def main() -> None:
    """Run the module."""
    run_service_states(AnsibleModule(argument_spec=service_arguments(), supports_check_mode=True))


if __name__ == "__main__":
    main()
