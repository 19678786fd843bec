# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What becomes of a host of a run when one of its orders has been carried out."""

from collections.abc import Callable, Mapping

from .plan import HostPlan
from .policy import Policy, begins_soon
from .recheck import recheck
from .run import HostRun, OrderReport, Run, Step

# Seconds between two attempts to take a host out, at most.
_PAUSE = 10.0
# Seconds for which that is attempted again where nothing begins soon: a later run does the rest.
_TRIED_FOR = 60.0
# Seconds for stopping services where none are left: an event may begin later than announced, or have begun without
# having hit the host yet.
_LEAST_FOR_STOPPING = 30.0

_UNCONFIRMED = (
    "load_balancer_removal_health_probe_url did not answer with 200 before the removal either: nothing confirms that"
    " the host is out of rotation, and nothing is stopped on it: correct the URL, or repair the service"
)


def take_in(host: HostRun, report: OrderReport, run: Run, now: float) -> HostRun:
    """Apply a report to its host."""
    if host.step is not report.did or not host.is_given:
        raise ValueError("%s reports %s, and is at %s" % (report.host, report.did.name, host.step.name))
    if report.is_cut_short:
        return cut_short(host)
    if report.did is Step.ASK:
        return _after_ask(host, report)
    if report.did is Step.DRAIN:
        # Before it is decided whether there is another attempt: its event may be gone.
        host = host._replace(host_plan=recheck(plan_of(host), report.listed, run.policy, now))
    host = host._replace(result=host.result.with_warnings(report.warnings))
    if report.failure:
        again = _once_more(host, report, run, now)
        if again is not None:
            return again
        host = host.failing(report.failure)
    if report.did is Step.DRAIN:
        return _after_drain(host, report, run.policy, now)
    if report.did is Step.MOVE and run.predicts:
        return predicted(host)
    return _AFTER[report.did](host, report)


def _once_more(host: HostRun, report: OrderReport, run: Run, now: float) -> HostRun | None:
    """The host with another attempt to take it out, as long as there is time; None if there is no other attempt.

    An attempt begins with the lease, which would not last for several.
    """
    if report.did not in (Step.LEASE, Step.DRAIN) or run.predicts:
        return None
    host_plan = plan_of(host)
    is_gone = bool(host_plan.withdrawn) and not host_plan.events
    until = host_plan.drained_by
    if not any(begins_soon(event, run.policy, now) for event in host_plan.events):
        until = min(until, host.timeline[0].at + _TRIED_FOR)
    pause = min(_PAUSE, (until - now) / 4)
    return None if is_gone or pause < 1 else host._replace(pause=pause).at(Step.LEASE)


def cut_short(host: HostRun) -> HostRun:
    """The host after it has left the play."""
    return host._replace(reading=host.reading._replace(failed=True)).at(Step.DONE)


def _after_ask(host: HostRun, report: OrderReport) -> HostRun:
    """A host that could not be asked has failed at no step, and does not stop the others."""
    known = report.reading or host.reading._replace(vm_name=None)
    result = host.result._replace(failures=(report.failure,) if report.failure else ())
    reading = known._replace(failed=host.reading.failed, held=host.reading.held)
    return host.at(Step.ASKED)._replace(reading=reading, result=result)


def _after_lease(host: HostRun, report: OrderReport) -> HostRun:
    host_plan = plan_of(host)
    if report.refused or report.failure:
        why = report.refused or report.failure
        return host._replace(left_to=why, reading=host.reading._replace(leased=why)).at(Step.DONE)
    # It counts as out until the opposite is known: the next batches rely on that.
    reading = host.reading._replace(is_out=True)
    return host._replace(reading=reading, is_leased=True).at(Step.DRAIN if host_plan.remove else Step.PREPARED)


def _after_drain(host: HostRun, report: OrderReport, policy: Policy, now: float) -> HostRun:
    """Connections take minutes to end. Services are not stopped for an event that is gone by then, but for one that
    begins soon even if its host could not leave rotation.
    """
    host_plan = plan_of(host)
    # A demand is often for a host whose service has failed. Nothing is approved for it.
    is_unconfirmed = host.reading.rests_on_probe and not report.is_confirmed and not host_plan.demand
    if is_unconfirmed and not report.failure:
        host = host.failing(_UNCONFIRMED)
    is_ready = not report.failure and not is_unconfirmed and not host_plan.withdrawn
    result = host.result._replace(remaining=report.remaining)
    stops = host_plan.stop and (not report.failure or any(begins_soon(one, policy, now) for one in host_plan.events))
    host_plan = host_plan._replace(stopped_by=max(host_plan.stopped_by, now + _LEAST_FOR_STOPPING))
    host = host._replace(host_plan=host_plan, is_ready=is_ready, result=result)
    return host.at(Step.STOP if stops else Step.PREPARED)


def _ready_unless_failed(host: HostRun, report: OrderReport) -> HostRun:
    return host._replace(is_ready=host.is_ready and not report.failure)


def _after_approve(host: HostRun, report: OrderReport) -> HostRun:
    approved = dict(report.approved)
    if report.failure:
        # The request may have arrived while its answer was lost.
        approved |= dict.fromkeys(set(host.event_ids).difference(report.not_approved))
    result = host.result._replace(approved=approved, not_approved=dict(report.not_approved))
    return host._replace(result=result).at(Step.APPROVED)


def _after_move(host: HostRun, report: OrderReport) -> HostRun:
    """If Azure was not asked, or refused, the machine runs as before."""
    if not report.failure:
        host = host._replace(progress=report.progress or {"outcome": "moved to another host"})
    return back_unless(host, report.may_still_move)


def back_unless(host: HostRun, may_still_move: bool) -> HostRun:
    """The host on its way back into rotation, if Azure does not move it any more."""
    # A host that was out before is restored by whoever took it out.
    return host.at(Step.RELEASE if may_still_move or host.reading.is_drained else Step.RESTORE)


def predicted(host: HostRun) -> HostRun:
    """The host at the end of a prediction."""
    return host._replace(reading=host.reading._replace(is_out=False), is_leased=False).at(Step.DONE)


def _after_watch(host: HostRun, report: OrderReport) -> HostRun:
    if report.refused:
        return host.failing(report.refused)._replace(left_to=report.refused, is_leased=False).at(Step.DONE)
    if report.failure:
        # Otherwise it would be ordered again and again.
        return host.at(Step.RELEASE if host.is_ours else Step.DONE)
    return followed(host._replace(progress=report.progress or host.progress))


def followed(host: HostRun) -> HostRun:
    """Go on with what has become of the events of a host."""
    progress = host.progress or {}
    if not progress["over"] and not progress["gave_up"]:
        return host.at(Step.WATCH)
    host = host._replace(reading=host.reading._replace(failed=host.reading.failed or bool(progress["gave_up"])))
    if progress["over"] and progress["restore"]:
        if host.is_ours:
            return host.at(Step.RESTORE)
        # An agent can only say so if it answers.
        return host.at(Step.SEE_BACK if "in_rotation" in (host.reading.agent or {}) else Step.DONE)
    return host.at(Step.RELEASE if host.is_ours and not host.is_silent else Step.DONE)


def _after_return(host: HostRun, report: OrderReport) -> HostRun:
    is_back = not report.failure and not report.refused
    reading = host.reading
    if is_back:
        reading = reading._replace(is_out=False, needs_restore=False, agent=None)
    result = host.result._replace(restored=is_back, stays_out=report.refused)
    # This run's claim and lease are given up, even if others want the host out.
    host = host._replace(reading=reading, result=result, is_leased=host.is_leased and bool(report.failure))
    return host.at(Step.RELEASE if host.is_leased else Step.DONE)


_AFTER: Mapping[Step, Callable[[HostRun, OrderReport], HostRun]] = {
    # Otherwise a wait that fails would be ordered again and again.
    Step.WAIT: lambda host, report: host.at(Step.DONE if report.failure else Step.ASK),
    Step.LEASE: _after_lease,
    Step.STOP: lambda host, report: _ready_unless_failed(host, report).at(Step.PREPARED),
    Step.MOVE: _after_move,
    Step.CANCEL: lambda host, _report: host.at(Step.PREPARED),
    Step.NOTE: lambda host, report: _ready_unless_failed(host, report).at(Step.NOTED),
    Step.APPROVE: _after_approve,
    Step.WATCH: _after_watch,
    Step.SEE_BACK: _after_return,
    Step.RESTORE: _after_return,
    Step.RELEASE: lambda host, _report: host._replace(is_leased=False).at(Step.DONE),
    Step.AFTER_BATCH: lambda host, _report: host.at(Step.DONE),
}


def plan_of(host: HostRun) -> HostPlan:
    """What is planned for a host that has orders."""
    if host.host_plan is None:
        raise LookupError("%s: nothing is planned for it" % host.reading.name)
    return host.host_plan
