# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An announced status is not announced again, and never goes back."""

from __future__ import annotations

import os
import subprocess
import sys

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.dedup import Deduplicator
from hypothesis import given
from hypothesis import strategies as st

STATUSES = ["Scheduled", "Started", "Completed", "Canceled"]


def test_given_an_event_in_a_status_when_it_comes_again_in_another_case_then_it_is_not_announced_again() -> None:
    memory = Deduplicator()

    assert memory.is_news("Scheduled", "AA-1")
    assert not memory.is_news("SCHEDULED", "aa-1")
    assert memory.is_news("Started", "AA-1")


def test_given_a_host_in_fips_mode_when_an_event_comes_then_it_is_announced() -> None:
    # Python has no more of these names there, as Red Hat builds it.
    program = """
import hashlib
del hashlib.md5, hashlib.blake2b, hashlib.blake2s
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven import dedup
assert dedup.Deduplicator().is_news("Scheduled", "AA-1")
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_given_a_later_status_was_announced_when_an_earlier_one_comes_late_then_it_is_not_announced() -> None:
    memory = Deduplicator()
    memory.is_news("Started", "AA-1")

    assert not memory.is_news("Scheduled", "AA-1")
    assert memory.is_news("Canceled", "AA-1")
    assert not memory.is_news("Completed", "AA-1")


def test_given_a_status_that_azure_may_add_when_it_comes_then_it_is_reported_once() -> None:
    memory = Deduplicator()
    memory.is_news("Started", "AA-1")

    assert memory.is_news("Paused", "AA-1")
    assert not memory.is_news("paused", "AA-1")


def test_given_statuses_without_end_when_they_come_then_they_are_not_all_remembered() -> None:
    memory = Deduplicator()

    assert sum(memory.is_news("s%d" % number, "AA-1") for number in range(100)) == 8
    assert memory.is_news("Started", "AA-1")


def test_given_more_events_than_the_memory_holds_then_the_least_recently_seen_are_forgotten() -> None:
    memory = Deduplicator(capacity=3)
    for name in ("1", "2", "3", "1", "4"):
        memory.is_news("Scheduled", name)

    assert len(memory) == 3
    assert not memory.knows("2")
    assert not memory.is_news("Scheduled", "1")


@given(st.lists(st.tuples(st.sampled_from(["A", "B", "a"]), st.sampled_from(STATUSES)), max_size=30))
def test_given_any_deliveries_when_they_are_reported_then_each_event_goes_forward_only(
    deliveries: list[tuple[str, str]],
) -> None:
    memory = Deduplicator()
    told: dict[str, list[int]] = {}
    for name, status in deliveries:
        if memory.is_news(status, name):
            told.setdefault(name.lower(), []).append(min(STATUSES.index(status), 2))

    assert all(ranks == sorted(set(ranks)) for ranks in told.values())
    assert set(told) == {name.lower() for name, _status in deliveries}
