# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action ordered_services. The module of the same name documents it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from ansible.utils.display import Display
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.module_utils.service_module import STOPPED, service_arguments
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.services import (
    Answer,
    ServiceError,
    judge,
    read_answer,
    read_services,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.unreachable import (
    LosableAction,
    fail_if_unreachable,
    lost_while,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted


class ActionModule(LosableAction):
    """Has the host stop or start its services, and checks its answer. Files of tasks come from the controller alone."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Check the services, have the host execute the next part, and return how far it has come."""
        begun: dict[str, Any] = super().run(tmp, task_vars)
        _validated, arguments = self.validate_argument_spec(argument_spec=service_arguments())
        is_stop = arguments["state"] == STOPPED
        deadline = _deadline(arguments)
        try:
            services = read_services(arguments["services"])
            given = {name: arguments[name] for name in ("state", "record", "after", "failure")}
            left = {} if deadline is None else {"seconds": deadline - time.time()}
            said = fail_if_unreachable(
                lambda: self._execute_module(module_args={**given, **left, "services": services}, task_vars=task_vars),
                lost_while("stopping its services" if is_stop else "starting its services"),
            )
            if said.get("failed"):
                return {**begun, **said}
            answer = read_answer(said, services, is_stop, not arguments["after"])
            wrong = judge(answer, is_stop, bool(self._task.check_mode))
        except ServiceError as error:
            return {**begun, "failed": True, "msg": "graceful_shutdown_services%s" % plain(str(error))}
        if not answer.stretch.get("next") and answer.stretch["ignored"]:
            ignored = ", ".join(map(str, answer.stretch["ignored"]))
            Display().warning(plain("These services did not stop, and on_failure is ignore: %s" % ignored))
        if not answer.stretch.get("next"):
            for warning in answer.stretch["warnings"]:
                Display().warning(plain(warning))
        found = untrusted(_as_result)(answer, deadline)
        result = {**begun, **found, "diff": said.get("diff"), "changed": answer.changed}
        return {**result, "failed": True, "msg": plain(wrong)} if wrong else result


def _deadline(arguments: Mapping[str, Any]) -> float | None:
    """When all must have stopped, in seconds since the epoch; None if there is no hurry."""
    seconds, deadline = arguments["seconds"], arguments["deadline"]
    until = min(math.inf if deadline is None else deadline, math.inf if seconds is None else time.time() + seconds)
    return until if math.isfinite(until) else None


def _as_result(answer: Answer, deadline: float | None) -> dict[str, Any]:
    return {
        "services": answer.services,
        "next": answer.next,
        "stretch": answer.stretch,
        "deadline": deadline,
    }
