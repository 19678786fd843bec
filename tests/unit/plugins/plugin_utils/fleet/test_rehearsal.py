# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rehearsal refuses, reports and judges."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.rehearsal import (
    Machine,
    RehearsalError,
    judge,
    make_rehearsal,
)

BEGIN = 1_000_000.0
EVENT_ID = "5C0429C8-309D-4B1E-B38D-F1DCCBCBDF05"
MACHINES = [Machine("web1", "VM_0", "10.0.0.11", {"in_rotation": True}), Machine("web2", "VM_1", "10.0.0.12")]


def record(**changes: Any) -> dict[str, Any]:
    """The simulator's record of a reboot of VM_0 that went well."""
    return {
        "event_id": EVENT_ID,
        "event_type": "Reboot",
        "resources": ["VM_0"],
        "status": "Completed",
        "created": BEGIN,
        "not_before": BEGIN + 120,
        "started": BEGIN + 4.2,
        "impact_started": BEGIN + 4.2,
        "impact_ended": BEGIN + 34.2,
        "ended": BEGIN + 64.2,
        "notice_left_at_approval": 115.8,
        "approvals": [{"vm": "VM_0", "at": BEGIN + 4.2, "repeated": False}],
    } | changes


def noted(kind: str, at: float, **details: Any) -> dict[str, Any]:
    """A record of the agent's history."""
    return {"kind": kind, "at": BEGIN + at, "event_id": EVENT_ID.lower()} | details


def event_noted(kind: str, at: float, status: str) -> dict[str, Any]:
    """A record that holds the event."""
    return noted(kind, at, event={"EventId": EVENT_ID, "EventStatus": status})


def stage(name: str, state: str, at: float) -> dict[str, Any]:
    """A record of a stage; a restore is not that of one event."""
    details = noted("stage", at, stage=name, state=state)
    if name == "restore":
        del details["event_id"]
    return details


def history() -> list[dict[str, Any]]:
    """What an agent notes that does all well."""
    return [
        {"kind": "boot", "at": BEGIN - 9, "boot_id": "b"},
        event_noted("seen", 0.4, "Scheduled"),
        stage("drain", "begun", 0.4),
        stage("drain", "succeeded", 3.0),
        stage("shutdown", "begun", 3.0),
        stage("shutdown", "succeeded", 4.0),
        {"kind": "approving", "at": BEGIN + 4.1, "event_ids": [EVENT_ID]},
        {"kind": "approved", "at": BEGIN + 4.2, "event_ids": [EVENT_ID]},
        event_noted("changed", 5.0, "Started"),
        noted("over", 65.0, how="ended"),
        stage("restore", "begun", 65.0),
        stage("restore", "succeeded", 66.0),
    ]


def verdict(
    event: dict[str, Any] | None = None, notes: list[dict[str, Any]] | None = None, expected: str = "approved"
) -> dict[str, Any]:
    """Judge a rehearsal of web1."""
    rehearsal = make_rehearsal([MACHINES[0]], {"event_type": "Reboot"})
    histories = {"web1": history() if notes is None else notes}
    return judge(rehearsal, record() if event is None else event, histories, expected)


def without(*kinds: str) -> list[dict[str, Any]]:
    """The good history without records of these kinds or stages."""
    return [note for note in history() if not {note["kind"], note.get("stage")}.intersection(kinds)]


# --- before ---------------------------------------------------------------------------------------


def test_given_machines_and_an_endpoint_when_planned_then_the_simulator_knows_them_by_their_addresses() -> None:
    machines = [MACHINES[0], MACHINES[1]._replace(is_hit=False)]

    plan = make_rehearsal(machines, {"event_type": "Freeze", "notice": 60, "impact": None}, "http://10.0.0.5:8080")

    assert plan["event"] == {"event_type": "Freeze", "notice": 60, "resources": ["VM_0"]}
    assert plan["config"] == {
        "imds": {"identify_by": "client", "address": "10.0.0.5", "port": 8080},
        "vms": [
            {"name": "VM_0", "address": "10.0.0.11", "availability_set": "rehearsal"},
            {"name": "VM_1", "address": "10.0.0.12", "availability_set": "rehearsal"},
        ],
    }
    assert plan["machines"]["web1"] == {"vm_name": "VM_0", "is_hit": True, "has_agent": True}
    assert plan["machines"]["web2"] == {"vm_name": "VM_1", "is_hit": False, "has_agent": False}


def test_given_a_simulator_that_is_there_when_planned_then_no_address_is_needed() -> None:
    assert make_rehearsal([Machine("web1", "VM_0")], {"event_type": "Reboot"})["config"] == {}


@pytest.mark.parametrize(
    ("changes", "event", "endpoint", "message"),
    [
        ({}, {"event_type": "Rebot"}, "", "rehearse_event_type: 'Rebot' is not one of Freeze, Preempt, Reboot"),
        ({}, {"event_type": "Reboot", "notice": -1}, "", "rehearse_notice: -1 is less than 0"),
        ({}, {"event_type": "Reboot", "duration": -2}, "", "rehearse_duration: -2 is less than -1"),
        ({"vm_name": "a\nb"}, {"event_type": "Reboot"}, "", "rehearse_vm_name: 'a\\nb' of web1 is not the name"),
        ({"vm_name": "vm_1"}, {"event_type": "Reboot"}, "", "rehearse_vm_name: web1 and web2 are both VM_1"),
        ({"agent": {"in_rotation": False}}, {"event_type": "Reboot"}, "", "web1: its agent is handling an event"),
        ({}, {"event_type": "Reboot"}, "10.0.0.5", "rehearse_endpoint: '10.0.0.5' is not like http://10.0.0.5:8080"),
        ({}, {"event_type": "Reboot"}, "http://ops:8080", "rehearse_endpoint: 'http://ops:8080' is not like"),
        ({}, {"event_type": "Reboot"}, "http://10.0.0.5:x", "rehearse_endpoint: 'http://10.0.0.5:x' is not like"),
        ({"address": "web1"}, {"event_type": "Reboot"}, "http://10.0.0.5", "rehearse_address: 'web1' of web1 is not"),
        (
            {"address": "10.0.0.12"},
            {"event_type": "Reboot"},
            "http://10.0.0.5",
            "rehearse_address: web1 and web2 both have 10.0.0.12",
        ),
    ],
)
def test_given_invalid_input_when_planned_then_the_variable_and_the_value_are_named(
    changes: dict[str, Any], event: dict[str, Any], endpoint: str, message: str
) -> None:
    with pytest.raises(RehearsalError) as error:
        make_rehearsal([MACHINES[0]._replace(**changes), MACHINES[1]], event, endpoint)

    assert str(error.value).startswith(message)


def test_given_nobody_to_be_hit_when_planned_then_it_is_refused() -> None:
    with pytest.raises(RehearsalError, match="rehearse_hit: none of rehearse_hosts is in it"):
        make_rehearsal([MACHINES[0]._replace(is_hit=False)], {"event_type": "Reboot"})


# --- meanwhile ------------------------------------------------------------------------------------


def test_given_an_event_in_progress_then_the_first_line_says_what_has_happened_so_far() -> None:
    ahead = {"started": None, "impact_started": None, "impact_ended": None, "ended": None}

    announced = verdict(record(**ahead, approvals=[], status="Scheduled"))
    begun = verdict(record(**{**ahead, "started": BEGIN + 4.2}, status="Started"))

    assert announced["lines"][0] == f"Reboot {EVENT_ID} of VM_0: not approved, it may start after 120.0 s"
    assert begun["lines"][0] == (
        f"Reboot {EVENT_ID} of VM_0: approved by VM_0 after 4.2 s, 115.8 s of notice left; started after 4.2 s"
    )


# --- afterwards -----------------------------------------------------------------------------------


def test_given_a_handler_that_does_all_well_when_judged_then_it_has_passed_and_the_figures_say_how() -> None:
    report = verdict()

    assert report["passed"]
    assert report["lines"] == [
        (
            f"Reboot {EVENT_ID} of VM_0: approved by VM_0 after 4.2 s, 115.8 s of notice left; started after 4.2 s;"
            " hit until 34.2 s; over after 64.2 s"
        ),
        (
            "web1: seen after 0.4 s; drain succeeded within 2.6 s; shutdown succeeded within 1.0 s; ready after 4.0 s;"
            " back after 66.0 s"
        ),
        "PASSED",
    ]
    figures = report["machines"]["web1"]
    assert (figures["seen"], figures["ready"], figures["over"], figures["back"]) == (0.4, 4.0, 65.0, 66.0)


@pytest.mark.parametrize(
    ("changes", "failure"),
    [
        ({"approvals": [], "notice_left_at_approval": None}, "nobody approved it before it began"),
        (
            {"approvals": [{"vm": "VM_0", "at": BEGIN + 121, "repeated": False}]},
            "VM_0 approved it only when its notice was over",
        ),
        (
            {"approvals": [{"vm": "VM_10", "at": BEGIN + 4, "repeated": False}]},
            "VM_10 approved it, although the event does not hit it",
        ),
        (
            {"resources": ["disk_0"], "approvals": [{"vm": "dis\u212a_0", "at": BEGIN + 4, "repeated": False}]},
            "dis\u212a_0 approved it, although the event does not hit it",
        ),
        ({"ended": None}, "the event was not over in time"),
    ],
)
def test_given_no_approval_a_late_one_or_one_by_another_when_judged_then_it_has_failed(
    changes: dict[str, Any], failure: str
) -> None:
    report = verdict(record(**changes))

    assert not report["passed"]
    assert report["failures"] == [failure]
    assert report["lines"][-1] == f"FAILED: {failure}"


@pytest.mark.parametrize(
    ("notes", "failure"),
    [
        ([], "its agent did not see the event"),
        (without("drain", "shutdown", "restore"), "it was not taken out of rotation"),
        (without("restore"), "it is not back in rotation"),
        (
            [*without("restore"), stage("restore", "begun", 65), stage("restore", "failed", 66)],
            "it is not back in rotation",
        ),
        (
            [*without("over", "restore"), stage("restore", "begun", 6), stage("restore", "succeeded", 7)],
            "it was restored before the event was over",
        ),
        (
            [
                *history()[:5],
                noted("step_ended", 4, stage="shutdown", name="stop", succeeded=False, reason="exit status 7"),
                stage("shutdown", "failed", 4),
                *history()[9:],
            ],
            "a step failed: shutdown: stop: exit status 7",
        ),
        ([*history()[:5], stage("shutdown", "failed", 4), *history()[9:]], "its shutdown did not succeed"),
        ([*history()[:5], *history()[8:]], "it was not ready when the event began"),
        ([*history()[:5], *history()[6:]], "it approved before it was ready"),
    ],
)
def test_given_a_machine_on_which_something_went_wrong_when_judged_then_it_has_failed_and_is_named(
    notes: list[dict[str, Any]], failure: str
) -> None:
    report = verdict(notes=notes)

    assert not report["passed"]
    assert f"web1: {failure}" in report["failures"]


def test_given_a_restore_of_an_earlier_event_when_judged_then_it_does_not_count() -> None:
    earlier = [stage("restore", "begun", -60), stage("restore", "succeeded", -59)]

    assert not verdict(notes=[*earlier, *without("restore")])["passed"]
    assert verdict(notes=[*earlier, *history()])["passed"]


@pytest.mark.parametrize("event_type", ["Preempt", "Terminate"])
def test_given_a_deletion_when_judged_then_nothing_is_restored(event_type: str) -> None:
    event = record(event_type=event_type)

    assert verdict(event, without("over", "restore"))["passed"]
    assert "web1: it was restored, although the event deletes it" in verdict(event)["failures"]


def test_given_a_handler_that_only_prepares_when_judged_then_that_is_enough_where_it_is_expected() -> None:
    event = record(approvals=[], notice_left_at_approval=None)

    assert verdict(event, without("approving", "approved"), "prepared")["passed"]


def test_given_an_event_to_be_ignored_when_judged_then_anything_done_is_a_failure() -> None:
    ignored = [event_noted("seen", 0.4, "Scheduled"), noted("over", 65, how="ended")]

    assert verdict(record(approvals=[]), ignored, "ignored")["passed"]
    assert verdict(expected="ignored")["failures"] == [
        "VM_0 approved it, although it should leave it alone",
        "web1: it was prepared, although it should be left alone",
    ]


def test_given_a_machine_without_an_agent_when_judged_then_the_approval_is() -> None:
    rehearsal = make_rehearsal([MACHINES[1]._replace(vm_name="VM_0")], {"event_type": "Reboot"})

    assert judge(rehearsal, record(), {}, "approved")["passed"]
    assert not judge(rehearsal, record(approvals=[]), {}, "approved")["passed"]
    assert judge(rehearsal, record(), {}, "approved")["lines"][1] == "web2: has no agent that could tell what it did"


def test_given_nothing_announced_when_judged_then_what_went_wrong_is_reported() -> None:
    report = judge(make_rehearsal(MACHINES, {"event_type": "Reboot"}), None, {}, "approved", ["web1 does not ask"])

    assert report["lines"] == ["FAILED: web1 does not ask"]
    assert not report["passed"]
