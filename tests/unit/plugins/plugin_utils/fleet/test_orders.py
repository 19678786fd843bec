# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The orders for the playbooks, and the results that they report."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import (
    event_as_dict,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.advance import IN_ORDER, advance, begin
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.balancers import Balancers
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.chains import chain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.claims import describe_run
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.demand import NO_LIMIT, Demand, DemandKind
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Host
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.orders import (
    balancers_to_ask,
    file_of,
    known_host,
    note_asked,
    order_as_dict,
    read_reports,
    round_as_dicts,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import Policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.run import Order, OrderReport, Run, Step
from hypothesis import given
from hypothesis import strategies as st

from .claimed import claim, found, lease_of
from .conftest import NOW, event

RUN = describe_run("handle_events")
LEASE = {"owner": "handle_events", "breaks": False}
TASKS = Path(__file__).resolve().parents[5] / "playbooks" / "tasks" / "handle_events"

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "msg",
                    "events",
                    "vm_name",
                    "approved",
                    "not_approved",
                    "event_id",
                    "progress",
                    "lost",
                    "leased",
                    "claims",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def as_returned(event: Event) -> dict[str, Any]:
    """The event as scheduled_events_info returns it."""
    return event_as_dict(event, "vm_0", datetime.fromtimestamp(NOW, UTC))


def run_at(step: Step, notice: float = 3000) -> Run:
    """A run whose only host h0, of two, has been given the order of a step."""
    reboot = event(resources=("vm_0",), event_id="E", notice=notice)
    hosts = [Host("h0", "vm_0", (reboot,)), Host("h1", "vm_1")]
    run, orders = advance(begin(hosts, Policy(minimum_in_service="1", approve_within=86400), NOW), [], NOW)
    answers: dict[Step, dict[str, Any]] = {
        Step.DRAIN: {"listed": [reboot]},
        Step.APPROVE: {"approved": {"E": 100}},
    }
    while orders[0].do is not step:
        done = [OrderReport(order.host, order.do, **answers.get(order.do, {})) for order in orders]
        run, orders = advance(run, done, NOW)
        assert orders
    return run


def run_for(kind: DemandKind, step: Step) -> Run:
    """A run for a demand for its host h0, of two, that has been given the order of a step."""
    hosts = [Host("h0", "vm_0", demand=Demand(kind, "h0", NOW + 600, ("h0",))), Host("h1", "vm_1")]
    run, orders = advance(begin(hosts, Policy(minimum_in_service="1"), NOW, demand=kind), [], NOW)
    while orders[0].do is not step:
        # What cannot be done to one host of a run of updates ends in a cancellation.
        failure = "failed" if orders[0].do is Step.STOP and step is Step.CANCEL else ""
        run, orders = advance(run, [OrderReport(order.host, order.do, failure) for order in orders], NOW)
        assert orders
    return run


def run_that_returns() -> Run:
    """A run whose host h0 is ordered back, because its event is over."""
    run = run_at(Step.WATCH)
    progress = dict(run.hosts["h0"].progress or {}, over=True, restore=True)
    return advance(run, [OrderReport("h0", Step.WATCH, progress=progress)], NOW)[0]


def read(run: Run, **raw: Any) -> OrderReport:
    """What a run makes of what the playbook says of the order of h0."""
    (report,) = read_reports(run, {"h0": {"number": run.number, **raw}}, Balancers(), RUN)
    return report


def report_of(step: Step, **raw: Any) -> OrderReport:
    """What a run makes of what the playbook says of the order of a step."""
    return read(run_at(step), **raw)


def test_each_order_has_a_file_that_carries_it_out_and_each_file_an_order() -> None:
    demands = {Step.MOVE: DemandKind.MOVE, Step.CANCEL: DemandKind.UPDATE}
    named = {
        file_of(step, demand)
        for step in set().union(*IN_ORDER)
        # What a demand is for is done by the playbook that makes it.
        for demand in ([demands[step]] if step in demands else [None, *DemandKind])
    }

    assert [name for name in named if not (TASKS / name).is_file()] == []
    assert {f"orders/{path.name}" for path in (TASKS / "orders").glob("*.yml")} <= named


def test_given_orders_then_all_hosts_of_the_batch_do_equally_much_in_the_round_and_their_orders_are_theirs() -> None:
    chained = Order("h0", Step.STOP, "0/1", then=[Order("h0", Step.NOTE, "0/2")])

    written = round_as_dicts([chained, Order("h1", Step.WATCH, "0/1")], ["h0", "h1", "h2"], None, NOW, shows=False)

    assert [(one["file"], one["do"], one["link"]) for one in written["h0"]] == [
        ("orders/stop.yml", "stop", 0),
        ("orders/note.yml", "note", 1),
    ]
    assert [one["file"] for one in written["h1"]] == ["orders/watch.yml", "nothing.yml"]
    assert written["h2"] == [{"file": "nothing.yml"}] * 2


def test_given_lines_and_a_host_that_waits_a_moment_then_all_hosts_show_them_first_and_the_others_do_not_wait() -> None:
    waits, asks = Order("h0", Step.ASK, "0/1", pause=1.2), Order("h1", Step.ASK, "0/1")

    written = round_as_dicts([waits, asks], ["h0", "h1"], DemandKind.MOVE, NOW, shows=True)

    assert [one["file"] for one in written["h0"]] == ["show.yml", "pause.yml", "../redeploy_early/ask.yml"]
    assert [one["file"] for one in written["h1"]] == ["show.yml", "nothing.yml", "../redeploy_early/ask.yml"]
    assert written["h0"][1]["pause"] == 2


def test_given_no_orders_then_the_batch_is_over() -> None:
    assert round_as_dicts([], ["h0"], None, NOW, shows=False) == {"h0": [{"file": "over.yml"}]}


def test_given_an_order_when_written_then_it_is_json_and_has_all_that_the_host_needs() -> None:
    run = run_at(Step.APPROVE)
    told: dict[str, Any] = {}
    reboot = event(resources=("vm_0",), event_id="E", notice=3000)
    for step in (Step.LEASE, Step.NOTE, Step.APPROVE):
        order = Order(
            "h0", step, "0/1", host_plan=run.hosts["h0"].host_plan, event_ids=("E",), as_seen=[reboot], is_ours=True
        )
        told = json.loads(json.dumps(order_as_dict(order, NOW)))

    assert told["reason"] == "Reboot E"
    assert told["starts_at"] == NOW + 3000
    assert (told["approving"], told["seen"], told["event_ids"]) == (["E"], ["E"], ["E"])
    assert [one["event_id"] for one in told["as_seen"]] == ["E"]
    assert (told["removes"], told["is_final"], told["number"]) == (True, False, "0/1")


@pytest.mark.parametrize("raw", [{}, {"number": "0/1", "answer": {}}, {"number": None}])
def test_given_a_host_that_has_left_the_play_when_it_reports_nothing_new_then_it_was_cut_short(
    raw: dict[str, Any],
) -> None:
    run = run_at(Step.DRAIN)

    (report,) = read_reports(run, {"h0": raw}, Balancers(), RUN)
    run, orders = advance(run, [report], NOW)

    assert report.is_cut_short
    assert (orders, run.is_over) == ([], True)
    assert "its batch did not run, or was interrupted" in run.report().by_host["h0"][0]


@pytest.mark.parametrize(
    ("step", "raw", "failure"),
    [
        (Step.LEASE, {"failed": True, "task": "Lease it", "answer": {"msg": "no space"}}, "Lease it: no space"),
        (Step.LEASE, {"answer": {"unreachable": True, "msg": "no route"}}, "Lease the host: The host could not be"),
        (Step.STOP, {"failed": True, "task": "Stop nginx", "answer": {}}, "Stop nginx: failed"),
        (Step.DRAIN, {"answer": {"unreachable": True, "msg": "no route"}}, ""),
        (Step.DRAIN, {"failed": True, "task": "Drain", "answer": {"msg": "no"}}, "Drain: no"),
        (Step.APPROVE, {"answer": {"approved": 7}}, "its answer cannot be read"),
        (Step.WATCH, {"answer": {"progress": 7}}, "its answer cannot be read"),
    ],
)
def test_given_what_went_wrong_when_read_then_it_is_reported(step: Step, raw: dict[str, Any], failure: str) -> None:
    found = report_of(step, **raw).failure

    assert found.startswith(failure)
    assert bool(found) == bool(failure)


@pytest.mark.parametrize(("link", "failures"), [(0, ["Drain: 503"]), (1, ["", "Drain: 503"]), (7, ["", "Drain: 503"])])
def test_given_an_order_that_failed_after_others_of_its_round_when_read_then_those_have_succeeded(
    link: int, failures: list[str]
) -> None:
    reboot = event(resources=("vm_0",), notice=3000)
    begun = begin([Host("h0", "vm_0", (reboot,)), Host("h1", "vm_1")], Policy(minimum_in_service="1"), NOW)
    run, _orders, _longest = chain(*advance(begun, [], NOW), NOW)
    failure = {"task": "Drain", "answer": {"msg": "503"}, "link": link}

    reports = read_reports(run, {"h0": {"number": run.number, "failure": failure}}, Balancers(), RUN)

    steps = enumerate((Step.LEASE, Step.DRAIN))
    assert [(report.did, report.link) for report in reports] == [(do, at) for at, do in steps][: len(failures)]
    assert [report.failure for report in reports] == failures


def test_given_a_lease_that_another_run_holds_when_read_then_that_is_no_failure() -> None:
    report = report_of(Step.LEASE, failed=True, task="Lease", answer={"msg": "alice has it", "leased": True})

    assert (report.refused, report.failure) == ("alice has it", "")


def test_given_what_systemd_warns_of_or_who_has_taken_over_when_read_then_it_is_there() -> None:
    assert report_of(Step.STOP, stop_warnings=["web.socket is active"]).warnings == ("web.socket is active",)
    watched = report_of(Step.WATCH, answer={"progress": {"lost": "bob has it"}})
    assert (watched.refused, watched.progress) == ("bob has it", {"lost": "bob has it"})


def test_given_what_a_drained_host_says_when_read_then_its_events_and_what_remains_are_there() -> None:
    reboot = event(resources=("vm_0",))
    drained = {"listed": {"events": [as_returned(reboot)]}, "remaining": ["web1 port 80"], "warnings": ["it leaves"]}
    report = report_of(Step.DRAIN, **drained)

    assert (report.listed, report.remaining, report.warnings) == ((reboot,), ("web1 port 80",), ("it leaves",))
    assert report_of(Step.DRAIN, listed={"failed": True, "msg": "silent"}).listed is None
    assert report.is_confirmed
    assert not report_of(Step.DRAIN, listed={"events": []}, confirmed=False).is_confirmed
    # Of one that has failed, what is still ahead is known as well.
    failed = report_of(Step.DRAIN, failed=True, task="Fail if any method failed", answer={"msg": "503"}, **drained)
    assert (failed.failure, failed.listed) == ("503", (reboot,))


def test_given_an_approval_when_read_then_each_event_is_there_with_its_notice_or_why_not() -> None:
    report = report_of(
        Step.APPROVE,
        answer={
            "approved": [{"event_id": "E", "seconds_until_start": 900}],
            "not_approved": [{"event_id": "F", "reason": "it has changed"}],
        },
    )

    assert (report.approved, report.not_approved) == ({"E": 900}, {"F": "it has changed"})


def test_given_a_host_that_another_owner_wants_out_when_restored_then_the_owner_is_reported() -> None:
    claims = {"by_hand": claim(), "handle_events": claim(reason="its own")}

    report = read(run_that_returns(), answer={}, claims=claims, owner="handle_events")

    assert report.refused == "by hand since 2026-09-19T17:59:00Z, by root on ctl1: Reboot A"


def test_given_a_host_that_haproxy_keeps_out_when_restored_then_that_is_reported_and_no_failure() -> None:
    kept = read(run_that_returns(), answer={}, kept_out=["web on lb1: maint", "api"], partly_out=["web on lb2"])
    failed = read(run_that_returns(), failed=True, task="Enable", answer={"msg": "503"}, kept_out=["web on lb1"])

    assert (kept.failure, kept.refused) == ("", "in HAProxy: web on lb1: maint; api")
    assert kept.warnings == ("not in rotation at web on lb2",)
    assert (failed.failure, failed.refused, failed.warnings) == ("Enable: 503", "", ())


@pytest.mark.parametrize(
    ("raw", "failure", "outcome", "may_still_move"),
    [
        ({"answer": {"outcome": "moved at once"}}, "", "moved at once", False),
        ({"answer": {"failure": "Azure did not answer", "may_still_move": True}}, "Azure did not answer", None, True),
        ({"failed": True, "task": "Move it", "answer": {"msg": "no"}}, "Move it: no", None, False),
    ],
)
def test_given_what_azure_did_to_a_host_that_is_moved_when_read_then_it_is_known_whether_that_may_still_happen(
    raw: dict[str, Any], failure: str, outcome: str | None, may_still_move: bool
) -> None:
    report = read(run_for(DemandKind.MOVE, Step.MOVE), **raw)

    assert (report.failure, report.may_still_move) == (failure, may_still_move)
    assert report.progress == (outcome and {"outcome": outcome})


@pytest.mark.parametrize(
    ("raw", "failure"),
    [
        ({"answer": {"status": "Cancelled"}}, ""),
        ({"answer": {"msg": "409"}}, "409"),
        ({"answer": {}}, "failed"),
        ({"failed": True, "task": "Cancel", "answer": {"msg": "no", "status": ""}}, "Cancel: no"),
        ({"failed": True, "task": "Cancel", "answer": {"msg": "no"}}, "Cancel: no"),
    ],
)
def test_given_a_run_of_updates_when_nothing_says_that_it_was_cancelled_then_it_was_not(
    raw: dict[str, Any], failure: str
) -> None:
    found = read(run_for(DemandKind.UPDATE, Step.CANCEL), **raw).failure

    assert found.endswith(failure)
    assert bool(found) == bool(failure)


def test_given_a_lease_that_cannot_be_ended_then_that_is_no_failure_because_it_ends_by_itself() -> None:
    run = run_at(Step.WATCH)
    progress = dict(run.hosts["h0"].progress or {}, gave_up=True)
    run, (order,) = advance(run, [OrderReport("h0", Step.WATCH, progress=progress)], NOW)
    answer = {"unreachable": True, "msg": "no route"}

    (report,) = read_reports(run, {"h0": {"number": run.number, "answer": answer}}, Balancers(), RUN)

    assert order.do is Step.RELEASE
    assert report.failure == ""


@given(st.sampled_from([Step.LEASE, Step.DRAIN, Step.STOP, Step.NOTE, Step.APPROVE, Step.WATCH]), ANYTHING, ANYTHING)
def test_given_any_answer_of_a_host_when_read_then_it_ends_no_run_and_approves_nothing_by_itself(
    step: Step, answer: Any, remaining: Any
) -> None:
    run = run_at(step)
    (report,) = read_reports(
        run, {"h0": {"number": run.number, "answer": answer, "remaining": remaining}}, Balancers(), RUN
    )

    # Of a watch, the action on the controller has read what the host said, and says how far it has come.
    if step is not Step.WATCH:
        further, orders = advance(run, [report], NOW)
        assert orders or further.is_over


def test_given_a_host_that_sets_the_variables_of_the_operator_when_noted_then_they_are_ignored() -> None:
    reading = note_asked(
        "h0",
        {
            "answer": {"vm_name": "vm_0", "events": []},
            "facts": ["handle_events_approve", "distribution"],
            "policy": {"minimum_in_service": "0"},
            "variables": {"haproxy_hosts": ["lb1"], "methods": ["haproxy"]},
        },
        RUN,
    )

    assert (reading["minimum"], reading["haproxy"]) == (None, {})
    assert reading["failure"].startswith("Read the events: its ansible_facts hold handle_events_approve, which only")
    assert reading["vm_name"] is None


@pytest.mark.parametrize("claims", [["a"], {"handle_events": []}, {"by_hand": {"since": "noon"}}, None, 7])
def test_given_claims_that_cannot_be_read_when_noted_then_the_host_is_silent_and_that_is_reported(claims: Any) -> None:
    asked = {
        "answer": {"vm_name": "vm_0", "events": []},
        "found": {"claims": claims, "lease": None, "now": NOW},
        "lease": LEASE,
    }
    reading = note_asked("h0", asked, RUN)

    if claims is None:
        assert reading["vm_name"] == "vm_0"
    else:
        assert reading["vm_name"] is None
        assert "its answers cannot be read" in reading["failure"]


@pytest.mark.parametrize("answer", [7, "text", ["text"], {"events": 7}, {"events": [{"event_id": 5}]}])
def test_given_events_that_are_none_when_noted_then_the_host_is_silent_and_that_is_reported(answer: Any) -> None:
    reading = note_asked("h0", {"answer": answer, "found": found(), "lease": LEASE}, RUN)

    assert reading["vm_name"] is None
    assert "its answers cannot be read" in reading["failure"]


@pytest.mark.parametrize(("answers", "waits_longer"), [({"asked_at": NOW, "answered_at": NOW + 1}, True), ({}, False)])
def test_given_a_host_without_events_when_asked_again_then_only_one_that_answers_gets_more_time(
    answers: dict[str, float], waits_longer: bool
) -> None:
    asked = {"answer": {"msg": "timed out"}, "found": found() | answers, "lease": LEASE}
    host = known_host(note_asked("h0", asked, RUN), Balancers(), None)
    _run, orders = advance(begin([host, Host("h1", "vm_1")], Policy(), NOW), [], NOW)

    assert [(order.do, order.was_silent) for order in orders] == [(Step.ASK, waits_longer)]


def test_given_a_lease_of_a_run_that_is_dead_when_ordered_then_it_is_taken_over() -> None:
    dead = describe_run("handle_events", {"id": 15, "controller": "c1", "template_id": 9})
    asked = {
        "answer": {"vm_name": "vm_0", "events": [as_returned(event())]},
        "found": found(dict(lease_of(dead), process=dict(dead["process"], boot_id="another"))),
        "lease": LEASE,
    }
    ours = describe_run("handle_events", {"id": 16, "controller": "c1", "template_id": 9})
    host = known_host(note_asked("h0", asked, ours), Balancers(), None)
    run = begin([host, Host("h1", "vm_1")], Policy(minimum_in_service="1"), NOW)
    _run, (order,) = advance(run, [], NOW)

    assert order.do is Step.LEASE
    assert order_as_dict(order, NOW)["take_over"] == dead["id"]


@pytest.mark.parametrize("kind", DemandKind)
@pytest.mark.parametrize("is_due", [True, False])
def test_given_a_demand_for_a_host_when_known_then_it_has_no_event_whatever_is_announced_and_nobody_makes_one_up(
    is_due: bool, kind: DemandKind
) -> None:
    reason = "" if is_due else "it is outside redeploy_early_between"
    asked = {
        "answer": {"vm_name": "vm_0", "events": [as_returned(event())]},
        "agent": {"in_rotation": False},
        "demand": {"is_due": is_due, "reason": reason},
    }
    host = known_host(note_asked("h0", asked, RUN), Balancers(), kind)

    assert host.events == ()
    assert host.demand == (Demand(kind, "h0", NO_LIMIT) if is_due else None)
    assert host.not_demanded == reason
    # The owner who took it out must restore it.
    assert (host.is_drained, host.agent) == (True, None)


@pytest.mark.parametrize(
    ("kind", "is_due", "is_resumed"),
    [
        (DemandKind.MOVE, True, False),
        (DemandKind.UPGRADE, True, True),
        (DemandKind.UPGRADE, False, True),
        (DemandKind.UPDATE, True, True),
        (DemandKind.UPDATE, False, False),
    ],
)
def test_given_a_host_that_an_earlier_run_has_left_out_when_known_then_only_a_run_that_can_end_it_restores_it(
    kind: DemandKind, is_due: bool, is_resumed: bool
) -> None:
    asked = {
        "answer": {"vm_name": "vm_0", "events": []},
        "found": found(handle_events=claim()),
        "lease": LEASE,
        "demand": {"is_due": is_due},
    }
    host = known_host(note_asked("h0", asked, RUN), Balancers(), kind)

    assert (host.needs_restore, host.is_drained) == (is_resumed, not is_resumed)


@pytest.mark.parametrize("kind", DemandKind)
def test_given_a_host_that_nobody_has_taken_out_when_known_then_it_is_in_rotation(kind: DemandKind) -> None:
    asked = {"answer": {"vm_name": "vm_0", "events": []}, "demand": {"is_due": True}}
    host = known_host(note_asked("h0", asked, RUN), Balancers(), kind)

    assert (host.needs_restore, host.is_drained) == (False, False)


def test_given_a_demand_with_a_batch_and_a_time_when_known_then_it_has_them() -> None:
    demand = {"is_due": True, "batch": "e1", "ready_by": NOW + 5, "all_of": ["h0", "h1"]}
    asked = {"answer": {"vm_name": "vm_0", "events": []}, "demand": demand}

    host = known_host(note_asked("h0", asked, RUN), Balancers(), DemandKind.UPDATE)
    assert host.demand == Demand(DemandKind.UPDATE, "e1", NOW + 5, ("h0", "h1"))


@pytest.mark.parametrize(("step", "known"), [(Step.WAIT, ["E"]), (Step.WATCH, None)])
def test_given_an_order_when_written_then_only_a_host_that_waits_is_told_what_is_known(
    step: Step, known: list[str] | None
) -> None:
    written = order_as_dict(Order("h0", step, "0/1", known=(event(event_id="E"),)), NOW)["known"]

    assert (written and [one["event_id"] for one in written]) == known


@pytest.mark.parametrize(("notice", "is_in_vain"), [(3000, True), (300, False)])
def test_given_a_step_that_failed_when_its_host_is_restored_then_the_attempt_was_in_vain_unless_the_event_has_ended(
    notice: float, is_in_vain: bool
) -> None:
    run, orders = advance(run_at(Step.STOP, notice), [OrderReport("h0", Step.STOP, "it failed")], NOW)
    if not is_in_vain:
        assert orders[0].do is Step.WATCH
        over = dict(orders[0].progress or {}, over=True, restore=True)
        run, orders = advance(run, [OrderReport("h0", Step.WATCH, progress=over)], NOW)

    assert (orders[0].do, orders[0].tried) == (Step.RESTORE, {"E": "h0: it failed" if is_in_vain else ""})


def test_given_a_host_that_sets_the_variables_of_the_operator_when_noted_then_it_demands_nothing() -> None:
    asked = {"facts": ["redeploy_early_hosts"], "demand": {"is_due": True}}

    assert known_host(note_asked("h0", asked, RUN), Balancers(), DemandKind.MOVE).demand is None


def test_given_a_demand_when_ordered_then_the_host_is_told_why_and_until_when() -> None:
    host = Host("h0", "vm_0", demand=Demand(DemandKind.UPGRADE, "e1", NOW + 600), stop_seconds=60)
    run, (order,) = advance(begin([host, Host("h1", "vm_1")], Policy(), NOW, demand=DemandKind.UPGRADE), [], NOW)

    told = json.loads(json.dumps(order_as_dict(order, NOW)))

    assert (told["do"], told["removes"], told["seen"]) == ("lease", True, [])
    assert told["reason"] == "Azure replaces its disk with one of a newer image"
    assert (told["drained_by"], told["stopped_by"]) == (NOW + 540, NOW + 600)
    assert run.report().lines[0].startswith("h0: Azure replaces its disk with one of a newer image: ")


def test_given_hosts_behind_balancers_then_each_balancer_is_asked_once_and_azure_only_if_a_host_is_hit() -> None:
    haproxy = {"haproxy_hosts": ["lb1", "lb2"], "methods": ["haproxy", "azure_load_balancer"], "azure_vm_id": "/vm"}

    def asked(*events: Event, directory: str | None = None, **demand: bool) -> dict[str, Any]:
        answer = {"vm_name": "vm_0", "events": [as_returned(one) for one in events]}
        variables = {**haproxy, "state_directory": directory}
        return note_asked("h0", {"answer": answer, "variables": variables, "demand": demand}, RUN)

    quiet = balancers_to_ask([asked(), asked(directory="/of/web"), asked(directory="/of/web")])
    assert [(one["name"], one["records"]) for one in quiet["haproxys"]] == [
        (name, ["/var/lib/foghorn/handle_events", "/of/web"]) for name in ("lb1", "lb2")
    ]
    assert quiet["vm_ids"] == []
    assert balancers_to_ask([asked(event())])["vm_ids"] == ["/vm"]
    assert balancers_to_ask([asked(is_due=True)])["vm_ids"] == ["/vm"]
