# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an Application Gateway says of its servers, and what it shows that the simulator does not."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm import gateway
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError

from .scripted_arm import Step, dialogue, ok, refused

POOL = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/applicationGateways/gate/backendAddressPools/"
RECORD = {"kind": "address", "pool": POOL + "apps", "entry": {"ipAddress": "10.0.0.4"}}


def health(*states: str, address: str = "10.0.0.4", pool: str = "apps") -> dict[str, Any]:
    """A pool's, with the states of one server by several backend settings."""
    return {
        "backendAddressPool": {"id": (POOL + pool).upper()},
        "backendHttpSettingsCollection": [{"servers": [{"address": address, "health": state}]} for state in states],
    }


@pytest.mark.parametrize("states", [("Up", "Down"), ("Down", "Up")])
def test_given_a_server_that_is_healthy_in_some_settings_only_then_it_is_not_up(states: tuple[str, ...]) -> None:
    assert list(gateway._states({"backendAddressPools": [health(*states)]}, RECORD)) == [("10.0.0.4", "Down")]


@pytest.mark.parametrize("state", ["Up", "Healthy"])
def test_given_a_server_that_is_healthy_in_all_settings_then_it_is_up(state: str) -> None:
    assert list(gateway._states({"backendAddressPools": [health("Up", state)]}, RECORD)) == [("10.0.0.4", "Up")]


def test_given_other_servers_and_pools_then_they_are_ignored() -> None:
    others = [health("Down", address="10.0.0.5"), health("Down", pool="spare"), {"backendAddressPool": None}]

    assert list(gateway._states({"backendAddressPools": others}, RECORD)) == []


def test_given_a_server_without_health_information_then_its_health_is_unknown() -> None:
    servers = [{"address": "10.0.0.4"}]
    silent = {"backendAddressPool": {"id": POOL + "apps"}, "backendHttpSettingsCollection": [{"servers": servers}]}

    assert list(gateway._states({"backendAddressPools": [silent]}, RECORD)) == [("10.0.0.4", "Unknown")]


def test_given_a_server_that_is_not_healthy_when_it_is_waited_for_then_azures_reason_is_reported() -> None:
    blocked = "The backend health status could not be retrieved. A firewall blocks traffic on ports 65200-65535."
    settings = {"servers": [{"address": "10.0.0.4", "health": "Unhealthy", "healthProbeLog": blocked}]}
    told = {"backendAddressPool": {"id": POOL + "apps"}, "backendHttpSettingsCollection": [settings]}
    with (
        dialogue(ok({"backendAddressPools": [told]})) as (_arm, client),
        pytest.raises(ArmError, match=r"10\.0\.0\.4 \(Unhealthy: The backend health status could not be .*65535\)"),
    ):
        gateway._wait(gateway._Gateways(client), [RECORD], out=False, seconds=0)


def test_given_names_that_are_read_only_elsewhere_when_a_gateway_is_written_then_they_are_sent_back() -> None:
    tokens = {"tenantId": "home", "clientId": "shop", "unAuthorizedRequestAction": "Deny"}
    ids = {"principalId": "p", "clientId": "c"}
    shown: dict[str, Any] = {
        "id": POOL.rpartition("/backendAddressPools/")[0],
        "location": "westeurope",
        "tags": {"clientId": "42", "etag": "none", "type": "web"},
        "identity": {"type": "UserAssigned", "tenantId": "home", **ids, "userAssignedIdentities": {"/of/keys": ids}},
        "properties": {
            "backendAddressPools": [{"name": "apps", "properties": {"backendAddresses": [RECORD["entry"]]}}],
            "entraJWTValidationConfigs": [
                {"id": "/tokens", "name": "tokens", "properties": {"provisioningState": "Succeeded", **tokens}}
            ],
        },
    }
    with dialogue(ok(copy.deepcopy(shown)), ok(shown)) as (arm, client):
        assert gateway._Gateways(client).edit(shown["id"], [RECORD], out=True, failures=[], dry_run=False)
    (body,) = map(json.loads, arm.sent("PUT"))
    assert body["properties"]["entraJWTValidationConfigs"] == [
        {"id": "/tokens", "name": "tokens", "properties": tokens}
    ]
    assert body["tags"] == shown["tags"]
    assert body["identity"] == {"type": "UserAssigned", "userAssignedIdentities": {"/of/keys": {}}}


TWO_FIREWALLS = "ApplicationGatewayWafConfigurationCannotBeChangedWithWafPolicy"


@pytest.mark.parametrize(
    "answers",
    [
        [refused(400, TWO_FIREWALLS)],
        [
            ok({}, Azure_AsyncOperation="{base}/operation"),
            ok({"status": "Failed", "error": {"code": TWO_FIREWALLS, "message": "so it is"}}),
        ],
    ],
)
def test_given_a_gateway_with_firewall_settings_beside_a_policy_then_the_error_says_which_to_remove(
    answers: list[Step],
) -> None:
    pools = [{"name": "apps", "properties": {"backendAddresses": [RECORD["entry"]]}}]
    with (
        dialogue(ok({"properties": {"backendAddressPools": pools}}), *answers) as (_arm, client),
        pytest.raises(ArmError, match=r"so it is\. Its webApplicationFirewallConfiguration .* set it to null"),
    ):
        gateway._Gateways(client).edit(
            POOL.rpartition("/backendAddressPools/")[0], [RECORD], out=True, failures=[], dry_run=False
        )
