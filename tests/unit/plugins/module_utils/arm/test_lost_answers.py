# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change that Azure made and whose answer is lost is reported as a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm import (
    acknowledgement,
    gateway,
    membership,
    notification,
    policy,
    protection,
    repairs,
    rolling_upgrade,
    scale_set,
    virtual_machine,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.client import ArmClient
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.machines import read_references
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.selection import Selection

from tests.simulated_cloud import SUBSCRIPTION, lagging

from .simulated_arm import client_to

Start = Callable[..., Any]
Work = Callable[[ArmClient], Any]

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers"
VM = f"{GROUP}/Microsoft.Compute/virtualMachines/app_0"
INSTANCE = f"{GROUP}/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/1"
POOL = f"{GROUP}/Microsoft.Network/loadBalancers/front/backendAddressPools/apps"
GATEWAY_POOL = f"{GROUP}/Microsoft.Network/applicationGateways/gate/backendAddressPools/apps"
CLOUD: dict[str, Any] = {
    "load_balancers": [{"name": "front", "pools": {"web": ["web_1"], "apps": ["app_0", "app_1"]}}],
    "application_gateways": [{"name": "gate", "pools": {"apps": ["app_0", "app_1"]}}],
    "scale_sets": [{"name": "web", "properties": {"automaticRepairsPolicy": {"enabled": True}}}],
    "virtual_machines": [
        {
            "name": "db",
            "properties": {
                "scheduledEventsPolicy": {
                    "scheduledEventsAdditionalPublishingTargets": {
                        "eventGridAndResourceGraph": {"enable": True, "scheduledEventsApiVersion": "2020-07-01"}
                    }
                }
            },
        }
    ],
}
RESET: Mapping[str, Any] = {"kind": "reset", "applied": True}
LOST: list[Mapping[str, Any]] = [
    RESET,
    {"kind": "truncate"},
    {"kind": "garbage", "applied": True},
    {"kind": "status", "status": 502, "applied": True},
    {"kind": "status", "status": 504, "applied": True},
]


def leave(pool_of: str, method: str) -> tuple[Work, Callable[[ArmClient, Any], Any]]:
    """A machine leaves its pools, and comes back."""

    def out(client: ArmClient) -> Any:
        options = {"vm_id": pool_of, "method": method, "remove": True}
        return membership.carry_out(client, membership.read_order(options))

    def back(client: ArmClient, done: Any) -> Any:
        return membership.carry_out(client, membership.read_order({"method": method, "restore": done.before}))

    return out, back


def leave_gateway() -> tuple[Work, Callable[[ArmClient, Any], Any]]:
    """An address leaves a pool of a gateway, and comes back."""
    there = {"kind": "address", "pool": GATEWAY_POOL, "entry": {"ipAddress": "127.0.78.129"}}

    def act(client: ArmClient, **options: Any) -> Any:
        return gateway.carry_out(client, gateway.read_order({"wait": False, "wait_timeout": 60.0, **options}))

    return (lambda client: act(client, remove=[there])), (lambda client, _done: act(client, restore=[there]))


def with_lost(azure: Any, fault: Mapping[str, Any], work: Work) -> Any:
    """Do this, while the answer to the first write is lost."""
    details = dict(fault)
    azure.azure.arm_fault(details.pop("kind"), methods=["PUT", "PATCH", "POST"], count=1, **details)
    try:
        with client_to(azure) as client:
            return work(client)
    finally:
        assert azure.azure.status()["arm"]["faults"] == []


@pytest.mark.parametrize(
    ("out", "back"),
    [
        leave(VM, "membership"),
        leave(INSTANCE, "membership"),
        leave(VM, "admin_state"),
        leave_gateway(),
    ],
    ids=["interface", "instance", "admin state", "gateway"],
)
def test_given_a_pool_when_a_machine_leaves_and_comes_back_then_both_are_changes(
    cloud: Start, out: Work, back: Callable[[ArmClient, Any], Any]
) -> None:
    azure = cloud(arm=CLOUD)

    left = with_lost(azure, RESET, out)
    assert left.changed
    returned = with_lost(azure, RESET, lambda client: back(client, left))

    assert returned.changed


def protected(client: ArmClient) -> tuple[bool, Any, Any]:
    (done,) = protection.protect(client, "rg", "web", ["1"], {"scale_set_actions": True}).instances
    return done["changed"], done["before"]["scale_set_actions"], done["after"]["scale_set_actions"]


def suspended(client: ArmClient) -> tuple[bool, Any, Any]:
    done = repairs.set_state(client, "rg", "web", repairs.SUSPENDED)
    return done.changed, done.before, done.after


def announced(client: ArmClient) -> tuple[bool, Any, Any]:
    done = scale_set.notify(client, "rg", "web", notification.DesiredState(True, 600))
    return done.changed, done.before.terminate.enable, done.after.terminate.enable


def announced_of_vm(client: ArmClient) -> tuple[bool, Any, Any]:
    done = virtual_machine.notify(client, "rg", "db", notification.DesiredState(True, 600))
    return done.changed, done.before.terminate.enable, done.after.terminate.enable


def approving_reboots(client: ArmClient, kind: str = policy.SCALE_SET, name: str = "web") -> tuple[bool, Any, Any]:
    approval = next(iter(policy.APPROVALS))
    done = policy.set_policy(client, policy.KINDS[kind], "rg", name, policy.read_desired_state({approval: True}))
    return done.changed, done.before[approval], done.after[approval]


def approving_reboots_of_vm(client: ArmClient) -> tuple[bool, Any, Any]:
    return approving_reboots(client, policy.VIRTUAL_MACHINE, "app_0")


@pytest.mark.parametrize(
    ("work", "before", "after"),
    [
        (protected, False, True),
        (suspended, repairs.RUNNING, repairs.SUSPENDED),
        (announced_of_vm, False, True),
        (approving_reboots, False, True),
        (approving_reboots_of_vm, False, True),
    ],
)
def test_given_a_setting_when_it_is_changed_then_what_was_before_is_reported(
    cloud: Start, work: Work, before: Any, after: Any
) -> None:
    assert with_lost(cloud(arm=CLOUD), RESET, work) == (True, before, after)


@pytest.mark.parametrize("fault", LOST, ids=str)
def test_given_any_loss_when_a_setting_is_changed_then_what_was_before_is_reported(
    cloud: Start, fault: Mapping[str, Any]
) -> None:
    assert with_lost(cloud(arm=CLOUD), fault, announced) == (True, False, True)


def test_given_an_event_when_it_is_acknowledged_then_it_is_approved(cloud: Start) -> None:
    azure = cloud(arm=CLOUD)
    event = azure.azure.event("Reboot", "db")

    done = with_lost(
        azure,
        # Not the question for the events, which is a POST as well.
        {**RESET, "paths": ["*/acknowledge"]},
        lambda client: acknowledgement.acknowledge(client, [], Selection(), read_references(["db"]), "own"),
    )

    assert [one["event_id"].lower() for one in done.approved] == [event["event_id"].lower()]


@pytest.mark.parametrize("fault", LOST, ids=str)
def test_given_a_rolling_upgrade_when_it_is_started_then_it_is_found_and_not_started_again(
    cloud: Start, fault: Mapping[str, Any]
) -> None:
    azure = cloud(arm=lagging("web_0", "web_1"))

    done = with_lost(
        azure, fault, lambda client: rolling_upgrade.bring_to(client, "rg", "web", rolling_upgrade.STARTED)
    )

    assert done.changed
    assert done.reason is None
    assert done.upgrade.is_completed
    started = [one for one in azure.azure.log() if one.get("path", "").endswith("/osRollingUpgrade")]
    assert len(started) == 1
