# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What will the agent do about an event?

Runs on Python 3.6 and later.
"""

from datetime import datetime, timezone
from typing import Any, List, Optional

import pytest
from foghorn_agent.decide.policy import (
    DEFAULT_MARGIN,
    DRAIN,
    NEVER,
    QUORUM,
    RESTORE,
    SHUTDOWN,
    Plan,
    Rule,
    Step,
    default_rules,
    keyed,
    plan_for,
    seconds_for,
    spread_of,
)
from foghorn_core.maintenance_policy.match import Match
from foghorn_core.maintenance_policy.window import Window, why_closed
from foghorn_core.maintenance_policy.zones import LocalTime
from foghorn_core.scheduled_events.event import Event
from hypothesis import given
from hypothesis import strategies as st


def event(**details: Any) -> Event:
    return Event(
        "E-1", **dict({"event_type": "Reboot", "event_status": "Scheduled", "resources": ("web_0",)}, **details)
    )


@pytest.mark.parametrize(
    ("match", "details", "notice", "is_covered"),
    [
        (Match(), {}, None, True),
        (Match(event_types=("Reboot",)), {}, None, True),
        (Match(event_types=("reboot", "Freeze")), {}, None, True),
        (Match(event_types=("Freeze",)), {}, None, False),
        (Match(event_types=()), {}, None, False),
        (Match(event_sources=("User",)), {"event_source": "User"}, None, True),
        (Match(event_sources=("User",)), {"event_source": "Platform"}, None, False),
        (Match(event_sources=("User",)), {}, None, False),
        (Match(event_statuses=("Started",)), {"event_status": "Started"}, None, True),
        (Match(event_statuses=("Started",)), {}, None, False),
        (Match(description="*host UPDATE*"), {"description": "A Host Update is due"}, None, True),
        (Match(description="host"), {"description": "A host update"}, None, False),
        (Match(description="?*"), {}, None, False),
        (Match(description="*"), {}, None, True),
        (Match(shared=True), {"resources": ("a", "b")}, None, True),
        (Match(shared=True), {}, None, False),
        (Match(shared=False), {"resources": ("a", "A")}, None, True),
        (Match(shared=False), {"resources": ("a", "b")}, None, False),
        (Match(no_longer_than=10), {"duration_in_seconds": 10}, None, True),
        (Match(no_longer_than=10), {"duration_in_seconds": 11}, None, False),
        (Match(no_longer_than=10), {"duration_in_seconds": 0}, None, True),
        (Match(no_longer_than=10), {"duration_in_seconds": -1}, None, False),
        (Match(no_longer_than=10), {}, None, False),
        (Match(longer_than=10), {"duration_in_seconds": 11}, None, True),
        (Match(longer_than=10), {"duration_in_seconds": 10}, None, False),
        (Match(longer_than=10), {"duration_in_seconds": -1}, None, True),
        (Match(longer_than=10), {}, None, True),
        (Match(notice_below=60), {}, 59.9, True),
        (Match(notice_below=60), {}, 60.0, False),
        (Match(notice_below=60), {}, None, True),
        (Match(notice_above=60), {}, 60.1, True),
        (Match(notice_above=60), {}, 60.0, False),
        (Match(notice_above=60), {}, None, False),
    ],
)
def test_given_a_condition_when_an_event_is_held_against_it_then_it_covers_it_or_not(
    match: Match, details: Any, notice: Optional[float], is_covered: bool
) -> None:
    assert match.covers(event(**details), notice) is is_covered


def test_given_several_rules_that_match_when_the_plan_is_made_then_it_is_that_of_the_first() -> None:
    rules = [Rule(Match(event_types=("Freeze",)), Plan("a")), Rule(Match(), Plan("b")), Rule(Match(), Plan("c"))]
    assert plan_for(rules, event(), None).rule == "b"


def test_given_no_rule_that_matches_when_the_plan_is_made_then_nothing_is_done() -> None:
    plan = plan_for([], event(), None)
    assert not plan.takes_out
    assert plan.approve == NEVER
    assert [plan.steps(stage) for stage in (DRAIN, SHUTDOWN, RESTORE)] == [(), (), ()]


@pytest.mark.parametrize(
    ("event_type", "duration", "stages", "approve", "margin"),
    [
        ("Freeze", 0, [], NEVER, DEFAULT_MARGIN),
        ("Freeze", 10, [], NEVER, DEFAULT_MARGIN),
        ("Freeze", 11, [DRAIN, RESTORE], NEVER, 20.0),
        ("Freeze", 60, [DRAIN, RESTORE], NEVER, 20.0),
        # Unknown, or not said: neither is short.
        ("Freeze", -1, [DRAIN, RESTORE], NEVER, 20.0),
        ("Freeze", None, [DRAIN, RESTORE], NEVER, 20.0),
        ("Reboot", -1, [DRAIN, SHUTDOWN, RESTORE], QUORUM, 20.0),
        ("Redeploy", -1, [DRAIN, SHUTDOWN, RESTORE], QUORUM, 20.0),
        ("Terminate", None, [DRAIN, SHUTDOWN, RESTORE], QUORUM, 20.0),
        ("Preempt", None, [DRAIN, SHUTDOWN, RESTORE], QUORUM, 2.0),
        ("Unheard of", None, [DRAIN, RESTORE], NEVER, 20.0),
    ],
)
def test_given_no_configuration_when_an_event_of_each_type_comes_then_the_defaults_have_a_plan(
    event_type: str, duration: Optional[int], stages: List[str], approve: str, margin: float
) -> None:
    plan = plan_for(default_rules(20.0), event(event_type=event_type, duration_in_seconds=duration), 900.0)
    assert [stage for stage in (DRAIN, SHUTDOWN, RESTORE) if plan.steps(stage)] == stages
    assert all(plan.steps(stage) == (Step("hooks", "hooks", 300.0),) for stage in stages)
    assert (plan.approve, plan.margin) == (approve, margin)
    assert plan.begin_before == (300.0 if approve == NEVER and stages else None)


def test_given_an_empty_drain_when_asked_then_it_takes_the_machine_out_anyway() -> None:
    assert Plan("a", drain=()).takes_out
    assert Plan("a", shutdown=()).takes_out
    assert not Plan("a", restore=()).takes_out


STEPS = st.lists(
    st.builds(Step, st.sampled_from(["pause", "command"]), st.just("p"), st.floats(0.001, 1e5)), min_size=1, max_size=6
)


# A clock has no smaller parts of a second that matter, and products of such numbers would be rounded to nothing.
@given(STEPS, st.floats(-1e5, 0) | st.floats(1e-9, 1e6))
def test_given_any_time_left_when_it_is_divided_then_no_step_exceeds_its_timeout_and_every_step_gets_some(
    steps: List[Step], left: float
) -> None:
    seconds = seconds_for(steps, left)
    assert seconds <= steps[0].timeout
    if left <= 0:
        assert seconds <= 0
    else:
        assert 0 < seconds <= left * (1 + 1e-9)
        # Its share leaves the others theirs.
        shares = sum(seconds_for([step, *(other for other in steps if other is not step)], left) for step in steps)
        assert shares <= left * (1 + 1e-9) or seconds == steps[0].timeout


def test_given_no_deadline_when_time_is_shared_out_then_a_step_has_its_own() -> None:
    assert seconds_for([Step("pause", "p", 60.0), Step("pause", "q", 600.0)], None) == 60.0


def test_given_half_the_time_when_it_is_shared_out_then_each_step_has_half_of_its_own() -> None:
    assert seconds_for([Step("command", "p", 60.0), Step("command", "q", 140.0)], 100.0) == 30.0
    assert seconds_for([Step("pause", "p", 60.0), Step("pause", "q", 140.0)], 100.0) == 30.0


@pytest.mark.parametrize(
    ("pause", "timeouts", "left", "for_pause"),
    [
        pytest.param(12.0, [60.0, 300.0], 28.0, 12.0, id="an eviction, and the balancer needs 12 s"),
        pytest.param(5.0, [300.0], 8.0, 4.0, id="half is left to the others"),
        pytest.param(60.0, [3.0], 20.0, 17.0, id="they want less than half"),
        pytest.param(60.0, [], 20.0, 20.0, id="there are no others"),
        pytest.param(12.0, [60.0], 100.0, 12.0, id="time enough"),
    ],
)
def test_given_little_time_when_it_is_shared_out_then_a_pause_has_its_own_first(
    pause: float, timeouts: List[float], left: float, for_pause: float
) -> None:
    steps = [Step("pause", "p", pause), *(Step("command", "c", timeout) for timeout in timeouts)]
    assert seconds_for(steps, left) == for_pause

    # What is left after it is for the others, in proportion to what they want.
    for position, timeout in enumerate(timeouts):
        reordered = [steps[1 + position], *(step for step in steps if step is not steps[1 + position])]
        expected = timeout * min(1.0, (left - for_pause) / sum(timeouts))
        assert seconds_for(reordered, left) == pytest.approx(expected)


# --- steps that are known again ---------------------------------------------------------------------


def test_given_steps_when_their_names_and_times_change_then_they_are_the_same_steps() -> None:
    steps = [Step("command", "stop", 60.0, argv=("/bin/stop", "it")), Step("hooks", "hooks", 300.0)]
    others = [Step("command", "halt", 5.0, argv=("/bin/stop", "it")), Step("hooks", "hooks", 10.0)]
    assert [key for key, _step in keyed(steps)] == [key for key, _step in keyed(others)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Step("command", "it", 60.0, argv=("/bin/a", "b c")), Step("command", "it", 60.0, argv=("/bin/a", "b", "c"))),
        (Step("pause", "it", 10.0), Step("pause", "it", 12.0)),
        (Step("wait_connections", "it", 60.0, ports=(80,)), Step("wait_connections", "it", 60.0, ports=(80, 443))),
        (
            Step("wait_connections", "it", 60.0, ports=(80,), ignored=("10.0.0.1",)),
            Step("wait_connections", "it", 60.0, ports=(80,)),
        ),
        (Step("hooks", "it", 60.0), Step("pause", "it", 60.0)),
        (Step("command", "it", 60.0, stops="a.service"), Step("command", "it", 60.0, starts="a.service")),
        (Step("command", "it", 60.0, stops="a.service"), Step("command", "it", 60.0, stops="b.service")),
    ],
)
def test_given_steps_that_do_different_things_when_they_have_one_name_then_they_are_different_steps(
    one: Step, other: Step
) -> None:
    assert one.identity != other.identity


def test_given_several_steps_that_do_the_same_when_keyed_then_each_is_known_by_its_count() -> None:
    pause, hooks = Step("pause", "it", 10.0), Step("hooks", "it", 60.0)
    keys = [key for key, _step in keyed([pause, hooks, pause])]
    assert len(set(keys)) == 3
    assert [key for key, _step in keyed([hooks, pause, pause])] == [keys[1], keys[0], keys[2]]


# --- moments within a time for approvals -------------------------------------------------------------

MIDNIGHT = datetime(2026, 1, 1, tzinfo=timezone.utc).timestamp()
CLOCKS = LocalTime()


@given(
    begins=st.integers(0, 1439),
    minutes=st.integers(1, 1439),
    spread=st.integers(0, 86400),
    share=st.floats(0, 0.999999),
)
def test_given_a_spread_then_a_window_opens_at_the_moment_of_the_share_and_stays_open_to_its_end(
    begins: int, minutes: int, spread: int, share: float
) -> None:
    window = Window(tuple(range(7)), begins, (begins + minutes) % 1440, "UTC")
    moment = share * min(spread, minutes * 30)

    def is_open(after: float) -> bool:
        return why_closed((window,), MIDNIGHT + begins * 60 + after, CLOCKS, spread, share) is None

    assert not is_open(-1)
    assert not is_open(moment - 0.01)
    assert is_open(moment + 0.01)
    assert is_open(minutes * 60 - 1)
    assert not is_open(minutes * 60)


def test_given_many_events_then_their_moments_fill_the_spread_and_are_the_same_in_any_case_of_the_id() -> None:
    ids = ["602D9444-D2CD-49C7-8624-%012X" % number for number in range(1000)]
    shares = [spread_of(Plan("p"), event()._replace(event_id=one), 0.0)[1] for one in ids]
    assert [spread_of(Plan("p"), event()._replace(event_id=one.lower()), 0.0)[1] for one in ids] == shares

    tenths = [int(share * 10) for share in shares]
    assert min(tenths.count(tenth) for tenth in range(10)) > 50


def test_given_the_margin_before_its_start_then_an_event_waits_for_no_moment() -> None:
    start = datetime(2026, 1, 1, 0, 30, tzinfo=timezone.utc)
    plan = Plan("p", approve_spread=3600.0, margin=10.0)

    assert spread_of(plan, event(not_before=start), start.timestamp() - 10.5)[0] == 3600.0
    assert spread_of(plan, event(not_before=start), start.timestamp() - 10.0) == (0.0, 0.0)
