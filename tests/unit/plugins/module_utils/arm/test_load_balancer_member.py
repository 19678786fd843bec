# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""load_balancer_member against the simulator, read back by azure-mgmt-network."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError, NotFound, Unfinished
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.membership import (
    MembershipChange,
    carry_out,
    find,
    read_order,
    read_search,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from tests.simulated_cloud import vm_of

from .scripted_arm import COMPUTE, Step, dialogue, ok, refused
from .simulated_arm import client_to

Start = Callable[..., Any]

POOLS = {
    "load_balancers": [
        {"name": "front", "pools": {"web": ["web_0"], "apps": ["app_0", "app_1"], "admin": ["app_0"], "empty": []}}
    ]
}
VM = (
    "/subscriptions/11111111-aaaa-4bbb-8ccc-555555555555/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/"
)
INSTANCE = VM.replace("virtualMachines/", "virtualMachineScaleSets/web/virtualMachines/")
POOL = VM.replace("Microsoft.Compute/virtualMachines/", "Microsoft.Network/loadBalancers/front/backendAddressPools/")


@pytest.fixture
def azure(cloud: Start) -> Any:
    return cloud(arm=POOLS)


def member(azure: Any, dry_run: bool = False, **options: Any) -> MembershipChange:
    """What the module does, given its options."""
    with client_to(azure) as client:
        return carry_out(client, read_order({"method": "membership", **options}), dry_run)


def pools_of(azure: Any, **options: Any) -> list[dict[str, Any]]:
    """What load_balancer_member_info returns, given its options."""
    with client_to(azure) as client:
        return find(client, read_search({"method": "membership", **options}))


def pool(azure: Any, name: str) -> dict[str, Any]:
    """The members of a pool and their adminState, as Microsoft's client reads them."""
    found = azure.network.load_balancer_backend_address_pools.get("rg", "front", name)
    return {vm_of(one): one.admin_state for one in found.load_balancer_backend_addresses or []}


def by_address(azure: Any, *addresses: str) -> None:
    """Make a pool one that is given by addresses, with Microsoft's client."""
    body = {
        "properties": {
            "loadBalancerBackendAddresses": [
                {"name": f"at-{address}", "properties": {"ipAddress": address, "adminState": "None"}}
                for address in addresses
            ]
        }
    }
    pools = azure.network.load_balancer_backend_address_pools
    pools.begin_create_or_update("rg", "front", "empty", body).result()


def test_given_a_vm_when_it_is_removed_and_restored_then_it_leaves_all_its_pools_and_is_back_in_exactly_these(
    azure: Any,
) -> None:
    removed = member(azure, vm_id=VM + "app_0", remove=True)

    assert removed.changed
    assert (pool(azure, "apps"), pool(azure, "admin")) == ({"app_1": None}, {})
    assert member(azure, restore=removed.before).changed
    assert (list(pool(azure, "apps")), list(pool(azure, "admin"))) == (["app_0", "app_1"], ["app_0"])
    assert not member(azure, restore=removed.before).changed


def test_given_a_named_pool_when_a_vm_is_removed_then_it_stays_in_the_others(azure: Any) -> None:
    # Ids come in any case.
    removed = member(azure, vm_id=VM + "app_0", pools=[POOL.upper() + "APPS"], remove=True)

    assert [record["pool"].rpartition("/")[2] for record in removed.before] == ["apps"]
    assert (list(pool(azure, "apps")), list(pool(azure, "admin"))) == (["app_1"], ["app_0"])


@pytest.mark.parametrize("method", ["membership", "admin_state"])
def test_given_a_pool_of_outbound_rules_alone_when_a_vm_is_removed_then_it_keeps_its_way_out_unless_the_pool_is_named(
    azure: Any, method: str
) -> None:
    balancers = azure.network.load_balancers
    balancer = balancers.get("rg", "front")
    rule = {"backendAddressPool": {"id": POOL + "admin"}, "frontendIPConfigurations": [], "protocol": "All"}
    balancer["properties"]["outboundRules"] = [{"name": "egress", "properties": rule}]
    balancers.begin_create_or_update("rg", "front", balancer).result()

    removed = member(azure, vm_id=VM + "app_0", method=method, remove=True)

    assert [record["pool"].rpartition("/")[2] for record in removed.before] == ["apps"]
    assert pool(azure, "admin") == {"app_0": None}
    assert member(azure, vm_id=VM + "app_0", method=method, pools=[POOL + "admin"], remove=True).changed


EGRESS = {"name": "egress", "properties": {"outboundRules": [{"id": "out"}]}}
FORBIDDEN = refused(403, "AuthorizationFailed")


@pytest.mark.parametrize(
    ("answers", "pools"),
    [
        ([FORBIDDEN, ok({"properties": {"backendAddressPools": [{"name": "web"}, EGRESS]}})], []),
        ([FORBIDDEN, FORBIDDEN], ["Egress"]),
        ([refused(400, "NoRegisteredProviderFound")], ["Egress"]),
        ([refused(500, "InternalServerError")] * 11, None),
        ([refused(429, "TooManyRequests")] * 11, None),
    ],
)
def test_given_a_pool_that_azure_does_not_show_then_the_vm_leaves_it_only_where_its_rules_cannot_be_known(
    answers: list[Step], pools: list[str] | None
) -> None:
    """Virtual Machine Contributor may read the balancer alone; and by a failure that passes, no way out is lost."""
    nic = VM.replace("Microsoft.Compute/virtualMachines/", "Microsoft.Network/networkInterfaces/") + "nic"
    machine = ok({"properties": {"networkProfile": {"networkInterfaces": [{"id": nic}]}}})
    joined = {"loadBalancerBackendAddressPools": [{"id": POOL + "Egress"}]}
    shown = ok({"properties": {"ipConfigurations": [{"name": "one", "properties": joined}]}})
    search = read_search({"vm_id": VM + "app_0", "method": "membership"})
    with dialogue(machine, shown, *answers) as (_arm, client):
        if pools is None:
            with pytest.raises(ArmError, match="Egress was refused"):
                find(client, search)
        else:
            assert [record["pool"] for record in find(client, search)] == [POOL + name for name in pools]


def test_given_a_vm_that_is_out_when_it_is_removed_again_then_nothing_is_written(azure: Any) -> None:
    member(azure, vm_id=VM + "app_0", remove=True)
    before = len(azure.sent("PUT"))

    assert member(azure, vm_id=VM + "app_0", remove=True) == MembershipChange(False, [])
    assert len(azure.sent("PUT")) == before


def test_given_check_mode_when_a_vm_is_removed_then_it_returns_what_the_info_module_reads_and_writes_nothing(
    azure: Any,
) -> None:
    removed = member(azure, vm_id=VM + "app_0", remove=True, dry_run=True)

    assert [record["kind"] for record in removed.before] == ["interface", "interface"]
    assert removed.before == pools_of(azure, vm_id=VM + "app_0")
    assert removed.changed
    assert azure.sent("PUT") == []


def test_given_an_instance_of_a_uniform_set_when_it_is_removed_and_restored_then_its_model_is_edited_and_no_other(
    azure: Any,
) -> None:
    removed = member(azure, vm_id=INSTANCE + "1", remove=True)

    assert list(pool(azure, "web")) == ["web_0", "web_2", "web_3"]
    member(azure, restore=removed.before, vm_id=INSTANCE + "1")
    assert list(pool(azure, "web")) == ["web_0", "web_1", "web_2", "web_3"]
    assert all('"networkProfileConfiguration"' in entry["body"] for entry in azure.sent("PUT"))


def test_given_a_pool_by_address_when_a_vm_is_removed_and_restored_then_its_entry_goes_and_comes_as_it_was(
    azure: Any,
) -> None:
    by_address(azure, "127.0.78.96", "127.0.78.129")

    removed = member(azure, vm_id=VM + "app_0", pools=[POOL + "empty"], remove=True)

    assert list(pool(azure, "empty")) == ["at-127.0.78.96"]
    assert member(azure, restore=removed.before).changed
    assert pool(azure, "empty") == {"at-127.0.78.96": "None", "at-127.0.78.129": "None"}


@pytest.mark.parametrize(
    ("method", "known_by", "value"),
    [
        ("membership", "entry", {"name": "six", "properties": {"ipAddress": "FD00:0:0::0004"}}),
        ("admin_state", "address", "fd00::4"),
    ],
)
def test_given_an_ipv6_address_that_the_pool_spells_in_another_way_then_it_is_the_machines(
    method: str, known_by: str, value: Any
) -> None:
    vm, pool = COMPUTE + "/virtualMachines/db", POOL + "six"
    machine = ok({"properties": {"networkProfile": {"networkInterfaces": [{"id": vm + "-nic"}]}}})
    nic = ok({"properties": {"ipConfigurations": [{"name": "six", "properties": {"privateIPAddress": "fd00::4"}}]}})
    entries = [{"name": "six", "properties": {"ipAddress": one}} for one in ("FD00:0:0::0004", "fd00::40")]
    shown = ok({"properties": {"loadBalancerBackendAddresses": entries}})

    with dialogue(machine, nic, shown) as (_arm, client):
        (record,) = find(client, read_search({"vm_id": vm, "pools": [pool], "method": method}))

    assert record[known_by] == value


def test_given_a_pool_by_address_when_an_instance_is_removed_then_its_own_interfaces_say_its_address(
    azure: Any,
) -> None:
    by_address(azure, "127.0.78.1", "127.0.78.129")

    member(azure, vm_id=INSTANCE + "0", pools=[POOL + "empty"], remove=True)

    assert list(pool(azure, "empty")) == ["at-127.0.78.129"]


@pytest.mark.parametrize("vm_id", [VM + "app_0", INSTANCE + "0"])
@pytest.mark.parametrize("was", [None, "Up"])
def test_given_an_admin_state_when_it_is_removed_and_restored_then_it_is_what_it_was(
    azure: Any, vm_id: str, was: str | None
) -> None:
    name, of = ("app_0", "apps") if vm_id == VM + "app_0" else ("web_0", "web")
    pools = azure.network.load_balancer_backend_address_pools
    found = pools.get("rg", "front", of)
    found.load_balancer_backend_addresses[0].admin_state = was
    pools.begin_create_or_update("rg", "front", of, found).result()

    removed = member(azure, vm_id=vm_id, pools=[POOL + of], method="admin_state", remove=True)

    states = pool(azure, of)
    assert states.pop(name) == "Down"
    assert "Down" not in states.values()
    # Or the record of what was there would be one of what we have set ourselves.
    assert member(azure, vm_id=vm_id, pools=[POOL + of], method="admin_state", remove=True).before == []
    member(azure, restore=removed.before)
    assert pool(azure, of)[name] == (was or "None")


def test_given_an_instance_whose_id_begins_like_that_of_another_when_it_is_set_down_then_the_other_stays_in_service(
    cloud: Start,
) -> None:
    members = (("web_1", 129), ("web_10", 130))
    vms = [{"name": name, "address": f"127.0.78.{number}", "scale_set": "web"} for name, number in members]
    azure = cloud(arm={"load_balancers": [{"name": "front", "pools": {"web": ["web_1", "web_10"]}}]}, vms=vms)

    member(azure, vm_id=INSTANCE + "1", pools=[POOL + "web"], method="admin_state", remove=True)

    assert pool(azure, "web") == {"web_1": "Down", "web_10": "None"}


def test_given_another_client_that_is_faster_when_a_vm_is_removed_then_it_reads_again_and_keeps_the_others_change(
    azure: Any,
) -> None:
    azure.azure.arm_fault("concurrent_edit", count=2)

    member(azure, vm_id=VM + "app_0", remove=True)

    assert list(pool(azure, "apps")) == ["app_1"]
    assert all(entry["status"] in (200, 412) for entry in azure.sent("PUT"))
    assert [entry["status"] for entry in azure.sent("PUT")].count(412) == 2


def test_given_a_second_balancer_that_refuses_when_a_vm_is_removed_then_what_was_removed_is_reported(
    cloud: Start,
) -> None:
    azure = cloud(arm={"load_balancers": [{"name": name, "pools": {"apps": ["app_0"]}} for name in ("front", "back")]})
    apps = POOL + "apps"
    pools = [apps, apps.replace("/front/", "/back/")]
    azure.azure.arm_fault("error", error="locked", methods=["PUT"], paths=["*/back/*"])

    with pytest.raises(Unfinished, match="ScopeLocked") as error:
        member(azure, vm_id=VM + "app_0", pools=pools, method="admin_state", remove=True)
    assert error.value.outcome.changed
    assert [record["pool"] for record in error.value.outcome.before] == pools[:1]


def test_given_a_removal_that_azure_accepts_and_fails_then_what_left_the_pools_is_reported(azure: Any) -> None:
    before = pools_of(azure, vm_id=VM + "app_0")
    azure.azure.arm_fault("operation", outcome="Failed", code="InternalServerError", message="It broke.", count=1)

    with pytest.raises(Unfinished, match="the operation ended as Failed") as error:
        member(azure, vm_id=VM + "app_0", remove=True)

    # Azure shows what it has accepted.
    assert pools_of(azure, vm_id=VM + "app_0") == []
    assert (error.value.outcome.changed, error.value.outcome.before) == (False, before)


def test_given_a_return_that_azure_accepts_and_fails_when_it_is_restored_again_then_it_is_written_again(
    azure: Any,
) -> None:
    removed = member(azure, vm_id=VM + "app_0", remove=True).before
    azure.azure.arm_fault("operation", outcome="Failed", code="InternalServerError", message="It broke.", count=1)
    with pytest.raises(ArmError, match="the operation ended as Failed"):
        member(azure, restore=removed)

    assert member(azure, restore=removed).changed
    assert azure.network.network_interfaces.get("rg", "app_0-nic").provisioning_state == "Succeeded"
    assert not member(azure, restore=removed).changed


def test_given_a_missing_vm_when_it_is_removed_then_that_is_reported(cloud: Start) -> None:
    with pytest.raises(NotFound):
        member(cloud(arm=POOLS), vm_id=VM + "nobody", remove=True)


def test_given_a_record_of_another_vm_when_it_is_restored_then_it_is_refused(azure: Any) -> None:
    before = pools_of(azure, vm_id=VM + "app_0")

    with pytest.raises(OptionError, match=r"app_0-nic does not belong to the VM .*app_1"):
        member(azure, vm_id=VM + "app_1", restore=before)
    with pytest.raises(OptionError, match=r"is not one of pools"):
        member(azure, vm_id=VM + "app_0", pools=[POOL + "admin"], restore=before)


def test_given_pools_that_no_longer_exist_when_a_vm_is_restored_then_it_is_back_in_the_others_and_all_are_named(
    azure: Any,
) -> None:
    by_address(azure, "127.0.78.129")
    (record,) = member(azure, vm_id=VM + "app_0", pools=[POOL + "empty"], remove=True).before
    gone = [{**record, "pool": POOL + "gone"}, {**record, "pool": POOL + "lost"}]

    with pytest.raises(Unfinished, match=r"gone.*; .*lost") as error:
        member(azure, restore=[*gone, record])
    assert error.value.outcome.changed
    assert list(pool(azure, "empty")) == ["at-127.0.78.129"]

    with pytest.raises(NotFound, match="gone"):
        member(azure, restore=[gone[0], record])


def test_given_a_pool_of_an_interface_that_no_longer_exists_when_a_vm_is_restored_then_it_is_back_in_the_other(
    azure: Any,
) -> None:
    """Both are written with the interface, and Azure refuses all of it."""
    apps, admin = member(azure, vm_id=VM + "app_0", remove=True).before

    with pytest.raises(Unfinished, match="gone") as error:
        member(azure, restore=[{**admin, "pool": POOL + "gone"}, apps])
    assert error.value.outcome.changed
    assert list(pool(azure, "apps")) == ["app_0", "app_1"]


def test_given_an_interface_that_was_made_again_when_it_is_restored_then_it_says_what_to_do(azure: Any) -> None:
    (record, _other) = pools_of(azure, vm_id=VM + "app_0")

    with pytest.raises(ArmError, match=r"no longer has the IP configuration 'ipconfig9'.*by hand"):
        member(azure, restore=[{**record, "ip_configuration": "ipconfig9"}])


def test_given_a_vm_that_has_left_when_its_admin_state_is_restored_then_that_is_a_warning(azure: Any) -> None:
    before = pools_of(azure, vm_id=VM + "app_0", pools=[POOL + "apps"], method="admin_state")
    member(azure, vm_id=VM + "app_0", remove=True)

    restored = member(azure, restore=before)

    assert not restored.changed
    assert "is no longer in %sapps:" % POOL in restored.warnings[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vm_id": "app_0", "remove": True}, "vm_id: 'app_0' is not the id of a VM"),
        ({"vm_id": VM + "a?api-version=1", "restore": []}, "is not the id of a VM"),
        ({"remove": True}, "vm_id: is missing"),
        ({"vm_id": VM + "a", "remove": True, "pools": []}, "pools: is empty"),
        ({"vm_id": VM + "a", "remove": True, "pools": ["web"]}, "pools: 'web' is not the id of a pool"),
        ({"restore": [], "remove": True}, "give exactly one"),
        ({"vm_id": VM + "a"}, "To only read, use load_balancer_member_info"),
        ({"vm_id": VM + "a", "remove": False}, "give exactly one"),
        ({"restore": [{"kind": "odd", "pool": POOL + "a"}]}, "restore: kind 'odd' is not one of"),
        (
            {"restore": [{"kind": "interface", "pool": POOL + "a", "resource": VM + "a"}]},
            "is not the id of an interface",
        ),
        ({"restore": [{"kind": "admin_state", "pool": POOL + "a", "admin_state": "Drain"}]}, "'Drain' is not one of"),
        ({"restore": [{"kind": "address", "pool": POOL + "a"}]}, "restore: entry is missing"),
        ({"restore": [{"kind": "address", "pool": "https://elsewhere", "entry": {"a": 1}}]}, "is not the id of a pool"),
    ],
)
def test_given_an_invalid_value_when_it_is_read_then_it_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as error:
        read_order({"method": "membership", **options})

    assert message in str(error.value)


# readOnly in Microsoft's definition of a pool, and of what is in it.
READ_ONLY = {
    "backendIPConfigurations",
    "etag",
    "inboundNatRules",
    "inboundNatRulesPortMapping",
    "loadBalancingRules",
    "networkInterfaceIPConfiguration",
    "outboundRule",
    "outboundRules",
    "provisioningState",
    "type",
}


def with_rules(azure: Any) -> None:
    """Have the balancer send to a pool, as balancers do, with Microsoft's client."""
    balancers = azure.network.load_balancers
    front = balancers.get("rg", "front")
    pool_id, frontend = {"id": POOL + "apps"}, {"id": front.frontend_ip_configurations[0].id}
    ports = {"protocol": "Tcp", "frontendIPConfiguration": frontend, "backendPort": 80}
    front["properties"].update(
        loadBalancingRules=[
            {"name": "http", "properties": {**ports, "frontendPort": 80, "backendAddressPool": pool_id}},
            {"name": "https", "properties": {**ports, "frontendPort": 443, "backendAddressPools": [pool_id]}},
        ],
        outboundRules=[
            {
                "name": "out",
                "properties": {
                    "protocol": "All",
                    "frontendIPConfigurations": [frontend],
                    "backendAddressPool": pool_id,
                },
            }
        ],
        inboundNatRules=[{"name": "ssh", "properties": {**ports, "backendAddressPool": pool_id}}],
    )
    balancers.begin_create_or_update("rg", "front", front).result()


def keys_of(value: Any) -> set[str]:
    """All names in a document, at any depth."""
    if isinstance(value, dict):
        return {*value, *(key for one in value.values() for key in keys_of(one))}
    return {key for one in value for key in keys_of(one)} if isinstance(value, list) else set()


def test_given_a_pool_with_all_that_azure_adds_when_it_is_written_then_nothing_of_that_is_sent_back(
    azure: Any,
) -> None:
    with_rules(azure)
    read = azure.raw("GET", f"{POOL}apps?api-version=2024-05-01").json
    before = len(azure.sent("PUT"))

    removed = member(azure, vm_id=VM + "app_0", pools=[POOL + "apps"], method="admin_state", remove=True)
    written = [json.loads(one["body"]) for one in azure.sent("PUT")[before:]]

    assert removed.changed
    assert READ_ONLY - keys_of(read) == {"inboundNatRulesPortMapping"}
    assert written
    assert not {key for body in written for key in keys_of(body)} & READ_ONLY
