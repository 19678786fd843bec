# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which pools is each of many VMs, with a request for all of a resource group?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.pools import find_pools, read_vm_ids
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from .scripted_arm import COMPUTE, GROUP, dialogue, ok, refused

WEB = [f"{COMPUTE}/virtualMachines/web-{number}" for number in range(3)]
INSTANCE = f"{COMPUTE}/virtualMachineScaleSets/app/virtualMachines/4"
BALANCER = f"{GROUP}/providers/Microsoft.Network/loadBalancers/lb/backendAddressPools/"
GATEWAY = f"{GROUP}/providers/Microsoft.Network/applicationGateways/gw/backendAddressPools/"


NICS = f"{GROUP}/providers/Microsoft.Network/networkInterfaces/nic-"


def entry(number: int, state: str = "None") -> dict[str, Any]:
    """A member of a pool, as the pool shows it."""
    reference = {"id": f"{NICS}{number}/ipConfigurations/one"}
    return {"properties": {"networkInterfaceIPConfiguration": reference, "adminState": state}}


def interface(
    owner: str | None, *pools: str, gateway: tuple[str, ...] = (), number: int | None = None
) -> dict[str, Any]:
    """An interface of a VM, which names pools."""
    properties = {
        "loadBalancerBackendAddressPools": [{"id": pool} for pool in pools],
        "applicationGatewayBackendAddressPools": [{"id": pool} for pool in gateway],
    }
    owned = {} if owner is None else {"virtualMachine": {"id": owner}}
    return {
        "id": f"{NICS}{number}",
        "properties": {"ipConfigurations": [{"name": "one", "properties": properties}], **owned},
    }


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

    none = ok({"properties": {}})
    with dialogue(ok(listed), ok(of_set), none, none, none) as (_arm, client):
        found = find_pools(client, [*WEB, INSTANCE])

    assert found.of_vms == [[BALANCER + "web", BALANCER + "all"], [GATEWAY + "web"], [], [BALANCER + "app"]]
    assert found.members == {
        BALANCER + "web": [WEB[0]],
        BALANCER + "all": [WEB[0]],
        GATEWAY + "web": [WEB[1]],
        BALANCER + "app": [INSTANCE],
    }


def test_given_an_id_of_an_instance_in_lower_case_when_asked_then_the_interfaces_of_its_set_are_read() -> None:
    of_set = {"value": [interface(INSTANCE, BALANCER + "app")]}

    with dialogue(ok(of_set), ok({"properties": {}})) as (arm, client):
        assert find_pools(client, [INSTANCE.lower()]).of_vms == [[BALANCER + "app"]]
    owner = INSTANCE.lower().removesuffix("/virtualmachines/4")
    assert arm.lines[0] == f"GET {owner}/networkInterfaces?api-version=2018-10-01"


def test_given_a_vm_that_was_not_asked_for_when_it_is_in_a_pool_of_one_that_was_then_it_is_among_its_members() -> None:
    first = interface(WEB[0], BALANCER + "web", number=0)
    listed = {"value": [first, interface(WEB[1], BALANCER + "WEB", BALANCER + "other", number=1)]}

    running = ok({"statuses": [{"code": "ProvisioningState/succeeded"}, {"code": "PowerState/running"}]})
    pool = {"properties": {"loadBalancerBackendAddresses": [entry(0, "Down"), entry(1)]}}
    with dialogue(ok(listed), ok(pool), running) as (_arm, client):
        assert find_pools(client, WEB[:1]) == (
            [[BALANCER + "web"]],
            {BALANCER + "web": WEB[:2]},
            {BALANCER + "web": WEB[:1]},
        )


def test_given_a_pool_of_outbound_rules_alone_when_asked_then_it_is_none_that_they_serve() -> None:
    listed = {
        "value": [
            interface(WEB[0], BALANCER + "web", BALANCER + "egress"),
            interface(WEB[1], BALANCER + "EGRESS"),
            interface(WEB[2], BALANCER + "egress"),
        ]
    }
    web = ok({"properties": {"loadBalancingRules": [{"id": "in"}], "outboundRules": [{"id": "out"}]}})
    egress = ok({"properties": {"outboundRules": [{"id": "out"}]}})
    with dialogue(ok(listed), web, egress, egress) as (_arm, client):
        found = find_pools(client, WEB[:2])
    assert found == ([[BALANCER + "web"], []], {BALANCER + "web": WEB[:1]}, {})


@pytest.mark.parametrize(
    ("power", "state", "is_out"),
    [
        ("deallocated", "None", True),
        ("stopped", "None", True),
        ("deallocating", "None", True),
        ("running", "Down", True),
        ("running", "Up", False),
        ("starting", "None", False),
        (None, "None", False),
    ],
)
def test_given_a_member_that_was_not_asked_for_when_it_gets_no_connections_then_it_is_out_of_service(
    power: str | None, state: str, is_out: bool
) -> None:
    listed = {"value": [interface(WEB[0], BALANCER + "web", number=0), interface(WEB[1], BALANCER + "web", number=1)]}
    view = ok({"statuses": [{"code": f"PowerState/{power}"}]}) if power else refused(403, "AuthorizationFailed")
    pool = {"properties": {"loadBalancerBackendAddresses": [entry(0), entry(1, state)]}}
    with dialogue(ok(listed), ok(pool), view) as (_arm, client):
        assert find_pools(client, WEB[:1]).out_of_service == ({BALANCER + "web": [WEB[1]]} if is_out else {})


def test_given_a_gateways_pool_and_a_pool_that_is_not_shown_then_their_members_count() -> None:
    gateway = {"value": [interface(one, gateway=(GATEWAY + "web",)) for one in WEB[:2]]}
    balancer = {"value": [interface(one, BALANCER + "web") for one in WEB[:2]]}
    for listed, answers in ((gateway, [refused(404, "NotFound")]), (balancer, [ok({}), refused(403, "Forbidden")])):
        with dialogue(ok(listed), *answers) as (_arm, client):
            assert find_pools(client, WEB[:1]).out_of_service == {}


def test_given_a_vm_whose_interface_is_in_another_group_when_asked_then_it_is_asked_for_itself() -> None:
    nic = f"{GROUP.replace('resourceGroups/', 'resourceGroups/other-')}/providers/Microsoft.Network/networkInterfaces/n"
    machine = {"properties": {"networkProfile": {"networkInterfaces": [{"id": nic}]}}}

    script = (ok({"value": []}), ok(machine), ok(interface(WEB[0], BALANCER + "web")))
    with dialogue(*script, *[refused(403, "Forbidden")] * 2) as (_arm, client):
        assert find_pools(client, WEB[:1]) == ([[BALANCER + "web"]], {BALANCER + "web": WEB[:1]}, {})


def test_given_input_that_is_no_id_of_a_vm_when_read_then_it_is_named() -> None:
    assert read_vm_ids({"vm_ids": [WEB[0], INSTANCE]}) == [WEB[0], INSTANCE]
    with pytest.raises(OptionError, match=r"^vm_ids: '/web' is not the id of a VM"):
        read_vm_ids({"vm_ids": [WEB[0], "/web"]})
