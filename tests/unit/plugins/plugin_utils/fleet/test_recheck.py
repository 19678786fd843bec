# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is still ahead of a host whose connections have ended."""

from __future__ import annotations

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import (
    parse_listed,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Host
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import HostPlan, make_plan
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import Policy, read_policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.progress import begin_watch, watch
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.recheck import recheck

from .conftest import NOW, event

LATER = 240  # seconds that connections took


def taken(now: float, *events: Event, approving: tuple[str, ...] = ()) -> HostPlan:
    """A host that was taken out for these."""
    return make_plan([Host("h0", "vm_0", events, approving=approving)], Policy(), now).hosts["h0"]


def test_given_nothing_has_changed_when_polled_again_then_services_are_stopped_as_planned() -> None:
    host_plan = taken(NOW, event())

    seen = recheck(host_plan, (event(),), Policy(), NOW + LATER)

    assert (seen.events, seen.stop, seen.withdrawn) == (host_plan.events, True, ())
    assert NOW + LATER < seen.stopped_by < NOW + 900


def test_given_no_answer_when_polled_again_then_nothing_was_withdrawn() -> None:
    host_plan = taken(NOW, event())

    assert recheck(host_plan, None, Policy(), NOW + LATER) == host_plan


def test_given_an_event_that_is_no_longer_listed_then_no_service_is_stopped_and_the_host_is_restored_at_once() -> None:
    host_plan = taken(NOW, event())

    seen = recheck(host_plan, (), Policy(), NOW + LATER)

    assert (seen.events, seen.stop) == ((), False)
    assert seen.withdrawn == (event().event_id,)
    state = begin_watch(seen, [], False, Policy(), NOW + LATER)
    assert (state["over"], state["restore"]) == (True, True)
    assert state["outcome"] == "withdrawn while it was drained: no service was stopped"


@pytest.mark.parametrize("listed", [7, {"EventId": "Reboot-vm_0", "Resources": 7}])
def test_given_an_event_that_it_may_be_and_cannot_be_read_then_it_was_not_withdrawn_and_is_not_over(
    listed: object,
) -> None:
    host_plan = taken(NOW, event())

    seen = recheck(host_plan, (parse_listed(listed),), Policy(), NOW + LATER)

    assert (seen.events, seen.stop, seen.withdrawn) == (host_plan.events, True, ())
    state = begin_watch(host_plan, [event().event_id], False, Policy(), NOW)
    assert watch(state, [parse_listed(listed)], Policy(), NOW + LATER, confirm_after=0)["over"] is False


def test_given_one_of_two_events_is_withdrawn_then_the_other_is_handled() -> None:
    freeze, reboot = event("Freeze"), event("Reboot")

    assert recheck(taken(NOW, freeze, reboot), (reboot,), Policy(), NOW + LATER).stop is True
    seen = recheck(taken(NOW, freeze, reboot), (freeze,), Policy(), NOW + LATER)
    assert seen.stop is False
    # The removal is attempted again.
    assert recheck(seen, (), Policy(), NOW + LATER).withdrawn == (reboot.event_id, freeze.event_id)


@pytest.mark.parametrize("event_type", ["Preempt", "Terminate"])
def test_given_a_deletion_is_no_longer_listed_then_no_service_is_stopped_and_its_end_is_watched(
    event_type: str,
) -> None:
    deletion = event(event_type, notice=600)

    seen = recheck(taken(NOW, deletion), (), Policy(), NOW + LATER)

    assert (seen.events, seen.stop, seen.final) == ((deletion,), False, True)
    assert not begin_watch(seen, [], False, Policy(), NOW + LATER)["over"]


def test_given_an_event_that_had_started_or_was_approved_is_no_longer_listed_then_it_was_not_withdrawn() -> None:
    started = recheck(taken(NOW, event(status="Started")), (), Policy(), NOW + LATER)
    approved = recheck(taken(NOW, event(), approving=(event().event_id.lower(),)), (), Policy(), NOW + LATER)

    assert started.withdrawn == approved.withdrawn == ()
    assert (len(started.events), len(approved.events)) == (1, 1)


def test_given_an_event_has_started_meanwhile_then_services_are_stopped_anyway() -> None:
    started = event(status="Started")

    seen = recheck(taken(NOW, event()), (started,), Policy(), NOW + LATER)

    assert (seen.events, seen.stop) == ((started,), True)


def test_given_an_event_that_was_postponed_then_its_services_have_until_its_new_start() -> None:
    planned, postponed = event(notice=900), event(notice=1900)

    seen = recheck(taken(NOW, planned), (postponed,), Policy(), NOW + LATER)

    assert seen.stopped_by == taken(NOW, postponed).stopped_by > NOW + 900


def test_given_an_event_that_became_another_then_its_present_type_decides() -> None:
    reboot, freeze = event("Reboot", event_id="E"), event("Freeze", event_id="E")

    assert recheck(taken(NOW, reboot), (freeze,), Policy(), NOW + LATER).stop is False
    assert recheck(taken(NOW, freeze), (reboot,), Policy(), NOW + LATER).stop is True


def test_given_an_event_that_has_come_meanwhile_and_does_not_wait_then_it_is_handled_as_well() -> None:
    freeze, eviction = event("Freeze"), event("Preempt", notice=LATER + 30)

    seen = recheck(taken(NOW, freeze), (eviction,), Policy(), NOW + LATER)

    assert (seen.events, seen.stop, seen.final) == ((eviction,), True, True)
    assert NOW + LATER < seen.stopped_by < NOW + LATER + 30


@pytest.mark.parametrize("policies", [[], [{"match": {"event_types": ["Redeploy"]}, "ignore": True}]])
def test_given_an_event_that_has_come_meanwhile_and_waits_for_its_batch_or_is_ignored_then_it_keeps_nothing_out(
    policies: list[object],
) -> None:
    notice = LATER + (100 if policies else 900)
    other = event("Redeploy", notice=notice)

    seen = recheck(taken(NOW, event()), (other,), read_policy({"policies": policies}), NOW + LATER)

    assert seen.events == ()
