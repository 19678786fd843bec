# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operator reads."""

from __future__ import annotations

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.demand import Demand, DemandKind
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Host
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import make_plan
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import Policy, read_policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.report import (
    Moment,
    Report,
    Result,
    describe_plan,
    describe_results,
)

from .conftest import NOW, event


def test_given_hosts_that_were_brought_forward_when_reported_then_they_are_named_with_the_time_that_they_can_wait() -> (
    None
):
    hosts = [
        Host(f"web{number}", f"vm_{number}", (event(resources=(f"vm_{number}",)),), settle_seconds=30)
        for number in range(4)
    ]

    assert describe_plan(make_plan(hosts, Policy(minimum_in_service="3"), NOW), NOW)[-5:] == [
        "Batch 1 of 2: web0",
        "Batch 2 of 2: web1, web2, web3",
        (
            "Batch 2 of 2: web2 and web3 would be hit before their own batch: out as soon as there is room, and in"
            " any case in 840 s"
        ),
        (
            "Batch 2 may leave 1 of 4 hosts in service, fewer than 3, because the platform takes web2 and web3 at a"
            " time of its own"
        ),
        "all: 4 of 4 in service, 3 must stay",
    ]


def test_given_hosts_that_wait_in_their_batch_when_reported_then_each_is_named_with_the_reason_and_until_when() -> None:
    first, second = [Host(f"web{n}", f"vm_{n}", (event(resources=(f"vm_{n}",)),)) for n in range(2)]
    out = first._replace(events=(), is_out=True)
    plan = make_plan([second], Policy(minimum_in_service="1"), NOW, rest=[out], deferred={"web1": NOW + 600})

    waits = "Waiting: web1, until 2026-09-19T18:10:00Z at most: 1 of 2 hosts are in service, and 1 must stay"
    assert waits in describe_plan(plan, NOW)


def test_given_a_host_that_may_stay_out_when_reported_then_it_is_named_and_the_run_fails() -> None:
    hosts = [
        Host("web1", "vm_1", leased="job 16 is at work", abandoned="out for maintenance"),
        Host("web2", "vm_2", leased="job 17 is at work"),
        Host("web3", "vm_3", is_down=True, abandoned="it has a new disk"),
    ]

    plan = make_plan(hosts, Policy(), NOW)
    report = describe_results(plan, {})

    assert describe_plan(plan, NOW)[:3] == [
        "web1: out for maintenance",
        "web3: it has a new disk",
        "web2: left alone: job 17 is at work",
    ]
    assert sorted(report.lines) == [
        "web1: FAILED: out for maintenance",
        "web2: left alone: job 17 is at work",
        "web3: FAILED: it has a new disk",
    ]
    assert report.by_host == {"web1": ["out for maintenance"], "web3": ["it has a new disk"]}
    assert report.hosts["web1"]["failures"] == ["out for maintenance"]


def test_given_a_host_that_may_stay_out_when_it_is_hit_then_its_batch_says_what_becomes_of_it() -> None:
    hit = Host("web1", "vm_1", (event(resources=("vm_1",), event_id="A"),), is_down=True, abandoned="it has a new disk")
    plan = make_plan([hit], Policy(), NOW)

    assert not plan.abandoned
    assert plan.hosts["web1"].remove


def test_given_a_demand_without_room_when_reported_then_its_host_is_named_before_the_run_begins() -> None:
    hosts = [Host("web1", "vm_1", demand=Demand(DemandKind.MOVE, "web1")), Host("web2", "vm_2")]

    plan = make_plan(hosts, Policy(minimum_in_service="2"), NOW)

    said = "web1: left in service: 2 of 2 hosts are in service, and 2 must stay: stays in service"
    assert said in describe_plan(plan, NOW)


def test_given_a_host_that_was_hit_before_its_batch_when_reported_then_it_is_named() -> None:
    reboot = event(event_id="A", notice=60)
    plan = make_plan([Host("web1", "vm_0")], Policy(), NOW + 61, rest=[], planned={"web1": (reboot,)})

    missed = "Hit while in service: web1: Reboot A, which was to start at 2026-09-19T18:01:00Z, is not listed any more"
    assert missed in describe_plan(plan, NOW + 61)


def test_given_a_plan_when_reported_then_events_batches_and_the_unanswered_are_named() -> None:
    hosts = [
        Host("web1", "vm_0", (event(resources=("vm_0", "vm_9"), event_id="A", notice=850),)),
        Host("web2", "vm_1", (event("Freeze", ("vm_1",), event_id="B", duration=3),)),
        Host("web3", "vm_2", (event("Redeploy", ("vm_2",), event_id="C", status="Started"),)),
        Host("web4", "vm_3", (event("Reboot", ("vm_3",), event_id="D", notice=None),)),
        Host("web5", "vm_4", needs_restore=True),
        Host("web6"),
    ]

    reason = "it also hits vm_9, not in the play or not answering"
    plan = make_plan(hosts[:5], Policy(), NOW)
    assert f"Reboot A: web1 and the VM vm_9, starts in 850 s: will not be approved, {reason}" in describe_plan(
        plan, NOW
    )
    answers = "will be approved if the hosts that have not answered yet answer and are ready"
    assert describe_plan(make_plan(hosts, Policy(), NOW), NOW) == [
        "Redeploy C: web3, has status Started: will not be approved, it has started already",
        "Reboot D: web4, may start at any moment",
        f"Reboot A: web1 and the VM vm_9, starts in 850 s: {answers}",
        "Freeze B: web2, starts in 900 s: left alone, a freeze of 3 s is tolerated",
        "Batch 1 of 2: web3, web4, web5 (to be restored)",
        "Batch 2 of 2: web1",
        "No answer from: web6",
        "all: 4 of 6 in service, 3 must stay",
    ]


def test_given_nothing_when_reported_then_it_says_so() -> None:
    plan = make_plan([Host("web1", "vm_0")], Policy(), NOW)

    assert describe_plan(plan, NOW) == [
        "Nothing is announced for these hosts.",
        "all: 1 of 1 in service, 0 must stay",
    ]
    assert describe_results(plan, {}) == Report(["Nothing had to be done."], [], {}, {})


def test_given_a_policy_for_a_type_that_azure_may_add_when_reported_then_it_is_pointed_out_once() -> None:
    policy = read_policy({"policies": [{"name": "moves", "match": {"event_types": ["Migrate", "Reboot"]}}]})

    nothing, _group, remark = describe_plan(make_plan([Host("web0", "vm_0")], policy, NOW), NOW)

    assert nothing == "Nothing is announced for these hosts."
    assert remark.startswith(
        "The policy moves: match.event_types: 'Migrate' is not an event type that this version knows"
    )


def test_given_a_host_that_failed_then_it_is_said_that_its_event_was_not_approved_and_when_it_began() -> None:
    hosts = [Host(f"web{n}", f"vm_{n}", (event(resources=(f"vm_{n}",), event_id=f"E{n}"),)) for n in range(2)]
    plan = make_plan(hosts, Policy(minimum_in_service="0"), NOW)
    failed = Result(failures=("no stop",), outcome="over", restored=True)
    start = "at its NotBefore, 2026-09-19T18:15:00Z"

    told = describe_results(plan, {"web0": failed, "web1": failed._replace(was_out=True)})

    assert told.lines == [
        f"web0: Reboot E0: not approved: E0 begins by itself, {start}; over; restored; FAILED: no stop",
        # An earlier run may have approved it.
        "web1: Reboot E1: already out when the run began; over; restored; FAILED: no stop",
    ]
    late = describe_results(plan, {"web0": failed._replace(approved={"E0": None})})
    assert "not approved" not in late.lines[0]
    assert [told.hosts[name]["was_out"] for name in ("web0", "web1")] == [False, True]


def test_given_a_host_that_others_keep_out_then_that_is_said_once() -> None:
    plan = make_plan([Host("web1", "vm_1", (event(),))], Policy(minimum_in_service="0"), NOW)

    told = describe_results(plan, {"web1": Result(outcome="over", stays_out="by hand", still_out="by hand")})

    assert told.lines[0].count("still out") == 1


def test_given_results_when_reported_then_each_host_has_a_line_and_each_failure_too() -> None:
    hosts = [Host(f"web{n}", f"vm_{n}", (event(resources=(f"vm_{n}",), event_id=f"E{n}"),)) for n in range(3)]
    plan = make_plan([*hosts, Host("web3")], Policy(minimum_in_service="0"), NOW)
    approved = {"e0": 871}

    told = describe_results(
        plan,
        {
            "web0": Result(
                steps=("ready",), approved=approved, outcome="over", restored=True, timeline=(Moment(1.5, "drain"),)
            ),
            "web1": Result(
                approved=approved,
                not_approved={"e1": "it has changed", "e9": "not of this host"},
                outcome="still not over",
                gave_up=True,
                failures=("no stop",),
            ),
            "web3": Result(failures=("no answer",)),
        },
    )

    assert told.lines == [
        "web0: Reboot E0: ready; approved with 871 s of notice left; over; restored",
        "web1: Reboot E1: not approved: it has changed; FAILED: no stop; FAILED: still not over",
        "web2: Reboot E2: FAILED: the run lost this host: it may still be out of rotation. Run again",
        "web3: no event: FAILED: no answer",
    ]
    assert told.failures == [
        "web1: no stop",
        "web1: still not over",
        "web2: the run lost this host: it may still be out of rotation. Run again",
        "web3: no answer",
    ]
    assert told.by_host == {
        "web1": ["no stop", "still not over"],
        "web2": ["the run lost this host: it may still be out of rotation. Run again"],
        "web3": ["no answer"],
    }
    assert told.hosts["web0"] == {
        "events": [{"event_id": "E0", "event_type": "Reboot", "not_before": "2026-09-19T18:15:00Z"}],
        "steps": ["ready"],
        "approved": [{"event_id": "e0", "seconds_until_start": 871}],
        "outcome": "over",
        "was_out": False,
        "restored": True,
        "connections_remained": [],
        "warnings": [],
        "still_out": "",
        "hit_unprepared": False,
        "timeline": [{"at": "1970-01-01T00:00:01Z", "step": "drain"}],
        "failures": [],
    }
    assert [host["failures"] for host in told.hosts.values()][1:] == list(told.by_host.values())


def test_given_connections_that_remained_and_a_host_that_stays_out_when_reported_then_both_are_named() -> None:
    plan = make_plan([Host("web1", "vm_0", (event(event_id="A"),)), Host("web2", "vm_1")], Policy(), NOW)

    told = describe_results(
        plan,
        {
            "web1": Result(
                ("prepared",), remaining=("0.0.0.0 port 443",), warnings=("it may",), outcome="over", restored=True
            ),
            "web2": Result(still_out="drained by hand"),
        },
    )

    assert told.lines == [
        "web1: Reboot A: prepared; connections remained: 0.0.0.0 port 443; WARNING: it may; over; restored",
        "web2: no event: still out: drained by hand",
    ]
    assert told.failures == []
    assert told.hosts["web1"]["connections_remained"] == ["0.0.0.0 port 443"]
    assert told.hosts["web1"]["warnings"] == ["it may"]
    assert told.hosts["web2"]["still_out"] == "drained by hand"


@pytest.mark.parametrize(
    ("event_type", "predicted"),
    [
        ("Reboot", "would be approved with 871 s of notice left; would be restored when it is over"),
        ("Terminate", "would be approved with 871 s of notice left"),
    ],
)
def test_given_a_mere_check_when_reported_then_it_says_what_would_be_approved_and_restored(
    event_type: str, predicted: str
) -> None:
    hosts = [Host("web1", "vm_0", (event(event_type, event_id="A"),)), Host("web2", "vm_1", needs_restore=True)]
    plan = make_plan(hosts, Policy(), NOW)
    result = Result(steps=("would be prepared",), approved={"A": 871}, predicted=True)

    assert describe_results(plan, {"web1": result, "web2": Result(predicted=True)}).lines[-2:] == [
        "web2: no event: would be restored",
        f"web1: {event_type} A: would be prepared; {predicted}",
    ]


def test_given_hosts_with_agents_when_reported_then_what_is_left_to_them_is_named() -> None:
    agent = {"in_rotation": True, "events": []}
    hosts = [
        Host("web1", "vm_0", (event(event_id="A"),), agent=agent),
        Host("web2", "vm_1", (event("Redeploy", ("vm_1",), event_id="B", status="Started"),), agent=agent),
    ]
    plan = make_plan(hosts, Policy(), NOW)

    assert describe_plan(plan, NOW) == [
        "Redeploy B: web2, has status Started: will not be approved, it has started already",
        "Reboot A: web1, starts in 900 s: it is left to the agent of web1",
        "Batch 1 of 1: web2 (left to its agent), web1 (left to its agent)",
        "Batch 1 leaves 0 of 2 hosts in service, fewer than 1, because the platform or an agent takes web2 and web1",
        "all: 2 of 2 in service, 1 must stay",
    ]
    result = Result(steps=("left to its agent",), outcome="over", restored=True)
    assert describe_results(plan, {"web1": result, "web2": result}).lines == [
        "web2: Redeploy B: left to its agent; over; in rotation, its agent says",
        "web1: Reboot A: left to its agent; over; in rotation, its agent says",
    ]


def test_given_a_host_that_stays_in_service_for_others_when_reported_then_it_fails_the_run_by_name() -> None:
    plan = make_plan([Host("web1", "vm_0", (event(event_id="A"),))], Policy(minimum_in_service="1"), NOW)

    reason = "1 of 1 hosts are in service, and 1 must stay: stays in service until less than 300 s of notice are left"
    assert describe_plan(plan, NOW) == [
        f"Reboot A: web1, starts in 900 s: left alone, {reason}",
        "all: 1 of 1 in service, 1 must stay",
    ]
    assert describe_results(plan, {}).failures == [f"web1: left in service: {reason}"]


def test_given_a_host_that_was_hit_while_in_service_when_reported_then_it_fails_the_run() -> None:
    plan = make_plan([Host("web1", "vm_0", (event(event_id="A", status="Started"),))], Policy(), NOW)

    told = describe_results(plan, {"web1": Result(outcome="over", restored=True, unprepared=True)})

    assert told.failures == ["web1: hit while in service: its event started before it was prepared"]


@pytest.mark.parametrize(
    ("result", "fails"),
    [
        (Result(steps=("prepared",)), True),
        (Result(outcome="over", is_to_return=True), True),
        (Result(outcome="over", is_to_return=True, restored=True), False),
        (Result(outcome="over", is_to_return=True, stays_out="by hand"), False),
        (Result(outcome="no longer listed after it started: kept out of rotation"), False),
        (Result(steps=("left alone: it is leased",), skipped=True), False),
    ],
)
def test_given_a_planned_host_when_its_maintenance_came_to_no_end_then_it_fails_the_run(
    result: Result, fails: bool
) -> None:
    plan = make_plan([Host("web1", "vm_0", (event(event_id="A"),))], Policy(), NOW)

    told = describe_results(plan, {"web1": result})

    assert bool(told.failures) == fails
    assert all("was interrupted, for example by meta: end_play in your own" in text for text in told.failures)
