# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What is known of a machine whose connection is lost during a step.

To Ansible it is unreachable, which no `rescue` and no `failed_when` sees; and where `ignore_unreachable` keeps it in
the play, its next task begins as if all was well.
"""

from __future__ import annotations

import random
import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleAuthenticationFailure, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ..module_utils.scheduled_events.text import plain

# Seconds, and as little as it takes: a machine that is down is not waited for.
TRIED_FOR = 5.0
_SHORTEST_PAUSE = 0.5
_LONGEST_PAUSE = 2.0


def lost_while(doing: str) -> str:
    """That the machine was lost, for the operator; the reason follows."""
    return "The machine could not be reached while it was %s" % doing


def fail_if_unreachable(run: Callable[[], dict[str, Any]], lost: str) -> dict[str, Any]:
    """Return the answer, or a failure that says what was lost, and why."""
    try:
        return run()
    except AnsibleConnectionFailure as error:
        return {"failed": True, "changed": False, "msg": "%s: %s" % (lost, plain(str(error)))}


def run_again_if_dropped(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of a machine that many ask at once, such as a balancer.

    Its SSH server drops some of more than ten connections that sign in at a time (MaxStartups). They are made again, at
    different moments.

    :raises AnsibleConnectionFailure: if the machine cannot be reached for some seconds, or refuses the credentials
    """
    until = time.monotonic() + TRIED_FOR
    while True:
        try:
            return run()
        except AnsibleAuthenticationFailure:
            # Another attempt may lock the account.
            raise
        except AnsibleConnectionFailure:
            pause = random.uniform(_SHORTEST_PAUSE, _LONGEST_PAUSE)
            if time.monotonic() + pause > until:
                raise
        time.sleep(pause)


class LosableAction(ActionBase):
    """One whose answer stands when the machine is lost before Ansible has removed its files there.

    Otherwise Ansible would say, instead, that the machine is unreachable. With pipelining there are no such files.
    """

    def cleanup(self, force: bool = False) -> None:
        """Remove them, or leave them there."""
        try:
            super().cleanup(force)
        except AnsibleConnectionFailure:
            self._connection._shell.tmpdir = None


class ReachableAction(LosableAction):
    """Runs the module of its name. A machine that is lost meanwhile is a failure, like what the module says itself."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = True

    @abstractmethod
    def lost(self, host: str) -> str:
        """Say what was lost, for the operator; the reason follows."""

    def judged(self, answer: dict[str, Any], _host: str) -> dict[str, Any]:
        """What the task says of the module's answer, or of the loss."""
        return answer

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run it."""
        begun: dict[str, Any] = super().run(tmp, task_vars)
        host = str((task_vars or {}).get("inventory_hostname"))
        wraps = bool(self._task.async_val)

        def execute() -> dict[str, Any]:
            answer: dict[str, Any] = self._execute_module(task_vars=task_vars, wrap_async=wraps)
            return answer

        is_shared = bool(self._task.delegate_to)
        answer = fail_if_unreachable(lambda: run_again_if_dropped(execute) if is_shared else execute(), self.lost(host))
        return {**begun, **self.judged(answer, host)}


class AzureAction(ReachableAction):
    """One whose module asks Azure, often on another host than the one that it is about."""

    def lost(self, host: str) -> str:
        return "%s could not be reached to ask Azure" % (self._task.delegate_to or host)


class PlacedAction(ReachableAction):
    """One that runs at one of several places, in a loop that goes on whatever becomes of one. A failure names it."""

    def place(self) -> str:
        """What to call it; empty if it is the host itself."""
        return str(self._task.delegate_to or "")

    def lost(self, _host: str) -> str:
        return "It could not be reached"

    def judged(self, answer: dict[str, Any], _host: str) -> dict[str, Any]:
        if answer.get("failed") and self.place():
            return {**answer, "msg": "%s: %s" % (self.place(), answer.get("msg"))}
        return answer
