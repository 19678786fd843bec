# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role load_balancer_removal with pools of Azure's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import SUBSCRIPTION, Controller, Run

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers"
VM = f"{GROUP}/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/1"
GATEWAY = f"{GROUP}/Microsoft.Network/applicationGateways/gate"
POOL = f"{GROUP}/Microsoft.Network/loadBalancers/front/backendAddressPools/data"
ROLE = "foghorn.azure_events.load_balancer_removal"


class _Played:
    """All in one run of ansible-playbook; what Azure had at each moment, by its name."""

    def __init__(self, controller: Controller, directory: Path) -> None:
        self.controller = controller
        self.directory = directory
        self.run: Run | None = None

    def role(self, **options: Any) -> dict[str, Any]:
        return {"name": "Role", "ansible.builtin.include_role": {"name": ROLE, **options}}

    def look(self, moment: str) -> list[dict[str, Any]]:
        member = {"vm_id": VM}
        kept = {
            "content": "{{ looked.members | map(attribute='pool') | to_json }}",
            "dest": f"{self.directory}/{moment}",
        }
        return [
            {"name": "Look", "foghorn.azure_events.load_balancer_member_info": member, "register": "looked"},
            {"name": "Keep", "ansible.builtin.copy": {**kept, "mode": "0600"}, "check_mode": False},
        ]

    def pools(self, moment: str) -> list[str]:
        pools = json.loads((self.directory / moment).read_text())
        return [pool.rpartition("/")[2] for pool in pools]


def _behind_a_gateway(played: _Played, directory: Path) -> list[dict[str, Any]]:
    """Two machines of a batch leave. When they return, the inventory has given each the name of the other.

    One is back before the other, which has lost its record on the way. A third, which had left before, is deleted.
    """
    variables = {
        "load_balancer_removal_methods": ["suspended_repairs", "application_gateway"],
        "load_balancer_removal_azure_scale_set": VM.partition("/virtualMachines/")[0],
        "load_balancer_removal_gateway_addresses": ["{{ gate_address }}"],
        "load_balancer_removal_gateway_pools": [f"{GATEWAY}/backendAddressPools/data"],
        "load_balancer_removal_gateway_up_timeout": 60,
        "load_balancer_removal_connections_timeout": 0,
        "load_balancer_removal_azure_directory": f"{directory}/kept",
        "load_balancer_removal_state_directory": f"{directory}/state_{{{{ gate_address }}}}",
    }
    made = {"path": variables["load_balancer_removal_state_directory"], "state": "directory", "mode": "0700"}
    one, other = "127.0.79.1", "127.0.79.48"
    swapped = {
        "ansible.builtin.add_host": {"name": "{{ item.0 }}", "gate_address": "{{ item.1 }}"},
        "loop": [[one, other], [other, one]],
    }
    gone = {
        "load_balancer_removal_methods": ["suspended_repairs"],
        "load_balancer_removal_azure_vm_id": VM[:-1] + "9",
        "load_balancer_removal_state_directory": f"{directory}/gone",
    }
    lost = f"rm {directory}/kept/application_gateway_{other}_*.json"
    tasks = [
        {"name": "Make room", "ansible.builtin.file": made},
        {**played.role(), "vars": gone, "run_once": True},
        played.role(),
        {"name": "Swap their names", **swapped},
        {**played.role(tasks_from="restore"), "when": f"gate_address == '{one}'"},
        {"name": "Lose a record", "ansible.builtin.shell": lost, "run_once": True},
        {**played.role(tasks_from="restore"), "when": f"gate_address == '{other}'"},
    ]
    return [{"hosts": "gated", "connection": "local", "gather_facts": False, "vars": variables, "tasks": tasks}]


def _protected_by_somebody_else(played: _Played) -> list[dict[str, Any]]:
    """The instance is out and back again, and protected all the time."""
    instance = {"subscription_id": SUBSCRIPTION, "resource_group": "rg", "scale_set": "web", "instances": ["1"]}
    module = "foghorn.azure_events.vmss_instance_protection"
    alone = {"vars": {"load_balancer_removal_methods": ["instance_protection"]}}
    return [
        {"name": "Protect", module: {**instance, "scale_set_actions": True}},
        {**played.role(), **alone},
        {**played.role(tasks_from="restore"), **alone},
        {
            "name": "See it protected",
            module: {**instance, "scale_set_actions": True},
            "check_mode": True,
            "register": "protection",
            "failed_when": "protection is changed",
        },
        {"name": "Protect it no more", module: {**instance, "scale_set_actions": False}},
    ]


@pytest.fixture
def played(controller: Callable[..., Controller], tmp_path: Path) -> _Played:
    pools = {"data": ["web_1"], "other": ["web_1"]}
    gateway = {"name": "gate", "pools": {"data": ["web_0", "web_1", "db"]}}
    arm = {
        "load_balancers": [{"name": "front", "pools": pools}],
        "application_gateways": [gateway],
        "scale_sets": [{"name": "web", "properties": {"automaticRepairsPolicy": {"enabled": True}}}],
    }
    played = _Played(controller(arm=arm), tmp_path)
    back = played.role(tasks_from="restore")
    variables = {
        "load_balancer_removal_methods": ["instance_protection", "azure_load_balancer"],
        "load_balancer_removal_azure_vm_id": VM,
        "load_balancer_removal_azure_pools": [POOL],
        "load_balancer_removal_azure_directory": f"{tmp_path}/kept",
        "load_balancer_removal_state_directory": f"{tmp_path}/state",
    }
    lose = {"name": "Lose the record", "ansible.builtin.shell": f"rm {tmp_path}/kept/azure_load_balancer_*.json"}
    forge = {
        "name": "Say something else",
        "ansible.builtin.replace": {
            "path": f"{tmp_path}/state/azure_load_balancer.json",
            "regexp": "backendAddressPools/data",
            "replace": "backendAddressPools/other",
        },
    }
    unforge = {
        "name": "Say it as it was",
        "ansible.builtin.replace": {
            "path": f"{tmp_path}/state/azure_load_balancer.json",
            "regexp": "backendAddressPools/other",
            "replace": "backendAddressPools/data",
        },
    }
    refused = {
        "name": "Forged",
        "block": [back],
        "rescue": [{"name": "Say", "ansible.builtin.debug": {"msg": "REFUSED {{ ansible_failed_result.msg }}"}}],
    }
    away = {"load_balancer_removal_machine_is_away": True, "load_balancer_removal_methods": ["azure_load_balancer"]}
    tasks = [
        *_protected_by_somebody_else(played),
        played.role(),
        *played.look("removed"),
        lose,
        forge,
        refused,
        unforge,
        back,
        {**played.role(), "vars": away},
        # By its record alone, whatever the variables say by now.
        {**back, "vars": {**away, "load_balancer_removal_azure_pools": []}},
        *played.look("restored"),
    ]
    tasks += [
        {
            "name": "Know the machines behind the gateway",
            "ansible.builtin.add_host": {"name": "{{ item }}", "groups": "gated", "gate_address": "{{ item }}"},
            "loop": ["127.0.79.1", "127.0.79.48"],
        }
    ]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "vars": variables, "tasks": tasks}
    played.run = played.controller.run_playbook([play, *_behind_a_gateway(played, tmp_path)])
    assert played.run.code == 0, played.run.output
    return played


def test_given_a_pool_of_azure_when_a_machine_is_removed_and_restored_then_it_leaves_what_is_named_and_is_back(
    played: _Played,
) -> None:
    assert played.run is not None
    assert played.pools("removed") == ["other"]
    assert played.pools("restored") == ["other", "data"]
    # Out and back by what the machine says, which is believed for the pool that is named, and both while it is away.
    written = [(path, body) for method, path, body in played.controller.written() if method == "PUT"]
    bodies = [body for path, body in written if "/applicationGateways/" not in path]
    assert ["networkProfileConfiguration" in body for body in bodies] == [False] * 2 + [
        *(False, True, True, False, True, True)
    ]
    assert ['"protectFromScaleSetActions":true' in body for body in bodies] == [
        *(True, False),
        *(True, *[False] * 5),
    ]
    assert "REFUSED Change the pools of the machine: restore: " in played.run.output
    assert "is not one of pools, and is not joined" in played.run.output
    assert not list((played.directory / "kept").iterdir())
    assert not list((played.directory / "state").iterdir())
    # Out in one write, and back one after the other: the last by what it says itself. Nothing is repaired meanwhile.
    steps = [
        json.loads(body)["action"]
        if path.endswith("/setOrchestrationServiceState")
        else len(json.loads(body)["properties"]["backendAddressPools"][0]["properties"]["backendAddresses"])
        for _method, path, body in played.controller.written()
        if path.endswith("/setOrchestrationServiceState") or path == GATEWAY
    ]
    assert steps == ["Suspend", 1, 2, 3, "Resume"]
    assert "a gateway still drains: 127.0.79.48" in played.run.output
    assert not [left for state in played.directory.glob("state_*") for left in state.iterdir()]


def test_given_machines_that_say_which_vm_they_are_when_removed_then_azure_shows_whether_that_is_true(
    controller: Callable[..., Controller], tmp_path: Path
) -> None:
    azure = controller(arm={"load_balancers": [{"name": "front", "pools": {"data": ["web_1", "db"]}}]})
    variables = {
        "load_balancer_removal_methods": ["azure_load_balancer"],
        "load_balancer_removal_azure_directory": f"{tmp_path}/kept",
        "load_balancer_removal_state_directory": f"{tmp_path}/state",
        # Both say that they are web_1.
        "load_balancer_removal_azure_metadata": azure.azure.imds["web_1"],
    }
    known = {"ansible.builtin.add_host": {"name": "{{ item }}", "groups": "said"}}
    role = {"name": "Role", "ansible.builtin.include_role": {"name": ROLE}}
    plays = [
        {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "tasks": [{"name": "Know them", **known, "loop": ["127.0.79.2", "127.0.79.48"]}],
        },
        {"hosts": "said", "connection": "local", "gather_facts": False, "vars": variables, "tasks": [role]},
    ]

    run = azure.run_playbook(plays, ("--check",))

    assert run.code == 2, run.output
    assert "127.0.79.48 says that it is /subscriptions/" in run.output
    assert "that this VM has the private address 127.0.79.48. Set load_balancer_removal_azure_vm_id" in run.output
    recap = [line for line in run.output.splitlines() if line.startswith("127.0.79.")]
    assert ["failed=0" in line for line in recap] == [True, False], run.output


def test_given_a_lost_host_that_asks_azure_when_a_machine_is_removed_then_it_is_named_and_other_methods_are_tried(
    controller: Callable[..., Controller], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nowhere").touch()
    monkeypatch.setenv("FLEET_DOWN", str(tmp_path))
    variables = {
        "load_balancer_removal_methods": ["azure_load_balancer", "application_gateway", "health_probe"],
        "load_balancer_removal_azure_vm_id": VM,
        "load_balancer_removal_azure_host": "nowhere",
        "load_balancer_removal_state_directory": f"{tmp_path}/state",
        "load_balancer_removal_health_probe_file": f"{tmp_path}/out_of_rotation",
    }
    # Of an inventory: what an include names is not known to Ansible before a host is.
    hosts = [
        {"ansible.builtin.add_host": {"name": "nowhere"}},
        {"ansible.builtin.add_host": {"name": "machine", **variables}},
    ]
    role = {"name": "Role", "ansible.builtin.include_role": {"name": ROLE}}
    plays = [
        {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": hosts},
        {"hosts": "machine", "gather_facts": False, "ignore_unreachable": True, "tasks": [role]},
    ]

    run = controller(arm={}).run_playbook(plays)

    assert run.code == 2, run.output
    lost = "nowhere could not be reached to ask Azure"
    assert f"azure_load_balancer: Change the pools of the machine: {lost}" in run.output
    assert re.search(f"application_gateway: Find which pools of gateways [a-z, ]*: {lost}", run.output)
    assert (tmp_path / "out_of_rotation").exists()
