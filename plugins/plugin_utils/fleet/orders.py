# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Orders for the playbooks to carry out, and the playbooks' reports.

Each order is carried out by the file of its name in playbooks/tasks/handle_events. Nothing that a host has answered may
end the run for the others: what cannot be read is a failure on that host.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ...module_utils.claims import Shared
from ...module_utils.scheduled_events.document import event_as_dict
from ...module_utils.scheduled_events.event import Event
from ...module_utils.scheduled_events.text import plain
from ..trust import describe_forgery, forged
from .balancers import Balancers, of_host
from .claims import describe_others, lease_view, of_this_vm, view_as_dict
from .demand import NO_LIMIT, Demand, DemandKind
from .host import Host
from .policy import start_of
from .reading import UNREADABLE, note_host, note_unreadable, read_host, read_reading
from .run import Order, OrderReport, Run, Step

_FILES = {Step.WAIT: Step.WATCH.value}
"""The file of an order that does not have the order's name: hosts that wait and hosts that watch run the same task."""

# The name of an order's task if the host was lost before it.
_NAMES = {
    Step.LEASE: "Lease the host",
    Step.NOTE: "Record what is about to be approved",
    Step.APPROVE: "Approve",
    Step.SEE_BACK: "Wait until the agent has restored the host",
    Step.RESTORE: "Restore the host",
    Step.RELEASE: "End the lease",
    Step.CANCEL: "Cancel the updates",
}

Raw = Mapping[str, Any]

_FILES_OF_DEMAND = {
    DemandKind.MOVE: {Step.ASK: "../redeploy_early/ask.yml", Step.MOVE: "../redeploy_early/move.yml"},
    DemandKind.UPGRADE: {
        Step.ASK: "../handle_os_upgrades/ask.yml",
        Step.MOVE: "../handle_os_upgrades/upgrade.yml",
        Step.RESTORE: "../handle_os_upgrades/restore.yml",
    },
    DemandKind.UPDATE: {Step.CANCEL: "../prepare_for_updates/cancel.yml"},
}
"""What is carried out otherwise where something is demanded of the hosts."""


def file_of(step: Step, demand: DemandKind | None) -> str:
    """The file of tasks that carries out an order, below playbooks/tasks/handle_events."""
    of_demand = _FILES_OF_DEMAND[demand] if demand else {}
    return of_demand.get(step, "orders/%s.yml" % _FILES.get(step, step.value))


def round_as_dicts(
    orders: Sequence[Order], names: Iterable[str], demand: DemandKind | None, now: float, *, shows: bool
) -> dict[str, list[dict[str, Any]]]:
    """Write what each host of a batch does in a round, one after the other: each a `file` of tasks, with its order.

    Equally many for each host, because Ansible takes the hosts through them together.

    :param names: all hosts of the batch
    :param now: seconds since the epoch
    :param shows: whether there are lines to be shown before
    """
    given = {
        order.host: [
            {**order_as_dict(one, now), "file": file_of(one.do, demand), "link": link}
            for link, one in enumerate((order, *order.then))
        ]
        for order in orders
    }
    length = max(map(len, given.values()), default=1)
    filler: dict[str, Any] = {"file": "nothing.yml" if orders else "over.yml"}
    pauses = any(order.pause for order in orders)
    whole = {}
    for name in names:
        own = given.get(name, [])
        first = own[0] if own else {}
        before = [{**first, "file": "show.yml"}] if shows else []
        if pauses:
            before.append({**first, "file": "pause.yml" if first.get("pause") else "nothing.yml"})
        whole[name] = [*before, *own, *[filler] * (length - len(own))]
    return whole


def order_as_dict(order: Order, now: float) -> dict[str, Any]:
    """Write an order, with times in seconds since the epoch.

    :param now: seconds since the epoch
    """
    host_plan = order.host_plan
    events = host_plan.events if host_plan else ()
    starts = [start for event in events if event.is_scheduled for start in [start_of(event)] if start is not None]
    return {
        "do": _FILES.get(order.do, order.do.value),
        "number": order.number,
        "is_ours": order.is_ours,
        "was_silent": order.was_silent,
        "vm_name": host_plan.vm_name if host_plan else None,
        "reason": host_plan.reason if host_plan else "",
        "removes": bool(host_plan and host_plan.remove),
        "drained_by": host_plan.drained_by if host_plan else now,
        "stops": bool(host_plan and host_plan.stop),
        "stopped_by": host_plan.stopped_by if host_plan else now,
        "is_final": bool(host_plan and host_plan.final),
        "starts_at": max([now, *starts]),
        "approving": list(dict.fromkeys([*(host_plan.approving if host_plan else ()), *order.event_ids])),
        "seen": [event.event_id for event in events],
        "event_ids": list(order.event_ids),
        "as_seen": [_event_as_dict(event, event.leader or "", now) for event in order.as_seen],
        "known": [_event_as_dict(event, "", now) for event in order.known] if order.do is Step.WAIT else None,
        "until": order.until,
        "progress": order.progress if order.do is Step.WATCH else None,
        "tried": dict(order.tried),
        "take_over": order.take_over,
        "leaves_out": order.leaves_out,
        "has_own_tasks": order.has_own_tasks,
        "pause": math.ceil(order.pause),
    }


def read_reports(run: Run, raw: Mapping[str, Raw], balancers: Balancers, this_run: Raw) -> list[OrderReport]:
    """Read the outcome of the latest orders.

    :param raw: by host, what its tasks have registered, see `report_of`
    :param this_run: what tells the run from others, see `describe_run`
    """
    given = {name: (host.step, *host.then) for name, host in run.hosts.items() if host.is_given}
    return [
        _read_report(name, step, one, run, balancers, this_run)._replace(link=link)
        for name, steps in given.items()
        for link, (step, one) in enumerate(zip(steps, _by_link(raw.get(name) or {}, len(steps)), strict=False))
    ]


def _by_link(raw: Raw, count: int) -> list[Raw]:
    """What is said of each order of a host that was carried out."""
    failure = raw.get("failure") or {}
    whole = {key: one for key, one in raw.items() if key != "failure"}
    if failure:
        failed = min(int(failure.get("link") or 0), count - 1)
        return [*[{**whole, "answer": {}}] * failed, {**whole, **failure, "failed": True}]
    return [*[{**whole, "answer": {}}] * (count - 1), whole]


def _read_report(name: str, step: Step, raw: Raw, run: Run, balancers: Balancers, this_run: Raw) -> OrderReport:
    if raw.get("number") != run.number:
        return OrderReport(name, step, is_cut_short=True)
    try:
        answer = raw.get("answer") or {}
        if step is Step.ASK:
            return _read_asked(name, answer, balancers, run.demand, this_run)
        report = OrderReport(name, step, failure=_failure(step, raw, answer))
        return _READ[step](report, raw, answer) if step in _READ else report
    except UNREADABLE as error:
        return OrderReport(name, step, failure="its answer cannot be read: %r" % error)


def _failure(step: Step, raw: Raw, answer: Raw) -> str:
    """What went wrong, in words; empty if nothing did."""
    # Of a loop that has failed, Ansible says no more than that.
    failed = [str(one["msg"]) for one in answer.get("results") or () if one.get("failed") and one.get("msg")]
    message = "; ".join(failed) or str(answer.get("msg") or "failed")
    if answer.get("unreachable"):
        message = "The host could not be reached: %s" % (answer.get("msg") or "no answer")
    elif not raw.get("failed"):
        return ""
    task = str(raw.get("task") or _NAMES.get(step, step.value))
    # These messages are complete by themselves.
    return message if task.startswith("Fail if ") else "%s: %s" % (task, message)


def view_asked(asked: Raw, run: Raw) -> dict[str, Any]:
    """How a run stands to a host that was asked, see `LeaseView`; empty if that is not known.

    :param asked: what it has answered, from `answer_of`
    :param run: this run, see `describe_run`
    :raises Shared: if what is written down on it is about another VM
    """
    found, lease = asked.get("found") or {}, asked.get("lease") or {}
    if found.get("claims") is None:
        return {}
    found = of_this_vm(found, lease.get("vm") or {})
    view = lease_view(found, str(lease["owner"]), run, bool(lease["breaks"]))
    return view_as_dict(view)


def note_asked(name: str, asked: Raw, run: Raw) -> dict[str, Any]:
    """Note what is known of a host that was asked, see `note_host`; `failure` says why nothing is known.

    :param asked: what it has answered, from `answer_of`
    :param run: this run, see `describe_run`
    """
    forgery = describe_forgery(forged(asked.get("facts") or ()))
    # A host that sets the operator's variables itself decides nothing.
    answer = {"msg": forgery} if forgery else asked.get("answer") or {}
    policy = {} if forgery else asked.get("policy") or {}
    variables = {} if forgery else asked.get("variables") or {}
    try:
        try:
            view = view_asked(asked, run)
        except Shared as error:
            view, answer = {}, {"msg": str(error)}
        reading = note_host(
            name,
            answer=answer,
            lease_view=view,
            traces=tuple(asked.get("traces") or ()),
            is_marked=bool(asked.get("is_marked")),
            agent=asked.get("agent") or {},
            policy=policy,
            variables=variables,
            found=asked.get("found") or {},
        )
    except UNREADABLE as error:
        reading = note_unreadable(name, error, policy, variables)
    why = reading["refused"]
    if not why and answer.get("events") is None:
        why = str(answer.get("msg") or "no answer")
    demand = {} if forgery else asked.get("demand") or {}
    return dict(reading, failure="Read the events: %s" % why if why else "", demand=demand)


def known_host(reading: Raw, balancers: Balancers, kind: DemandKind | None) -> Host:
    """What is known of a host, what its balancers say, and what is demanded for it.

    :param kind: what the run demands; None if it is about events
    """
    host = read_host(of_host(reading, balancers))
    return host if kind is None else _for_demand(host, kind, reading["demand"])


def _read_asked(name: str, asked: Raw, balancers: Balancers, kind: DemandKind | None, this_run: Raw) -> OrderReport:
    reading = note_asked(name, asked, this_run)
    return OrderReport(name, Step.ASK, failure=reading["failure"], reading=known_host(reading, balancers, kind))


def _for_demand(host: Host, kind: DemandKind, asked: Raw) -> Host:
    """A host of a run with a demand: its events and its agent are ignored.

    Whoever else has taken a host out restores it. An earlier run for moves does not know whether Azure has moved the
    host that it has left, and leaves that to the operator. An earlier run for upgrades has left its hosts to this one,
    even when a host has lost its claims with its disk. An earlier run for updates has left those that are updated now,
    and perhaps those of another run of updates.
    """
    is_due = bool(asked.get("is_due"))
    agent_is_out = not (host.agent or {}).get("in_rotation", True)
    is_resumed = kind is DemandKind.UPGRADE or (kind is DemandKind.UPDATE and is_due)
    return host._replace(
        events=(),
        demand=_read_demand(host, kind, asked) if is_due else None,
        not_demanded=str(asked.get("reason") or ""),
        is_drained=host.is_drained or agent_is_out or (host.needs_restore and not is_resumed),
        needs_restore=is_resumed and (host.needs_restore or bool(asked.get("is_upgraded"))),
        keep_out_reason="",
        approving=(),
        agent=None,
    )


def _read_demand(host: Host, kind: DemandKind, asked: Raw) -> Demand:
    ready_by = asked.get("ready_by")
    return Demand(
        kind,
        batch=str(asked.get("batch") or host.name),
        ready_by=NO_LIMIT if ready_by is None else float(ready_by),
        all_of=tuple(map(str, asked.get("all_of") or ())),
    )


def _read_stop(report: OrderReport, raw: Raw, _answer: Raw) -> OrderReport:
    return report._replace(warnings=() if report.failure else tuple(map(str, raw.get("stop_warnings") or ())))


def _read_lease(report: OrderReport, _raw: Raw, answer: Raw) -> OrderReport:
    if report.failure and answer.get("leased"):
        return report._replace(failure="", refused=str(answer.get("msg")))
    return report


def _read_drain(report: OrderReport, raw: Raw, _answer: Raw) -> OrderReport:
    return report._replace(
        failure=report.failure if raw.get("failed") else "",
        # A metadata service that is silent has withdrawn nothing.
        listed=read_reading(raw.get("listed") or {}),
        remaining=tuple(map(str, raw.get("remaining") or ())),
        is_confirmed=raw.get("confirmed") is not False,
        warnings=tuple(map(str, raw.get("warnings") or ())),
    )


def _read_approve(report: OrderReport, _raw: Raw, answer: Raw) -> OrderReport:
    return report._replace(
        approved={str(one["event_id"]): one.get("seconds_until_start") for one in answer.get("approved") or ()},
        not_approved={str(one["event_id"]): str(one["reason"]) for one in answer.get("not_approved") or ()},
    )


def _read_watch(report: OrderReport, _raw: Raw, answer: Raw) -> OrderReport:
    progress = answer.get("progress")
    return report._replace(progress=progress or None, refused=str((progress or {}).get("lost") or ""))


def _read_return(report: OrderReport, raw: Raw, _answer: Raw) -> OrderReport:
    by_others = describe_others(raw.get("claims") or {}, str(raw.get("owner")))
    if report.failure or by_others:
        # Of one that was left as it is, no balancer was asked.
        return report._replace(refused="" if report.failure else by_others)
    kept_out = "; ".join(map(str, raw.get("kept_out") or ()))
    return report._replace(
        refused="in HAProxy: %s" % plain(kept_out) if kept_out else "",
        warnings=tuple("not in rotation at %s" % plain(str(one)) for one in raw.get("partly_out") or ()),
    )


def _read_release(report: OrderReport, _raw: Raw, _answer: Raw) -> OrderReport:
    """A lease that cannot be ended ends by itself."""
    return report._replace(failure="")


def _read_move(report: OrderReport, _raw: Raw, answer: Raw) -> OrderReport:
    failure = report.failure or str(answer.get("failure") or "")
    outcome = str(answer.get("outcome") or "")
    return report._replace(
        failure=failure,
        progress={"outcome": outcome} if outcome else None,
        may_still_move=bool(answer.get("may_still_move")),
    )


def _read_cancel(report: OrderReport, _raw: Raw, answer: Raw) -> OrderReport:
    if report.failure or "status" in answer:
        return report
    return report._replace(failure="%s: %s" % (_NAMES[Step.CANCEL], answer.get("msg") or "failed"))


_READ = {
    Step.LEASE: _read_lease,
    Step.DRAIN: _read_drain,
    Step.STOP: _read_stop,
    Step.APPROVE: _read_approve,
    Step.WATCH: _read_watch,
    Step.RESTORE: _read_return,
    Step.RELEASE: _read_release,
    Step.MOVE: _read_move,
    Step.CANCEL: _read_cancel,
}


def _event_as_dict(event: Event, vm_name: str, now: float) -> dict[str, Any]:
    return event_as_dict(event, vm_name, datetime.fromtimestamp(now, timezone.utc))


def balancers_to_ask(readings: Sequence[Raw]) -> dict[str, Any]:
    """Say which balancers to ask which hosts do the same work.

    :returns: `haproxys`, each by its `name` in the inventory and its `socket`, and the directories
        where it may have `records` of hosts; and `vm_ids`, which to look up in Azure from `host`: only if a host is hit
        or demanded, because Azure counts requests
    """
    haproxys: dict[str, dict[str, Any]] = {}
    for haproxy in (reading["haproxy"] for reading in readings if reading["haproxy"]):
        for one in haproxy["balancers"]:
            known = haproxys.setdefault(one["name"], {**one, "records": []})
            if haproxy["records"] not in known["records"]:
                known["records"].append(haproxy["records"])
    is_hit = any(reading["events"] or (reading.get("demand") or {}).get("is_due") for reading in readings)
    azure = [reading["azure"] for reading in readings if reading["azure"]] if is_hit else []
    return {
        "haproxys": list(haproxys.values()),
        "vm_ids": [one["vm_id"] for one in azure],
        "host": azure[0]["host"] if azure else "localhost",
    }
