# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story of a run, at a glance. Pure functions of what the processes wrote down."""

from __future__ import annotations

import bisect
import collections
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Entry = Mapping[str, Any]
Paint = Callable[[str, str], str]
"""Gives a text a colour: (text, name of the colour)."""

COLUMNS = 80
"""Cells of the chart at most."""

IN, DRAINING, OUT, HIT, DELETED = "in", "draining", "out", "hit", ""
"""States of a machine."""

LETTERS = {"Reboot": "R", "Freeze": "F", "Redeploy": "D", "Terminate": "T", "Preempt": "P"}
SIGNS = {IN: "█", DRAINING: "▒", OUT: "·", DELETED: " "}
MANY = "#"
COLOURS = {SIGNS[IN]: "green", SIGNS[DRAINING]: "yellow", SIGNS[OUT]: "grey"} | dict.fromkeys(
    LETTERS.values(), "magenta"
)


class Story(NamedTuple):
    """All that was written down. Every ``at`` is wall-clock time in epoch seconds.

    ``events`` and ``log`` are the simulator's, ``journal`` is that of the machines' services, ``load`` that of the
    load generator. ``speed`` says how many times faster than a real one Azure's clock ran, ``handled`` whether the
    playbook ran.
    """

    begin: float
    end: float
    speed: float
    vms: Sequence[str]
    events: Sequence[Entry]
    log: Sequence[Entry]
    journal: Sequence[Entry]
    load: Sequence[Entry]
    handled: bool = True


class Span(NamedTuple):
    """A machine's state between two instants; ``event_type`` is that of the impact which makes it HIT."""

    begin: float
    end: float
    state: str
    event_type: str


class Passage(NamedTuple):
    """One VM's way through one event: when what happened, None for what did not."""

    vm: str
    event: Entry
    notice: float
    drain: float | None
    out: float | None
    stop: float | None
    approve: float | None
    impact: float | None
    impact_end: float | None
    back: float | None
    deleted: bool

    @property
    def notice_left(self) -> float | None:
        """Seconds of Azure's clock between the approval and NotBefore."""
        left: float | None = self.event["notice_left_at_approval"]
        return left


def _plain(text: str, _colour: str) -> str:
    return text


def _first(entries: Iterable[Entry], since: float | None, until: float = math.inf, **wanted: str) -> float | None:
    """When the first entry with these values happened, between two instants."""
    if since is None:
        return None
    for entry in entries:
        if since <= entry["at"] <= until and all(entry.get(key) == value for key, value in wanted.items()):
            return float(entry["at"])
    return None


def passages(story: Story) -> list[Passage]:
    """Every VM's way through every event that hit it, in the order of the events."""
    return [_passage(story, event, vm) for event in story.events for vm in event["resources"]]


def _passage(story: Story, event: Entry, vm: str) -> Passage:
    created, until = event["created"], event["ended"] or math.inf
    drain = _first(story.journal, created, until, vm=vm, what="draining")
    impact = event["impact_started"]
    out = _first(story.log, drain or impact, until, kind="rotation", vm=vm, what="out")
    approvals = event["approvals"]
    return Passage(
        vm=vm,
        event=event,
        notice=created,
        drain=drain,
        out=out,
        stop=_first(story.journal, created, until, vm=vm, what="stopped"),
        approve=approvals[0]["at"] if approvals else None,
        impact=impact,
        impact_end=event["impact_ended"],
        back=_first(story.log, out, kind="rotation", vm=vm, what="in"),
        deleted=_first(story.log, impact, kind="impact", vm=vm, what="deleted", event_id=event["event_id"]) is not None,
    )


_CHANGES = {"in": "rotation", "out": "rotation", "draining": "drain", "ready": "drain", "deleted": "deleted"}


def spans(story: Story, vm: str) -> list[Span]:
    """The states of a VM one after the other, from the beginning to the end of the story."""
    changes = [(story.end, "", "")]
    for event in story.events:
        if vm in event["resources"]:
            changes += [(event["impact_started"], "impact", event["event_type"]), (event["impact_ended"], "impact", "")]
    for entry in [*story.log, *story.journal]:
        if entry.get("vm") == vm and entry.get("what") in _CHANGES:
            changes.append((entry["at"], _CHANGES[entry["what"]], entry["what"]))
    now = {"rotation": OUT, "impact": "", "drain": "ready", "deleted": ""}
    found: list[Span] = []
    since = story.begin
    for at, key, value in sorted(change for change in changes if change[0] is not None):
        state, event_type = _state(now)
        if at > since:
            if found and found[-1][2:] == (state, event_type):
                found[-1] = found[-1]._replace(end=at)
            else:
                found.append(Span(since, at, state, event_type))
            since = at
        now[key] = value
    return found


def _state(now: Mapping[str, str]) -> tuple[str, str]:
    """A machine's state, and the type of the event that hits it."""
    if now["deleted"]:
        return DELETED, ""
    if now["impact"]:
        return HIT, now["impact"]
    if now["rotation"] == OUT:
        return OUT, ""
    return (DRAINING if now["drain"] == DRAINING else IN), ""


def losses(story: Story) -> list[tuple[Entry | None, collections.Counter[str]]]:
    """Reasons of the lost requests, for each event since whose impact they were lost (None: before any)."""
    struck = sorted((event for event in story.events if event["impact_started"]), key=lambda e: e["impact_started"])
    instants = [event["impact_started"] for event in struck]
    counts: dict[int, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for entry in story.load:
        if entry["what"] == "lost":
            counts[bisect.bisect_right(instants, entry["at"])][entry["reason"]] += 1
    return [(struck[number - 1] if number else None, counts[number]) for number in sorted(counts)]


def totals(story: Story) -> tuple[dict[str, int], dict[str, int], float]:
    """Requests sent and lost, by kind of connection, and the seconds of the slowest answer."""
    sent: collections.Counter[str] = collections.Counter()
    lost: collections.Counter[str] = collections.Counter()
    slowest = 0.0
    for entry in story.load:
        if entry["what"] == "second":
            sent.update(entry["sent"])
            lost.update(entry["lost"])
            slowest = max(slowest, entry["slowest"])
    return dict(sent), dict(lost), slowest


def minutes(seconds: float) -> str:
    """A span of Azure's clock as minutes and seconds: 14:05."""
    sign, whole = "-" if seconds < 0 else "", round(abs(seconds))
    return f"{sign}{whole // 60}:{whole % 60:02d}"


def chart(story: Story, paint: Paint = _plain) -> list[str]:
    """A line for each VM and one for the lost requests, one cell for each second or few."""
    step = max(1, math.ceil((story.end - story.begin) / COLUMNS))
    starts = [story.begin + step * column for column in range(math.ceil((story.end - story.begin) / step))]
    width = max(len(vm) for vm in [*story.vms, "lost"])
    ticks = "".join(f"{column * step:<10}" for column in range(0, len(starts), 10))
    lines = [f"{'s':<{width}}  {ticks}".rstrip()]
    for vm in story.vms:
        passed = spans(story, vm)
        cells = "".join(_cell(passed, start, start + step) for start in starts)
        lines.append(f"{vm:<{width}}  {_paint_runs(cells.rstrip(SIGNS[DELETED]), paint)}")
    counts = collections.Counter(int((e["at"] - story.begin) // step) for e in story.load if e["what"] == "lost")
    cells = "".join(_digit(counts[column]) for column in range(len(starts)))
    lines.append(f"{'lost':<{width}}  {_paint_runs(cells, paint)}")
    return lines


def _digit(count: int) -> str:
    """A count in one cell."""
    return SIGNS[OUT] if count == 0 else str(count) if count < 10 else MANY


def _cell(passed: Sequence[Span], start: float, end: float) -> str:
    """What to show of a VM between two instants: an impact however short, else its state at the end."""
    sign = SIGNS[DELETED]
    for span in passed:
        if span.state == HIT and span.begin < end and span.end > start:
            return LETTERS.get(span.event_type, "!")
        if span.state != HIT and span.begin <= end:
            sign = SIGNS[span.state]
    return sign


def _paint_runs(cells: str, paint: Paint) -> str:
    runs: list[str] = []
    for cell in cells:
        if runs and runs[-1][0] == cell:
            runs[-1] += cell
        else:
            runs.append(cell)
    return "".join(paint(run, COLOURS.get(run[0], "red")) for run in runs)


def legend(story: Story) -> str:
    """What the signs of the chart mean."""
    types = dict.fromkeys(event["event_type"] for event in story.events)
    signs = {SIGNS[IN]: "in rotation", SIGNS[DRAINING]: "draining", SIGNS[OUT]: "out of rotation"}
    signs |= {LETTERS.get(event_type, "!"): event_type for event_type in types} | {MANY: "ten or more lost"}
    return "   ".join(f"{sign} {meaning}" for sign, meaning in signs.items())


def table(story: Story) -> list[str]:
    """A row for each VM's way through an event, in seconds since the beginning."""

    def at(instant: float | None) -> str:
        return "-" if instant is None else f"{instant - story.begin:.1f}"

    rows = [("", "event", "notice", "drain", "out", "stop", "approve", "impact", "back", "notice left")]
    for way in passages(story):
        span = "-" if way.impact is None else f"{at(way.impact)} to {at(way.impact_end)}"
        given = minutes((way.event["not_before"] - way.event["created"]) * story.speed)
        left = "not approved" if way.notice_left is None else f"{minutes(way.notice_left)} of {given}"
        back = "deleted" if way.deleted else at(way.back)
        phases = (way.notice, way.drain, way.out, way.stop, way.approve)
        rows.append((way.vm, way.event["event_type"], *(at(instant) for instant in phases), span, back, left))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    left_aligned = {0, 1}
    return [
        "  ".join(
            cell.ljust(width) if column in left_aligned else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def summary(story: Story, paint: Paint = _plain) -> list[str]:
    """How many requests were sent and lost, and during what."""
    sent, lost, slowest = totals(story)
    total = sum(lost.values())
    lines = [
        (
            f"{sum(sent.values())} requests sent, {sent.get('short', 0)} on new connections, "
            f"{sent.get('kept', 0)} on connections that are kept open."
        ),
        f"{paint(f'{total} lost', 'red' if total else 'green')}. The slowest answer took {slowest:.2f} s.",
    ]
    for event, reasons in losses(story):
        during = "Before any impact" if event is None else f"{event['event_type']} of {', '.join(event['resources'])}"
        told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        lines.append(f"  {during}: {reasons.total()} lost ({told})")
    return lines


def tell(story: Story, paint: Paint = _plain) -> str:
    """Chart, table and count, as one text."""
    return "\n".join([*chart(story, paint), legend(story), "", *table(story), "", *summary(story, paint)])
