# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action maintenance_watch. The module of the same name documents it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.utils.display import Display
from ansible_collections.foghorn.azure_events.plugins.module_utils.imds_module import connection_arguments
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import DocumentError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.clocks import steady_clock
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import PolicyError, read_policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.reading import read_reading
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.silence import words_of
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.waiting import (
    BatchSignal,
    Poll,
    RunEndedError,
    Waiting,
    WatchLimits,
    sleep_within_run,
    wait,
    wait_for_batch,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.later_jobs import later_jobs_of
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.time_limit import OutOfTimeError, at_most
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.unreachable import LosableAction
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted

ARGUMENTS = {
    "progress": {"type": "dict"},
    "known": {"type": "list", "elements": "dict"},
    "lease": {"type": "dict"},
    "policy": {"type": "dict", "default": {}},
    "poll_interval": {"type": "float", "default": 5},
    "poll_timeout": {"type": "float", "default": 90},
    "until": {"type": "float"},
    "is_crowded": {"type": "bool", "default": False},
    "job_run": {"type": "dict"},
}


def _relief(run: dict[str, Any]) -> Callable[[], bool]:
    """The variables that say whether a later job waits for the end of this run."""
    later = later_jobs_of(run)
    if later is None:
        return lambda: False

    def is_relieved() -> bool:
        try:
            return later.next() is not None
        except (OSError, ValueError):
            # An earlier wait asked already: the job goes on as if it had no credential.
            return False

    return is_relieved


class ActionModule(LosableAction):
    """Waits on the controller and polls the host."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Wait for the end of the host's events, for its batch, or until another host has news."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        # Each batch has a task of its own, so the task's id keeps their signals apart.
        signal = BatchSignal(os.path.join(constants.DEFAULT_LOCAL_TMP, "foghorn_news_%s" % self._task._uuid))
        connection = {name: self._task.args[name] for name in connection_arguments() if name in self._task.args}
        _validated, arguments = self.validate_argument_spec(
            argument_spec={**connection_arguments(), **ARGUMENTS},
            required_one_of=[("progress", "known")],
            mutually_exclusive=[("progress", "known")],
        )
        host = str(variables.get("inventory_hostname", ""))
        limit = float(arguments["poll_timeout"])
        try:
            limits = WatchLimits(
                policy=read_policy(arguments["policy"]),
                poll_interval=arguments["poll_interval"],
                until=arguments["until"],
                is_crowded=arguments["is_crowded"],
            )
            world = Waiting(
                poll=lambda: self._poll(dict(connection, affecting="this_vm"), variables, limit),
                signal=signal,
                # By the machine's own, nothing is polled and no lease renewed for an hour after it is set back by one.
                clock=steady_clock(),
                sleep=sleep_within_run(),
                is_relieved=_relief(arguments["job_run"] or {}),
            )
            if arguments["progress"] is None:
                wait_for_batch(read_reading({"events": arguments["known"]}) or (), limits, world)
                return result
            result["progress"] = untrusted(wait)(
                arguments["progress"],
                limits,
                world,
                renew=lambda: self._renew(arguments["lease"], variables, limit),
                notify=lambda line: Display().display(plain("[%s]: %s" % (host, line)), stderr=True),
            )
        except (DocumentError, PolicyError, RunEndedError) as error:
            raise AnsibleActionFail("maintenance_watch: %s" % plain(str(error))) from error
        return result

    def _poll(self, arguments: dict[str, Any], variables: dict[str, Any], limit: float) -> Poll:
        """Ask the host for its events."""
        answer = self._ask("scheduled_events_info", arguments, variables, limit)
        events = read_reading(answer)
        return Poll(events, words_of(answer.get("msg") or "") if events is None else "")

    def _renew(self, lease: dict[str, Any] | None, variables: dict[str, Any], limit: float) -> str:
        """Renew the lease, and return the new holder if somebody has taken it over, or an empty text. If the host
        does not answer, its lease is left alone.
        """
        if not lease:
            return ""
        answer = self._ask("rotation_claim", dict(lease, state="renewed"), variables, limit)
        return plain(answer.get("msg")) if answer.get("leased") else ""

    def _ask(self, module: str, arguments: dict[str, Any], variables: dict[str, Any], limit: float) -> dict[str, Any]:
        """Run a module on the host. If the host cannot be reached within so many seconds, return a failure that says
        so.
        """
        try:
            with at_most(limit):
                answer: dict[str, Any] = self._execute_module(
                    module_name="foghorn.azure_events." + module, module_args=arguments, task_vars=variables
                )
        except (AnsibleConnectionFailure, OutOfTimeError) as error:
            self._forget_the_connection()
            return {"msg": str(error) or "no answer within %g s" % limit}
        except AnsibleError as error:
            return {"msg": str(error)}
        return answer

    def _forget_the_connection(self) -> None:
        """After a reboot, neither this connection nor, perhaps, the directory of this task exists any more."""
        with contextlib.suppress(AttributeError, AnsibleError):
            self._connection.reset()
        self._connection._shell.tmpdir = None
