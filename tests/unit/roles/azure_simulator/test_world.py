# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world: the lives of events, who is notified, what an approval does."""

from __future__ import annotations

from typing import Any

import pytest
from azure_simulator.events import LIVES, Event, EventSpec
from azure_simulator.reading import Invalid
from azure_simulator.world import DISABLE_AFTER, Change, Refused, UnknownEvent, World

from .conftest import make_world, pass_time


def announce(world: World, event_type: str, *resources: str, **details: Any) -> Event:
    life = LIVES[event_type]._replace(
        **{key: details.pop(key) for key in list(details) if key in LIVES[event_type]._fields}
    )
    return world.create(EventSpec(event_type, resources, life, **details))


def told(world: World, vm: str) -> list[tuple[str, str]]:
    """What a VM's document says: event id and status."""
    world.knock(vm)
    return [(notice.event_id, notice.status) for notice in world.feed(vm).notices]


SETS = {
    "vms": [
        {"name": "set_{0..2}", "address": "127.0.77.0/28", "scale_set": "set"},
    ]
}
ZONES = {
    "vms": [
        {"name": "z1_{0..1}", "address": "127.0.77.0/28", "scale_set": "set", "zone": "1"},
        {"name": "z2_0", "address": "127.0.77.30", "scale_set": "set", "zone": "2"},
    ]
}

# -- a recommendation -----------------------------------------------------------------------


def test_given_a_recommendation_when_approved_then_nothing_starts_and_it_is_followed_by_nothing() -> None:
    world = make_world()
    event = announce(world, "SpotRebalanceRecommendation", "web_0", notice=60, linger=300)
    world.approve("web_0", [event])

    pass_time(world, 299)
    assert told(world, "web_0") == [(event.event_id, "Scheduled")]
    assert world.feed("web_0").notices[0].not_before is None
    pass_time(world, 1)
    assert (event.started, told(world, "web_0"), world.vms["web_0"].state) == (None, [], "running")
    assert list(world.events.values()) == [event]


@pytest.mark.parametrize("is_withdrawn", [False, True])
def test_given_a_recommendation_that_becomes_an_eviction_then_that_follows_unless_it_is_withdrawn(
    is_withdrawn: bool,
) -> None:
    world = make_world()
    event = announce(world, "SpotRebalanceRecommendation", "web_0", becomes="Preempt", notice=60, linger=300)
    pass_time(world, 59)
    if is_withdrawn:
        world.withdraw(event.event_id)

    pass_time(world, 1)
    assert [one.event_type for one in world.events.values() if one is not event] == ["Preempt"] * (not is_withdrawn)
    pass_time(world, 40)
    assert world.vms["web_0"].deleted is not is_withdrawn


# -- an event's life ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event_type", "notice"),
    [("Freeze", 900), ("Reboot", 900), ("Redeploy", 600), ("Preempt", 30), ("Terminate", 300)],
)
def test_given_no_other_wish_when_announced_then_an_event_gives_its_documented_minimum_notice(
    event_type: str, notice: float
) -> None:
    world = make_world()
    event = announce(world, event_type, "web_0")

    pass_time(world, notice - 1)
    assert event.status == "Scheduled"
    pass_time(world, 1)
    assert (event.status, event.started) == ("Started", event.not_before)


@pytest.mark.parametrize(
    ("event_type", "state"), [("Freeze", "frozen"), ("Reboot", "rebooting"), ("Redeploy", "redeploying")]
)
def test_given_a_passing_event_when_it_starts_then_its_vms_are_hit_for_the_impact_and_it_lingers(
    event_type: str, state: str
) -> None:
    world = make_world()
    event = announce(world, event_type, "web_0", impact=20, linger=600, notice=100)

    pass_time(world, 100)
    assert [world.vms[name].state for name in ("web_0", "web_1")] == [state, "running"]
    pass_time(world, 20)
    assert (world.vms["web_0"].state, event.status) == ("running", "Started")
    pass_time(world, 579)
    assert told(world, "web_1") == [(event.event_id, "Started")]
    pass_time(world, 1)
    assert (event.status, told(world, "web_1")) == ("Completed", [])


@pytest.mark.parametrize("event_type", ["Preempt", "Terminate"])
def test_given_a_deleting_event_when_its_impact_is_over_then_its_vm_is_gone_for_good(event_type: str) -> None:
    world = make_world()
    announce(world, event_type, "web_0", notice=30, impact=10, linger=30)

    pass_time(world, 39)
    assert world.vms["web_0"].state == "running"
    pass_time(world, 1)
    assert world.vms["web_0"].state == "deleted"
    pass_time(world, DISABLE_AFTER)
    assert world.vms["web_0"].state == "deleted"


def test_given_a_deletion_that_takes_no_time_when_it_starts_then_its_vm_is_gone() -> None:
    world = make_world()
    announce(world, "Terminate", "web_0", born_started=True, impact=0)
    assert world.vms["web_0"].state == "deleted"


def test_given_a_vm_that_is_deleted_when_something_would_be_done_to_it_then_only_the_others_are_hit() -> None:
    world = make_world()
    announce(world, "Reboot", "web_0", "web_1", notice=10)
    done: list[str] = []
    world.replace_disk("web_0", 5, lambda: done.append("disk"))
    world.remove_vm("web_0")
    changes: list[Change] = []
    world.listen(changes.append)
    pass_time(world, 10)
    assert ([change.vm for change in changes if change.kind == "impact"], done) == (["web_1"], ["disk"])


def test_given_several_impacts_when_they_overlap_then_the_gravest_shows() -> None:
    world = make_world()
    announce(world, "Freeze", "web_0", notice=0, impact=100)
    announce(world, "Redeploy", "web_0", notice=10, impact=20)
    pass_time(world, 10)
    assert world.vms["web_0"].state == "redeploying"
    pass_time(world, 20)
    assert world.vms["web_0"].state == "frozen"


def test_given_a_reboot_that_becomes_a_freeze_when_it_starts_then_the_vm_is_merely_frozen() -> None:
    world = make_world()
    event = announce(world, "Reboot", "web_0", becomes="Freeze", notice=5)
    world.knock("web_0")
    pass_time(world, 5)
    assert world.vms["web_0"].state == "frozen"
    assert world.feed("web_0").notices[0].event_type == "Reboot"
    assert event.impact_type == "Freeze"


def test_given_no_impact_when_an_event_starts_then_its_vm_keeps_running() -> None:
    world = make_world()
    event = announce(world, "Freeze", "web_0", impact=0, notice=5)
    pass_time(world, 5)
    assert (world.vms["web_0"].state, event.status, event.impact_started) == ("running", "Started", None)


def test_given_an_event_born_started_when_announced_then_it_was_never_scheduled() -> None:
    world = make_world()
    world.knock("web_0")
    event = announce(world, "Reboot", "web_0", born_started=True)
    notice = world.feed("web_0").notices[0]
    assert (notice.status, notice.not_before) == ("Started", None)
    assert [what for _at, what in event.history] == ["Started"]
    assert world.vms["web_0"].state == "rebooting"


def test_given_a_scheduled_event_when_withdrawn_then_it_is_no_longer_listed_and_never_starts() -> None:
    world = make_world()
    event = announce(world, "Preempt", "web_0")
    world.withdraw(event.event_id.lower())
    assert (event.status, told(world, "web_0")) == ("Canceled", [])
    pass_time(world, 100)
    assert (event.status, event.started, world.vms["web_0"].state) == ("Canceled", None, "running")


def test_given_a_started_event_when_withdrawn_then_it_is_refused() -> None:
    world = make_world()
    event = announce(world, "Reboot", "web_0", born_started=True)
    with pytest.raises(Refused, match="only a Scheduled one"):
        world.withdraw(event.event_id)
    with pytest.raises(UnknownEvent):
        world.withdraw("F0F0F0F0-0000-4000-8000-000000000000")


def test_given_a_vm_that_is_deleted_when_other_events_wait_for_it_alone_then_they_are_canceled() -> None:
    world = make_world()
    announce(world, "Terminate", "web_0", born_started=True, impact=10)
    alone = announce(world, "Reboot", "web_0")
    shared = announce(world, "Reboot", "web_0", "web_1")
    pass_time(world, 10)
    assert (alone.status, shared.status) == ("Canceled", "Scheduled")


def test_given_time_that_jumps_when_things_come_due_then_each_happens_at_its_own_instant() -> None:
    world = make_world()
    begin = world.now
    event = announce(world, "Reboot", "web_0", notice=100, impact=30, linger=600)
    pass_time(world, 10_000)
    assert [event.started, event.impact_started, event.impact_ended, event.ended] == [
        begin + 100,
        begin + 100,
        begin + 130,
        begin + 700,
    ]


# -- events that cannot be ------------------------------------------------------------------


def test_given_vms_of_different_scopes_when_one_event_shall_hit_both_then_it_is_refused() -> None:
    with pytest.raises(Invalid, match="several delivery scopes"):
        announce(make_world(), "Reboot", "web_0", "db")


def test_given_an_unknown_or_deleted_vm_when_an_event_shall_hit_it_then_both_are_named() -> None:
    world = make_world()
    announce(world, "Terminate", "web_0", born_started=True, impact=1)
    pass_time(world, 1)
    with pytest.raises(Invalid) as refusal:
        announce(world, "Reboot", "web_0", "nobody")
    assert refusal.value.mistakes == [
        "resources[0]: 'web_0' is deleted",
        "resources[1]: 'nobody' is not the name of a VM",
    ]


def test_given_an_event_id_in_use_when_another_event_wants_it_then_it_is_refused() -> None:
    world = make_world()
    event = announce(world, "Reboot", "web_0")
    with pytest.raises(Invalid, match="the id of another event"):
        announce(world, "Reboot", "web_0", event_id=event.event_id.lower())


def test_given_the_same_seed_when_events_are_announced_then_they_get_the_same_ids() -> None:
    def ids(seed: int) -> list[str]:
        world = make_world(seed=seed)
        return [announce(world, "Reboot", "web_0").event_id for _turn in range(3)]

    assert ids(7) == ids(7)
    assert ids(7) != ids(8)
    assert all(event_id == event_id.upper() for event_id in ids(7))


# -- who is notified ------------------------------------------------------------------------


def vm(name: str, address: str, **details: str) -> dict[str, str]:
    return {"name": name, "address": address, **details}


@pytest.mark.parametrize(
    ("config", "hit", "neighbour", "stranger"),
    [
        pytest.param({}, "web_0", "web_1", "db", id="availability set"),
        pytest.param(ZONES, "z1_0", "z1_1", "z2_0", id="zone of a scale set"),
        pytest.param(
            {
                "vms": [
                    vm("set_0", "127.0.77.1", scale_set="set", placement_group="a"),
                    vm("set_1", "127.0.77.2", scale_set="set", placement_group="a"),
                    vm("set_2", "127.0.77.3", scale_set="set", placement_group="b"),
                ]
            },
            *("set_0", "set_1", "set_2"),
            id="placement group of a scale set",
        ),
        pytest.param(
            {
                "vms": [
                    vm("a_0", "127.0.77.1", availability_set="web", resource_group="one"),
                    vm("a_1", "127.0.77.2", availability_set="web", resource_group="one"),
                    vm("b_0", "127.0.77.3", availability_set="web", resource_group="two"),
                ]
            },
            *("a_0", "a_1", "b_0"),
            id="equal names in two resource groups",
        ),
    ],
)
def test_given_a_delivery_scope_when_one_vm_is_hit_then_all_of_the_scope_are_notified_and_no_other(
    config: dict[str, Any], hit: str, neighbour: str, stranger: str
) -> None:
    world = make_world(**config)
    event = announce(world, "Reboot", hit)
    assert told(world, neighbour) == told(world, hit) == [(event.event_id, "Scheduled")]
    assert told(world, stranger) == []


def test_given_a_zonal_scale_set_when_one_zone_is_polled_then_the_other_is_not_enabled() -> None:
    world = make_world(**ZONES)
    world.knock("z1_0")
    assert world.vms["z1_1"].scope.state == "enabled"
    assert world.vms["z2_0"].scope.state == "disabled"


# -- enabling -------------------------------------------------------------------------------


def test_given_delays_when_first_asked_then_the_answer_and_later_the_events_take_their_time() -> None:
    world = make_world(imds={"enable_delay": 120, "event_delay": 300})
    event = announce(world, "Reboot", "web_0", notice=9000)
    begin = world.now

    assert world.knock("web_0") == begin + 120
    pass_time(world, 60)
    assert world.knock("web_1") == begin + 120
    pass_time(world, 60)
    assert world.knock("web_0") == begin + 120
    assert told(world, "web_0") == []
    pass_time(world, 299)
    assert told(world, "web_0") == []
    pass_time(world, 1)
    assert told(world, "web_0") == [(event.event_id, "Scheduled")]


def test_given_a_day_without_a_request_when_it_is_over_then_the_scope_is_disabled_and_starts_again() -> None:
    world = make_world()
    world.knock("web_0")
    for _turn in range(5):
        announce(world, "Freeze", "web_0", notice=1, linger=5)
        pass_time(world, 10)
    assert world.feed("web_0").incarnation > 3

    world.knock("web_1")
    pass_time(world, DISABLE_AFTER - 1)
    assert world.vms["web_0"].scope.state == "enabled"
    world.knock("web_0")
    pass_time(world, DISABLE_AFTER - 1)
    assert world.vms["web_0"].scope.state == "enabled"
    pass_time(world, 1)
    assert world.vms["web_0"].scope.state == "disabled"
    world.knock("web_0")
    assert 1 <= world.feed("web_0").incarnation <= 3


# -- incarnations ---------------------------------------------------------------------------


def test_given_events_that_change_when_the_document_is_read_then_its_incarnation_has_jumped() -> None:
    world = make_world()
    world.knock("web_0")
    jumps = []
    before = world.feed("web_0").incarnation
    for _turn in range(20):
        announce(world, "Freeze", "web_0", notice=1, linger=5)
        for seconds in (0, 1, 5):
            pass_time(world, seconds)
            jumps.append(world.feed("web_0").incarnation - before)
            before = world.feed("web_0").incarnation
    assert set(jumps) == {1, 2, 3}


def test_given_an_impact_that_ends_when_the_document_is_read_then_nothing_has_changed() -> None:
    world = make_world()
    announce(world, "Reboot", "web_0", born_started=True, impact=30)
    world.knock("web_0")
    before = world.feed("web_0").incarnation
    pass_time(world, 30)
    assert world.vms["web_0"].state == "running"
    assert world.feed("web_0").incarnation == before


# -- approving ------------------------------------------------------------------------------


def test_given_a_shared_event_when_anyone_of_the_scope_approves_then_it_starts_for_all_of_its_resources() -> None:
    world = make_world()
    event = announce(world, "Reboot", "web_0", "web_1")
    pass_time(world, 100)
    world.approve("web_1", [event])
    assert [world.vms[name].state for name in ("web_0", "web_1")] == ["rebooting", "rebooting"]
    assert event.notice_left_at_approval == 800


@pytest.mark.parametrize("delay", [0, 60])
def test_given_an_approval_when_repeated_then_it_is_noted_as_such_and_nothing_else_changes(delay: float) -> None:
    world = make_world()
    event = announce(world, "Reboot", "web_0", approval_delay=delay)
    world.approve("web_0", [event])
    pass_time(world, 5)
    world.approve("web_1", [event])
    assert [(approval.vm, approval.repeated) for approval in event.approvals] == [("web_0", False), ("web_1", True)]
    assert event.notice_left_at_approval == 900
    pass_time(world, 55)
    assert event.started == event.approvals[0].at + delay


def test_given_an_event_that_has_started_unapproved_when_approved_then_that_came_too_late_to_count() -> None:
    world = make_world()
    event = announce(world, "Freeze", "web_0", born_started=True)
    world.approve("web_0", [event])
    assert ([one.repeated for one in event.approvals], event.notice_left_at_approval) == ([True], None)


def test_given_an_approval_delay_when_approved_then_the_start_comes_later_but_not_after_not_before() -> None:
    world = make_world()
    early = announce(world, "Reboot", "web_0", approval_delay=60)
    late = announce(world, "Reboot", "web_1", approval_delay=60, notice=20)
    world.approve("web_0", [early, late])
    assert (early.status, late.status) == ("Scheduled", "Scheduled")
    pass_time(world, 20)
    assert (early.status, late.status) == ("Scheduled", "Started")
    pass_time(world, 40)
    assert early.status == "Started"


# -- Terminates are coupled -----------------------------------------------------------------


def test_given_an_earlier_unapproved_terminate_when_a_later_is_approved_then_it_waits_until_that_times_out() -> None:
    world = make_world(**SETS)
    first = announce(world, "Terminate", "set_0", notice=300)
    second = announce(world, "Terminate", "set_1", notice=600)
    world.approve("set_1", [second])
    pass_time(world, 299)
    assert second.status == "Scheduled"
    pass_time(world, 1)
    assert (first.status, second.status) == ("Started", "Started")
    assert second.started == first.not_before


@pytest.mark.parametrize(
    ("first_notice", "second_type", "approved", "statuses"),
    [
        pytest.param(300, "Terminate", [1, 0], ["Started", "Started"], id="the earlier is approved, too"),
        pytest.param(300, "Terminate", [0], ["Started", "Scheduled"], id="the earlier alone is approved"),
        pytest.param(900, "Terminate", [1], ["Scheduled", "Started"], id="what was announced first is due later"),
        pytest.param(300, "Reboot", [1], ["Scheduled", "Started"], id="a reboot is no terminate"),
    ],
)
def test_given_a_terminate_when_another_event_of_its_set_is_approved_then_only_a_later_terminate_waits_for_it(
    first_notice: float, second_type: str, approved: list[int], statuses: list[str]
) -> None:
    world = make_world(**SETS)
    notices = (("Terminate", first_notice), (second_type, 600))
    events = [announce(world, kind, f"set_{n}", notice=notice) for n, (kind, notice) in enumerate(notices)]
    for number in approved:
        world.approve(f"set_{number}", [events[number]])
    assert [event.status for event in events] == statuses


def test_given_an_earlier_terminate_when_it_is_withdrawn_then_those_that_waited_for_it_go() -> None:
    world = make_world(**SETS)
    first = announce(world, "Terminate", "set_0", notice=300)
    second = announce(world, "Terminate", "set_1", notice=600)
    world.approve("set_1", [second])
    world.withdraw(first.event_id)
    assert second.status == "Started"


def test_given_terminates_with_the_same_not_before_when_not_all_are_approved_then_none_goes_early() -> None:
    world = make_world(**SETS)
    events = [announce(world, "Terminate", f"set_{number}", notice=300) for number in range(3)]
    world.approve("set_0", events[:2])
    assert [event.status for event in events] == ["Scheduled"] * 3
    pass_time(world, 10)
    world.approve("set_2", events[2:])
    assert [event.status for event in events] == ["Started"] * 3


def test_given_terminates_within_one_second_when_clients_read_one_not_before_then_they_are_coupled() -> None:
    world = make_world(**SETS)
    first = announce(world, "Terminate", "set_0", notice=300)
    pass_time(world, 0.5)
    second = announce(world, "Terminate", "set_1", notice=300)
    world.approve("set_0", [first])
    assert first.status == "Scheduled"
    world.approve("set_1", [second])
    assert (first.status, second.status) == ("Started", "Started")


def test_given_terminates_of_different_scopes_when_one_is_approved_then_it_does_not_wait_for_the_other() -> None:
    world = make_world()
    announce(world, "Terminate", "db", notice=300)
    event = announce(world, "Terminate", "web_0", notice=600)
    world.approve("web_0", [event])
    assert event.status == "Started"


# -- telling --------------------------------------------------------------------------------


def test_given_a_listener_then_it_receives_every_change_of_an_event_in_order() -> None:
    world = make_world()
    heard: list[Change] = []
    world.listen(heard.append)
    event = announce(world, "Terminate", "web_0", notice=300, impact=30, linger=60)
    world.approve("web_0", [event])
    pass_time(world, 60)
    assert [(change.kind, change.what) for change in heard] == [
        ("event", "Scheduled"),
        ("approval", "approved"),
        ("event", "Started"),
        ("impact", "start"),
        ("impact", "deleted"),
        ("event", "Completed"),
    ]
