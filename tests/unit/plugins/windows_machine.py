# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Windows machine for actions: it answers what a test says, and keeps what it was asked."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any, TypeVar

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.windows_host import WindowsHostAction

Action = TypeVar("Action", bound=WindowsHostAction)


class WindowsMachine:
    """One that gives these answers in turn: exit status, output and complaints."""

    def __init__(self, *answers: tuple[int, str | bytes, str]) -> None:
        self.scripts: list[str] = []
        self._answers = list(answers)

    def reached_by(self, action: type[Action], shell: str = "powershell", check_mode: bool = False) -> Action:
        """An action whose connection leads here."""
        return action(
            task=SimpleNamespace(check_mode=check_mode),
            connection=SimpleNamespace(exec_command=self._run, _shell=SimpleNamespace(SHELL_FAMILY=shell)),
            play_context=None,
            loader=None,
            templar=None,
            shared_loader_obj=None,
        )

    def _run(self, command: str, **_options: Any) -> tuple[int, bytes, bytes]:
        self.scripts.append(base64.b64decode(command.partition("-EncodedCommand ")[2]).decode("utf-16-le"))
        status, stdout, stderr = self._answers.pop(0)
        return status, stdout if isinstance(stdout, bytes) else stdout.encode(), stderr.encode()
