# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is installed is named exactly, with hashes, and comes from nowhere but the index that whoever installs has."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
WRITTEN = sorted((ROOT / "requirements").glob("*.in"))
LOCKED = [*sorted((ROOT / "requirements").glob("*.txt")), ROOT / "roles/azure_simulator/files/requirements.txt"]


def entries(path: Path) -> list[str]:
    """Each requirement in one line, without comments."""
    text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
    return [line for line in (line.strip() for line in text.splitlines()) if line and not line.startswith("#")]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_given_a_file_that_is_installed_then_every_line_is_an_exact_version_with_hashes(path: Path) -> None:
    exact = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+( ;[^#@]+?)?(\s+--hash=sha256:[0-9a-f]{64})+")

    assert entries(path)
    assert [entry for entry in entries(path) if not exact.fullmatch(entry)] == []


def test_given_a_tool_or_a_workflow_that_installs_from_pypi_then_it_checks_hashes() -> None:
    scripts = [path for path in (ROOT / "tools").iterdir() if path.suffix in (".sh", ".py")]
    scripts += [*(ROOT / ".github" / "workflows").glob("*.yml"), *(ROOT / "tests" / "windows").glob("*.ps1")]
    scripts += [ROOT / "Makefile", ROOT / "tests" / "steps.mk", ROOT / ".ci" / "run"]
    texts = {path: re.sub(r"\\\n", " ", path.read_text(encoding="utf-8")) for path in scripts}
    calls = {path.name: re.findall(r"\bpip3?\b[^\n]*? (?:install|download)\b.*", text) for path, text in texts.items()}
    found = [(name, call) for name, of_file in calls.items() for call in of_file]

    assert {"make_venv.sh", "windows.yml"} <= {name for name, _call in found}
    assert [one for one in found if "--require-hashes" not in one[1]] == []


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_given_an_exact_version_that_is_asked_for_then_it_is_the_one_that_is_installed(path: Path) -> None:
    asked = [entry.split(";")[0].replace(" ", "") for entry in entries(path) if "==" in entry]
    # One that is a part of others is judged there.
    locks = [path.with_suffix(".txt")] if path.name != "judges.in" else LOCKED
    locked = {tuple(entry.split()[0].split("==")) for lock in locks if lock.exists() for entry in entries(lock)}

    missing = [one for one in asked if (normal(one.split("==")[0]), one.split("==")[1]) not in locked]
    assert missing == []


def test_given_the_oldest_python_of_the_simulator_then_what_its_role_installs_is_locked_for_it_too() -> None:
    """Its role installs the list for the Python of a machine, as 3.9 on RHEL 9. The demo alone needs a later one."""
    files = "roles/azure_simulator/files"
    project = tomllib.loads((ROOT / files / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    script = (ROOT / "tools" / "lock_requirements.sh").read_text(encoding="utf-8").splitlines()
    (words,) = [shlex.split(line) for line in script if line.startswith(f"lock {files}/pyproject.toml ")]

    assert project["requires-python"] == f">= {words[3]}"
