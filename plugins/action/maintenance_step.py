# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action maintenance_step. It is documented in the module of its name."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import DocumentError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.balancers import read_balancers
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.news import changes, summary
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.orders import (
    balancers_to_ask,
    known_host,
    note_asked,
    order_as_dict,
    read_reports,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import Plan, PlanError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.reading import check_alike
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.report import describe_plan
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.run import (
    Run,
    advance,
    begin,
    begin_turn,
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
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.treatment import PolicyError, read_policy

ARGUMENTS = {
    "state": {"type": "str", "required": True, "choices": ["asked", "planned", "advanced", "ended"]},
    "run": {"type": "dict", "required": True},
    "policy": {"type": "dict", "default": {}},
    "reports": {"type": "dict", "default": {}},
    "haproxys": {"type": "list", "elements": "dict", "default": []},
    "azure": {"type": "dict"},
    "beyond": {"type": "dict", "default": {}},
    "moves": {"type": "bool", "default": False},
}

# So many rounds stand side by side at most: each that is left over when all is done is told as skipped.
_MOST_ROUNDS = 32


class ActionModule(ActionBase):
    """Takes one step of a run, on the controller, for all hosts at once."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Take in what hosts have reported, and return what is next."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validated, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        # Of the types of ansible-core, nothing is wanted but what they say.
        arguments = json.loads(json.dumps(arguments, default=str))
        step = getattr(self, "_%s" % arguments["state"])
        try:
            # A directory that goes with this ansible-playbook; and an id that tells runs in it apart.
            path = os.path.join(constants.DEFAULT_LOCAL_TMP, "foghorn_run_%s" % uuid.UUID(arguments["run"]["id"]))
            return {**result, **step(path, arguments, time.time())}
        except (DocumentError, OSError, PlanError, PolicyError, RunFileError) as error:
            raise AnsibleActionFail("maintenance_step: %s" % plain(str(error))) from error

    def _asked(self, path: str, arguments: Mapping[str, Any], _now: float) -> dict[str, Any]:
        """Note what hosts have answered, and say which balancers to ask about them."""
        readings = [note_asked(name, asked or {}) for name, asked in arguments["reports"].items()]
        write(path, readings)
        return balancers_to_ask(readings)

    def _planned(self, path: str, arguments: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Begin the run, and say what is planned."""
        readings = read(path)
        check_alike(readings)
        balancers = read_balancers(readings, arguments["haproxys"], arguments["azure"], arguments["beyond"])
        run = begin(
            [known_host(reading, balancers, arguments["moves"], now) for reading in readings],
            read_policy(arguments["policy"]),
            now,
            has_more=any(reading["has_more"] for reading in readings),
            predicts=bool(self._task.check_mode),
            moves=arguments["moves"],
            remarks=balancers.remarks,
        )
        write_run(path, Kept(run, balancers))
        return {
            "lines": _as_plain(describe_plan(run.plan, now)),
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
        news = read_reports(before, reports, kept.balancers, now) if before.turn == kept.run.turn else []
        run, orders = advance(before, news, now)
        write_run(path, kept._replace(run=run))
        here = [run.hosts[name].reading for name in run.plan.turns[run.turn]]
        return {
            "orders": {order.host: order_as_dict(order, now) for order in orders},
            "lines": _as_plain(_decided(before.batch, run.batch, now)),
            "news": _as_plain(changes(before, run, now)),
            "status": plain(summary(run)),
            "is_over": not orders,
            "rounds": min(run.given, _MOST_ROUNDS),
            "longest_step": max((host.step_seconds for host in here), default=0.0),
        }

    def _ended(self, path: str, arguments: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Say what became of all."""
        run = read_run(path, read_policy(arguments["policy"])).run
        return {
            "orders": {order.host: order_as_dict(order, now) for order in still_leased(run)},
            "report": _as_plain(run.report()._asdict()),
        }


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
