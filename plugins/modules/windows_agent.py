#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module windows_agent, of which the action of the same name does all."""

DOCUMENTATION = r"""
module: windows_agent
short_description: Install the handler agent on a Windows machine, remove it, or have it drain the machine
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Use it to take a Windows machine out of rotation and restore it, around work of your own. To install the agent, use
    the role P(foghorn.azure_events.handler_agent#role), which builds its program and writes its configuration.
  - Copies what is missing on the machine, and has the agent's program install itself, by PowerShell over the host's
    connection. Nothing of Ansible runs there, and no other collection is needed.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  check_mode:
    details: Copies what is missing into a temporary directory, and says what would be changed.
  diff_mode:
    support: full
    details: Lists what is changed, without its content.
  platform:
    support: full
    platforms: windows
options:
  state:
    description:
      - V(absent) removes the service, the program, its Python, the configuration, hooks and journal.
      - V(drained) has the agent take the machine out of rotation until V(restored). An event that keeps the machine out
        is in RV(kept_out_by); its agent restores it when that is over.
    type: str
    choices: [present, absent, drained, restored]
    default: present
  timeout:
    description: Seconds to wait for O(state=drained) and O(state=restored). From 1 to 86400.
    type: float
    default: 300
  program:
    description: The agent's program, as the role builds it, a file of the controller. Required for O(state=present).
    type: path
  python_archive:
    description: >-
      The Python that runs it, as C(python.org) packs it for embedding, 3.11 or later: a file of the controller, or a
      URL that the controller can read. Required for O(state=present).
    type: str
  python_checksum:
    description: The SHA-256 of O(python_archive), in hexadecimal digits. Required for O(state=present).
    type: str
  files:
    description: What the files below C(%ProgramData%\\foghorn) are to hold, by their paths there. Others are left.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Take the machine out of rotation
  foghorn.azure_events.windows_agent:
    state: drained
    timeout: 600

- name: Restore it
  foghorn.azure_events.windows_agent:
    state: restored
  register: restored

- name: Show the events for which its agent still keeps it out
  ansible.builtin.debug:
    msg: "{{ restored.kept_out_by }}"

- name: Remove the agent
  foghorn.azure_events.windows_agent:
    state: absent
"""

RETURN = r"""
changes:
  description: What was changed, or would be.
  returned: O(state=present) or O(state=absent)
  type: list
  elements: str
  sample: [service foghorn-agent]
kept_out_by:
  description: The events for which the agent keeps the machine out of rotation.
  returned: O(state=drained) or O(state=restored)
  type: list
  elements: str
  sample: [Reboot 602D9444-D2CD-49C7-8624-8643E7171297]
"""
