# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which units a machine's systemd does not know, and which it starts again, by a systemctl of our own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.units import look_at_units

KNOWS_NGINX = """#!/bin/sh
if test "$1" = is-active; then
    shift 2
    for unit; do case "$unit" in *.timer) echo inactive ;; *) echo active ;; esac; done
    exit 3
fi
test "$1 $2 $3 $4 $5" = "show --property=LoadState --property=TriggeredBy --property=UpheldBy --" || exit 99
shift 5
for unit; do
    case "$unit" in
        nginx) echo LoadState=loaded; echo TriggeredBy= ;;
        cups) echo TriggeredBy=cups.socket cups.path cups.timer; echo LoadState=loaded ;;
        spool) echo UpheldBy=printing.target cups.timer; echo TriggeredBy=; echo LoadState=loaded ;;
        *) echo LoadState=not-found ;;
    esac
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
    return look_at_units(module, names).unknown


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


def test_given_a_unit_that_others_would_start_again_when_asked_then_those_that_are_active_and_not_stopped_are_named(
    systemctl: Path,
) -> None:
    install(systemctl, KNOWS_NGINX)
    module: Any = Module()

    assert look_at_units(module, ["nginx", "cups"]).triggered == {"cups": ["cups.socket", "cups.path"]}
    assert look_at_units(module, ["cups.path", "cups.socket", "cups"]).triggered == {}
    assert look_at_units(module, ["spool"]).triggered == {"spool": ["printing.target"]}


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
