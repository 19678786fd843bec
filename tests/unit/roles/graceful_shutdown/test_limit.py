# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long may the service take to stop that is next?"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

FILE = Path(__file__).parents[4] / "roles" / "graceful_shutdown" / "vars" / "main.yml"
OWN = {name: trust_as_template(text) for name, text in yaml.safe_load(FILE.read_text(encoding="utf-8")).items()}

Times = list[tuple[float, float]]
"""Of each service, its timeout and its reserve."""


def limit(times: Times, left: float, number: int = 0) -> int:
    running = [{"timeout": timeout, "reserve": reserve} for timeout, reserve in times]
    variables = {
        "__graceful_shutdown_asked": {"running": running},
        "__graceful_shutdown_index": number,
        "__graceful_shutdown_left": left,
    }
    return int(Templar(DataLoader(), OWN | variables).template(trust_as_template("{{ __graceful_shutdown_limit }}")))


@pytest.mark.parametrize(
    ("times", "left", "expected"),
    [
        ([(90, 0)], float("inf"), 90),
        ([(90, 0), (30, 0)], 120, 90),
        ([(90, 0), (30, 0)], 60, 45),
        ([(600, 0), (60, 60)], 100, 40),
        ([(600, 10), (60, 60)], 100, 40),
        ([(600, 10), (60, 60)], 65, 5),
        ([(600, 10), (60, 60)], 60, 0),
        ([(60, 60)], 45, 45),
        ([(60, 60)], 60, 60),
        ([(60, 0)], -1, 0),
    ],
)
def test_given_time_when_a_service_stops_then_it_leaves_what_is_reserved_and_the_shares_of_the_others(
    times: Times, left: float, expected: float
) -> None:
    assert limit(times, left) == expected


@pytest.mark.parametrize("seed", range(25))
def test_given_services_that_use_up_their_time_when_they_stop_then_all_have_stopped_by_the_deadline(seed: int) -> None:
    chance = random.Random(seed)
    times = [(timeout, timeout * chance.random()) for timeout in (chance.uniform(1, 900) for _ in range(4))]
    left = chance.uniform(-10, 4000)
    used = 0
    for number, (timeout, _reserve) in enumerate(times):
        seconds = limit(times, left - used, number)
        assert 0 <= seconds <= timeout
        used += seconds

    assert used <= max(0.0, left)


@pytest.mark.parametrize("seed", range(25))
def test_given_a_reserve_that_fits_when_those_before_use_all_their_time_then_the_last_has_it(seed: int) -> None:
    chance = random.Random(seed)
    reserve = chance.randint(1, 900)
    times: Times = [(chance.uniform(1, 900), 0), (900, reserve)]
    left = reserve + chance.uniform(0, 900)

    assert limit(times, left - limit(times, left), 1) >= reserve
