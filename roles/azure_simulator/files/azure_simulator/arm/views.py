# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instance views: what runs, as far as Azure tells."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..world import DEALLOCATED, STOPPED
from .outcomes import FAILED, SUCCEEDED
from .resources import ComputeResources, Machine, ScaleSet, iso

REPAIRS = "AutomaticRepairs"
_POWER = {"rebooting": "starting", "redeploying": "starting", STOPPED: STOPPED, DEALLOCATED: DEALLOCATED}


def instance_view(machine: Machine, resources: ComputeResources) -> dict[str, Any]:
    """Of one machine. A frozen one looks running to Azure."""
    view: dict[str, Any] = {"computerName": machine.vm.computer_name, "statuses": _statuses(machine, resources)}
    if machine.window is not None:
        wall = resources.world.clock.wall
        view["maintenanceRedeployStatus"] = machine.window.show(resources.world.now, lambda at: iso(wall(at)))
    return view


def set_view(scale_set: ScaleSet, resources: ComputeResources) -> dict[str, Any]:
    """Of a scale set: how many instances are in which state, and what works for it in the background."""
    codes: Counter[str] = Counter()
    for machine in scale_set.machines.values():
        codes.update(status["code"] for status in _statuses(machine, resources))
    return {
        "virtualMachine": {"statusesSummary": [{"code": code, "count": count} for code, count in codes.items()]},
        "statuses": [_provisioning(scale_set.provisioning_state)],
        "orchestrationServices": [{"serviceName": REPAIRS, "serviceState": scale_set.repairs}],
    }


def power_state(machine: Machine, resources: ComputeResources) -> dict[str, Any]:
    """Whether one machine runs."""
    power = _POWER.get(resources.world.vms[machine.handle].state, "running")
    return {"code": f"PowerState/{power}", "level": "Info", "displayStatus": f"VM {power}"}


def _statuses(machine: Machine, resources: ComputeResources) -> list[dict[str, Any]]:
    return [_provisioning(machine.provisioning_state), power_state(machine, resources)]


def _provisioning(state: str) -> dict[str, Any]:
    return {
        "code": f"ProvisioningState/{state.lower()}",
        "level": "Error" if state == FAILED else "Info",
        "displayStatus": "Provisioning succeeded" if state == SUCCEEDED else state,
    }
