# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for AnsibleModule, where what a module does is called in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


class EndedError(Exception):
    """What a module ends with."""


class StandIn:
    """The module's call, and how it has ended."""

    def __init__(self, check_mode: bool, params: dict[str, Any]) -> None:
        self.check_mode = check_mode
        self.params = params
        self.result: dict[str, Any] = {}
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        """Remember a warning."""
        self.warnings.append(text)

    def exit_json(self, **result: Any) -> None:
        """End well."""
        self.result = result
        raise EndedError

    def fail_json(self, **result: Any) -> None:
        """End badly."""
        self.exit_json(failed=True, **result)


def called(run: Callable[[Any], None], check_mode: bool = False, **params: Any) -> StandIn:
    """Call the work of a module with these parameters."""
    module = StandIn(check_mode, params)
    with pytest.raises(EndedError):
        run(module)
    return module
