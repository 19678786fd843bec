# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter that makes a value of text. The YAML file of its name documents it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils import typed as conversion


def typed(value: Any, kind: str, elements: str | None = None) -> Any:
    """Return the value as the type that it is meant to have."""
    try:
        return conversion.typed(value, kind, elements)
    except ValueError as error:
        raise AnsibleFilterError(plain(str(error))) from error


class FilterModule:
    """Offers the filter."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name it."""
        return {"typed": typed}
