# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resource Graph's tables of resources and subscriptions, beside what azure-mgmt-compute reads of the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure_simulator.testing import Simulator

Start = Callable[..., Any]

TENANT = "99999999-aaaa-4bbb-8ccc-555555555555"
OTHER = "22222222-aaaa-4bbb-8ccc-555555555555"
URL = "/providers/Microsoft.ResourceGraph/resources?api-version=2022-10-01"
TWO_SUBSCRIPTIONS = {
    "vms": [
        {"name": "here", "address": "127.0.78.1"},
        {"name": "there", "address": "127.0.78.2", "subscription_id": OTHER},
    ],
}


def ask(azure: Any, query: str, **body: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = azure.post(URL, {"query": query, **body})["data"]
    return rows


def test_given_machines_and_sets_when_asked_for_then_their_rows_have_the_ids_and_properties_of_compute(
    azure: Any,
) -> None:
    vms = ask(azure, "Resources | where type =~ 'Microsoft.Compute/virtualMachines' | order by name asc")
    assert [row["id"] for row in vms] == sorted(vm.id for vm in azure.compute.virtual_machines.list_all())
    found = azure.compute.virtual_machines.get("rg", "db")
    (database,) = (row for row in vms if row["name"] == "db")
    assert (database["type"], database["resourceGroup"]) == ("microsoft.compute/virtualmachines", "rg")
    assert database["properties"]["vmId"] == found.vm_id
    (spot,) = ask(azure, "resources | where properties.virtualMachineProfile.priority == 'Spot'")
    assert (spot["name"], spot["sku"]["capacity"]) == ("spot", 2)


def test_given_uniform_sets_when_their_instances_are_asked_for_then_they_are_in_a_table_of_their_own(
    cloud: Start,
) -> None:
    kind = "microsoft.compute/virtualmachinescalesets/virtualmachines"
    query = f"computeresources | where type =~ '{kind}' | project id, name"
    rows = ask(cloud(), query)
    assert [row["name"] for row in rows] == ["web_0", "web_1", "web_2", "web_3", "spot_0", "spot_1"]
    assert rows[3]["id"].endswith("/virtualMachineScaleSets/web/virtualMachines/3")


def test_given_machines_when_their_state_is_asked_for_then_it_is_that_of_their_views(azure: Any) -> None:
    azure.compute.virtual_machines.begin_deallocate("rg", "db").result()
    state = "tostring(properties.extended.instanceView.powerState.code)"
    query = f"resources | where type == 'microsoft.compute/virtualmachines' | summarize n = count() by state = {state}"
    assert {row["state"]: row["n"] for row in ask(azure, query)} == {
        "PowerState/running": 4,
        "PowerState/deallocated": 1,
    }


def test_given_sets_when_counted_by_mode_then_each_has_its_number(cloud: Start) -> None:
    query = (
        "resources | where type == 'microsoft.compute/virtualmachinescalesets'"
        " | extend mode = tostring(properties.orchestrationMode) | summarize count() by mode | order by mode asc"
    )
    assert ask(cloud(), query) == [{"mode": "Flexible", "count_": 1}, {"mode": "Uniform", "count_": 2}]


def test_given_a_subscription_or_a_management_group_when_asked_for_then_only_what_is_below_it_is_found(
    cloud: Start,
) -> None:
    azure = cloud(arm={"management_groups": {"Shop": [OTHER]}}, **TWO_SUBSCRIPTIONS)
    names = "resources | project name"
    assert ask(azure, names, subscriptions=[OTHER]) == [{"name": "there"}]
    assert ask(azure, names, managementGroups=["shop"]) == [{"name": "there"}]
    assert ask(azure, names, managementGroups=[TENANT]) == [{"name": "here"}, {"name": "there"}]
    below = "resourcecontainers | where type == 'microsoft.resources/subscriptions' | project subscriptionId"
    assert ask(azure, below, managementGroups=["shop"]) == [{"subscriptionId": OTHER}]


def test_given_a_management_group_that_nobody_may_see_when_asked_for_then_403(cloud: Start) -> None:
    with pytest.raises(HttpResponseError) as refusal:
        ask(cloud(), "resources", managementGroups=["unknown"])
    assert refusal.value.status_code == 403
    assert refusal.value.error is not None
    assert refusal.value.error.code == "AccessDenied"
    assert [detail.code for detail in refusal.value.error.details] == ["AccessDenied"]


def test_given_both_kinds_of_scope_when_asked_for_then_it_is_refused(cloud: Start) -> None:
    with pytest.raises(HttpResponseError) as refusal:
        ask(cloud(), "resources", managementGroups=["a"], subscriptions=[OTHER])
    assert refusal.value.status_code == 400


@pytest.mark.parametrize("wrong", [["shop"], {"shop": "all"}, {"shop": [1]}])
def test_given_invalid_management_groups_when_configured_then_that_is_named(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"arm\.management_groups"):
        Simulator({"vms": [{"name": "db", "address": "127.0.78.1"}], "arm": {"management_groups": wrong}})
