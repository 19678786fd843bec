# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status as a table that a person reads."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

_EVENTS_SHOWN = 20
_LOG_SHOWN = 15


def render(status: Mapping[str, Any]) -> str:
    """Machines, events, balancers, faults and the latest happenings, each as a table."""
    now = status["now"]
    pace = "advanced by hand" if status["manual"] else f"{status['speed']:g} times as fast as real time"
    blocks = [f"{_stamp(now)}  ({pace})", _vms(status, now)]
    if status["events"]:
        blocks.append(_events(status, now))
    if status["load_balancers"]:
        blocks.append(_balancers(status))
    if status["arm"] is not None and status["arm"]["scale_sets"]:
        blocks.append(_scale_sets(status))
    if status["faults"]:
        blocks.append(_faults(status))
    if status["commands"]["failed"]:
        blocks.append(_failures(status))
    if status["log"]:
        blocks.append("\n".join(describe_entry(entry) for entry in status["log"][-_LOG_SHOWN:]))
    return "\n\n".join(blocks)


def describe_entry(entry: Mapping[str, Any]) -> str:
    """One entry of the log as a line."""
    known = ("seq", "at", "kind", "vm", "what")
    rest = "  ".join(f"{k}={_plain(v)}" for k, v in entry.items() if k not in known and v not in (None, "", []))
    return f"{_time(entry['at'])}  {entry['kind']:<9} {entry['what']:<10} {entry['vm'] or '-':<12} {rest}".rstrip()


def _plain(value: Any) -> str:
    return ",".join(str(item) for item in value) if isinstance(value, list) else str(value).strip()


def _vms(status: Mapping[str, Any], now: float) -> str:
    rows = [("VM", "STATE", "EVENTS", "LAST ASKED", "GET", "POST", "IN ROTATION")]
    for name, vm in status["vms"].items():
        rotation = ", ".join(f"{lb}: {'in' if inside else 'OUT'}" for lb, inside in vm["in_rotation"].items())
        rows.append(
            (
                name,
                vm["state"],
                "delivered" if vm["enabled"] else "disabled",
                "never" if vm["last_request"] is None else f"{_span(now - vm['last_request'])} ago",
                str(vm["requests"]["GET"]),
                str(vm["requests"]["POST"]),
                rotation or "-",
            )
        )
    return _columns(rows)


def _events(status: Mapping[str, Any], now: float) -> str:
    rows = [("EVENT", "TYPE", "HITS", "STATUS", "NOT BEFORE", "APPROVED BY", "NOTICE LEFT")]
    for event in status["events"][-_EVENTS_SHOWN:]:
        becomes = f" -> {event['becomes']}" if event["becomes"] else ""
        when = _time(event["not_before"])
        if event["status"] == "Scheduled":
            when += f" (in {_span(event['not_before'] - now)})"
        approvals = event["approvals"]
        repeats = len([approval for approval in approvals if approval["repeated"]])
        approver = f"{approvals[0]['vm']} {_time(approvals[0]['at'])}" if approvals else "nobody"
        if repeats:
            approver += f" (+{repeats})"
        left = event["notice_left_at_approval"]
        rows.append(
            (
                event["event_id"],
                event["event_type"] + becomes,
                ",".join(event["resources"]),
                event["status"],
                when,
                approver,
                "-" if left is None else f"{left:.0f} s",
            )
        )
    return _columns(rows)


def _balancers(status: Mapping[str, Any]) -> str:
    rows = [("BALANCER", "LISTENS", "MEMBER", "IN ROTATION", "SINCE", "OPEN", "SERVED", "REFUSED")]
    for name, balancer in status["load_balancers"].items():
        for vm, member in balancer["members"].items():
            state = "gone" if member["removed"] else "in" if member["healthy"] else "OUT"
            numbers = (str(member[key]) for key in ("connections", "served", "refused"))
            rows.append((name, balancer["listen"], vm, state, _time(member["since"]), *numbers))
        rows.append((name, balancer["listen"], "(none in)", "-", "-", "-", "-", str(balancer["refused"])))
    return _columns(rows)


def _scale_sets(status: Mapping[str, Any]) -> str:
    rows = [("SCALE SET", "STATE", "INSTANCE", "STATE", "LATEST MODEL", "TERMINATE NOTICE")]
    for name, scale_set in status["arm"]["scale_sets"].items():
        for vm, instance in scale_set["instances"].items():
            notice = instance["terminate_notice"]
            latest = "yes" if instance["latest_model"] else "NO"
            state = (scale_set["provisioning_state"], vm, instance["provisioning_state"])
            rows.append((name, *state, latest, "none" if notice is None else f"{notice:.0f} s"))
    return _columns(rows)


def _faults(status: Mapping[str, Any]) -> str:
    rows = [("FAULT", "VM", "KIND", "PATHS", "METHODS", "HITS", "LEFT")]
    for fault in status["faults"]:
        left = []
        if fault["count_left"] is not None:
            left.append(str(fault["count_left"]))
        if fault["seconds_left"] is not None:
            left.append(f"{fault['seconds_left']:.0f} s")
        kind = fault["kind"] if fault["status"] is None else f"{fault['kind']} {fault['status']}"
        methods = ",".join(fault["methods"]) or "all"
        row = (fault["fault_id"], fault["vm"], kind, ",".join(fault["paths"]), methods, str(fault["hits"]))
        rows.append((*row, ", ".join(left) or "until removed"))
    return _columns(rows)


def _failures(status: Mapping[str, Any]) -> str:
    rows = [("FAILED COMMAND", "VM", "PHASE", "ERROR", "OUTPUT")]
    for failure in status["commands"]["failed"]:
        lines = failure["output"].strip().splitlines()
        command = " ".join(failure["command"])
        rows.append((command[:60], failure["vm"], failure["phase"], failure["error"], lines[-1][:60] if lines else "-"))
    return _columns(rows)


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def _stamp(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))


def _time(at: float | None) -> str:
    return "-" if at is None else time.strftime("%H:%M:%S", time.gmtime(at))


def _span(seconds: float) -> str:
    """A length of real time in its two largest units."""
    total = max(0, round(seconds))
    for size, unit, smaller_size, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if total >= size:
            return f"{total // size}{unit}{total % size // smaller_size:02}{smaller}"
    return f"{total}s"
