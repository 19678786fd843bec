#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action wait_until, which runs on the controller."""

DOCUMENTATION = r"""
module: wait_until
short_description: Run a module until a condition holds, and report how long that took
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Use it for waits. Ansible's C(until) and C(retries) print each early attempt like a failure, and count attempts
    instead of time.
  - A wait of more than 10 seconds prints a line to the standard error output, and another every 30 seconds. No callback
    interferes with it.
  - The roles and playbooks of this collection use it.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  check_mode:
    details: In check mode, the module runs in check mode too.
  diff_mode:
    support: N/A
    details: The same as for the module that it runs.
  idempotent:
    support: N/A
    details: The same as for the module that it runs.
options:
  module:
    description:
      - Full name of the module to run.
      - C(module_defaults) for this module name apply. Those for groups of modules do not.
    type: str
    required: true
  arguments:
    description: Its options.
    type: dict
    default: {}
  until:
    description:
      - The condition, as in C(when), without braces.
      - RV(ignore:result) is the module's result.
      - A failed module does not end the wait. To wait for a failure, set C(failed_when).
    type: str
    required: true
  timeout:
    description: Seconds until the task fails. There is one more attempt at the end.
    type: float
    required: true
  interval:
    description: Seconds between attempts.
    type: float
    default: 1
  poll_timeout:
    description: Seconds for one attempt, including the connection, before the host counts as unreachable.
    type: float
    default: 90
  may_be_away:
    description:
      - Whether the host may be unreachable during the wait, for example while it boots. The next attempt uses a new
        connection.
      - Otherwise the first attempt that does not reach the host ends the wait.
    type: bool
    default: false
seealso:
  - module: foghorn.azure_events.maintenance_watch
"""

EXAMPLES = r"""
- name: Wait until the service answers
  foghorn.azure_events.wait_until:
    module: ansible.builtin.uri
    arguments:
      url: http://127.0.0.1:8080/healthy
      timeout: 5
    until: result.status | default(0) == 200
    timeout: 120
"""

RETURN = r"""
msg:
  description: The condition that did not hold, and the last message of the module. On success, the module's last result
    is returned.
  returned: when the time is up
  type: str
  sample: "the check did not succeed within 120 s: result.status | default(0) == 200"
"""
