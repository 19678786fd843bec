# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo prints of a run, and what it finds wrong with it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import timeline
import verdict
from timeline import Story

BEGIN = 1_800_000_000.0


def _event(
    event_type: str, *resources: str, created: float, approved: float | None, **instants: float
) -> dict[str, Any]:
    """An event of 15 minutes' notice on a clock that runs 20 times faster."""
    approvals = [] if approved is None else [{"vm": resources[0], "at": BEGIN + approved, "repeated": False}]
    return {
        "event_id": f"{event_type}-{resources[0]}",
        "event_type": event_type,
        "resources": list(resources),
        "status": "Completed",
        "created": BEGIN + created,
        "not_before": BEGIN + created + 45,
        "approvals": approvals,
        "notice_left_at_approval": None if approved is None else 20 * (created + 45 - approved),
        **{key: BEGIN + instant for key, instant in instants.items()},
    }


def _rotation(at: float, vm: str, what: str) -> dict[str, Any]:
    return {"at": BEGIN + at, "kind": "rotation", "vm": vm, "what": what}


def _service(at: float, vm: str, what: str) -> dict[str, Any]:
    return {"at": BEGIN + at, "vm": vm, "what": what}


def _second(at: float, sent: int, lost: int = 0) -> dict[str, Any]:
    counts = {"sent": {"short": sent, "kept": sent}, "lost": {"short": lost, "kept": 0}}
    return {"at": BEGIN + at, "what": "second", **counts, "slowest": 0.05}


def _lost(at: float, reason: str) -> dict[str, Any]:
    return {"at": BEGIN + at, "what": "lost", "connection": "short", "reason": reason}


@pytest.fixture(name="handled")
def fixture_handled() -> Story:
    """web_0 is rebooted and web_1 deleted, each in order."""
    return Story(
        begin=BEGIN,
        end=BEGIN + 40,
        speed=20.0,
        vms=("web_0", "web_1"),
        events=[
            _event("Reboot", "web_0", created=2, approved=8, started=8, impact_started=8, impact_ended=12, ended=14),
            _event(
                "Terminate", "web_1", created=20, approved=27, started=27, impact_started=27, impact_ended=28, ended=30
            ),
        ],
        log=[
            _rotation(-1, "web_0", "in"),
            _rotation(-1, "web_1", "in"),
            _rotation(6, "web_0", "out"),
            _rotation(16, "web_0", "in"),
            _rotation(24.5, "web_1", "out"),
            {"at": BEGIN + 28, "kind": "impact", "vm": "web_1", "what": "deleted", "event_id": "Terminate-web_1"},
        ],
        journal=[
            _service(4, "web_0", "draining"),
            _service(7, "web_0", "stopped"),
            _service(12.5, "web_0", "started"),
            _service(15, "web_0", "ready"),
            _service(22, "web_1", "draining"),
            _service(26, "web_1", "stopped"),
        ],
        load=[_second(second, sent=25) for second in range(1, 40)],
    )


@pytest.fixture(name="unhandled")
def fixture_unhandled(handled: Story) -> Story:
    """web_0 is rebooted while it serves."""
    return handled._replace(
        end=BEGIN + 20,
        events=[_event("Reboot", "web_0", created=2, approved=None, impact_started=8, impact_ended=12, ended=14)],
        log=[_rotation(-1, "web_0", "in"), _rotation(10, "web_0", "out"), _rotation(16, "web_0", "in")],
        journal=[_service(8, "web_0", "killed"), _service(12.5, "web_0", "started")],
        load=[
            *(_lost(8.1, "reset") for _request in range(12)),
            _second(9, sent=25, lost=12),
            _lost(9.5, "closed without a response"),
            _second(10, sent=25, lost=1),
        ],
    )


def test_given_a_handled_fleet_when_shown_then_each_machine_shows_its_phases_and_nothing_is_lost(
    handled: Story,
) -> None:
    assert timeline.tell(handled).splitlines() == [
        "s      0         10        20        30",
        "web_0  ███▒▒···RRRR···█████████████████████████",
        "web_1  █████████████████████▒▒▒···T",
        "lost   ········································",
        "█ in rotation   ▒ draining   · out of rotation   R Reboot   T Terminate   # ten or more lost",
        "",
        "       event      notice  drain   out  stop  approve        impact     back     notice left",
        "web_0  Reboot        2.0    4.0   6.0   7.0      8.0   8.0 to 12.0     16.0  13:00 of 15:00",
        "web_1  Terminate    20.0   22.0  24.5  26.0     27.0  27.0 to 28.0  deleted  12:40 of 15:00",
        "",
        "1950 requests sent, 975 on new connections, 975 on connections that are kept open.",
        "0 lost. The slowest answer took 0.05 s.",
    ]


def test_given_an_unhandled_reboot_when_shown_then_the_losses_stand_beside_what_caused_them(unhandled: Story) -> None:
    assert timeline.tell(unhandled).splitlines() == [
        "s      0         10",
        "web_0  ████████RRRR···█████",
        "web_1  ····················",
        "lost   ········#1··········",
        "█ in rotation   ▒ draining   · out of rotation   R Reboot   # ten or more lost",
        "",
        "       event   notice  drain   out  stop  approve       impact  back   notice left",
        "web_0  Reboot     2.0      -  10.0     -        -  8.0 to 12.0  16.0  not approved",
        "",
        "100 requests sent, 50 on new connections, 50 on connections that are kept open.",
        "13 lost. The slowest answer took 0.05 s.",
        "  Reboot of web_0: 13 lost (12 reset, 1 closed without a response)",
    ]


def test_given_a_long_story_when_charted_then_a_cell_is_several_seconds_and_no_impact_is_left_out(
    handled: Story,
) -> None:
    lines = timeline.chart(handled._replace(end=BEGIN + 4 * timeline.COLUMNS))
    assert len(lines[1]) == len("web_0  ") + timeline.COLUMNS
    assert lines[0].startswith("s      0         40        80 ")
    assert "R" in lines[1]
    assert "T" in lines[2]


def test_given_a_terminal_when_shown_then_signs_are_coloured(unhandled: Story) -> None:
    told = timeline.tell(unhandled, lambda text, colour: f"<{colour}>{text}</>")
    assert "<green>████████</><magenta>RRRR</>" in told
    assert "<red>13 lost</>" in told


def test_given_a_loss_before_any_impact_when_shown_then_no_event_is_blamed(unhandled: Story) -> None:
    told = timeline.tell(unhandled._replace(load=[_lost(3, "refused"), _second(4, sent=25, lost=1)]))
    assert "  Before any impact: 1 lost (1 refused)" in told


@pytest.mark.parametrize(("seconds", "told"), [(0, "0:00"), (59.6, "1:00"), (900, "15:00"), (-61, "-1:01")])
def test_given_a_span_when_shown_then_it_is_minutes_and_seconds(seconds: float, told: str) -> None:
    assert timeline.minutes(seconds) == told


def test_given_a_handled_fleet_when_judged_then_there_is_no_complaint(handled: Story) -> None:
    assert verdict.complaints(handled, minimum_in_service=1) == []


def test_given_an_unhandled_reboot_when_judged_then_every_omission_is_named(unhandled: Story) -> None:
    assert verdict.complaints(unhandled, minimum_in_service=1) == [
        "13 requests were lost",
        "Reboot of web_0: was not approved",
        "web_0: was in rotation when the impact began (Reboot)",
        "web_0: was not stopped gracefully before the impact (Reboot)",
        "at some moment 0 were in rotation, fewer than 1",
    ]


def _without_load(story: Story) -> Story:
    return story._replace(load=[])


def _unfinished(story: Story) -> Story:
    story.events[0]["status"] = "Started"  # type: ignore[index]
    return story


def _approved_twice(story: Story) -> Story:
    story.events[0]["approvals"].append({"vm": "web_0", "at": BEGIN + 8, "repeated": True})
    return story


def _approved_by_another(story: Story) -> Story:
    story.events[0]["approvals"][0]["vm"] = "web_1"
    return story


def _approved_too_late(story: Story) -> Story:
    story.events[0]["notice_left_at_approval"] = None  # type: ignore[index]
    return story


def _stopped_after_approval(story: Story) -> Story:
    story.journal[1]["at"] = BEGIN + 8.5  # type: ignore[index]
    return story


def _back_too_early(story: Story) -> Story:
    story.log[3]["at"] = BEGIN + 13  # type: ignore[index]
    return story


def _never_back(story: Story) -> Story:
    return story._replace(log=[entry for entry in story.log if entry["at"] != BEGIN + 16])


def _not_deleted(story: Story) -> Story:
    return story._replace(log=story.log[:-1])


def _put_back_although_deleted(story: Story) -> Story:
    return story._replace(log=[*story.log, _rotation(31, "web_1", "in")])


def _all_out_at_once(story: Story) -> Story:
    return story._replace(log=[*story.log[:3], _rotation(10, "web_1", "out"), *story.log[3:]])


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (_without_load, "no request was sent, so there is no result"),
        (_unfinished, "Reboot of web_0: is Started, not Completed"),
        (_approved_twice, "Reboot of web_0: was approved 2 times"),
        (_approved_by_another, "Reboot of web_0: was approved by web_1, which it does not hit"),
        (_approved_too_late, "Reboot of web_0: was approved after it had started by itself"),
        (_stopped_after_approval, "web_0: was approved before it had stopped (Reboot)"),
        (_back_too_early, "web_0: came back at 13.0 s, before the event was over (Reboot)"),
        (_never_back, "web_0: did not come back into rotation (Reboot)"),
        (_not_deleted, "web_1: is not deleted (Terminate)"),
        (_put_back_although_deleted, "web_1: was restored although it is deleted (Terminate)"),
        (_all_out_at_once, "at some moment 0 were in rotation, fewer than 1"),
    ],
)
def test_given_one_thing_that_went_wrong_when_judged_then_it_is_named(
    spoil: Callable[[Story], Story], complaint: str, handled: Story
) -> None:
    assert complaint in verdict.complaints(spoil(copy.deepcopy(handled)), minimum_in_service=1)
