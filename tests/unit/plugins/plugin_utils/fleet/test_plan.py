# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which order hosts go, what is done with each, and who approves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import (
    parse_listed,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.clocks import ClockReading, as_utc
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.demand import Demand, DemandKind
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Attempt, Host, PlanError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import (
    HostPlan,
    Plan,
    approvals,
    attempts,
    make_plan,
    who_goes_first,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import LISTED_FOR, Policy, read_policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.report import describe_results
from hypothesis import given
from hypothesis import strategies as st

from .conftest import NOW, event


def fleet(*events: Event, count: int = 4, **details: Any) -> list[Host]:
    """Hosts h0, h1, … of the VMs VM_0, VM_1, …, each with the events that hit it."""
    return [
        Host(
            name=f"h{number}",
            vm_name=f"VM_{number}",
            events=tuple(event for event in events if f"vm_{number}" in event.resources),
            **details,
        )
        for number in range(count)
    ]


def test_given_no_events_then_nothing_is_planned() -> None:
    plan = make_plan(fleet(), Policy(), NOW)

    groups = ("all: 4 of 4 in service, 2 must stay",)
    assert plan == Plan(
        batches=[], hosts={}, event_plans=[], unanswered=[], held={}, shortfalls=[], turns=[], groups=groups
    )


def test_given_events_that_hit_only_others_then_nothing_is_planned() -> None:
    hosts = [Host("h0", "vm_1", (event(resources=("vm_10", "vm")),))]

    assert make_plan(hosts, Policy(), NOW).event_plans == []


def test_given_room_for_one_when_two_are_hit_then_the_more_urgent_goes_first() -> None:
    hosts = fleet(event(resources=("vm_0",), notice=900), event(resources=("vm_1",), notice=600))

    assert make_plan(hosts, Policy(minimum_in_service="3"), NOW).batches == [["h1"], ["h0"]]


def test_given_a_percentage_of_an_odd_number_then_the_minimum_is_rounded_up() -> None:
    hosts = fleet(event(resources=("vm_0",)), event(resources=("vm_1",)), count=3)

    assert make_plan(hosts, Policy(minimum_in_service="50%"), NOW).batches == [["h0"], ["h1"]]


def test_given_hosts_that_share_an_event_through_others_then_they_are_one_batch_even_above_the_room() -> None:
    hosts = fleet(
        event(resources=("vm_0", "vm_1"), event_id="a"),
        event(resources=("vm_1", "vm_2"), event_id="b"),
        event(resources=("vm_3",), event_id="c", notice=800),
    )

    assert make_plan(hosts, Policy(minimum_in_service="3"), NOW).batches == [["h3"], ["h0", "h1", "h2"]]


def test_given_terminates_of_one_instant_then_they_go_together() -> None:
    hosts = fleet(event("Terminate", ("vm_0",)), event("Terminate", ("vm_2",)), event("Reboot", ("vm_1",)))

    assert make_plan(hosts, Policy(minimum_in_service="3"), NOW).batches == [["h0", "h2"], ["h1"]]


def test_given_a_terminate_that_has_started_then_those_that_have_not_wait_for_their_turn() -> None:
    begun = event("Terminate", ("vm_0",))._replace(event_status="Started")
    hosts = fleet(begun, event("Terminate", ("vm_2",)))

    assert make_plan(hosts, Policy(minimum_in_service="3"), NOW).batches == [["h0"], ["h2"]]


@pytest.mark.parametrize(
    "details",
    [{"event_type": "Preempt"}, {"status": "Started"}, {"notice": 299}, {"notice": None}, {"status": "Unheard-of"}],
)
def test_given_what_the_platform_will_not_wait_for_then_it_goes_first_whatever_the_minimum(
    details: dict[str, Any],
) -> None:
    hosts = fleet(event(resources=("vm_0",), notice=3000), *(event(resources=(f"vm_{n}",), **details) for n in (1, 2)))

    plan = make_plan(hosts, Policy(minimum_in_service="3"), NOW)

    assert plan.batches == [["h1", "h2"], ["h0"]]
    assert plan.shortfalls == [
        "Batch 1 leaves 2 of 4 hosts in service, fewer than 3, because the platform or an agent takes h1 and h2"
    ]


@pytest.mark.parametrize("approving", [(), ("Unreadable",)])
def test_given_an_event_with_unreadable_resources_then_it_is_shown_and_no_host_is_drained_or_restored(
    approving: tuple[str, ...],
) -> None:
    unknown = parse_listed(7)
    hosts = [
        Host("h0", "vm_0", (unknown,), needs_restore=True, approving=approving),
        Host("h1", "vm_1", (event(resources=("vm_1",)), unknown)),
    ]
    plan = make_plan(hosts, Policy(minimum_in_service="0"), NOW)

    assert plan.batches == [["h1"]]
    assert [event_plan.event.event_type for event_plan in plan.event_plans if not event_plan.skip_reason] == ["Reboot"]
    assert [
        (event_plan.hosts, event_plan.skip_reason) for event_plan in plan.event_plans if event_plan.skip_reason
    ] == [(("h0", "h1"), "its list of VMs cannot be read")]
    assert approvals(plan, ["h0", "h1"]) == {"h1": ["Reboot-vm_1"]}


NAMED = {"name": "spot", "match": {"event_types": ["SpotRebalanceRecommendation"]}, "approve": "when_ready"}


@pytest.mark.parametrize("status", ["Scheduled", "Started"])
@pytest.mark.parametrize("policies", [[], [{"name": "all", "match": {"event_sources": ["Platform"]}}], [{}]])
def test_given_a_recommendation_that_no_policy_names_then_it_is_shown_and_left_alone(
    status: str, policies: list[dict[str, Any]]
) -> None:
    recommended = event("SpotRebalanceRecommendation", notice=None, status=status)._replace(event_source="Platform")
    plan = make_plan(fleet(recommended), read_policy({"policies": policies}), NOW)

    assert [(event_plan.event, event_plan.skip_reason) for event_plan in plan.event_plans] == [
        (recommended, "advisory: no policy names the type")
    ]
    assert (plan.batches, approvals(plan, ["h0"])) == ([], {})


@pytest.mark.parametrize("status", ["Scheduled", "Started"])
def test_given_a_policy_that_names_it_then_a_recommendation_is_drained_and_never_approved(status: str) -> None:
    hosts = fleet(event("SpotRebalanceRecommendation", notice=None, status=status), stop_seconds=60)
    plan = make_plan(hosts, read_policy({"policies": [NAMED]}), NOW)
    host_plan = plan.hosts["h0"]

    assert plan.batches == [["h0"]]
    assert (host_plan.remove, host_plan.stop, host_plan.final, host_plan.unprepared) == (True, False, False, False)
    assert NOW + 60 <= host_plan.drained_by <= NOW + 120
    assert [event_plan.withheld for event_plan in plan.event_plans] == ["it is advisory"]
    assert approvals(plan, ["h0"]) == {}


def test_given_recommendations_for_all_that_a_policy_names_then_the_minimum_stays_in_service() -> None:
    hosts = fleet(*(event("SpotRebalanceRecommendation", (f"vm_{n}",), notice=None) for n in range(4)))
    plan = make_plan(hosts, read_policy({"policies": [NAMED], "minimum_in_service": "3"}), NOW)

    assert plan.batches == [["h0"], ["h1"], ["h2"], ["h3"]]
    assert (plan.shortfalls, plan.deferred) == ([], {})


def test_given_a_recommendation_for_a_host_that_waits_then_it_waits_on_when_its_time_has_come() -> None:
    hosts = fleet(event("SpotRebalanceRecommendation", notice=None))
    policy = read_policy({"policies": [NAMED], "minimum_in_service": "4"})

    assert make_plan(hosts[:1], policy, NOW, rest=hosts[1:], deferred={"h0": NOW}).batches == [[]]


def test_given_a_recommendation_beside_a_reboot_then_only_the_reboot_is_handled() -> None:
    reboot = event()
    plan = make_plan(fleet(reboot, event("SpotRebalanceRecommendation", notice=None)), Policy(), NOW)

    assert plan.hosts["h0"].events == (reboot,)
    assert approvals(plan, ["h0"]) == {"h0": [reboot.event_id]}


def test_given_room_beside_one_that_has_started_then_another_goes_with_it() -> None:
    hosts = fleet(event(resources=("vm_0",)), event(resources=("vm_1",), status="Started"))

    assert make_plan(hosts, Policy(minimum_in_service="2"), NOW).batches == [["h1", "h0"]]


def test_given_room_beside_an_eviction_then_nothing_slower_goes_with_it() -> None:
    hosts = fleet(event(resources=("vm_0",)), event("Preempt", ("vm_1",), notice=30))

    assert make_plan(hosts, Policy(minimum_in_service="1"), NOW).batches == [["h1"], ["h0"]]


def test_given_a_host_that_does_not_answer_then_it_counts_as_out_of_service() -> None:
    hosts = [*fleet(event(resources=("vm_0",)), event(resources=("vm_1",)), count=3), Host("h3")]

    plan = make_plan(hosts, Policy(minimum_in_service="2"), NOW)

    assert plan.batches == [["h0"], ["h1"]]
    assert plan.unanswered == ["h3"]
    assert plan.turns == [["h0"], ["h3"], ["h1"]], "it is asked again as soon as nothing is urgent"


def test_given_an_event_that_also_hits_a_lookalike_of_a_host_then_that_is_an_outsider_and_nothing_is_approved() -> None:
    # The kelvin sign: its lower case is an ordinary k.
    lookalike = "dis\u212a_0"
    shared = event(resources=("disk_0", lookalike))
    hosts = [Host("h0", "DISK_0", (shared,)), Host("h1", "DISK_1")]

    plan = make_plan(hosts, Policy(minimum_in_service="0"), NOW)

    assert plan.event_plans[0].hosts == ("h0",)
    assert plan.event_plans[0].outsiders == (lookalike,)
    assert approvals(plan, ["h0"]) == {}


def test_given_hosts_with_similar_names_in_azure_then_they_are_two_vms() -> None:
    hosts = [Host("h0", "disk_0", (event(resources=("disk_0",)),)), Host("h1", "dis\u212a_0")]

    plan = make_plan(hosts, Policy(minimum_in_service="1"), NOW)

    assert plan.batches == [["h0"]]


def test_given_a_host_that_was_drained_by_hand_then_it_counts_as_out_of_service() -> None:
    hosts = fleet(event(resources=("vm_0",)), count=2)
    hosts[1] = hosts[1]._replace(is_drained=True)

    plan = make_plan(hosts, Policy(minimum_in_service="1"), NOW)

    assert plan.batches == []
    assert plan.held["h0"].startswith("1 of 2 hosts are in service, and 1 must stay")


def test_given_a_host_that_was_drained_by_hand_when_it_is_hit_then_it_takes_no_room_and_goes_as_any_other() -> None:
    hosts = fleet(event(resources=("vm_0",)), event(resources=("vm_1",), status="Started"), count=3)
    hosts[1] = hosts[1]._replace(is_drained=True)

    plan = make_plan(hosts, Policy(minimum_in_service="1"), NOW)

    assert plan.batches == [["h1", "h0"]]
    assert not plan.hosts["h1"].unprepared


def test_given_a_host_that_was_left_out_then_it_is_restored_in_the_first_batch() -> None:
    hosts = fleet(event(resources=("vm_0",)), count=2)
    hosts[1] = hosts[1]._replace(needs_restore=True)

    plan = make_plan(hosts, Policy(minimum_in_service="1"), NOW)

    assert plan.batches == [["h1"], ["h0"]]
    assert not plan.hosts["h1"].remove


def test_given_a_host_that_another_run_has_leased_then_it_is_left_alone_and_what_it_shares_is_not_approved() -> None:
    hosts = fleet(event(resources=("vm_0", "vm_1"), notice=600), event(resources=("vm_2",)), count=3)
    hosts[1] = hosts[1]._replace(leased="somebody is working on it", needs_restore=True)

    plan = make_plan(hosts, Policy(minimum_in_service="0"), NOW)

    assert sorted(name for batch in plan.batches for name in batch) == ["h0", "h2"]
    assert plan.passed_over == {"h1": "somebody is working on it"}
    assert plan.unanswered == []
    assert plan.event_plans[0].withheld == "it also hits vm_1, where another run is at work"
    assert approvals(plan, ["h0", "h2"]) == {"h2": [hosts[2].events[0].event_id]}
    assert make_plan(hosts, Policy(minimum_in_service="2"), NOW).held


def test_given_a_leased_host_in_the_batch_then_it_is_not_taken() -> None:
    hosts = fleet(event(resources=("vm_0",)), event(resources=("vm_1",)), count=2)
    hosts[0] = hosts[0]._replace(leased="somebody is working on it")

    plan = make_plan(hosts, Policy(minimum_in_service="0"), NOW, rest=[])

    assert list(plan.hosts) == ["h1"]


def test_given_a_host_that_is_being_deleted_then_it_is_not_restored_but_handled_when_it_is_hit() -> None:
    gone = Host("h0", "vm_0", needs_restore=True, keep_out_reason="it may be deleted yet")

    rests: tuple[list[Host] | None, ...] = (None, [])
    for rest in rests:
        plan = make_plan([gone], Policy(), NOW, rest=rest)
        assert plan.hosts == {}
        assert plan.passed_over == {"h0": "it may be deleted yet"}
        hit = make_plan([gone._replace(events=(event("Terminate", status="Started"),))], Policy(), NOW, rest=rest)
        assert list(hit.hosts) == ["h0"]
        assert hit.passed_over == {}


@pytest.mark.parametrize("policy", [Policy(approve=False), Policy(minimum_in_service="100%")])
def test_given_an_event_that_may_be_approved_then_its_host_waits_for_nothing_and_is_not_restored(
    policy: Policy,
) -> None:
    far = event(notice=9000)
    host = Host("h0", "vm_0", (far,), needs_restore=True, approving=(far.event_id.lower(),))

    rests: tuple[list[Host] | None, ...] = (None, [])
    for rest in rests:
        plan = make_plan([host], policy, NOW, rest=rest)
        assert plan.hosts["h0"].remove
        assert plan.hosts["h0"].approving == (far.event_id,)
        assert plan.held == {}


@pytest.mark.parametrize("duration", [0, 1, 10])
def test_given_a_short_freeze_then_it_is_left_alone(duration: int) -> None:
    plan = make_plan(fleet(event("Freeze", duration=duration)), Policy(), NOW)

    assert plan.batches == []
    assert plan.event_plans[0].skip_reason == f"a freeze of {duration} s is tolerated"
    assert approvals(plan, ["h0"]) == {}


@pytest.mark.parametrize(("event_type", "duration"), [("Freeze", -1), ("Freeze", None), ("Freeze", 11), ("Reboot", 0)])
def test_given_any_event_but_a_short_freeze_then_it_is_handled(event_type: str, duration: int | None) -> None:
    plan = make_plan(fleet(event(event_type, duration=duration)), Policy(), NOW)

    assert plan.batches == [["h0"]]
    assert plan.hosts["h0"].stop == (event_type == "Reboot")


@pytest.mark.parametrize(
    ("details", "remove", "stop", "final"),
    [
        ({"event_type": "Freeze"}, True, False, False),
        ({"event_type": "Reboot"}, True, True, False),
        ({"event_type": "Redeploy"}, True, True, False),
        ({"event_type": "Preempt"}, True, True, True),
        ({"event_type": "Terminate"}, True, True, True),
        ({"event_type": "Novelty"}, True, True, False),
        ({"event_type": "Reboot", "status": "Started"}, True, False, False),
        ({"event_type": "Terminate", "status": "Started"}, True, False, True),
    ],
)
def test_given_an_event_then_it_asks_for_these_steps(
    details: dict[str, Any], remove: bool, stop: bool, final: bool
) -> None:
    host_plan = make_plan(fleet(event(**details)), Policy(), NOW).hosts["h0"]

    assert (host_plan.remove, host_plan.stop, host_plan.final) == (remove, stop, final)


def test_given_much_notice_then_the_host_is_ready_the_margin_before_with_time_left_for_its_services() -> None:
    host_plan = make_plan(fleet(event(notice=900), stop_seconds=120), Policy(margin=30), NOW).hosts["h0"]

    assert host_plan.stopped_by == NOW + 870
    assert host_plan.drained_by == NOW + 750


def test_given_little_notice_then_the_margin_is_a_tenth_of_it_and_half_the_rest_is_for_stopping() -> None:
    host_plan = make_plan(fleet(event("Preempt", notice=30), stop_seconds=120), Policy(margin=30), NOW).hosts["h0"]

    assert host_plan.stopped_by == NOW + 27
    assert host_plan.drained_by == NOW + 13.5


def test_given_an_event_under_way_then_there_is_no_time_for_connections() -> None:
    assert make_plan(fleet(event(status="Started")), Policy(), NOW).hosts["h0"].drained_by == NOW


def test_given_an_eviction_in_a_batch_then_no_other_waits_for_connections_longer() -> None:
    hosts = fleet(event(notice=200), event("Preempt", ("vm_1",), notice=30))

    host_plans = make_plan(hosts, Policy(), NOW).hosts

    assert host_plans["h0"].drained_by == host_plans["h1"].drained_by == NOW + 27
    assert host_plans["h0"].stopped_by == NOW + 180


def test_given_an_event_under_way_in_a_batch_then_the_others_may_wait_for_connections() -> None:
    hosts = fleet(event(notice=200), event(resources=("vm_1",), status="Started"))

    assert make_plan(hosts, Policy(), NOW).hosts["h0"].drained_by == NOW + 180


def test_given_a_shared_event_when_all_its_hosts_are_ready_then_only_its_leader_approves() -> None:
    plan = make_plan(fleet(event(resources=("vm_2", "vm_0"), event_id="A")), Policy(), NOW)

    assert approvals(plan, ["h0", "h2"]) == {"h2": ["A"]}
    assert approvals(plan, ["h2"]) == {}


@pytest.mark.parametrize(
    ("details", "policy", "reason"),
    [
        ({"resources": ("vm_0", "vm_10")}, Policy(), "it also hits vm_10, not in the play or not answering"),
        ({}, Policy(approve=False), "handle_events_approve is false"),
        ({"event_type": "Novelty"}, Policy(), "its type is not known"),
        ({"status": "Started"}, Policy(), "it has started already"),
    ],
)
def test_given_what_must_not_be_approved_then_it_is_not_and_says_why(
    details: dict[str, Any], policy: Policy, reason: str
) -> None:
    plan = make_plan(fleet(event(notice=800, **details)), policy, NOW)

    assert plan.event_plans[0].withheld == reason
    assert plan.batches == [["h0"]]
    assert approvals(plan, ["h0"]) == {}


def test_given_what_must_not_be_approved_and_is_far_off_then_it_is_left_alone() -> None:
    plan = make_plan(fleet(event(notice=1201)), Policy(approve=False), NOW)

    assert plan.batches == []
    assert "does not begin within 1200 s" in plan.event_plans[0].skip_reason


def test_given_an_event_that_is_days_ahead_then_it_is_neither_handled_nor_approved_yet() -> None:
    hosts = fleet(event("Redeploy", notice=172800), count=2)

    plan = make_plan(hosts, Policy(), NOW)

    assert plan.batches == []
    assert plan.event_plans[0].skip_reason == "it is approved at most 3600 s before its start"
    assert approvals(plan, ["h0"]) == {}
    assert make_plan(hosts, Policy(approve_within=604800), NOW).batches == [["h0"]]
    # Neither is it met sooner than it would be approved.
    assert make_plan(fleet(event(notice=900), count=2), Policy(approve_within=600), NOW).batches == []


def test_given_a_time_at_which_nothing_is_approved_then_an_event_is_only_handled_before_it_starts() -> None:
    policy = read_policy({"approve_between": [{"from": "22:00", "to": "05:00"}]})
    far, near = fleet(event(notice=3000), count=2), fleet(event(notice=900), count=2)

    # It is 18:00.
    assert make_plan(far, policy, NOW).batches == []
    assert make_plan(near, policy, NOW).batches == [["h0"]]
    assert make_plan(near, policy, NOW).event_plans[0].withheld == "it is outside approve_between"
    assert approvals(make_plan(near, policy, NOW), ["h0"]) == {}
    at_night = fleet(event(notice=5 * 3600), count=2)
    assert approvals(make_plan(at_night, policy, NOW + 4.5 * 3600), ["h0"]) == {"h0": ["Reboot-vm_0"]}


@pytest.mark.parametrize(
    ("policies", "batches", "approved"),
    [
        ([{"match": {"event_types": ["redeploy"]}, "ignore": True}], [["h0"]], True),
        ([{"match": {"event_types": ["Reboot"]}, "ignore": True}], [], False),
        ([{"name": "mine", "match": {"event_sources": ["Platform"]}, "approve": "never"}], [["h0"]], True),
        ([{"name": "mine", "match": {"longer_than": 60}, "approve": "never"}], [["h0"]], False),
        ([{"match": {"no_longer_than": 60}, "ignore": True}], [["h0"]], True),
        ([{"match": {"shared": True}, "ignore": True}], [["h0"]], True),
        ([{"match": {"notice_below": 901, "notice_above": 899}, "approve_within": "60"}], [], False),
        ([{"match": {"description": "*x*"}, "ignore": True}], [["h0"]], True),
        ([{"approve": "when_ready"}, {"ignore": True}], [["h0"]], True),
        ([{"approve_between": [{"from": "22:00", "to": "23:00"}]}], [["h0"]], False),
    ],
)
def test_given_policies_then_the_first_that_covers_an_event_decides(
    policies: list[Any], batches: list[list[str]], approved: bool
) -> None:
    plan = make_plan(fleet(event(), count=2), read_policy({"policies": policies}), NOW)

    assert plan.batches == batches
    assert (approvals(plan, ["h0"]) != {}) == approved


@pytest.mark.parametrize(
    "lie",
    [
        {"status": "Started"},
        {"notice": 86400.0},
        {"resources": ("vm_1", "vm_0")},
        {"resources": ("vm_1",)},
        {"event_type": "Freeze", "duration": 1},
    ],
    ids=str,
)
def test_given_a_host_that_lies_about_an_event_then_what_is_done_on_the_other_hosts_is_as_the_others_say(
    lie: dict[str, Any],
) -> None:
    told: dict[str, Any] = {"resources": ("vm_0", "vm_1"), "event_id": "a"}
    honest = Host("h0", "vm_0", (event(**told),))
    alone = make_plan([honest, Host("h1", "vm_1")], Policy(), NOW).hosts["h0"]
    liar = Host("h1", "vm_1", (event(**{**told, "event_id": "A", **lie}),))
    for hosts in ([liar, honest], [honest, liar]):
        plan = make_plan(hosts, Policy(), NOW)

        assert plan.hosts["h0"] == alone
        assert approvals(plan, plan.hosts).get("h0") is None


def test_given_an_event_that_only_others_list_for_a_host_then_nothing_is_done_on_it_and_nobody_approves() -> None:
    shared = event(resources=("vm_1", "vm_0"))
    plan = make_plan([Host("h0", "vm_0"), Host("h1", "vm_1", (shared, event("Redeploy", ("vm_0",))))], Policy(), NOW)

    assert list(plan.hosts) == ["h1"]
    (event_plan,) = plan.event_plans
    assert event_plan.withheld == "it also hits vm_0, which does not list it like this: run again"


def test_given_a_batch_then_it_has_the_hosts_to_handle_or_restore_and_a_reason_for_each_other_host() -> None:
    hosts = [*fleet(event(), event("Freeze", ("vm_3",), duration=3), count=4), Host("h4")]
    hosts[1] = hosts[1]._replace(needs_restore=True)

    plan = make_plan(hosts, Policy(), NOW, rest=[Host("h5", "vm_5")])

    assert plan.batches == [["h0", "h1"]]
    assert plan.hosts["h1"].events == ()
    assert plan.passed_over == {"h2": "no event is pending any more", "h3": "a freeze of 3 s is tolerated"}
    assert plan.unanswered == ["h4"]


AGENT: dict[str, Any] = {"in_rotation": True, "events": []}


def test_given_a_host_with_an_agent_then_nothing_is_done_to_it_or_for_it() -> None:
    plan = make_plan(fleet(event(), agent=AGENT), Policy(), NOW)

    host_plan = plan.hosts["h0"]
    assert (host_plan.agent, host_plan.remove, host_plan.stop) == (True, False, False)
    assert plan.event_plans[0].withheld == "it is left to the agent of h0"
    assert approvals(plan, ["h0"]) == {}


def test_given_an_event_shared_with_a_host_that_has_an_agent_then_it_is_not_approved_but_the_other_is_prepared() -> (
    None
):
    shared = event(resources=("vm_0", "vm_1"))
    hosts = [Host("h0", "vm_0", (shared,), agent=AGENT), Host("h1", "vm_1", (shared,))]

    plan = make_plan(hosts, Policy(), NOW)

    assert approvals(plan, ["h0", "h1"]) == {}
    assert (plan.hosts["h1"].remove, plan.hosts["h1"].stop) == (True, True)


def test_given_no_room_beside_a_host_with_an_agent_then_it_is_watched_first_and_the_others_wait() -> None:
    hosts = fleet(event(resources=("vm_0",), notice=3500), event(resources=("vm_1",), notice=900))
    hosts[1] = hosts[1]._replace(agent=AGENT)

    assert make_plan(hosts, Policy(minimum_in_service="3"), NOW).batches == [["h1"], ["h0"]]
    assert make_plan(hosts, Policy(minimum_in_service="2"), NOW).batches == [["h1", "h0"]]
    # Nor does it wait in its turn for one that may return.
    rest = [hosts[0], hosts[2]._replace(is_out=True)]
    assert make_plan(hosts[1:2], Policy(minimum_in_service="3"), NOW, rest=rest).batches == [["h1"]]


def test_given_an_urgent_event_that_is_left_to_an_agent_then_the_others_of_the_batch_need_not_keep_pace() -> None:
    hosts = fleet(event("Preempt", ("vm_0",), notice=30), event(resources=("vm_1",), notice=900))
    hosts[0] = hosts[0]._replace(agent=AGENT)

    plan = make_plan(hosts, Policy(), NOW)

    assert plan.batches == [["h0", "h1"]]
    assert plan.hosts["h1"].drained_by > NOW + 800


@pytest.mark.parametrize(("phase", "is_watched"), [("drain", True), ("approved", True), ("ready", False)])
def test_given_an_event_far_off_that_is_left_to_an_agent_then_it_is_watched_only_while_the_agent_is_at_work(
    phase: str, is_watched: bool
) -> None:
    agent = {"in_rotation": False, "events": [{"event_id": "e", "phase": phase}]}

    plan = make_plan(fleet(event(notice=86400, event_id="E"), count=1, agent=agent), Policy(), NOW)

    assert plan.batches == ([["h0"]] if is_watched else [])


def test_given_a_host_that_its_agent_keeps_out_then_it_counts_as_out_of_service() -> None:
    hosts = fleet(event(resources=("vm_0",)), event(resources=("vm_1",)), event(resources=("vm_2",), notice=86400))
    hosts[2] = hosts[2]._replace(agent={"in_rotation": False, "events": []})

    assert make_plan(hosts, Policy(minimum_in_service="2"), NOW).batches == [["h0"], ["h1"]]


def test_given_an_agent_that_does_not_answer_then_its_host_is_left_to_it_anyway() -> None:
    plan = make_plan(fleet(event(), agent={"problem": "does not answer"}), Policy(), NOW)

    assert not plan.hosts["h0"].remove


def test_given_the_minimum_needs_all_that_are_in_service_then_what_can_wait_stays_and_it_says_why() -> None:
    hosts = [*fleet(event(resources=("vm_0",)), event("Preempt", ("vm_1",), notice=30), count=2), Host("h2")]

    plan = make_plan(hosts, Policy(minimum_in_service="2"), NOW)

    assert plan.batches == [["h1"]]
    assert plan.held == {
        "h0": "2 of 3 hosts are in service, and 2 must stay: stays in service until less than 300 s of notice are left"
    }
    assert approvals(plan, ["h0", "h1"]) == {"h1": ["Preempt-vm_1"]}


@pytest.mark.parametrize(("notice", "is_held"), [(300, True), (299, False)])
def test_given_the_minimum_needs_all_when_less_notice_is_left_than_urgent_within_then_it_holds_no_host(
    notice: float, is_held: bool
) -> None:
    plan = make_plan(fleet(event(notice=notice), count=1), Policy(minimum_in_service="1", urgent_within=300), NOW)

    assert ("h0" in plan.held) == is_held


def test_given_a_group_that_is_smaller_than_its_minimum_then_it_is_held_back_and_the_others_are_maintained() -> None:
    web, *db = fleet(*(event(resources=(f"vm_{n}",)) for n in (0, 1)))
    hosts = [web._replace(groups=("web",)), *(host._replace(groups=("db",)) for host in db)]

    plan = make_plan(hosts, Policy(minimum_in_service="2"), NOW)

    assert plan.batches == [["h1"]]
    assert plan.held["h0"].startswith("handle_events_minimum_in_service is 2, and there are only 1 hosts of web")
    assert plan.groups == ("web: 1 of 1 in service, 2 must stay", "db: 3 of 3 in service, 2 must stay")


def test_given_an_event_that_hits_two_groups_then_each_host_takes_room_in_its_own() -> None:
    hosts = fleet(event(notice=9000), event(resources=("vm_1", "vm_3"), notice=9000), count=6)
    hosts = [host._replace(groups=("web" if number < 3 else "db",)) for number, host in enumerate(hosts)]

    plan = make_plan(hosts, Policy(minimum_in_service="1", approve_within=86400), NOW)

    assert plan.batches == [["h0", "h1", "h3"]]


def test_given_a_host_in_two_groups_then_it_takes_room_in_both() -> None:
    first, both, second = fleet(*(event(resources=(f"vm_{n}",), notice=3000 + n) for n in range(3)), count=3)
    hosts = [
        first._replace(groups=("web",)),
        both._replace(groups=("web", "api")),
        second._replace(groups=("api",)),
    ]

    plan = make_plan(hosts, Policy(minimum_in_service="1"), NOW)

    assert plan.batches == [["h0"], ["h1"], ["h2"]]
    assert plan.groups == ("web: 2 of 2 in service, 1 must stay", "api: 2 of 2 in service, 1 must stay")


def test_given_a_backend_with_some_of_the_servers_of_another_then_the_number_is_meant_for_the_larger() -> None:
    first, *others = fleet(*(event(resources=(f"vm_{n}",)) for n in range(4)), count=4)
    hosts = [first._replace(groups=("web", "long")), *(host._replace(groups=("web",)) for host in others)]

    plan = make_plan(hosts, Policy(minimum_in_service="2"), NOW)

    assert plan.groups == ("web: 4 of 4 in service, 2 must stay", "long: 1 of 1 in service, 0 must stay")
    assert plan.batches == [["h0", "h1"], ["h2", "h3"]]


def test_given_a_host_that_its_balancers_see_down_then_it_counts_as_out_of_service() -> None:
    hit, down, other = fleet(event(resources=("vm_0",)), count=3)
    hosts = [hit, down._replace(is_down=True), other]

    assert "h0" in make_plan(hosts, Policy(minimum_in_service="2"), NOW).held
    assert make_plan(hosts, Policy(minimum_in_service="1"), NOW).batches == [["h0"]]


@pytest.mark.parametrize(("minimum", "is_held"), [("1", True), ("100%", True), ("50%", False), ("0", False)])
def test_given_a_host_on_its_own_then_only_a_minimum_that_means_all_keeps_it_in_service(
    minimum: str, is_held: bool
) -> None:
    plan = make_plan(fleet(event(), count=1), Policy(minimum_in_service=minimum), NOW)

    assert ("h0" in plan.held) == is_held
    assert plan.batches == ([] if is_held else [["h0"]])


def test_given_a_shared_event_beyond_all_room_then_it_goes_alone_and_waits_for_whoever_is_out() -> None:
    hosts = fleet(event(resources=("vm_0", "vm_1")), count=3)

    assert make_plan(hosts, Policy(minimum_in_service="2"), NOW).batches == [["h0", "h1"]]
    assert make_plan(hosts[:2], Policy(minimum_in_service="2"), NOW, rest=hosts[2:]).batches == [["h0", "h1"]]
    hosts[2] = hosts[2]._replace(is_out=True)
    assert list(make_plan(hosts, Policy(minimum_in_service="2"), NOW).held) == ["h0", "h1"]


def test_given_a_demand_beyond_all_room_then_it_waits_even_alone_because_nothing_forces_it() -> None:
    hosts = [host._replace(demand=Demand(DemandKind.UPGRADE, "both")) for host in fleet(count=2)]
    rests: tuple[list[Host] | None, ...] = (None, [])

    for rest in rests:
        assert list(make_plan(hosts, Policy(minimum_in_service="1"), NOW, rest=rest).held) == ["h0", "h1"]
        assert make_plan(hosts, Policy(minimum_in_service="0"), NOW, rest=rest).batches == [["h0", "h1"]]


def test_given_a_demand_for_all_or_none_when_its_time_is_up_then_hosts_that_are_out_stay_out() -> None:
    demand = Demand(DemandKind.UPDATE, "updates", NOW - 1, ("h0", "h1"))
    hosts = [host._replace(demand=demand, is_out=True, needs_restore=True) for host in fleet(count=2)]

    plan = make_plan(hosts, Policy(minimum_in_service="0"), NOW)

    assert [plan.hosts[name].demand for name in ("h0", "h1")] == [demand, demand]
    assert list(make_plan([host._replace(needs_restore=False) for host in hosts], Policy(), NOW).held) == ["h0", "h1"]


def test_given_groups_then_each_keeps_its_own_minimum() -> None:
    hosts = [
        host._replace(groups=("web" if number < 2 else "db",))
        for number, host in enumerate(fleet(*(event(resources=(f"vm_{n}",)) for n in (0, 1, 2)), count=6))
    ]

    assert make_plan(hosts, Policy(minimum_in_service="50%"), NOW).batches == [["h0"], ["h1", "h2"]]

    hosts = [host._replace(minimum="3" if host.groups == ("db",) else "0") for host in hosts]
    assert make_plan(hosts, Policy(minimum_in_service="50%"), NOW).batches == [["h0", "h1", "h2"]]


def test_given_groups_and_a_host_that_does_not_answer_then_it_counts_as_missing_only_where_one_is_missing() -> None:
    hosts = [
        host._replace(groups=("web" if number < 2 else "db",), expected=2)
        for number, host in enumerate(fleet(*(event(resources=(f"vm_{n}",)) for n in (0, 2)), count=4))
    ]
    lost = Host("h4", minimum="4")

    # Two of two: it is none of theirs.
    plan = make_plan([*hosts, lost], Policy(minimum_in_service="50%"), NOW)
    assert plan.batches == [["h0", "h2"]]
    assert plan.groups == ("web: 2 of 2 in service, 1 must stay", "db: 2 of 2 in service, 1 must stay")
    # It may be the one that only the balancer of web knows, or counts.
    for more in ({"peers_outside_run": ("vm_9",)}, {"expected": 3}):
        web = [host._replace(**more) for host in hosts[:2]]
        plan = make_plan([*web, *hosts[2:], lost], Policy(minimum_in_service="50%"), NOW)
        assert plan.batches == [["h2"]]
        assert plan.held["h0"].startswith("2 of 3 hosts of web are in service, and 2 must stay")
    # One of a known group counts there.
    plan = make_plan([*hosts, Host("h4", groups=("db",))], Policy(minimum_in_service="50%"), NOW)
    assert plan.held["h2"].startswith("2 of 3 hosts of db are in service, and 2 must stay")
    assert plan.batches == [["h0"]]


def test_given_hosts_without_a_group_beside_groups_then_they_and_a_silent_host_are_one_of_their_own() -> None:
    web, other = fleet(event(), groups=("web",), expected=9), fleet(groups=("",), expected=9)
    hosts = [*web[:2], *other[2:], Host("h4")]

    assert make_plan(hosts, Policy(), NOW).groups == (
        "web: 2 of 3 in service, 2 must stay",
        "all: 2 of 3 in service, 2 must stay",
    )


def test_given_two_minimums_in_one_group_then_the_larger_holds() -> None:
    hosts = [host._replace(minimum=minimum) for host, minimum in zip(fleet(event()), ("1", "3", "1"), strict=False)]

    assert make_plan(hosts, Policy(), NOW).groups == ("all: 3 of 3 in service, 3 must stay",)


def test_given_an_earlier_batch_that_is_not_back_then_the_next_stays_in_service() -> None:
    first, second = fleet(event(resources=("vm_0",)), event(resources=("vm_1",)), count=2)
    policy = Policy(minimum_in_service="1", max_failed=9)

    assert make_plan([second], policy, NOW, rest=[first]).batches == [["h1"]]
    plan = make_plan([second], policy, NOW, rest=[first._replace(is_out=True)])
    assert plan.batches == [[]]
    assert plan.hosts == {}
    assert approvals(plan, ["h1"]) == {}
    assert plan.held["h1"].startswith("1 of 2 hosts are in service, and 1 must stay")


def test_given_an_earlier_batch_that_is_not_back_then_what_the_platform_takes_is_prepared_anyway() -> None:
    first, second = fleet(event(resources=("vm_0",)), event("Preempt", ("vm_1",), notice=30), count=2)

    plan = make_plan([second], Policy(minimum_in_service="1"), NOW, rest=[first._replace(is_out=True, failed=True)])

    assert plan.batches == [["h1"]]
    assert plan.hosts["h1"].remove
    assert plan.shortfalls == [
        "Batch 1 leaves 0 of 2 hosts in service, fewer than 1, because the platform or an agent takes h1"
    ]


@pytest.mark.parametrize(("max_failed", "is_held"), [(0, True), (1, False)])
def test_given_a_host_with_a_failed_step_then_the_next_go_only_if_max_failed_allows_it(
    max_failed: int, is_held: bool
) -> None:
    later: dict[str, Any] = {"resources": ("vm_1",), "notice": 1200}
    first, second, third = fleet(event(resources=("vm_0",)), event(**later), count=3)
    policy = Policy(minimum_in_service="1", max_failed=max_failed)

    plan = make_plan([second], policy, NOW, rest=[first._replace(failed=True), third])

    assert ("h1" in plan.held) == is_held
    if is_held:
        assert plan.held["h1"].startswith("steps failed on h0, and handle_events_max_failed is 0")


def test_given_steps_that_failed_when_an_event_begins_soon_anyway_then_its_host_is_drained_as_there_is_room() -> None:
    broken, *others = fleet(*(event(resources=(f"vm_{n}",), notice=320) for n in range(8)), count=8)
    rest = [broken._replace(is_out=True, failed=True)]
    deferred = {host.name: NOW + 200 for host in others}

    plan = make_plan(others, Policy(minimum_in_service="5"), NOW, rest=rest, deferred=deferred)

    assert plan.batches == [["h1", "h2"]]
    assert {event_plan.withheld for event_plan in plan.event_plans} == {
        "steps failed on h0, and handle_events_max_failed is 0"
    }
    assert approvals(plan, plan.batches[0]) == {}
    assert plan.deferred == {f"h{n}": NOW + 200 for n in range(3, 8)}
    assert plan.why_waiting == {f"h{n}": "7 of 8 hosts are in service, and 5 must stay" for n in range(3, 8)}


@pytest.mark.parametrize(("notice", "batches"), [(86400, 100), (30000, 50), (900, 2)])
def test_given_a_thousand_hosts_that_are_all_hit_then_planning_takes_no_time_worth_mentioning(
    notice: float, batches: int
) -> None:
    hosts = [
        Host(
            f"h{n}",
            f"vm_{n}",
            (event(resources=(f"vm_{n & ~1}", f"vm_{n | 1}"), notice=notice, event_id=f"e{n // 2}"),),
        )
        for n in range(1000)
    ]
    begun = time.process_time()

    plan = make_plan(hosts, Policy(minimum_in_service="990", approve_within=86400), NOW)

    # Ten times what it takes: what grows with the square of the hosts takes longer still.
    assert time.process_time() - begun < 2
    assert len(plan.batches) == batches


SLOW: dict[str, Any] = {
    "settle_seconds": 35,
    "connection_seconds": 300,
    "stop_seconds": 90,
    "return_seconds": 20,
}
"""What the defaults of the roles come to, with one service."""


def at_the_same_time(notice: float = 900, count: int = 3, **details: Any) -> list[Host]:
    """Hosts that are all to be rebooted at one time, each for itself, as an update of the hosts under them may."""
    events = (event(resources=(f"vm_{number}",), notice=notice) for number in range(count))
    return fleet(*events, count=count, **details)


def test_given_events_listed_for_ten_minutes_when_a_batch_would_be_late_then_it_joins_the_one_before() -> None:
    plan = make_plan(at_the_same_time(), Policy(minimum_in_service="2"), NOW)

    assert plan.batches == [["h0"], ["h1", "h2"]]
    assert plan.deferred == {"h2": NOW + 870}
    assert plan.shortfalls == [
        "Batch 2 may leave 1 of 3 hosts in service, fewer than 2, because the platform takes h2 at a time of its own"
    ]


def test_given_hosts_that_may_take_long_when_a_batch_might_come_too_late_then_it_waits_in_a_batch_that_is_in_time() -> (
    None
):
    plan = make_plan(at_the_same_time(**SLOW), Policy(minimum_in_service="2"), NOW)

    assert plan.batches == [["h0", "h1", "h2"]]
    # Time for the balancers to notice, a minute for connections and services, and the margin.
    assert plan.deferred == {"h1": NOW + 775, "h2": NOW + 775}


def test_given_one_that_takes_the_turn_of_another_that_was_brought_forward_then_it_waits_for_nobody() -> None:
    hosts = fleet(*(event(resources=(f"vm_{n}",), notice=notice) for n, notice in enumerate((700, 900, 1000, 1500))))

    plan = make_plan(hosts, Policy(minimum_in_service="3"), NOW)

    assert (plan.batches, plan.deferred) == ([["h0"], ["h1", "h2"], ["h3"]], {"h2": NOW + 970})


def test_given_events_that_begin_late_then_nothing_is_brought_forward() -> None:
    plan = make_plan(at_the_same_time(2400), Policy(minimum_in_service="2"), NOW)

    assert plan.batches == [["h0"], ["h1"], ["h2"]]
    assert plan.deferred == {}


@pytest.mark.parametrize(
    ("return_seconds", "batches", "deferred"),
    [(2000, [["h2"], ["h0"], ["h1"]], []), (3000, [["h2"], ["h0", "h1"]], ["h1"])],
)
def test_given_a_host_that_returns_first_then_later_batches_are_expected_to_wait_for_it_once(
    return_seconds: float, batches: list[list[str]], deferred: list[str]
) -> None:
    hosts = [*at_the_same_time(3500, 2), Host("h2", "VM_2", needs_restore=True, return_seconds=return_seconds)]

    plan = make_plan(hosts, Policy(minimum_in_service="2", approve_within=86400), NOW)

    assert (plan.batches, list(plan.deferred)) == (batches, deferred)


def test_given_one_that_was_brought_forward_and_takes_long_then_others_that_would_be_late_for_it_are_as_well() -> None:
    both, one, other = (("vm_0", "vm_3"), 700), (("vm_1",), 900), (("vm_2",), 2000)
    hosts = fleet(*(event(resources=resources, notice=notice) for resources, notice in (both, one, other)))
    hosts[:2] = [hosts[0]._replace(return_seconds=400), hosts[1]._replace(return_seconds=3000)]

    plan = make_plan(hosts, Policy(minimum_in_service="2"), NOW)

    assert (plan.batches, list(plan.deferred)) == ([["h0", "h3", "h1", "h2"]], ["h1", "h2"])


def test_given_what_is_not_approved_then_its_batch_lasts_until_it_has_begun_by_itself() -> None:
    hosts = fleet(event(resources=("vm_0",), notice=1000), event(resources=("vm_1",), notice=1050), count=3)
    policy = Policy(minimum_in_service="2")

    assert make_plan(hosts, policy, NOW).deferred == {}
    assert list(make_plan(hosts, policy._replace(approve=False), NOW).deferred) == ["h1"]


def test_given_one_that_was_brought_forward_then_it_goes_when_there_is_room_or_when_its_time_has_come() -> None:
    hosts = at_the_same_time(**SLOW)
    policy = Policy(minimum_in_service="2")
    deferred = make_plan(hosts, policy, NOW).deferred

    begun = make_plan(hosts, policy, NOW, rest=[], deferred=deferred)
    first, *others = hosts
    meanwhile = make_plan(others, policy, NOW + 600, rest=[first._replace(is_out=True)], deferred=deferred)
    with_room = make_plan(others, policy, NOW + 700, rest=[first._replace(events=())], deferred=deferred)
    in_time = make_plan(others, policy, NOW + 775, rest=[first._replace(is_out=True)], deferred=deferred)

    assert (begun.batches, list(begun.deferred)) == ([["h0"]], ["h1", "h2"])
    assert (meanwhile.batches, list(meanwhile.deferred)) == ([[]], ["h1", "h2"])
    assert (with_room.batches, list(with_room.deferred)) == ([["h1"]], ["h2"])
    assert (in_time.batches, list(in_time.deferred)) == ([["h1", "h2"]], [])
    assert in_time.shortfalls == [
        "Batch 1 leaves 0 of 3 hosts in service, fewer than 2, because the platform or an agent takes h1 and h2"
    ]
    assert [plan.held for plan in (begun, meanwhile, with_room, in_time)] == [{}] * 4


@pytest.mark.parametrize(
    ("other", "waits"),
    [
        ({"is_out": True}, True),
        ({"is_drained": True}, False),
        ({"is_down": True}, False),
        ({"is_down": True, "needs_restore": True}, True),
        ({"is_out": True, "groups": ("api",)}, False),
    ],
)
def test_given_no_room_for_an_event_that_begins_soon_then_its_host_waits_only_while_another_may_return_to_its_group(
    other: dict[str, Any], waits: bool
) -> None:
    hit, away, down = (host._replace(groups=("web",)) for host in fleet(event(notice=250), count=3))

    plan = make_plan(
        [hit],
        Policy(minimum_in_service="2"),
        NOW,
        rest=[away._replace(**other), down._replace(is_drained=True)],
    )

    assert (plan.batches, list(plan.deferred)) == (([[]], ["h0"]) if waits else ([["h0"]], []))


def test_given_two_that_wait_when_the_time_of_one_has_come_then_it_takes_no_room_of_one_that_is_hit_before() -> None:
    sooner, later, other = fleet(
        event(resources=("vm_0",), notice=700), event(resources=("vm_1",), notice=760), count=3
    )
    later = later._replace(settle_seconds=300, connection_seconds=300)

    plan = make_plan(
        [sooner, later],
        Policy(minimum_in_service="2", urgent_within=0),
        NOW + 400,
        rest=[other],
        deferred={"h0": NOW + 635, "h1": NOW + 370},
    )

    assert (plan.batches, plan.deferred) == ([["h0", "h1"]], {})


def test_given_one_that_waits_for_its_batch_then_its_event_is_not_approved() -> None:
    hosts = at_the_same_time(count=2)

    plan = make_plan(hosts, Policy(minimum_in_service="1"), NOW, rest=[], deferred={"h1": NOW + 600})

    assert approvals(plan, ["h0", "h1"]) == {"h0": ["Reboot-vm_0"]}


def test_given_one_that_waits_when_steps_have_failed_then_it_waits_until_its_event_begins_soon() -> None:
    broken, other = fleet(*(event(resources=(f"vm_{n}",), notice=3000) for n in (0, 1)), count=2)
    rest = [broken._replace(events=(), failed=True)]
    policy = Policy(minimum_in_service="1")

    plan = make_plan([other], policy, NOW, rest=rest, deferred={"h1": NOW + 2600})
    soon = make_plan([other], policy, NOW + 1801, rest=rest, deferred={"h1": NOW + 2600})

    assert (plan.batches, plan.held, plan.deferred) == ([[]], {}, {"h1": NOW + 2600})
    assert plan.why_waiting == {"h1": "steps failed on h0, and handle_events_max_failed is 0"}
    assert (soon.batches, approvals(soon, ["h1"])) == ([["h1"]], {})


@pytest.mark.parametrize("later", [{"events": ()}, {"events": (), "vm_name": None}])
def test_given_an_event_that_came_and_went_before_its_batch_then_its_host_was_hit_while_in_service(
    later: dict[str, Any],
) -> None:
    hit, other = fleet(event(resources=("vm_0",), notice=600), count=2)
    planned = {name: host_plan.events for name, host_plan in make_plan([hit, other], Policy(), NOW).hosts.items()}
    gone = hit._replace(**later)

    def at_its_turn(at: float, host: Host = gone) -> Plan:
        return make_plan([host], Policy(), at, rest=[other], planned=planned)

    assert at_its_turn(NOW + 599).missed == {}
    assert at_its_turn(NOW + 601).missed == {
        "h0": "Reboot Reboot-vm_0, which was to start at 2026-09-19T18:10:00Z, is not listed any more"
    }
    assert at_its_turn(NOW + 601).passed_over == {}
    assert at_its_turn(NOW + 601, gone._replace(leased="another run is at work")).missed == {}
    assert at_its_turn(NOW + 601, hit).missed == {}
    if gone.vm_name is not None:
        assert at_its_turn(NOW + 601, gone._replace(is_drained=True)).missed == {}


def test_given_an_eviction_in_its_batch_then_what_waits_does_not_go_with_it() -> None:
    hosts = fleet(event("Preempt", ("vm_0",), notice=30), event(resources=("vm_1",)), count=3)

    plan = make_plan(hosts, Policy(minimum_in_service="1"), NOW, rest=[], deferred={"h1": NOW + 600})

    assert (plan.batches, plan.deferred) == ([["h0"]], {"h1": NOW + 600})
    assert plan.why_waiting == {"h1": "others of the batch have no time to wait for it"}


def test_given_an_eviction_of_another_group_in_its_batch_then_what_is_beyond_all_room_of_its_group_goes_too() -> None:
    hosts = fleet(event("Preempt", ("vm_0",), notice=30), event(resources=("vm_1", "vm_2")), count=4)
    hosts = [host._replace(groups=("web" if number == 0 else "db",)) for number, host in enumerate(hosts)]

    plan = make_plan(hosts[:3], Policy(minimum_in_service="2"), NOW, rest=hosts[3:])

    assert (plan.batches, plan.held) == ([["h0", "h1", "h2"]], {})


def test_given_a_host_that_goes_without_room_then_one_that_is_asked_for_sooner_stays_in_service() -> None:
    hit, asked, other = fleet(event(resources=("vm_0",), notice=100), count=3)
    asked = asked._replace(demand=Demand(DemandKind.UPDATE, "updates", NOW + 50))

    plan = make_plan([hit, asked], Policy(minimum_in_service="3"), NOW, rest=[other], deferred={"h0": NOW})

    assert (plan.batches, list(plan.held)) == ([["h0"]], ["h1"])


def test_given_an_eviction_of_a_host_that_waits_in_its_batch_then_it_waits_no_more() -> None:
    evicted = event("Preempt", ("vm_0",), notice=30)
    hosts = fleet(evicted, count=3, settle_seconds=0)

    plan = make_plan(hosts[:1], Policy(minimum_in_service="3"), NOW, rest=hosts[1:], deferred={"h0": NOW + 600})

    assert plan.batches == [["h0"]]


def test_given_an_eviction_when_another_host_has_no_room_then_that_waits_for_a_return_all_the_same() -> None:
    evicted, hit, away = fleet(event("Preempt", ("vm_0",), notice=30), event(resources=("vm_1",), notice=250), count=3)
    slow = evicted._replace(settle_seconds=300)

    plan = make_plan([slow, hit], Policy(minimum_in_service="2"), NOW, rest=[away._replace(is_out=True)])

    assert (plan.batches, list(plan.deferred), plan.held) == ([["h0"]], ["h1"], {})


def test_given_a_host_that_is_held_back_and_out_when_another_is_hit_then_it_counts_as_out_of_service() -> None:
    hit, held, other = fleet(event(resources=("vm_0",)), event(resources=("vm_1",)), count=3)
    held = held._replace(held="its clock is wrong", is_out=True)

    plan = make_plan([hit, held, other], Policy(minimum_in_service="2"), NOW)

    assert (plan.batches, set(plan.held)) == ([], {"h0", "h1"})


def test_given_no_room_for_hosts_that_share_an_event_when_only_one_of_them_is_away_then_they_wait_for_nobody() -> None:
    hit, away, down, other = fleet(event(resources=("vm_0", "vm_1"), notice=250))
    rest = [down._replace(is_drained=True), other]

    plan = make_plan([hit, away._replace(is_out=True)], Policy(minimum_in_service="2"), NOW, rest=rest)

    assert (plan.batches, plan.deferred) == ([["h0", "h1"]], {})


def test_given_no_room_when_the_turn_of_a_host_comes_that_is_out_already_then_it_goes() -> None:
    hit, away, other = fleet(event(), count=3, is_out=True)

    plan = make_plan([hit], Policy(minimum_in_service="2"), NOW, rest=[away, other._replace(is_out=False)])

    assert (plan.batches, plan.held) == ([["h0"]], {})


def test_given_two_that_are_hit_at_once_when_the_time_of_one_has_come_then_the_other_waits_for_room() -> None:
    slow, hit, away, other = fleet(*(event(resources=(f"vm_{n}",), notice=900) for n in (0, 1)))
    deferred = {"h0": NOW, "h1": NOW + 600}

    plan = make_plan(
        [slow, hit], Policy(minimum_in_service="2"), NOW, rest=[away._replace(is_out=True), other], deferred=deferred
    )

    assert (plan.batches, plan.deferred, plan.held) == ([["h0"]], {"h1": NOW + 600}, {})


@pytest.mark.parametrize(("notice", "batch"), [(78, ["h0", "h1"]), (900, ["h1"])])
def test_given_one_whose_time_has_come_when_another_would_be_hit_before_it_then_that_goes_too_and_no_later_one(
    notice: float, batch: list[str]
) -> None:
    hosts = fleet(event(resources=("vm_0",), notice=notice), event(resources=("vm_1",), notice=80), count=4)
    policy = Policy(minimum_in_service="3", urgent_within=1)

    plan = make_plan(hosts[:2], policy, NOW, rest=hosts[2:], deferred={"h1": NOW})

    assert plan.batches == [batch]


def test_given_others_that_wait_then_connections_get_only_the_time_in_which_the_host_can_return() -> None:
    hosts = at_the_same_time(**SLOW)

    plan = make_plan(hosts, Policy(minimum_in_service="2"), NOW, rest=[], deferred={"h1": NOW + 775, "h2": NOW + 775})

    # Half a minute for the service, ten minutes in the list, and the way back.
    assert plan.hosts["h0"].drained_by == NOW + 775 - 30 - 600 - 20


def test_given_others_that_leave_before_the_host_can_return_then_it_is_prepared_by_then() -> None:
    hosts = at_the_same_time(**SLOW)

    plan = make_plan(hosts, Policy(minimum_in_service="2"), NOW, rest=[], deferred={"h1": NOW + 700, "h2": NOW + 700})

    assert plan.hosts["h0"].drained_by == NOW + 700 - 30


def test_given_others_that_no_haste_would_help_then_connections_have_their_time() -> None:
    hosts = at_the_same_time(**SLOW)

    plan = make_plan(hosts, Policy(minimum_in_service="2"), NOW, rest=[], deferred={"h1": NOW + 60, "h2": NOW + 60})

    assert plan.hosts["h0"].drained_by == NOW + 870 - 90


@pytest.mark.parametrize(
    ("details", "host", "unprepared"),
    [
        ({"status": "Started"}, {}, True),
        ({}, {}, False),
        ({"status": "Started"}, {"needs_restore": True}, False),
        ({"status": "Started"}, {"is_out": True}, False),
        ({"status": "Started"}, {"agent": AGENT}, False),
    ],
)
def test_given_an_event_that_has_started_then_a_host_that_is_still_in_service_was_hit_unprepared(
    details: dict[str, Any], host: dict[str, Any], unprepared: bool
) -> None:
    plan = make_plan([Host("h0", "vm_0", (event(**details),), **host), Host("h1", "vm_1")], Policy(), NOW)

    assert plan.hosts["h0"].unprepared == unprepared


BLUE = "/subscriptions/s/resourceGroups/blue/providers/Microsoft.Compute/virtualMachines/web_0"
GREEN = BLUE.replace("blue", "green")


@pytest.mark.parametrize("ids", [("", ""), (BLUE, ""), (BLUE, BLUE.upper())])
def test_given_two_hosts_that_claim_to_be_one_vm_then_both_are_held_back_and_the_others_continue(
    ids: tuple[str, str],
) -> None:
    reboot, freeze = event(resources=("web_0",)), event("Freeze", ("vm_2",))
    hosts = [
        Host("h0", "WEB_0", (reboot,), resource_id=ids[0]),
        Host("h1", "web_0", (reboot,), resource_id=ids[1]),
        Host("h2", "vm_2", (freeze,)),
        Host("h3", "vm_3"),
    ]

    plan = make_plan(hosts, Policy(minimum_in_service="2"), NOW)

    assert plan.batches == [["h2"]]
    assert list(plan.held) == ["h0", "h1"]
    assert {why.partition(": ")[0] for why in plan.held.values()} == {
        "h0 and h1 both report to be the VM WEB_0",
        "h0 and h1 both report to be the VM web_0",
    }
    assert approvals(plan, ["h0", "h1", "h2"]) == {"h2": ["Freeze-vm_2"]}
    assert plan.groups == ("all: 3 of 3 in service, 2 must stay",)


def test_given_two_vms_of_one_name_in_two_resource_groups_then_each_is_taken_through_its_own_event() -> None:
    blue = Host("h0", "web_0", (event(resources=("web_0",), event_id="A"),), resource_id=BLUE)
    green = Host("h1", "web_0", (event(resources=("web_0",), event_id="B", notice=950),), resource_id=GREEN)

    plan = make_plan([blue, green], Policy(minimum_in_service="0"), NOW)

    assert plan.batches == [["h0", "h1"]]
    assert approvals(plan, ["h0", "h1"]) == {"h0": ["A"], "h1": ["B"]}
    assert approvals(plan, ["h0"]) == {"h0": ["A"]}
    assert (plan.held, plan.remarks) == ({}, ())


def test_given_one_vm_twice_and_nothing_announced_then_it_is_remarked_and_counts_once() -> None:
    plan = make_plan([Host("h0", "web_0"), Host("h1", "WEB_0"), Host("h2", "vm_2")], Policy(), NOW)

    assert [remark.partition(":")[0] for remark in plan.remarks] == ["h0", "h1"]
    assert (plan.held, plan.groups) == ({}, ("all: 2 of 2 in service, 1 must stay",))


def test_given_a_balancer_then_it_is_left_alone_and_counts_in_no_group() -> None:
    shared, own = event(resources=("vm_0", "lb"), event_id="A", notice=900), event(resources=("lb",), event_id="B")
    hosts = [
        Host("h0", "vm_0", (shared,)),
        Host("h1", "vm_1"),
        Host("lb", "lb", (shared, own), groups=(), skip_reason="it balances"),
    ]

    plan = make_plan(hosts, Policy(), NOW)

    assert plan.batches == [["h0"]]
    assert plan.passed_over == {"lb": "it balances"}
    assert plan.remarks == ("lb: it balances",)
    assert plan.groups == ("all: 2 of 2 in service, 1 must stay",)
    assert [event_plan.withheld for event_plan in plan.event_plans] == ["it also hits lb, which is left alone"]


def test_given_a_host_that_nothing_handles_when_it_is_hit_then_that_is_told_and_others_are_prepared() -> None:
    why = "not handled: no agent"
    shared = event(resources=("vm_0", "vm_1"), event_id="A", notice=900)
    tolerated = event("Freeze", ("vm_2",), event_id="B", duration=5)
    hosts = [
        Host("h0", "vm_0", (shared,)),
        Host("h1", "vm_1", (shared,), groups=(), skip_reason=why, unmanaged=why),
        Host("h2", "vm_2", (tolerated,), groups=(), skip_reason=why, unmanaged=why),
        Host("h3", "vm_3", groups=(), skip_reason=why, unmanaged=why),
    ]

    plan = make_plan(hosts, Policy(minimum_in_service="0", tolerated_freeze=9), NOW)

    assert (plan.batches, plan.passed_over) == ([["h0"]], {})
    assert plan.unhandled == {"h1": "Reboot A: not handled: no agent"}
    assert plan.groups == ("all: 1 of 1 in service, 0 must stay",)
    assert plan.remarks == ("h1, h2, h3: not handled: no agent",)
    assert plan.involved == ["h0", "h1"]
    assert [one.withheld for one in plan.event_plans] == ["it also hits vm_1, which is left alone"]
    report = describe_results(plan, {})
    assert report.by_host["h1"] == ["Reboot A: not handled: no agent"]
    assert "h1: FAILED: Reboot A: not handled: no agent" in report.lines
    assert not {"h2", "h3"} & set(report.hosts)


def clock(now: float, ahead: float) -> ClockReading:
    """The clock of a host that answered within two seconds, and is so many seconds ahead."""
    return ClockReading(asked_at=now, answered_at=now + 2, said=now + 1 + ahead)


@pytest.mark.parametrize("ahead", [-700.0, -32.0, 32.0, 700.0])
def test_given_a_clock_that_differs_from_those_of_half_of_the_hosts_then_the_run_is_refused_and_both_times_named(
    ahead: float,
) -> None:
    hosts = [
        host._replace(clock=clock(NOW, (0, ahead, 2 * ahead, 0)[number])) for number, host in enumerate(fleet(event()))
    ]

    with pytest.raises(PlanError, match=r"clock is wrong: h1 .* by its clock when .* 2 of the 4 hosts") as why:
        make_plan([*hosts, Host("h4")], Policy(), NOW)
    assert as_utc(NOW + 1 + ahead) in str(why.value)


@pytest.mark.parametrize("ahead", [-32.0, -700.0, 32.0])
def test_given_one_clock_that_differs_then_its_host_is_held_back_and_the_others_continue(ahead: float) -> None:
    hosts = [
        host._replace(clock=clock(NOW, 0 if number else ahead))
        for number, host in enumerate(
            fleet(
                event(resources=("vm_0", "vm_1"), event_id="A"),
                event(resources=("vm_2",), event_id="B"),
                event(resources=("vm_3",), event_id="C", status="Started"),
                count=5,
            )
        )
    ]

    plan = make_plan(hosts, Policy(minimum_in_service="0"), NOW)

    assert plan.batches == [["h3", "h2"]]
    assert plan.held["h0"].startswith("it was %s by its clock when" % as_utc(NOW + 1 + ahead))
    assert plan.held["h1"].startswith("its event also hits h0, which is held back: it was")
    assert approvals(plan, [host.name for host in hosts]) == {"h2": ["B"]}
    assert plan.remarks == ("h0: %s" % plan.held["h0"],)
    again = make_plan(hosts[:3], Policy(minimum_in_service="0"), NOW, rest=hosts[3:])
    assert (again.batches, list(again.held)) == ([["h2"]], ["h0", "h1"])


@pytest.mark.parametrize("ahead", [-30.0, 0.0, 30.0])
def test_given_clocks_that_differ_by_what_is_tolerated_then_nothing_is_reported(ahead: float) -> None:
    hosts = [host._replace(clock=clock(NOW, ahead)) for host in fleet(event())]

    assert make_plan(hosts, Policy(), NOW).remarks == ()


def test_given_a_host_that_is_out_when_its_clock_is_wrong_then_it_is_restored_unless_it_is_hit() -> None:
    idle = Host("h0", "vm_0", needs_restore=True, clock=clock(NOW, 700))
    hit = Host("h1", "vm_1", (event(resources=("vm_1",)),), needs_restore=True, clock=clock(NOW, 700))
    others = [host._replace(clock=clock(NOW, 0)) for host in fleet(count=6)[2:]]

    assert make_plan([idle, hit, *others], Policy(), NOW).batches == [["h0"]]


@pytest.mark.parametrize("minimum", ["most", "-1", "101%", "1.5", "", "%"])
def test_given_an_invalid_minimum_then_it_is_named_with_the_remedy(minimum: str) -> None:
    with pytest.raises(PlanError, match=r"handle_events_minimum_in_service: .* write for example 2, or 50%"):
        make_plan(fleet(), Policy(minimum_in_service=minimum), NOW)


_COUNT = 6
_NOW = datetime(2026, 9, 19, 18, 0, tzinfo=UTC).timestamp()


@st.composite
def _fleets(draw: st.DrawFn) -> list[Host]:
    """Fleets with any events, of which some hit VMs of other fleets and some hosts do not answer."""
    names = [f"vm_{number}" for number in range(_COUNT + 1)]
    starts = [datetime.fromtimestamp(_NOW + notice, UTC) for notice in (600, 900, 1500, 20, 86400)]
    events = [
        Event(
            event_id=f"E{number}",
            event_type=draw(st.sampled_from(["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate", "Novelty"])),
            event_status=draw(st.sampled_from(["Scheduled", "Scheduled", "Started"])),
            resources=tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))),
            duration_in_seconds=draw(st.sampled_from([-1, 0, 5, 60])),
            not_before=draw(st.sampled_from([*starts, None])),
        )
        for number in range(draw(st.integers(0, 5)))
    ]
    return [
        Host(
            f"h{number}",
            draw(st.sampled_from([f"VM_{number}", f"VM_{number}", f"VM_{number}", None])),
            tuple(event for event in events if f"vm_{number}" in event.resources),
            draw(st.booleans()),
        )
        for number in range(_COUNT)
    ]


@given(hosts=_fleets(), minimum=st.integers(0, _COUNT))
def test_given_any_fleet_then_each_host_to_be_handled_or_restored_is_in_one_batch(
    hosts: list[Host], minimum: int
) -> None:
    plan = make_plan(hosts, Policy(minimum_in_service=str(minimum)), _NOW)

    planned = [name for batch in plan.batches for name in batch]
    met = {name for event_plan in plan.event_plans if not event_plan.skip_reason for name in event_plan.hosts}
    left = {host.name for host in hosts if host.needs_restore and host.vm_name and host.name not in plan.held}
    assert sorted(planned) == sorted(met | left)
    assert sorted(plan.hosts) == sorted(planned)
    assert [] not in plan.batches


@given(hosts=_fleets(), minimum=st.integers(0, _COUNT))
def test_given_any_fleet_then_hosts_of_one_event_are_in_one_batch(hosts: list[Host], minimum: int) -> None:
    plan = make_plan(hosts, Policy(minimum_in_service=str(minimum)), _NOW)

    for event_plan in plan.event_plans:
        if not event_plan.skip_reason:
            assert len([batch for batch in plan.batches if set(batch) & set(event_plan.hosts)]) == 1


@given(hosts=_fleets(), minimum=st.integers(0, _COUNT))
def test_given_any_fleet_then_a_later_batch_of_several_events_keeps_the_minimum_but_for_what_the_platform_takes(
    hosts: list[Host], minimum: int
) -> None:
    plan = make_plan(hosts, Policy(minimum_in_service=str(minimum)), _NOW)

    capacity = len(hosts) - len(plan.unanswered) - minimum
    for batch in plan.batches[1:]:
        in_turn = [name for name in batch if name not in plan.deferred]
        assert len(in_turn) <= capacity or _are_joined(plan, in_turn)


@given(hosts=_fleets(), minimum=st.integers(0, _COUNT), seconds=st.sampled_from([0, 30, 300]))
def test_given_any_fleet_then_no_batch_begins_too_late_for_an_event_of_its_hosts(
    hosts: list[Host], minimum: int, seconds: float
) -> None:
    policy = Policy(minimum_in_service=str(minimum))
    hosts = [host._replace(settle_seconds=seconds / 10, connection_seconds=seconds) for host in hosts]
    plan = make_plan(hosts, policy, _NOW)

    begin = _NOW
    for number, batch in enumerate(plan.batches):
        starts = [
            event.not_before.timestamp()
            for name in batch
            for event in plan.hosts[name].events
            if event.is_scheduled and event.not_before is not None
        ]
        assert number == 0 or all(begin < start for start in starts)
        # It cannot be over sooner than this.
        begin += LISTED_FOR if any(plan.hosts[name].events for name in batch) else 0


@given(
    hosts=_fleets(), minimum=st.integers(0, _COUNT), later=st.sampled_from([0, 100, 400, 700]), out=st.integers(0, 3)
)
def test_given_any_batch_then_what_waits_goes_only_if_the_minimum_is_kept_or_no_time_is_left(
    hosts: list[Host], minimum: int, later: float, out: int
) -> None:
    policy = Policy(minimum_in_service=str(minimum))
    plan = make_plan(hosts, policy, _NOW)
    now = _NOW + later
    for batch in plan.batches:
        waiting = [host for host in hosts if host.name in batch and host.name in plan.deferred]
        others = [host for host in hosts if host not in waiting]
        rest = [host._replace(is_out=number < out, events=()) for number, host in enumerate(others)]

        turn = make_plan(waiting, policy, now, rest, plan.deferred)

        went = [name for name in turn.hosts if turn.hosts[name].events]
        in_turn = [
            name
            for name in went
            if plan.deferred[name] > now and all(event.is_scheduled for event in turn.hosts[name].events)
        ]
        left = sum(host.is_in_service and host.name not in went for host in [*waiting, *rest])
        assert not in_turn or left >= minimum or turn.shortfalls or _are_joined(turn, in_turn)
        assert {host.name for host in waiting} == set(turn.hosts) | set(turn.deferred) | set(turn.held)
        assert turn.held == {}


def _are_joined(plan: Plan, batch: Sequence[str]) -> bool:
    """Whether hosts are connected by shared events, or by Terminates, which all begin together here."""
    met = [event_plan for event_plan in plan.event_plans if not event_plan.skip_reason]
    groups = [set(event_plan.hosts) for event_plan in met]
    groups.append(
        {name for event_plan in met if event_plan.event.event_type == "Terminate" for name in event_plan.hosts}
    )
    reached = {batch[0]}
    for _host in batch:
        reached |= {name for group in groups if group & reached for name in group}
    return reached.issuperset(batch)


@given(hosts=_fleets(), ready=st.sets(st.sampled_from([f"h{number}" for number in range(_COUNT)])))
def test_given_any_fleet_then_an_event_is_approved_once_and_only_if_all_its_vms_are_ready(
    hosts: list[Host], ready: set[str]
) -> None:
    plan = make_plan(hosts, Policy(), _NOW)

    chosen = [event_id for ids in approvals(plan, ready).values() for event_id in ids]

    assert len(chosen) == len(set(chosen))
    ready_vms = {host.vm_name.lower() for host in hosts if host.name in ready and host.vm_name}
    for event_plan in plan.event_plans:
        if event_plan.event.event_id in chosen:
            assert event_plan.event.event_status == "Scheduled"
            assert ready_vms.issuperset(event_plan.event.resources)


@given(hosts=_fleets())
def test_given_any_fleet_then_the_order_of_events_does_not_depend_on_that_of_the_hosts(hosts: list[Host]) -> None:
    forwards = make_plan(hosts, Policy(), _NOW).event_plans
    backwards = make_plan(hosts[::-1], Policy(), _NOW).event_plans

    assert [event_plan.event for event_plan in forwards] == [event_plan.event for event_plan in backwards]


def in_vain(event: Event, seconds_ago: float) -> Attempt:
    """Hosts were taken out for this."""
    return Attempt(event.event_id.lower(), seconds_ago, "h1: web did not stop")


def test_given_a_shared_event_that_failed_lately_then_its_hosts_stay_in_service_and_the_reason_is_reported() -> None:
    shared = event(resources=("vm_0", "vm_1"), notice=3000)
    hosts = fleet(shared)
    hosts[1] = hosts[1]._replace(tried=(in_vain(shared, 9000), in_vain(shared, 300)))

    plan = make_plan(hosts, Policy(minimum_in_service="0"), NOW)

    assert plan.batches == []
    reason = (
        "its hosts were drained in vain 300 s ago, because of h1: web did not stop: next attempt in 1500 s, or at once"
        " with handle_events_retry_after=0"
    )
    assert plan.passed_over == {"h0": reason, "h1": reason}
    assert plan.event_plans[0].skip_reason == reason


@pytest.mark.parametrize(
    ("seconds_ago", "notice", "retry_after"),
    [(1800, 3000, 1800), (300, 3000, 0), (300, 1199, 1800)],
    ids=["long ago", "asked for", "begins soon"],
)
def test_given_an_event_that_was_tried_without_success_when_it_is_time_to_try_again_then_its_hosts_are_taken_out(
    seconds_ago: float, notice: float, retry_after: float
) -> None:
    reboot = event(notice=notice)
    hosts = [Host("h0", "vm_0", (reboot,), tried=(in_vain(reboot, seconds_ago),))]

    assert make_plan(hosts, Policy(retry_after=retry_after), NOW).batches == [["h0"]]


def test_given_an_event_that_was_approved_in_part_when_it_was_tried_without_success_before_then_it_is_followed() -> (
    None
):
    reboot = event(notice=3000)
    hosts = [
        Host("h0", "vm_0", (reboot,), needs_restore=True, approving=(reboot.event_id,), tried=(in_vain(reboot, 300),))
    ]

    assert make_plan(hosts, Policy(), NOW).hosts["h0"].remove


def test_given_a_host_whose_other_event_is_handled_then_an_earlier_failure_is_no_reason_to_skip_it() -> None:
    reboot, freeze = event(notice=3000), event("Freeze", notice=800)
    hosts = [Host("h0", "vm_0", (reboot, freeze), tried=(in_vain(reboot, 300),))]

    plan = make_plan(hosts, Policy(), NOW)

    assert plan.passed_over == {}
    assert plan.hosts["h0"].events == (freeze,)


def test_given_a_step_that_failed_then_all_hosts_of_its_event_remember_what_went_wrong() -> None:
    shared = event(resources=("vm_0", "vm_1"), notice=3000)
    alone, outside = event(resources=("vm_2",), notice=3000), event("Redeploy", ("vm_3", "vm_9"), notice=1000)
    far = event("Freeze", ("vm_3",), notice=9000)
    plan = make_plan(fleet(shared, alone, outside, far), Policy(minimum_in_service="0"), NOW)
    failures = {"h0": [], "h1": ["first", "web did not stop"], "h2": ["no answer"], "h3": ["failed"]}

    found = attempts(plan, failures, [alone.event_id.upper()])

    # What may have been approved is no attempt, nor is what nobody wanted to approve.
    assert found == {
        "h0": {shared.event_id: "h1: web did not stop"},
        "h1": {shared.event_id: "h1: web did not stop"},
        "h2": {alone.event_id: ""},
        "h3": {outside.event_id: ""},
    }


@pytest.mark.parametrize("notice", [900, 3000])
def test_given_an_event_that_may_hit_a_silent_host_then_its_hosts_go_in_one_batch_and_are_approved_there(
    notice: float,
) -> None:
    shared = event(resources=("vm_0", "vm_1"), notice=notice)
    late = Host("h1", "vm_1", (shared,))
    hosts = [Host("h0", "vm_0", (shared,)), Host("h1"), *fleet(count=4)[2:]]

    plan = make_plan(hosts, Policy(), NOW)

    assert plan.turns == [["h0", "h1"]]
    assert (plan.batches, plan.unanswered, plan.event_plans[0].waits_for_answers) == ([["h0"]], ["h1"], True)
    turn = make_plan([hosts[0], late], Policy(), NOW + 60, rest=hosts[2:])
    assert turn.batches == [["h0", "h1"]]
    assert approvals(turn, ["h0", "h1"]) == {"h0": [shared.event_id]}


def test_given_a_host_that_does_not_answer_when_asked_again_either_then_a_far_event_is_left_alone() -> None:
    hosts = [Host("h0", "vm_0", (event(resources=("vm_0", "vm_1"), notice=3000),)), Host("h1")]

    turn = make_plan(hosts, Policy(), NOW, rest=[])

    assert turn.batches == [[]]
    assert turn.passed_over == {
        "h0": "it is not approved, because it also hits vm_1, not in the play or not answering, and does not begin"
        " within 1200 s"
    }


def test_given_an_event_beyond_all_room_that_may_hit_a_silent_host_then_both_go_in_one_batch_alone() -> None:
    hosts = fleet(event(resources=("vm_0", "vm_1", "vm_2")), count=4)
    hosts[1] = Host("h1")

    assert make_plan(hosts, Policy(minimum_in_service="3"), NOW).turns == [["h0", "h2", "h1"]]


def test_given_an_urgent_event_when_another_may_hit_a_silent_host_then_the_other_goes_in_a_later_batch() -> None:
    shared = event(resources=("vm_0", "vm_1"), notice=3000)
    hosts = fleet(event("Preempt", ("vm_2",), notice=30), shared, count=6)
    hosts[1] = Host("h1")

    assert make_plan(hosts, Policy(), NOW).turns == [["h2"], ["h0", "h1"]]


@pytest.mark.parametrize(
    "other",
    [{"events": (event("Preempt", ("vm_2",), notice=30),)}, {"needs_restore": True}],
)
def test_given_an_event_that_cannot_wait_for_the_first_batch_then_it_joins_that_and_a_silent_host_does_not(
    other: dict[str, Any],
) -> None:
    hosts = fleet(event(resources=("vm_0", "vm_1"), notice=900), count=6)
    hosts[1:3] = [Host("h1"), hosts[2]._replace(**other, return_seconds=2000)]

    assert make_plan(hosts, Policy(), NOW).turns == [["h2", "h0"], ["h1"]]


def test_given_an_event_that_begins_soon_and_may_hit_a_silent_host_then_they_go_together() -> None:
    hosts = fleet(event(resources=("vm_0", "vm_1"), notice=310), count=6, settle_seconds=150)
    hosts[1] = Host("h1")

    assert make_plan(hosts, Policy(), NOW).turns == [["h0", "h1"]]


def test_given_two_events_that_may_hit_a_silent_host_then_one_beyond_all_room_of_its_group_goes_with_the_other() -> (
    None
):
    hosts = fleet(event(resources=("vm_0", "vm_1")), event(resources=("vm_2", "vm_3", "vm_1"), notice=3000), count=6)
    hosts = [host._replace(groups=("web" if number in (0, 4, 5) else "db",)) for number, host in enumerate(hosts)]
    hosts[1] = Host("h1", groups=("web",))

    assert make_plan(hosts, Policy(minimum_in_service="1"), NOW).turns == [["h0", "h2", "h3", "h1"]]


def test_given_a_host_that_cannot_wait_for_answers_then_no_host_waits_for_them() -> None:
    shared, sooner = event(resources=("vm_0", "vm_1"), notice=900), event(resources=("vm_2",), notice=310)
    hosts = fleet(shared, sooner, count=6, settle_seconds=150)
    hosts[1] = Host("h1")

    assert make_plan(hosts, Policy(), NOW).turns == [["h2", "h0"], ["h1"]]


@pytest.mark.parametrize(("notice", "later"), [(900, 3300), (9000, 9500)])
def test_given_events_that_may_hit_a_silent_host_then_others_go_with_them_as_there_is_room(
    notice: float, later: float
) -> None:
    shared, one = event(resources=("vm_0", "vm_1")), event(resources=("vm_2",), notice=notice)
    hosts = fleet(shared, one, event(resources=("vm_3",), notice=later), count=6)
    hosts[1] = Host("h1")

    assert make_plan(hosts, Policy(approve_within=86400), NOW).turns == [["h0", "h2", "h1"], ["h3"]]


def test_given_events_that_may_hit_a_silent_host_then_only_that_host_is_expected_to_be_in_service() -> None:
    hosts = fleet(*(event(resources=(f"vm_{n}", "vm_1"), notice=900 + 9000 * n) for n in (0, 2, 3)), count=8)
    hosts[1] = Host("h1")
    hosts[6:] = [host._replace(is_drained=True) for host in hosts[6:]]

    assert make_plan(hosts, Policy(approve_within=86400), NOW).turns == [["h0", "h2", "h1"], ["h3"]]


def test_given_an_event_that_hits_a_host_of_another_batch_then_it_is_not_approved_for_that_reason() -> None:
    shared = event(resources=("vm_0", "vm_1"))
    late = Host("h1", "vm_1", (shared,))

    turn = make_plan([late], Policy(), NOW, rest=[Host("h0", "vm_0", (shared,))])

    assert turn.event_plans[0].withheld == "it also hits vm_0, which is in another batch: run again"


def test_given_a_host_on_which_nothing_is_done_and_nothing_confirms_then_it_is_drained_and_not_approved() -> None:
    hosts = fleet(event(resources=("vm_0",), notice=600), is_prepared=False)

    plan = make_plan(hosts, Policy(), NOW)

    assert plan.hosts["h0"].remove
    assert (
        "nothing is stopped on h0 and nothing confirms that it is out of rotation: set" in plan.event_plans[0].withheld
    )
    assert approvals(plan, ["h0"]) == {}


def test_given_a_policy_that_says_when_ready_for_such_an_event_then_it_is_approved() -> None:
    hosts = fleet(event(resources=("vm_0",), notice=600), is_prepared=False)
    said = {"match": {"event_types": ["Reboot"]}, "approve": "when_ready"}

    for policies, approved in (([said], True), ([{"match": {}, "approve_within": 3600}], False)):
        plan = make_plan(hosts, read_policy({"policies": policies}), NOW)
        assert bool(approvals(plan, ["h0"])) == approved


def test_given_an_event_that_an_earlier_run_has_seen_then_policies_go_by_the_notice_that_there_was() -> None:
    reboot = event(resources=("vm_0",), notice=600)
    policy = read_policy({"policies": [{"match": {"notice_above": 800}, "approve": "never"}]})
    seen = {reboot.event_id.lower(): 300.0}

    for of_host, approved in (({}, True), ({"other": 300.0}, True), (seen, False)):
        assert bool(approvals(make_plan(fleet(reboot, seen=of_host), policy, NOW), ["h0"])) == approved


@pytest.mark.parametrize(
    ("details", "removes", "first"),
    [
        ({}, True, ["h0", "h1", "h2"]),
        # It leaves no gap that a return would have to wait for.
        ({"is_out": True}, True, ["h0", "h1"]),
        ({}, False, ["h0", "h1"]),
    ],
)
def test_given_hosts_that_return_first_then_whoever_cannot_wait_until_those_have_left_and_these_are_back_goes_too(
    details: dict[str, Any], removes: bool, first: list[str]
) -> None:
    def hit(begins_in: float, remove: bool = True) -> HostPlan:
        return HostPlan(
            "vm", (event(),), False, remove, True, NOW + 100, NOW + 400, False, False, begins_by=NOW + begins_in
        )

    hosts = fleet(return_seconds=100.0)
    by_name = {host.name: host for host in (hosts[0], hosts[1]._replace(**details), *hosts[2:])}
    returning = hit(0)._replace(events=())
    plans = {"h0": returning, "h1": hit(99, removes), "h2": hit(499), "h3": hit(5000)}
    batch = Plan(batches=[], hosts=plans, event_plans=[], unanswered=[], held={}, shortfalls=[], turns=[])

    assert who_goes_first(batch, by_name, NOW) == first
    assert who_goes_first(batch._replace(hosts={"h0": returning}), by_name, NOW) == []
    assert who_goes_first(batch._replace(hosts={"h3": hit(0)}), by_name, NOW) == []
