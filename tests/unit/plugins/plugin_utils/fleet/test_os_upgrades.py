# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done about the questions of scale sets, at any time and in any state, and by runs that die on the way."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.advance import advance, begin
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.balancers import Balancers
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.claims import describe_run
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.demand import Demand, DemandKind
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Host
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.orders import known_host, note_asked
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.os_upgrades import (
    Member,
    UpgradeOptions,
    decide,
    note_member,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import make_plan
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import read_policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.run import OrderReport, Run, Step

from .claimed import claim, found

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC).timestamp()
BATCH, SCHEDULING = "UpgradeAutoOSRollingBatchStarting", "UpgradeAutoOSScheduling"
SET = "/subscriptions/s/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets/web"
POLICY = {"minimum_in_service": "50%"}


def at(seconds: float) -> str:
    return datetime.fromtimestamp(NOW + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def event(*states: str, kind: str = BATCH, wait: float = 1800, most: float = 14400, name: str = "e1") -> dict[str, Any]:
    targets = [{"id": f"{SET}/virtualMachines/{number}", "state": state} for number, state in enumerate(states)]
    if kind == SCHEDULING:
        targets = [{"id": SET, "state": state} for state in states]
    state = "Active" if "Waiting" in states else "Completed"
    times = {"wait_until": at(wait), "max_wait_until": at(most)}
    return {"name": name, "type": kind, "state": state, "targets": targets, **times}


def asked(*events: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"resource_group": "shop", "name": "web", "events": list(events)}]


def member(number: int, **details: Any) -> Member:
    return Member(f"{SET.upper()}/virtualMachines/{number}", **details)


def test_given_a_batch_when_decided_then_its_hosts_go_together_and_azure_waits_for_as_long_as_a_lease() -> None:
    decided = decide(asked(event("Waiting", "Waiting")), {"a": member(0), "b": member(1), "c": member(2)}, NORMAL, NOW)

    demands = decided["demands"]
    assert [demands[name]["is_due"] for name in "abc"] == [True, True, False]
    assert demands["a"]["batch"] == demands["b"]["batch"] == "e1"
    assert demands["a"]["of"] == {"resource_group": "shop", "scale_set": "web", "name": "e1"}
    assert demands["a"]["instance"].endswith("/virtualMachines/0")
    assert demands["a"]["ready_by"] == NOW + 14400 - 60
    # It waits for half an hour by itself.
    assert decided["delays"] == []
    assert decided["answers"] == []


NORMAL = UpgradeOptions()


@pytest.mark.parametrize(
    ("wait", "most", "until"),
    [
        (600, 14400, 1800),
        (1700, 14400, 1800),
        (1741, 14400, None),
        (600, 1200, 1140),
        (1100, 1200, None),
        (60, 60, None),
    ],
)
def test_given_an_end_when_hosts_are_not_ready_then_it_is_moved_as_far_as_a_lease_and_never_into_the_margin(
    wait: float, most: float, until: float | None
) -> None:
    decided = decide(asked(event("Waiting", wait=wait, most=most)), {"a": member(0)}, NORMAL, NOW)

    assert [one["until"] for one in decided["delays"]] == ([] if until is None else [at(until)])


@pytest.mark.parametrize(
    ("was_begun", "is_claimed", "is_due", "is_upgraded"),
    [(True, True, True, False), (True, False, False, True), (False, True, False, False)],
)
def test_given_a_host_that_nobody_asks_about_any_more_then_it_is_due_only_while_its_approved_upgrade_holds_a_claim(
    was_begun: bool, is_claimed: bool, is_due: bool, is_upgraded: bool
) -> None:
    hosts = {"a": member(0, was_begun=was_begun, is_claimed=is_claimed)}

    demand = decide(asked(), hosts, NORMAL, NOW)["demands"]["a"]

    assert (demand["is_due"], demand["is_upgraded"]) == (is_due, is_upgraded)


@pytest.mark.parametrize("answer", ["reject", "leave"])
def test_given_another_answer_when_asked_then_the_host_is_left_alone_and_azure_does_not_wait_for_it(
    answer: str,
) -> None:
    hosts = {"a": member(0, answer=answer), "b": member(1)}
    decided = decide(asked(event("Waiting", "Approved", wait=60)), hosts, NORMAL, NOW)

    assert decided["demands"]["a"]["reason"] == f"handle_os_upgrades_answer is {answer}"
    assert not decided["demands"]["a"]["is_due"]
    assert not decided["demands"]["b"]["is_due"], "it is answered for"
    assert decided["delays"] == []
    assert [one["state"] for one in decided["answers"]] == (["rejected"] if answer == "reject" else [])


@pytest.mark.parametrize(
    ("scheduling", "is_open", "answers", "delays"),
    [("approve", True, ["approved"], 0), ("approve", False, [], 1), ("leave", True, [], 0), ("leave", False, [], 0)],
)
def test_given_an_upgrade_to_schedule_then_it_is_approved_only_in_an_open_window_and_only_if_configured(
    scheduling: str, is_open: bool, answers: list[str], delays: int
) -> None:
    options = UpgradeOptions(scheduling=scheduling, may_schedule=is_open)
    decided = decide(asked(event("Waiting", kind=SCHEDULING, wait=60)), {"a": member(0)}, options, NOW)

    assert [one["state"] for one in decided["answers"]] == answers
    assert len(decided["delays"]) == delays
    assert not decided["demands"]["a"]["is_due"]


@pytest.mark.parametrize(
    "broken",
    [
        {"name": "x", "type": "VMScaleSetVMDeleteStarting", "state": "Active", "wait_until": at(60), "targets": [{}]},
        {"name": "x", "type": BATCH, "state": "Active", "wait_until": None, "targets": [{"id": f"{SET}/0"}]},
        {"name": "x", "type": BATCH, "state": "Active", "wait_until": "soon", "targets": None},
        {"name": "x", "type": BATCH, "state": "Completed", "wait_until": at(60), "targets": []},
    ],
)
def test_given_an_event_that_is_unknown_or_cannot_be_read_when_decided_then_nothing_is_done_about_it(
    broken: dict[str, Any],
) -> None:
    decided = decide(asked(broken), {"a": member(0), "b": Member("")}, UpgradeOptions(scheduling="approve"), NOW)

    assert decided["delays"] == decided["answers"] == []
    assert not any(demand["is_due"] for demand in decided["demands"].values())


@pytest.mark.parametrize(
    ("found", "is_claimed"),
    [
        (found(handle_os_upgrades=claim()), True),
        (found(), False),
        ({"claims": ["a"]}, False),
        # Its directory is that of another VM, or it says so because it was taken over.
        ({**found(handle_os_upgrades=claim()), "vm": {"resource_id": "/another"}}, False),
    ],
    ids=["claimed", "free", "unreadable", "of another VM"],
)
def test_given_anything_that_a_host_says_of_its_claims_when_noted_then_it_ends_no_run(
    found: dict[str, Any], is_claimed: bool
) -> None:
    lease = {"owner": "handle_os_upgrades", "breaks": False, "vm": {"resource_id": f"{SET}/virtualMachines/0"}}
    said = {"resource_id": "r", "answer": "approve", "was_begun": True, "asked": {"found": found, "lease": lease}}

    assert note_member(said, {"id": "R"}) == Member("r", "approve", was_begun=True, is_claimed=is_claimed)


def test_given_a_set_that_did_not_answer_then_it_is_reported() -> None:
    found = [{"resource_group": "shop", "name": "web", "failure": "403"}, *asked(event("Waiting"))]
    decided = decide(found, {"a": member(0)}, NORMAL, NOW)

    assert decided["failures"] == ["web: 403"]
    assert decided["demands"]["a"]["is_due"]


def test_given_one_that_another_run_is_at_work_on_when_planned_then_the_others_go_without_it() -> None:
    together = Demand(DemandKind.UPGRADE, "e1")
    hosts = [Host("a", "web_0", demand=together, leased="alice"), Host("b", "web_1", demand=together)]
    plan = make_plan([*hosts, Host("c", "web_2"), Host("d", "web_3")], read_policy(POLICY), NOW)

    assert plan.batches == [["b"]]
    assert plan.passed_over == {"a": "alice"}


# -- runs that die ----------------------------------------------------------------------------------------------------


class Death(Exception):
    """The run is no more."""


class Machines:
    """A set of four, of which Azure upgrades two at a time; and what runs have written down, here and there."""

    def __init__(self) -> None:
        self.states = ["Waiting", "Waiting"]
        self.claimed = [False] * 4
        self.noted = [False] * 4
        self.is_out = [False] * 4
        self.has_new_disk = [False] * 4
        self.steps_left = 10**6
        self.dropped: list[str] = []

    def step(self) -> None:
        """Something is about to be done; the run may die before."""
        if self.steps_left == 0:
            raise Death
        self.steps_left -= 1

    def azure_goes_on(self) -> None:
        """When all are answered for."""
        if "Waiting" not in self.states:
            for number, _state in enumerate(self.states):
                if not self.has_new_disk[number]:
                    if not self.is_out[number]:
                        self.dropped.append(f"web_{number}")
                    self.has_new_disk[number] = True
                    self.claimed[number] = False

    def ask(self, number: int) -> Host:
        members = {f"h{n}": self._member(n) for n in range(4)}
        decided = decide(asked(event(*self.states)), members, NORMAL, NOW)
        reading = note_asked(
            f"h{number}",
            {
                "answer": {"vm_name": f"web_{number}", "events": []},
                "found": found(**({"handle_os_upgrades": claim()} if self.claimed[number] else {})),
                "lease": {"owner": "handle_os_upgrades", "breaks": False},
                "demand": decided["demands"][f"h{number}"],
            },
            describe_run("handle_os_upgrades"),
        )
        return known_host(reading, Balancers(), DemandKind.UPGRADE)

    def _member(self, number: int) -> Member:
        return member(number, was_begun=self.noted[number], is_claimed=self.claimed[number])

    def run(self, policy: dict[str, Any]) -> Run:
        run = begin([self.ask(n) for n in range(4)], read_policy(policy), NOW, demand=DemandKind.UPGRADE)
        reports: Sequence[OrderReport] = ()
        while True:
            run, orders = advance(run, reports, NOW)
            if not orders:
                return run
            if orders[0].do is Step.MOVE:
                reports = self._upgrade([int(order.host[1:]) for order in orders])
            else:
                reports = [self._carry_out(order.do, int(order.host[1:])) for order in orders]

    def _carry_out(self, do: Step, number: int) -> OrderReport:
        self.step()
        report = OrderReport(f"h{number}", do)
        if do is Step.ASK:
            return report._replace(reading=self.ask(number))
        if do is Step.LEASE:
            self.claimed[number] = True
        elif do is Step.DRAIN:
            self.is_out[number] = True
        elif do is Step.RESTORE:
            self.is_out[number] = False
            self.step()
            self.claimed[number] = False
            self.step()
            self.noted[number] = False
        return report

    def _upgrade(self, numbers: list[int]) -> list[OrderReport]:
        for number in numbers:
            self.step()
            self.noted[number] = True
        for number in numbers:
            self.step()
            if number < 2 and self.states[number] == "Waiting":
                assert self.is_out[number]
                self.states[number] = "Approved"
        self.step()
        self.azure_goes_on()
        for number in numbers:
            self.step()
            self.claimed[number] = True
        return [OrderReport(f"h{number}", Step.MOVE, progress={"outcome": "has its new disk"}) for number in numbers]


def test_given_a_run_that_dies_before_any_step_when_run_again_then_none_was_upgraded_in_service_and_all_are_back() -> (
    None
):
    whole = Machines()
    whole.run(POLICY)
    taken = 10**6 - whole.steps_left
    assert taken > 10
    for steps in range(taken + 1):
        machines = Machines()
        machines.steps_left = steps
        try:
            machines.run(POLICY)
        except Death:
            # Azure does not wait for the next run.
            machines.azure_goes_on()
            machines.steps_left = 10**6
            machines.run(POLICY)
        assert machines.has_new_disk == [True, True, False, False], steps
        assert machines.dropped == [], steps
        assert machines.is_out == machines.claimed == machines.noted == [False] * 4, steps
