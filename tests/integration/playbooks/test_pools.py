# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook handle_events learns from Azure which hosts are in one pool, and asks once. Balancers that refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.playbooks.fleet import Fleet, published

LONG = 5000.0  # seconds, after which everything that is announced is over

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-131313131313"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourcegroups/rg/providers"
POOLS = f"{GROUP}/microsoft.network/loadbalancers/front/backendaddresspools"


def test_given_two_tiers_in_two_pools_that_are_not_named_when_all_are_hit_then_half_of_each_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    balancer = {"name": "front", "pools": {"web": ["vm_0", "vm_1"], "app": ["vm_2", "vm_3"]}}
    with Fleet(tmp_path, 59, 4, arm={"subscription_id": SUBSCRIPTION, "load_balancers": [balancer]}) as fleet:
        monkeypatch.setenv("FOGHORN_ARM_BASE_URL", fleet.azure.arm)
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", fleet.azure.imds["vm_0"])
        monkeypatch.setenv("ANSIBLE_AZURE_AUTH_SOURCE", "msi")
        for number, host in enumerate(fleet.hosts[index] for index in (0, 2, 1, 3)):
            host.variables["id"] = f"{GROUP}/Microsoft.Compute/virtualMachines/{host.vm.lower()}"
            fleet.event("Reboot", host, notice=3000 + 20 * number)

        run = fleet.start("handle_events", "--check", load_balancer_removal_methods=["azure_load_balancer"])
        # What a check does with a batch is shown elsewhere.
        run.wait_until(lambda: "PLAY [Take a batch through its maintenance]" in run.output)
        run.kill()

    assert f'"pool {POOLS}/web: 2 of 2 in service, 1 must stay"' in run.output
    assert f'"pool {POOLS}/app: 2 of 2 in service, 1 must stay"' in run.output
    assert '"Batch 1 of 2: host0, host2"' in run.output
    assert '"Batch 2 of 2: host1, host3"' in run.output


def test_given_balancers_that_refuse_when_hosts_are_hit_then_a_deleted_one_leaves_unprotected_and_others_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = {"load_balancers": [{"name": "front", "pools": {"web": ["vm_0"]}}], "operation_seconds": 0}
    with published(tmp_path, 60, 3, monkeypatch, arm=arm) as fleet:
        deleted, rebooted, _other = fleet.hosts
        deleted.variables |= {
            # Neither could protect it: it is in no scale set.
            "load_balancer_removal_methods": ["instance_protection", "suspended_repairs", "azure_load_balancer"],
            "load_balancer_removal_azure_directory": str(tmp_path / "azure"),
        }
        tried = tmp_path / "tried"
        fails_once = ["sh", "-c", f"test -e {tried} || {{ touch {tried}; exit 1; }}"]
        rebooted.variables |= {
            "load_balancer_removal_methods": ["command", "health_probe"],
            "load_balancer_removal_commands": [{"name": "lb", "remove": fails_once, "restore": ["true"]}],
        }
        events = [fleet.event("Terminate", deleted, notice=240), fleet.event("Reboot", rebooted, notice=240, impact=0)]
        run = fleet.start("handle_events", handle_events_minimum_in_service=0)
        run.wait_until(lambda: all(fleet.is_approved(event) for event in events))
        assert not any(host.is_serving() for host in (deleted, rebooted))
        fleet.azure.advance(LONG)

        assert run.finish() == 0, run.output
        assert rebooted.is_back()
    assert "FAILED! => " in run.output
    assert "WARNING: azure_load_balancer: " in run.report(deleted)
    assert "marked for deletion" in run.report(deleted)
    assert "repairs" not in run.report(deleted)
