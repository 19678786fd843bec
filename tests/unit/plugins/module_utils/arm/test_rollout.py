# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which instances come next?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.rollout import (
    LARGEST_BATCH,
    Instance,
    RolloutLimits,
    count_of,
    next_batch,
    parse_instance,
    read_limits,
    to_update,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from hypothesis import given
from hypothesis import strategies as st


def instance(key: int, **more: Any) -> Instance:
    return Instance(str(key), "web_%d" % key, **{"latest_model": False, **more})


def keys(instances: list[Instance]) -> list[str]:
    return [one.key for one in instances]


INSTANCES = st.lists(
    st.builds(
        Instance,
        st.uuids().map(str),
        st.just("web"),
        latest_model=st.booleans(),
        available=st.booleans(),
        resting=st.just(False),
        leaving=st.just(False),
        terminate=st.none(),
    ),
    max_size=150,
)


@given(INSTANCES, st.integers(1, 150), st.integers(1, 150))
def test_given_any_set_then_a_batch_never_takes_more_out_of_service_than_allowed(
    instances: list[Instance], size: int, limit: int
) -> None:
    waiting = to_update(instances, "outdated", ())
    batch = next_batch(waiting, instances, RolloutLimits(str(size), str(limit)))
    out = sum(1 for one in instances if not one.available)
    taken = sum(1 for one in batch if one.available)
    assert len(batch) <= min(size, LARGEST_BATCH)
    assert taken == 0 or out + taken <= limit
    assert set(batch) <= set(waiting)
    assert batch or not waiting or out >= limit


def test_given_some_are_out_of_service_then_they_come_first() -> None:
    instances = [instance(0), instance(1, available=False), instance(2)]
    assert keys(next_batch(instances, instances, RolloutLimits("2", "2"))) == ["1", "0"]


def test_given_too_many_are_out_of_service_then_nobody_else_goes() -> None:
    instances = [instance(0), instance(1, latest_model=True, available=False)]
    assert next_batch(instances[:1], instances, RolloutLimits("5", "1")) == []


def test_given_some_are_stopped_on_purpose_then_they_do_not_count() -> None:
    instances = [instance(0), instance(1, available=False, resting=True)]
    assert keys(next_batch(instances[:1], instances, RolloutLimits("5", "1"))) == ["0"]


@pytest.mark.parametrize(("which", "expected"), [("none", []), ("outdated", ["0", "3"]), ("all", ["0", "2", "3"])])
def test_given_which_then_those_are_wanted_that_are_not_updated_yet_and_not_leaving(
    which: str, expected: list[str]
) -> None:
    instances = [
        instance(0),
        instance(1, latest_model=True),
        instance(2, latest_model=True),
        instance(3),
        instance(4, leaving=True),
    ]
    assert keys(to_update(instances, which, {"1", "3"})) == expected


@pytest.mark.parametrize(
    ("count", "total", "expected"),
    [("3", 10, 3), ("20%", 10, 2), ("20%", 14, 2), ("20%", 1, 1), ("1%", 0, 1), ("100%", 7, 7), ("300", 7, 300)],
)
def test_given_a_number_or_a_share_then_it_is_at_least_one(count: str, total: int, expected: int) -> None:
    assert count_of(count, total) == expected


@pytest.mark.parametrize("value", ["0", "0%", "101%", "-1", "1.5", "", "all", "%", "٣"])
def test_given_anything_else_then_it_is_refused(value: str) -> None:
    with pytest.raises(OptionError, match="batch_size: %r is neither" % value):
        read_limits({"batch_size": value, "max_unavailable": "1"})


def content(**properties: Any) -> dict[str, Any]:
    return {"instanceId": "7", "name": "web_7", "properties": {"provisioningState": "Succeeded", **properties}}


def statuses(*codes: str, **more: Any) -> dict[str, Any]:
    return {"instanceView": {"statuses": [{"code": code} for code in codes], **more}}


@pytest.mark.parametrize(
    ("properties", "available", "resting"),
    [
        ({}, True, False),
        (statuses("PowerState/running"), True, False),
        (statuses("PowerState/deallocated"), False, True),
        (statuses("PowerState/stopped"), False, True),
        ({"provisioningState": "Failed"}, False, False),
        ({"provisioningState": "Updating"}, False, False),
        ({"provisioningState": "Failed", **statuses("PowerState/deallocated")}, False, False),
        (statuses(vmHealth={"status": {"code": "HealthState/healthy"}}), True, False),
        (statuses(vmHealth={"status": {"code": "HealthState/unhealthy"}}), False, False),
    ],
)
def test_given_what_azure_shows_then_it_is_known_whether_it_is_in_service(
    properties: dict[str, Any], available: bool, resting: bool
) -> None:
    found = parse_instance(content(**properties))
    assert (found.available, found.resting) == (available, resting)


def test_given_a_flexible_instance_then_its_name_is_its_key() -> None:
    assert parse_instance({"name": "web_1a2b3c4d", "properties": {}}).key == "web_1a2b3c4d"


def test_given_azure_does_not_say_then_it_is_not_at_the_latest_model() -> None:
    assert not parse_instance(content()).latest_model
    assert parse_instance(content(latestModelApplied=True)).latest_model


def test_given_it_is_being_deleted_then_it_is_leaving() -> None:
    assert parse_instance(content(provisioningState="Deleting")).leaving
