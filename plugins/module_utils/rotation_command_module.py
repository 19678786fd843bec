# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where Ansible meets commands that take a machine out of rotation: the arguments of rotation_command."""

import math
import time
from typing import Any, Dict, List, Sequence

from ansible.module_utils.basic import AnsibleModule

from .files.records import Owner, check_owner
from .rotation_command import Commands, World, check_name, put_back, take_out

OUT = "out"
IN = "in"

# Exit statuses of timeout: the time was up; and the command had to be killed then.
_OUT_OF_TIME = (124, 137)
_FOR_KILLING = 5  # seconds

ArgumentSpec = Dict[str, Dict[str, Any]]


def rotation_command_arguments() -> ArgumentSpec:
    """Make the argument spec of rotation_command."""
    return {
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
    }


def run_rotation_command(module: AnsibleModule) -> None:
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
        limit = ["timeout", "--kill-after=%d" % _FOR_KILLING, "%d" % math.ceil(seconds)]
        code, said, error = module.run_command([*limit, *command])  # type: int, str, str
        return code, said, "it did not end within %g s" % seconds if code in _OUT_OF_TIME else error

    return run
