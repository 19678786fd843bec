# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filters of the role graceful_shutdown. Each is documented in the YAML file of its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.services import (
    ServiceError,
    read_services,
    stop_limit,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted


def shutdown_services(entries: Any) -> list[dict[str, Any]]:
    """Check services, and fill in what was left out."""
    try:
        return read_services(entries)
    except ServiceError as error:
        raise AnsibleFilterError("graceful_shutdown_services%s" % error) from error


def shutdown_limit(ahead: Sequence[Mapping[str, Any]], seconds_left: Any) -> float:
    """Say how long the first of these services may take to stop."""
    return stop_limit(ahead, float(seconds_left))


class FilterModule:
    """Offers the filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name them."""
        return {
            "shutdown_limit": shutdown_limit,
            # Also for what a machine has kept: nothing that it says is a template.
            "shutdown_services": untrusted(shutdown_services),
        }
