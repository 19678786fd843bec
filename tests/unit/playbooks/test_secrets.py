# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No task shows a secret: on the terminal, with -v or --diff, in AWX, or in a machine's syslog.

A task's arguments and its result are in all of these. So each task whose arguments contain one of these variables, or
whose result is registered under one of their names, has `no_log: true`, without a condition that could be wrong.
"""

from __future__ import annotations

from typing import Any

import yaml

from tests.unit.playbooks.test_boundary import FILES, ROOT, names_in, tasks

SECRET = {
    # The agent's configuration: URLs and headers of webhooks, and arguments of commands.
    "__handler_agent_content",
    "__handler_agent_config_text",
    "__handler_agent_windows_files",
    "__rehearse_configured",
    "__rehearse_configuration",
    "__configured",
    "handler_agent_webhooks",
    # The secret of the members.
    "handler_agent_members_secret",
    "handler_agent_members_old_secret",
    "__handler_agent_secret",
    "__handler_agent_secret_text",
    "__handler_agent_secret_found",
    "__handler_agent_secret_known",
    "__handler_agent_secret_read",
    # The URL of a chat is its password, and any other may have one in it.
    "notify_urls",
    "notify_alertmanager_url",
}
# It evaluates expressions, and shows none of their values.
SHOWS_NOTHING = ("ansible.builtin.assert",)


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    return [value] if isinstance(value, str) else []


def secrets_of(task: dict[str, Any]) -> set[str]:
    """The secrets in the arguments, the loop and the result of a task."""
    arguments = [value for key, value in task.items() if "." in key and key not in SHOWS_NOTHING]
    used = {name for text in texts([arguments, task.get("loop")]) for name in names_in(text)}
    return SECRET & (used | {str(task.get("register"))} | {name for one in arguments if one for name in one})


def test_given_any_task_when_it_handles_a_secret_then_it_shows_nothing() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {task.get('name')}": task.get("no_log")
        for path in FILES
        for task in tasks(yaml.safe_load(path.read_text(encoding="utf-8")))
        if secrets_of(task)
    }
    assert len(found) > 10
    assert {name for name, value in found.items() if value is not True} == set()
