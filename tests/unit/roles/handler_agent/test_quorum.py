# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who lets an event begin that hits several machines? One of them, and only when all are ready.

The rehearsed Azure asserts that all machines of an approved event are ready. Runs on Python 3.6 and later.
"""

from typing import Any, Dict, List

import pytest
from foghorn_core.scheduled_events.event import NameKey, name_key
from rehearsal import POLICY, Life, Rehearsal, fleet_of, tick_all

NAMES = ("web_0", "web_1", "web_2")
SILENT_AFTER = 15.0


def shared(**details: Any) -> Life:
    return Life("Reboot", **dict({"notice": 300.0, "linger": 30.0, "resources": NAMES}, **details))


def approvers(fleet: List[Rehearsal]) -> List[str]:
    return [machine.vm_name for machine in fleet if machine.approvals]


def test_given_a_shared_event_when_all_are_ready_then_the_first_named_approves_and_nobody_else() -> None:
    fleet = fleet_of(NAMES, [shared(resources=("web_1", "web_0", "web_2"))])
    tick_all(fleet, 150)
    assert approvers(fleet) == ["web_1"]
    assert len(fleet[1].approvals) == 1
    assert [machine.restored for machine in fleet] == [1, 1, 1]


def test_given_a_leader_that_falls_silent_after_it_was_ready_when_it_was_waited_for_then_the_next_approves() -> None:
    fleet = fleet_of(NAMES, [shared()], SILENT_AFTER)
    # Else the leader would approve before it falls silent.
    fleet[0].lost_answers = 1000
    tick_all(fleet, 20)
    assert not approvers(fleet)
    fleet[0].is_unreachable = True
    tick_all(fleet, int(SILENT_AFTER) - 3)
    assert not approvers(fleet)
    tick_all(fleet, 6)
    assert approvers(fleet) == ["web_1"]


def test_given_a_member_that_was_ready_when_it_answers_without_the_event_then_it_is_not_ready_any_more() -> None:
    fleet = fleet_of(NAMES, [shared()])
    fleet[1].step_seconds["stop"] = 50.0
    tick_all(fleet, 20)
    # Set up again: its journal is gone, and IMDS does not answer it yet.
    fleet[2].records = []
    fleet[2].back_after = 0.0
    fleet[2].kill()
    fleet[2].silent = True
    tick_all(fleet, 100)
    assert approvers(fleet) == []
    fleet[2].silent = False
    tick_all(fleet, 30)
    assert approvers(fleet) == ["web_0"]


def test_given_members_that_cannot_be_asked_at_all_when_ready_then_it_is_logged_and_nobody_approves() -> None:
    machine = fleet_of(("web_0", "web_1"), [shared(notice=60.0, resources=("web_0", "web_1"))])[0]

    def fail(_job: Any) -> Dict[str, Any]:
        raise OSError("out of file descriptors")

    machine._ask_members = fail  # type: ignore[assignment, method-assign]
    tick_all([machine], 50)
    assert machine.approvals == []
    assert machine.messages("the other members could not be asked")


def with_approval(machine: Rehearsal, approve: str) -> None:
    rule = machine.config.rules[0]
    machine.config = machine.config._replace(rules=(rule._replace(plan=rule.plan._replace(approve=approve)),))


def test_given_a_member_that_reports_invented_events_then_they_are_not_remembered() -> None:
    fleet = fleet_of(NAMES, [shared(notice=100.0)])
    fleet[2].step_seconds["stop"] = 50.0
    honest = fleet[0]._ask_members

    def with_lies(job: Any) -> Dict[NameKey, Any]:
        answers = honest(job)
        for answer in answers.values():
            if isinstance(answer, dict):
                answer["events"] += [{"event_id": "LIE-%d" % number, "ready": True} for number in range(1000)]
        return answers

    fleet[0]._ask_members = with_lies  # type: ignore[method-assign]
    tick_all(fleet, 20)
    agent = fleet[0].running
    assert set(agent._members.statuses) == {"e-1"}
    assert set(agent._members.statuses["e-1"]) == {name_key("web_1"), name_key("web_2")}


@pytest.mark.parametrize("approve", ["when_ready", "never"])
def test_given_a_plan_without_quorum_when_an_event_is_shared_then_it_is_not_approved(approve: str) -> None:
    fleet = fleet_of(NAMES, [shared(notice=100.0)])
    for machine in fleet:
        with_approval(machine, approve)
    tick_all(fleet, 95)
    assert approvers(fleet) == []
    assert all(not machine.members_worker.jobs for machine in fleet)


def test_given_no_member_that_is_configured_when_an_event_is_shared_then_nobody_is_asked_and_nobody_approves() -> None:
    machine = Rehearsal([shared(notice=60.0)], policy=POLICY)
    machine.run_until(60.0)
    assert machine.members_worker.jobs == []
    assert machine.approvals == []


def test_given_an_event_of_its_own_when_the_plan_is_quorum_then_nobody_else_is_asked() -> None:
    fleet = fleet_of(NAMES, [shared(resources=("web_0",))])
    tick_all(fleet, 40)
    assert approvers(fleet) == ["web_0"]
    assert fleet[0].members_worker.jobs == []


# --- which members does it wait for, and why?


def waits(machine: Rehearsal) -> Dict[str, str]:
    events = machine.status()["events"]
    return {one["vm_name"]: one["reason"] for event in events for one in event["waiting_for"]}


def test_given_members_of_every_kind_when_an_event_waits_for_them_then_status_log_and_metrics_say_why() -> None:
    fleet = fleet_of((*NAMES, "web_3"), [shared(resources=(*NAMES, "web_3", "web_4"))])
    with_approval(fleet[1], "never")
    fleet[2].step_seconds["stop"] = 50.0
    fleet[3].is_unreachable = True
    tick_all(fleet, 20)
    assert waits(fleet[0]) == {
        "web_1": "not willing",
        "web_2": "not ready",
        "web_3": "unreachable",
        "web_4": "not configured",
    }
    line = "waiting for web_1 (not willing), web_2 (not ready), web_3 (unreachable), web_4 (not configured)"
    assert fleet[0].messages("waiting for ")[-1] == line
    metrics = fleet[0].answer("/metrics")[1]
    assert 'foghorn_waiting_for_member{event_id="E-1",member="web_3",reason="unreachable"} 1.0' in metrics
    assert 'foghorn_member_errors_total{reason="unreachable"}' in metrics


def test_given_no_answer_yet_when_an_event_waits_then_it_says_so_and_later_that_the_leader_must_approve() -> None:
    fleet = fleet_of(NAMES, [shared()])
    tick_all(fleet, 1)
    fleet[0].lost_answers = 1000
    fleet[1].members_worker.is_held = True
    tick_all(fleet, 4)
    assert waits(fleet[1]) == {"web_0": "not asked yet", "web_1": "not ready", "web_2": "not asked yet"}
    fleet[1].members_worker.is_held = False
    tick_all(fleet, 20)
    assert waits(fleet[1]) == {"web_0": "is to approve"}


def test_given_a_member_that_has_not_seen_the_event_when_it_is_waited_for_then_it_says_so() -> None:
    fleet = fleet_of(NAMES, [shared()])
    tick_all(fleet, 2)
    # Its metadata service falls silent before the event is announced.
    fleet[2].silent = True
    tick_all(fleet, 20)
    assert waits(fleet[0]) == {"web_2": "does not know of it"}


def test_given_a_member_that_comes_and_goes_when_it_is_waited_for_then_the_log_is_not_flooded() -> None:
    fleet = fleet_of(NAMES, [shared(notice=200.0)])
    fleet[1].step_seconds["stop"] = 1000.0
    for second in range(150):
        fleet[2].is_unreachable = second % 4 < 2
        tick_all(fleet)
    assert 1 <= len(fleet[0].messages("waiting for ")) <= 15


def test_given_a_member_that_was_ready_when_another_machine_answers_at_its_address_then_it_is_no_longer_ready() -> None:
    fleet = fleet_of(NAMES, [shared(notice=100.0)])
    fleet[1].step_seconds["stop"] = 10.0
    # Right before all would be ready, when its last answer is not too old to count.
    tick_all(fleet, 15)
    fleet[0].azure.machines["web_2"] = fleet[1]
    tick_all(fleet, 70)
    assert approvers(fleet) == []
    assert waits(fleet[0])["web_2"] == "another machine"
