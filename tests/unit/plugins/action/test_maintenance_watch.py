# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action that waits: its documentation tells the truth."""

from __future__ import annotations

import yaml
from ansible_collections.foghorn.azure_events.plugins.action.maintenance_watch import ARGUMENTS
from ansible_collections.foghorn.azure_events.plugins.modules import maintenance_watch


def test_its_options_have_the_types_and_defaults_that_are_documented() -> None:
    documented = yaml.safe_load(maintenance_watch.DOCUMENTATION)["options"]

    assert {
        name: {key: shown[key] for key in ("type", "default", "required") if key in shown}
        for name, shown in documented.items()
    } == ARGUMENTS


def test_its_example_uses_options_that_it_has() -> None:
    (task,) = yaml.safe_load(maintenance_watch.EXAMPLES)

    assert set(task["foghorn.azure_events.maintenance_watch"]) <= {*ARGUMENTS, "vm_name"}
