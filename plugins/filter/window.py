# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter window_is_open. The YAML file of its name documents it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.approval_times import is_open, read_times


def window_is_open(windows: Any, instant: Any = None) -> bool:
    """Return whether an instant, by default now, is within one of these times, or no times are given."""
    try:
        return is_open(read_times(windows, "windows"), time.time() if instant is None else float(instant))
    except ValueError as error:
        raise AnsibleFilterError("window_is_open: %s" % error) from error


class FilterModule:
    """Offers the filter."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name it."""
        return {"window_is_open": window_is_open}
