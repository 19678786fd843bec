# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the recipes in docs/recipes read there."""

import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
RECIPES = ROOT / "docs" / "recipes"
PATIENCE = 60.0
"""Seconds that a hook may take."""


def play_of(recipe: str) -> dict[str, Any]:
    """The play that a recipe begins with."""
    example = (RECIPES / recipe).read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    (play,) = yaml.safe_load(example)
    return dict(play)


def role_of(recipe: str) -> dict[str, Any]:
    """The variables that a recipe gives to the role."""
    variables: dict[str, Any] = play_of(recipe)["roles"][0]
    return variables


def hook_of(recipe: str, stage: str) -> str:
    (content,) = [hook["content"] for hook in role_of(recipe)["handler_agent_hooks"] if hook["stage"] == stage]
    return str(content)


def run_as_the_agent_does(script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a hook, with nothing in its environment but this."""
    return subprocess.run(
        ["/bin/sh", "-c", script],
        cwd="/",
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
