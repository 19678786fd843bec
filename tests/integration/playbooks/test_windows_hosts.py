# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fleets with Windows hosts, of which a connection of the tests has what their agents answer.

The agents are real, and run on this machine. tests/wine/test_fleet.py has them run on Windows.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.integration.playbooks.fleet import Fleet, Host, Run

LONG = 20000.0  # seconds; longer than any event
OK, OUT_OF_ROTATION = 200, 503


def windows(host: Host) -> Host:
    """Have Ansible reach it as a Windows host."""
    host.variables |= {"ansible_shell_type": "powershell"}
    return host


def answer(host: Host, text: str) -> None:
    """Have its agent print this, whatever it is asked."""
    (host.directory / "said").write_text(text)
    host.agent_command.write_text(f"#!/bin/sh\ncat {host.directory}/said\n")
    host.agent_command.chmod(0o755)


class _Both(NamedTuple):
    """A fleet of both systems after one run that was killed and one that went on."""

    fleet: Fleet
    events: dict[str, str]
    check: Run
    run: Run
    status: int

    def host(self, number: int) -> Host:
        return self.fleet.hosts[number]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Both]:
    """Linux on host 0; Windows on the others: an agent that is hit on 1, none on 2, none on 3, which is hit, an agent
    on 4 that has nothing configured, one on 5 that lies.
    """
    with Fleet(tmp_path_factory.mktemp("both"), 35, 6) as fleet:
        linux, managed, _resting, hit, idle, liar = [fleet.hosts[0], *map(windows, fleet.hosts[1:])]
        fleet.start_agent(managed)
        quiet = fleet.start_agent(idle, match={"event_types": ["Preempt"]})
        answer(
            liar, json.dumps({"in_rotation": "{{ 7 * 7 }}", "events": [{"event_id": ["x"]}], "problem": "\u001b[2J"})
        )
        events = {
            "linux": fleet.event("Reboot", linux, approval_delay=30),
            "managed": fleet.event("Reboot", managed, approval_delay=30),
            "hit": fleet.event("Reboot", hit, notice=600),
            "idle": fleet.event("Reboot", idle, notice=600),
            "liar": fleet.event("Reboot", liar, notice=600),
        }
        fleet.hear(quiet, "nothing is configured for Reboot")
        options: dict[str, Any] = {"handle_events_minimum_in_service": 0, "handle_events_agent_timeout": 60}
        _status, check = fleet.run("handle_events", "--check", **options)
        killed = fleet.start("handle_events", **options)
        killed.wait_until(lambda: fleet.is_approved(events["linux"]) and fleet.is_approved(events["managed"]))
        killed.kill()
        run = fleet.start("handle_events", "-e", "handle_events_break_leases=true", **options)
        run.wait_until(lambda: "Wait until the events are over" in run.output)
        fleet.azure.advance(LONG)
        status = run.finish()
        yield _Both(fleet, events, check, run, status)


def test_given_a_windows_host_with_an_agent_then_it_is_left_to_it_watched_and_seen_back(both: _Both) -> None:
    assert "left to its agent; over; in rotation, its agent says" in both.run.report(both.host(1))
    assert both.run.changes(both.host(1)) == 0
    assert both.host(1).is_serving()
    assert not both.host(1).state.exists()


def test_given_both_systems_then_the_linux_host_is_handled_as_before(both: _Both) -> None:
    assert both.host(0).is_back()
    assert "restored" in both.run.report(both.host(0))


def test_given_a_windows_host_without_an_agent_then_it_is_named_and_fails_only_if_it_is_hit(both: _Both) -> None:
    assert both.status == 2
    assert "not handled: a Windows host without an agent: install one with the playbook install_agent" in both.run.text
    assert "host2: " not in [line.strip(' ",')[:7] for line in both.run.output.splitlines() if "FAILED" in line]
    failed = both.run.report(both.host(3))
    assert f"Reboot {both.events['hit']}: not handled: a Windows host without an agent" in failed
    assert not both.fleet.is_approved(both.events["hit"])


def test_given_an_agent_on_windows_with_nothing_configured_then_the_host_fails_with_the_remedy(both: _Both) -> None:
    assert "nothing configured for its events: add a policy to handler_agent_policies" in both.run.report(both.host(4))
    assert not both.fleet.is_approved(both.events["idle"])


def test_given_a_windows_host_that_lies_then_it_decides_nothing(both: _Both) -> None:
    assert "FAILED: Read the events: its answers cannot be read" in both.check.report(both.host(5))
    assert "\u001b" not in both.check.output + both.run.output
    assert not both.fleet.is_approved(both.events["liar"])


def test_given_check_mode_then_the_plan_has_windows_hosts_as_well(both: _Both) -> None:
    assert "host1 (left to its agent)" in both.check.text
    assert "not handled: a Windows host without an agent" in both.check.text


def test_given_a_windows_host_when_drained_and_restored_by_hand_then_its_agent_does_it_and_status_says_so(
    tmp_path: Path,
) -> None:
    with Fleet(tmp_path, 36, 2) as fleet:
        host, _without = map(windows, fleet.hosts)
        agent = fleet.start_agent(host)

        def changes(playbook: str, *words: str) -> int:
            status, run = fleet.run(playbook, *words, "-e", f"{playbook}_hosts=host0")
            assert status == 0, run.output
            return run.changes(host)

        assert changes("drain", "--check") == 1
        assert agent.ask("/readyz") == OK
        assert (changes("drain"), changes("drain")) == (1, 0)
        assert agent.ask("/readyz") == OUT_OF_ROTATION
        _status, shown = fleet.run("status")
        assert "host0: out, its agent says" in shown.text
        assert "restore_hosts=host0, when the work on it is done" in shown.text
        assert "host1: not handled: a Windows host without an agent" in shown.text
        _status, found = fleet.run("doctor", doctor_endpoint="{{ handle_events_endpoint }}")
        assert f"ok      host0: metadata service: answers; the name of this VM is {host.vm.lower()}" in found.output
        assert f"ok      host0: agent: answers: out of rotation, Python {platform.python_version()}" in found.output
        assert "error   host1: agent: not handled: a Windows host without an agent" in found.output
        _status, planned = fleet.run("handle_events", handle_events_minimum_in_service=0)
        assert "still out: drained by hand, its agent says" in planned.report(host)

        fleet.event("Freeze", host, approval_delay=LONG)
        fleet.wait_for_agent(agent, lambda: b'"keeps_out": true' in agent.run("status", "--json").stdout)
        status, restored = fleet.run("restore", "-e", "restore_hosts=host0")
        assert status == 0
        assert "host0 is no longer drained by hand, and still out for Freeze" in restored.text
        status, refused = fleet.run("restore", "-e", "restore_hosts=host0")
        assert status == 2
        assert "it was not drained by hand. It is out for Freeze" in refused.text
        fleet.azure.advance(2 * LONG)
        fleet.wait_for_agent(agent, lambda: agent.ask("/readyz") == OK)
        assert changes("restore") == 0

        status, failed = fleet.run("drain", "-e", "drain_hosts=host1")
        assert status == 2
        assert "install it with the playbook install_agent" in failed.text
