# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook handle_events asks Azure about all hosts, and only those themselves for which that is not enough."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.integration.playbooks.fleet import Fleet, Run, published


@contextmanager
def world(path: Path, monkeypatch: pytest.MonkeyPatch, count: int = 3, **arm: Any) -> Iterator[Fleet]:
    """Hosts of two groups, the last of which is the smaller, and whose events Azure publishes."""
    with published(path, 64, count, monkeypatch, arm, clock={"speed": 60}) as fleet:
        for number, host in enumerate(fleet.hosts):
            host.variables["handle_events_group"] = "back" if number >= (count + 1) // 2 else "front"
        yield fleet


def handle(fleet: Fleet, *arguments: str, ask: str = "azure", **variables: Any) -> tuple[int, Run]:
    return fleet.run(
        "handle_events",
        *arguments,
        handle_events_ask=ask,
        handle_events_approve_within=86400,
        handle_events_out_directory=str(fleet.path / "out"),
        handle_events_report_file=str(fleet.path / "report.json"),
        **variables,
    )


def asked(fleet: Fleet) -> list[str]:
    """The hosts whose metadata service was asked for events."""
    return [host.name for host in fleet.hosts if fleet.looks(host)]


def report(fleet: Fleet) -> dict[str, Any]:
    """What became of the hosts, but for what differs from run to run."""
    text = (fleet.path / "report.json").read_text()
    told = json.loads(re.sub(r'("seconds_until_start"): \d+', r"\1: 0", text))
    for host in told["hosts"].values():
        del host["timeline"]
        for event in host["events"]:
            del event["not_before"]
    return dict(told)


def test_given_nothing_is_announced_then_no_host_is_asked_and_the_run_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world(tmp_path, monkeypatch) as fleet:
        status, run = handle(fleet)

        assert status == 0, run.output
        assert asked(fleet) == []
        assert "Azure was asked about 3 hosts: it lists events for 0 of them" in run.output
        assert "3 others not asked: their variables and services were not checked" in run.output
        assert report(fleet) == {"hosts": {}}


def test_given_the_same_world_then_both_ways_of_asking_end_alike_and_a_group_that_is_not_hit_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = []
    for ask in ("machines", "azure"):
        with world(tmp_path / ask, monkeypatch) as fleet:
            fleet.event("Reboot", fleet.hosts[0], notice=72000, impact=30, linger=60)
            # A rulebook always gives a limit, which leaves nobody out.
            status, run = handle(fleet, "--limit", "all,localhost", ask=ask)

            assert status == 0, run.output
            assert '"front: 2 of 2 in service, 1 must stay"' in run.output
            assert all(host.is_back() for host in fleet.hosts)
            assert all(event["approvals"] for event in fleet.azure.status()["events"])
            # The minimum is that of the group: the other host counts, and no balancer says how it is.
            assert asked(fleet) == [host.name for host in fleet.hosts[: 3 if ask == "machines" else 2]]
            reports.append(report(fleet))
    assert "1 asked themselves, because Azure lists events for them: host0" in run.output
    assert "1 of them asked anyway, because a machine says that they are hit, or no balancer counts" in run.output
    assert not list((fleet.path / "out").iterdir())
    assert reports[0] == reports[1]


class _Unsure(NamedTuple):
    """A fleet about some of which Azure can say nothing, and a run on it."""

    fleet: Fleet
    status: int
    run: Run


@pytest.fixture(scope="module")
def unsure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Unsure]:
    """Host 0 has no id, Azure does not know that of 1, and it still lists an event for 2 that is over."""
    path = tmp_path_factory.mktemp("unsure")
    # Time is moved by hand here.
    with pytest.MonkeyPatch.context() as monkeypatch, published(path, 65, 4, monkeypatch, {"graph_lag": 120}) as fleet:
        without_id, unknown, listed, _other = fleet.hosts
        del without_id.variables["id"]
        unknown.variables["id"] = unknown.variables["id"].replace("vm_1", "renamed")
        event = fleet.event("Reboot", listed, notice=36000)
        fleet.azure.advance(121)
        fleet.azure.withdraw(event)
        status, run = handle(fleet)
        yield _Unsure(fleet, status, run)


def test_given_a_host_whose_id_nobody_has_set_then_it_is_asked_itself(unsure: _Unsure) -> None:
    assert "1 asked themselves, because they have no resource id: set handle_events_vm_id: host0" in unsure.run.output


def test_given_a_host_that_resource_graph_does_not_know_then_it_is_asked_itself(unsure: _Unsure) -> None:
    assert "1 asked themselves, because Resource Graph does not know it: host1" in unsure.run.output


def test_given_an_event_that_azure_still_lists_and_the_machine_does_not_then_it_is_over(unsure: _Unsure) -> None:
    assert unsure.status == 0, unsure.run.output
    assert "1 asked themselves, because Azure lists events for them: host2" in unsure.run.output
    assert "Nothing is announced for these hosts." in unsure.run.output
    assert all(host.is_back() for host in unsure.fleet.hosts)


def test_given_hosts_that_are_asked_themselves_then_the_others_are_not(unsure: _Unsure) -> None:
    assert asked(unsure.fleet) == ["host0", "host1", "host2"]


def test_given_a_limit_then_its_hosts_are_asked_themselves_and_azure_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world(tmp_path, monkeypatch, count=2) as fleet:
        status, run = handle(fleet, "--limit", "host0", handle_events_expected_hosts=1)

        assert status == 0, run.output
        assert asked(fleet) == ["host0"]
        assert not [entry for entry in fleet.azure.log() if entry.get("door") == "arm"]


def test_given_the_host_that_asks_azure_is_unreachable_then_the_run_says_so_and_asks_no_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world(tmp_path, monkeypatch, count=2) as fleet:
        for host in fleet.hosts:
            del host.variables["handle_events_group"]
        fleet.take_down(fleet.hosts[1])
        status, run = handle(
            fleet,
            load_balancer_removal_methods=["azure_load_balancer"],
            load_balancer_removal_azure_host=fleet.hosts[1].name,
        )

        assert status != 0
        assert "handle_events_ask: Azure was not asked for events: " in run.text
        assert asked(fleet) == []


def test_given_a_slice_of_a_job_then_it_is_refused_before_any_host_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sliced = json.dumps({"awx_workflow_job_name": "a", "awx_job_template_name": "a"})
    with world(tmp_path, monkeypatch, count=2) as fleet:
        status, run = handle(fleet, "--extra-vars", sliced)

        assert status != 0, run.output
        assert "Set job_slice_count of the template to 1" in run.text
        assert asked(fleet) == []


def test_given_a_run_that_was_killed_then_the_next_finds_the_hosts_it_left_out_although_nothing_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world(tmp_path, monkeypatch, count=2) as fleet:
        host = fleet.hosts[0]
        event = fleet.event("Reboot", host, notice=72000, impact=30, linger=60)
        variables: dict[str, Any] = {
            "handle_events_approve_within": 86400,
            "handle_events_out_directory": str(fleet.path / "out"),
            "handle_events_ask": "azure",
        }
        first = fleet.start("handle_events", **variables)
        first.wait_until(lambda: not host.is_serving())
        first.kill()
        fleet.azure.withdraw(event)
        _status, told = fleet.run(
            "status", handle_events_ask="azure", handle_events_out_directory=variables["handle_events_out_directory"]
        )
        assert "host0: out for maintenance since" in told.text
        assert "1 others not asked" in told.text
        assert "host1: " not in told.text

        # Somebody gives it another name in the inventory meanwhile.
        host.name = "web0"
        status, second = handle(fleet)

        assert status == 0, second.output
        assert "1 asked themselves, because an earlier run may have left them out: web0" in second.output
        assert host.is_back()
        assert not list((fleet.path / "out").iterdir())
