# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook handle_events learns from a real HAProxy which hosts do the same work."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.tests.integration.playbooks.fleet import Fleet, published

from .conftest import HEAD, Haproxy

TIERS = (
    HEAD
    + """
backend web
    server host0 {0}
    server host1 {1}

backend app
    server host2 {2}
    server host3 {3} check inter 100ms
"""
)

ONE_TIER = (
    TIERS.partition("backend")[0]
    + """
backend web
    server host0 {0}
    server host1 {1}
    server host2 {2}
"""
)


def test_given_two_tiers_behind_one_haproxy_when_all_are_hit_then_half_of_each_stays_and_the_balancer_is_left_alone(
    program: Path, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path, 33, 5)
    *servers, balancer = fleet.hosts
    with fleet, Haproxy.of(program, TIERS, [f"{host.address}:{host.port}" for host in servers]) as haproxy:
        balancer.variables = {"load_balancer_removal_methods": ["health_probe"]}
        first, second, third, fourth = servers
        for number, host in enumerate((first, third, second, fourth, balancer)):
            fleet.event("Reboot", host, notice=3000 + 20 * number)

        variables: dict[str, Any] = {
            "load_balancer_removal_methods": ["haproxy"],
            "load_balancer_removal_haproxy_hosts": [balancer.name],
            "load_balancer_removal_haproxy_socket": haproxy.socket,
        }
        run = fleet.start("handle_events", "--check", **variables)
        # What a check does with a batch is shown elsewhere.
        run.wait_until(lambda: "PLAY [Take a batch through its maintenance]" in run.output)
        run.kill()
        slice_status, of_slice = fleet.run("handle_events", "--limit", "host0,host2", **variables)

    assert '"backend web: 2 of 2 in service, 1 must stay"' in run.output
    assert '"backend app: 2 of 2 in service, 1 must stay"' in run.output
    assert '"Batch 1 of 2: host0, host2"' in run.output
    assert '"Batch 2 of 2: host1, host3"' in run.output
    assert f"{balancer.name}: left alone: it is a balancer for host0, host1, host2 and 1 more, and its own" in run.text
    assert slice_status != 0
    assert "backend web: the run has 1 of its 2 hosts, and not host1; backend app: the run has 1 of" in of_slice.text
    assert not any(host.marker.exists() or host.state.exists() for host in servers), of_slice.output


def test_given_a_run_that_died_with_two_of_three_servers_out_when_the_last_is_hit_then_both_are_back_before_it_leaves(
    program: Path, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path, 33, 4)
    *servers, balancer = fleet.hosts
    with fleet, Haproxy.of(program, ONE_TIER, [f"{host.address}:{host.port}" for host in servers]) as haproxy:
        brief = {"impact": 0, "linger": 5}
        ids = [fleet.event("Reboot", host, notice=900, **brief) for host in servers[1:]]
        variables: dict[str, Any] = {
            "handle_events_hosts": f"all:!{balancer.name}",
            "handle_events_minimum_in_service": 1,
            "load_balancer_removal_methods": ["haproxy"],
            "load_balancer_removal_haproxy_hosts": [balancer.name],
            "load_balancer_removal_haproxy_socket": haproxy.socket,
        }
        extra_vars = ("--extra-vars", json.dumps(variables))
        first = fleet.start("handle_events", *extra_vars)
        first.wait_until(lambda: all(map(fleet.is_approved, ids)))
        first.kill()
        fleet.azure.advance(10)
        last = fleet.event("Reboot", servers[0], notice=275, **brief)
        second = fleet.start("handle_events", *extra_vars)
        out = []
        while second.is_running():
            states = haproxy.admin_states()
            out.append([host.name for host in servers if states[f"web/{host.name}"]])
            if fleet.is_approved(last) and fleet.ask(servers[0]):
                fleet.azure.advance(10)
            second.wait_a_little()

        assert second.finish() == 0, second.output
        assert out[0] == ["host1", "host2"]
        assert ["host0"] in out
        assert [names for names in out if "host0" in names and len(names) > 1] == [], second.output
        assert all(host.is_back() for host in servers)


def test_given_a_redeployment_that_empties_the_disk_when_it_is_over_then_the_server_is_back(
    program: Path, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path, 33, 4)
    *servers, balancer = fleet.hosts
    with fleet, Haproxy.of(program, ONE_TIER, [f"{host.address}:{host.port}" for host in servers]) as haproxy:
        event = fleet.event("Redeploy", servers[0], notice=900, impact=0, linger=5)
        variables: dict[str, Any] = {
            "handle_events_hosts": f"all:!{balancer.name}",
            "load_balancer_removal_methods": ["haproxy"],
            "load_balancer_removal_haproxy_hosts": [balancer.name],
            "load_balancer_removal_haproxy_socket": haproxy.socket,
        }
        run = fleet.start("handle_events", "--extra-vars", json.dumps(variables))
        run.wait_until(lambda: fleet.is_approved(event))
        assert haproxy.admin_states()["web/host0"]
        # The record of the balancer, which is a machine of its own elsewhere, stays.
        for file in servers[0].state.iterdir():
            if not file.name.startswith("haproxy_"):
                file.unlink()
        fleet.azure.advance(10)

        assert run.finish() == 0, run.output
        assert not haproxy.admin_states()["web/host0"]


def test_given_one_of_two_haproxys_is_unreachable_when_a_server_is_hit_then_the_run_continues_and_names_it(
    program: Path, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path, 33, 6)
    *servers, balancer, lost = fleet.hosts
    with fleet, Haproxy.of(program, TIERS, [f"{host.address}:{host.port}" for host in servers]) as haproxy:
        fleet.take_down(lost)
        fleet.event("Reboot", servers[0], notice=3000)
        variables: dict[str, Any] = {
            "handle_events_hosts": f"all:!{balancer.name}:!{lost.name}",
            "load_balancer_removal_methods": ["haproxy"],
            "load_balancer_removal_haproxy_hosts": [balancer.name, lost.name],
            "load_balancer_removal_haproxy_socket": haproxy.socket,
        }
        status, run = fleet.run("handle_events", "--extra-vars", json.dumps(variables))

        assert status != 0, run.output
        assert f"{lost.name}: HAProxy was not asked: " in run.text
        assert '"backend web: 2 of 2 in service, 1 must stay"' in run.output
        # It could still send requests: nothing may be approved, and the server goes back in the other one.
        assert f"{lost.name}" in run.report(servers[0])
        assert not any(event["approvals"] for event in fleet.azure.status()["events"])
        assert servers[0].is_serving()


def test_given_haproxy_counts_the_servers_when_azure_is_asked_then_only_those_are_asked_that_are_hit_or_not_in_service(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with published(tmp_path, 33, 5, monkeypatch) as fleet, ExitStack() as stack:
        *servers, balancer = fleet.hosts
        addresses = [f"{host.address}:{host.port}" for host in servers]
        haproxy = stack.enter_context(Haproxy.of(program, TIERS, addresses))
        for host in servers:
            host.variables = {"handle_events_vm_id": host.variables["id"]}
        fleet.event("Reboot", servers[0], notice=3000)
        haproxy.ask(f"set server app/{servers[3].name} state maint")
        variables: dict[str, Any] = {
            "handle_events_ask": "azure",
            "handle_events_hosts": f"all:!{balancer.name}",
            "handle_events_out_directory": str(tmp_path / "out"),
            "load_balancer_removal_methods": ["haproxy"],
            "load_balancer_removal_haproxy_hosts": [balancer.name],
            "load_balancer_removal_haproxy_socket": haproxy.socket,
        }
        status, run = fleet.run("handle_events", "--check", "--extra-vars", json.dumps(variables))

        assert status == 0, run.output
        assert [host.name for host in servers if fleet.looks(host)] == ["host0", "host3"]
        assert "1 asked themselves, because HAProxy does not have them in service: host3" in run.output
        # The others still count.
        assert '"backend web: 2 of 2 in service, 1 must stay"' in run.output
        assert '"backend app: 1 of 2 in service, 1 must stay"' in run.output
        assert '"Batch 1 of 1: host0"' in run.output


def test_given_hosts_that_are_renamed_or_made_again_when_run_again_then_each_server_is_restored_or_named(
    program: Path, tmp_path: Path
) -> None:
    vms = [
        {"name": f"vm_{number}", "address": f"127.0.33.{number + 1}", "availability_set": "web"} for number in range(5)
    ]
    again = {"name": "vm_2_again", "address": "127.0.33.99", "availability_set": "web"}
    fleet = Fleet(tmp_path, 33, 5, vms=[*vms, again])
    renamed, other, made_again, lost, balancer = fleet.hosts
    with fleet, Haproxy.of(program, TIERS, [f"{host.address}:{host.port}" for host in fleet.hosts[:4]]) as haproxy:
        haproxy.ask("set server web/host0 weight 30")
        events = [fleet.event("Reboot", host, notice=600, impact=0) for host in (renamed, made_again)]
        variables: dict[str, Any] = {
            "handle_events_hosts": f"all:!{balancer.name}",
            "load_balancer_removal_methods": ["haproxy"],
            "load_balancer_removal_haproxy_hosts": [balancer.name],
            "load_balancer_removal_haproxy_socket": haproxy.socket,
        }
        first = fleet.start("handle_events", "--extra-vars", json.dumps(variables))
        first.wait_until(lambda: all(fleet.is_approved(event) for event in events))
        first.kill()
        fleet.azure.advance(2000)
        # Another plugin of the inventory gives one its full name, and its old name to the other.
        renamed.name, other.name = "host0.example.com", "host0"
        # The disk of one is new, and what the balancer has of it is left.
        for path in made_again.state.iterdir():
            if not path.name.startswith("haproxy_"):
                path.unlink()
        made_again.variables["handle_events_endpoint"] = fleet.azure.imds["vm_2_again"]
        subprocess.run(made_again.service("start"), check=True)
        # And of one, nobody has written down how it was.
        lost.claim("handle_events")
        haproxy.ask("set server app/host3 state maint")

        status, run = fleet.run(
            "handle_events", "--extra-vars", json.dumps({**variables, "handle_events_break_leases": True})
        )

        assert status == 0, run.output
        assert haproxy.admin_states() == {"web/host0": 0, "web/host1": 0, "app/host2": 0, "app/host3": 1}, run.output
        assert haproxy.ask("get weight web/host0").startswith("30 ")
        for host in (renamed, made_again):
            assert (
                f'"{host.name}: no event: already out when the run began; no event is pending any more; restored"'
                in run.text
            )
        assert f"still out in HAProxy: {balancer.name}: app/host3 is in maintenance" in run.text
        assert not any(host.state.exists() for host in fleet.hosts)
