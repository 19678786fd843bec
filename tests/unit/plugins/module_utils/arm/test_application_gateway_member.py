# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""application_gateway_member against the simulator, read back by azure-mgmt-network."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError, NotFound, Unfinished
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.gateway import (
    GatewayChange,
    carry_out,
    find,
    read_order,
    read_search,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from .simulated_arm import Rest, client_to, rest_a_little

Start = Callable[..., Any]

GATE = {"application_gateways": [{"name": "gate", "pools": {"apps": ["app_0", "app_1", "db"], "spare": []}}]}
GROUP = "/subscriptions/11111111-aaaa-4bbb-8ccc-555555555555/resourceGroups/rg/providers/"
VM = GROUP + "Microsoft.Compute/virtualMachines/"
INSTANCE = GROUP + "Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/1"
GATEWAY = GROUP + "Microsoft.Network/applicationGateways/gate"
POOL = GATEWAY + "/backendAddressPools/"
APPS = [POOL + "apps"]
ADDRESSES = {"db": "127.0.78.96", "app_0": "127.0.78.129", "app_1": "127.0.78.130"}


@pytest.fixture
def azure(cloud: Start) -> Any:
    return cloud(arm=GATE)


def member(azure: Any, dry_run: bool = False, rest: Rest = rest_a_little, **options: Any) -> GatewayChange:
    """What the module does, given its options."""
    order = read_order({"wait": False, "wait_timeout": 60.0, **options})
    with client_to(azure, rest) as client:
        return carry_out(client, order, dry_run)


def pools_of(azure: Any, **options: Any) -> list[dict[str, Any]]:
    """What application_gateway_member_info returns, given its options."""
    with client_to(azure) as client:
        return find(client, read_search(options))


def found(azure: Any, *names: str) -> list[dict[str, Any]]:
    return [record for name in names for record in pools_of(azure, vm_id=VM + name, pools=APPS)]


def addresses(azure: Any) -> set[str]:
    """Who is in the pool, as Microsoft's client reads it."""
    pools = azure.network.application_gateways.get("rg", "gate").backend_address_pools
    return {one.ip_address or one.fqdn for one in pools[0].backend_addresses or []}


def written(azure: Any) -> list[dict[str, Any]]:
    """What was written to the gateway."""
    return [json.loads(one["body"]) for one in azure.sent("PUT") if one["path"].partition("?")[0] == GATEWAY]


def edit(azure: Any, **properties: Any) -> None:
    """Change the gateway with Microsoft's client."""
    gateways = azure.network.application_gateways
    gateway = gateways.get("rg", "gate")
    gateway["properties"].update(properties)
    gateways.begin_create_or_update("rg", "gate", gateway).result()


def test_given_a_batch_when_it_is_removed_and_restored_then_one_write_takes_all_out_and_one_puts_exactly_these_back(
    azure: Any,
) -> None:
    records = found(azure, "app_0", "db")

    assert [record["servers"] for record in records] == [[ADDRESSES["app_0"]], [ADDRESSES["db"]]]
    assert member(azure, remove=records).changed
    assert addresses(azure) == {ADDRESSES["app_1"]}
    assert not member(azure, remove=records[:1]).changed
    assert member(azure, restore=records).changed
    assert not member(azure, restore=records[1:]).changed
    assert addresses(azure) == set(ADDRESSES.values())
    assert len(written(azure)) == 2


def test_given_a_name_in_the_pool_when_it_is_removed_and_restored_then_its_entry_returns_unchanged(
    azure: Any,
) -> None:
    edit(azure, backendAddressPools=[{"name": "apps", "properties": {"backendAddresses": [{"fqdn": "App_0.example"}]}}])

    records = pools_of(azure, addresses=["app_0.EXAMPLE"], pools=APPS)

    assert [(record["kind"], record["entry"]) for record in records] == [("address", {"fqdn": "App_0.example"})]
    member(azure, remove=records)
    assert addresses(azure) == set()
    member(azure, restore=records, addresses=["app_0.example"])
    assert addresses(azure) == {"App_0.example"}


@pytest.mark.parametrize("vm_id", [VM + "api_0a2b3c4d", INSTANCE])
def test_given_a_member_by_interface_when_it_is_removed_and_restored_then_the_interface_is_written_and_not_the_gateway(
    azure: Any, vm_id: str
) -> None:
    name = "interface" if vm_id != INSTANCE else "instance"
    nic = vm_id.replace("Compute/virtualMachines", "Network/networkInterfaces") + "-nic"
    resource = nic if name == "interface" else vm_id
    version = "2024-05-01" if name == "interface" else "2024-07-01"
    document = azure.raw("GET", f"{resource}?api-version={version}").json
    holder = document["properties"]
    if name == "instance":
        holder = holder["networkProfileConfiguration"]["networkInterfaceConfigurations"][0]["properties"]
    holder["ipConfigurations"][0]["properties"]["applicationGatewayBackendAddressPools"] = [{"id": POOL + "spare"}]
    assert azure.raw("PUT", f"{resource}?api-version={version}", document).status == 200

    records = pools_of(azure, vm_id=vm_id)

    assert [(one["kind"], one["pool"], one["resource"]) for one in records] == [(name, POOL + "spare", resource)]
    assert member(azure, remove=records, vm_id=vm_id).changed
    assert pools_of(azure, vm_id=vm_id) == []
    assert member(azure, restore=records, wait=True).changed
    assert pools_of(azure, vm_id=vm_id) == records
    assert written(azure) == []


def test_given_check_mode_when_members_are_removed_or_restored_then_it_says_so_and_writes_nothing(azure: Any) -> None:
    records = found(azure, "app_0")
    gone = [{**records[0], "entry": {"ipAddress": "127.0.78.99"}}]

    assert member(azure, remove=records, dry_run=True).changed
    assert not member(azure, restore=records, dry_run=True).changed
    assert member(azure, restore=gone, dry_run=True, wait=True).changed
    assert azure.sent("PUT") == []
    assert azure.sent("POST") == []


def test_given_what_azure_works_out_itself_when_the_gateway_is_written_then_it_is_left_out_and_all_else_stays(
    azure: Any,
) -> None:
    edit(azure, sslCertificates=[{"name": "site", "properties": {"data": "c2VjcmV0", "password": "secret"}}])
    before = azure.network.application_gateways.get("rg", "gate").as_dict()

    member(azure, remove=found(azure, "app_0"))

    body = written(azure)[-1]
    assert body["location"] == before["location"]
    assert not {"etag", "type", "operationalState", "provisioningState"} & {*body, *body["properties"]}
    assert [sorted(one) for one in body["properties"]["sslCertificates"]] == [["id", "name", "properties"]]
    assert body["properties"]["sslCertificates"][0]["properties"] == {}
    after = azure.network.application_gateways.get("rg", "gate")
    assert after.ssl_certificates[0].public_cert_data == "MIIC"
    assert after.sku.as_dict() == before["properties"]["sku"]


def test_given_another_writer_when_a_member_is_removed_then_his_change_stays(azure: Any) -> None:
    records = found(azure, "app_0")
    azure.azure.arm_fault("concurrent_edit", count=1)

    member(azure, remove=records)

    assert addresses(azure) == {ADDRESSES["app_1"], ADDRESSES["db"]}
    assert len(written(azure)) == 2  # the first was refused, with 412


def test_given_our_write_when_it_is_superseded_by_one_that_reverts_it_then_it_is_done_again(cloud: Start) -> None:
    azure = cloud(arm=GATE, speed=None)
    path = GATEWAY + "?api-version=2024-05-01"
    old = azure.raw("GET", path).json
    records = found(azure, "app_0")
    rests = []

    def rest(_seconds: float) -> None:
        rests.append(len(written(azure)))
        if len(rests) == 1:
            azure.azure.advance(2)
            # Somebody who heeds no ETag, and knows nothing of ours.
            assert azure.raw("PUT", path, old).status == 200
        azure.azure.advance(30)

    assert member(azure, remove=records, rest=rest).changed
    assert addresses(azure) == {ADDRESSES["app_1"], ADDRESSES["db"]}
    assert len(written(azure)) == 3


def test_given_a_write_that_azure_accepts_and_fails_when_it_is_wanted_again_then_it_is_written_again(
    azure: Any,
) -> None:
    records = found(azure, "app_0")
    azure.azure.arm_fault("operation", outcome="Failed", code="InternalServerError", message="It broke.", count=1)
    with pytest.raises(ArmError, match="the operation ended as Failed"):
        member(azure, remove=records)

    assert member(azure, remove=records).changed
    assert not member(azure, remove=records).changed


def test_given_an_update_that_is_seen_when_a_member_is_removed_then_it_is_not_cancelled(cloud: Start) -> None:
    azure = cloud(arm=GATE, speed=None)
    path = GATEWAY + "?api-version=2024-05-01"
    where = azure.raw("PUT", path, azure.raw("GET", path).json).headers["Azure-AsyncOperation"]

    member(azure, remove=found(azure, "app_0"), rest=lambda _seconds: azure.azure.advance(30))

    assert azure.raw("GET", where.removeprefix(azure.azure.arm)).json["status"] == "Succeeded"


def test_given_a_gateway_that_is_stopped_when_a_member_is_removed_then_it_is_left_alone(azure: Any) -> None:
    records = found(azure, "app_0")
    azure.network.application_gateways.begin_stop("rg", "gate").result()

    with pytest.raises(ArmError, match="is stopped, and Azure would start it"):
        member(azure, remove=records)
    assert written(azure) == []


def test_given_connections_that_end_when_a_member_is_removed_then_it_waits_until_it_is_drained(cloud: Start) -> None:
    azure = cloud(arm=GATE, speed=None)
    records = found(azure, "app_0")

    change = member(azure, remove=records, wait=True, rest=lambda _seconds: azure.azure.advance(15))

    assert change.remaining == []
    # Its connectionDraining is a minute, and each poll is an operation of its own.
    assert sum("/backendhealth" in one["path"] for one in azure.sent("POST")) > 1


def test_given_connections_that_do_not_end_when_time_is_over_then_it_says_where(azure: Any) -> None:
    settings = azure.network.application_gateways.get("rg", "gate").as_dict()["properties"][
        "backendHttpSettingsCollection"
    ]
    settings[0]["properties"]["connectionDraining"]["drainTimeoutInSec"] = 3600
    edit(azure, backendHttpSettingsCollection=settings)

    change = member(azure, remove=found(azure, "app_0"), wait=True, wait_timeout=0.0)

    assert (change.changed, change.remaining) == (True, [ADDRESSES["app_0"]])


def test_given_a_member_that_does_not_serve_when_it_is_restored_then_that_is_an_error_that_names_it(
    azure: Any,
) -> None:
    records = found(azure, "app_0", "app_1")
    member(azure, remove=records)
    azure.azure.event("Reboot", "app_0", status="Started", impact=3600, linger=3600)

    with pytest.raises(
        Unfinished, match=r"within 0 s: 127\.0\.78\.129 \(Unhealthy: Cannot connect to server\)"
    ) as error:
        member(azure, restore=records, wait=True, wait_timeout=0.0)
    assert error.value.outcome.changed
    assert addresses(azure) == set(ADDRESSES.values())


def test_given_a_cloud_that_lags_behind_when_a_gateway_is_read_then_its_newest_version_is_used(azure: Any) -> None:
    message = (
        "No registered resource provider found for location 'westeurope' and API version '2026-03-01' for type "
        "'applicationGateways'. The supported api-versions are '2021-05-01, 2024-05-01, 2024-07-01-preview'."
    )
    azure.azure.arm_fault(
        "error",
        error="not_found",
        paths=["*/applicationGateways/*"],
        count=1,
        code="NoRegisteredProviderFound",
        message=message,
    )

    assert len(found(azure, "app_0")) == 1
    asked = [one for one in azure.azure.log() if "/applicationGateways/" in one.get("path", "")]
    assert [one["api_version"] for one in asked] == ["2026-03-01", "2024-05-01"]


def test_given_a_missing_pool_when_it_is_read_then_the_error_says_which_ones_exist(cloud: Start) -> None:
    with pytest.raises(NotFound, match="It has apps, spare"):
        pools_of(cloud(arm=GATE), vm_id=VM + "app_0", pools=[POOL + "none"])


def test_given_pools_that_no_longer_exist_when_members_are_restored_then_the_others_are_back_and_all_are_named(
    azure: Any,
) -> None:
    records = found(azure, "app_0", "db")
    member(azure, remove=records)
    by_interface = {"kind": "interface", "resource": GROUP + "Microsoft.Network/networkInterfaces/lost"}
    gone = [{**by_interface, "pool": APPS[0]}, {**records[0], "pool": POOL + "gone"}]

    with pytest.raises(Unfinished, match=r"lost.*; .*gone") as error:
        member(azure, restore=[*gone, *records])
    assert error.value.outcome.changed
    assert addresses(azure) == set(ADDRESSES.values())
    # A write takes minutes.
    assert len(written(azure)) == 2


def test_given_records_of_another_machine_when_the_machine_is_named_then_they_are_refused(azure: Any) -> None:
    with pytest.raises(OptionError, match="does not belong to the machine that"):
        member(azure, restore=found(azure, "app_1"), vm_id=VM + "app_0")


RECORD = {"kind": "address", "pool": POOL + "apps", "entry": {"ipAddress": "10.0.0.4"}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give exactly one"),
        ({"vm_id": "web-3", "remove": [RECORD]}, "vm_id: 'web-3' is not the id of a VM"),
        ({"remove": [RECORD], "restore": [RECORD]}, "give exactly one"),
        ({"remove": [RECORD], "pools": [POOL + "spare"]}, "remove: .* is not one of pools"),
        ({"remove": [RECORD], "wait_timeout": -1.0}, "wait_timeout: -1 is less than 0"),
        ({"restore": [{**RECORD, "kind": "admin_state"}]}, "restore: kind 'admin_state'"),
        ({"restore": [{**RECORD, "pool": "apps"}]}, "restore: pool: 'apps' is not the id of a pool"),
        ({"restore": [{**RECORD, "entry": {}}]}, "restore: entry has neither ipAddress nor fqdn"),
        ({"remove": [{**RECORD, "kind": "instance", "resource": VM + "x"}]}, "remove: resource .* is not the id of"),
    ],
)
def test_given_invalid_options_when_read_then_the_option_and_the_remedy_are_named(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        read_order({"wait": True, "wait_timeout": 60.0, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "vm_id, addresses: set at least one"),
        ({"pools": [POOL + "apps"]}, "vm_id, addresses: set at least one"),
        ({"vm_id": "web-3"}, "vm_id: 'web-3' is not the id of a VM"),
        ({"vm_id": INSTANCE, "pools": []}, "pools: is empty"),
        ({"vm_id": INSTANCE, "pools": [VM]}, "pools: .* is not the id of a pool"),
        ({"addresses": ["10.0.0.4"]}, "addresses: needs pools"),
    ],
)
def test_given_an_invalid_search_when_read_then_the_option_and_the_remedy_are_named(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        read_search(options)
