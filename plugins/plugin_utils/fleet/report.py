# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told to the operator: lines of text."""

from collections.abc import Mapping
from typing import Any

from .treatment import EventDict, notice_of


def describe_plan(plan: Mapping[str, Any], now: float) -> list[str]:
    """Tell what was announced, and in which order it will be met.

    :param plan: as `plan.make_plan` returns it
    """
    lines = [_describe_case(case, now) for case in plan["events"]]
    for number, batch in enumerate(plan["batches"], 1):
        hosts = [_describe_host(name, plan["hosts"][name]) for name in batch]
        lines.append("Batch %d of %d: %s" % (number, len(plan["batches"]), ", ".join(hosts)))
    if plan["unanswered"]:
        lines.append("No answer from: %s" % ", ".join(plan["unanswered"]))
    return lines or ["Nothing is announced for these hosts."]


def describe_results(plan: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Tell what became of each host.

    :param results: by host, for the planned hosts and those that did not answer: `steps`, what was done, in words;
        `approved`, the events that were approved in its batch; `progress`, the last of `progress.watch`;
        `failures`, what went wrong. A planned host without any was lost on the way
    :returns: `lines`, one for each host; `failures`, one line for each
    """
    lines = []
    failures = []
    planned = [name for batch in plan["batches"] for name in batch]
    for name in planned + [name for name in results if name not in planned]:
        result = results.get(name) or {"failures": ["lost on the way: it may still be out of rotation. Run again"]}
        events = plan["hosts"][name]["events"] if name in plan["hosts"] else []
        ids = {event["event_id"].lower() for event in events}
        progress = result.get("progress") or {}
        wrong = list(result["failures"])
        if progress.get("gave_up"):
            wrong.append(progress["outcome"])
        told = list(result.get("steps", ()))
        told += [_describe_approval(event) for event in result.get("approved", ()) if event["event_id"].lower() in ids]
        told += [progress["outcome"]] if progress.get("outcome") and not progress["gave_up"] else []
        told += [_describe_return(plan["hosts"][name])] if result.get("restored") else []
        told += ["FAILED: %s" % text for text in wrong]
        what = ", ".join("%s %s" % (event["event_type"], event["event_id"]) for event in events)
        lines.append("%s: %s: %s" % (name, what or "no event", "; ".join(told) or "nothing done"))
        failures += ["%s: %s" % (name, text) for text in wrong]
    return {"lines": lines or ["Nothing had to be done."], "failures": failures}


def _describe_host(name: str, entry: Mapping[str, Any]) -> str:
    if entry["agent"]:
        return "%s (left to its agent)" % name
    return name if entry["remove"] else "%s (to be put back)" % name


def _describe_case(case: Mapping[str, Any], now: float) -> str:
    event = case["event"]
    hosts = list(case["hosts"]) + ["the VM %s" % name for name in case["outsiders"]]
    line = "%s %s: %s, %s" % (event["event_type"], event["event_id"], " and ".join(hosts), _describe_notice(event, now))
    if case["left_alone"]:
        return "%s: left alone, %s" % (line, case["left_alone"])
    if case["agents"] and notice_of(event, now) is not None:
        return "%s: %s" % (line, case["withheld"])
    return "%s: will not be approved, %s" % (line, case["withheld"]) if case["withheld"] else line


def _describe_notice(event: EventDict, now: float) -> str:
    notice = notice_of(event, now)
    if notice is None:
        return "has status %s" % event["event_status"]
    return "may start at any moment" if event["not_before"] is None else "starts in %d s" % notice


def _describe_return(entry: Mapping[str, Any]) -> str:
    return "in rotation, its agent says" if entry["agent"] else "put back"


def _describe_approval(event: EventDict) -> str:
    left = event["seconds_until_start"]
    return "approved" if left is None else "approved with %d s of notice left" % left
