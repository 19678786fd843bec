# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks drain and restore, and through them the roles on their own."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.playbooks.fleet import Fleet, Host

MakeFleet = Callable[[int], Fleet]


def probe_of(host: Host) -> dict[str, Any]:
    """Variables by which the role looks at the host's probe endpoint itself."""
    return {
        "load_balancer_removal_health_probe_url": f"http://{host.address}:{host.port}/readyz",
        "load_balancer_removal_health_probe_url_timeout": 2,
    }


def test_given_chosen_hosts_when_drained_and_restored_twice_each_then_all_is_as_before_and_nothing_is_done_twice(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(3)
    host, without_service, other = fleet.hosts
    without_service.stop()
    both = ("-e", "drain_hosts=host0:host1", "-e", "restore_hosts=host0:host1")

    status, run = fleet.run("drain", *both, drain_serial=2)
    assert status == 0, run.output
    assert host.marker.exists()
    assert without_service.marker.exists()
    assert not host.is_serving()
    assert other.is_back()
    assert fleet.run("drain", *both, drain_serial=2)[1].changes(host) == 0

    status, run = fleet.run("restore", *both, restore_serial=2)
    assert status == 0, run.output
    assert host.is_back()
    assert not without_service.marker.exists()
    assert not without_service.is_serving()
    assert fleet.run("restore", *both, restore_serial=2)[1].changes(host) == 0


def test_given_an_established_connection_when_drained_then_time_runs_out_and_that_is_no_failure(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(1)
    host = fleet.hosts[0]
    with socket.create_connection((host.address, host.port)):
        status, run = fleet.run(
            "drain", "-e", "drain_hosts=all", load_balancer_removal_connections_timeout=2, **probe_of(host)
        )

    assert status == 0, run.output
    assert f"Time ran out, connections remain: {host.address} port {host.port}" in run.output
    # The way back is seen at the endpoint, too.
    status, run = fleet.run("restore", "-e", "restore_hosts=all", **probe_of(host))
    assert status == 0, run.output
    assert re.search(r"See the probe endpoint succeed\] \**\nok:", run.output)


def test_given_a_stop_that_hangs_when_drained_then_it_is_ended_in_time_and_named(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(1)
    services = [{"name": "stuck", "status": ["true"], "stop": ["sleep", "600"], "start": ["true"], "timeout": 1}]

    status, run = fleet.run(
        "drain", "-e", "drain_hosts=all", graceful_shutdown_services=services, load_balancer_removal_methods=[]
    )

    assert status == 2
    assert "These services did not stop: stuck (out of time)" in run.output


SYSTEMCTL = """#!/bin/sh
test "$1" = show || exit 99
case "$5" in
nginx) printf 'LoadState=loaded\\nActiveState=inactive\\n' ;;
*) printf 'LoadState=not-found\\nActiveState=inactive\\n' ;;
esac
"""


def test_given_a_unit_that_systemd_does_not_know_when_drained_then_it_is_named_and_nothing_is_stopped(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(1)
    host = fleet.hosts[0]
    systemctl = fleet.path / "bin" / "systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text(SYSTEMCTL)
    systemctl.chmod(0o755)
    web = {"name": "web", **{command: host.service(command) for command in ("status", "stop", "start")}}
    services = [web, {"name": "nginx"}, {"name": "ngnix"}]

    status, run = fleet.run(
        "drain", "-e", "drain_hosts=all", graceful_shutdown_services=services, load_balancer_removal_methods=[]
    )

    assert status == 2
    assert "systemd knows no ngnix. Name the unit" in run.text
    assert host.is_serving()


def test_given_a_stop_that_succeeds_and_stops_nothing_when_drained_then_it_is_named(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(1)
    services = [{"name": "deaf", "status": ["true"], "stop": ["true"], "start": ["true"]}]

    status, run = fleet.run(
        "drain", "-e", "drain_hosts=all", graceful_shutdown_services=services, load_balancer_removal_methods=[]
    )

    assert status == 2
    assert "These services run on although their stop succeeded: deaf" in run.text


def test_given_no_hosts_when_drained_then_the_missing_variable_is_named(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(1)

    status, run = fleet.run("drain")

    assert status != 0
    assert "drain_hosts is not set: name the hosts to drain" in run.output
    assert fleet.hosts[0].is_back()


@pytest.mark.parametrize("playbook", ["drain", "restore"])
def test_given_hosts_that_are_not_there_when_drained_or_restored_then_the_run_fails_naming_them(
    make_fleet: MakeFleet, playbook: str
) -> None:
    status, run = make_fleet(1).run(playbook, "-e", f"{playbook}_hosts=hots0")

    assert status == 2, run.output
    assert f"{playbook}_hosts: no host of the inventory is hots0" in run.text


@pytest.mark.parametrize("means", ["absent", "command"])
def test_given_other_means_than_a_file_that_is_there_when_drained_and_restored_then_all_is_as_before(
    make_fleet: MakeFleet, means: str
) -> None:
    fleet = make_fleet(1)
    healthy = fleet.hosts[0].directory / "healthy"
    healthy.write_text("I am well\n")
    healthy.chmod(0o640)
    aside = healthy.with_name("aside")
    variables: dict[str, Any] = {
        "load_balancer_removal_health_probe_file": str(healthy),
        "graceful_shutdown_services": [],
    }
    if means == "absent":
        variables["load_balancer_removal_health_probe_file_state"] = "absent"
    else:
        variables["load_balancer_removal_health_probe_remove_command"] = ["mv", str(healthy), str(aside)]
        variables["load_balancer_removal_health_probe_restore_command"] = ["mv", str(aside), str(healthy)]

    status, run = fleet.run("drain", "-e", "drain_hosts=all", **variables)
    assert status == 0, run.output
    assert not healthy.exists()
    assert fleet.run("drain", "-e", "drain_hosts=all", **variables)[1].changes(fleet.hosts[0]) == 0

    status, run = fleet.run("restore", "-e", "restore_hosts=all", **variables)
    assert status == 0, run.output
    assert healthy.read_text() == "I am well\n"
    assert healthy.stat().st_mode & 0o777 == 0o640


def test_given_an_application_that_ignores_the_file_when_drained_then_the_role_fails(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(1)
    host = fleet.hosts[0]

    other_file = str(host.directory / "other")
    status, run = fleet.run(
        "drain", "-e", "drain_hosts=all", load_balancer_removal_health_probe_file=other_file, **probe_of(host)
    )

    assert status == 2
    assert re.search(r"See the probe endpoint fail\] (.*\n)*fatal: ", run.output)
    assert host.is_serving()
