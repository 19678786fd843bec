# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filters that decide for a fleet. Each is documented in the YAML file of its name."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import (
    Host,
    PlanError,
    approvals,
    make_plan,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.progress import begin_watch, watch
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.report import describe_plan, describe_results
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.treatment import read_policy


def maintenance_plan(
    hosts: list[Mapping[str, Any]],
    policy: Mapping[str, Any] | None = None,
    together: bool = False,
    now: float | None = None,
) -> dict[str, Any]:
    """Decide which hosts go when."""
    known = [
        Host(
            name=host["name"],
            # Templates of ansible-core 2.16 turn none into an empty text.
            vm_name=host.get("vm_name") or None,
            events=tuple(host.get("events") or ()),
            was_left=bool(host.get("was_left")),
            stop_seconds=float(host.get("stop_seconds") or 0),
            agent=host.get("agent") or None,
        )
        for host in hosts
    ]
    try:
        return make_plan(known, read_policy(policy or {}), time.time() if now is None else now, together)
    except PlanError as error:
        raise AnsibleFilterError("maintenance_plan: %s" % error) from error


def maintenance_progress(
    state: Mapping[str, Any],
    reading: Mapping[str, Any] | None = None,
    approved: Sequence[str] = (),
    failed: bool = False,
    policy: Mapping[str, Any] | None = None,
    confirm_after: float = 5.0,
    now: float | None = None,
) -> dict[str, Any]:
    """Begin to watch a host, or take one more look into account."""
    instant = time.time() if now is None else now
    if reading is None:
        return begin_watch(state, approved, failed, read_policy(policy or {}), instant)
    return watch(state, reading, read_policy(policy or {}), instant, float(confirm_after))


def maintenance_report(
    plan: Mapping[str, Any],
    results: Mapping[str, Mapping[str, Any]] | None = None,
    now: float | None = None,
) -> dict[str, list[str]]:
    """Tell a plan, or what became of it."""
    if results is None:
        return {"lines": describe_plan(plan, time.time() if now is None else now), "failures": []}
    return describe_results(plan, results)


class FilterModule:
    """Offers the filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name them."""
        return {
            "maintenance_approvals": approvals,
            "maintenance_plan": maintenance_plan,
            "maintenance_progress": maintenance_progress,
            "maintenance_report": maintenance_report,
        }
