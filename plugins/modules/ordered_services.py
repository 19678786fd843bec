#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module ordered_services."""

DOCUMENTATION = r"""
module: ordered_services
short_description: Stop services in order, within the time that is left, and start again what was stopped
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Stops the services that are running, one after the other in the order given, and writes down first which they are,
    and which other units systemd stops with them. Then asks whether any still runs.
  - Starts those that were written down in the reverse order, and sees that each is healthy before it starts the next.
    Then asks whether all of them run, and removes what was written down.
  - If one fails, the others are stopped, or started, all the same. Then the module fails and names it. It may run again
    at any point, also after a reboot in the middle.
  - A service may be stopped and started by tasks. The module ends when it comes to one, and goes on behind it when it
    is called again with O(after). The role P(foghorn.azure_events.graceful_shutdown#role) does that.
  - A host that cannot be reached is a failure of this module, so that a C(rescue) can deal with it.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  check_mode:
    details: Asks which services are running, and neither stops nor starts any.
  diff_mode:
    support: full
    details: Shows the names of the services that are stopped or started. Commands may contain passwords.
  idempotent:
    support: partial
    details: A service whose tasks stop it, and that has no C(status), counts as running.
options:
  state:
    description:
      - V(stopped) stops the services that are running.
      - V(restored) starts those that O(record) holds.
    type: str
    required: true
    choices: [stopped, restored]
  services:
    description:
      - The services, as in C(graceful_shutdown_services) of the role, each the name of a unit of systemd or a
        dictionary with C(name).
      - For O(state=restored) they say only which files of tasks start a service. All else is in O(record).
    type: list
    elements: raw
    default: []
  record:
    description:
      - The file on the host that holds what was stopped, and with which commands it is started again. It must outlast a
        reboot. Its directory is made when it is needed.
    type: path
    required: true
  seconds:
    description:
      - Seconds from now within which all must have stopped. With less than their timeouts add up to, each has what it
        reserves and a share of the rest. If not set, each has its timeout.
    type: float
  deadline:
    description:
      - The same as an instant, in seconds since the epoch by the controller's clock. With O(seconds) as well, the
        earlier counts.
    type: float
  after:
    description:
      - The RV(stretch) that this module has returned together with RV(next), whose tasks have run since.
    type: dict
  failure:
    description: What went wrong with those tasks, for people; empty if nothing did.
    type: str
    default: ''
seealso:
  - module: ansible.builtin.systemd_service
"""

EXAMPLES = r"""
- name: Stop the web server, then the workers, all within two minutes
  foghorn.azure_events.ordered_services:
    state: stopped
    record: /var/lib/myself/services.json
    seconds: 120
    services:
      - nginx
      - name: workers
        status: [pgrep, --full, worker]
        stop: [/opt/workers/bin/drain, --wait]
        start: [/opt/workers/bin/start]

- name: Start again what was stopped
  foghorn.azure_events.ordered_services:
    state: restored
    record: /var/lib/myself/services.json
"""

RETURN = r"""
services:
  description: The services that were running, or that were written down, with all that is known of each.
  returned: success
  type: list
  elements: dict
  sample: [{name: nginx, timeout: 90.0}]
next:
  description: The service that tasks have to stop or start now, V(none) if there is none.
  returned: success
  type: dict
  sample: {name: database, tasks: /srv/play/tasks/switch_over.yml, seconds: 30}
  contains:
    name:
      description: Its name.
      type: str
    tasks:
      description: The file of tasks on the controller.
      type: str
    seconds:
      description: How long they may take.
      type: int
stretch:
  description: How far it has come, for O(after).
  returned: success
  type: dict
  sample: {next: database, failures: [], ignored: [], aborted: "", seconds: 30, tried: true}
deadline:
  description: When all must have stopped, in seconds since the epoch by the controller's clock; V(none) if there is no
    such time.
  returned: success
  type: float
  sample: 1789840800.1
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.service_module import run_ordered_services, service_arguments


def main() -> None:
    """Run the module."""
    run_ordered_services(AnsibleModule(argument_spec=service_arguments(), supports_check_mode=True))


if __name__ == "__main__":
    main()
