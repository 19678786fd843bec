# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter that keeps managed hosts from deciding. The YAML file of its name documents it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.trust import (
    TrustError,
    check_origin,
)
from jinja2 import pass_context
from jinja2.runtime import Context


@pass_context
def trusted(context: Context, value: Any, among: Sequence[Any] | None = None, what: str = "value") -> Any:
    """Return the value, unless the task's host has set any part of it."""
    try:
        return check_origin(value, context.get("ansible_facts") or (), among, what)
    except TrustError as error:
        raise AnsibleFilterError("%s: %s" % (context.get("inventory_hostname"), plain(str(error)))) from error


class FilterModule:
    """Offers the filter."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name it."""
        return {"trusted": trusted}
