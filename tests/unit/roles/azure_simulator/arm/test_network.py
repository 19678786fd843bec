# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interfaces, load balancers and application gateways, driven by azure-mgmt-network."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

from tests.simulated_cloud import vm_of

from ..conftest import eventually
from ..test_balancer import Backend

Start = Callable[..., Any]

POOLS = {
    "load_balancers": [
        {"name": "front", "pools": {"web": ["web_0", "web_1"], "apps": ["app_0", "app_1"], "empty": []}}
    ],
    "application_gateways": [{"name": "gate", "pools": {"apps": ["app_0", "app_1"]}}],
}


@pytest.fixture
def azure(cloud: Start) -> Any:
    return cloud(arm=POOLS)


def members(azure: Any, pool: str = "apps") -> dict[str, Any]:
    found = azure.network.load_balancer_backend_address_pools.get("rg", "front", pool)
    return {vm_of(address): address.admin_state for address in found.load_balancer_backend_addresses or []}


def test_given_pools_when_read_then_load_balancer_and_pools_show_their_members(azure: Any) -> None:
    balancer = azure.network.load_balancers.get("rg", "front")
    assert [pool.name for pool in balancer.backend_address_pools] == ["web", "apps", "empty"]
    assert members(azure) == {"app_0": None, "app_1": None}
    assert list(members(azure, "web")) == ["web_0", "web_1", "web_2", "web_3"]
    pools = azure.network.load_balancer_backend_address_pools.list("rg", "front")
    assert [pool.name for pool in pools] == ["web", "apps", "empty"]
    assert [one.name for one in azure.network.load_balancers.list("rg")] == ["front"]
    assert [one.name for one in azure.network.load_balancers.list_all()] == ["front"]


def test_given_members_by_interface_then_their_names_in_the_pool_are_azures(azure: Any) -> None:
    pools = azure.network.load_balancer_backend_address_pools
    of_vm, of_instance = (pools.get("rg", "front", name).load_balancer_backend_addresses[0] for name in ("apps", "web"))
    assert of_vm.name == "rg_app_0-nicipconfig1"
    assert str(uuid.UUID(of_instance.name)) == of_instance.name


def test_given_a_write_of_a_pool_when_it_has_ended_then_the_etag_is_another_one(cloud: Start) -> None:
    azure = cloud(arm=POOLS, speed=None)
    path = azure.path(
        "loadBalancers/front/backendAddressPools/apps?api-version=2024-05-01", provider="Microsoft.Network"
    )
    written = azure.raw("PUT", path, azure.raw("GET", path).json)
    azure.azure.advance(60)
    assert written.json["properties"]["provisioningState"] == "Updating"
    # Only its answer to a GET has the header.
    assert "ETag" not in written.headers
    assert written.json["etag"] != azure.raw("GET", path).json["etag"] == azure.raw("GET", path).headers["ETag"]


def test_given_an_interface_when_its_pool_is_taken_out_and_restored_then_the_balancer_follows(azure: Any) -> None:
    nics = azure.network.network_interfaces
    nic = nics.get("rg", "app_0-nic")
    pools = nic.ip_configurations[0].load_balancer_backend_address_pools
    assert [pool.id.rpartition("/")[2] for pool in pools] == ["apps"]
    nic.ip_configurations[0].load_balancer_backend_address_pools = []
    changed = nics.begin_create_or_update("rg", "app_0-nic", nic).result()
    assert (changed.provisioning_state, changed.etag != nic.etag) == ("Succeeded", True)
    assert changed.virtual_machine.id.endswith("/virtualMachines/app_0")
    assert members(azure) == {"app_1": None}
    changed.ip_configurations[0].load_balancer_backend_address_pools = pools
    nics.begin_create_or_update("rg", "app_0-nic", changed).result()
    assert members(azure) == {"app_0": None, "app_1": None}


def test_given_an_old_etag_when_an_interface_is_put_then_412_with_the_networks_own_details(azure: Any) -> None:
    nics = azure.network.network_interfaces
    nic = nics.get("rg", "app_0-nic")
    assert nic.etag.startswith('W/"')
    azure.azure.arm_fault("concurrent_edit", count=1)
    with azure.refuses(412, "PreconditionFailed") as refusal:
        nics.begin_create_or_update("rg", "app_0-nic", nic, headers={"If-Match": nic.etag})
    assert [detail.code for detail in refusal.value.error.details] == ["PreconditionFailedEtagMismatch"]
    fresh = nics.get("rg", "app_0-nic")
    nics.begin_create_or_update("rg", "app_0-nic", fresh, headers={"If-Match": fresh.etag}).result()


def test_given_a_vm_that_is_being_deleted_when_it_or_its_interface_is_written_then_that_fails_until_it_stays(
    azure: Any,
) -> None:
    nic = azure.network.network_interfaces.get("rg", "app_0-nic")
    pool = azure.network.load_balancer_backend_address_pools.get("rg", "front", "apps")
    termination = azure.azure.event("Terminate", "app_0")

    accepted = azure.network.network_interfaces.begin_create_or_update("rg", "app_0-nic", nic)
    with pytest.raises(HttpResponseError, match="since the VM is marked for deletion"):
        accepted.result()
    pool.load_balancer_backend_addresses[0].admin_state = "Down"
    with azure.refuses(409, "OperationNotAllowed"):
        azure.network.load_balancer_backend_address_pools.begin_create_or_update("rg", "front", "apps", pool)
    azure.azure.withdraw(termination["event_id"])
    azure.network.network_interfaces.begin_create_or_update("rg", "app_0-nic", nic).result()


def test_given_a_missing_pool_when_an_interface_names_it_then_400(azure: Any) -> None:
    nic = azure.network.network_interfaces.get("rg", "app_0-nic")
    pool = nic.ip_configurations[0].load_balancer_backend_address_pools[0]
    pool.id = pool.id.replace("/apps", "/none")
    with azure.refuses(400, "InvalidResourceReference"):
        azure.network.network_interfaces.begin_create_or_update("rg", "app_0-nic", nic)


def test_given_an_interface_without_a_configuration_when_put_then_400(azure: Any) -> None:
    nic = azure.network.network_interfaces.get("rg", "db-nic")
    nic.ip_configurations = []
    with azure.refuses(400, "NetworkInterfaceMustHaveAtLeastOneIpConfiguration"):
        azure.network.network_interfaces.begin_create_or_update("rg", "db-nic", nic)


def test_given_a_put_when_answered_then_it_is_updating_with_azure_asyncoperation(cloud: Start) -> None:
    azure = cloud(arm=POOLS, speed=None)
    path = azure.path("networkInterfaces/db-nic?api-version=2024-05-01", provider="Microsoft.Network")
    nic = azure.raw("GET", path)
    assert nic.headers["ETag"] == nic.json["etag"]
    answer = azure.raw("PUT", path, nic.json)
    assert (answer.status, answer.json["properties"]["provisioningState"]) == (200, "Updating")
    where = answer.headers["Azure-AsyncOperation"]
    assert "/providers/Microsoft.Network/locations/westeurope/operations/" in where
    azure.azure.advance(5)
    assert azure.raw("GET", where.removeprefix(azure.azure.arm)).json["status"] == "Succeeded"
    assert azure.raw("GET", path).json["properties"]["provisioningState"] == "Succeeded"


def test_given_a_vm_when_it_is_gone_then_its_interface_is_gone(azure: Any) -> None:
    names = [nic.name for nic in azure.network.network_interfaces.list("rg")]
    assert names == [f"{vm}-nic" for vm in ("api_0a2b3c4d", "api_1a2b3c4d", "db", "app_0", "app_1")]
    azure.compute.virtual_machines.begin_delete("rg", "app_0").result()
    with pytest.raises(ResourceNotFoundError):
        azure.network.network_interfaces.get("rg", "app_0-nic")
    assert members(azure) == {"app_1": None}


def test_given_a_flexible_set_when_it_grows_then_the_new_vm_has_an_interface_in_the_sets_pools(cloud: Start) -> None:
    azure = cloud(arm={"load_balancers": [{"name": "front", "pools": {"api": ["api_0a2b3c4d"]}}]})
    before = set(members(azure, "api"))
    azure.compute.virtual_machine_scale_sets.begin_update("rg", "api", {"sku": {"capacity": 3}}).result()
    assert len(set(members(azure, "api")) - before) == 1


def test_given_instances_of_a_uniform_set_when_their_interfaces_are_read_then_they_cannot_be_written(
    azure: Any,
) -> None:
    nics = azure.network.network_interfaces
    (nic,) = nics.list_virtual_machine_scale_set_vm_network_interfaces("rg", "web", "0")
    one = nics.get_virtual_machine_scale_set_network_interface("rg", "web", "0", nic.name)
    assert one.ip_configurations[0].load_balancer_backend_address_pools[0].id.endswith("/backendAddressPools/web")
    path = azure.path(f"virtualMachineScaleSets/web/virtualMachines/0/networkInterfaces/{nic.name}")
    assert azure.raw("PUT", f"{path}?api-version=2018-10-01", {}).status == 405


@pytest.mark.parametrize("state", ["Down", "Up", "None"])
def test_given_an_admin_state_when_put_then_it_is_kept_and_members_are_not_touched(azure: Any, state: str) -> None:
    pools = azure.network.load_balancer_backend_address_pools
    pool = pools.get("rg", "front", "apps")
    pool.load_balancer_backend_addresses[1].admin_state = state
    pools.begin_create_or_update("rg", "front", "apps", pool).result()
    assert members(azure) == {"app_0": None, "app_1": state} or members(azure) == {"app_0": "None", "app_1": state}


def test_given_an_invalid_admin_state_when_put_then_400(azure: Any) -> None:
    pools = azure.network.load_balancer_backend_address_pools
    pool = pools.get("rg", "front", "apps")
    pool.load_balancer_backend_addresses[1].admin_state = "Drain"
    with pytest.raises(HttpResponseError) as refusal:
        pools.begin_create_or_update("rg", "front", "apps", pool)
    assert refusal.value.status_code == 400


def health(azure: Any) -> dict[str, str]:
    found = azure.network.application_gateways.begin_backend_health("rg", "gate").result()
    (pool,) = found.backend_address_pools
    servers = pool.backend_http_settings_collection[0].servers
    assert all(bool(server.health_probe_log) == (server.health == "Unhealthy") for server in servers)
    return {server.address: server.health for server in servers}


def test_given_a_gateway_when_a_member_is_taken_out_then_it_drains_first(azure: Any) -> None:
    assert health(azure) == {"127.0.78.129": "Healthy", "127.0.78.130": "Healthy"}
    gateways = azure.network.application_gateways
    gateway = gateways.get("rg", "gate")
    del gateway.backend_address_pools[0].backend_addresses[0]
    gateway.backend_http_settings_collection[0].connection_draining.drain_timeout_in_sec = 3600
    changed = gateways.begin_create_or_update("rg", "gate", gateway).result()
    assert len(changed.backend_address_pools[0].backend_addresses) == 1
    assert health(azure) == {"127.0.78.130": "Healthy", "127.0.78.129": "Draining"}
    assert [one.name for one in gateways.list("rg")] == ["gate"] == [one.name for one in gateways.list_all()]


def test_given_a_reboot_when_a_gateways_health_is_read_then_the_member_is_down_and_a_stranger_is_unknown(
    azure: Any,
) -> None:
    azure.azure.event("Reboot", "app_0", status="Started", impact=3600, linger=3600)
    gateway = azure.network.application_gateways.get("rg", "gate")
    gateway.backend_address_pools[0].backend_addresses.append({"ipAddress": "127.0.78.200"})
    azure.network.application_gateways.begin_create_or_update("rg", "gate", gateway).result()
    assert health(azure) == {"127.0.78.129": "Unhealthy", "127.0.78.130": "Healthy", "127.0.78.200": "Unknown"}


def test_given_a_gateway_that_is_updating_when_put_again_then_the_first_is_canceled_and_superseded(
    cloud: Start,
) -> None:
    azure = cloud(arm=POOLS, speed=None)
    gateways = azure.network.application_gateways
    gateway = gateways.get("rg", "gate")
    path = azure.path("applicationGateways/gate?api-version=2024-05-01", provider="Microsoft.Network")
    first = azure.raw("PUT", path, azure.raw("GET", path).json).headers["Azure-AsyncOperation"]
    azure.azure.advance(2)
    assert gateways.get("rg", "gate").provisioning_state == "Succeeded"  # which does not say that it is done
    gateways.begin_create_or_update("rg", "gate", gateway, polling=False)
    ended = azure.raw("GET", first.removeprefix(azure.azure.arm)).json
    assert ended["status"] == "Canceled"
    assert [one["code"] for one in ended["error"]["details"]] == ["CanceledAndSupersededDueToAnotherOperation"]


def test_given_an_interface_when_it_names_a_gateways_pool_then_the_gateway_has_it_and_drains_it_when_it_goes(
    azure: Any,
) -> None:
    nics, gateways = azure.network.network_interfaces, azure.network.application_gateways
    gateway = gateways.get("rg", "gate")
    gateway.backend_address_pools[0].backend_addresses = []
    gateway.backend_http_settings_collection[0].connection_draining.enabled = False
    gateway = gateways.begin_create_or_update("rg", "gate", gateway).result()
    nic = nics.get("rg", "db-nic")
    nic.ip_configurations[0].application_gateway_backend_address_pools = [{"id": gateway.backend_address_pools[0].id}]
    nic = nics.begin_create_or_update("rg", "db-nic", nic).result()
    assert health(azure) == {"127.0.78.96": "Healthy"}
    gateway = gateways.get("rg", "gate")
    (member,) = gateway.backend_address_pools[0].backend_ip_configurations
    assert member.id.endswith("/networkInterfaces/db-nic/ipConfigurations/ipconfig1")
    gateway.backend_http_settings_collection[0].connection_draining = {"enabled": True, "drainTimeoutInSec": 3600}
    gateways.begin_create_or_update("rg", "gate", gateway).result()
    assert health(azure) == {"127.0.78.96": "Healthy"}  # a gateway's own write does not say who joins by interface
    nic.ip_configurations[0].application_gateway_backend_address_pools = []
    nics.begin_create_or_update("rg", "db-nic", nic).result()
    assert health(azure) == {"127.0.78.96": "Draining"}


def test_given_a_certificate_when_the_gateway_is_put_as_it_was_read_then_it_stays_and_a_new_one_needs_its_data(
    azure: Any,
) -> None:
    gateways = azure.network.application_gateways
    gateway = gateways.get("rg", "gate")
    gateway.ssl_certificates = [{"name": "site", "properties": {"data": "c2VjcmV0", "password": "secret"}}]
    gateways.begin_create_or_update("rg", "gate", gateway).result()
    gateway = gateways.get("rg", "gate")
    (certificate,) = gateway.ssl_certificates
    assert (certificate.data, certificate.password, certificate.public_cert_data) == (None, None, "MIIC")
    changed = gateways.begin_create_or_update("rg", "gate", gateway).result()
    assert changed.ssl_certificates[0].public_cert_data == "MIIC"
    gateway.ssl_certificates = [{"name": "other", "properties": {}}]
    with azure.refuses(400, "ApplicationGatewaySslCertificateDataMustBeSpecified"):
        gateways.begin_create_or_update("rg", "gate", gateway)


def test_given_a_gateway_that_is_stopped_when_it_is_put_then_it_runs_again(azure: Any) -> None:
    gateways = azure.network.application_gateways
    gateways.begin_stop("rg", "gate").result()
    gateway = gateways.get("rg", "gate")
    assert gateway.operational_state == "Stopped"
    assert gateways.begin_create_or_update("rg", "gate", gateway).result().operational_state == "Running"
    gateways.begin_stop("rg", "gate").result()
    gateways.begin_start("rg", "gate").result()
    assert gateways.get("rg", "gate").operational_state == "Running"


def test_given_missing_names_when_read_then_404(cloud: Start) -> None:
    network = cloud(arm=POOLS).network
    for read in (
        lambda: network.load_balancers.get("rg", "none"),
        lambda: network.load_balancer_backend_address_pools.get("rg", "front", "none"),
        lambda: network.application_gateways.get("rg", "none"),
        lambda: network.network_interfaces.get_virtual_machine_scale_set_network_interface("rg", "web", "0", "none"),
        lambda: list(network.network_interfaces.list_virtual_machine_scale_set_vm_network_interfaces("rg", "web", "9")),
    ):
        with pytest.raises(ResourceNotFoundError):
            read()


@pytest.mark.parametrize(("kept", "added"), [(2, ["127.0.78.96"]), (1, []), (0, ["127.0.78.96"])])
def test_given_a_pool_by_interface_when_other_members_are_put_then_400(azure: Any, kept: int, added: list[str]) -> None:
    pools = azure.network.load_balancer_backend_address_pools
    entries = [one.as_dict() for one in pools.get("rg", "front", "apps").load_balancer_backend_addresses[:kept]]
    entries += [{"name": "x", "properties": {"ipAddress": address}} for address in added]
    with azure.refuses(400, "ModificationOfNICIpConfigBackendPoolNotSupported"):
        pools.begin_create_or_update("rg", "front", "apps", {"properties": {"loadBalancerBackendAddresses": entries}})
    assert members(azure) == {"app_0": None, "app_1": None}


def test_given_an_address_that_is_missing_when_put_in_a_pool_then_400(azure: Any) -> None:
    body = {"properties": {"loadBalancerBackendAddresses": [{"name": "x", "properties": {"adminState": "Down"}}]}}
    with azure.refuses(400, "InvalidRequestFormat"):
        azure.network.load_balancer_backend_address_pools.begin_create_or_update("rg", "front", "empty", body)


def test_given_rules_that_send_to_a_pool_when_it_is_read_then_it_names_them(azure: Any) -> None:
    balancer = azure.network.load_balancers.get("rg", "front")
    pool = {"id": balancer.backend_address_pools[1].id}
    balancer.outbound_rules = [
        {"name": name, "properties": {"backendAddressPool": of, "protocol": "All", "frontendIPConfigurations": []}}
        for name, of in (("out", pool), ("other", {"id": balancer.backend_address_pools[0].id}))
    ]
    azure.network.load_balancers.begin_create_or_update("rg", "front", balancer).result()
    found = azure.network.load_balancer_backend_address_pools.get("rg", "front", "apps")
    assert [rule.id.rpartition("/")[2] for rule in found.outbound_rules] == ["out"]
    assert found.outbound_rule.id == found.outbound_rules[0].id
    assert found.load_balancing_rules is None


def test_given_a_uniform_set_when_its_interfaces_are_listed_then_each_instance_has_its_own(cloud: Start) -> None:
    nics = list(cloud().network.network_interfaces.list_virtual_machine_scale_set_network_interfaces("rg", "web"))
    owners = [nic.virtual_machine.id.rpartition("/virtualMachines/")[2] for nic in nics]
    addresses = [nic.ip_configurations[0].private_ip_address for nic in nics]
    assert owners == ["0", "1", "2", "3"]
    assert len(set(addresses)) == 4


def test_given_a_flexible_set_when_its_interfaces_are_asked_for_as_instances_then_that_is_refused(cloud: Start) -> None:
    azure = cloud()
    nics = azure.network.network_interfaces
    with azure.refuses(400, "OperationNotAllowed"):
        list(nics.list_virtual_machine_scale_set_network_interfaces("rg", "api"))
    with azure.refuses(400, "OperationNotAllowed"):
        list(nics.list_virtual_machine_scale_set_vm_network_interfaces("rg", "api", "api_0a2b3c4d"))


# -- who is served ------------------------------------------------------------------------------------------


@pytest.fixture
def backends() -> Iterator[dict[str, Backend]]:
    with ExitStack() as stack:
        servers = {name: Backend(name, f"127.0.78.{number}") for name, number in (("app_0", 129), ("app_1", 130))}
        for server in servers.values():
            stack.callback(server.stop)
        yield servers


@pytest.fixture
def balanced(cloud: Start, backends: dict[str, Backend]) -> Callable[..., tuple[Any, Callable[[], set[str]]]]:
    """Start a balancer of a pool: `balanced("front/apps")`; returns Azure, and what tells who is in rotation."""

    def start(pool: str, **more: Any) -> tuple[Any, Callable[[], set[str]]]:
        data_path = {
            "name": "data-path",
            "listen": "127.0.0.1:0",
            "pool": pool,
            "probe": {"path": "/readyz", "interval": 0.1, "timeout": 10},
            "members": [{"vm": name, "port": server.port} for name, server in backends.items()],
        }
        azure = cloud(arm=POOLS, load_balancers=[data_path], **more)

        def rotation() -> set[str]:
            found = azure.azure.status()["load_balancers"]["data-path"]["members"]
            return {name for name, one in found.items() if one["healthy"]}

        return azure, rotation

    return start


def test_given_a_balancer_of_a_gateways_pool_when_a_member_leaves_or_the_gateway_stops_then_new_flows_follow(
    balanced: Start,
) -> None:
    azure, rotation = balanced("gate/apps")
    eventually(lambda: rotation() == {"app_0", "app_1"})
    gateways = azure.network.application_gateways
    gateway = gateways.get("rg", "gate")
    # A name begins with the VM's, and is as good as its address.
    gateway.backend_address_pools[0].backend_addresses = [{"fqdn": "app_1.example.com"}]
    gateways.begin_create_or_update("rg", "gate", gateway).result()
    assert rotation() == {"app_1"}
    nic = azure.network.network_interfaces.get("rg", "app_0-nic")
    nic.ip_configurations[0].application_gateway_backend_address_pools = [{"id": gateway.backend_address_pools[0].id}]
    azure.network.network_interfaces.begin_create_or_update("rg", "app_0-nic", nic).result()
    assert rotation() == {"app_0", "app_1"}
    gateways.begin_stop("rg", "gate").result()
    assert rotation() == set()


@pytest.mark.parametrize(
    ("state", "probe", "before", "after"),
    [("Up", 503, {"app_1"}, {"app_0", "app_1"}), ("Down", 200, {"app_0", "app_1"}, {"app_1"})],
)
def test_given_an_admin_state_when_the_probe_says_something_else_then_the_state_counts(
    balanced: Start, backends: dict[str, Backend], state: str, probe: int, before: set[str], after: set[str]
) -> None:
    azure, rotation = balanced("front/apps")
    backends["app_0"].probe_status = probe
    eventually(lambda: rotation() == before)
    pools = azure.network.load_balancer_backend_address_pools
    pool = pools.get("rg", "front", "apps")
    pool.load_balancer_backend_addresses[0].admin_state = state
    pools.begin_create_or_update("rg", "front", "apps", pool).result()
    assert rotation() == after


def test_given_a_balancer_of_a_pool_by_address_when_it_is_changed_then_new_flows_follow(balanced: Start) -> None:
    azure, rotation = balanced("front/empty")
    address = {"name": "x", "properties": {"ipAddress": "127.0.78.130"}}
    body = {"properties": {"loadBalancerBackendAddresses": [address]}}
    azure.network.load_balancer_backend_address_pools.begin_create_or_update("rg", "front", "empty", body).result()
    eventually(lambda: rotation() == {"app_1"})


def test_given_an_operation_that_has_not_ended_when_a_vm_was_removed_then_it_is_still_served(balanced: Start) -> None:
    azure, rotation = balanced("front/apps", speed=None)
    eventually(lambda: rotation() == {"app_0", "app_1"})
    path = azure.path("networkInterfaces/app_0-nic?api-version=2024-05-01", provider="Microsoft.Network")
    nic = azure.raw("GET", path).json
    nic["properties"]["ipConfigurations"][0]["properties"]["loadBalancerBackendAddressPools"] = []
    azure.raw("PUT", path, nic)
    assert rotation() == {"app_0", "app_1"}
    azure.azure.advance(5)
    assert rotation() == {"app_1"}
