# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When updates begin is understood, however it is handed over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

ROOT = Path(__file__).parents[3]
OWN = yaml.safe_load((ROOT / "playbooks" / "vars" / "prepare_for_updates.yml").read_text())
BEGINS = 1789000000.0  # 2026-09-10T00:26:40Z


@pytest.fixture
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be where it is not the time of UTC."""
    with monkeypatch.context() as context:
        context.setenv("TZ", "Pacific/Auckland")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize(
    "start",
    [
        "2026-09-10T00:26:40Z",
        datetime(2026, 9, 10, 0, 26, 40, tzinfo=UTC),
        datetime(2026, 9, 10, 9, 56, 40, tzinfo=timezone(timedelta(hours=9, minutes=30))),
        # As PyYAML before 5.4 reads it.
        datetime(2026, 9, 10, 0, 26, 40),
    ],
    ids=["text", "date", "elsewhere", "without a time zone"],
)
def test_given_a_start_when_read_then_it_is_that_instant_wherever_the_controller_is(start: Any) -> None:
    variables = {name: trust_as_template(text) if isinstance(text, str) else text for name, text in OWN.items()}
    templar = Templar(DataLoader(), variables | {"prepare_for_updates_start": start})

    assert float(templar.template(trust_as_template("{{ __prepare_for_updates_begins }}"))) == BEGINS
