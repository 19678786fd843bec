# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Are the metrics what Prometheus reads?

Runs on Python 3.6 and later.
"""

from typing import Any, Dict, List

import pytest
from edge_helpers import SAMPLE
from foghorn_agent.http.metrics import Counters, render
from foghorn_agent.http.status import PROBLEMS


def event(event_id: str, phase: str = "drain", seconds: Any = 5, event_type: str = "Reboot") -> Dict[str, Any]:
    return {
        "event_id": event_id,
        "event_type": event_type,
        "event_status": "Scheduled",
        "phase": phase,
        "seconds_until_start": seconds,
        "waiting_for": [],
    }


def lines(events: List[Dict[str, Any]], counters: Counters, in_rotation: bool = True, checks: Any = ()) -> List[str]:
    problems = {**dict.fromkeys(PROBLEMS), "endpoint": "taken"}
    status = {"problems": problems, "in_rotation": in_rotation, "events": events, "checks": checks, "dry_run": None}
    return render(status, 1767225600.5, 2, counters).splitlines()


def test_given_an_agent_at_rest_when_rendered_then_the_gauges_are_there() -> None:
    assert [line for line in lines([], Counters()) if "foghorn_stage_seconds" not in line] == [
        "# HELP foghorn_dry_run Whether the agent is in dry run.",
        "# TYPE foghorn_dry_run gauge",
        "foghorn_dry_run 0.0",
        "# HELP foghorn_in_rotation Whether the machine is in rotation.",
        "# TYPE foghorn_in_rotation gauge",
        "foghorn_in_rotation 1.0",
        "# HELP foghorn_journal_unwritten Journal records that are not on disk yet.",
        "# TYPE foghorn_journal_unwritten gauge",
        "foghorn_journal_unwritten 2.0",
        "# HELP foghorn_last_answer_timestamp_seconds When IMDS last returned a document.",
        "# TYPE foghorn_last_answer_timestamp_seconds gauge",
        "foghorn_last_answer_timestamp_seconds 1767225600.5",
        "# HELP foghorn_problems Whether the agent has this problem; /healthz explains it.",
        "# TYPE foghorn_problems gauge",
        'foghorn_problems{with="IMDS"} 0.0',
        'foghorn_problems{with="clock"} 0.0',
        'foghorn_problems{with="configuration"} 0.0',
        'foghorn_problems{with="endpoint"} 1.0',
        'foghorn_problems{with="identity"} 0.0',
        'foghorn_problems{with="journal"} 0.0',
        'foghorn_problems{with="members"} 0.0',
        'foghorn_problems{with="policies"} 0.0',
        'foghorn_problems{with="records"} 0.0',
    ]


def test_given_events_when_rendered_then_they_are_counted_by_what_they_are() -> None:
    checks = [{"name": "web", "ready": False}]
    text = lines([event("A"), event("B"), event("C", "seen", None)], Counters(), in_rotation=False, checks=checks)
    assert 'foghorn_check_ready{check="web"} 0.0' in text
    assert "foghorn_in_rotation 0.0" in text
    assert 'foghorn_events{phase="drain",status="Scheduled",type="Reboot"} 2.0' in text
    assert 'foghorn_events{phase="seen",status="Scheduled",type="Reboot"} 1.0' in text
    assert 'foghorn_seconds_until_start{event_id="A",type="Reboot"} 5.0' in text
    assert not [line for line in text if 'event_id="C"' in line]


def test_given_members_that_an_event_waits_for_when_rendered_then_each_is_there_with_its_reason() -> None:
    waiting = [{"vm_name": "web_1", "reason": "refused"}, {"vm_name": 'a"b', "reason": "not configured"}]
    text = lines([dict(event("A"), waiting_for=waiting), event("B")], Counters())
    assert 'foghorn_waiting_for_member{event_id="A",member="web_1",reason="refused"} 1.0' in text
    assert 'foghorn_waiting_for_member{event_id="A",member="a\\"b",reason="not configured"} 1.0' in text
    assert len([line for line in text if line.startswith("foghorn_waiting_for_member{")]) == 2


@pytest.mark.parametrize("phase", ["ended", "withdrawn"])
def test_given_an_event_that_is_over_when_rendered_then_its_start_is_not_shown(phase: str) -> None:
    text = lines([event("A", phase, 0), event("B", "started", 0)], Counters())
    shown = [line for line in text if line.startswith("foghorn_seconds_until_start{")]
    assert shown == ['foghorn_seconds_until_start{event_id="B",type="Reboot"} 0.0']


def test_given_things_that_happen_when_counted_then_each_kind_grows_by_itself() -> None:
    counters = Counters()
    for result in ("answered", "answered", "failed"):
        counters.add("foghorn_polls_total", result=result)
    text = lines([], counters)
    assert 'foghorn_polls_total{result="answered"} 2.0' in text
    assert 'foghorn_polls_total{result="failed"} 1.0' in text
    assert text.count("# TYPE foghorn_polls_total counter") == 1


def test_given_no_stage_that_has_ended_when_rendered_then_each_is_there_to_grow() -> None:
    text = lines([], Counters())
    assert "# TYPE foghorn_stage_seconds histogram" in text
    for stage in ("drain", "shutdown", "restore"):
        assert 'foghorn_stage_seconds_count{stage="%s",result="succeeded"} 0' % stage in text


def test_given_stages_that_have_ended_when_rendered_then_each_bucket_counts_all_that_took_no_longer() -> None:
    counters = Counters()
    for seconds in (0.5, 1.0, 7.0, 5000.0):
        counters.observe(seconds, "drain", "succeeded")
    counters.observe(30.0, "drain", "failed")
    text = [line for line in lines([], counters) if '"drain"' in line and '"succeeded"' in line]
    counts = [line.partition("le=")[2].replace('"', "").replace("}", "") for line in text if "_bucket" in line]
    assert counts == [
        *("1.0 2", "5.0 2", "10.0 3", "20.0 3", "30.0 3", "60.0 3", "120.0 3", "300.0 3", "600.0 3", "900.0 3"),
        *("1800.0 3", "3600.0 3", "+Inf 4"),
    ]
    assert text[-2:] == [
        'foghorn_stage_seconds_sum{stage="drain",result="succeeded"} 5008.5',
        'foghorn_stage_seconds_count{stage="drain",result="succeeded"} 4',
    ]
    assert 'foghorn_stage_seconds_bucket{stage="drain",result="failed",le="30.0"} 1' in lines([], counters)
    # All of a metric stands together, below its name.
    names = [line.split()[2] if line.startswith("# TYPE") else "" for line in lines([], counters)]
    assert names.count("foghorn_stage_seconds") == 1


def test_given_text_that_azure_may_send_when_it_is_a_label_then_no_line_breaks_in_it() -> None:
    text = lines([event('a"b\\c\nd', event_type='x"\x1b')], Counters())
    assert 'foghorn_seconds_until_start{event_id="a\\"b\\\\c\\\\nd",type="x\\"\\\\x1b"} 5.0' in text
    assert all(line.startswith("# ") or SAMPLE.match(line) for line in text)
