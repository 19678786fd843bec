# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks with several hosts of which one fails or is lost."""

from __future__ import annotations

import json
from collections.abc import Callable

from ansible_collections.foghorn.azure_events.plugins.module_utils import claims

from tests.integration.playbooks.fleet import Fleet

MakeFleet = Callable[[int], Fleet]


def test_given_a_host_that_fails_when_another_is_drained_or_restored_with_it_then_the_other_goes_on_and_no_lease_stays(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(2)
    stuck, other = fleet.hosts
    for host in fleet.hosts:
        command = ["sh", "-c", f"test ! -e {host.directory}/$0"]
        host.variables |= {
            "load_balancer_removal_methods": ["command", "health_probe"],
            "load_balancer_removal_commands": [
                {"name": "edge", "remove": [*command, "out"], "restore": [*command, "in"]}
            ],
        }
    together = [
        "-e",
        json.dumps({"drain_hosts": "all", "restore_hosts": "all", "drain_serial": 2, "restore_serial": 2}),
    ]

    (stuck.directory / "out").touch()
    failed, drained = fleet.run("drain", *together)
    is_out = other.marker.exists() and (other.state / "command.places").exists()
    leases = [claims.read(str(host.state)).lease for host in fleet.hosts]
    (stuck.directory / "out").unlink()
    fleet.run("drain", *together)
    (stuck.directory / "in").touch()
    failed_again, restored = fleet.run("restore", *together)

    assert (failed, failed_again) == (2, 2)
    assert is_out
    assert not (other.state / "command.places").exists()
    # Nobody is refused for a run that has ended.
    assert leases + [claims.read(str(host.state)).lease for host in fleet.hosts] == [None] * 4
    for run in (drained, restored):
        assert "sh ended with exit status 1" in run.text
        assert "undefined" not in run.text


def test_given_a_host_that_becomes_unreachable_when_drained_then_the_remaining_hosts_are_not_changed(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(3)
    lost, *others = fleet.hosts
    fleet.take_down(lost)

    code, run = fleet.run("drain", "-e", "drain_hosts=all")

    assert code != 0
    assert all(host.is_back() for host in others)
    assert "host0: not drained" in run.text


def test_given_an_unreachable_host_when_rehearsed_then_no_simulator_is_set_up(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(2)
    fleet.take_down(fleet.hosts[0])

    code, run = fleet.run(
        "rehearse",
        *("-e", "rehearse_hosts=all", "-e", "rehearse_confirmed=true"),
        rehearse_event_type="Reboot",
        rehearse_deploy=True,
        rehearse_endpoint="http://127.0.31.200:8080",
    )

    assert code != 0
    assert "unreachable=1" in run.text
    assert "failed=1" not in run.text
