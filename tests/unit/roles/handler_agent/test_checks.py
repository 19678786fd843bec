# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a policy wants before an approval: that it is the time, and that its checks agree.

Runs on Python 3.6 and later.
"""

from typing import Any, Dict, List

import pytest
from foghorn_agent.advice import advice_on_machine, advice_on_policies
from foghorn_agent.config import ConfigError, parse_config
from foghorn_core.maintenance_policy.window import Window
from rehearsal import EPOCH, POLICY, Life, Rehearsal, fleet_of, tick_all

CHECKED: Dict[str, Any] = dict(
    POLICY,
    check=[{"command": ["/bin/alerts"], "name": "alerts"}, {"command": ["/bin/quorum"], "name": "quorum"}],
)


def rehearsal_of(*lives: Life, failing: str = "", policy: Any = None) -> Rehearsal:
    one = Rehearsal(lives, policy=policy or CHECKED)
    one.failing = {failing} - {""}
    return one


def withheld(rehearsal: Rehearsal) -> Any:
    (event,) = rehearsal.status()["events"]
    assert event["willing"] is (event["withheld"] is None)
    return event["withheld"]


def test_given_checks_that_agree_when_an_event_comes_then_it_is_drained_and_approved_without_delay() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=900.0)).run()
    assert len(rehearsal.approvals) == 1
    assert rehearsal.approvals[0][0] < 20.0
    assert [name for _at, name in rehearsal.checks[:2]] == ["alerts", "quorum"]


def test_given_a_check_that_fails_when_the_event_is_ready_then_it_is_approved_once_the_check_succeeds() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=200.0), failing="quorum")
    rehearsal.run_until(100.0)
    assert rehearsal.steps("shutdown") == ["stop"]
    assert rehearsal.approvals == []
    assert withheld(rehearsal) == "check quorum: exit status 1: HighLatency fires"
    rehearsal.failing = set()
    rehearsal.run_until(112.0)
    assert len(rehearsal.approvals) == 1


def test_given_a_check_that_fails_when_the_first_of_the_list_does_then_the_others_do_not_run() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=200.0), failing="alerts")
    rehearsal.run_until(50.0)
    assert {name for _at, name in rehearsal.checks} == {"alerts"}
    times = [at for at, _name in rehearsal.checks]
    assert min(later - earlier for earlier, later in zip(times, times[1:])) >= 10.0


def test_given_a_check_that_never_succeeds_when_the_event_has_days_then_it_drains_five_minutes_before() -> None:
    rehearsal = rehearsal_of(Life("Redeploy", notice=1500.0), failing="alerts")
    rehearsal.run_until(1195.0)
    assert not rehearsal.state.is_out
    rehearsal.run()
    drained = next(at for at, stage, _name in rehearsal.steps_begun if stage == "drain")
    assert 1202.0 <= drained <= 1206.0
    assert rehearsal.approvals == []
    assert rehearsal.restored == 1


def test_given_an_eviction_when_its_checks_have_not_ended_then_its_drain_does_not_wait_for_them() -> None:
    rehearsal = rehearsal_of(Life("Preempt", notice=30.0), failing="alerts")
    rehearsal.run_until(4.0)
    assert rehearsal.steps() == ["deregister"]


def test_given_a_check_that_was_good_when_the_agent_starts_again_then_it_is_asked_again() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=250.0))
    rehearsal.step_seconds["stop"] = 60.0
    rehearsal.run_until(20.0)
    rehearsal.failing = {"alerts"}
    rehearsal.kill()
    rehearsal.run_until(150.0)
    assert rehearsal.steps("shutdown").count("stop") >= 1
    assert rehearsal.approvals == []


def test_given_a_member_whose_check_fails_when_the_others_are_ready_then_nobody_approves_for_it() -> None:
    shared = Life("Reboot", notice=250.0, resources=("web_0", "web_1"))
    machines = fleet_of(["web_0", "web_1"], [shared], policy=CHECKED)
    machines[1].failing = {"alerts"}
    tick_all(machines, 100)
    assert [machine.approvals for machine in machines] == [[], []]
    machines[1].failing = set()
    tick_all(machines, 20)
    assert [len(machine.approvals) for machine in machines] == [1, 0]


def test_given_an_event_that_is_over_when_a_check_runs_then_it_is_ended() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=60.0, withdrawn_after=20.0))
    rehearsal.run()
    count = len(rehearsal.checks)
    rehearsal.run_until(rehearsal.now + 60.0)
    assert len(rehearsal.checks) == count
    assert not rehearsal.state.is_out


# --- times at which it may approve -------------------------------------------------------------------


def at_night(**more: Any) -> Dict[str, Any]:
    return dict(POLICY, approve_between=[dict({"from": "00:02", "to": "00:10"}, **more)])


def test_given_a_time_for_approvals_when_it_has_come_then_it_drains_and_approves() -> None:
    # Its time begins two minutes after the rehearsal does.
    assert EPOCH.hour == EPOCH.minute == 0
    rehearsal = rehearsal_of(Life("Redeploy", notice=1500.0), policy=at_night())
    rehearsal.run_until(100.0)
    assert withheld(rehearsal) == "outside approve_between"
    assert not rehearsal.state.is_out
    rehearsal.run_until(140.0)
    ((approved_at, _event_id),) = rehearsal.approvals
    assert 120.0 <= approved_at <= 140.0


def test_given_another_day_when_it_is_the_time_then_it_is_not_approved() -> None:
    # 1 January 2026 is a Thursday.
    rehearsal = rehearsal_of(Life("Reboot", notice=250.0), policy=at_night(days=["mon", "fri"]))
    rehearsal.run()
    assert rehearsal.approvals == []
    assert rehearsal.restored == 1


def test_given_a_time_and_a_failing_check_when_both_withhold_then_the_one_that_is_left_is_reported() -> None:
    rehearsal = rehearsal_of(Life("Reboot", notice=250.0), failing="alerts", policy=dict(CHECKED, **at_night()))
    rehearsal.run_until(60.0)
    assert withheld(rehearsal) == "outside approve_between"
    rehearsal.run_until(140.0)
    assert withheld(rehearsal) == "check alerts: exit status 1: HighLatency fires"
    said = rehearsal.messages("not approved now")
    assert said == [
        "Reboot is not approved now: outside approve_between",
        "Reboot is not approved now: check alerts: exit status 1: HighLatency fires",
    ]


def test_given_a_spread_when_the_time_has_come_then_each_event_waits_for_its_own_moment() -> None:
    names = ["web_%d" % number for number in range(4)]
    lives = [Life("Redeploy", notice=1500.0, event_id="E-%s" % name, resources=(name,)) for name in names]
    machines = fleet_of(names, lives, policy=dict(at_night(), approve_spread=240))

    tick_all(machines, 125)
    waits = {withheld(machine) for machine in machines}
    tick_all(machines, 275)

    assert waits == {"its moment within approve_spread has not come"}
    approved = sorted(at for machine in machines for at, _event_id in machine.approvals)
    assert len(approved) == len(names)
    assert 125.0 < approved[0] < approved[-1] - 60.0
    assert approved[-1] <= 120.0 + 240.0 + 20.0


def test_given_a_spread_when_an_event_is_shared_then_its_machines_wait_for_the_same_moment() -> None:
    shared = Life("Redeploy", notice=1500.0, resources=("web_0", "web_1"))
    machines = fleet_of(["web_0", "web_1"], [shared], policy=dict(at_night(), approve="quorum", approve_spread=240))

    # 181 seconds after 00:02, by the id E-1.
    tick_all(machines, 290)
    before = [machine.state.is_out for machine in machines]
    tick_all(machines, 30)

    assert before == [False, False]
    assert [len(machine.approvals) for machine in machines] == [1, 0]


def test_given_a_start_before_its_moment_when_the_margin_is_reached_then_it_is_approved_within_the_time() -> None:
    # The moment of E-1 is after the start.
    policy = dict(at_night(), approve_spread=240, margin=20)
    rehearsal = rehearsal_of(Life("Redeploy", notice=150.0), policy=policy)

    rehearsal.run_until(152.0)

    ((approved_at, _event_id),) = rehearsal.approvals
    assert 132.0 <= approved_at <= 152.0


# --- configuration ----------------------------------------------------------------------------------


def rule_of(**policy: Any) -> Any:
    return parse_config({"policies": [policy]}).rules[0].plan


def test_given_windows_when_read_then_they_mean_what_they_say() -> None:
    plan = rule_of(
        approve_between=[{}, {"from": "22:30", "to": "05:00", "days": ["sun"], "time_zone": "Europe/Berlin"}]
    )
    assert plan.approve_between == (
        Window((0, 1, 2, 3, 4, 5, 6), 0, 1440, "UTC"),
        Window((6,), 1350, 300, "Europe/Berlin"),
    )


@pytest.mark.parametrize(
    ("window", "mistake"),
    [
        ({"from": "5:00"}, '.from: expected a time of the day like 06:30, got "5:00"'),
        ({"from": "24:30"}, '.from: expected a time of the day like 06:30, got "24:30"'),
        ({"to": 1441}, ".to: expected a time of the day like 06:30, got 1441"),
        ({"from": "24:00"}, '.to: expected another time than that of from, got "24:00"'),
        ({"days": ["Monday"]}, '.days: expected a list of mon, tue, wed, thu, fri, sat, sun, got ["Monday"]'),
        (
            {"time_zone": "+2"},
            '.time_zone: expected UTC, +02:00 or a name like Europe/Berlin, on Linux with tzdata, got "+2"',
        ),
    ],
)
def test_given_a_window_with_a_mistake_when_read_then_it_is_named(window: Any, mistake: str) -> None:
    with pytest.raises(ConfigError) as refused:
        rule_of(approve_between=[window])
    assert list(refused.value.mistakes) == ["policies[0].approve_between[0]" + mistake]


def test_given_a_spread_without_times_when_read_then_it_is_refused() -> None:
    assert rule_of(approve_between=[{}], approve_spread=600).approve_spread == 600.0
    with pytest.raises(ConfigError, match=r"policies\[0\].approve_spread: expected approve_between beside it, got 600"):
        rule_of(approve_spread=600)


@pytest.mark.parametrize("step", [{"pause": 1}, {"stop": "nginx"}, {"start": "nginx"}, {"wait_connections": [443]}])
def test_given_a_check_with_side_effects_when_read_then_it_is_refused(step: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"policies\[0\].check\[0\]: expected command or hooks, because a check must change nothing"
    ):
        rule_of(check=[step])


def advice_of(directory: Any, **policy: Any) -> List[str]:
    config = parse_config({"policies": [policy], "hooks_directory": str(directory / "hooks.d")})
    return advice_on_policies(config) + advice_on_machine(config)


def test_given_conditions_for_an_approval_that_never_comes_when_checked_then_it_is_warned_of(tmp_path: Any) -> None:
    advice = advice_of(
        tmp_path, match={"event_types": ["Reboot"]}, check=[{"command": ["/bin/true"]}], approve_between=[{}]
    )
    assert advice == ["policies[0]: check and approve_between without approve: nothing is ever approved"]


def test_given_a_missing_check_when_checked_then_it_is_warned_of(tmp_path: Any) -> None:
    advice = advice_of(
        tmp_path,
        match={"event_types": ["Reboot"]},
        approve="when_ready",
        check=[{"command": ["/nowhere/alerts"]}],
    )
    assert advice == ["policies[0]: check: /nowhere/alerts: cannot be checked: /nowhere: No such file or directory"]
