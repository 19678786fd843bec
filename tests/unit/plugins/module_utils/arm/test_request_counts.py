# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many requests does the work on a scale set cost? Azure counts them, and each number here may only become smaller.

An operation takes 10 seconds and an instance 30, Azure asks to be asked every 10 seconds, and time goes by only while
the client waits: so the numbers are the same on any machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm import rolling_upgrade, scale_set
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.client import ArmClient
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.notification import DesiredState

from .simulated_arm import client_to

Start = Callable[..., Any]

INSTANCES = 100
HEALTH = {"extensions": [{"name": "health", "properties": {"type": "ApplicationHealthLinux"}}]}
PACE = {"operation_seconds": 10, "instance_seconds": 30, "retry_after": None}


class Counting:
    """A simulator with one set of 100 instances, a client of ours, and a count of what that asks for."""

    def __init__(self, azure: Any, mode: str) -> None:
        self._azure = azure
        profile: dict[str, Any] = {
            "extensionProfile": HEALTH,
            "storageProfile": {"imageReference": {"publisher": "Canonical", "version": "latest"}},
        }
        body = {
            "location": "westeurope",
            "sku": {"name": "Standard_D2s_v5", "capacity": INSTANCES},
            "properties": {
                "orchestrationMode": mode,
                "upgradePolicy": {"mode": "Manual"},
                "virtualMachineProfile": profile,
            },
        }
        azure.compute.virtual_machine_scale_sets.begin_create_or_update("rg", "large", body, polling=False)
        azure.azure.advance(PACE["operation_seconds"])
        self._before = self._count()

    def __call__(self, work: Callable[[ArmClient], Any]) -> Any:
        """Do this, and return what it returns."""
        with client_to(self._azure, self._azure.azure.advance, timeout=3600) as client:
            return work(client)

    @property
    def sent(self) -> dict[str, int]:
        """How many requests there were of each method."""
        return dict(self._count() - self._before)

    def _count(self) -> Counter[str]:
        return Counter(one["method"] for one in self._azure.azure.log() if one.get("door") == "arm")


@pytest.fixture
def counting(cloud: Start) -> Callable[..., Counting]:
    """Start one: `counting("Uniform")`."""

    def start(mode: str) -> Counting:
        return Counting(cloud(vms=[{"name": "db", "address": "127.0.78.96"}], arm=PACE, speed=None), mode)

    return start


def announce(client: ArmClient) -> Any:
    return scale_set.notify(client, "rg", "large", DesiredState(True, 600), scale_set.Rollout("outdated"))


@pytest.mark.parametrize("mode", ["Uniform", "Flexible"])
def test_given_100_instances_when_all_are_brought_to_the_model_then_each_batch_of_20_costs_a_write_and_nine_reads(
    counting: Callable[..., Counting], mode: str
) -> None:
    count = counting(mode)
    assert len(count(announce).updated) == INSTANCES
    assert count.sent == {"GET": 5 + 5 * 9 + 1, "PATCH": 1, "POST": 5}


def test_given_100_instances_when_a_rolling_upgrade_has_nothing_to_do_then_it_costs_one_write_and_five_reads(
    counting: Callable[..., Counting],
) -> None:
    count = counting("Uniform")
    count(lambda client: rolling_upgrade.bring_to(client, "rg", "large", rolling_upgrade.STARTED))
    assert count.sent == {"GET": 5, "POST": 1}
