# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A callback for benchmarks: writes down how long each task took on its host, as JSON lines."""

from __future__ import annotations

import json
import time
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: task_durations
type: aggregate
short_description: Write down how long each task took
description:
  - Appends one JSON line for each task and host, with the task's name, its seconds and whether it succeeded.
requirements:
  - enabled in configuration
options:
  path:
    description: The file to append to.
    type: path
    required: true
    env:
      - name: FOGHORN_TASK_DURATIONS
"""


class CallbackModule(CallbackBase):
    """Takes the time from a task's start to its result, as whoever waits for the playbook sees it."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "task_durations"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._begun: dict[tuple[str, str], float] = {}

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        """A task begins on a host."""
        self._begun[host.get_name(), task._uuid] = time.monotonic()

    def v2_runner_on_ok(self, result: Any) -> None:
        """It has succeeded."""
        self._note(result, succeeded=True)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:  # noqa: ARG002  # Ansible's name
        """It has failed."""
        self._note(result, succeeded=False)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Its host did not answer."""
        self._note(result, succeeded=False)

    def _note(self, result: Any, succeeded: bool) -> None:
        host, task = result._host.get_name(), result._task
        seconds = time.monotonic() - self._begun.pop((host, task._uuid))
        line = json.dumps({"task": task.get_name().strip(), "seconds": seconds, "succeeded": succeeded})
        with open(self.get_option("path"), "a", encoding="utf-8") as stream:
            stream.write(line + "\n")
