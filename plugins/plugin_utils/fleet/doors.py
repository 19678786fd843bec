# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""How does what playbooks have become what is worked with here, and back?

Playbooks know dicts only, and hand back what they were given, even in the next play: what is written here is read here.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ...module_utils.scheduled_events.document import Event, event_as_dict, event_from_dict
from .clocks import ClockReading
from .plan import Attempt, Case, Entry, Host, Plan, PlanError
from .report import Result

_PER_GROUP = ("minimum_in_service", "expected_hosts")
# Seconds since the epoch, in the year 5138: what is later is no time.
_LATEST = 1e11


def read_host(content: Mapping[str, Any]) -> Host:
    """Read what is known of a host.

    :raises DocumentError: if one of its events is none
    """
    return Host(
        name=content["name"],
        # Templates of ansible-core 2.16 make an empty text of none.
        vm_name=content.get("vm_name") or None,
        events=_read_events(content.get("events"), content["name"]),
        was_left=bool(content.get("was_left")),
        settle_seconds=float(content.get("settle_seconds") or 0),
        connection_seconds=float(content.get("connection_seconds") or 0),
        stop_seconds=float(content.get("stop_seconds") or 0),
        return_seconds=float(content.get("return_seconds") or 0),
        agent=content.get("agent") or None,
        groups=tuple(map(str, content["groups"])) if "groups" in content else (str(content.get("group") or ""),),
        resource_id=str(content.get("resource_id") or ""),
        clock=_read_clock(content["clock"]) if content.get("clock") else None,
        left_alone=str(content.get("left_alone") or ""),
        is_down=bool(content.get("is_down")),
        minimum=None if content.get("minimum") in (None, "") else str(content["minimum"]),
        expected=None if content.get("expected") in (None, "") else int(content["expected"]),
        beside=tuple(map(str, content.get("beside") or ())),
        is_out=bool(content.get("is_out")),
        is_drained=bool(content.get("is_drained")),
        failed=bool(content.get("failed")),
        leased=str(content.get("leased") or ""),
        abandoned=str(content.get("abandoned") or ""),
        left_out=str(content.get("left_out") or ""),
        approving=tuple(content.get("approving") or ()),
        tried=tuple(Attempt(**one) for one in content.get("tried") or ()),
        seen={str(event_id): float(ago) for event_id, ago in (content.get("seen") or {}).items()},
        is_prepared=bool(content.get("is_prepared", True)),
        idle_agent=bool(content.get("idle_agent")),
    )


def _read_clock(content: Mapping[str, Any]) -> ClockReading:
    said = float(content["said"])
    if not 0 <= said < _LATEST:
        raise ValueError("its clock says %r" % (content["said"],))
    return ClockReading(float(content["asked_at"]), float(content["answered_at"]), said)


def check_alike(contents: Sequence[Mapping[str, Any]]) -> None:
    """Refuse what holds for the whole run and is not the same on all hosts.

    :raises PlanError: if it is not
    """
    decided = [(content["name"], content["policy"]) for content in contents if content.get("policy")]
    for name, values in decided[1:]:
        for key, value in values.items():
            first, expected = decided[0][0], decided[0][1].get(key)
            if key not in _PER_GROUP and str(value) != str(expected):
                raise PlanError(
                    "handle_events_%s: %s on %s, %s on %s. It holds for the whole run: set it for all hosts alike, or"
                    " run the playbook once for each" % (key, expected, first, value, name)
                )


def read_reading(content: Mapping[str, Any]) -> tuple[Event, ...] | None:
    """Read the events of what scheduled_events_info returned; None if it failed.

    :raises DocumentError: if one of them is none
    """
    return None if content.get("events") is None else _read_events(content["events"], "reading")


def read_result(content: Mapping[str, Any]) -> Result:
    """Read what became of a host."""
    progress = content.get("progress") or {}
    return Result(
        steps=tuple(content.get("steps") or ()),
        approved={event["event_id"]: event.get("seconds_until_start") for event in content.get("approved") or ()},
        not_approved={event["event_id"]: str(event["reason"]) for event in content.get("not_approved") or ()},
        outcome=progress.get("outcome", ""),
        gave_up=bool(progress.get("gave_up")),
        restored=bool(content.get("restored")),
        stays_out=str(content.get("stays_out") or ""),
        unprepared=bool(content.get("unprepared")),
        failures=tuple(content.get("failures") or ()),
        remaining=tuple(content.get("remaining") or ()),
        still_out=str(content.get("still_out") or ""),
        left_alone=bool(content.get("left_alone")),
        is_to_return=bool(progress.get("over") and progress.get("restore")),
        predicted=bool(content.get("predicted")),
    )


def plan_as_dict(plan: Plan, now: float) -> dict[str, Any]:
    """Write a plan. Events are written as the modules return them: in an entry as its host sees them, else as their
    leader does.
    """
    return {
        "batches": [list(batch) for batch in plan.batches],
        "hosts": {name: entry_as_dict(entry, now) for name, entry in plan.hosts.items()},
        "events": [
            dict(
                case._asdict(),
                event=_event_as_dict(case.event, case.event.leader or "", now),
                hosts=list(case.hosts),
                outsiders=list(case.outsiders),
                agents=list(case.agents),
            )
            for case in plan.cases
        ],
        "unanswered": list(plan.unanswered),
        "held": dict(plan.held),
        "abandoned": dict(plan.abandoned),
        "shortfalls": list(plan.shortfalls),
        "passed_over": dict(plan.passed_over),
        "turns": [list(turn) for turn in plan.turns],
        "patient": dict(plan.patient),
        "remarks": list(plan.remarks),
        "groups": list(plan.groups),
        "why_waiting": dict(plan.why_waiting),
        "missed": dict(plan.missed),
    }


def read_plan(content: Mapping[str, Any]) -> Plan:
    """Read what `plan_as_dict` has written."""
    return Plan(
        batches=[list(batch) for batch in content["batches"]],
        hosts={name: read_entry(entry) for name, entry in content["hosts"].items()},
        cases=[_read_case(case) for case in content["events"]],
        unanswered=list(content["unanswered"]),
        held=dict(content["held"]),
        abandoned=dict(content["abandoned"]),
        shortfalls=list(content["shortfalls"]),
        passed_over=dict(content["passed_over"]),
        turns=[list(turn) for turn in content["turns"]],
        patient=dict(content["patient"]),
        remarks=tuple(content["remarks"]),
        groups=tuple(content["groups"]),
        why_waiting=dict(content["why_waiting"]),
        missed=dict(content["missed"]),
    )


def read_entry(content: Mapping[str, Any]) -> Entry:
    """Read what a plan says of one host."""
    events = _read_events(content["events"], content["vm_name"])
    lists = {name: tuple(content[name]) for name in ("approving", "withdrawn")}
    return Entry(**dict(content, **lists, events=events))


def entry_as_dict(entry: Entry, now: float) -> dict[str, Any]:
    """Write what a plan says of one host, with its events as it sees them."""
    return dict(entry._asdict(), events=[_event_as_dict(event, entry.vm_name, now) for event in entry.events])


def _read_case(content: Mapping[str, Any]) -> Case:
    lists = {name: tuple(content[name]) for name in ("hosts", "outsiders", "agents")}
    # Templates of ansible-core 2.16 make an empty text of none.
    return Case(**dict(content, **lists, event=event_from_dict(content["event"]), approver=content["approver"] or None))


def _read_events(content: Any, where: str) -> tuple[Event, ...]:
    return tuple(event_from_dict(event, "%s: events[%d]" % (where, index)) for index, event in enumerate(content or ()))


def _event_as_dict(event: Event, vm_name: str, now: float) -> dict[str, Any]:
    return event_as_dict(event, vm_name, datetime.fromtimestamp(now, timezone.utc))
