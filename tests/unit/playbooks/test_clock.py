# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Seconds since the epoch are the same wherever the controller is."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

ROOT = Path(__file__).parents[3]
PATHS = sorted([*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/*/*/**/*.yml")])
ASKED = {asked for path in PATHS for asked in re.findall(r"\bnow\([^()]*\)\.timestamp\(\)", path.read_text())}


@pytest.fixture(params=["EAST-12", "WEST5"])
def _elsewhere(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    with monkeypatch.context() as context:
        context.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_elsewhere")
def test_given_a_controller_in_any_time_zone_when_the_time_is_read_then_it_is_that_of_the_machines() -> None:
    assert ASKED
    for asked in ASKED:
        read = Templar(DataLoader(), {}).template(trust_as_template(f"{{{{ {asked} }}}}"))

        assert float(read) == pytest.approx(time.time(), abs=60), asked
