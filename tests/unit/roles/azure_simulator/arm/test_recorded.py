# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the simulator answer as Azure was recorded to?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.tests import recorded

Start = Callable[..., Any]

HEALTH = {"extensions": [{"name": "health", "properties": {"type": "ApplicationHealthLinux"}}]}
SETS = [
    {"name": "web", "terminate_notification": "PT5M"},
    {
        "name": "repaired",
        "properties": {
            "automaticRepairsPolicy": {"enabled": True},
            "virtualMachineProfile": {"extensionProfile": HEALTH},
        },
    },
    {
        "name": "bare",
        "orchestration_mode": "Flexible",
        "subscription_id": "11111111-aaaa-4bbb-8ccc-555555555555",
    },
]
VMS = [
    {"name": "web_{0..1}", "address": "127.0.78.0/28", "scale_set": "web"},
    {"name": "repaired_0", "address": "127.0.78.16", "scale_set": "repaired"},
    {"name": "api_0a2b3c4d", "address": "127.0.78.32", "scale_set": "api"},
    {"name": "spot_{0..1}", "address": "127.0.78.64/28", "scale_set": "spot", "spot": True},
    {"name": "db", "address": "127.0.78.96"},
]
PUBLISHED = {"eventGridAndResourceGraph": {"enable": True, "scheduledEventsApiVersion": "2020-07-01"}}
POLICY = {"scheduledEventsPolicy": {"scheduledEventsAdditionalPublishingTargets": PUBLISHED}}
ARM = {
    "scale_sets": SETS,
    "virtual_machines": [{"name": "db", "properties": POLICY}],
    "application_gateways": [{"name": "gate", "pools": {"apps": ["db"]}}],
    "load_balancers": [{"name": "front", "pools": {"apps": [], "data": ["db"]}}],
    "operation_seconds": 0,
    "retry_after": None,
}
VERSION = "2026-04-01"
PLACES = {
    "sets": ("Microsoft.Compute", "virtualMachineScaleSets"),
    "vm": ("Microsoft.Compute", "virtualMachines/db"),
    "gate": ("Microsoft.Network", "applicationGateways/gate"),
    "pool": ("Microsoft.Network", "loadBalancers/front/backendAddressPools/apps"),
}


def target(azure: Any, request: Mapping[str, Any], operation: str) -> str:
    """Where the request of a recording goes here."""
    where, _brace, tail = request["path"][1:].partition("}")
    if where == "operation":
        return operation + str(tail)
    if where == "graph":
        return f"/providers/Microsoft.ResourceGraph/resources?api-version={request['api_version']}"
    provider, resource = PLACES.get(where, ("Microsoft.Compute", f"virtualMachineScaleSets/{where}"))
    if "{event}" in tail:
        tail = tail.replace("{event}", azure.azure.event("Reboot", "db")["event_id"])
    version = request.get("api_version", VERSION)
    return str(azure.path(f"{resource}{tail}?api-version={version}", provider=provider))


@pytest.mark.parametrize("name", recorded.NAMES)
def test_given_a_request_that_was_recorded_when_it_is_made_here_then_the_answer_has_the_recorded_form(
    cloud: Start, name: str
) -> None:
    fixture = recorded.read(name)
    azure = cloud(vms=VMS, arm=ARM)
    if name == "notification_off":
        off = {"terminateNotificationProfile": {"enable": False, "notBeforeTimeout": "PT5M"}}
        body = {"properties": {"virtualMachineProfile": {"scheduledEventsProfile": off}}}
        azure.compute.virtual_machine_scale_sets.begin_update("rg", "web", body).result()
    if name == "flexible_sets_listed":
        azure.enable(scale_set="api")
    if "fault" in fixture:
        azure.azure.arm_fault(**fixture["fault"], count=1)
    operation = ""
    for exchange in fixture["exchanges"]:
        request, wanted = exchange["request"], exchange["answer"]
        answer = azure.raw(request["method"], target(azure, request, operation), request.get("body"))
        assert answer.status == wanted["status"], answer
        assert {header.lower() for header in wanted["headers"]} <= {header.lower() for header in answer.headers}
        if fixture["source"].startswith("recorded"):
            assert answer.headers.get("Retry-After") == wanted["headers"].get("Retry-After")
        if wanted["body"] is None:
            assert answer.body == b""
        else:
            assert recorded.differences(wanted["body"], answer.json) == []
        link = answer.headers.get("Azure-AsyncOperation") or answer.headers.get("Location") or operation
        operation = link.removeprefix(azure.azure.arm)


@pytest.mark.parametrize("name", recorded.NAMES)
def test_given_a_recording_then_it_says_in_one_line_where_it_is_from(name: str) -> None:
    source = recorded.read(name)["source"]
    assert "\n" not in source
    assert "Azure/azure-cli" in source or "https://" in source or "cloud-provider-azure" in source
