# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action rotation_claim_info. The module of the same name documents it."""

from __future__ import annotations

import time
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean

from ..module_utils.imds_module import connection_arguments
from ..plugin_utils.windows_host import InstalledAgent, WindowsHostAction, object_in, said_by

_NOT_LEFT = "not handled: a Windows host is left to its agent, and handle_events_leave_to_agent is false"
_INSTALL = "not handled: a Windows host without an agent: install one with the playbook install_agent"
_START = "not handled: its agent does not run: start the service foghorn-agent. It said: %s"
_LONGEST_SAID = 200  # characters


class ActionModule(WindowsHostAction):
    """Runs the module on the host, and notes the time of the answer by the controller's clock.

    On Windows, where nobody writes down claims, its agent is asked, and its module for events.
    """

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run it. The host reads the clock that it returns between the two instants."""
        begun: dict[str, Any] = super().run(tmp, task_vars)
        asked_at = time.time()
        answer = self._of_windows(task_vars) if self._is_windows() else self._execute_module(task_vars=task_vars)
        return {**begun, **answer, "asked_at": asked_at, "answered_at": time.time()}

    def _of_windows(self, task_vars: dict[str, Any] | None) -> dict[str, Any]:
        found = self._of_agent()
        if not boolean(self._task.args.get("events", False)):
            return found
        options = {name: value for name, value in self._task.args.items() if name in connection_arguments()}
        scheduled = self._execute_module(
            "foghorn.azure_events.scheduled_events_info", {**options, "affecting": "this_vm"}, task_vars=task_vars
        )
        if scheduled.get("failed"):
            return {**found, "scheduled": {"msg": scheduled.get("msg")}, "failed": True, "msg": scheduled.get("msg")}
        return {**found, "scheduled": scheduled}

    def _of_agent(self) -> dict[str, Any]:
        nothing: dict[str, Any] = {
            "lease": None,
            "claims": {},
            "tried": {},
            "vm": {},
            "boot_id": "",
            "present": [],
            "unknown_units": [],
            "triggered_units": {},
            "agent": {},
            "system": "Windows",
            "unmanaged": "",
        }
        if not self._task.args.get("agent"):
            return {**nothing, "unmanaged": _NOT_LEFT}
        asked = self._installed_agent("status", "--json")
        found = {} if asked.now is None else {"now": asked.now}
        if not asked.is_there:
            return {**nothing, **found, "unmanaged": _INSTALL}
        try:
            return {**nothing, **found, "agent": _read_status(asked)}
        except ValueError as error:
            return {**nothing, **found, **self._why_silent(str(error))}

    def _why_silent(self, said: str) -> dict[str, Any]:
        """Of an agent that does not answer: one that runs is just starting, or listens nowhere."""
        if self._installed_agent("service", "is-active", "foghorn-agent").answer.status == 0:
            return {"agent": {"problem": "does not answer"}}
        return {"unmanaged": _START % said[:_LONGEST_SAID]}


def _read_status(asked: InstalledAgent) -> dict[str, Any]:
    """Read the status.

    :raises ValueError: if it is none
    """
    if asked.answer.status != 0:
        raise ValueError(said_by(asked.answer))
    return object_in(asked.answer.stdout)
