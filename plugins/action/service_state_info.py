# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action service_state_info. It is documented in the module of its name."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.module_utils.service_module import service_arguments
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.lost import failing_if_lost
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.services import (
    ServiceError,
    problem,
    read_record,
    read_services,
    running,
    silent,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted


class ActionModule(ActionBase):
    """Has the host ask for its services, and says what is wrong with them: files of tasks are the controller's."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Check the services, ask, and compare."""
        begun: dict[str, Any] = super().run(tmp, task_vars)
        _validated, arguments = self.validate_argument_spec(argument_spec=service_arguments())
        try:
            services = read_services(arguments["services"])
            asked = {name: arguments[name] for name in ("record", "expected") if arguments[name] is not None}
            given = {**asked, "services": [] if "record" in asked else services}
            answer = failing_if_lost(
                lambda: self._execute_module(module_args=given, task_vars=task_vars), "asked for its services"
            )
            if answer.get("failed"):
                return {**begun, **answer}
            # A host that was taken over may answer anything; of one that answers nothing, nothing is known.
            said = answer.get("states")
            states = {str(name): str(state) for name, state in said.items()} if isinstance(said, dict) else {}
            told = read_services(answer.get("recorded")) if "record" in asked else services
            unanswered = silent(told, states)
            if unanswered:
                return {**begun, "failed": True, "msg": plain(unanswered)}
            if "record" in asked:
                services = read_record(told, services)
        except ServiceError as error:
            return {**begun, "failed": True, "msg": "graceful_shutdown_services%s" % plain(str(error))}
        found = untrusted(
            lambda: {"services": services, "running": running(services, states), "states": states, "changed": False}
        )()
        wrong = plain(problem(services, states, arguments["expected"]))
        return {**begun, **found, "failed": True, "msg": wrong} if wrong else {**begun, **found}
