# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of the lab can be proved without being root. The rest is proved by `make lab`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab import trees
from tests.lab.commands import CommandError
from tests.lab.supervisor import describe

ROOT = Path(__file__).resolve().parents[3]


def test_given_apt_sources_of_the_old_style_when_read_then_the_address_is_found_behind_the_options() -> None:
    lines = [
        "# deb http://a.example/debian bookworm main",
        "deb [signed-by=/k arch=amd64] http://b.example/debian x main",
    ]
    assert list(trees.uris(lines)) == ["http://b.example/debian"]


def test_given_apt_sources_of_the_new_style_when_read_then_each_address_is_found() -> None:
    lines = ["Types: deb", "URIs: http://a.example/debian http://b.example/debian", "Suites: bookworm"]
    assert list(trees.uris(lines)) == ["http://a.example/debian", "http://b.example/debian"]


def test_given_a_custom_mirror_when_asked_then_apt_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOGHORN_LAB_MIRROR", "http://mine.example/debian")
    assert trees.mirror() == "http://mine.example/debian"


@pytest.mark.parametrize(
    ("hosts", "reason"),
    [
        ([{"name": "web_0"}], "web_0: not a host's name"),
        ([{"name": "web"}, {"name": "web"}], "web: there are two hosts of this name"),
        ([{"name": "web", "suite": "potato"}], "web: suite potato: not one of bullseye, bookworm, trixie"),
    ],
)
def test_given_hosts_that_cannot_be_made_when_described_then_the_reason_is_reported(
    hosts: list[dict[str, str]], reason: str
) -> None:
    with pytest.raises(CommandError, match=reason):
        describe(hosts)


def test_given_a_suite_that_has_not_been_made_when_described_then_the_error_has_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(trees, "KEPT_IN", tmp_path)
    with pytest.raises(CommandError, match=r"web: no tree of bookworm .* `python -m tests.lab trees` makes it"):
        describe([{"name": "web"}])


def test_given_no_lab_when_a_command_needs_one_then_one_line_says_how_to_get_one() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.lab", "power-cut", "web"],
        cwd=ROOT, env={"LAB": "nobody-runs-this"}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "error: no lab named nobody-runs-this is running:"
        " `make lab` runs one with its scenarios, `make lab-shell` an empty one\n"
    )
