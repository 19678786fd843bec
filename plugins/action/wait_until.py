# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action wait_until. The module of the same name documents it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.playbook.conditional import Conditional
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.patience import Patience, wait_until
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.time_limit import OutOfTimeError, at_most
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.unreachable import LosableAction
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted

ARGUMENTS = {
    "module": {"type": "str", "required": True},
    "arguments": {"type": "dict", "default": {}},
    "until": {"type": "str", "required": True},
    "timeout": {"type": "float", "required": True},
    "interval": {"type": "float", "default": 1},
    "poll_timeout": {"type": "float", "default": 90},
    "may_be_away": {"type": "bool", "default": False},
}


class ActionModule(LosableAction):
    """Waits on the controller, and runs a module repeatedly."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    @classmethod
    def finalize_task_arg(cls, name: str, value: Any, templar: Any, context: Any) -> Any:
        """Leave the condition unevaluated: it is about a result that does not exist yet. For ansible-core 2.19 and
        later.
        """
        return value if name == "until" else super().finalize_task_arg(name, value, templar, context)

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Wait, and return the module's last result."""
        begun: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        _validated, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        for option in ("timeout", "interval", "poll_timeout"):
            if not 0 <= arguments[option] < float("inf"):
                said = "%s is %s: it must be a number of seconds" % (option, arguments[option])
                return {**begun, "failed": True, "msg": said}
        host = str(variables.get("inventory_hostname", ""))
        seen, is_so = wait_until(
            look=lambda: self._look(arguments, variables),
            is_so=lambda result: self._holds(result, variables),
            patience=Patience(timeout=arguments["timeout"], interval=arguments["interval"]),
            tell=lambda waited: Display().display(
                plain("[%s]: %s: %s" % (host, self._task.get_name(), waited)), stderr=True
            ),
            clock=time.monotonic,
            sleep=time.sleep,
        )
        if is_so:
            return {**begun, **seen}
        said = "the check did not succeed within %g s: %s" % (arguments["timeout"], arguments["until"])
        if seen.get("msg"):
            said += "; the last answer: %s" % plain(str(seen["msg"]))
        # The last poll may have ended in an error, which is not why this task fails.
        seen.pop("exception", None)
        return {**begun, **seen, "failed": True, "msg": said}

    def _look(self, arguments: Mapping[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """Run the module once, by its own action if it has one."""
        try:
            return self._look_in_time(arguments, variables)
        except AnsibleConnectionFailure as error:
            if not arguments["may_be_away"]:
                raise
            # The connection of the last poll is closed, whatever comes next.
            with contextlib.suppress(AnsibleError, AttributeError, OSError):
                self._connection.reset()
            return {"failed": True, "msg": str(error)}

    def _look_in_time(self, arguments: Mapping[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        try:
            with at_most(arguments["poll_timeout"]):
                answer: dict[str, Any] = self._action(arguments).run(task_vars=variables)
        except OutOfTimeError:
            raise AnsibleConnectionFailure(
                "%s did not end within %g s" % (arguments["module"], arguments["poll_timeout"])
            ) from None
        return answer

    def _action(self, arguments: Mapping[str, Any]) -> ActionBase:
        name = arguments["module"]
        defaults: dict[str, Any] = {}
        for some in self._task.module_defaults or []:
            defaults.update(some)
        task = self._task.copy()
        task.action = name
        task.args = {**self._templar.template(defaults.get(name, {})), **arguments["arguments"]}
        loader = self._shared_loader_obj.action_loader
        action: ActionBase = loader.get(
            name if loader.has_plugin(name) else "ansible.legacy.normal",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        return action

    def _holds(self, result: dict[str, Any], variables: dict[str, Any]) -> bool:
        """Whether the condition is true for this result."""
        known = {**variables, "result": untrusted(lambda: result)()}
        condition = self._task.args["until"]
        if hasattr(self._templar, "evaluate_conditional"):
            templar = self._templar.copy_with_new_env(available_variables=known)
            return bool(templar.evaluate_conditional(condition))
        # For ansible-core before 2.19.
        conditional = Conditional(loader=self._loader)
        conditional.when = [condition]
        try:
            return bool(conditional.evaluate_conditional(templar=self._templar, all_vars=known))
        finally:
            self._templar.available_variables = variables
