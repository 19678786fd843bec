#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action wait_until, which runs on the controller."""

DOCUMENTATION = r"""
module: wait_until
short_description: Run a module again and again until something is so, and say how long that has taken
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - For waits. What the keywords C(until) and C(retries) of Ansible print of each look that comes too early reads as a
    failure, and their number of looks is no time.
  - A wait of more than 10 seconds prints a line, and another one every 30 seconds, on the standard error output, where
    it is in the way of no callback.
  - The roles and playbooks of this collection wait with it.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  check_mode:
    support: full
    details: In check mode, so is the module that it runs.
  diff_mode:
    support: N/A
    details: That of the module that it runs.
  idempotent:
    support: N/A
    details: As the module that it runs is.
options:
  module:
    description:
      - Full name of the module that is run for each look.
      - What C(module_defaults) has for it by this name holds here too; what it has for a group of modules does not.
    type: str
    required: true
  arguments:
    description: Its options.
    type: dict
    default: {}
  until:
    description:
      - What has to be so, as in C(when), without braces.
      - RV(ignore:result) is what the module has returned.
      - A module that fails does not end the wait. Where what is waited for is that it fails, say so in C(failed_when).
    type: str
    required: true
  timeout:
    description: Seconds after which this fails. When they are over there is one more look.
    type: float
    required: true
  interval:
    description: Seconds from the end of one look to the next.
    type: float
    default: 1
  poll_timeout:
    description: Seconds that one look may take, the connection included, before the host counts as unreachable.
    type: float
    default: 90
  may_be_away:
    description:
      - Whether the host may be unreachable meanwhile, as one that boots is. The look after that has a new connection.
      - Otherwise the first look that does not reach the host ends the wait.
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
  description: What was not so, and what the module said last. Otherwise this returns what the module has returned last.
  returned: when the time is up
  type: str
  sample: "not so within 120 s: result.status | default(0) == 200"
"""
