# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filters that decide for a fleet. Each is documented in the YAML file of its name."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import DocumentError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.balancers import (
    Balancers,
    of_host,
    read_balancers,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.claims import (
    BY_EVENT,
    describe_run,
    standing,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.completeness import check_complete
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.doors import (
    check_alike,
    entry_as_dict,
    plan_as_dict,
    read_entry,
    read_host,
    read_plan,
    read_reading,
    read_result,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import (
    PlanError,
    approvals,
    attempts,
    make_plan,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.progress import begin_watch
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.reading import note_host
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.report import describe_plan, describe_results
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.second_look import look_again
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.status import describe_status
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.treatment import (
    PREFIX,
    PolicyError,
    read_policy,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.variables import ROLES, mistakes
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.tags import mistakes_in_tags
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted


def maintenance_plan(
    hosts: list[Mapping[str, Any]],
    policy: Mapping[str, Any] | None = None,
    rest: list[Mapping[str, Any]] | None = None,
    patient: Mapping[str, float] | None = None,
    now: float | None = None,
    asked: list[Mapping[str, Any]] | None = None,
    azure: Mapping[str, Any] | None = None,
    planned: Mapping[str, Any] | None = None,
    beyond: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Decide which hosts go when."""
    instant = time.time() if now is None else now
    # Each balancer is asked once a run.
    balancers = Balancers(**planned["balancers"]) if planned else read_balancers(hosts, asked or [], azure, beyond)
    try:
        check_alike(hosts)
        these = [read_host(of_host(host, balancers)) for host in hosts]
        if not planned:
            check_complete(these, balancers.remarks)
        plan = make_plan(
            these,
            read_policy(policy or {}),
            instant,
            None if rest is None else [read_host(of_host(host, balancers)) for host in rest],
            patient,
            read_plan(planned).events_of_hosts() if planned else None,
        )
    except (DocumentError, PlanError, PolicyError) as error:
        raise AnsibleFilterError("maintenance_plan: %s" % plain(str(error))) from error
    plan = plan._replace(remarks=(*plan.remarks, *(() if planned else balancers.remarks)))
    return dict(plan_as_dict(plan, instant), balancers=balancers._asdict())


def maintenance_claims(
    found: Mapping[str, Any],
    run: Mapping[str, Any] | None = None,
    break_lease: bool = False,
    owner: str = BY_EVENT,
    left_out_for: float = 600.0,
) -> dict[str, Any]:
    """Say who wants a host out of rotation, and how this run stands to it."""
    stands = standing(found, owner, run, break_lease, float(left_out_for))
    tried = [dict(one._asdict(), event_id=plain(one.event_id), reason=plain(one.reason)) for one in stands.tried]
    told = {
        name: plain(value) if isinstance(value, str) else [plain(one) for one in value] if name == "claimed" else value
        for name, value in stands._asdict().items()
    }
    return dict(told, tried=tried)


def maintenance_reading(
    answer: Mapping[str, Any],
    name: str,
    policy: Mapping[str, Any],
    standing: Mapping[str, Any] | None = None,
    traces: Iterable[str] = (),
    marked: bool = False,
    agent: Mapping[str, Any] | None = None,
    variables: Mapping[str, Any] | None = None,
    found: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Note what is known of a host."""
    return note_host(name, answer, standing or {}, tuple(traces), marked, agent or {}, policy, variables or {}, found)


def maintenance_run(playbook: str, job: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Tell this run from all others."""
    return describe_run(playbook, job)


def maintenance_status(hosts: list[Mapping[str, Any]], inventory: Iterable[str] = ()) -> list[str]:
    """Say of each host whether it is out of rotation, why, and what to do next."""
    return [
        plain(line)
        for host in hosts
        for line in describe_status(
            host["name"],
            host["found"],
            host.get("agent"),
            host.get("traces") or (),
            host.get("answer"),
            tuple(map(str, inventory)),
        )
    ]


def maintenance_mistakes(
    hosts: Iterable[Mapping[str, Any]],
    arguments: Mapping[str, Any] | None = None,
    prefixes: Iterable[str] = (PREFIX,),
    roles: Iterable[str] = ROLES,
    alike: Iterable[str] = (),
) -> list[str]:
    """Name what is wrong with the variables of hosts, and with the tags of the run."""
    found = mistakes(list(hosts), dict(arguments or {}), tuple(prefixes), tuple(roles), tuple(alike))
    found += mistakes_in_tags()
    return [plain(mistake) for mistake in found]


def maintenance_approvals(plan: Mapping[str, Any], ready: Iterable[str]) -> dict[str, list[str]]:
    """Say which host approves which events."""
    return approvals(read_plan(plan), ready)


def maintenance_second_look(
    entry: Mapping[str, Any],
    reading: Mapping[str, Any],
    policy: Mapping[str, Any] | None = None,
    now: float | None = None,
) -> dict[str, Any]:
    """Go on with what is still ahead of a host that was taken out."""
    instant = time.time() if now is None else now
    try:
        seen = look_again(read_entry(entry), read_reading(reading), read_policy(policy or {}), instant)
    except DocumentError as error:
        raise AnsibleFilterError("maintenance_second_look: %s" % plain(str(error))) from error
    return entry_as_dict(seen, instant)


def maintenance_progress(
    entry: Mapping[str, Any],
    approved: Iterable[str] = (),
    failed: bool = False,
    policy: Mapping[str, Any] | None = None,
    now: float | None = None,
) -> dict[str, Any]:
    """Begin to wait for the end of a host's events."""
    return begin_watch(
        read_entry(entry), approved, failed, read_policy(policy or {}), time.time() if now is None else now
    )


def maintenance_attempts(
    plan: Mapping[str, Any], failures: Mapping[str, list[str]], approved: Iterable[str]
) -> dict[str, dict[str, str]]:
    """Say for which events hosts were taken out in vain."""
    found = attempts(read_plan(plan), failures, approved)
    return {
        name: {plain(event_id): plain(reason) for event_id, reason in of_host.items()}
        for name, of_host in found.items()
    }


def maintenance_report(
    plan: Mapping[str, Any],
    results: Mapping[str, Mapping[str, Any]] | None = None,
    now: float | None = None,
) -> dict[str, Any]:
    """Tell a plan, or what became of it."""
    if results is None:
        told = describe_plan(read_plan(plan), time.time() if now is None else now)
        return {"lines": _as_plain(told), "failures": [], "by_host": {}, "hosts": {}}
    # A host that was lost on the way has none.
    became = {name: read_result(result) for name, result in results.items() if result}
    return {name: _as_plain(part) for name, part in describe_results(read_plan(plan), became)._asdict().items()}


def _as_plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {name: _as_plain(one) for name, one in value.items()}
    return [_as_plain(one) for one in value] if isinstance(value, list) else value


class FilterModule:
    """Offers the filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name them."""
        return {
            "maintenance_approvals": untrusted(maintenance_approvals),
            "maintenance_attempts": untrusted(maintenance_attempts),
            "maintenance_claims": untrusted(maintenance_claims),
            "maintenance_mistakes": untrusted(maintenance_mistakes),
            "maintenance_plan": untrusted(maintenance_plan),
            "maintenance_progress": untrusted(maintenance_progress),
            "maintenance_reading": untrusted(maintenance_reading),
            "maintenance_report": untrusted(maintenance_report),
            "maintenance_run": untrusted(maintenance_run),
            "maintenance_second_look": untrusted(maintenance_second_look),
            "maintenance_status": untrusted(maintenance_status),
        }
