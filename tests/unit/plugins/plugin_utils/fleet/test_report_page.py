# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a page shows of a report."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.report_page import draw_rehearsal, draw_run

from .test_rehearsal import event_noted, noted, record, stage, verdict, without

HOSTILE = "<script>alert(1)</script>\x1b[2J\x9b\u202e"
SHOWN = r"<script>alert(1)</script>\x1b[2J\x9b\u202e"


class Page(HTMLParser):
    """What a browser would make of it, as far as it matters."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.classes: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.classes += (dict(attrs).get("class") or "").split()
        if tag not in ("meta", "rect", "path"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and data.strip():
            self.texts.setdefault(self._open[-1], []).append(data)


def spans(text: str) -> list[tuple[str, str]]:
    """The states of all lanes, and what each says when it is pointed at."""
    return re.findall(r'<rect class="(\w+)" x=[^>]*>\s*<title>([^<]*)</title>', text)


def host(**changes: Any) -> dict[str, Any]:
    """A host that was taken through a reboot."""
    return {
        "events": [{"event_id": "E0", "event_type": "Reboot", "not_before": "2026-09-19T18:15:00Z"}],
        "steps": ["prepared"],
        "approved": [{"event_id": "E0", "seconds_until_start": 871}],
        "outcome": "over",
        "restored": True,
        "connections_remained": [],
        "still_out": "",
        "hit_unprepared": False,
        "timeline": [
            {"at": f"2026-09-19T18:0{minute}:{second}Z", "step": step}
            for minute, second, step in (
                (0, "00", "lease"),
                (0, "02", "drain"),
                (0, "12", "stop"),
                (0, "15", "approve"),
                (0, "16", "watch"),
                (5, "00", "restore"),
                (5, "10", "done"),
            )
        ],
        "failures": [],
    } | changes


def test_given_a_rehearsal_that_passed_when_drawn_then_the_lane_has_its_phases_and_the_figures_are_there() -> None:
    text = draw_rehearsal(verdict())

    assert spans(text) == [
        ("in", "in rotation, 0.0 to 0.4 s"),
        ("draining", "draining, 0.4 to 3.0 s"),
        ("out", "out of rotation, 3.0 to 4.2 s"),
        ("hit", "Reboot, 4.2 to 34.2 s"),
        ("out", "out of rotation, 34.2 to 66.0 s"),
        ("in", "in rotation, 66.0 to 69.3 s"),
    ]
    page = Page(text)
    assert page.texts["h1"] == ["Rehearsal: Reboot"]
    took = "drain 2.6 s, succeeded, shutdown 1.0 s, succeeded, restore 1.0 s, succeeded"
    head = ["machine", "notice left at approval", "seen", "stages", "ready", "back", "failed steps"]
    assert page.texts["th"] == head
    assert page.texts["td"] == ["web1", "1:56 (116 s)", "0.4 s", took, "4.0 s", "66.0 s"]
    assert {"announced", "approved", "not_before"} <= set(page.classes)
    assert page.texts["li"][:2] == ["None.", "Nothing."]
    assert "passed" in page.classes
    assert "failed" not in page.classes


def test_given_a_step_that_failed_when_drawn_then_it_is_named_with_its_error_and_what_to_do_next() -> None:
    failed = [
        event_noted("seen", 0.4, "Scheduled"),
        stage("drain", "begun", 0.4),
        noted("step_ended", 2.0, stage="drain", name="lb", succeeded=False, reason="exit status 1"),
        stage("drain", "failed", 3.0),
    ]
    page = Page(draw_rehearsal(verdict(record(approvals=[], notice_left_at_approval=None), failed)))

    assert "drain: lb: exit status 1" in page.texts["td"]
    assert "web1: a step failed: drain: lb: exit status 1" in page.texts["li"]
    assert any("Run the command of the step by hand" in item for item in page.texts["li"])
    assert any("`foghorn-agent explain` shows who may approve" in item for item in page.texts["li"])
    assert page.texts["p"][0].startswith("Failed: ")
    assert "failed" in page.classes


def test_given_a_rehearsal_without_an_event_or_without_what_an_agent_noted_then_there_is_a_page_anyway() -> None:
    nothing = draw_rehearsal(verdict() | {"event": None, "machines": {}, "failures": ["web1: no agent asks"]})
    assert "web1: no agent asks" in Page(nothing).texts["li"]

    report = verdict(notes=without("stage", "drain", "shutdown", "restore"))
    assert [state for state, _told in spans(draw_rehearsal(report))] == ["in", "hit"]
    report["machines"] = {"web1": {"vm_name": "VM_0", "failures": []}}
    assert [state for state, _told in spans(draw_rehearsal(report))] == ["in", "hit"]


def test_given_a_run_when_drawn_then_each_host_has_a_lane_and_its_notice_in_figures() -> None:
    text = draw_run(
        {"web1": host(), "web2": host(timeline=[], failures=["Read the events: no answer"], restored=False)}
    )

    assert spans(text) == [
        ("in", "in rotation, 0.0 to 2.0 s"),
        ("draining", "draining, 2.0 to 12.0 s"),
        ("out", "out of rotation, 12.0 to 15.0 s"),
        ("out", "out of rotation, 15.0 to 16.0 s"),
        ("out", "out of rotation, 16.0 to 300.0 s"),
        ("out", "out of rotation, 300.0 to 310.0 s"),
        ("in", "in rotation, 310.0 to 325.5 s"),
    ]
    page = Page(text)
    assert page.texts["h2"][0] == "Hosts, from 2026-09-19T18:00:00Z"
    assert page.texts["th"] == ["host", "event", "NotBefore", "notice left at approval", "what became of it"]
    whole = ["web1", "Reboot E0", "2026-09-19T18:15:00Z", "14:31 (871 s)", "prepared; over; restored"]
    assert page.texts["td"][:5] == whole
    # 15 minutes after the first order, and so within four times what happened.
    assert {"approved", "not_before"} <= set(page.classes)
    assert "web2: Read the events: no answer" in page.texts["li"]
    assert any("run handle_events again" in item for item in page.texts["li"])
    assert page.texts["p"] == ["1 host failed: see below."]


def test_given_a_host_that_an_earlier_run_had_taken_out_when_drawn_then_its_lane_begins_out_of_rotation() -> None:
    moments = [{"at": f"2026-09-19T18:00:{at}Z", "step": step} for at, step in (("00", "watch"), ("09", "done"))]

    text = draw_run({"web1": host(was_out=True, timeline=moments)})

    assert [kind for kind, _what in spans(text)] == ["out", "out", "in"]


def test_given_a_notbefore_that_is_hours_away_when_drawn_then_the_lanes_keep_their_room_and_the_table_has_it() -> None:
    far = host(events=[{"event_id": "E0", "event_type": "Reboot", "not_before": "2026-09-20T18:15:00Z"}])
    page = Page(draw_run({"web1": far}))

    assert "not_before" not in page.classes
    assert "2026-09-20T18:15:00Z" in page.texts["td"]


def test_given_a_run_with_nothing_to_do_when_drawn_then_it_says_so() -> None:
    page = Page(draw_run({}))

    assert page.texts["p"] == ["Nothing had to be done."]
    assert "svg" not in page.tags


def test_given_hostile_text_anywhere_when_drawn_then_it_is_text_and_the_page_may_run_nothing() -> None:
    event = {"event_id": HOSTILE, "event_type": HOSTILE, "not_before": None}
    hostile = host(events=[event], outcome=HOSTILE, still_out=HOSTILE, failures=[HOSTILE], steps=[HOSTILE])
    report = verdict()
    machine = report["machines"].pop("web1") | {"failed_steps": [HOSTILE]}
    report |= {"lines": [HOSTILE], "failures": [HOSTILE], "machines": {HOSTILE: machine}, "passed": False}

    for text in (draw_run({HOSTILE: hostile}), draw_rehearsal(report)):
        page = Page(text)
        assert "script" not in page.tags
        assert "default-src 'none'" in text
        assert not re.findall(r"(?:src|href)=|url\((?!#hatch)", text)
        assert not re.findall("[\x1b\x9b\u202e]", text)
        assert sum(SHOWN in one for texts in page.texts.values() for one in texts) > 3
