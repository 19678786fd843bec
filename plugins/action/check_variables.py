# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action check_variables. The module of the same name documents it."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.variables import Templated, check_variables

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str", "default": []},
    "arguments": {"type": "dict", "default": {}},
    "prefixes": {"type": "list", "elements": "str", "default": []},
    "roles": {"type": "list", "elements": "str", "default": []},
    "alike": {"type": "list", "elements": "str", "default": []},
    "chosen_by": {"type": "str", "default": ""},
    "strangers": {"type": "list", "elements": "str", "default": []},
    "in_step": {"type": "bool", "default": False},
    "playbook": {"type": "str", "default": ""},
    "job": {"type": "dict", "default": {}},
}


class ActionModule(ActionBase):
    """Checks the variables of all hosts at once, on the controller."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail with everything that is wrong, or begin a run."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validated, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        # The variables of the play itself, as those below import_playbook, are not among those of its hosts.
        variables = task_vars or {}
        # Those that were refused before count as well, which are in the batch no more.
        if arguments["in_step"] and len(variables["ansible_play_hosts_all"]) > 1:
            _refuse_strategy(self._task)
        of_play = Templated(variables, self._templar.template)
        return {**result, **check_variables(arguments, variables["hostvars"], of_play)}


def _refuse_strategy(task: Any) -> None:
    """Fail if the hosts of the play do not go through each task together, which no variable tells."""
    parent = task._parent
    while parent is not None and getattr(parent, "_play", None) is None:
        parent = parent._parent
    strategy = str(parent._play.strategy) if parent is not None else ""
    # Those of other collections are called after the one that they derive from, as mitogen_free.
    if strategy.endswith(("free", "host_pinned")):
        raise AnsibleActionFail(
            "strategy: is %s, in which each host does for itself what is to be done once for all of them, like choosing"
            " their secret. Set strategy: linear in the play" % strategy
        )
