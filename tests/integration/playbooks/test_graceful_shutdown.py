# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role graceful_shutdown: services of every kind are stopped, and started again."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.integration.playbooks.fleet import Fleet, Host, Run

# A systemd that knows one unit.
SYSTEMCTL = """#!/bin/sh
units="$(dirname "$0")/units"
case "$1" in
show)
    test "$6" = -- || exit 99
    if test -e "$units/$7"; then state=active; else state=inactive; fi
    case "$7" in nginx) load=loaded ;; *) load=not-found ;; esac
    printf 'LoadState=%s\\nActiveState=%s\\nType=notify\\n' "$load" "$state" ;;
start) touch "$units/$3" ;;
stop) rm "$units/$3" ;;
esac
"""

TASKS = """
- name: Write it down
  ansible.builtin.shell: echo {verb} {{{{ graceful_shutdown_seconds }}}} >> {{{{ directory }}}}/database.log
  changed_when: true
"""
SLOW = """
- name: Take too long
  ansible.builtin.command: cat {{ directory }}/held
  changed_when: true
"""

ROLE = {"name": "foghorn.azure_events.graceful_shutdown"}
SAY = {
    "name": "Say what went wrong",
    "ansible.builtin.debug": {"msg": "{{ inventory_hostname }}: {{ ansible_failed_result.msg }}"},
}


def _play(name: str, role: dict[str, str]) -> dict[str, Any]:
    include = {"name": name, "ansible.builtin.include_role": role}
    state = {
        "name": "Look",
        "ansible.builtin.shell": (
            f"cat {{{{ directory }}}}/web_server.pid > {{{{ directory }}}}/{name}.pid;"
            f" {{{{ web.status | join(' ') }}}}; echo $? > {{{{ directory }}}}/{name}.status;"
            f" ls {{{{ units }}}} > {{{{ directory }}}}/{name}.units"
        ),
    }
    return {
        "name": name,
        "hosts": "all",
        "gather_facts": False,
        "tasks": [{"name": name, "block": [include], "rescue": [SAY]}, state],
    }


class _Played(NamedTuple):
    """All in one run of ansible-playbook: each host with services of its own."""

    fleet: Fleet
    run: Run

    def host(self, name: str) -> Host:
        return next(host for host in self.fleet.hosts if host.variables["case"] == name)

    def said(self, moment: str, name: str) -> str:
        part = " ".join(self.run.output.split(f"PLAY [{moment}]")[1].split("PLAY [")[0].split())
        _before, found, after = part.partition(f'"{self.host(name).name}: ')
        return after.partition('" }')[0] if found else ""

    def was_serving(self, moment: str, name: str) -> bool:
        return (self.host(name).directory / f"{moment}.status").read_text() == "0\n"

    def units(self, moment: str, name: str) -> str:
        return (self.host(name).directory / f"{moment}.units").read_text().strip()


def _cases(tasks: Path) -> dict[str, list[Any]]:
    def odd(name: str, status: str, stop: list[str], **more: Any) -> dict[str, Any]:
        return {"name": name, "status": [status], "stop": stop, "start": ["true"], **more}

    database = {"stop_tasks": f"{tasks}/stop.yml", "start_tasks": f"{tasks}/start.yml"}
    return {
        "stuck": [odd("stuck", "true", ["sleep", "600"], timeout=1), "WEB"],
        "unknown": ["WEB", "nginx", "ngnix"],
        "deaf": [odd("deaf", "true", ["true"], timeout=2)],
        "mere name": ["nginx"],
        "abort": [odd("writer", "true", ["sh", "-c", "echo no >&2; exit 7"], on_failure="abort"), "WEB"],
        "ignore": [odd("toy", "true", ["false"], on_failure="ignore"), "HEALTHY"],
        "tasks": [{"name": "database", "timeout": 30, **database}],
        "late": ["WEB"],
        "slow tasks": [
            {"name": "database", "timeout": 1, "stop_tasks": f"{tasks}/slow.yml", "start": ["true"]},
        ],
        "unhealthy": ["UNHEALTHY"],
        "crashed": [
            {
                "name": "crashed",
                "status": ["test", "!", "-e", "STOPPED"],
                "stop": ["touch", "STOPPED"],
                "start": ["true"],
                "timeout": 2,
            }
        ],
        "misspelt": ["WEB", {"name": "db", "stopp": ["true"]}],
    }


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Played]:
    path = tmp_path_factory.mktemp("graceful")
    tasks = path / "tasks"
    tasks.mkdir()
    for verb in ("stop", "start"):
        (tasks / f"{verb}.yml").write_text(TASKS.format(verb=verb))
    (tasks / "slow.yml").write_text(SLOW)
    (path / "bin" / "units").mkdir(parents=True)
    (path / "bin" / "units" / "nginx").touch()
    (path / "bin" / "systemctl").write_text(SYSTEMCTL)
    (path / "bin" / "systemctl").chmod(0o755)
    playbook = path / "play.yml"
    playbook.write_text(
        yaml.safe_dump(
            [_play("stop", ROLE), _play("start", {**ROLE, "tasks_from": "restore"})],
            sort_keys=False,
        )
    )
    cases = _cases(tasks)
    with Fleet(path / "fleet", 41, len(cases)) as fleet:
        (path / "fleet" / "bin").symlink_to(path / "bin")
        for host, (case, entries) in zip(fleet.hosts, cases.items(), strict=True):
            web = {"name": "web", **{command: host.service(command) for command in ("status", "stop", "start")}}
            url = f"http://{host.address}:{host.port}/readyz"
            named = {
                "WEB": web,
                "HEALTHY": {
                    **web,
                    "healthy": {"port": host.port, "host": host.address, "url": url, "command": ["true"]},
                },
                "UNHEALTHY": {**web, "healthy": {"command": ["false"], "within": 1}},
            }
            text = json.dumps([named.get(entry, entry) if isinstance(entry, str) else entry for entry in entries])
            host.variables |= {
                "case": case,
                "web": web,
                "units": str(path / "bin" / "units"),
                "graceful_shutdown_services": json.loads(text.replace("STOPPED", str(host.directory / "stopped"))),
                "graceful_shutdown_budget": 0 if case == "late" else 300,
            }
        # Who reads it waits until nobody has it open any more, and ends then.
        slow = next(host for host in fleet.hosts if host.variables["case"] == "slow tasks")
        os.mkfifo(slow.directory / "held")
        held = os.open(slow.directory / "held", os.O_RDWR)
        try:
            _status, run = fleet.run(str(playbook), "--forks", "12")
        finally:
            os.close(held)
        yield _Played(fleet, run)


def test_given_a_stop_that_hangs_when_stopped_then_it_is_ended_in_time_and_named_and_the_others_stop(
    played: _Played,
) -> None:
    assert played.said("stop", "stuck") == "These services did not stop: stuck (out of time)", played.run.output
    assert not played.was_serving("stop", "stuck")


def test_given_a_unit_that_systemd_does_not_know_when_stopped_then_it_is_named_and_the_others_are_stopped(
    played: _Played,
) -> None:
    assert "These services did not stop: ngnix (systemd does not know it" in played.said("stop", "unknown")
    assert not played.was_serving("stop", "unknown")


def test_given_a_stop_that_succeeds_and_stops_nothing_when_stopped_then_it_is_named(played: _Played) -> None:
    assert "deaf (Wait until the service is down: " in played.said("stop", "deaf")


def test_given_the_mere_name_of_a_unit_when_stopped_and_started_then_it_is_the_unit(played: _Played) -> None:
    assert played.said("stop", "mere name") == played.said("start", "mere name") == ""
    assert played.units("stop", "mere name") == ""
    assert played.units("start", "mere name") == "nginx"


def test_given_a_stop_that_must_not_fail_when_it_fails_then_later_services_keep_running(
    played: _Played,
) -> None:
    assert played.said("stop", "abort") == (
        "These services did not stop: writer (exit status 7: no). Those after writer were left running"
    )
    assert played.was_serving("stop", "abort")


def test_given_a_stop_whose_failure_does_not_count_when_stopped_then_the_role_continues_and_says_so(
    played: _Played,
) -> None:
    assert played.said("stop", "ignore") == ""
    assert "These services did not stop, and on_failure is ignore: toy (exit status 1" in played.run.text
    assert not played.was_serving("stop", "ignore")


def test_given_a_service_that_is_healthy_when_started_then_the_role_ends_well(played: _Played) -> None:
    assert played.said("start", "ignore") == ""
    assert played.was_serving("start", "ignore")


def test_given_tasks_when_stopped_and_started_then_they_run_and_know_their_time(played: _Played) -> None:
    assert played.said("stop", "tasks") == played.said("start", "tasks") == ""

    log = (played.host("tasks").directory / "database.log").read_text().splitlines()
    assert log == ["stop 30", "start 30"]


def test_given_a_budget_that_is_used_up_when_stopped_then_the_service_is_named_and_continues(played: _Played) -> None:
    assert played.said("stop", "late") == "These services did not stop: web (no time was left)"
    assert played.was_serving("stop", "late")


def test_given_tasks_that_take_too_long_when_stopped_then_they_are_ended_and_named(played: _Played) -> None:
    assert re.fullmatch(
        r"These services did not stop: database \(Take too long: .+ What it has begun may still run on the machine\.\)",
        played.said("stop", "slow tasks"),
    )


def test_given_a_service_that_is_not_healthy_when_started_then_the_role_fails_and_keeps_its_record(
    played: _Played,
) -> None:
    assert "These services did not start: web (Wait until the service's own check succeeds: " in played.said(
        "start", "unhealthy"
    )
    assert (played.host("unhealthy").directory / "by_hand" / "services.json").exists()


def test_given_a_start_that_succeeds_and_starts_nothing_when_started_then_it_is_named(played: _Played) -> None:
    assert "crashed (Wait until the service is up: " in played.said("start", "crashed")


def test_given_an_unknown_key_when_stopped_then_it_is_named_and_nothing_is_stopped(played: _Played) -> None:
    assert "graceful_shutdown_services[1]: has the unknown key 'stopp'" in played.said("stop", "misspelt")
    assert played.was_serving("stop", "misspelt")
