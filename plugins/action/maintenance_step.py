# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action maintenance_step. It is documented in the module of its name."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import jinja2.meta
from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import DocumentError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.balancers import of_host, read_balancers
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.claims import describe_run
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.contacts import (
    VARIABLES,
    choose_contacts,
    describe_others,
    is_back,
    note_resting,
    others_to_ask,
    share_a_group,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.left_out import forget, names_in, note
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.news import changes, summary
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.orders import (
    balancers_to_ask,
    known_host,
    note_asked,
    order_as_dict,
    read_reports,
    view_asked,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.os_upgrades import (
    UpgradeOptions,
    decide,
    note_member,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import Plan, PlanError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import PolicyError, read_policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.reading import (
    UNREADABLE,
    check_alike,
    read_host,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.report import describe_plan
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.run import (
    Run,
    Step,
    advance,
    begin,
    begin_turn,
    hand_over,
    may_be_handed_over,
    still_leased,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.run_file import (
    Kept,
    RunFileError,
    read,
    read_run,
    write,
    write_run,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.status import describe_status
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.variables import mistakes
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.later_jobs import LaterJobs, later_jobs_of
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.tags import mistakes_in_tags
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.trust import describe_forgery, forged

_WITHOUT_RUN = ("checked", "begun", "status")
_OF_A_RUN = ("listed", "chosen", "asked", "planned", "advanced", "ended", "upgrades")
ARGUMENTS = {
    "state": {
        "type": "str",
        "required": True,
        "choices": [*_WITHOUT_RUN, *_OF_A_RUN],
    },
    "run": {"type": "dict"},
    "policy": {"type": "dict", "default": {}},
    "reports": {"type": "dict", "default": {}},
    "haproxys": {"type": "list", "elements": "dict", "default": []},
    "azure": {"type": "dict"},
    "beyond": {"type": "dict", "default": {}},
    "moves": {"type": "bool", "default": False},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "announced": {"type": "dict", "default": {}},
    "directory": {"type": "str", "default": ""},
    "is_kept": {"type": "bool", "default": True},
    "arguments": {"type": "dict", "default": {}},
    "prefixes": {"type": "list", "elements": "str", "default": []},
    "roles": {"type": "list", "elements": "str", "default": []},
    "alike": {"type": "list", "elements": "str", "default": []},
    "playbook": {"type": "str", "default": ""},
    "job": {"type": "dict", "default": {}},
    "found": {"type": "dict", "default": {}},
    "lease": {"type": "dict", "default": {}},
    "scale_sets": {"type": "list", "elements": "dict", "default": []},
    "answers": {"type": "list", "elements": "dict", "default": []},
    "members": {"type": "dict", "default": {}},
    "options": {"type": "dict", "default": {}},
    "inventory": {"type": "list", "elements": "str", "default": []},
}

# What is known of the hosts that are not asked is in a file beside that of the run.
_FLEET = "_fleet"
# So many rounds stand side by side at most: each that is left over when all is done is told as skipped.
_MOST_ROUNDS = 32


_HANDED_OVER = "job %d of this template, which waits in the queue, goes on with it"
_ENDS = (
    "Job %d of this template waits in the queue, and nothing is left for this job but to wait as well: it ends now, and"
    " job %d goes on"
)


class ActionModule(ActionBase):
    """Takes one step of a run, on the controller, for all hosts at once."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Take in what hosts have reported, and return what is next."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validated, arguments = self.validate_argument_spec(
            argument_spec=ARGUMENTS,
            required_if=[("state", state, ("run",)) for state in _OF_A_RUN],
        )
        if arguments["state"] == "checked":
            return {**result, **_checked(arguments, (task_vars or {})["hostvars"])}
        # Of the types of ansible-core, nothing is wanted but what they say.
        arguments = json.loads(json.dumps(arguments, default=str))
        step = getattr(self, "_%s" % arguments["state"])
        if arguments["state"] == "listed":
            arguments["variables"] = self._variables_of(arguments["hosts"], (task_vars or {})["hostvars"])
        try:
            # A directory that goes with this ansible-playbook; and an id that tells runs in it apart.
            name = "foghorn_run_%s" % uuid.UUID(arguments["run"]["id"]) if arguments["run"] else ""
            return {**result, **step(os.path.join(constants.DEFAULT_LOCAL_TMP, name), arguments, time.time())}
        except (DocumentError, OSError, PlanError, PolicyError, RunFileError) as error:
            raise AnsibleActionFail("maintenance_step: %s" % plain(str(error))) from error

    def _variables_of(self, names: Sequence[str], hostvars: Any) -> dict[str, dict[str, Any]]:
        """Read the variables of hosts, of which there may be ten thousand, and nothing but what is wanted of each."""
        constant: dict[str, Any] = {}
        found = {}
        for name in names:
            raw = hostvars.raw_get(name)
            refused = describe_forgery(forged(raw.get("ansible_facts") or ()))
            values = {}
            for key in () if refused else VARIABLES:
                value = raw.get(key)
                if value is None:
                    continue
                text = json.dumps(value, default=str)
                if "{{" not in text and "{%" not in text:
                    values[key] = value
                elif _of_groups_alone(text):
                    # The same for all hosts.
                    if text not in constant:
                        constant[text] = hostvars[name][key]
                    values[key] = constant[text]
                else:
                    values[key] = hostvars[name][key]
            found[name] = {"refused": refused, "variables": json.loads(json.dumps(values, default=str))}
        return found

    def _begun(self, _path: str, arguments: Mapping[str, Any], _now: float) -> dict[str, Any]:
        """Tell this run from all others, and say how it stands to a host that is given."""
        run = describe_run(arguments["playbook"], arguments["job"])
        try:
            return {"run": run, "lease_view": view_asked(arguments, run)}
        except UNREADABLE as error:
            why = "maintenance_step: what the host has answered cannot be read: %s" % plain(str(error))
            raise AnsibleActionFail(why) from error

    def _upgrades(self, _path: str, arguments: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Say what is to be done about what Azure asks before it upgrades an image."""
        found = [
            {
                "resource_group": one["resource_group"],
                "name": one["name"],
                "events": answer.get("events") or [],
                "failure": "" if "events" in answer else plain(str(answer.get("msg") or "no answer")),
            }
            for one, answer in zip(arguments["scale_sets"], arguments["answers"], strict=False)
        ]
        members = {
            name: note_member(member, arguments["run"]) for name, member in arguments["members"].items() if member
        }
        return decide(found, members, UpgradeOptions(**arguments["options"]), now)

    def _status(self, _path: str, arguments: Mapping[str, Any], _now: float) -> dict[str, Any]:
        """Say of each host whether it is out of rotation, why, and what to do next."""
        lines = [
            line
            for name, host in arguments["reports"].items()
            for line in describe_status(
                name,
                host["found"],
                host.get("agent"),
                host.get("traces") or (),
                host.get("answer"),
                tuple(arguments["inventory"]),
            )
        ]
        return {"lines": _as_plain(lines)}

    def _listed(self, path: str, arguments: Mapping[str, Any], _now: float) -> dict[str, Any]:
        """Note all hosts by what the inventory says of them, and say whom to ask about them."""
        hosts = [note_resting(name, one["variables"], one["refused"]) for name, one in arguments["variables"].items()]
        write(path + _FLEET, hosts)
        azure = next((host["azure"]["host"] for host in hosts if host["azure"]), "localhost")
        return {
            "vm_ids": list(dict.fromkeys(host["resource_id"] for host in hosts if host["resource_id"])),
            "haproxys": balancers_to_ask(hosts)["haproxys"],
            "host": azure,
        }

    def _chosen(self, path: str, arguments: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Choose which hosts to ask themselves."""
        directory = os.path.expanduser(arguments["directory"])
        contacts = choose_contacts(
            read(path + _FLEET),
            arguments["haproxys"],
            arguments["announced"],
            names_in(directory),
            keeps_list=arguments["is_kept"],
        )
        fleet = {
            "resting": contacts.resting,
            "answers": arguments["haproxys"],
            "directory": directory,
            "lines": contacts.lines,
            "asked_at": now,
        }
        write(path + _FLEET, fleet)
        # With nobody to ask there is a plan all the same.
        planned = {} if contacts.names else self._planned(path, arguments, now)
        return {"contacts": contacts.names, "planned": planned, "lines": _as_plain(contacts.lines)}

    def _asked(self, path: str, arguments: Mapping[str, Any], _now: float) -> dict[str, Any]:
        """Note what hosts have answered, and say which balancers to ask about them, and which other hosts."""
        readings = [note_asked(name, asked or {}, arguments["run"]) for name, asked in arguments["reports"].items()]
        fleet = _read_fleet(path)
        others: list[str] = []
        if fleet:
            readings = [*(read(path) if os.path.exists(path) else ()), *readings]
            names = {reading["name"] for reading in readings}
            fleet["resting"] = [host for host in fleet["resting"] if host["name"] not in names]
            others = others_to_ask(fleet["resting"], readings, fleet["answers"])
            fleet["lines"] += describe_others(others)
            write(path + _FLEET, fleet)
        write(path, readings)
        to_ask = balancers_to_ask(readings)
        answered = {answer["__balancer"]["name"] for answer in fleet["answers"]} if fleet else ()
        return {
            **to_ask,
            "haproxys": [one for one in to_ask["haproxys"] if one["name"] not in answered],
            "others": others,
        }

    def _planned(self, path: str, arguments: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Begin the run, and say what is planned."""
        readings = read(path) if os.path.exists(path) else []
        check_alike(readings)
        fleet = _read_fleet(path)
        resting = fleet["resting"] if fleet else []
        answers = [*(fleet["answers"] if fleet else ()), *arguments["haproxys"]]
        balancers = read_balancers([*readings, *resting], answers, arguments["azure"], arguments["beyond"])
        hosts = [known_host(reading, balancers, arguments["moves"], now) for reading in readings]
        out_directory = ""
        if fleet:
            asked = [of_host(reading, balancers) for reading in readings]
            counted = share_a_group([of_host(host, balancers) for host in resting], asked)
            hosts += [read_host(host) for host in counted]
        if fleet and not self._task.check_mode:
            out_directory = fleet["directory"]
            forget(out_directory, [host["name"] for host in readings if is_back(host)])
        run = begin(
            hosts,
            read_policy(arguments["policy"]),
            now,
            has_more=any(reading["has_more"] for reading in readings),
            predicts=bool(self._task.check_mode),
            moves=arguments["moves"],
            remarks=balancers.remarks,
        )
        write_run(path, Kept(run, balancers, out_directory))
        return {
            "lines": _as_plain([*(_describe_news(fleet, now) if fleet else ()), *describe_plan(run.plan, now)]),
            "status": plain(summary(run)),
            "turns": run.plan.turns,
            "involved": list(dict.fromkeys([*run.plan.involved, *run.results()])),
            "hosts": [reading["name"] for reading in readings],
            "plan": {
                "batches": run.plan.batches,
                "held": run.plan.held,
                "passed_over": run.plan.passed_over,
                "unanswered": run.plan.unanswered,
            },
        }

    def _advanced(self, path: str, arguments: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Go on with the turn of the hosts that report."""
        kept = read_run(path, read_policy(arguments["policy"]))
        reports = arguments["reports"]
        before = begin_turn(kept.run, _turn_of(kept.run, reports))
        # Orders of a turn that was cut short are not carried out any more.
        news = (
            read_reports(before, reports, kept.balancers, now, arguments["run"]) if before.turn == kept.run.turn else []
        )
        run, orders = advance(before, news, now)
        lines = _decided(before.batch, run.batch, now)
        later = later_jobs_of(arguments["run"])
        heeds = later is not None and later.is_known() and may_be_handed_over(run, now)
        number = self._next_job(later) if later and heeds else None
        if number is not None:
            run, orders, lines = hand_over(run, _HANDED_OVER % number), [], [*lines, _ENDS % (number, number)]
        write_run(path, kept._replace(run=run))
        if kept.out_directory:
            # Before the first thing is done to them, wherever this run may die.
            note(kept.out_directory, [order.host for order in orders if order.do is Step.LEASE])
            forget(kept.out_directory, [name for name, host in run.hosts.items() if host.result.restored])
        ordered = {order.host: order_as_dict(order, now) for order in orders}
        if ordered:
            next(iter(ordered.values()))["heeds_later_jobs"] = heeds
        return {
            "orders": ordered,
            "lines": _as_plain(lines),
            "news": _as_plain(changes(before, run, now)),
            "status": plain(summary(run)),
            "is_over": not orders,
            "rounds": min(run.given, _MOST_ROUNDS),
            "longest_step": run.longest_step,
        }

    def _next_job(self, later: LaterJobs) -> int | None:
        """Which job goes on with what is left; None if none is known of."""
        try:
            return later.next()
        except (OSError, ValueError) as error:
            why = "The controller does not say whether a later job waits, and this one goes on: %s" % error
            Display().warning(plain(why))
            return None

    def _ended(self, path: str, arguments: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Say what became of all."""
        run = read_run(path, read_policy(arguments["policy"])).run
        return {
            "orders": {order.host: order_as_dict(order, now) for order in still_leased(run)},
            "report": _as_plain(run.report()._asdict()),
        }


def _checked(arguments: Mapping[str, Any], hostvars: Any) -> dict[str, Any]:
    """Name what is wrong with the variables of hosts, and with the tags of the run."""
    found = mistakes(
        [hostvars[name] for name in arguments["hosts"]],
        arguments["arguments"],
        tuple(arguments["prefixes"]),
        tuple(arguments["roles"]),
        tuple(arguments["alike"]),
    )
    found += mistakes_in_tags()
    return {"failed": True, "msg": _as_plain(found)} if found else {}


def _read_fleet(path: str) -> dict[str, Any] | None:
    """What is known of the hosts that are not asked; None if all are."""
    if not os.path.exists(path + _FLEET):
        return None
    fleet: dict[str, Any] = read(path + _FLEET)
    return fleet


def _describe_news(fleet: Mapping[str, Any], now: float) -> list[str]:
    age = "Azure was asked %d s ago. What it lists may lag behind by minutes" % max(0.0, now - fleet["asked_at"])
    return [*fleet["lines"], age]


def _of_groups_alone(text: str) -> bool:
    """Whether templates have no variable but the groups of the inventory."""
    try:
        return jinja2.meta.find_undeclared_variables(jinja2.Environment().parse(json.loads(text))) <= {"groups"}
    except (AttributeError, TypeError, jinja2.TemplateError):
        return False


def _turn_of(run: Run, names: Mapping[str, Any]) -> int:
    """Which turn has these hosts."""
    return next(number for number, turn in enumerate(run.plan.turns) if not names.keys().isdisjoint(turn))


def _decided(before: Plan | None, batch: Plan | None, now: float) -> list[str]:
    """What to tell of a decision: which hosts of the batch stay in service, or wait, and why; nothing twice."""
    if batch is None or batch == before:
        return []
    waited = before.why_waiting if before else {}
    if not (batch.held or batch.shortfalls or batch.missed or batch.why_waiting != waited):
        return []
    return describe_plan(batch, now)


def _as_plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping):
        return {str(name): _as_plain(one) for name, one in value.items()}
    return [_as_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
