# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of what runs on the controller is true."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest
import yaml

PLUGINS = "ansible_collections.foghorn.azure_events.plugins"
# Which options an example may use besides those of the action itself.
ACTIONS = {
    "check_variables": set[str](),
    "maintenance_step": set[str](),
    "maintenance_watch": {"vm_name"},
    "wait_until": set[str](),
    "windows_agent": set[str](),
}


def documentation_of(name: str) -> ModuleType:
    return importlib.import_module(f"{PLUGINS}.modules.{name}")


def arguments_of(name: str) -> dict[str, Any]:
    arguments: dict[str, Any] = importlib.import_module(f"{PLUGINS}.action.{name}").ARGUMENTS
    return arguments


@pytest.mark.parametrize("name", ACTIONS)
def test_its_options_have_the_types_and_defaults_that_are_documented(name: str) -> None:
    documented = yaml.safe_load(documentation_of(name).DOCUMENTATION)["options"]

    assert {
        option: {key: shown[key] for key in ("type", "elements", "default", "required", "choices") if key in shown}
        for option, shown in documented.items()
    } == arguments_of(name)


@pytest.mark.parametrize(("name", "more"), ACTIONS.items())
def test_its_examples_use_options_that_it_has(name: str, more: set[str]) -> None:
    tasks = yaml.safe_load(documentation_of(name).EXAMPLES)
    used = [task[f"foghorn.azure_events.{name}"] for task in tasks if f"foghorn.azure_events.{name}" in task]

    assert used
    assert {option for options in used for option in options} <= {*arguments_of(name), *more}
