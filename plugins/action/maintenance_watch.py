# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action maintenance_watch. It is documented in the module of its name."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.foghorn.azure_events.plugins.module_utils.imds_module import connection_arguments
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import DocumentError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.doors import read_reading
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.treatment import PolicyError, read_policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.waiting import Bell, Events, Round, wait
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.time_limit import OutOfTimeError, at_most
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted

ARGUMENTS = {
    "progress": {"type": "dict", "required": True},
    "policy": {"type": "dict", "default": {}},
    "poll_interval": {"type": "float", "default": 5},
    "look_timeout": {"type": "float", "default": 90},
    "until": {"type": "float"},
    "is_crowded": {"type": "bool", "default": False},
}


class ActionModule(ActionBase):
    """Waits on the controller, and has the host look again and again."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Wait for the end of the host's events, or of the round."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        # Told apart by the task, which each round has one of its own.
        bell = Bell(os.path.join(constants.DEFAULT_LOCAL_TMP, "foghorn_news_%s" % self._task._uuid))
        connection = {name: self._task.args[name] for name in connection_arguments() if name in self._task.args}
        _validated, arguments = self.validate_argument_spec(argument_spec={**connection_arguments(), **ARGUMENTS})
        host = str(variables.get("inventory_hostname", ""))
        try:
            turn = Round(
                policy=read_policy(arguments["policy"]),
                poll_interval=arguments["poll_interval"],
                until=arguments["until"],
                is_crowded=arguments["is_crowded"],
            )
            result["progress"] = untrusted(wait)(
                arguments["progress"],
                turn,
                look=lambda: self._look(
                    dict(connection, affecting="this_vm"), variables, float(arguments["look_timeout"])
                ),
                tell=lambda line: Display().display(plain("[%s]: %s" % (host, line)), stderr=True),
                bell=bell,
                clock=time.time,
                sleep=time.sleep,
            )
        except (DocumentError, PolicyError) as error:
            raise AnsibleActionFail("maintenance_watch: %s" % plain(str(error))) from error
        return result

    def _look(self, arguments: dict[str, Any], variables: dict[str, Any], limit: float) -> Events:
        """Ask the host; None if it, or its metadata service, does not answer within so many seconds."""
        try:
            with at_most(limit):
                answer = self._execute_module(
                    module_name="foghorn.azure_events.scheduled_events_info", module_args=arguments, task_vars=variables
                )
        except (AnsibleConnectionFailure, OutOfTimeError):
            self._forget_the_connection()
            return None
        except AnsibleError:
            return None
        return read_reading(answer)

    def _forget_the_connection(self) -> None:
        """What has rebooted has neither this connection any more nor, perhaps, the directory of this task."""
        with contextlib.suppress(AttributeError, AnsibleError):
            self._connection.reset()
        self._connection._shell.tmpdir = None
