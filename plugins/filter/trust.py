# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters that keep managed hosts from deciding. Each is documented in the YAML file of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.trust import (
    TrustError,
    check_origin,
    describe_forgery,
    forged,
)
from jinja2 import pass_context
from jinja2.runtime import Context


@pass_context
def trusted(context: Context, value: Any, among: Sequence[Any] | None = None, what: str = "value") -> Any:
    """Return the value, unless the host that the task is for has had a say in it."""
    try:
        return check_origin(value, context.get("ansible_facts") or (), among, what)
    except TrustError as error:
        raise AnsibleFilterError("%s: %s" % (context.get("inventory_hostname"), plain(str(error)))) from error


def forged_facts(facts: Any) -> str:
    """Say what is wrong with the facts of a host."""
    return plain(describe_forgery(forged(facts or ())))


class FilterModule:
    """Offers the filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name them."""
        return {"forged_facts": forged_facts, "trusted": trusted}
