# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may others see of the agent?

Runs on Python 3.6 and later.
"""

from datetime import datetime, timedelta, timezone
from typing import Any, Dict

import pytest
from foghorn_agent.config import parse_config
from foghorn_agent.decide.policy import Step, default_rules, keyed
from foghorn_agent.decide.state import SUCCEEDED, Progress, State, Tracked
from foghorn_agent.http.status import Health, as_table, describe, phase
from foghorn_core.scheduled_events.dates import format_date
from foghorn_core.scheduled_events.event import Event
from rehearsal import EPOCH, POLICY, QUORUM, UNAPPROVED, VM_NAME, Life, Rehearsal

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
RULES = parse_config({"policies": [POLICY], "quorum": QUORUM}).rules


def done(stage: str) -> Progress:
    return Progress(SUCCEEDED, tuple(key for key, _step in keyed(RULES[0].plan.steps(stage))))


def test_given_an_agent_that_knows_nothing_when_described_then_it_says_so() -> None:
    status = describe(State(), (), None, Health(running_since=NOW.timestamp()), NOW)
    assert status["vm_name"] is None
    assert status["in_rotation"] is True
    assert status["events"] == []
    assert status["running_since"] == "2026-01-01T00:00:00Z"
    assert status["last_answer"] is None
    assert as_table(status) == "unknown VM  in rotation\nIMDS  last answer never\nno events\n"


def test_given_a_drain_when_described_then_the_event_its_phase_and_its_step_are_there() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0, resources=(VM_NAME, "web_1"))])
    rehearsal.run_until(4.0)
    status = rehearsal.status()
    assert status["in_rotation"] is False
    assert status["step"] == {"event_id": "E-1", "stage": "drain", "name": "deregister", "seconds": 60.0}
    event = status["events"][0]
    assert (event["event_id"], event["phase"], event["ready"], event["rule"]) == ("E-1", "drain", False, "policies[0]")
    assert event["seconds_until_start"] == 899
    assert as_table(status) == (
        "web_0  OUT OF ROTATION\n"
        "IMDS  last answer 2026-01-01T00:00:04Z\n"
        "TYPE    STATUS     STARTS                          PHASE  SHARED WITH  EVENT\n"
        "Reboot  Scheduled  2026-01-01T00:15:03Z, in 14:59  drain  web_1        E-1\n"
        "waiting for web_0 (not ready), web_1 (not configured)  E-1\n"
        "running  drain: deregister\n"
    )


def test_given_a_step_that_fails_when_asked_then_status_and_health_name_it_its_error_and_the_next_try() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)])
    rehearsal.failing = {"deregister"}
    rehearsal.step_seconds["deregister"] = 0.0
    rehearsal.run_until(7.0)
    # At 3, 4 and 6, and so again at 10.
    assert rehearsal.status()["failing"] == [
        {
            "event_id": "E-1",
            "stage": "drain",
            "name": "deregister",
            "error": "exit status 1",
            "is_tried_again": True,
            "next_try": "2026-01-01T00:00:10Z",
        }
    ]
    line = "drain: deregister: exit status 1; is tried again at 2026-01-01T00:00:10Z"
    assert "failed  %s  E-1\n" % line in as_table(rehearsal.status())
    assert rehearsal.answer("/healthz") == (200, "running\nstep: %s\n" % line)
    rehearsal.failing = set()
    rehearsal.run_until(12.0)
    assert rehearsal.status()["failing"] == []


def test_given_a_step_that_is_just_tried_again_when_asked_then_there_is_no_next_try_yet() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)])
    rehearsal.failing = {"deregister"}
    rehearsal.run_until(8.0)
    (failing,) = rehearsal.status()["failing"]
    assert (failing["is_tried_again"], failing["next_try"]) == (True, None)
    assert "failed  drain: deregister: exit status 1; is just being tried again  E-1\n" in as_table(rehearsal.status())


def test_given_a_step_that_has_finally_failed_when_asked_then_it_is_named_until_the_machine_is_restored() -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=60.0, linger=10.0)])
    rehearsal.failing = {"wait"}
    rehearsal.step_seconds["wait"] = 0.0
    rehearsal.run_until(68.0)
    rehearsal.kill()
    rehearsal.run_until(71.0)
    (failing,) = rehearsal.status()["failing"]
    assert (failing["stage"], failing["name"], failing["is_tried_again"]) == ("drain", "wait", False)
    assert "failed  drain: wait: exit status 1; is not tried again  E-1\n" in as_table(rehearsal.status())
    rehearsal.run()
    assert rehearsal.status()["failing"] == []


def test_given_a_restore_that_fails_when_asked_then_that_is_named_too() -> None:
    rehearsal = Rehearsal([Life("Freeze", notice=20.0, linger=5.0)])
    rehearsal.failing = {"register"}
    rehearsal.run_until(60.0)
    (failing,) = rehearsal.status()["failing"]
    assert (failing["stage"], failing["name"], failing["is_tried_again"]) == ("restore", "register", True)


def test_given_an_event_that_is_over_when_its_step_waits_to_be_tried_again_then_it_is_no_longer_named() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0, withdrawn_after=20.0)])
    rehearsal.failing = {"deregister"}
    rehearsal.step_seconds["deregister"] = 0.0
    rehearsal.step_seconds["start"] = 100.0
    rehearsal.run_until(22.0)
    assert len(rehearsal.status()["failing"]) == 1
    rehearsal.run_until(25.0)
    assert rehearsal.status()["failing"] == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "seen"),
        ({"flawed": True}, "failed"),
        ({"halted": True}, "failed"),
        ({"drain": Progress("begun")}, "drain"),
        ({"drain": done("drain"), "shutdown": Progress("begun")}, "shutdown"),
        ({"drain": done("drain"), "shutdown": done("shutdown")}, "ready"),
        ({"drain": done("drain"), "shutdown": done("shutdown"), "approvals": 1}, "approving"),
        ({"approvals": 1, "accepted": True}, "approved"),
        ({"started": True}, "started"),
        ({"over": "withdrawn"}, "withdrawn"),
    ],
)
def test_given_an_event_when_asked_for_its_phase_then_it_is_named(change: Dict[str, Any], expected: str) -> None:
    event = Event("E-1", "Reboot", "Scheduled", (VM_NAME,))
    one = Tracked(event, event)._replace(**change)
    assert phase(one, RULES) == expected


@pytest.mark.parametrize(("event_type", "expected"), [("Freeze", "ready"), ("Reboot", "seen")])
def test_given_hooks_alone_and_none_of_them_when_all_stages_are_done_then_only_what_is_never_approved_is_ready(
    event_type: str, expected: str
) -> None:
    event = Event("E-1", event_type, "Scheduled", (VM_NAME,))
    rules = default_rules()
    both = Progress(SUCCEEDED, tuple(key for key, _step in keyed([Step("hooks", "hooks", 300.0)])))
    assert phase(Tracked(event, event, drain=both, shutdown=both), rules) == expected


def test_given_an_event_without_a_plan_when_asked_for_its_phase_then_it_is_ignored() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy={"approve": "never", "name": "nothing"})
    rehearsal.run_until(5.0)
    event = rehearsal.status()["events"][0]
    assert (event["rule"], event["phase"]) == ("nothing", "ignored")
    assert rehearsal.status()["in_rotation"] is True


def test_given_a_problem_when_written_as_a_table_then_it_is_there() -> None:
    health = Health(EPOCH.timestamp(), None, "IMDS is silent", "the disk is full")
    checks = [{"name": "web", "ready": False, "detail": "refused"}, {"name": "db", "ready": True, "detail": ""}]
    text = as_table(describe(State(vm_name=VM_NAME), (), None, health, NOW, checks=checks))
    assert text == (
        "web_0  OUT OF ROTATION\nIMDS  IMDS is silent\nnot ready  web: refused\njournal  the disk is full\nno events\n"
    )


def test_given_an_event_of_no_date_when_written_as_a_table_then_a_dash_stands_for_it() -> None:
    event = Event("E-1", "Reboot", "Started", (VM_NAME.upper(),))
    state = State(vm_name=VM_NAME, tracked=(Tracked(event, event, started=True),))
    text = as_table(describe(state, (), None, Health(0.0), NOW))
    assert text.splitlines()[-1] == "Reboot  Started  -       started  -            E-1"


@pytest.mark.parametrize(
    ("seconds", "left"), [(0.5, "0:00"), (59, "0:59"), (843, "14:03"), (3600, "1:00:00"), (7 * 86400, "168:00:00")]
)
def test_given_an_event_when_written_as_a_table_then_it_says_when_it_starts_and_how_long_that_is(
    seconds: float, left: str
) -> None:
    start = NOW + timedelta(seconds=seconds)
    event = Event("E-1", "Reboot", "Scheduled", (VM_NAME, "web_1"), start)
    state = State(vm_name=VM_NAME, tracked=(Tracked(event, event),))
    header, row = as_table(describe(state, RULES, None, Health(0.0), NOW)).splitlines()[-2:]
    cells = ("Reboot", "Scheduled", "%s, in %s" % (format_date(start), left), "seen", "web_1", "E-1")
    assert row.split() == " ".join(cells).split()
    # Each below its heading.
    for title, cell in zip(("TYPE", "STATUS", "STARTS", "PHASE", "SHARED WITH", "EVENT"), cells):
        assert row.index(cell) == header.index(title)


def test_given_a_machine_that_was_ready_when_it_has_booted_then_its_status_says_that_it_is_not() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=UNAPPROVED)
    rehearsal.run_until(20.0)
    assert rehearsal.status()["events"][0]["ready"] is True
    rehearsal.silent = True
    rehearsal.reboot(1.0)
    rehearsal.run_until(25.0)
    assert rehearsal.status()["events"][0]["ready"] is False
