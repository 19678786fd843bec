# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The steps of a run for playbooks: each reads the run from its file, takes it one step further, and writes it back."""

import json
import os
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from ...module_utils.scheduled_events.text import as_plain, plain
from ..later_jobs import LaterJobs, later_jobs_of
from .advance import advance, begin, begin_turn, hand_over, may_be_handed_over, still_leased
from .answers import HostVariables, Variables, answer_of, report_of
from .balancers import of_host, read_balancers
from .chains import chain
from .contacts import VARIABLES, choose_contacts, describe_others, is_back, note_resting, others_to_ask, share_a_group
from .demand import DemandKind
from .left_out import forget, note, noted_in
from .news import changes, out, summary
from .orders import balancers_to_ask, known_host, note_asked, order_as_dict, read_reports, round_as_dicts
from .plan import Plan
from .policy import read_policy
from .reading import check_alike, check_selectable, read_host
from .report import describe_plan
from .run import Run, Step
from .run_file import Kept, read, read_run, write, write_run

T = TypeVar("T")

# What is known of hosts that are not asked is in a file beside the run's.
_FLEET = "_fleet"

_HANDED_OVER = "job %d of this template, which waits in the queue, continues it"
_ENDS = (
    "Job %d of this template waits in the queue, and this job would only wait as well: it ends now, "
    "and job %d continues"
)


class Call(NamedTuple):
    """What a playbook asks for."""

    path: str
    """The file of the run."""
    arguments: Mapping[str, Any]
    """The arguments of maintenance_step."""
    variables: Variables
    """What hosts have registered, and the operator's variables for them."""
    now: float
    """Seconds since the epoch."""
    is_dry: bool
    """Whether nothing may be changed."""
    warn: Callable[[str], None]


def in_json_types(value: Any) -> Any:
    """A value without the types of ansible-core, of which nothing is wanted but what they say."""
    return json.loads(json.dumps(value, default=str))


def said_by(names: Iterable[str], call: Call, read_host: Callable[[HostVariables], T]) -> dict[str, T]:
    """What is read of each host's variables, by its name."""
    said: dict[str, T] = in_json_types({name: read_host(call.variables.of(name)) for name in names})
    return said


def _known_beforehand(host: HostVariables) -> dict[str, Any]:
    values = {name: host.get(name) for name in VARIABLES}
    return {"refused": host.refused, "variables": {name: one for name, one in values.items() if one is not None}}


def list_fleet(call: Call) -> dict[str, Any]:
    """Note what the inventory says of all hosts, and say which balancers and VMs to ask about."""
    check_selectable(call.arguments["hosts"])
    known = said_by(call.arguments["hosts"], call, _known_beforehand)
    hosts = [note_resting(name, one["variables"], one["refused"]) for name, one in known.items()]
    write(call.path + _FLEET, hosts)
    azure = next((host["azure"]["host"] for host in hosts if host["azure"]), "localhost")
    return {
        "vm_ids": list(dict.fromkeys(host["resource_id"] for host in hosts if host["resource_id"])),
        "haproxys": balancers_to_ask(hosts)["haproxys"],
        "host": azure,
    }


def choose(call: Call) -> dict[str, Any]:
    """Choose which hosts to ask themselves."""
    directory = os.path.expanduser(call.arguments["directory"])
    hosts = read(call.path + _FLEET)
    contacts = choose_contacts(
        hosts,
        call.arguments["haproxys"],
        call.arguments["announced"],
        noted_in(directory),
        keeps_list=call.arguments["is_kept"],
    )
    fleet = {
        "resting": contacts.resting,
        "answers": call.arguments["haproxys"],
        "directory": directory,
        "vm_ids": _vm_ids(hosts, set(contacts.names)),
        "lines": contacts.lines,
        "asked_at": call.now,
    }
    write(call.path + _FLEET, fleet)
    # There is a plan even if there is nobody to ask.
    return {
        "contacts": contacts.names,
        "planned": {} if contacts.names else plan(call),
        "lines": as_plain(contacts.lines),
    }


def _vm_ids(hosts: Iterable[Mapping[str, Any]], names: Container[str]) -> dict[str, str]:
    """The ids of these hosts' VMs, as the inventory has them: no host may say which other host is back."""
    return {host["name"]: host["resource_id"] or "" for host in hosts if host["name"] in names}


def record(call: Call) -> dict[str, Any]:
    """Note the hosts' answers, and say which balancers and which other hosts to ask; if there are none, plan."""
    check_selectable(call.arguments["hosts"])
    asked = said_by(call.arguments["hosts"], call, answer_of)
    readings = [note_asked(name, answer, call.arguments["run"]) for name, answer in asked.items()]
    fleet = _read_fleet(call.path)
    others: list[str] = []
    if fleet:
        readings = [*(read(call.path) if os.path.exists(call.path) else ()), *readings]
        names = {reading["name"] for reading in readings}
        fleet["vm_ids"].update(_vm_ids(fleet["resting"], names))
        fleet["resting"] = [host for host in fleet["resting"] if host["name"] not in names]
        others = others_to_ask(fleet["resting"], readings, fleet["answers"])
        fleet["lines"] += describe_others(others)
        write(call.path + _FLEET, fleet)
    write(call.path, readings)
    to_ask = balancers_to_ask(readings)
    answered = {answer["__balancer"]["name"] for answer in fleet["answers"]} if fleet else ()
    haproxys = [one for one in to_ask["haproxys"] if one["name"] not in answered]
    is_all = not (haproxys or to_ask["vm_ids"] or others)
    return {**to_ask, "haproxys": haproxys, "others": others, **(plan(call) if is_all else {})}


def plan(call: Call) -> dict[str, Any]:
    """Begin the run, and say what is planned."""
    readings = read(call.path) if os.path.exists(call.path) else []
    check_alike(readings)
    fleet = _read_fleet(call.path)
    resting = fleet["resting"] if fleet else []
    balancers = read_balancers(
        [*readings, *resting],
        [*(fleet["answers"] if fleet else ()), *call.arguments["haproxys"]],
        call.arguments["azure"],
        call.arguments["beyond"],
    )
    demand = DemandKind(call.arguments["demand"]) if call.arguments["demand"] else None
    off = [host["name"] for host in [*readings, *resting] if host["is_off"]]
    hosts = [known_host(reading, balancers, demand) for reading in readings if not reading["is_off"]]
    out_directory, vm_ids = "", {}
    if fleet:
        asked = [of_host(reading, balancers) for reading in readings]
        counted = share_a_group([of_host(host, balancers) for host in resting if not host["is_off"]], asked)
        hosts += [read_host(host) for host in counted]
    if fleet and not call.is_dry:
        out_directory, vm_ids = fleet["directory"], fleet["vm_ids"]
        forget(out_directory, {host["name"]: vm_ids.get(host["name"], "") for host in readings if is_back(host)})
    run = begin(
        hosts,
        read_policy(call.arguments["policy"]),
        call.now,
        has_more=any(reading["has_more"] for reading in readings),
        predicts=call.is_dry,
        demand=demand,
        remarks=balancers.remarks,
        off=off,
    )
    write_run(call.path, Kept(run, balancers, out_directory, vm_ids))
    return {
        "lines": as_plain([*(_describe_news(fleet, call.now) if fleet else ()), *describe_plan(run.plan, call.now)]),
        "status": plain(summary(run)),
        "out": as_plain(out(run)),
        "turns": run.plan.turns,
        "involved": list(dict.fromkeys([*run.plan.involved, *run.results()])),
        "hosts": [reading["name"] for reading in readings],
        "plan": {"held": run.plan.held},
    }


def go_on(call: Call) -> dict[str, Any]:
    """Go on with the turn of the hosts that report."""
    kept = read_run(call.path, read_policy(call.arguments["policy"]))
    reports = said_by(call.arguments["hosts"], call, report_of)
    before = begin_turn(kept.run, _turn_of(kept.run, reports))
    # The orders of a turn that was cut short are not carried out any more.
    news = read_reports(before, reports, kept.balancers, call.arguments["run"]) if before.turn == kept.run.turn else []
    run, orders = advance(before, news, call.now)
    lines = _decided(before.batch, run.batch, call.now)
    later = later_jobs_of(call.arguments["run"])
    heeds = later is not None and later.is_known() and may_be_handed_over(run, call.now)
    number = _next_job(later, call.warn) if later and heeds else None
    if number is not None:
        run, orders, lines = hand_over(run, _HANDED_OVER % number), [], [*lines, _ENDS % (number, number)]
    run, orders, longest_step = chain(run, orders, call.now)
    write_run(call.path, kept._replace(run=run))
    if kept.out_directory:
        # Before anything is done to them: the run may die at any point.
        leased = [order.host for order in orders if order.do is Step.LEASE]
        restored = [name for name, host in run.hosts.items() if host.result.restored]
        note(kept.out_directory, {name: kept.vm_ids.get(name, "") for name in leased})
        forget(kept.out_directory, {name: kept.vm_ids.get(name, "") for name in restored})
    ordered = round_as_dicts(orders, reports, run.demand, call.now, shows=bool(lines))
    return {
        "orders": ordered,
        "heeds_later_jobs": orders[0].host if orders and heeds else "",
        "lines": as_plain(lines),
        "news": as_plain(changes(before, run, call.now)),
        "status": plain(summary(run)),
        "out": as_plain(out(run)),
        "by_probe_alone": all(run.hosts[name].reading.by_probe_alone for name in run.plan.turns[run.turn]),
        "longest_step": longest_step,
    }


def report(call: Call) -> dict[str, Any]:
    """Say what became of all hosts."""
    run = read_run(call.path, read_policy(call.arguments["policy"])).run
    return {
        "orders": {order.host: [order_as_dict(order, call.now)] for order in still_leased(run)},
        "report": as_plain(run.report()._asdict()),
        "is_cancelled": run.is_cancelled,
    }


def _next_job(later: LaterJobs, warn: Callable[[str], None]) -> int | None:
    """Which job goes on with the rest; None if no such job is known."""
    try:
        return later.next()
    except (OSError, ValueError) as error:
        why = "The controller does not say whether a later job waits, and this one continues: %s" % error
        warn(why)
        return None


def _read_fleet(path: str) -> dict[str, Any] | None:
    """What is known of the hosts that are not asked; None if all hosts are asked."""
    if not os.path.exists(path + _FLEET):
        return None
    fleet: dict[str, Any] = read(path + _FLEET)
    return fleet


def _describe_news(fleet: Mapping[str, Any], now: float) -> list[str]:
    age = "Azure was asked %d s ago. What it lists may lag behind by minutes" % max(0.0, now - fleet["asked_at"])
    return [*fleet["lines"], age]


def _turn_of(run: Run, names: Mapping[str, Any]) -> int:
    """Which turn has these hosts."""
    return next(number for number, turn in enumerate(run.plan.turns) if not names.keys().isdisjoint(turn))


def _decided(before: Plan | None, batch: Plan | None, now: float) -> list[str]:
    """What to print about a decision: which hosts of the batch stay in service or wait, and why; nothing twice."""
    if batch is None or batch == before:
        return []
    waited = before.why_waiting if before else {}
    if not (batch.held or batch.shortfalls or batch.missed or batch.why_waiting != waited):
        return []
    return describe_plan(batch, now)


STEPS: Mapping[str, Callable[[Call], dict[str, Any]]] = {
    "list": list_fleet,
    "choose": choose,
    "record": record,
    "plan": plan,
    "advance": go_on,
    "report": report,
}
