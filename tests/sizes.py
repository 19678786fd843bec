# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exhaustive tests have two sizes: a sample, and all with `make test ALL=1`. Runs on Python 3.6 and later."""

import os
import random
from typing import Callable, Dict, Hashable, List, Sequence, TypeVar

ALL = bool(os.environ.get("TEST_ALL"))
SEED = os.environ.setdefault("TEST_SEED", str(random.randrange(10**6)))
"""Chooses the sample; in the environment, so that the tests' own processes have the same."""

PART = 10
"""One of so many cases is in a sample."""

Case = TypeVar("Case")


def describe() -> str:
    """Say how much is run, and how the same is run again."""
    return "exhaustive tests: all" if ALL else "exhaustive tests: a sample; TEST_SEED=%s repeats it" % SEED


def sample(cases: Sequence[Case], kind_of: Callable[[Case], Hashable]) -> List[Case]:
    """Return the cases to try, in their order: all, or about a tenth with at least one of each kind."""
    if ALL:
        return list(cases)
    kinds: Dict[Hashable, List[int]] = {}
    for number, case in enumerate(cases):
        kinds.setdefault(kind_of(case), []).append(number)
    chance = random.Random("%s %r" % (SEED, kinds))
    chosen = [number for alike in kinds.values() for number in chance.sample(alike, -(-len(alike) // PART))]
    return [cases[number] for number in sorted(chosen)]


def examples(whole: int) -> int:
    """Return how many examples hypothesis makes of what has so many with ALL=1."""
    return whole if ALL else max(whole // 5, 10)
