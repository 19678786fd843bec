#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module own_directory."""

DOCUMENTATION = r"""
module: own_directory
short_description: Make sure that no other user can change what is in a directory
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Fails if a user other than root and the user of the task could change files in the directory, or could make its path
    lead to another directory. It follows the path from the root directory, link by link. Each directory and link must
    belong to root or the user of the task, and no other user may write it. A directory above with the sticky bit, such
    as C(/tmp), may be writable.
  - After this module, tasks can safely write files to the directory as root, for example with
    M(ansible.builtin.copy), which follows links. The roles of this collection use it for their records.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  diff_mode:
    support: none
options:
  path:
    description: The directory.
    type: path
    required: true
  create:
    description: Whether to create the directory, and those above it, if they are missing.
    type: bool
    default: true
  group_may_write:
    description:
      - Whether a group may write the directory or those above it, as in an execution environment, also if the task runs
        as root.
      - If it runs as another user, a group may always write.
    type: bool
    default: false
  mode:
    description: Mode of directories that are created. Existing directories keep their mode.
    type: str
    choices: ["0755", "0700"]
    default: "0755"
  id_file:
    description:
      - Name of a file in the directory with what tells this machine from others, 32 random hexadecimal digits. With
        O(create), it is written if it is missing.
      - Others can keep records of the machine by RV(id), and no machine can say that the record of another one is its
        own.
    type: str
  lines:
    description: By name of a file in the directory, a list of lines. Those that it does not have are appended.
    type: dict
    default: {}
  contents:
    description: Names of files in the directory whose text is returned, if they exist.
    type: list
    elements: str
    default: []
seealso:
  - module: ansible.builtin.file
"""

EXAMPLES = r"""
- name: Create a directory for records
  foghorn.azure_events.own_directory:
    path: /var/lib/myself

- name: Write a record
  ansible.builtin.copy:
    content: "{{ my_record | to_json }}"
    dest: /var/lib/myself/record.json
    mode: "0600"
"""

RETURN = r"""
files:
  description: Names of the files in the directory, sorted. Empty if it does not exist.
  returned: success
  type: list
  elements: str
  sample: [record.json]
contents:
  description: The text of each of the O(contents) that exist, by name.
  returned: if O(contents) is set
  type: dict
  sample: {places: "edge\n"}
id:
  description: What O(id_file) has. Empty if there is no such file.
  returned: if O(id_file) is set
  type: str
  sample: 5f0c7e0b6d1f4a3e9b2c8d7e6f5a4b3c
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.own_directory_module import own_directory_arguments, run_own_directory


def main() -> None:
    """Run the module."""
    run_own_directory(AnsibleModule(argument_spec=own_directory_arguments(), supports_check_mode=True))


if __name__ == "__main__":
    main()
