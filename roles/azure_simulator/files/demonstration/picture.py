# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws runs of the demo, from what they wrote down, as one animated SVG.

usage: picture.py PICTURE RECORD [RECORD]

A RECORD is what `demo.py --record` wrote. Two runs share one axis, which begins shortly before the first announcement.
"""

from __future__ import annotations

import collections
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from timeline import DELETED, Story, spans, totals

# Where Ansible finds collections, this one among them.
sys.path += os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep)

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.drawing import lanes

SECONDS = 20.0
"""How long the animation takes."""

LEAD = 2.0
"""Seconds of a run that are shown before its first announcement."""

_BIN = 0.5
"""Seconds within which lost requests are shown as one."""


def save(story: Story, path: Path) -> None:
    """Write a run down."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(story._asdict()) + "\n", encoding="utf-8")


def load(path: Path) -> Story:
    """Read what `save` wrote."""
    return Story(**json.loads(path.read_text(encoding="utf-8")))


def instants_of(path: Path) -> list[float]:
    """When each event of a run was announced, in seconds since the first."""
    created = [event["created"] for event in load(path).events]
    return [instant - min(created) for instant in created]


def draw(stories: Sequence[Story]) -> str:
    """Draw runs one above the other."""
    told = [f"{_title(story)}: {sum(totals(story)[1].values())} requests lost" for story in stories]
    types = ", ".join(dict.fromkeys(event["event_type"] for story in stories for event in story.events))
    return lanes.draw(
        [_panel(story) for story in stories],
        title="Azure's maintenance of three web servers under traffic",
        description=f"Maintenance: {types}. {'; '.join(told)}.",
        play=SECONDS,
    )


def _title(story: Story) -> str:
    return "With foghorn.azure_events" if story.handled else "Without a handler"


def _panel(story: Story) -> lanes.Panel:
    zero = min((event["created"] for event in story.events), default=story.begin) - LEAD
    lost: collections.Counter[float] = collections.Counter()
    for entry in story.load:
        if entry["what"] == "lost":
            lost[math.floor((entry["at"] - zero) / _BIN) * _BIN] += 1
    return lanes.Panel(_title(story), [_lane(story, vm, zero) for vm in story.vms], sorted(lost.items()))


def _lane(story: Story, vm: str, zero: float) -> lanes.Lane:
    hit_by = [event for event in story.events if vm in event["resources"]]
    marks = [lanes.Mark(event["created"] - zero, lanes.ANNOUNCED) for event in hit_by]
    for event in hit_by:
        if event["approvals"]:
            marks.append(lanes.Mark(event["approvals"][0]["at"] - zero, lanes.APPROVED))
    # A little before the first event all have come up. The states are called as those of a lane are.
    passed = [
        lanes.Span(max(0.0, span.begin - zero), span.end - zero, span.state, span.event_type)
        for span in spans(story, vm)
        if span.end > zero and span.state != DELETED
    ]
    return lanes.Lane(vm, passed, marks)


def main() -> None:
    """Draw what the files say."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    stories = [load(Path(name)) for name in sys.argv[2:]]
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(draw(stories), encoding="utf-8")
    print(f"picture: {target}")


if __name__ == "__main__":
    main()
