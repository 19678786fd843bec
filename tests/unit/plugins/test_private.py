# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is private says so, in the first line that is not a licence's."""

from __future__ import annotations

from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
MODULES = sorted(path for directory in ("module_utils", "plugin_utils") for path in (PLUGINS / directory).rglob("*.py"))
NOTICE = "# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere."


def test_there_are_modules_to_read() -> None:
    assert len(MODULES) > 20


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PLUGINS)))
def test_a_module_that_is_no_plugin_says_that_it_is_private(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()

    assert next(line for line in lines if not line.startswith("# SPDX-")) == NOTICE
