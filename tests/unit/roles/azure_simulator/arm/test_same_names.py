# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names repeat in Azure: a machine's is its own in its resource group only, and so is a scale set's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure_simulator.config import parse
from azure_simulator.reading import Invalid

from ..conftest import ask
from .test_control_plane_events import PUBLISH, ask_graph

Start = Callable[..., Any]

DB: dict[str, Any] = {"name": "db", "address": "127.0.78.96", "resource_group": "production"}
STAGING_DB = {**DB, "address": "127.0.78.97", "resource_group": "staging", "alias": "staging-db"}
SETS = [
    {"name": "web_{0..1}", "address": "127.0.78.0/28", "scale_set": "web", "resource_group": "production"},
    {
        "name": "web_{0..1}",
        "alias": "staging-web_{0..1}",
        "address": "127.0.78.32/28",
        "scale_set": "web",
        "resource_group": "staging",
    },
]
BOTH_PUBLISH = {"virtual_machines": [{"name": name, "properties": PUBLISH} for name in ("db", "staging-db")]}


@pytest.mark.parametrize(
    ("vms", "mistake"),
    [
        ([DB, {**STAGING_DB, "alias": None}], "vms[1].name: 'db' means two VMs: give one another alias"),
        ([DB, {**STAGING_DB, "alias": "DB"}], "vms[1].alias: 'DB' means two VMs: give one another alias"),
        (
            [DB, {**STAGING_DB, "resource_group": "Production"}],
            "vms[1].name: 'db' is the name of two VMs in the resource group",
        ),
        ([{**SETS[1], "alias": "x_{0..2}"}], "vms[0].alias: 'x_{0..2}' names 3 VMs, and the name 2"),
    ],
)
def test_given_machines_that_cannot_be_told_apart_then_the_configuration_is_refused(
    vms: list[dict[str, Any]], mistake: str
) -> None:
    with pytest.raises(Invalid) as error:
        parse({"vms": vms})
    assert mistake in error.value.mistakes


def test_given_two_of_a_name_when_asked_for_then_each_group_shows_and_deletes_its_own(cloud: Start) -> None:
    azure = cloud(vms=[DB, STAGING_DB])
    vms = azure.compute.virtual_machines
    ids = {group: vms.get(group, "db").vm_id for group in ("staging", "production")}
    assert len(set(ids.values())) == 2
    assert [(vm.name, vm.vm_id) for vm in vms.list("staging")] == [("db", ids["staging"])]

    vms.begin_delete("staging", "db").result()

    with pytest.raises(ResourceNotFoundError):
        vms.get("staging", "db")
    assert vms.get("production", "db").vm_id == ids["production"]
    states = {name: vm["state"] for name, vm in azure.azure.status()["vms"].items()}
    assert states == {"db": "running", "staging-db": "deleted"}


def test_given_two_of_a_name_when_one_is_hit_then_only_that_is_reported_by_its_name_in_azure(cloud: Start) -> None:
    azure = cloud(vms=[DB, STAGING_DB], speed=None)

    def told(vm: str) -> list[list[str]]:
        return [event["Resources"] for event in ask(azure.azure.imds[vm]).json["Events"]]

    assert (told("db"), told("staging-db")) == ([], [])
    azure.azure.event("Reboot", "staging-db")
    assert (told("db"), told("staging-db")) == ([], [["db"]])


def test_given_events_of_two_of_a_name_when_one_is_acknowledged_then_the_other_waits(cloud: Start) -> None:
    azure = cloud(vms=[DB, STAGING_DB], arm=BOTH_PUBLISH, speed=None)
    events = {name: azure.azure.event("Reboot", name) for name in ("db", "staging-db")}
    rows = ask_graph(azure)["data"]
    assert [(row["resourceGroup"], row["properties"]["Resources"]) for row in rows] == [
        ("production", ["db"]),
        ("staging", ["db"]),
    ]

    for name, status in (("db", 404), ("staging-db", 200)):
        event = f"providers/Microsoft.Maintenance/scheduledevents/{events[name]['event_id']}/acknowledge"
        path = azure.path(f"virtualMachines/db/{event}?api-version=2025-11-01", "staging")
        assert azure.raw("POST", path).status == status
    approvals = {tuple(event["resources"]): len(event["approvals"]) for event in azure.azure.status()["events"]}
    assert approvals == {("db",): 0, ("staging-db",): 1}


def test_given_two_scale_sets_of_a_name_when_both_grow_then_each_has_instances_of_its_own(cloud: Start) -> None:
    azure = cloud(vms=SETS)
    sets = azure.compute.virtual_machine_scale_sets
    for group in ("staging", "production"):
        sets.begin_update(group, "web", {"sku": {"name": "Standard_D2s_v5", "capacity": 3}}).result()
    listed = {
        group: [(vm.instance_id, vm.name, vm.id.split("/")[4]) for vm in instances]
        for group in ("staging", "production")
        for instances in [azure.compute.virtual_machine_scale_set_vms.list(group, "web")]
    }
    assert listed == {
        group: [(str(number), f"web_{number}", group) for number in range(3)] for group in ("staging", "production")
    }
    assert len(azure.azure.status()["vms"]) == 6
    assert [len(one["instances"]) for one in azure.azure.status()["arm"]["scale_sets"].values()] == [3, 3]
