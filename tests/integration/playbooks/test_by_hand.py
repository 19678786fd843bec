# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks drain and restore, and through them the roles on their own."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils import claims

from tests.integration.playbooks import web_server
from tests.integration.playbooks.fleet import Fleet, Host, Run

MakeFleet = Callable[[int], Fleet]


def probe_of(host: Host) -> dict[str, Any]:
    """Variables with which the role checks the host's probe endpoint."""
    return {
        "load_balancer_removal_health_probe_url": f"http://{host.address}:{host.port}/readyz",
        "load_balancer_removal_health_probe_url_timeout": 2,
    }


class _ByHand(NamedTuple):
    """Hosts that were drained twice and restored twice, and what was seen after the first of each."""

    fleet: Fleet
    drained: Run
    drained_again: Run
    restored: Run
    restored_again: Run
    statuses: list[int]
    out: dict[str, tuple[bool, bool]]
    """By host after it was drained: whether its marker is there, and whether it is serving."""
    back: dict[str, tuple[bool, bool]]
    """The same after it was restored."""
    drained_by: str
    """Who had a host out after it was drained, by its claim."""

    def host(self, number: int) -> Host:
        return self.fleet.hosts[number]


def seen(fleet: Fleet) -> dict[str, tuple[bool, bool]]:
    """Whether each host's marker is there, and whether it is serving."""
    return {host.name: (host.marker.exists(), host.is_serving()) for host in fleet.hosts}


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_ByHand]:
    """Host 1 has no service running, 2 is not chosen, 3 has a connection, 4 and 5 are taken out by other means."""
    with Fleet(tmp_path_factory.mktemp("by_hand"), 36, 6) as fleet:
        hosts = fleet.hosts
        hosts[1].stop()
        # As surveys, inventories in INI and the command line give them.
        hosts[3].variables |= {
            "load_balancer_removal_connections_timeout": "2",
            "load_balancer_removal_health_probe_interval": "0.1",
            "load_balancer_removal_health_probe_margin": "0.1",
            "load_balancer_removal_health_probe_threshold": "2",
            "load_balancer_removal_machine_is_away": "false",
            "load_balancer_removal_methods": "['health_probe']",
            "load_balancer_removal_ports": "[{{ web_port }}]",
            "load_balancer_removal_addresses": "{{ address }}, ::",
            "load_balancer_removal_excluded_addresses": '["168.63.129.16", "10.9.0.0/16"]',
            **probe_of(hosts[3]),
        }
        for host in hosts[4:]:
            healthy = host.directory / "healthy"
            healthy.write_text("I am well\n")
            healthy.chmod(0o640)
            host.variables |= {
                "load_balancer_removal_health_probe_file": str(healthy),
                "graceful_shutdown_services": [],
            }
        hosts[4].variables["load_balancer_removal_health_probe_file_state"] = "absent"
        moved = [str(hosts[5].directory / "healthy"), str(hosts[5].directory / "aside")]
        hosts[5].variables |= {
            "load_balancer_removal_methods": ["command"],
            "load_balancer_removal_commands": [
                # One that says how it is, and one that does not, which runs elsewhere.
                {
                    "name": "moved",
                    "remove": ["mv", *moved],
                    "restore": ["mv", *reversed(moved)],
                    "status": ["test", "-e", moved[0]],
                },
                {
                    "name": "written-down",
                    "delegate_to": "host4",
                    "remove": ["sh", "-c", f"echo out >> {hosts[5].directory}/elsewhere"],
                    "restore": ["sh", "-c", f"echo in >> {hosts[5].directory}/elsewhere"],
                },
            ],
        }
        chosen = [
            "-e",
            json.dumps(
                {
                    f"{verb}_{name}": value
                    for verb in ("drain", "restore")
                    for name, value in (("hosts", "all:!host2"), ("serial", 5))
                }
                # As a controller passes them to its jobs.
                | {"awx_job_id": 16, "awx_job_template_name": "Drain", "awx_user_name": "alice"}
            ),
        ]

        with socket.create_connection((hosts[3].address, hosts[3].port)):
            first, drained = fleet.run("drain", *chosen)
        out = seen(fleet) | {
            host.name: ((host.directory / "healthy").exists(), host.is_serving()) for host in hosts[4:]
        }
        drained_by = hosts[0].claimed()["by_hand"]["by"]
        second, drained_again = fleet.run("drain", *chosen)
        third, restored = fleet.run("restore", *chosen)
        back = seen(fleet)
        fourth, restored_again = fleet.run("restore", *chosen)
        yield _ByHand(
            fleet,
            drained,
            drained_again,
            restored,
            restored_again,
            [first, second, third, fourth],
            out,
            back,
            drained_by,
        )


def test_given_a_job_of_a_controller_when_it_drains_then_the_claim_names_it(by_hand: _ByHand) -> None:
    assert by_hand.drained_by == "alice, job 16 (Drain)"


def test_given_chosen_hosts_when_drained_and_restored_then_all_is_as_before(by_hand: _ByHand) -> None:
    assert by_hand.statuses == [0, 0, 0, 0], by_hand.drained.output
    assert by_hand.out["host0"] == (True, False)
    assert by_hand.back["host0"] == (False, True)
    assert by_hand.host(0).is_back()


def test_given_a_service_that_was_not_running_when_drained_and_restored_then_it_is_not_started(
    by_hand: _ByHand,
) -> None:
    assert by_hand.out["host1"] == (True, False)
    assert by_hand.back["host1"] == (False, False)


def test_given_a_host_that_was_not_chosen_when_others_are_drained_then_it_is_left_alone(by_hand: _ByHand) -> None:
    assert by_hand.out["host2"] == (False, True)
    assert by_hand.host(2).is_back()


@pytest.mark.parametrize("number", [0, 1, 3, 4, 5])
def test_given_a_host_when_drained_and_restored_again_then_nothing_is_done_twice(by_hand: _ByHand, number: int) -> None:
    host = by_hand.host(number)

    assert by_hand.drained.changes(host) > 0
    assert by_hand.drained_again.changes(host) == 0
    assert by_hand.restored_again.changes(host) == 0


def test_given_an_established_connection_when_drained_then_the_timeout_is_no_failure(
    by_hand: _ByHand,
) -> None:
    host = by_hand.host(3)

    assert f"Time ran out, connections remain: port {host.port} (1)" in by_hand.drained.output
    assert by_hand.out["host3"] == (True, False)


def test_given_a_probe_endpoint_when_restored_then_the_role_waits_until_it_succeeds(by_hand: _ByHand) -> None:
    asked = [host.name for host in by_hand.fleet.hosts if (host.directory / web_server.SEEN_READY).exists()]

    # Of the others, nobody has said where to ask.
    assert asked == ["host3"]
    assert by_hand.host(3).is_back()


@pytest.mark.parametrize("number", [4, 5])
def test_given_other_means_than_a_file_that_is_there_when_drained_and_restored_then_all_is_as_before(
    by_hand: _ByHand, number: int
) -> None:
    healthy = by_hand.host(number).directory / "healthy"

    assert by_hand.out[f"host{number}"] == (False, True)
    assert healthy.read_text() == "I am well\n"
    assert healthy.stat().st_mode & 0o777 == 0o640


def test_given_a_command_that_is_delegated_when_drained_and_restored_twice_then_it_has_run_once_each_way(
    by_hand: _ByHand,
) -> None:
    assert (by_hand.host(5).directory / "elsewhere").read_text() == "out\nin\n"
    assert "host5 -> host4" in by_hand.drained.output
    assert not list(by_hand.host(4).directory.glob("by_hand/command_*"))


def test_given_no_hosts_when_drained_then_the_missing_variable_is_named(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(1)

    status, run = fleet.run("drain")

    assert status != 0
    assert "drain_hosts is not set: name the hosts to drain" in run.output
    assert fleet.hosts[0].is_back()


def test_given_hosts_named_in_the_inventory_when_drained_then_no_other_is_touched(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(2)

    status, run = fleet.run("drain", drain_hosts="host0")

    assert status != 0
    assert (
        "drain_hosts is host0 in the inventory, where it chooses nobody, and the play would take host1 too" in run.text
    )
    assert all(host.is_back() for host in fleet.hosts)


def test_given_a_windows_host_when_it_is_asked_for_then_it_is_refused_by_name(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(1)
    # Were it contacted, it would answer.
    fleet.hosts[0].variables |= {"ansible_shell_type": "powershell"}

    _status, run = fleet.run("verify_image", "-e", "verify_image_hosts=host0")

    assert "it is a Windows host, and this playbook is " in run.text
    assert "host0" in run.text


def test_given_hosts_that_a_run_has_leased_when_drained_then_what_it_has_out_is_claimed_and_the_rest_refused(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(2)
    out, returning = fleet.hosts
    lease = {"id": "R", "playbook": "handle_events", "by": "bob on ctl2", "process": None, "until": time.time() + 9999}
    for host in fleet.hosts:
        host.claim("handle_events")
        path = host.state / claims.FILE
        path.write_text(json.dumps(json.loads(path.read_text()) | {"lease": lease | {"returning": host is returning}}))

    status, run = fleet.run("drain", "-e", "drain_hosts=all", "-e", "drain_reason=disk")

    assert status == 2, run.output
    state = claims.read(str(out.state))
    assert sorted(state.claims) == ["by_hand", "handle_events"]
    assert state.claims["by_hand"]["reason"] == "disk"
    assert state.lease == lease | {"returning": False}
    assert out.is_serving()
    assert f"{out.name} is out already, or about to be: handle_events of bob on ctl2 is working on it" in run.text
    assert "by_hand" not in claims.read(str(returning.state)).claims
    assert "handle_events of bob on ctl2 is working on it" in run.text.split("fatal: ")[1]


def test_given_an_application_that_ignores_the_file_when_drained_then_the_role_fails(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(1)
    host = fleet.hosts[0]

    other_file = str(host.directory / "other")
    status, run = fleet.run(
        "drain", "-e", "drain_hosts=all", load_balancer_removal_health_probe_file=other_file, **probe_of(host)
    )

    assert status == 2
    url = probe_of(host)["load_balancer_removal_health_probe_url"]
    assert (
        f"Wait until the probe endpoint fails: {url}: the check did not succeed within 2 s: it answers with 200"
        in run.text
    )
    assert host.is_serving()
