# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filters of the role graceful_shutdown. Each is documented in the YAML file of its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.services import (
    ServiceError,
    problem,
    read_record,
    read_services,
    running,
    stop_limit,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted


def shutdown_services(entries: Any, recorded_of: Any = None) -> list[dict[str, Any]]:
    """Check services, and fill in what was left out."""
    try:
        return read_services(entries) if recorded_of is None else read_record(entries, recorded_of)
    except ServiceError as error:
        raise AnsibleFilterError("graceful_shutdown_services%s" % plain(str(error))) from error


def shutdown_limit(ahead: Sequence[Mapping[str, Any]], seconds_left: Any) -> float:
    """Say how long the first of these services may take to stop."""
    return stop_limit(ahead, float(seconds_left))


def shutdown_running(services: Sequence[Mapping[str, Any]], answers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Say which of these services are running."""
    return running(services, answers)


def shutdown_problems(services: Sequence[Mapping[str, Any]], answers: Mapping[str, Any], expected: str = "any") -> str:
    """Say what is wrong with these services."""
    try:
        return problem(services, answers, expected)
    except ServiceError as error:
        raise AnsibleFilterError("shutdown_problems: %s" % error) from error


class FilterModule:
    """Offers the filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name them."""
        return {
            "shutdown_limit": shutdown_limit,
            # Also for what a machine has kept: nothing that it says is a template.
            "shutdown_running": untrusted(shutdown_running),
            "shutdown_services": untrusted(shutdown_services),
            "shutdown_problems": untrusted(shutdown_problems),
        }
