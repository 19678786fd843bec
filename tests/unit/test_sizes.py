# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The samples of exhaustive tests: whatever the seed, each kind is in them."""

import pytest
from ansible_collections.foghorn.azure_events.tests import sizes

CASES = [*(("seen", number) for number in range(95)), ("approved", 95)]


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_given_cases_of_several_kinds_when_sampled_then_a_tenth_is_left_with_each_kind_in_it(
    seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "ALL", False)
    monkeypatch.setattr(sizes, "SEED", seed)

    chosen = sizes.sample(CASES, lambda case: case[0])

    assert len(chosen) == 11
    assert chosen == sorted(set(chosen), key=CASES.index)
    assert ("approved", 95) in chosen
    assert chosen == sizes.sample(CASES, lambda case: case[0]), "the seed repeats it"


def test_given_all_is_asked_for_when_sampled_then_no_case_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "ALL", True)

    assert sizes.sample(CASES, lambda case: case[0]) == CASES
