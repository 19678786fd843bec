# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Are enough members left in rotation when several want out at the same time, and does it never cost the notice?

Runs on Python 3.6 and later.
"""

from typing import Any, Dict, List, Optional

import pytest
from foghorn_agent.config import ConfigError, parse_config
from foghorn_agent.decide.in_service import NO_END, Keep, Rotation, latest_begin, read_rotation, why_not_yet
from foghorn_agent.decide.policy import Plan
from foghorn_agent.decide.state import Tracked
from foghorn_agent.http.status import as_table
from foghorn_core.scheduled_events.event import Event, NameKey, name_key
from hypothesis import given, settings
from hypothesis import strategies as st
from rehearsal import POLICY, Life, Rehearsal, fleet_of, tick_all

OWN = dict(POLICY, approve="when_ready")
NAMES = ("web_0", "web_1", "web_2")
LONGEST_STEPS = 180.0
"""What the three steps of the policy may take before an event."""
ASKING = 7.0
"""Seconds for which a machine says that it wants out before it goes: interval and timeout together."""


def event_of(name: str, event_type: str = "Reboot", **details: Any) -> Life:
    return Life(event_type, **dict({"notice": 600.0, "resources": (name,), "event_id": "E-" + name}, **details))


def fleet(lives: List[Life], names: Any = NAMES, keep: Any = 2, **more: Any) -> List[Rehearsal]:
    return fleet_of(names, lives, policy=OWN, keep_in_service=keep, **more)


def out(machines: List[Rehearsal]) -> List[str]:
    return [one.vm_name for one in machines if one.agent is not None and one.state.is_out]


def first_step(machine: Rehearsal) -> float:
    return machine.steps_begun[0][0]


def without_waiting(machines: List[Rehearsal]) -> List[str]:
    return [one.vm_name for one in machines if one.messages("cannot wait")]


# --- the decision, which is pure ----------------------------------------------------------------------

KEYS = [name_key("web_%d" % number) for number in range(6)]
TIMES = st.sampled_from([0.0, 1.0, 2.0, NO_END])
ROTATIONS = st.builds(Rotation, st.booleans(), st.sampled_from([0.0, 30.0, NO_END]), st.booleans(), TIMES)
KEEPS = st.one_of(st.builds(Keep, st.integers(1, 5)), st.builds(Keep, st.integers(1, 99), st.just(True)))


def may_leave(keep: Keep, me: NameKey, said: Dict[NameKey, Rotation], by: float, settle: float = 0.0) -> bool:
    others = [key for key in KEYS if key != me]
    return why_not_yet(keep, settle, (me, by), others, said) is None


@given(KEEPS, st.lists(ROTATIONS, min_size=6, max_size=6))
def test_given_members_that_know_of_each_other_when_all_decide_at_once_then_enough_are_left(
    keep: Keep, all_said: List[Rotation]
) -> None:
    said = dict(zip(KEYS, all_said))
    going = [key for key, one in said.items() if one.is_in and one.wants_out and may_leave(keep, key, said, one.by)]
    left = [key for key, one in said.items() if one.is_in and key not in going]
    assert not going or len(left) >= keep.of(len(KEYS))


@given(KEEPS, st.lists(ROTATIONS, min_size=6, max_size=6), TIMES, st.integers(1, 5), st.booleans())
def test_given_a_member_that_falls_silent_or_goes_out_when_decided_then_nobody_leaves_that_would_not_have_before(
    keep: Keep, all_said: List[Rotation], by: float, number: int, is_silent: bool
) -> None:
    said = dict(zip(KEYS, all_said))
    worse = dict(said)
    if is_silent:
        del worse[KEYS[number]]
    else:
        worse[KEYS[number]] = Rotation(False)
    assert may_leave(keep, KEYS[0], said, by) or not may_leave(keep, KEYS[0], worse, by)


def test_given_deadlines_when_two_want_out_then_the_earlier_goes_and_ties_go_by_name() -> None:
    said = {key: Rotation(True, wants_out=key in KEYS[:2], by=5.0) for key in KEYS}
    assert may_leave(Keep(5), KEYS[0], said, 5.0)
    assert not may_leave(Keep(5), KEYS[1], said, 5.0)
    assert may_leave(Keep(5), KEYS[1], said, 4.0)
    assert may_leave(Keep(4), KEYS[1], said, 5.0)


def test_given_reasons_of_every_kind_when_it_has_to_stay_then_they_are_named_and_not_more_than_a_few() -> None:
    said = {
        KEYS[1]: Rotation(False),
        KEYS[2]: Rotation(True, 3.0),
        KEYS[3]: Rotation(True, wants_out=True, by=1.0),
        KEYS[4]: Rotation(True),
    }
    assert why_not_yet(Keep(3), 30.0, (KEYS[0], 2.0), KEYS[1:], said) == (
        "1 of the other 5 members stay in rotation, and 3 are to: web_1 (out), web_2 (just back), web_3 (goes before), "
        "web_5 (silent)"
    )
    many = [name_key("vm_%d" % number) for number in range(9)]
    assert str(why_not_yet(Keep(3), 0.0, (KEYS[0], 2.0), many, {})).endswith("vm_4 (silent), 4 more")


def test_given_an_eviction_when_its_steps_are_short_then_it_waits_for_nobody_all_the_same() -> None:
    eviction = Event("E-1", "Preempt", "Scheduled", ("web_0",))
    assert latest_begin(Tracked(eviction, eviction), Plan("it", drain=()), 100.0) == -NO_END


def test_given_a_share_when_members_are_counted_then_part_of_one_counts_as_one() -> None:
    assert [Keep(50, True).of(number) for number in (2, 3, 14)] == [1, 2, 7]
    assert Keep(99, True).of(100) == 99


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"in_rotation": True}, Rotation(True)),
        ({"in_rotation": True, "rotation_seconds": 4, "wants_out": None}, Rotation(True, 4.0)),
        ({"in_rotation": True, "wants_out": {"by": 7.5}}, Rotation(True, wants_out=True, by=7.5)),
        ({"in_rotation": True, "wants_out": {"by": None}}, Rotation(True, wants_out=True)),
        ({"in_rotation": "yes"}, Rotation(False)),
        ({}, Rotation(False)),
        ({"in_rotation": True, "rotation_seconds": "4"}, Rotation(False)),
        ({"in_rotation": True, "rotation_seconds": float("nan")}, Rotation(False)),
        ({"in_rotation": True, "wants_out": "now"}, Rotation(False)),
        ({"in_rotation": True, "wants_out": {"by": True}}, Rotation(False)),
        ({"in_rotation": True, "wants_out": {"by": 1e300}}, Rotation(False)),
        ({"in_rotation": True, "wants_out": []}, Rotation(False)),
    ],
)
def test_given_what_a_member_says_when_read_then_what_cannot_be_understood_counts_as_out(
    status: Dict[str, Any], expected: Rotation
) -> None:
    assert read_rotation(status) == expected


# --- agents ---------------------------------------------------------------------------------------------


def test_given_two_machines_with_events_of_their_own_when_one_more_may_go_then_the_second_waits_until_it_is_back() -> (
    None
):
    machines = fleet([event_of("web_0"), event_of("web_1")])
    most = 0
    for _second in range(200):
        tick_all(machines)
        most = max(most, len(out(machines)))
    assert most == 1
    assert [one.restored for one in machines] == [1, 1, 0]
    assert [len(one.approvals) for one in machines] == [1, 1, 0]
    assert without_waiting(machines) == []
    assert machines[1].messages("web_0 (goes before)")
    assert machines[1].messages("enough other members stay in rotation")


def test_given_no_other_member_that_wants_out_when_enough_stay_then_it_leaves_after_notifying_the_others() -> None:
    machines = fleet([event_of("web_0")])
    tick_all(machines, 5)
    assert machines[0].status()["wants_out"] is not None
    assert machines[1].status()["wants_out"] is None
    tick_all(machines, 10)
    assert ASKING <= first_step(machines[0]) - 3.0 <= ASKING + 3.0
    assert machines[0].status()["wants_out"] is None


def test_given_a_member_that_has_not_answered_yet_when_another_wants_out_then_old_answers_are_ignored() -> None:
    machines = fleet([event_of("web_1"), event_of("web_0", announced_at=5.0)], keep=2)
    # What web_1 hears is as old as it may be: of a time at which web_0 did not want out yet.
    tick_all(machines, 2)
    for second in range(60):
        machines[1].members_worker.is_held = second % 5 != 0
        tick_all(machines)
        assert len(out(machines)) <= 1


def test_given_answers_that_come_late_when_they_say_that_it_may_go_then_it_asks_once_more() -> None:
    machines = fleet([event_of("web_0")])
    # Asked before, and frozen until the answers are old.
    tick_all(machines, 9)
    machines[0].members_worker.is_held = True
    tick_all(machines, 10)
    machines[1].is_unreachable = True
    machines[0].members_worker.is_held = False
    tick_all(machines, 20)
    assert out(machines) == []


def test_given_too_few_when_time_runs_out_then_it_begins_while_its_steps_have_all_their_time_and_says_so() -> None:
    machines = fleet([event_of("web_0", notice=300.0)])
    machines[1].is_unreachable = True
    tick_all(machines, 100)
    assert out(machines) == []
    shown = machines[0].status()
    assert "web_1 (silent)" in shown["in_service"]["waits"]
    assert "waits, to keep 2 in service: 1 of the other 2" in as_table(shown)
    tick_all(machines, 22)
    # Announced at 3, to be done 2 seconds before its start.
    latest = 3.0 + 300.0 - 2.0 - LONGEST_STEPS
    assert latest - 3.0 <= first_step(machines[0]) <= latest
    told = "Reboot cannot wait any longer, although 1 of the other 2 members stay in rotation, and 2 are to: "
    told += "web_1 (silent)"
    assert machines[0].messages().count(told) == 1
    shown = machines[0].status()
    assert shown["in_service"]["did_not_wait"] == told
    assert told in as_table(shown)
    tick_all(machines, 80)
    assert machines[0].restored == 1
    assert machines[0].status()["in_service"]["did_not_wait"] is None


@pytest.mark.parametrize("event_type", ["Preempt", "Reboot"])
def test_given_no_time_to_wait_when_an_event_comes_then_it_begins_at_once(event_type: str) -> None:
    machines = fleet([event_of("web_0", event_type, notice=30.0, fate="unharmed")])
    for other in machines[1:]:
        other.is_unreachable = True
    tick_all(machines, 5)
    assert first_step(machines[0]) == 3.0
    assert without_waiting(machines) == ["web_0"]


def test_given_an_event_that_waits_when_an_eviction_comes_then_both_are_done_and_nothing_is_lost() -> None:
    preempt = event_of("web_0", "Preempt", notice=60.0, announced_at=30.0, event_id="P", fate="deallocated")
    machines = fleet([event_of("web_0"), preempt])
    machines[1].is_unreachable = True
    tick_all(machines, 29)
    assert out(machines) == []
    tick_all(machines, 3)
    assert machines[0].steps()[0] == "deregister"
    assert first_step(machines[0]) == 30.0


def test_given_a_drain_by_hand_when_too_few_are_left_then_whoever_asks_for_it_has_decided() -> None:
    machines = fleet([])
    machines[1].is_unreachable = True
    tick_all(machines, 3)
    machines[0].ask("drain")
    tick_all(machines, 2)
    assert machines[0].steps() == ["deregister"]


def test_given_an_eviction_that_is_only_likely_when_too_few_are_left_then_it_waits_for_as_long_as_that_is_so() -> None:
    advised = dict(OWN, match={"event_types": ["SpotRebalanceRecommendation"]})
    advice = event_of("web_0", "SpotRebalanceRecommendation", notice=1e6)
    machines = fleet_of(NAMES, [advice], policy=advised, keep_in_service="60%")
    machines[1].is_unreachable = True
    tick_all(machines, 120)
    assert out(machines) == []
    assert machines[0].status()["wants_out"] == {"by": None}
    machines[1].is_unreachable = False
    tick_all(machines, 10)
    assert out(machines) == ["web_0"]


def test_given_an_event_that_two_share_when_one_may_go_then_the_other_follows_in_time_for_both_to_be_ready() -> None:
    shared = Life("Redeploy", notice=400.0, resources=("web_0", "web_1"), linger=30.0)
    machines = fleet_of(NAMES, [shared], policy=POLICY, keep_in_service=2)
    tick_all(machines, 100)
    assert out(machines) == ["web_0"]
    tick_all(machines, 190)
    # The first named approves, and Azure asserts that both are ready.
    assert [len(one.approvals) for one in machines] == [1, 0, 0]
    assert without_waiting(machines) == ["web_1"]
    assert [one.restored for one in machines] == [1, 1, 0]


def test_given_a_member_that_has_just_come_back_when_it_is_to_settle_then_the_next_waits_for_that() -> None:
    machines = fleet([event_of("web_0", notice=500.0), event_of("web_1")], settle=40)
    back: Optional[float] = None
    while not machines[1].steps_begun:
        tick_all(machines)
        back = machines[0].now if back is None and machines[0].restored else back
        assert machines[0].now < 300
    assert back is not None
    assert 40.0 <= first_step(machines[1]) - back <= 45.0


def test_given_a_machine_that_is_restored_for_one_event_when_another_is_due_then_it_stays_out_for_it() -> None:
    machines = fleet([event_of("web_0", notice=500.0), event_of("web_0", event_id="B", announced_at=20.0)])
    tick_all(machines, 12)
    machines[1].is_unreachable = True
    tick_all(machines, 100)
    assert machines[0].restored == 1
    assert len(machines[0].approvals) == 2


def test_given_a_dry_run_when_it_would_wait_then_nobody_else_waits_for_it() -> None:
    machines = fleet([event_of("web_0", notice=500.0), event_of("web_1")])
    machines[0].config = machines[0].config._replace(dry_run=True)
    tick_all(machines, 20)
    assert out(machines[1:]) == ["web_1"]


@pytest.mark.parametrize("kill_at", range(5, 40, 7))
def test_given_an_agent_that_is_killed_while_it_waits_then_it_continues_to_wait_and_all_are_handled(
    kill_at: int,
) -> None:
    machines = fleet([event_of("web_0"), event_of("web_1")])
    machines[1].kill_at = kill_at
    for _second in range(150):
        tick_all(machines)
        assert len([one for one in machines if one.touched]) <= 1
    assert [one.restored for one in machines] == [1, 1, 0]


def test_given_fourteen_of_which_some_lie_are_slow_cut_off_or_of_an_older_version_then_enough_are_left() -> None:
    names = ["web_%02d" % number for number in range(14)]
    older, newer = names[:7], names[7:]
    machines = fleet([event_of(name, notice=900.0) for name in newer], names, keep=9)
    by_name = {one.vm_name: one for one in machines}
    for name in older:
        by_name[name].config = by_name[name].config._replace(keep_in_service=None)
    lies: Dict[str, Dict[str, Any]] = {
        "web_00": {"wants_out": "now", "rotation_seconds": float("nan")},
        "web_01": {"wants_out": {"by": -1e14}},
    }

    def as_heard(machine: Rehearsal) -> Any:
        ask = machine._ask_members

        def heard(job: Any) -> Dict[NameKey, Any]:
            answers = ask(job)
            for name in older:
                said = answers.get(name_key(name))
                if isinstance(said, dict):
                    for word in ("wants_out", "rotation_seconds", "in_service"):
                        del said[word]
                    said.update(lies.get(name, {}))
            return answers

        return heard

    for machine in machines:
        machine._ask_members = as_heard(machine)  # type: ignore[method-assign]
    by_name["web_12"].is_unreachable = True
    most = 0
    for second in range(700):
        tick_all(machines)
        by_name["web_13"].members_worker.is_held = second % 5 != 0
        most = max(most, len(out(machines)))
    assert [by_name[name].restored for name in newer] == [1] * 7
    assert [len(by_name[name].approvals) for name in newer] == [1] * 7
    assert without_waiting(machines) == []
    # Of 14, one counts as out for what it says, one for its silence, one says that it goes before all.
    assert 1 <= most <= 5


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_given_events_at_any_time_and_answers_as_slow_as_they_may_be_then_enough_are_left(data: Any) -> None:
    names = ("web_0", "web_1", "web_2", "web_3")
    begin = st.integers(2, 14).map(float)
    machines = fleet(
        [
            event_of(name, announced_at=data.draw(begin), notice=data.draw(st.sampled_from([600.0, 601.0, 700.0])))
            for name in names
        ],
        names,
        keep=3,
    )
    tick_all(machines)
    pace = [data.draw(st.integers(1, 5)) for _name in names]
    for second in range(60):
        for machine, each in zip(machines, pace):
            machine.members_worker.is_held = second % each != 0
        tick_all(machines)
        assert len(out(machines)) <= 1


# --- what cannot be meant ------------------------------------------------------------------------------


def mistakes(**content: Any) -> List[str]:
    with pytest.raises(ConfigError) as raised:
        parse_config(content)
    return list(raised.value.mistakes)


def members(*names: str) -> Dict[str, Any]:
    return {"secret_file": "/secret", "members": dict.fromkeys(names, "http://10.0.0.4:9797")}


@pytest.mark.parametrize(
    ("given_as", "expected"),
    [(1, Keep(1)), ("2", Keep(2)), ("50%", Keep(50, True)), (" 1 %", Keep(1, True)), (None, None), ("", None)],
)
def test_given_a_number_or_a_share_when_parsed_then_it_is_taken(given_as: Any, expected: Optional[Keep]) -> None:
    config = parse_config({"keep_in_service": given_as, "quorum": members("a", "b")})
    assert config.keep_in_service == expected


@pytest.mark.parametrize("given_as", [0, -1, 1.5, True, "0%", "100%", "half", "2 %%", [], {}])
def test_given_neither_a_number_nor_a_share_when_parsed_then_it_is_refused(given_as: Any) -> None:
    (mistake,) = mistakes(keep_in_service=given_as, quorum=members("a", "b"))
    assert mistake.startswith("keep_in_service: expected a number of members, 1 or more, or a share of them")


def test_given_more_than_there_are_when_parsed_then_it_is_refused_with_the_remedy() -> None:
    (mistake,) = mistakes(keep_in_service=3, quorum=members("a", "b"))
    assert mistake == (
        "keep_in_service: 3 cannot stay in rotation while this machine leaves it: it has 2 other members, of which 100 "
        "are asked at most; set it to less, or add members to quorum.members"
    )
    assert mistakes(keep_in_service=2, quorum=members("a", "b"), imds={"vm_name": "B"})
    assert mistakes(keep_in_service="99%", quorum=members("a", "b"))
    assert mistakes(keep_in_service=101, quorum=members(*("vm%d" % number for number in range(150))))


def test_given_nobody_to_ask_when_parsed_then_it_is_refused_with_the_remedy() -> None:
    quorum = {"secret_file": "/secret", "url": "http://{name}:9797"}
    for content in ({"keep_in_service": 1}, {"keep_in_service": 1, "quorum": quorum}):
        assert [one[:38] for one in mistakes(**content)] == ["keep_in_service: needs quorum.members,"]
    assert mistakes(settle=5) == [
        "settle: needs keep_in_service, which counts the members; set that, or leave settle out"
    ]


def test_given_an_event_whose_work_is_not_due_when_others_ask_then_this_machine_does_not_want_out_yet() -> None:
    policy = dict(OWN, begin_before=600)
    machine = fleet_of(NAMES, [event_of("web_0", notice=700.0)], policy=policy, keep_in_service=2)[0]
    machine.run_until(100.0)
    assert machine.status()["wants_out"] is None
    machine.tick_until(lambda: machine.status()["wants_out"])
