# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the wait for an event ends, and whether the host goes back then."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Host
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import make_plan
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import Policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.progress import (
    begin_watch,
    describe_wait,
    watch,
)

from .conftest import NOW, event

SILENCE = None


def begin(event: Event, now: float, approved: bool = True, failed: bool = False) -> dict[str, Any]:
    """Begin to wait for this event's end."""
    host_plan = make_plan([Host("h0", "vm_0", (event,))], Policy(), now).hosts["h0"]
    return begin_watch(host_plan, [event.event_id.lower()] if approved else [], failed, Policy(), now)


def look(state: dict[str, Any], now: float, *listed: Event) -> dict[str, Any]:
    """Look, and find these events listed."""
    return watch(state, listed, Policy(), now, confirm_after=5)


def test_given_a_reboot_that_was_not_approved_when_it_is_not_listed_before_its_start_then_it_was_withdrawn() -> None:
    state = begin(event(), NOW, approved=False)

    assert look(state, NOW + 5)["outcome"] == "withdrawn"
    assert look(state, NOW + 1000)["outcome"] == "over"
    assert look(look(state, NOW + 5, event(status="Started")), NOW + 10)["outcome"] == "over"


def test_given_an_event_that_an_earlier_run_may_have_approved_then_its_host_is_not_restored_however_far_off_it_is() -> (
    None
):
    far_off = event(notice=100_000)
    host_plan = make_plan([Host("h0", "vm_0", (far_off,))], Policy(), NOW).hosts.get("h0")
    assert host_plan is None, "nobody is out for it otherwise"
    host_plan = make_plan([Host("h0", "vm_0", (far_off,), approving=(far_off.event_id.upper(),))], Policy(), NOW).hosts[
        "h0"
    ]

    state = begin_watch(host_plan, [], False, Policy(), NOW)

    assert not state["over"]
    assert state["may_start_at"] == NOW
    assert not look(state, NOW + 5, far_off)["over"]


@pytest.mark.parametrize("event_type", ["Preempt", "Terminate"])
def test_given_an_approved_deletion_when_the_host_is_silent_then_it_is_gone_for_good(event_type: str) -> None:
    state = watch(begin(event(event_type), NOW), SILENCE, Policy(), NOW + 5, 5)

    assert (state["over"], state["restore"]) == (True, False)


def test_given_a_deletion_not_approved_when_the_host_is_silent_before_its_time_then_it_is_not_over() -> None:
    state = begin(event("Terminate", notice=600), NOW, approved=False)

    assert not watch(state, SILENCE, Policy(), NOW + 5, 5)["over"]
    assert watch(state, SILENCE, Policy(), NOW + 600, 5)["over"]


def test_given_a_deletion_that_never_began_when_it_stays_unlisted_then_it_was_withdrawn_and_its_host_is_back() -> None:
    first = look(begin(event("Terminate", notice=600), NOW, approved=False), NOW + 5)
    assert not first["over"]
    assert not look(first, NOW + 9)["over"]

    state = look(first, NOW + 10)
    assert (state["over"], state["restore"], state["outcome"]) == (True, True, "withdrawn")


def test_given_a_deletion_that_comes_back_after_it_was_unlisted_then_the_wait_continues() -> None:
    terminate = event("Terminate", notice=600)
    state = look(look(begin(terminate, NOW), NOW + 5), NOW + 6, terminate)

    assert not look(state, NOW + 60)["over"]


def test_given_a_deletion_that_had_started_when_the_host_still_answers_then_it_stays_out() -> None:
    state = look(begin(event("Terminate"), NOW), NOW + 5, event("Terminate", status="Started"))

    state = look(state, NOW + 10)
    assert (state["over"], state["restore"]) == (True, False)


def test_given_a_new_id_at_the_change_of_status_then_the_wait_continues() -> None:
    state = look(begin(event(event_id="old"), NOW), NOW + 5, event(event_id="new", status="Started"))

    assert not state["over"]
    assert look(state, NOW + 10)["restore"]


def test_given_an_eviction_that_comes_meanwhile_when_the_host_falls_silent_then_it_is_gone_for_good() -> None:
    state = look(begin(event(), NOW), NOW + 5, event("Preempt", notice=30))

    assert not state["over"]
    state = watch(state, SILENCE, Policy(), NOW + 40, 5)
    assert (state["over"], state["restore"]) == (True, False)


def test_given_an_eviction_that_comes_meanwhile_when_it_is_gone_then_the_host_stays_out_if_it_may_have_happened() -> (
    None
):
    state = look(begin(event(), NOW), NOW + 5, event("Preempt", notice=30))

    assert look(look(state, NOW + 20), NOW + 29)["restore"]
    gone = look(look(state, NOW + 40), NOW + 50)
    assert (gone["over"], gone["restore"]) == (True, False)


def test_given_a_short_freeze_under_way_meanwhile_then_the_host_is_restored() -> None:
    assert look(begin(event(), NOW), NOW + 5, event("Freeze", status="Started", duration=3))["restore"]


def test_given_another_event_far_off_then_the_host_is_restored() -> None:
    assert look(begin(event(), NOW), NOW + 5, event("Redeploy", notice=3600))["restore"]


@pytest.mark.parametrize("failed", [True, False])
def test_given_an_event_that_is_not_approved_and_far_off_then_the_host_is_restored_at_once(failed: bool) -> None:
    state = begin(event(notice=3000), NOW, approved=False, failed=failed)

    assert (state["over"], state["restore"]) == (True, True)
    assert ("a step failed" in state["outcome"]) == failed


def test_given_nothing_ahead_then_the_host_is_restored_at_once() -> None:
    host_plan = make_plan([Host("h0", "vm_0", needs_restore=True)], Policy(), NOW).hosts["h0"]

    state = begin_watch(host_plan, [], False, Policy(), NOW)

    assert (state["over"], state["restore"], state["outcome"]) == (True, True, "no event is pending any more")


def test_given_an_event_that_does_not_end_then_the_wait_gives_up_after_its_start_and_the_timeout() -> None:
    state = begin(event(notice=600), NOW)

    assert not look(state, NOW + 2399, event())["gave_up"]
    late = look(state, NOW + 2400, event())
    assert late["gave_up"]
    assert not late["over"]


def test_given_an_approved_event_when_the_host_does_not_answer_any_more_then_its_notice_is_not_waited_for() -> None:
    policy = Policy(end_timeout=100)
    state = watch(begin(event(notice=900), NOW), SILENCE, policy, NOW + 50, 5)
    assert not watch(state, SILENCE, policy, NOW + 149, 5)["gave_up"]

    lost = watch(state, SILENCE, policy, NOW + 150, 5)

    assert (lost["gave_up"], lost["over"]) == (True, False)
    assert lost["outcome"] == "has not answered for 100 s, the host keeps its state: run again"


def test_given_a_host_that_answers_again_when_it_falls_silent_then_its_silence_is_counted_again() -> None:
    policy = Policy(end_timeout=100)
    state = watch(begin(event(notice=900), NOW), SILENCE, policy, NOW + 50, 5)
    state = watch(state, [event(status="Started")], policy, NOW + 60, 5)

    assert not watch(state, SILENCE, policy, NOW + 155, 5)["gave_up"]


def test_given_an_event_not_approved_when_the_host_does_not_answer_then_its_start_is_waited_for() -> None:
    policy = Policy(end_timeout=100)
    state = watch(begin(event(notice=900), NOW, approved=False), SILENCE, policy, NOW + 50, 5)

    assert not watch(state, SILENCE, policy, NOW + 900, 5)["gave_up"]


@pytest.mark.parametrize("event_type", ["Preempt", "Terminate"])
def test_given_a_deletion_that_was_approved_and_is_gone_without_having_been_seen_to_start_then_the_host_stays_out(
    event_type: str,
) -> None:
    first = look(begin(event(event_type, notice=600), NOW), NOW + 5)
    assert not first["over"], "one look may err"

    state = look(first, NOW + 10)

    assert (state["over"], state["restore"]) == (True, False)
    assert state["outcome"] == "no longer listed, and may have happened: kept out of rotation"


def test_given_a_deletion_that_is_gone_once_its_time_had_come_then_the_host_stays_out() -> None:
    state = begin(event("Terminate", notice=600), NOW, approved=False)

    assert not look(look(state, NOW + 601), NOW + 606)["restore"]
    assert look(look(state, NOW + 599), NOW + 604)["restore"]


def test_given_a_deletion_beside_a_reboot_that_was_approved_when_only_the_deletion_is_gone_then_it_was_withdrawn() -> (
    None
):
    reboot, terminate = event(event_id="R"), event("Terminate", event_id="T", notice=600)
    host_plan = make_plan([Host("h0", "vm_0", (reboot, terminate))], Policy(), NOW).hosts["h0"]
    state = begin_watch(host_plan, ["r"], False, Policy(), NOW)

    assert look(look(state, NOW + 5), NOW + 10)["restore"]


def test_given_a_deletion_that_its_agent_may_have_approved_when_it_is_gone_then_the_agent_is_seen_to_restore_it() -> (
    None
):
    agent = {"in_rotation": False, "events": [{"event_id": "e", "phase": "approving"}]}
    terminate = event("Terminate", event_id="E", notice=600)
    host_plan = make_plan([Host("h0", "vm_0", (terminate,), agent=agent)], Policy(), NOW).hosts["h0"]

    state = look(begin_watch(host_plan, [], False, Policy(), NOW), NOW + 5, terminate)

    assert look(look(state, NOW + 10), NOW + 15)["restore"]
    # Also when its time had come.
    assert look(look(state, NOW + 601), NOW + 606)["restore"]


def test_given_an_unreachable_host_when_given_up_then_the_reason_and_the_remedy_are_reported() -> None:
    policy = Policy(end_timeout=100)
    why = "root@web1: Permission denied (publickey)."
    state = watch(begin(event(notice=900), NOW), SILENCE, policy, NOW, 5, why)

    outcome = watch(state, SILENCE, policy, NOW + 100, 5, why)["outcome"]

    assert outcome.startswith(
        "has not answered for 100 s, the host keeps its state: run again (%s; it is up and refuses" % why
    )


def test_given_a_host_that_waits_when_described_then_it_says_for_what_since_when_and_how_long_at_most() -> None:
    reboot = event(event_id="E1", notice=600)
    state = begin(reboot, NOW)
    silent = watch(state, SILENCE, Policy(), NOW + 5, 5)

    assert describe_wait(look(state, NOW + 5, reboot), [reboot], Policy()) == (
        "waits for Reboot E1 (Scheduled) since 18:00:00 UTC, until 18:40:00 UTC at most"
    )
    # A host that was approved, and is lost, is given up before.
    assert describe_wait(silent, SILENCE, Policy()) == (
        "waits for it to answer again: neither it nor its metadata service does since 18:00:00 UTC,"
        " until 18:30:05 UTC at most"
    )
    assert describe_wait(look(state, NOW + 5), [], Policy()) == "over"


def test_given_a_host_that_is_left_to_its_agent_then_its_event_is_awaited_however_far_off() -> None:
    redeploy = event("Redeploy", notice=86400, event_id="E")
    agent = {"in_rotation": False, "events": [{"event_id": "e", "phase": "approving"}]}
    host_plan = make_plan([Host("h0", "vm_0", (redeploy,), agent=agent)], Policy(), NOW).hosts["h0"]

    state = begin_watch(host_plan, [], False, Policy(), NOW)

    assert not state["over"]
    assert state["may_start_at"] == NOW
