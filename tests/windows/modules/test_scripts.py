# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts of the modules: nothing that Windows PowerShell 5.1 lacks, and no logic."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.windows.conftest import PATIENCE, ROOT

SCRIPTS = sorted((ROOT / "plugins" / "modules").glob("*.ps1"))
CHECK = Path(__file__).with_name("check_script.ps1")
LONGEST = 55  # lines


def complaints(pwsh: Path, script: Path) -> list[str]:
    """What the syntax tree of a script has in it that it must not."""
    command = [str(pwsh), "-NoProfile", "-File", str(CHECK), str(script)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True)
    return run.stdout.splitlines()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.name))
def test_a_script_has_nothing_that_5_1_lacks_and_no_command(pwsh: Path, script: Path) -> None:
    assert complaints(pwsh, script) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("$a = $b ? 1 : 2", "QuestionMark"),
        ("$a = $b ?? 1", "QuestionQuestion"),
        ("$a ??= 1", "QuestionQuestionEquals"),
        ("${a}?.b", "QuestionDot"),
        ("1 && 2", "AndAnd"),
        ("1 || 2", "OrOr"),
        ("function a { clean { 1 } }", "Clean"),
        ("Get-Item .", "command Get-Item"),
        ("if ($a) { 1 }", "more than 2 conditions"),
        ("$a = (", "not PowerShell"),
        ("Ä", "not ASCII"),
    ],
)
def test_given_what_a_script_must_not_have_then_it_is_found(
    pwsh: Path, tmp_path: Path, text: str, complaint: str
) -> None:
    script = tmp_path / "script.ps1"
    # Two conditions are allowed: has it failed, and is there a diff?
    script.write_text("if ($a) { 1 }\nif ($b) { 1 }\n" + text + "\n", encoding="utf-8")

    assert any(complaint in found for found in complaints(pwsh, script))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.name))
def test_a_script_is_short_and_the_twin_of_a_module(script: Path) -> None:
    routing = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    twin = script.name.removeprefix("win_")

    assert len(script.read_text(encoding="ascii").splitlines()) <= LONGEST
    assert script.name.startswith("win_")
    assert script.with_suffix(".yml").is_file()
    assert script.with_name(twin).with_suffix(".py").is_file()
    assert routing["plugin_routing"]["modules"][twin]["redirect"] == f"foghorn.azure_events.{script.stem}"
    assert script.stem in routing["action_groups"]["imds"]
