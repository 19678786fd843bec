# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which units a machine's systemd does not know, by a systemctl of our own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.units import unknown_units

KNOWS_NGINX = """#!/bin/sh
test "$1 $2 $3" = "show --property=LoadState --" || exit 99
shift 3
for unit; do
    case "$unit" in nginx) echo LoadState=loaded ;; *) echo LoadState=not-found ;; esac
    echo
done
"""


class Module:
    """What a module does for it."""

    def get_bin_path(self, name: str) -> str | None:
        """Find a program."""
        paths = [Path(directory, name) for directory in os.environ["PATH"].split(":")]
        return next((str(path) for path in paths if os.access(path, os.X_OK)), None)

    def run_command(self, command: list[str]) -> tuple[int, str, str]:
        """Run it."""
        try:
            run = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            return 1, "", str(error)
        return run.returncode, run.stdout, run.stderr


def unknown(names: list[str]) -> list[str]:
    module: Any = Module()
    return unknown_units(module, names)


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "systemctl"


def install(systemctl: Path, text: str) -> None:
    systemctl.write_text(text)
    systemctl.chmod(0o755)


def test_given_units_that_systemd_does_not_know_when_asked_then_they_are_named(systemctl: Path) -> None:
    install(systemctl, KNOWS_NGINX)

    assert unknown(["nginx", "ngnix", "--version"]) == ["ngnix", "--version"]


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho LoadState=not-found\n", "no program"])
def test_given_a_systemd_that_does_not_answer_when_asked_then_nothing_is_known_to_be_missing(
    systemctl: Path, text: str
) -> None:
    install(systemctl, text)

    assert unknown(["nginx", "ngnix"]) == []


def test_given_no_units_then_systemd_is_not_asked(systemctl: Path) -> None:
    install(systemctl, f"#!/bin/sh\ntouch {systemctl.parent}/asked\n")

    assert unknown([]) == []
    assert not (systemctl.parent / "asked").exists()


def test_given_no_systemd_then_nothing_is_known_to_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert unknown(["nginx"]) == []
