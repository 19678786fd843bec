# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which pools is each of many VMs, with a request for all of a resource group?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.pools import find_pools, read_vm_ids
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.arm.scripted_arm import (
    COMPUTE,
    GROUP,
    FakeTime,
    ScriptedArm,
    client_of,
    ok,
)

WEB = [f"{COMPUTE}/virtualMachines/web-{number}" for number in range(3)]
INSTANCE = f"{COMPUTE}/virtualMachineScaleSets/app/virtualMachines/4"
BALANCER = f"{GROUP}/providers/Microsoft.Network/loadBalancers/lb/backendAddressPools/"
GATEWAY = f"{GROUP}/providers/Microsoft.Network/applicationGateways/gw/backendAddressPools/"


def interface(owner: str | None, *pools: str, gateway: tuple[str, ...] = ()) -> dict[str, Any]:
    """An interface of a VM, which names pools."""
    properties = {
        "loadBalancerBackendAddressPools": [{"id": pool} for pool in pools],
        "applicationGatewayBackendAddressPools": [{"id": pool} for pool in gateway],
    }
    owned = {} if owner is None else {"virtualMachine": {"id": owner}}
    return {"properties": {"ipConfigurations": [{"name": "one", "properties": properties}], **owned}}


def test_given_vms_of_one_group_and_instances_of_one_set_when_asked_then_each_list_is_read_once() -> None:
    listed = {
        "value": [
            interface(WEB[0].upper(), BALANCER + "web", BALANCER + "all"),
            interface(WEB[0], BALANCER + "all"),
            interface(WEB[1], gateway=(GATEWAY + "web",)),
            interface(WEB[2]),
            interface(None, BALANCER + "web"),
        ]
    }
    of_set = {"value": [interface(INSTANCE, BALANCER + "app")]}

    with ScriptedArm(ok(listed), ok(of_set)) as arm, client_of(arm, FakeTime()) as client:
        found, members = find_pools(client, [*WEB, INSTANCE])

    assert found == [[BALANCER + "web", BALANCER + "all"], [GATEWAY + "web"], [], [BALANCER + "app"]]
    assert members == {
        BALANCER + "web": [WEB[0]],
        BALANCER + "all": [WEB[0]],
        GATEWAY + "web": [WEB[1]],
        BALANCER + "app": [INSTANCE],
    }


def test_given_a_vm_that_was_not_asked_for_when_it_is_in_a_pool_of_one_that_was_then_it_is_among_its_members() -> None:
    listed = {"value": [interface(WEB[0], BALANCER + "web"), interface(WEB[1], BALANCER + "WEB", BALANCER + "other")]}

    with ScriptedArm(ok(listed)) as arm, client_of(arm, FakeTime()) as client:
        assert find_pools(client, WEB[:1]) == ([[BALANCER + "web"]], {BALANCER + "web": WEB[:2]})


def test_given_a_vm_whose_interface_is_in_another_group_when_asked_then_it_is_asked_for_itself() -> None:
    nic = f"{GROUP.replace('resourceGroups/', 'resourceGroups/other-')}/providers/Microsoft.Network/networkInterfaces/n"
    machine = {"properties": {"networkProfile": {"networkInterfaces": [{"id": nic}]}}}

    script = (ok({"value": []}), ok(machine), ok(interface(WEB[0], BALANCER + "web")))
    with ScriptedArm(*script) as arm, client_of(arm, FakeTime()) as client:
        assert find_pools(client, WEB[:1]) == ([[BALANCER + "web"]], {BALANCER + "web": WEB[:1]})


def test_given_input_that_is_no_id_of_a_vm_when_read_then_it_is_named() -> None:
    assert read_vm_ids({"vm_ids": [WEB[0], INSTANCE]}) == [WEB[0], INSTANCE]
    with pytest.raises(OptionError, match=r"^vm_ids: '/web' is not the id of a VM"):
        read_vm_ids({"vm_ids": [WEB[0], "/web"]})
