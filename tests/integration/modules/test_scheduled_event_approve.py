# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""scheduled_event_approve through ansible-playbook, against the simulator over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from azure_simulator.testing import Simulator

MODULE = "foghorn.azure_events.scheduled_event_approve"

# Each set has its own story, and no story sees the events of another.
SETS = ["own", "lead", "any", "check", "pair", "wait", "late", "lost", "fail", "again"]

FLEET = {
    "imds": {"rate_limit": 1000},
    # Nobody is hit by anything: the machines go on asking.
    "defaults": {event_type: {"impact": 0, "notice": 3000} for event_type in ("Freeze", "Reboot", "Redeploy")},
    "vms": [
        {"name": f"{name}_{member}", "address": f"127.0.2.{10 * number + member}", "availability_set": name}
        for number, name in enumerate(SETS, start=1)
        for member in range(3)
    ],
}

# What it says stands in the output: the results of handlers come after those of the tasks were handed over.
HANDLER = {
    "name": "Tell of it",
    "ansible.builtin.debug": {
        "msg": "approved: {{ partly.approved | map(attribute='event_id') | join(', ') }}, not approved:"
        " {{ partly.not_approved | map(attribute='event_id') | join(', ') }}"
    },
}


class Scene:
    """What was announced, what became of each task, and what Azure saw of it."""

    def __init__(self, ids: dict[str, str], played: Any, azure: Simulator) -> None:
        self.ids = ids
        self.played = played
        self._names = {event_id: name for name, event_id in ids.items()}
        self._status = azure.status()
        self._log = azure.log()

    def __getitem__(self, task: str) -> dict[str, Any]:
        result: dict[str, Any] = self.played[task]
        return result

    def approved(self, task: str) -> list[str]:
        """The events that a task says it approved, by our own names for them."""
        return [self._names[event["event_id"]] for event in self[task]["approved"]]

    def not_approved(self, task: str) -> list[tuple[str, str]]:
        """The events that a task says it did not approve, and why."""
        return [
            (self._names.get(event["event_id"].upper(), event["event_id"]), event["reason"])
            for event in self[task]["not_approved"]
        ]

    def record(self, name: str) -> dict[str, Any]:
        """What Azure knows of an event."""
        (record,) = [event for event in self._status["events"] if event["event_id"] == self.ids[name]]
        return dict(record)

    def approvals(self, name: str) -> list[str]:
        """Which VMs had an approval of this event accepted, in order."""
        return [approval["vm"] for approval in self.record(name)["approvals"]]

    def posts(self, vm: str) -> int:
        """How many POST requests came from a VM."""
        return int(self._status["vms"][vm]["requests"].get("POST", 0))


@pytest.fixture(scope="module", name="scene")
def fixture_scene(play: Callable[..., Any]) -> Iterator[Scene]:
    """One playbook plays all stories."""
    yield from played(play, MODULE)


def played(play: Callable[..., Any], module: str) -> Iterator[Scene]:
    """Play all stories with this module."""
    with Simulator(FLEET) as azure:
        announced = {
            "own mine": azure.event("Reboot", "own_0"),
            "own second": azure.event("Freeze", "own_0"),
            "own shared": azure.event("Redeploy", ["own_1", "own_0"]),
            "own others": azure.event("Freeze", "own_2"),
            "lead": azure.event("Reboot", ["LEAD_0".lower(), "lead_1"]),
            "any": azure.event("Reboot", "any_1"),
            "check": azure.event("Reboot", "check_0"),
            "pair one": azure.event("Terminate", "pair_0", notice=600),
            "pair two": azure.event("Terminate", "pair_1", notice=500),
            "wait": azure.event("Freeze", "wait_0", approval_delay=1),
            "late": azure.event("Freeze", "late_0", approval_delay=2000),
            "lost": azure.event("Reboot", "lost_0"),
            "fail": azure.event("Reboot", "fail_0"),
            "again": azure.event("Reboot", "again_0", approval_delay=2000),
            "withdrawn": azure.event("Reboot", "again_1"),
        }
        ids = {name: event["event_id"] for name, event in announced.items()}
        azure.withdraw(ids["withdrawn"])
        azure.fault("reset", "lost_0", methods=["POST"], count=1)
        azure.fault("status", "fail_0", methods=["POST"], status=500)

        yield Scene(ids, play(tasks(azure, ids, module), handlers=[HANDLER]), azure)


def tasks(azure: Simulator, ids: dict[str, str], module: str) -> list[dict[str, Any]]:
    """The stories, task by task."""

    def task(name: str, vm: str, keywords: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
        if "event_ids" not in arguments:
            arguments.setdefault("event_types", ["Freeze", "Reboot", "Redeploy", "Terminate"])
        return {"name": name, module: {"endpoint": azure.imds[vm], **arguments}, **(keywords or {})}

    mine, second, shared, gone = ids["own mine"], ids["own second"], ids["own shared"], ids["withdrawn"]
    return [
        task("own, everything", "own_0"),
        task("own, none", "own_0", event_ids=[]),
        task("own, unnamed", "own_0", event_ids=None, event_sources=["Platform"]),
        task("own, shared", "own_0", event_ids=[mine, shared]),
        task("own, two", "own_0", {"diff": True}, event_ids=[mine.lower(), second.lower()]),
        task("own, again", "own_0", {"diff": True}, event_ids=[mine, second]),
        task("lead, follower", "lead_1", scope="leader"),
        task("lead, not hit", "lead_2", scope="leader"),
        task(
            "lead, changed",
            "lead_0",
            scope="leader",
            as_seen=[
                {
                    "event_id": ids["lead"].lower(),
                    "event_type": "Reboot",
                    "event_status": "Scheduled",
                    "resources": ["lead_0"],
                }
            ],
        ),
        task("lead, leader", "lead_0", scope="leader"),
        task("any", "any_0", scope="any", event_types=["Reboot"]),
        task("check", "check_0", {"check_mode": True, "diff": True}, event_ids=[ids["check"]]),
        # To a fork, its controller gives out the warning.
        task("pair, one of two", "pair_0", {"connection": "local"}, affecting="this_vm"),
        task("pair, the other", "pair_1", affecting="this_vm"),
        task("wait", "wait_0", {"diff": True}, wait=True, wait_timeout=60),
        task("late", "late_0", {"diff": True}, wait=True, wait_timeout=1.5),
        task("lost", "lost_0"),
        task("fail", "fail_0", timeout=2),
        task("approved", "again_0", event_ids=[ids["again"]]),
        task(
            "approved again and gone",
            "again_0",
            {"register": "partly", "notify": HANDLER["name"]},
            event_ids=[ids["again"], gone, "no-such-id"],
        ),
        {
            "name": "what was left out",
            "ansible.builtin.debug": {"msg": "{{ partly.not_approved | map(attribute='reason') }}"},
        },
        task("gone", "again_1", event_ids=[gone]),
        task("no wait at all", "again_1", wait_timeout=-1),
    ]


class TestScopeOwn:
    def test_trap_1_given_events_of_others_were_chosen_then_it_fails_and_approves_nothing(self, scene: Scene) -> None:
        assert scene["own, everything"]["failed"]
        assert "Nothing was approved, because scope is own and this VM is own_0" in scene["own, everything"]["msg"]
        assert f"{scene.ids['own others']}, which does not affect own_0, but own_2" in scene["own, everything"]["msg"]
        assert scene.record("own others")["status"] == "Scheduled"
        assert scene.approvals("own others") == []

    def test_trap_1_given_an_event_hits_another_vm_as_well_then_it_fails_and_approves_nothing(
        self, scene: Scene
    ) -> None:
        assert f"{scene.ids['own shared']}, which affects own_1 as well" in scene["own, shared"]["msg"]
        assert "when all of their VMs are ready, set scope to leader or any" in scene["own, shared"]["msg"]
        assert scene.approvals("own shared") == []

    def test_given_an_empty_list_of_ids_then_nothing_is_approved(self, scene: Scene) -> None:
        assert scene["own, none"]["changed"] is False
        assert scene["own, none"]["approved"] == []
        assert scene["own, none"]["events"] == []

    def test_given_neither_ids_nor_types_then_it_is_refused(self, scene: Scene) -> None:
        assert scene["own, unnamed"]["failed"]
        assert scene["own, unnamed"]["msg"].startswith("event_ids, event_types: none of them is set")

    def test_given_several_ids_in_any_case_then_one_post_approves_them_all(self, scene: Scene) -> None:
        assert scene["own, two"]["changed"] is True
        assert sorted(scene.approved("own, two")) == ["own mine", "own second"]
        assert scene.posts("own_0") == 1
        assert scene.approvals("own mine") == scene.approvals("own second") == ["own_0"]

    def test_given_they_have_started_then_a_second_run_changes_nothing_and_says_why(self, scene: Scene) -> None:
        assert scene["own, again"]["changed"] is False
        assert scene["own, again"]["approved"] == []
        assert sorted(scene.not_approved("own, again")) == [
            ("own mine", "already started"),
            ("own second", "already started"),
        ]
        assert [event["event_status"] for event in scene["own, again"]["events"]] == ["Started", "Started"]


class TestScopeLeader:
    def test_given_this_vm_is_hit_but_does_not_lead_then_the_event_is_left_out(self, scene: Scene) -> None:
        assert scene["lead, follower"]["changed"] is False
        assert scene.not_approved("lead, follower") == [("lead", "led by lead_0, not by lead_1")]

    def test_given_this_vm_is_not_hit_then_the_event_is_left_out(self, scene: Scene) -> None:
        assert scene["lead, not hit"]["changed"] is False
        assert scene.not_approved("lead, not hit") == [("lead", "does not affect lead_2, but lead_0, lead_1")]

    def test_given_the_event_hits_another_vm_since_it_was_prepared_for_then_it_is_left_out(self, scene: Scene) -> None:
        assert scene["lead, changed"]["changed"] is False
        ((_name, reason),) = scene.not_approved("lead, changed")
        assert reason == (
            "it has changed: it was a Reboot of lead_0 when it was prepared for, and is a Reboot of lead_0, lead_1"
        )

    def test_given_this_vm_leads_then_it_approves_and_nobody_else_did(self, scene: Scene) -> None:
        assert scene["lead, leader"]["changed"] is True
        assert scene.approvals("lead") == ["lead_0"]


class TestScopeAny:
    def test_given_an_event_of_others_then_it_is_approved(self, scene: Scene) -> None:
        assert scene["any"]["vm_name"] == "any_0"
        assert scene.approved("any") == ["any"]
        assert scene.approvals("any") == ["any_0"]


class TestCheckAndDiff:
    def test_given_check_mode_then_it_predicts_and_approves_nothing(self, scene: Scene) -> None:
        assert scene["check"]["changed"] is True
        assert scene.approved("check") == ["check"]
        assert scene.posts("check_0") == 0
        assert scene.record("check")["status"] == "Scheduled"

    def test_given_diff_mode_then_the_status_before_and_after_is_shown(self, scene: Scene) -> None:
        check, wait = scene.ids["check"], scene.ids["wait"]

        assert scene["check"]["diff"] == {"before": {check: "Scheduled"}, "after": {check: "Scheduled, approved"}}
        assert scene["wait"]["diff"] == {"before": {wait: "Scheduled"}, "after": {wait: "Started"}}
        assert f'-    "{wait}": "Scheduled"' in scene.played.output
        assert f'+    "{wait}": "Started"' in scene.played.output

    def test_given_nothing_changes_then_the_diff_shows_no_difference(self, scene: Scene) -> None:
        assert scene["own, again"]["diff"]["before"] == scene["own, again"]["diff"]["after"]


class TestTerminates:
    def test_given_another_must_be_approved_too_then_a_warning_names_it(self, scene: Scene) -> None:
        warning = (
            f"Terminate {scene.ids['pair one']} of pair_0 does not start before these are approved too, or reach"
            f" their NotBefore: {scene.ids['pair two']} of pair_1"
        )

        assert warning in scene["pair, one of two"]["warnings"]
        assert warning in " ".join(scene.played.output.split())

    def test_given_all_before_it_are_approved_then_both_start(self, scene: Scene) -> None:
        assert "warnings" not in scene["pair, the other"]
        # They may be over by now.
        assert scene.record("pair one")["started"]
        assert scene.record("pair two")["started"]


class TestWaiting:
    def test_given_wait_then_it_ends_when_the_event_has_started(self, scene: Scene) -> None:
        assert scene["wait"]["changed"] is True
        assert [event["event_status"] for event in scene["wait"]["events"]] == ["Started"]

    def test_given_it_does_not_start_in_time_then_it_fails_and_says_that_the_approval_stands(
        self, scene: Scene
    ) -> None:
        late = scene.ids["late"]

        assert scene["late"]["failed"]
        assert scene["late"]["msg"].startswith(f"Approved, but not started within 1.5 s: {late}. Azure starts")
        assert scene["late"]["changed"] is True
        assert scene.approved("late") == ["late"]
        assert scene["late"]["diff"]["after"] == {late: "Scheduled"}
        assert scene.approvals("late") == ["late_0"]

    def test_given_no_time_to_wait_then_the_option_is_refused_though_it_would_not_be_used(self, scene: Scene) -> None:
        assert scene["no wait at all"]["failed"]
        assert "wait_timeout: -1 is not a time" in scene["no wait at all"]["msg"]


class TestWhatGoesWrong:
    def test_trap_1_given_the_answer_to_an_approval_is_lost_then_the_request_is_repeated(self, scene: Scene) -> None:
        assert scene["lost"]["changed"] is True
        assert scene.record("lost")["started"]
        assert scene.posts("lost_0") == 2

    def test_given_the_approval_never_gets_through_then_it_fails_and_says_how_often_it_tried(
        self, scene: Scene
    ) -> None:
        assert scene["fail"]["failed"]
        assert scene["fail"]["requests_tried"] == scene.posts("fail_0") > 1
        assert scene["fail"]["last_outcome"].startswith("500 ")
        assert "POST http://" in scene["fail"]["msg"]
        assert scene.record("fail")["status"] == "Scheduled"


class TestRunningAgain:
    def test_given_an_approved_event_has_not_started_then_it_is_approved_again_which_is_harmless(
        self, scene: Scene
    ) -> None:
        assert scene["approved"]["changed"] is True
        assert scene["approved again and gone"]["changed"] is True
        assert scene.approvals("again") == ["again_0", "again_0"]

    def test_given_ids_that_are_not_listed_then_each_is_left_out_with_the_reason(self, scene: Scene) -> None:
        reason = "not listed: it has ended, was withdrawn or never existed"

        assert scene.not_approved("approved again and gone") == [("withdrawn", reason), ("no-such-id", reason)]
        assert scene["gone"]["changed"] is False
        assert scene.not_approved("gone") == [("withdrawn", reason)]

    def test_given_one_was_approved_and_others_not_then_ansible_calls_it_changed_and_notifies(
        self, scene: Scene
    ) -> None:
        reason = "not listed: it has ended, was withdrawn or never existed"

        assert "skipped" not in scene["approved again and gone"]
        assert scene["what was left out"]["msg"] == [reason, reason]
        assert (
            f"approved: {scene.ids['again']}, not approved: {scene.ids['withdrawn']}, no-such-id" in scene.played.output
        )


def test_no_error_is_a_traceback(scene: Scene) -> None:
    assert "Traceback" not in scene.played.output
    assert "MODULE FAILURE" not in scene.played.output
