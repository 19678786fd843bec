# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent would do about an event, when, and why. Pure. Loaded only on request."""

from datetime import datetime, timedelta
from typing import Any, List, Optional, Sequence, Tuple

from foghorn_core.maintenance_policy.match import Match
from foghorn_core.scheduled_events.event import SCHEDULED, Event

from .decisions import SECONDS_ONCE_STARTED, plan_of, seconds_before_start
from .in_service import Keep, latest_begin
from .policy import DRAIN, HOOKS, NEVER, QUORUM, RESTORE, SHUTDOWN, Plan, Rule, Step, seconds_for
from .state import Tracked

# Azure's usual notice.
_NOTICES = {"Preempt": 30.0, "Terminate": 300.0, "Redeploy": 600.0}
_USUAL_NOTICE = 900.0
_OTHER_VM = "another VM"


def sample_event(
    event_type: str, notice: Optional[float], source: str, is_shared: bool, vm_name: str, now: datetime
) -> Event:
    """An event as Azure may announce it.

    :param notice: seconds; None for what Azure gives as a rule
    """
    left = _NOTICES.get(event_type, _USUAL_NOTICE) if notice is None else notice
    event = Event(
        "sample",
        event_type,
        SCHEDULED,
        (vm_name, _OTHER_VM) if is_shared else (vm_name,),
        now + timedelta(seconds=left),
        source,
        duration_in_seconds=-1,
    )
    return event._replace(not_before=None, duration_in_seconds=None) if event.is_advisory else event


def explain(rules: Sequence[Rule], event: Event, now: datetime, keep: Optional[Keep] = None) -> List[str]:
    """What would be done if this event were seen now, a line for each thing.

    :param keep: how many members are to stay in rotation; None: nobody has to wait
    """
    notice = None if event.not_before is None else (event.not_before - now).total_seconds()
    said = "at any moment" if notice is None else "in %.0f s" % notice
    lines = [
        "%s of %s, from %s, which may start %s"
        % (event.event_type, " and ".join(event.resources) or "nobody", event.event_source or "an unknown source", said)
    ]
    for rule in rules:
        reasons = _why_not(rule.match, event, notice)
        if not reasons:
            break
        lines.append("  %s does not match: %s" % (rule.plan.rule, "; ".join(reasons)))
    one = Tracked(first=event, event=event, notice=notice)
    plan = plan_of(rules, one)
    lines.append("  %s matches%s" % (plan.rule, ", the built-in default" if plan.is_default else ""))
    if keep is not None and plan.takes_out:
        lines.append("  " + _wait(keep, one, plan))
    return lines + ["  " + line for line in _stages(plan, event, notice)]


def _why_not(match: Match, event: Event, notice: Optional[float]) -> List[str]:
    """The conditions that an event does not meet, one line each."""
    if event.is_advisory and match.event_types is None:
        return ["what is only advisory has to be named in event_types"]
    types = match.event_types if event.is_advisory else None
    found = []
    for name, value in match._asdict().items():
        if value is None:
            continue
        one = Match(event_types=types)._replace(**{name: value})
        if not one.covers(event, notice):
            shown = ", ".join(value) if isinstance(value, tuple) else str(value).lower()
            found.append("%s is %s" % (name, shown))
    return found


def _stages(plan: Plan, event: Event, notice: Optional[float]) -> List[str]:
    if not plan.takes_out:
        lines = ["nothing is done, and the machine stays in rotation"]
    else:
        at, left = _times(plan, event, notice)
        lines = []
        for stage in (DRAIN, SHUTDOWN):
            if getattr(plan, stage) is None:
                continue
            lines.append("%s: %s" % (stage, "out of rotation" if plan.steps(stage) else "out of rotation, no steps"))
            steps = list(plan.steps(stage))
            after = list(plan.steps(SHUTDOWN)) if stage == DRAIN else []
            while steps:
                seconds = max(0.0, seconds_for(steps + after, left))
                lines.append("  %s" % _when(steps.pop(0), at, seconds))
                at += seconds
                left = None if left is None else left - seconds
    lines.append(_approval(plan, event))
    if plan.takes_out:
        names = [_name(step) for step in plan.steps(RESTORE)]
        gone = ", unless it has taken the machine away" if event.is_final else ""
        lines.append("%s, when it is over%s: %s" % (RESTORE, gone, ", ".join(names) or "back in rotation, no steps"))
    return lines


def _wait(keep: Keep, one: Tracked, plan: Plan) -> str:
    at, left = _times(plan, one.event, one.notice)
    latest = latest_begin(one, plan, None if left is None else at + left)
    waits = "all of it begins once enough other members stay in rotation, to keep %s in service" % str(keep)
    if latest is None:
        return waits + ", however long that takes"
    if latest <= at:
        return "nothing of it waits to keep %s in service: there is no time for that" % str(keep)
    return waits + ", and after %.0f s in any case, with the times below shifted by as much" % latest


def _times(plan: Plan, event: Event, notice: Optional[float]) -> Tuple[float, Optional[float]]:
    """In how many seconds the first stage begins, and how many seconds the stages have. None: no limit."""
    if event.is_started:
        return 0.0, SECONDS_ONCE_STARTED
    if notice is None:
        return 0.0, None
    at = max(0.0, notice - plan.begin_before) if plan.begin_before is not None else 0.0
    return at, seconds_before_start(notice, plan.margin) - at


def _when(step: Step, at: float, seconds: float) -> str:
    cut = "" if seconds >= step.timeout else ", of the %g s that it may take" % step.timeout
    return "%s: in %.0f s, for %.0f s at most%s" % (_name(step), at, seconds, cut)


def _name(step: Step) -> str:
    return "the hooks of the stage" if step.kind == HOOKS else step.name


def _approval(plan: Plan, event: Event) -> str:
    if event.is_advisory:
        return "there is nothing to approve"
    if not event.is_scheduled:
        return "it can be approved no more"
    if plan.approve == NEVER or (event.is_shared and plan.approve != QUORUM):
        return "nobody here approves it: it starts by the clock"
    conditions: List[Any] = [
        name for name, value in (("check", plan.check), ("approve_between", plan.approve_between)) if value
    ]
    by = (
        "the first of its machines approves it when all are ready"
        if event.is_shared
        else "it is approved when all is done"
    )
    if plan.rests_on_hooks:
        by += ", if a hook has prepared this machine"
    return by + (", as %s allows" % " and ".join(conditions) if conditions else "")
