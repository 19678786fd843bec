# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Machines as lanes in time, as one SVG without scripts: light or dark as the reader's system is, animated on request.

Colour is never the only sign: a drain is hatched, an impact is named, a mark has a shape of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

IN, DRAINING, OUT, HIT, FAILED = "in", "draining", "out", "hit", "failed"
"""States of a machine. A gap between spans means that the machine is gone, or its state unknown."""

ANNOUNCED, APPROVED, NOT_BEFORE = "announced", "approved", "not_before"
"""The kinds of marks."""

WORDS = {
    IN: "in rotation",
    DRAINING: "draining",
    OUT: "out of rotation",
    HIT: "maintenance",
    FAILED: "failed",
    ANNOUNCED: "announced",
    APPROVED: "approved",
    NOT_BEFORE: "NotBefore",
}

_WIDTH = 900
_LEFT, _RIGHT = 96, 24
_LONGEST_NAME, _LETTER = 32, 7.2
"""The number of letters that are shown of a name, and their width. The end of a name tells hosts apart better than
its beginning.
"""
_HEADER, _LANE, _BAR, _LOST, _GAP, _AXIS, _LEGEND = 34, 34, 16, 30, 12, 24, 26
_DIGITS = 22
"""Height of the line with the running counter."""

_HOLD = 0.85
"""The part of an animation in which time passes. In the remaining part the whole drawing is shown, and first of all: a
still of it is its beginning.
"""

_STYLE = """
svg{--bg:#ffffff;--ink:#1f2328;--soft:#59636e;--line:#d1d9e0;--in:#2da44e;--drain:#d4a017;--out:#b6bfc8;--hit:#8250df;
--lost:#cf222e;font:13px system-ui,-apple-system,"Segoe UI",sans-serif}
@media (prefers-color-scheme:dark){svg{--bg:#0d1117;--ink:#f0f6fc;--soft:#9198a1;--line:#3d444d;--in:#3fb950;
--drain:#d29922;--out:#59636e;--hit:#a371f7;--lost:#f85149}}
text{fill:var(--ink)}.soft{fill:var(--soft);font-size:11px}.title{font-weight:600;font-size:15px}
.bg,.curtain{fill:var(--bg)}.curtain{display:none}.tick{stroke:var(--line)}
.in{fill:var(--in)}.draining{fill:url(#hatch)}.hatch{fill:var(--drain)}.stripe{stroke:var(--bg);stroke-width:2}
.out{fill:var(--out)}.hit{fill:var(--hit)}.failed,.lost{fill:var(--lost)}
.count{font-weight:600;font-size:15px}.none{fill:var(--in)}
.mark{fill:var(--ink)}.approved{fill:none;stroke:var(--ink);stroke-width:2}
.not_before{stroke:var(--lost);stroke-width:1.5;stroke-dasharray:4 3}.cursor{display:none}
"""


_HATCH = """<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect class="hatch" width="6" height="6"/><path class="stripe" d="M0 0V6"/></pattern></defs>"""


class Span(NamedTuple):
    """A machine in one state from ``begin`` to ``end``, in seconds; ``label`` names the impact."""

    begin: float
    end: float
    state: str
    label: str = ""


class Mark(NamedTuple):
    """Something that happened, or is due, at an instant."""

    at: float
    kind: str


class Lane(NamedTuple):
    """One machine."""

    name: str
    spans: Sequence[Span]
    marks: Sequence[Mark] = ()


class _Frame(NamedTuple):
    """The area in which time is drawn."""

    left: float
    scale: float
    """Pixels per second."""
    end: float
    """Seconds."""

    @property
    def width(self) -> float:
        return self.end * self.scale

    def x(self, at: float) -> float:
        return self.left + at * self.scale


class Panel(NamedTuple):
    """A fleet under a title. ``lost``: how many requests were lost, and when; None if nobody counted."""

    title: str
    lanes: Sequence[Lane]
    lost: Sequence[tuple[float, int]] | None = None


def in_seconds(at: float) -> str:
    """Label an instant of the axis."""
    return f"{at:g} s"


def in_minutes(at: float) -> str:
    """Label an instant of the axis, as minutes and seconds."""
    return f"{round(at) // 60}:{round(at) % 60:02d}"


def draw(
    panels: Sequence[Panel],
    title: str,
    description: str,
    play: float | None = None,
    label: Callable[[float], str] = in_seconds,
) -> str:
    """Draw fleets one above the other, on one axis that begins at 0.

    :param title: what a screen reader calls the picture
    :param description: what it says of it
    :param play: the seconds that an animation takes, over and over; None: everything stands still, as it also does for
        readers who prefer reduced motion
    :param label: what to write at an instant of the axis
    """
    end = max((edge for panel in panels for lane in panel.lanes for edge in _edges(lane)), default=0.0) or 1.0
    longest = max((len(lane.name) for panel in panels for lane in panel.lanes), default=0)
    left = max(_LEFT, 32 + _LETTER * min(longest, _LONGEST_NAME))
    frame = _Frame(left, (_WIDTH - left - _RIGHT) / end, end)
    parts: list[str] = []
    animations: list[str] = []
    top = _GAP
    for number, panel in enumerate(panels):
        parts += _panel(panel, number, top, frame, animations if play else None)
        top += _height(panel) + _GAP
    parts += _axis(top, frame, label) + _legend(top + _AXIS, panels, frame)
    if play:
        parts.append(f'<path class="cursor" d="M{frame.left:g} {_GAP + _HEADER}V{top}"/>')
    height = top + _AXIS + _LEGEND
    style = _STYLE + (_animation(play, frame, animations) if play else "")
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title description">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="description">{escape(description)}</desc>',
            f"<style>{style}</style>",
            _HATCH,
            f'<rect class="bg" width="{_WIDTH}" height="{height}" rx="8"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _edges(lane: Lane) -> list[float]:
    return [span.end for span in lane.spans] + [mark.at for mark in lane.marks]


def _height(panel: Panel) -> int:
    return _HEADER + _LANE * len(panel.lanes) + (0 if panel.lost is None else _LOST)


def _panel(panel: Panel, number: int, top: int, frame: _Frame, animations: list[str] | None) -> list[str]:
    parts = [f'<g class="panel" role="group" aria-label={quoteattr(panel.title)}>']
    parts.append(f'<text class="title" x="16" y="{top + 20}">{escape(panel.title)}</text>')
    y = top + _HEADER
    for lane in panel.lanes:
        parts += _lane(lane, y, frame)
        y += _LANE
    if panel.lost is not None:
        parts += _losses(panel.lost, y, frame)
        parts += _counter(panel.lost, number, top, frame.end, animations)
    if animations is not None:
        parts.append(
            f'<rect class="curtain" x="{frame.left:g}" y="{top + _HEADER - 2}" width="{_WIDTH - frame.left:g}"'
            f' height="{_height(panel) - _HEADER + 4}"/>'
        )
    return [*parts, "</g>"]


def _lane(lane: Lane, y: int, frame: _Frame) -> list[str]:
    edge = y + _LANE - _BAR - 4
    parts = [f'<g class="lane" aria-label={quoteattr(lane.name)}>']
    name = lane.name if len(lane.name) <= _LONGEST_NAME else lane.name[: _LONGEST_NAME - 1] + "…"
    parts.append(f'<text x="16" y="{edge + 12}">{escape(name)}</text>')
    for span in lane.spans:
        x, width = frame.x(span.begin), max(1.0, (span.end - span.begin) * frame.scale)
        words = f"{span.label or WORDS[span.state]}, {span.begin:.1f} to {span.end:.1f} s"
        parts.append(
            f'<rect class="{span.state}" x="{x:.1f}" y="{edge}" width="{width:.1f}" height="{_BAR}">'
            f"<title>{escape(words)}</title></rect>"
        )
        if span.label:
            parts.append(
                f'<text class="soft" x="{x + width / 2:.1f}" y="{edge - 3}" text-anchor="middle">'
                f"{escape(span.label)}</text>"
            )
    parts += [_mark(mark.kind, frame.x(mark.at), edge) for mark in lane.marks]
    return [*parts, "</g>"]


def _mark(kind: str, x: float, edge: float) -> str:
    if kind == ANNOUNCED:
        return f'<path class="mark announced" d="M{x - 5:.1f} {edge - 8}h10l-5 8z"/>'
    if kind == APPROVED:
        # The approval is labelled beside the beginning of the impact, which often follows at once.
        return f'<path class="approved" d="M{x - 12:.1f} {edge + 8:.1f}l3 4l6 -8"/>'
    return f'<path class="not_before" d="M{x:.1f} {edge - 10}V{edge + _BAR + 3}"/>'


def _losses(lost: Sequence[tuple[float, int]], y: int, frame: _Frame) -> list[str]:
    parts = [f'<g class="losses"><text class="soft" x="16" y="{y + 20}">lost requests</text>']
    for at, count in lost:
        # The area of the mark shows the number of requests: a few must be visible beside many.
        radius = 2 + 1.6 * math.sqrt(count)
        parts.append(
            f'<circle class="lost" cx="{frame.x(at):.1f}" cy="{y + 15}" r="{radius:.1f}">'
            f"<title>{count} lost</title></circle>"
        )
    return [*parts, "</g>"]


def _counter(
    lost: Sequence[tuple[float, int]], number: int, top: int, end: float, animations: list[str] | None
) -> list[str]:
    """The number of lost requests: the total, and in an animation the number up to the current time."""
    totals = [0]
    for _at, count in lost:
        totals.append(totals[-1] + count)
    shown = totals if animations is not None else totals[-1:]
    tint = "lost" if totals[-1] else "none"
    lines = "".join(
        f'<text class="count {tint if total or total == totals[-1] else "none"}" x="{_WIDTH - _RIGHT}"'
        f' y="{top + 20 + _DIGITS * line}" text-anchor="end">{total} requests lost</text>'
        for line, total in enumerate(shown)
    )
    if animations is not None:
        up = [f"transform:translateY({-_DIGITS * line}px)" for line in range(len(shown))]
        frames = "".join(
            f"{100 * _HOLD * at / end:.2f}%{{{up[line]}}}" for line, (at, _count) in enumerate(lost, start=1)
        )
        animations.append(f".count{number}{{animation-name:count{number};animation-timing-function:step-end}}")
        animations.append(f"@keyframes count{number}{{0%{{{up[0]}}}{frames}100%{{{up[-1]}}}}}")
    last = -_DIGITS * (len(shown) - 1)
    window = f"counter{number}"
    return [
        f'<clipPath id="{window}"><rect x="{_WIDTH - 260}" y="{top + 2}" width="260" height="{_DIGITS}"/></clipPath>',
        f'<g clip-path="url(#{window})">',
        f'<g class="play count{number}" style="transform:translateY({last}px)">{lines}</g></g>',
    ]


def _axis(y: int, frame: _Frame, label: Callable[[float], str]) -> list[str]:
    step = next((step for step in _STEPS if frame.end / step <= 12), frame.end)
    parts = ['<g class="axis">']
    parts.append(f'<path class="tick" d="M{frame.left:g} {y}h{frame.width:.1f}"/>')
    for number in range(int(frame.end / step) + 1):
        x = frame.x(number * step)
        parts.append(f'<path class="tick" d="M{x:.1f} {y}v5"/>')
        parts.append(
            f'<text class="soft" x="{x:.1f}" y="{y + 17}" text-anchor="middle">{escape(label(number * step))}</text>'
        )
    return [*parts, "</g>"]


_STEPS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400)


def _legend(y: int, panels: Sequence[Panel], frame: _Frame) -> list[str]:
    lanes = [lane for panel in panels for lane in panel.lanes]
    shown = {span.state for lane in lanes for span in lane.spans} | {mark.kind for lane in lanes for mark in lane.marks}
    parts, x = ['<g class="legend">'], frame.left
    for kind, word in WORDS.items():
        if kind not in shown:
            continue
        if kind in (ANNOUNCED, APPROVED, NOT_BEFORE):
            parts.append(_mark(kind, x + 6 + (6 if kind == APPROVED else 0), y + (-2 if kind == APPROVED else 8)))
        else:
            parts.append(f'<rect class="{kind}" x="{x:g}" y="{y}" width="12" height="12"/>')
        parts.append(f'<text class="soft" x="{x + 18:g}" y="{y + 10}">{word}</text>')
        x += 44 + 6 * len(word)
    return [*parts, "</g>"]


def _animation(play: float, frame: _Frame, animations: Sequence[str]) -> str:
    """Time passes from left to right. For readers who prefer reduced motion nothing moves, and everything is shown."""
    share, across = f"{100 * _HOLD:g}%", f"{frame.width:g}px"
    return (
        "@media (prefers-reduced-motion:no-preference){"
        f".play,.curtain,.cursor{{animation-duration:{play:g}s;animation-iteration-count:infinite;"
        f"animation-timing-function:linear;animation-delay:{-(_HOLD + 0.005) * play:g}s}}"
        # The right edge lies beyond the end of time, because marks are wider than their instant.
        f".curtain{{display:inline;animation-name:reveal}}"
        f"@keyframes reveal{{0%{{transform:translateX(0)}}{share}{{transform:translateX({across})}}"
        f"{_HOLD * 100 + 0.1:g}%,100%{{transform:translateX({_WIDTH}px)}}}}"
        ".cursor{display:inline;stroke:var(--soft);animation-name:pass}"
        f"@keyframes pass{{0%{{transform:translateX(0)}}{share},100%{{transform:translateX({across})}}}}"
        + "".join(animations)
        + "}"
    )
