# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""An event of the operator's choice on test machines: checks the request, and judges the handler.

The simulator's record of the event says who approved it when; the history of each machine's agent, what was done there.
The two clocks are never compared for a verdict, only for what is told.
"""

import ipaddress
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.scheduled_events.client import split_endpoint
from ...module_utils.scheduled_events.event import (
    ADVISORY_EVENT_TYPES,
    EVENT_TYPES,
    FINAL_EVENT_TYPES,
    STARTED,
    NameKey,
    name_key,
    same_name,
)
from .agent import AgentDict, has_taken_out

Record = Mapping[str, Any]

APPROVED = "approved"
IGNORED = "ignored"

_STAGES = ("drain", "shutdown")


class RehearsalError(ValueError):
    """The rehearsal makes no sense. The message names the variable and the remedy."""


class Machine(NamedTuple):
    """A machine that takes part."""

    name: str
    """In the inventory."""
    vm_name: str
    """Its name in the simulator."""
    address: str = ""
    """The address from which it asks the simulator; needed to set one up."""
    agent: AgentDict | None = None
    """The status that its handler agent reports; None without an agent."""
    is_hit: bool = True


# --- before ---------------------------------------------------------------------------------------


def make_rehearsal(machines: Sequence[Machine], event: Mapping[str, Any], endpoint: str = "") -> dict[str, Any]:
    """Check what was asked for, before anything is touched.

    :param event: as the simulator's control API takes it, without `resources`; what is None is left out
    :param endpoint: where a simulator is to be set up, `http://ADDRESS:PORT`; empty if there is one
    :returns: `event`, to be announced; `machines`, by name, `vm_name` and `is_hit`; `config` of the simulator
    :raises RehearsalError: if it makes no sense, or a machine is busy with an event
    """
    names: dict[NameKey, str] = {}
    for machine in machines:
        if not machine.vm_name.isprintable():
            raise RehearsalError("rehearse_vm_name: %a of %s is not the name of a VM" % (machine.vm_name, machine.name))
        other = names.setdefault(name_key(machine.vm_name), machine.name)
        if other != machine.name:
            raise RehearsalError(
                "rehearse_vm_name: %s and %s are both %s. Give each its own" % (other, machine.name, machine.vm_name)
            )
        if machine.agent is not None and has_taken_out(machine.agent):
            raise RehearsalError(
                "%s: its agent is handling an event. Rehearse when that is over: foghorn-agent status" % machine.name
            )
    types = sorted(set(EVENT_TYPES).difference(ADVISORY_EVENT_TYPES))
    if event.get("event_type") not in types:
        raise RehearsalError("rehearse_event_type: %r is not one of %s" % (event.get("event_type"), ", ".join(types)))
    for name, least in (("notice", 0), ("impact", 0), ("linger", 0), ("duration", -1)):
        value = event.get(name)
        if value is not None and value < least:
            raise RehearsalError("rehearse_%s: %s is less than %d" % (name, value, least))
    hit = [machine.vm_name for machine in machines if machine.is_hit]
    if not hit:
        raise RehearsalError("rehearse_hit: none of rehearse_hosts is in it. Name at least one of them")
    body = {name: value for name, value in event.items() if value is not None}
    return {
        "event": dict(body, resources=hit),
        "machines": {
            machine.name: {"vm_name": machine.vm_name, "is_hit": machine.is_hit, "has_agent": machine.agent is not None}
            for machine in machines
        },
        "config": _simulator_config(machines, endpoint) if endpoint else {},
    }


def _simulator_config(machines: Sequence[Machine], endpoint: str) -> dict[str, Any]:
    try:
        host, port = split_endpoint(endpoint)
    except ValueError:
        host, port = "", 0
    address = _as_address(host)
    if not address:
        raise RehearsalError(
            "rehearse_endpoint: %r is not like http://10.0.0.5:8080, with the IP address at which the "
            "machines reach the simulator" % endpoint
        )
    vms = []
    owners: dict[str, str] = {}
    for machine in machines:
        known = _as_address(machine.address)
        if not known:
            raise RehearsalError(
                "rehearse_address: %r of %s is not an IP address. Set it to the address from which %s reaches "
                "the simulator" % (machine.address, machine.name, machine.name)
            )
        other = owners.setdefault(known, machine.name)
        if other != machine.name:
            raise RehearsalError(
                "rehearse_address: %s and %s both have %s. The simulator tells them apart by it"
                % (other, machine.name, known)
            )
        vms.append({"name": machine.vm_name, "address": known, "availability_set": "rehearsal"})
    return {"imds": {"identify_by": "client", "address": address, "port": port}, "vms": vms}


def _as_address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


# --- afterwards -----------------------------------------------------------------------------------


def judge(
    rehearsal: Mapping[str, Any],
    event: Record | None,
    histories: Mapping[str, Sequence[Record]],
    expected: str,
    problems: Sequence[str] = (),
) -> dict[str, Any]:
    """Say whether the handler did its part.

    :param event: the simulator's record of it; None if it was not announced
    :param histories: what the agent of each machine has noted, by the machine's name; without it, only what the
        simulator saw is judged
    :param expected: `approved`, prepared and approved before NotBefore; `prepared`, prepared; `ignored`, nothing
    :param problems: what went wrong with the rehearsal itself
    :returns: `passed`; `lines`, for a person; `failures`; `event`; and `machines`, the figures by name, in seconds
        since the event was announced
    """
    failures = list(problems)
    lines: list[str] = []
    machines: dict[str, dict[str, Any]] = {}
    if event is not None:
        failures += _judge_approval(event, expected)
        lines.append("%s: %s" % (_describe_event(event), _describe_life(event)))
        for name, machine in rehearsal["machines"].items():
            if not machine["is_hit"]:
                continue
            history = histories.get(name)
            figures: dict[str, Any] = {"vm_name": machine["vm_name"], "failures": []}
            if history is not None:
                figures.update(read_figures(history, event))
                figures["failures"] = judge_machine(figures, event["event_type"] in FINAL_EVENT_TYPES, expected)
            machines[name] = figures
            failures += ["%s: %s" % (name, text) for text in figures["failures"]]
            lines.append("%s: %s" % (name, describe_machine(figures, history is not None, machine["has_agent"])))
    lines += ["FAILED: %s" % text for text in failures] or ["PASSED"]
    return {
        "passed": not failures,
        "expected": expected,
        "failures": failures,
        "event": event,
        "machines": machines,
        "lines": lines,
    }


def _judge_approval(event: Record, expected: str) -> list[str]:
    approval = _approval(event)
    failures = []
    if event["ended"] is None:
        failures.append("the event was not over in time")
    if approval is None:
        return [*failures, "nobody approved it before it began"] if expected == APPROVED else failures
    if expected == IGNORED:
        failures.append("%s approved it, although it should leave it alone" % approval["vm"])
    if approval["at"] >= event["not_before"]:
        failures.append("%s approved it only when its notice was over" % approval["vm"])
    if not any(same_name(approval["vm"], name) for name in event["resources"]):
        failures.append("%s approved it, although the event does not hit it" % approval["vm"])
    return failures


def read_figures(history: Sequence[Record], event: Record) -> dict[str, Any]:
    """An agent's notes about the event. Instants are seconds since it was announced."""
    notes = _notes_of(history, event)
    stages = _stages(notes)
    return {
        "seen": _first(notes, "seen"),
        "stages": stages,
        "failed_steps": [
            "%s: %s: %s" % (note["stage"], note["name"], note["reason"])
            for note in notes
            if note["kind"] == "step_ended" and not note["succeeded"]
        ],
        "ready": max(stages[stage]["ended"] for stage in _STAGES if stage in stages) if _is_ready(stages) else None,
        "over": _first(notes, "over"),
        "back": stages["restore"]["ended"] if stages.get("restore", {}).get("state") == "succeeded" else None,
        "was_ready_when_it_approved": _was_ready(notes, lambda note: note["kind"] == "approving"),
        "was_ready_when_it_began": _was_ready(notes, lambda note: note.get("event", {}).get("EventStatus") == STARTED),
        "restored_too_early": "restore" in _stages(_before(notes, lambda note: note["kind"] == "over")),
    }


def _notes_of(history: Sequence[Record], event: Record) -> list[Record]:
    """The notes about this event, and about restores since; `at` is in seconds since the event was announced."""
    notes: list[Record] = []
    for note in history:
        is_restore = note.get("stage") == "restore" and bool(notes)
        if is_restore or event["event_id"].lower() in _ids(note):
            notes.append(dict(note, at=round(note["at"] - event["created"], 3)))
    return notes


def _stages(notes: Sequence[Record]) -> dict[str, dict[str, Any]]:
    stages: dict[str, dict[str, Any]] = {}
    for note in notes:
        if note["kind"] == "stage":
            stage = stages.setdefault(note["stage"], {"begun": note["at"]})
            stage.update(state=note["state"], ended=None if note["state"] == "begun" else note["at"])
    return stages


def _is_ready(stages: Mapping[str, Mapping[str, Any]]) -> bool:
    before = [stages[stage]["state"] for stage in _STAGES if stage in stages]
    return bool(before) and set(before) == {"succeeded"}


def _was_ready(notes: Sequence[Record], is_the_moment: Callable[[Record], bool]) -> bool | None:
    """Whether the machine was ready at the first note of this kind; None if there is none."""
    before = _before(notes, is_the_moment)
    return None if len(before) == len(notes) else _is_ready(_stages(before))


def _before(notes: Sequence[Record], is_the_moment: Callable[[Record], bool]) -> list[Record]:
    return list(itertools.takewhile(lambda note: not is_the_moment(note), notes))


def _first(notes: Sequence[Record], kind: str) -> float | None:
    return next((note["at"] for note in notes if note["kind"] == kind), None)


def judge_machine(figures: Mapping[str, Any], is_final: bool, expected: str) -> list[str]:
    failures = ["a step failed: %s" % text for text in figures["failed_steps"]]
    stages = figures["stages"]
    if figures["seen"] is None:
        return [*failures, "its agent did not see the event"]
    if expected == IGNORED:
        return [*failures, "it was prepared, although it should be left alone"] if stages else failures
    if not any(stage in stages for stage in _STAGES):
        return [*failures, "it was not taken out of rotation"]
    for stage in _STAGES:
        if stage in stages and stages[stage]["state"] != "succeeded":
            failures.append("its %s did not succeed" % stage)
    if figures["was_ready_when_it_approved"] is False:
        failures.append("it approved before it was ready")
    if figures["was_ready_when_it_began"] is False:
        failures.append("it was not ready when the event began")
    if figures["restored_too_early"]:
        failures.append("it was restored before the event was over")
    if is_final and "restore" in stages:
        failures.append("it was restored, although the event deletes it")
    if not is_final and figures["back"] is None:
        failures.append("it is not back in rotation")
    return failures


# --- in words -------------------------------------------------------------------------------------


def _describe_event(event: Record) -> str:
    return "%s %s of %s" % (event["event_type"], event["event_id"], " and ".join(event["resources"]))


def _describe_life(event: Record) -> str:
    begin = event["created"]
    approval = _approval(event)
    told = ["not approved, it may start after %.1f s" % (event["not_before"] - begin)]
    if approval is not None:
        after = approval["at"] - begin
        told = ["approved by %s after %.1f s, %s" % (approval["vm"], after, _describe_notice_left(event))]
    for key, text in (("started", "started"), ("impact_ended", "hit until"), ("ended", "over")):
        if event[key] is not None:
            told.append("%s %s%.1f s" % (text, "" if key == "impact_ended" else "after ", event[key] - begin))
    return "; ".join(told)


def _describe_notice_left(event: Record) -> str:
    return "%.1f s of notice left" % event["notice_left_at_approval"]


def describe_machine(figures: Mapping[str, Any], is_known: bool, has_agent: bool) -> str:
    if not is_known:
        return "could not be asked what it did" if has_agent else "has no agent that could tell what it did"
    told = ["saw nothing" if figures["seen"] is None else "seen after %.1f s" % figures["seen"]]
    for stage in _STAGES:
        if stage in figures["stages"]:
            told.append(_describe_stage(stage, figures["stages"][stage]))
    if figures["ready"] is not None:
        told.append("ready after %.1f s" % figures["ready"])
    if figures["back"] is not None:
        told.append("back after %.1f s" % figures["back"])
    return "; ".join(told)


def _describe_stage(name: str, stage: Mapping[str, Any]) -> str:
    if stage["ended"] is None:
        return "%s has not ended" % name
    return "%s %s within %.1f s" % (name, stage["state"], stage["ended"] - stage["begun"])


def _approval(event: Record) -> Record | None:
    """The approval that counted."""
    return next((approval for approval in event["approvals"] if not approval["repeated"]), None)


def _ids(note: Record) -> list[str]:
    event = note.get("event") or {}
    return [str(one).lower() for one in (note.get("event_id"), event.get("EventId"), *note.get("event_ids", ()))]
