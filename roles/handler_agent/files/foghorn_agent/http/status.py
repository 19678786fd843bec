# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What others may see of the agent: `/status` as JSON, and a short table for a person. Pure."""

import sys
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any, Container, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from foghorn_core.scheduled_events.dates import format_date
from foghorn_core.scheduled_events.document import event_as_dict
from foghorn_core.scheduled_events.event import same_name
from foghorn_core.scheduled_events.text import plain

from .. import __version__
from ..decide.decisions import Work, is_ready, plan_of
from ..decide.policy import DRAIN, NEVER, QUORUM, SHUTDOWN, Rule, nothing_configured_for
from ..decide.quorum import as_text
from ..decide.state import BEGUN, MANUAL_ID, State, Tracked

JsonObject = Dict[str, Any]

# What the agent needs: its name in `/status`, `/healthz` and the metric, and the field of `Health` with the problem.
PROBLEMS = {
    "IMDS": "imds_problem",
    "journal": "journal_problem",
    "endpoint": "endpoint_problem",
    "configuration": "configuration_problem",
    "records": "records_problem",
    "identity": "identity_problem",
    "clock": "clock_problem",
    "members": "members_problem",
    "policies": "policies_problem",
}


class Health(NamedTuple):
    """How the agent itself is doing. Times are in seconds since the epoch."""

    running_since: float
    last_answer: Optional[float] = None
    """When IMDS last returned a document."""
    imds_problem: Optional[str] = None
    """The present problem with IMDS."""
    journal_problem: Optional[str] = None
    """Why the journal cannot be written, or that the disk hangs."""
    endpoint_problem: Optional[str] = None
    """Where the endpoint cannot listen."""
    configuration_problem: Optional[str] = None
    """Why the configuration in force is not that of the file."""
    records_problem: Optional[str] = None
    """The gaps of the journal."""
    identity_problem: Optional[str] = None
    """Why it may be unknown which VM this is, or was."""
    clock_problem: Optional[str] = None
    """How the wall clock changed while something depended on it."""
    members_problem: Optional[str] = None
    """The members whose answers are too old to count."""
    policies_problem: Optional[str] = None
    """Unknown words in the policies, and types without a policy."""
    configuration_modified: Optional[float] = None
    """When the last configuration file that was read was written. None: no file."""
    is_up_to_date: bool = True
    """Whether all that the agent knows is in its journal."""


class Failing(NamedTuple):
    """A step that has failed."""

    event_id: str
    stage: str
    name: str
    error: str
    next_try: Optional[float] = None
    """When it is tried again, in seconds since the epoch. None if it never is, or is running again."""
    is_tried_again: bool = False


def phase(one: Tracked, rules: Sequence[Rule]) -> str:
    """Where an event is in its life, in one word or two."""
    if one.over:
        return one.over
    if one.started or one.event.is_started:
        return "started"
    if one.halted:
        return "failed"
    if one.accepted:
        return "approved"
    if one.approvals:
        return "approving"
    for stage in ("shutdown", "drain"):
        if one.progress(stage).state == BEGUN:
            return stage
    plan = plan_of(rules, one)
    if not plan.takes_out:
        return "ignored"
    return "ready" if is_ready(one, plan) else "failed" if one.flawed else "seen"


def describe(
    state: State,
    rules: Sequence[Rule],
    work: Optional[Work],
    health: Health,
    now: datetime,
    withheld: Mapping[str, str] = MappingProxyType({}),
    waiting: Mapping[str, Sequence[Tuple[str, str]]] = MappingProxyType({}),
    checks: Sequence[JsonObject] = (),
    failing: Sequence[Failing] = (),
    is_dry: bool = False,
    without_plan: Container[str] = (),
    leaving: Mapping[str, Any] = MappingProxyType({}),
    state_directory: str = "",
) -> JsonObject:
    """The document that `/status` answers. Other agents read `vm_name`, `in_rotation`, `rotation_seconds`, `wants_out`
    and, of each of the `events`, `event_id`, `ready`, `willing` and `approves`.

    :param withheld: why events are not approved now, by their ids
    :param waiting: by the id of a shared event, the names of whom it waits for, each with the reason
    :param checks: what was found of the application, as `Readiness.describe` gives it
    :param failing: the steps that have failed
    :param is_dry: whether it is only said what would be done
    :param without_plan: ids of events for which nobody has configured anything
    :param leaving: what `keep_in_service` makes of it, as `Leaving.describe` gives it, and for how many seconds the
        machine has been in rotation, as `rotation_seconds`
    :param state_directory: where the agent is asked by hand, and has its journal
    """
    in_rotation = not state.is_out and all(check["ready"] for check in checks)
    return {
        "version": __version__,
        "python": sys.version.split()[0],
        "vm_name": state.vm_name,
        "vm_id": state.vm_id,
        "boot_id": state.boot_id,
        "state_directory": state_directory,
        # As the probe sees it.
        "in_rotation": in_rotation or is_dry,
        "dry_run": {"in_rotation": in_rotation} if is_dry else None,
        **{field: leaving.get(field) for field in ("rotation_seconds", "wants_out", "in_service")},
        # Whether this agent has to restore it, whatever the checks find.
        "out_of_rotation": state.is_out and not is_dry,
        "checks": list(checks),
        "document_incarnation": state.incarnation,
        "running_since": _as_date(health.running_since),
        "last_answer": _as_date(health.last_answer),
        "problems": {name: getattr(health, field) for name, field in PROBLEMS.items()},
        # To the last digit, by which it is known which one was read.
        "configuration_modified": health.configuration_modified,
        "step": None
        if work is None
        else {"event_id": work.event.event_id, "stage": work.stage, "name": work.step.name, "seconds": work.seconds},
        "failing": [
            {
                "event_id": one.event_id,
                "stage": one.stage,
                "name": one.name,
                "error": one.error,
                "is_tried_again": one.is_tried_again,
                "next_try": _as_date(one.next_try),
            }
            for one in failing
        ],
        "drained_by_hand": _describe_manual(state),
        "held": None
        if state.hold is None
        else {
            "since": _as_date(state.hold.since),
            "until": _as_date(state.hold.until),
        },
        "events": [
            dict(
                dict(
                    _describe_event(one, rules, state, health, now),
                    # Playbooks use it: they handle such an event as if there were no agent.
                    nothing_configured=one.event_id in without_plan,
                    waiting_for=[{"vm_name": name, "reason": why} for name, why in waiting.get(one.event_id, ())],
                ),
                **_describe_approval(one, rules, withheld, is_dry),
            )
            for one in state.tracked
            if not one.is_manual
        ],
    }


def _describe_manual(state: State) -> Optional[JsonObject]:
    one = state.find(MANUAL_ID)
    if one is None or one.over:
        return None
    return {"since": _as_date(one.seen_at), "drain": one.drain.state}


def _describe_event(one: Tracked, rules: Sequence[Rule], state: State, health: Health, now: datetime) -> JsonObject:
    plan = plan_of(rules, one)
    return dict(
        event_as_dict(one.event, state.vm_name or "", now),
        phase=phase(one, rules),
        rule=plan.rule,
        # Nobody may rely on what this agent would forget in a crash.
        ready=one.over is None and health.is_up_to_date and is_ready(one, plan),
        approvals=one.approvals,
        rebooted=one.rebooted,
        keeps_out=one.over is None and one.took_out,
    )


def _describe_approval(one: Tracked, rules: Sequence[Rule], withheld: Mapping[str, str], is_dry: bool) -> JsonObject:
    approve, reason = plan_of(rules, one).approve, withheld.get(one.event_id)
    said = {"willing": approve != NEVER and reason is None, "approves": approve == QUORUM, "withheld": reason}
    # Other machines would rely on what was not done.
    return dict(said, ready=False, willing=False, approves=False) if is_dry else said


def as_table(status: Mapping[str, Any]) -> str:
    """Write a `/status` document for a person, whose terminal shows it and does nothing else."""
    rotation = "in rotation" if status["in_rotation"] else "OUT OF ROTATION"
    dry_run = status.get("dry_run")
    if dry_run:
        rotation += "  DRY RUN: nothing is done"
        rotation += "" if dry_run["in_rotation"] else ", or it would be OUT OF ROTATION"
    # An agent of another version may lack some of them.
    problems = status.get("problems", {})
    lines = [
        "%s  %s" % (plain(status["vm_name"] or "unknown VM"), rotation),
        "IMDS  %s" % plain(problems.get("IMDS") or "last answer %s" % (status["last_answer"] or "never")),
    ]
    lines += [
        plain("not ready  %s: %s" % (check["name"], check["detail"]))
        for check in status["checks"]
        if not check["ready"]
    ]
    lines += ["%s  %s" % (name, plain(problems[name])) for name in PROBLEMS if name != "IMDS" and problems.get(name)]
    if status["drained_by_hand"]:
        drained = status["drained_by_hand"]
        lines.append("by hand  drained since %s: drain %s" % (plain(drained["since"]), plain(drained["drain"])))
    if status["held"]:
        lines.append("by hand  nothing is approved until %s" % plain(status["held"]["until"] or "it is released"))
    lines += [plain("failed  %s  %s" % (_failure_as_text(**one), one["event_id"])) for one in status.get("failing", ())]
    in_service = status.get("in_service")
    if in_service and in_service["waits"]:
        lines.append(plain("waits, to keep %(keep)s in service: %(waits)s" % in_service))
    if not status["events"]:
        lines.append("no events")
        return "\n".join(lines) + "\n"
    rows = [["TYPE", "STATUS", "STARTS", "PHASE", "SHARED WITH", "EVENT"]]
    for event in status["events"]:
        others = [name for name in event["resources"] if not same_name(name, status["vm_name"] or "")]
        cells = (
            event["event_type"],
            event["event_status"],
            _as_start(event),
            event["phase"],
            ", ".join(others) or "-",
            event["event_id"],
        )
        rows.append([plain(cell) for cell in cells])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    lines += [
        "withheld  %s: %s" % (plain(event["event_id"]), plain(event["withheld"]))
        for event in status["events"]
        if event["withheld"]
    ]
    lines += [
        plain("%s  %s" % (nothing_configured_for(event["event_type"]), event["event_id"]))
        for event in status["events"]
        # The reason for withholding says so already.
        if event.get("nothing_configured") and not event["withheld"]
    ]
    for event in status["events"]:
        waiting = [(one["vm_name"], one["reason"]) for one in event["waiting_for"]]
        if waiting:
            lines.append(plain("waiting for %s  %s" % (as_text(waiting), event["event_id"])))
    if status["step"]:
        lines.append("running  " + plain("%(stage)s: %(name)s" % status["step"]))
    return "\n".join(lines) + "\n"


def list_problems(health: Health) -> List[str]:
    """The present problems with what the agent needs, one line each."""
    found = [(name, getattr(health, field)) for name, field in PROBLEMS.items()]
    return ["%s: %s" % (name, plain(problem)) for name, problem in found if problem is not None]


def failures(state: State) -> List[Failing]:
    """The steps that have finally failed, of the known events."""
    found = []
    for one in state.tracked:
        found += [Failing(one.event_id, *failure) for failure in one.failures]
        for stage in (DRAIN, SHUTDOWN):
            # The hooks after these still run, and their step has not ended.
            given_up = one.progress(stage).hook_failures
            found += [Failing(one.event_id, stage, failure.name, failure.reason) for failure in given_up]
    return found


def as_failure(one: Failing) -> str:
    """Name a step that has failed, its error and the next try, on a line."""
    shown = _failure_as_text(one.stage, one.name, one.error, one.is_tried_again, _as_date(one.next_try))
    return "step: %s" % plain(shown)


def _failure_as_text(
    stage: str, name: str, error: str, is_tried_again: bool, next_try: Optional[str], **_more: object
) -> str:
    then = "is tried again at %s" % next_try if next_try else "is just being tried again"
    return "%s: %s: %s; %s" % (stage, name, error, then if is_tried_again else "is not tried again")


def _as_start(event: Mapping[str, Any]) -> str:
    if event["not_before"] is None:
        return "-"
    minutes, seconds = divmod(int(event["seconds_until_start"]), 60)
    hours, minutes = divmod(minutes, 60)
    left = "%d:%02d:%02d" % (hours, minutes, seconds) if hours else "%d:%02d" % (minutes, seconds)
    return "%s, in %s" % (event["not_before"], left)


def _as_date(seconds: Optional[float]) -> Optional[str]:
    return None if seconds is None else format_date(datetime.fromtimestamp(seconds, timezone.utc))
