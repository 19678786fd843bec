# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filters that decide for a fleet. Each is documented in the YAML file of its name."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.claims import (
    BY_EVENT,
    describe_run,
    lease_view,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.os_upgrades import (
    Member,
    UpgradeOptions,
    decide,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import PREFIX
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.status import describe_status
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.variables import ROLES, mistakes
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.tags import mistakes_in_tags
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted


def maintenance_claims(
    found: Mapping[str, Any],
    run: Mapping[str, Any] | None = None,
    break_lease: bool = False,
    owner: str = BY_EVENT,
    left_out_for: float = 600.0,
) -> dict[str, Any]:
    """Say who wants a host out of rotation, and how this run stands to it."""
    view = lease_view(found, owner, run, break_lease, float(left_out_for))
    tried = [dict(one._asdict(), event_id=plain(one.event_id), reason=plain(one.reason)) for one in view.tried]
    told = {
        name: plain(value) if isinstance(value, str) else [plain(one) for one in value] if name == "claimed" else value
        for name, value in view._asdict().items()
    }
    return dict(told, tried=tried)


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


def maintenance_os_upgrades(
    scale_sets: list[Mapping[str, Any]],
    answers: list[Mapping[str, Any]],
    hosts: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Say what is to be done about what Azure asks before it upgrades an image."""
    found = [
        {
            "resource_group": one["resource_group"],
            "name": one["name"],
            "events": answer.get("events") or [],
            "failure": "" if "events" in answer else plain(str(answer.get("msg") or "no answer")),
        }
        for one, answer in zip(scale_sets, answers, strict=False)
    ]
    members = {name: Member(**member) for name, member in hosts.items() if member}
    return decide(found, members, UpgradeOptions(**options), time.time())


class FilterModule:
    """Offers the filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name them."""
        return {
            "maintenance_claims": untrusted(maintenance_claims),
            "maintenance_mistakes": untrusted(maintenance_mistakes),
            "maintenance_os_upgrades": untrusted(maintenance_os_upgrades),
            "maintenance_run": untrusted(maintenance_run),
            "maintenance_status": untrusted(maintenance_status),
        }
