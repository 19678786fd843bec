# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the fleet went through its maintenance as it should with a handler. Pure functions."""

from __future__ import annotations

import math

from timeline import Passage, Story, passages, totals

FROZEN_ONLY = "Freeze"
"""The type after which nothing needs to have been stopped: memory and connections survive it."""


def complaints(story: Story, minimum_in_service: int) -> list[str]:
    """What is wrong, a line each; empty when every event went by unnoticed by the clients."""
    found = []
    sent, lost, _reasons = totals(story)
    if not sum(sent.values()):
        found.append("no request was sent, so there is no result")
    if sum(lost.values()):
        found.append(f"{sum(lost.values())} requests were lost")
    for event in story.events:
        name = f"{event['event_type']} of {', '.join(event['resources'])}"
        if event["status"] != "Completed":
            found.append(f"{name}: is {event['status']}, not Completed")
        if not event["approvals"]:
            found.append(f"{name}: was not approved")
        elif len(event["approvals"]) > 1:
            found.append(f"{name}: was approved {len(event['approvals'])} times")
        elif event["approvals"][0]["vm"] not in event["resources"]:
            found.append(f"{name}: was approved by {event['approvals'][0]['vm']}, which it does not hit")
        elif event["notice_left_at_approval"] is None:
            found.append(f"{name}: was approved after it had started by itself")
    for way in passages(story):
        found += [f"{way.vm}: {what} ({way.event['event_type']})" for what in _complaints_about(way, story.begin)]
    fewest = fewest_in_rotation(story)
    if fewest < minimum_in_service:
        found.append(f"at some moment {fewest} were in rotation, fewer than {minimum_in_service}")
    return found


def _complaints_about(way: Passage, begin: float) -> list[str]:
    impact = math.inf if way.impact is None else way.impact
    found = []
    if way.out is None or way.out > impact:
        found.append("was in rotation when the impact began")
    if way.event["event_type"] != FROZEN_ONLY and (way.stop is None or way.stop > impact):
        found.append("was not stopped gracefully before the impact")
    if way.approve is not None and way.stop is not None and way.stop > way.approve:
        found.append("was approved before it had stopped")
    if way.event["event_type"] == "Terminate":
        if not way.deleted:
            found.append("is not deleted")
        if way.back is not None:
            found.append("was restored although it is deleted")
    elif way.back is None:
        found.append("did not come back into rotation")
    elif way.event["ended"] is not None and way.back < way.event["ended"]:
        found.append(f"came back at {way.back - begin:.1f} s, before the event was over")
    return found


def fewest_in_rotation(story: Story) -> int:
    """How many machines took new connections when they were fewest, once all had come up."""
    serving: set[str] = set()
    fewest = math.inf
    for entry in story.log:
        if entry["kind"] == "rotation":
            (serving.add if entry["what"] == "in" else serving.discard)(entry["vm"])
            if entry["at"] >= story.begin:
                fewest = min(fewest, len(serving))
    return int(min(fewest, len(serving)))
