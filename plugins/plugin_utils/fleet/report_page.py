# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The report of a run, or of a rehearsal, as a page for a person: what happened when, how much notice was left, what
failed, and what to do next. It says nothing that the report does not say.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ...module_utils.scheduled_events.text import as_plain
from ..drawing import lanes
from ..drawing.lanes import Lane, Mark, Span
from ..drawing.page import Section, Table, write_page
from .clocks import as_utc

Record = Mapping[str, Any]

# A NotBefore that is further away than this many times the length of the run would leave no room to see the run.
_FAR = 4.0

# A lane is drawn a little longer than its last event, to show in which state it ends.
_AND_THEN = 1.05

_NEXT = (
    (
        "did not see the event",
        "On the machine, `foghorn-agent status` shows which address the agent asks, and the last answer.",
    ),
    ("could not be asked", "Check that the machine is up and its agent runs: `foghorn-agent status`."),
    ("a step failed", "Run the command of the step by hand on the machine. `foghorn-agent history` shows its output."),
    ("not taken out", "`foghorn-agent explain` shows which policy covers the event, and its steps."),
    ("should be left alone", "`foghorn-agent explain` shows which policy covers the event: narrow its `match`."),
    ("approved", "`foghorn-agent explain` shows who may approve, and when: see `approve` in the policy."),
    ("restored", "`foghorn-agent history` shows what the restore waited for, or why it began."),
    ("back in rotation", "`foghorn-agent status` shows what keeps the machine out of rotation."),
    ("not over in time", "Check the simulator's status: the event may need a longer `rehearse_limit`."),
)
"""Words of a failure, and its remedy. The first that matches counts."""

_REHEARSE_AGAIN = "Then rehearse again."
_NOTHING = "Nothing."
_NONE = "None."
_RUN_AGAIN = (
    "Correct what failed, then run handle_events again: it continues from the state of each host.",
    ("The playbook foghorn.azure_events.restore restores a host that stays out although no event is pending."),
)


def draw_rehearsal(report: Record) -> str:
    """Show the result of `judge`."""
    report = as_plain(report)
    event = report["event"]
    passed = bool(report["passed"])
    verdict = "Passed." if passed else "Failed: %s." % _count(len(report["failures"]), "failure")
    title = "Rehearsal" if event is None else "Rehearsal: %s" % event["event_type"]
    sections = []
    if event is not None:
        sections.append(Section("Machines", svg=_draw([*_rehearsed(report["machines"], event)], title, verdict)))
        sections.append(Section("Figures", table=_figures(report["machines"], event)))
    sections.append(Section("Failures", items=report["failures"] or [_NONE]))
    steps = list(dict.fromkeys(_next_after(failure) for failure in report["failures"]))
    sections.append(Section("What to do next", items=[*steps, _REHEARSE_AGAIN] if steps else [_NOTHING]))
    sections.append(Section("In words", items=report["lines"]))
    return write_page(title, passed, verdict, sections)


def draw_run(hosts: Mapping[str, Record]) -> str:
    """Show what became of the hosts of a run.

    :param hosts: as the report has them for programs, by name
    """
    hosts = as_plain(hosts)
    failures = ["%s: %s" % (name, text) for name, host in hosts.items() for text in host["failures"]]
    verdict = (
        "%s failed: %s." % (_count(sum(bool(host["failures"]) for host in hosts.values()), "host"), "see below")
        if failures
        else ("All went well." if hosts else "Nothing had to be done.")
    )
    title = "Maintenance run"
    sections = []
    drawn = [*_handled(hosts)]
    if drawn:
        begin = min(_instant(moment["at"]) for host in hosts.values() for moment in host["timeline"])
        sections.append(Section("Hosts, from %s" % as_utc(begin), svg=_draw(drawn, title, verdict)))
    if hosts:
        sections.append(Section("Figures", table=_table(hosts)))
    sections.append(Section("Failures", items=failures or [_NONE]))
    sections.append(Section("What to do next", items=_RUN_AGAIN if failures else [_NOTHING]))
    return write_page(title, not failures, verdict, sections)


def _draw(drawn: Sequence[Lane], title: str, verdict: str) -> str:
    return lanes.draw([lanes.Panel(title, drawn)], title, verdict, label=lanes.in_minutes)


def _next_after(failure: str) -> str:
    return next((remedy for words, remedy in _NEXT if words in failure), "See the lines below.")


# --- a rehearsal ----------------------------------------------------------------------------------


def _rehearsed(machines: Mapping[str, Record], event: Record) -> Iterator[Lane]:
    """Lanes in seconds since the announcement."""
    begin = event["created"]
    life = {
        key: None if event[key] is None else event[key] - begin for key in ("impact_started", "impact_ended", "ended")
    }
    known = [one for one in life.values() if one is not None]
    known += [one["back"] for one in machines.values() if one.get("back") is not None]
    end = _AND_THEN * max(known, default=event["not_before"] - begin)
    for name, figures in machines.items():
        marks = [Mark(0.0, lanes.ANNOUNCED)]
        marks += [
            Mark(one["at"] - begin, lanes.APPROVED) for one in event["approvals"] if one["vm"] == figures["vm_name"]
        ]
        marks += _not_before([event["not_before"] - begin], end)
        yield Lane(
            name, [*_stages(figures.get("stages", {}), event["event_type"], life, figures.get("back"), end)], marks
        )


def _stages(
    stages: Mapping[str, Record], event_type: str, life: Mapping[str, float | None], back: float | None, end: float
) -> Iterator[Span]:
    drain = stages.get("drain") or stages.get("shutdown")
    hit, over = life["impact_started"], life["impact_ended"]
    out = end if drain is None else drain["begun"]
    yield Span(0.0, min(out, end if hit is None else hit), lanes.IN)
    if drain is not None:
        failed = any(stage["state"] == "failed" for stage in stages.values())
        drained = max(out, stages["drain"]["ended"] or end) if "drain" in stages else out
        yield Span(out, drained, lanes.DRAINING)
        yield Span(drained, end if hit is None else max(drained, hit), lanes.FAILED if failed else lanes.OUT)
    if hit is not None:
        yield Span(hit, over or end, lanes.HIT, event_type)
        # Without a drain, it is not known what happened next.
        if over is not None and drain is not None:
            yield Span(over, max(over, end if back is None else back), lanes.OUT)
    if back is not None and back < end:
        yield Span(back, end, lanes.IN)


def _figures(machines: Mapping[str, Record], event: Record) -> Table:
    approval = next((one for one in event["approvals"] if not one["repeated"]), None)
    rows = []
    for name, figures in machines.items():
        approved = approval is not None and approval["vm"] == figures["vm_name"]
        stages = figures.get("stages", {})
        took = ["%s %s" % (stage, _seconds_between(stages[stage])) for stage in stages]
        rows.append(
            [
                name,
                _minutes(event["notice_left_at_approval"]) if approved else "",
                _seconds(figures.get("seen")),
                ", ".join(took),
                _seconds(figures.get("ready")),
                _seconds(figures.get("back")),
                "; ".join(figures.get("failed_steps", ())),
            ]
        )
    return Table(("machine", "notice left at approval", "seen", "stages", "ready", "back", "failed steps"), rows)


def _seconds_between(stage: Record) -> str:
    return "not ended" if stage["ended"] is None else "%.1f s, %s" % (stage["ended"] - stage["begun"], stage["state"])


# --- a run ----------------------------------------------------------------------------------------


def _handled(hosts: Mapping[str, Record]) -> Iterator[Lane]:
    """Lanes in seconds since the first step."""
    instants = [_instant(moment["at"]) for host in hosts.values() for moment in host["timeline"]]
    begin = min(instants, default=0.0)
    end = _AND_THEN * (max(instants, default=0.0) - begin)
    for name, host in hosts.items():
        moments = [(moment["step"], _instant(moment["at"]) - begin) for moment in host["timeline"]]
        if not moments:
            continue
        at = dict(reversed(moments))
        marks = [Mark(at["approve"], lanes.APPROVED)] if host["approved"] and "approve" in at else []
        starts = [_instant(event["not_before"]) - begin for event in host["events"] if event["not_before"]]
        yield Lane(name, [*_steps(moments, host, end)], [*marks, *_not_before(starts, end)])


def _steps(moments: Sequence[tuple[str, float]], host: Record, end: float) -> Iterator[Span]:
    """What this run has done to a host; it does not know what an agent did there."""
    was_out, restored = bool(host.get("was_out")), bool(host["restored"])
    begun = next((index for index, (step, _at) in enumerate(moments) if step in ("drain", "stop", "move")), None)
    begun = 0 if was_out else begun
    if begun is None:
        return
    yield Span(0.0, moments[begun][1], lanes.OUT if was_out else lanes.IN)
    for (step, at), (_next, until) in zip(moments[begun:], [*moments[begun + 1 :], ("", end)], strict=True):
        if step != "done":
            yield Span(at, until, lanes.DRAINING if step == "drain" else lanes.OUT)
        elif until > at:
            yield Span(at, until, lanes.IN if restored else lanes.OUT)


def _table(hosts: Mapping[str, Record]) -> Table:
    rows = []
    for name, host in hosts.items():
        left = [one["seconds_until_start"] for one in host["approved"]]
        rows.append(
            [
                name,
                ", ".join("%s %s" % (event["event_type"], event["event_id"]) for event in host["events"]),
                ", ".join(event["not_before"] or "at any moment" for event in host["events"]),
                ", ".join("approved" if one is None else _minutes(one) for one in left),
                "; ".join(
                    [*host["steps"], host["outcome"], "restored" if host["restored"] else "", host["still_out"]]
                ).strip("; "),
            ]
        )
    return Table(("host", "event", "NotBefore", "notice left at approval", "what became of it"), rows)


# --- both -----------------------------------------------------------------------------------------


def _not_before(starts: Sequence[float], end: float) -> list[Mark]:
    return [Mark(start, lanes.NOT_BEFORE) for start in starts if 0 <= start <= _FAR * max(end, 1.0)]


def _instant(text: str) -> float:
    # Python 3.10 does not read the Z.
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _seconds(value: float | None) -> str:
    return "" if value is None else "%.1f s" % value


def _minutes(value: float | None) -> str:
    return "" if value is None else "%s (%.0f s)" % (lanes.in_minutes(max(0.0, value)), value)


def _count(number: int, what: str) -> str:
    return "%d %s%s" % (number, what, "" if number == 1 else "s")
