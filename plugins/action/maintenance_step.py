# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action maintenance_step. The module of the same name documents it."""

from __future__ import annotations

import os
import time
import uuid
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import DocumentError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.answers import Variables
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.demand import DemandKind
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import PlanError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import PolicyError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.questions import QUESTIONS
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.run_file import RunFileError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.steps import STEPS, Call, in_json_types

_WITHOUT_RUN = ("begin", "status")
_OF_A_RUN = ("list", "choose", "record", "plan", "advance", "report", "decide_upgrades")
ARGUMENTS = {
    "state": {
        "type": "str",
        "required": True,
        "choices": [*_WITHOUT_RUN, *_OF_A_RUN],
    },
    "run": {"type": "dict"},
    "policy": {"type": "dict", "default": {}},
    "haproxys": {"type": "list", "elements": "dict", "default": []},
    "azure": {"type": "dict"},
    "beyond": {"type": "dict", "default": {}},
    "demand": {"type": "str", "default": "", "choices": ["", *(kind.value for kind in DemandKind)]},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "announced": {"type": "dict", "default": {}},
    "directory": {"type": "str", "default": ""},
    "is_kept": {"type": "bool", "default": True},
    "playbook": {"type": "str", "default": ""},
    "job": {"type": "dict", "default": {}},
    "found": {"type": "dict", "default": {}},
    "lease": {"type": "dict", "default": {}},
    "scale_sets": {"type": "list", "elements": "dict", "default": []},
    "answers": {"type": "list", "elements": "dict", "default": []},
    "members": {"type": "dict", "default": {}},
    "options": {"type": "dict", "default": {}},
    "inventory": {"type": "list", "elements": "str", "default": []},
}


class ActionModule(ActionBase):
    """Takes one step of a run, on the controller, for all hosts at once."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Take in what hosts have reported, and return what is next."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validated, arguments = self.validate_argument_spec(
            argument_spec=ARGUMENTS,
            required_if=[("state", state, ("run",)) for state in _OF_A_RUN],
        )
        arguments, variables = in_json_types(arguments), Variables((task_vars or {})["hostvars"])
        step = {**QUESTIONS, **STEPS}[arguments["state"]]
        try:
            # A directory that goes with this ansible-playbook; and an id that tells runs in it apart.
            name = "foghorn_run_%s" % uuid.UUID(arguments["run"]["id"]) if arguments["run"] else ""
            path = os.path.join(constants.DEFAULT_LOCAL_TMP, name)
            call = Call(path, arguments, variables, time.time(), bool(self._task.check_mode), _warn)
            return {**result, **step(call)}
        except (DocumentError, OSError, PlanError, PolicyError, RunFileError) as error:
            raise AnsibleActionFail("maintenance_step: %s" % plain(str(error))) from error


def _warn(text: str) -> None:
    Display().warning(plain(text))
