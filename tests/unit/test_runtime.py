# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which releases of ansible-core the collection says that it runs on: what ansible-core itself makes of that."""

import re
from pathlib import Path

import pytest
import yaml
from ansible.plugins.loader import _does_collection_support_ansible_version

ROOT = Path(__file__).resolve().parents[2]
REQUIRED = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))["requires_ansible"]

# What Galaxy takes.
LONGEST = 255


@pytest.mark.parametrize(
    "version", ["2.16.0", "2.16.13", *(f"2.17.{patch}" for patch in range(7)), "2.18.0", "2.18.0rc2"]
)
def test_given_a_release_that_runs_templates_of_hostvars_then_it_is_refused(version: str) -> None:
    assert not _does_collection_support_ansible_version(REQUIRED, version)


@pytest.mark.parametrize("version", ["2.14.18", "2.15.13"])
def test_given_a_release_older_than_the_oldest_then_it_is_refused(version: str) -> None:
    assert not _does_collection_support_ansible_version(REQUIRED, version)


@pytest.mark.parametrize(
    "version", ["2.16.14", "2.16.19", "2.17.7", "2.17.14", "2.18.1", "2.19.0", "2.21.5", "2.22.0.dev0"]
)
def test_given_a_release_that_does_not_then_it_is_supported(version: str) -> None:
    assert _does_collection_support_ansible_version(REQUIRED, version)


def test_given_what_is_required_then_galaxy_takes_it() -> None:
    assert len(REQUIRED) <= LONGEST


def test_given_the_oldest_release_that_is_supported_then_it_is_the_one_that_tests_run_on() -> None:
    requirements = (ROOT / "requirements" / "ansible-oldest.txt").read_text(encoding="utf-8")
    oldest = re.search(r"^ansible-core *== *([0-9.]+)", requirements, re.MULTILINE)

    assert oldest is not None
    assert REQUIRED.startswith(f">={oldest[1]},")
    for roles in (ROOT / "roles").glob("*/meta/main.yml"):
        assert yaml.safe_load(roles.read_text(encoding="utf-8"))["galaxy_info"]["min_ansible_version"] == oldest[1], (
            roles
        )
