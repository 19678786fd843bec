# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A playbook that searches for a role's records searches where the role leaves them."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.answers import MARKER
from jinja2.meta import find_undeclared_variables
from jinja2.nativetypes import NativeEnvironment

ROOT = Path(__file__).parents[3]
OWN = yaml.safe_load((ROOT / "playbooks" / "vars" / "handle_events.yml").read_text())
RECORDS = "/var/lib/foghorn/load_balancer_removal"


def decided(name: str, **variables: Any) -> Any:
    """What a variable of the playbook is, given others."""
    if name in variables:
        return variables[name]
    environment = NativeEnvironment()
    environment.filters["product"] = product
    names = find_undeclared_variables(environment.parse(OWN[name])).intersection({*OWN, *variables})
    return environment.from_string(OWN[name]).render({other: decided(other, **variables) for other in names})


def test_given_no_variables_when_a_host_is_checked_then_it_is_where_the_role_leaves_its_traces() -> None:
    defaults = yaml.safe_load((ROOT / "roles" / "load_balancer_removal" / "defaults" / "main.yml").read_text())

    assert decided("__handle_events_traces") == decided("__handle_events_traces", **defaults)
    assert decided("__handle_events_traces")[-1] == MARKER


def test_given_the_records_of_the_role_used_on_its_own_then_all_of_them_are_searched() -> None:
    kept = ["health_probe.json", "haproxy.balancers", "command.places", "azure_load_balancer.json"]

    assert decided("__handle_events_traces")[:-1] == [
        f"{RECORDS}/{name}" for name in [*kept, "application_gateway.json"]
    ]


def test_given_what_the_roles_leave_on_a_host_then_the_last_claim_is_not_given_up_before_it_is_gone() -> None:
    records = yaml.safe_load((ROOT / "roles" / "load_balancer_removal" / "vars" / "main.yml").read_text())[
        "__load_balancer_removal_records_of"
    ]
    services = yaml.safe_load((ROOT / "roles" / "graceful_shutdown" / "vars" / "main.yml").read_text())[
        "__graceful_shutdown_record_path"
    ]

    assert set(OWN["__handle_events_records"]) == {*records.values(), services.rpartition("/")[2]}
