# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Windows PowerShell 5.1 compiles the C# core on each run of a module: C# 5, .NET Framework 4.6.2, no warning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ansible
import pytest

from tests.windows.conftest import CORE, ROOT

BASIC = Path(ansible.__file__).parent / "module_utils" / "csharp" / "Ansible.Basic.cs"
NAMESPACE = "ansible_collections.foghorn.azure_events.plugins.module_utils"


def test_the_core_compiles_together_with_ansible_basic(compile_csharp: Callable[..., str]) -> None:
    assert compile_csharp(*CORE, BASIC) == ""


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ('string A(int b) { return $"{b}"; }', "CS8026"),
        ("string A(string b) { return b?.Trim(); }", "CS8026"),
        ("int A(string b) { int.TryParse(b, out var c); return c; }", "CS8026"),
        ("bool A(System.Collections.Generic.Dictionary<int, int> b) { return b.TryAdd(1, 2); }", "CS1061"),
        ("void A() { int b = 1; }", "CS0219"),
    ],
)
def test_given_what_5_1_would_not_compile_then_it_is_refused(
    compile_csharp: Callable[..., str], tmp_path: Path, code: str, refused: str
) -> None:
    source = tmp_path / "Refused.cs"
    source.write_text("namespace A { public class B { %s } }" % code, encoding="utf-8")

    assert refused in compile_csharp(source)


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.name))
def test_each_file_has_the_namespace_of_its_place_and_plain_characters(path: Path) -> None:
    text = path.read_bytes().decode("ascii")

    assert f"namespace {NAMESPACE}.{path.stem}\n" in text
    assert path.parent == ROOT / "plugins" / "module_utils"
