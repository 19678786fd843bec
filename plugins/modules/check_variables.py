#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action check_variables, which runs on the controller."""

DOCUMENTATION = r"""
module: check_variables
short_description: Check the variables of a play before it touches the first host
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - "Internal: may change without notice. The playbooks and roles of this collection begin with it."
  - Fails with everything that is wrong with the variables of O(hosts), with O(chosen_by), and with the run itself, if
    this ansible-core executes text of events, or the tags of the run select no task.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  check_mode:
    details: Nothing is changed.
  diff_mode:
    support: N/A
    details: Nothing is changed.
  idempotent:
    details: Nothing is changed.
options:
  hosts:
    description: The names of the hosts whose variables to check.
    type: list
    elements: str
    default: []
  arguments:
    description: The specification of the variables of a playbook.
    type: dict
    default: {}
  prefixes:
    description: The prefixes of the variables of the playbook.
    type: list
    elements: str
    default: []
  roles:
    description: The roles whose variables the playbook uses.
    type: list
    elements: str
    default: []
  alike:
    description: The variables that must be equal for all hosts.
    type: list
    elements: str
    default: []
  chosen_by:
    description: The variable that chooses the hosts of the playbook.
    type: str
    default: ""
  strangers:
    description: Hosts of the play that O(chosen_by) does not choose. They are refused.
    type: list
    elements: str
    default: []
  in_step:
    description:
      - Whether to refuse a play of several hosts whose strategy does not take them through each task together.
    type: bool
    default: false
  playbook:
    description: The name of the playbook, if its run is to be identified.
    type: str
    default: ""
  job:
    description:
      - The job of the automation controller, with C(id), C(template) and C(user), and, if its template runs one job at
        a time, C(template_id) and C(controller). For O(playbook).
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Check the names of the variables
  foghorn.azure_events.check_variables:
    hosts: ["{{ inventory_hostname }}"]
    roles: [graceful_shutdown]
"""

RETURN = r"""
run:
  description: The identity of this run, as M(foghorn.azure_events.rotation_claim) takes it.
  returned: with O(playbook)
  type: dict
"""
