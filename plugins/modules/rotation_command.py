#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module rotation_command."""

DOCUMENTATION = r"""
module: rotation_command
short_description: Take a machine out of rotation with a command, and restore it with another
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - For load balancers that no other module of this collection knows. The role
    P(foghorn.azure_events.load_balancer_removal#role) runs it for each of C(load_balancer_removal_commands).
  - Writes down the command that undoes the removal, and then runs the one that removes. The restore runs what is
    written down, whatever the options are then, and forgets it once the machine is back.
  - A machine that somebody else has taken out is left alone, without a record.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  check_mode:
    details: Runs O(status) alone.
  diff_mode:
    support: full
    details: Shows whether the machine leaves rotation, or returns to it.
options:
  rotation:
    description: Whether to take the machine V(out) of rotation, or put it V(in) again.
    type: str
    required: true
    choices: [out, in]
  name:
    description: Name of the load balancer, of letters, digits and any of C(- _ .).
    type: str
    required: true
  remove:
    description: The command that removes the machine, and its arguments. Required for O(rotation=out).
    type: list
    elements: str
  restore:
    description: The command that reverts the removal. Required for O(rotation=out), which writes it down.
    type: list
    elements: str
  status:
    description:
      - A command that exits with 0 while the machine is in rotation, and with 1 while it is not.
      - Without it, O(remove) runs once for each removal.
    type: list
    elements: str
    default: []
  record:
    description: Where is written down what undoes the removal.
    type: dict
    required: true
    suboptions:
      directory:
        description:
          - The directory of records, of any number of machines. It is created if it is missing. No user except root and
            the user of the task may be able to change it, or a directory above it.
        type: path
        required: true
      name:
        description: The machine's name.
        type: str
        required: true
      machine:
        description: What tells the machine from others, 32 hexadecimal digits that only the machine has.
        type: str
        default: ""
  changes_within:
    description: Seconds within which O(status) must change after O(remove) and O(restore).
    type: float
    default: 60
  timeout:
    description: Seconds that each command may take. It is ended then, with what it has begun.
    type: float
    default: 300
seealso:
  - module: foghorn.azure_events.own_directory
"""

EXAMPLES = r"""
- name: Take a machine out of a pool
  foghorn.azure_events.rotation_command:
    rotation: out
    name: pool
    remove: [/usr/local/sbin/pool, leave, web1]
    restore: [/usr/local/sbin/pool, join, web1]
    status: [/usr/local/sbin/pool, has, web1]
    record:
      directory: /var/lib/rotation
      name: web1

- name: Restore it in the pool, if it was taken out of it
  foghorn.azure_events.rotation_command:
    rotation: in
    name: pool
    record:
      directory: /var/lib/rotation
      name: web1
"""

RETURN = r"""
{}
"""

import math
import time
from typing import Any, List, Sequence

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files.records import Owner, check_owner
from ..module_utils.rotation_command import Commands, World, check_name, put_back, take_out

OUT = "out"
IN = "in"

# Exit statuses of timeout: the time was up; and the command had to be killed then.
_OUT_OF_TIME = (124, 137)
_FOR_KILLING = 5  # seconds


def main() -> None:
    """Run the module."""
    run(
        AnsibleModule(
            argument_spec={
                "rotation": {"type": "str", "required": True, "choices": [OUT, IN]},
                "name": {"type": "str", "required": True},
                "remove": {"type": "list", "elements": "str"},
                "restore": {"type": "list", "elements": "str"},
                "status": {"type": "list", "elements": "str", "default": []},
                "record": {
                    "type": "dict",
                    "required": True,
                    "options": {
                        "directory": {"type": "path", "required": True},
                        "name": {"type": "str", "required": True},
                        "machine": {"type": "str", "default": ""},
                    },
                },
                "changes_within": {"type": "float", "default": 60.0},
                "timeout": {"type": "float", "default": 300.0},
            },
            supports_check_mode=True,
        )
    )


def run(module: AnsibleModule) -> None:
    """Do the work of rotation_command."""
    given = module.params
    try:
        name = check_name(given["name"])
        record = given["record"]
        owner = check_owner(Owner(record["directory"], record["name"], record["machine"]))
        world = World(_runner(module), time.monotonic, time.sleep, given["changes_within"], bool(module.check_mode))
        if given["rotation"] == IN:
            changed = put_back(owner, name, world)
        else:
            if not given["remove"] or not given["restore"]:
                raise ValueError("remove, restore: rotation: out needs both, each with a command and its arguments")
            commands = Commands(name, given["remove"], given["restore"], given["status"])
            changed = take_out(owner, commands, world)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    sides = ("in rotation\n", "out of rotation\n")
    before, after = sides if given["rotation"] == OUT else sides[::-1]
    diff = {"before": before, "after": after} if changed else {"before": "", "after": ""}
    module.exit_json(changed=changed, diff=diff)


def _runner(module: AnsibleModule) -> Any:
    seconds = module.params["timeout"]
    if not 0 < seconds < math.inf:
        module.fail_json(msg="timeout: %s is no number of seconds above 0" % seconds)

    def run(command: List[str]) -> Sequence[Any]:
        # What it has begun ends with it.
        limit = ["timeout", "-k", "%d" % _FOR_KILLING, "%d" % math.ceil(seconds)]
        # Ansible reads no answer that is not UTF-8, as messages of a machine with another locale are.
        code, said, error = module.run_command([*limit, *command], errors="replace")  # type: int, str, str
        return code, said, "it did not end within %g s" % seconds if code in _OUT_OF_TIME else error

    return run


if __name__ == "__main__":
    main()
