# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role load_balancer_removal takes machines out of two real HAProxys, and restores them."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import HEAD, Haproxy, play, running

ROLE = {"name": "foghorn.azure_events.load_balancer_removal"}
REMOVE = {"name": "Remove", "ansible.builtin.include_role": ROLE}
RESTORE = {"name": "Restore", "ansible.builtin.include_role": {**ROLE, "tasks_from": "restore"}}
SAY = {"name": "Say what went wrong", "ansible.builtin.debug": {"msg": "FAILED {{ ansible_failed_result.msg }}"}}

# The order in which it happens; `seen` is what the balancers say then, by the name of the moment.
PLAYS: list[tuple[str, str, list[dict[str, Any]]]] = [
    ("checked", "web_0", [REMOVE]),
    ("removed", "web_0", [REMOVE]),
    ("removed again", "web_0", [REMOVE]),
    ("restored", "web_0", [RESTORE]),
    ("restored again", "web_0", [RESTORE]),
    ("busy", "web_0:web_1", [REMOVE]),
    # One balancer cannot be reached, the other can.
    ("half back", "web_0", [{"name": "Half", "block": [RESTORE], "rescue": [SAY]}]),
    ("back", "web_0", [RESTORE]),
    ("half out", "web_0", [{"name": "Half", "block": [REMOVE], "rescue": [SAY]}]),
    ("back again", "web_0", [RESTORE]),
    ("away", "web_1", [RESTORE]),
]

TEMPLATE = (
    HEAD
    + """
backend web
    server-template app 3 {0}:80
"""
)

# Who cannot be reached from that moment on, and who can again.
DOWN = {"half back": "balancer_0", "half out": "balancer_0", "away": "web_1"}
UP = {"back": "balancer_0", "back again": "balancer_0"}


class Played:
    """What the user saw of each moment, and the bits of the servers in each balancer then."""

    def __init__(self, output: dict[str, str], seen: dict[str, list[dict[str, int]]], directory: Path) -> None:
        self.output = output
        self.seen = seen
        self.directory = directory

    def bits(self, moment: str, place: str) -> list[int]:
        return [states[place] for states in self.seen[moment]]


@pytest.fixture(scope="module", name="balancers")
def fixture_balancers(program: Path) -> Iterator[list[Haproxy]]:
    with running(program) as first, running(program) as second:
        # Somebody has drained it in one backend of one balancer, before any of this.
        first.ask("set server api/web_0 state drain")
        second.ask("set server web/web_0 weight 30")
        yield [first, second]


@pytest.fixture(scope="module", name="played")
def fixture_played(balancers: list[Haproxy], tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Everything in one run of ansible-playbook: they take their time to start."""
    directory = tmp_path_factory.mktemp("role")
    (directory / "down").mkdir()
    (directory / "watch.py").write_text(
        "import json, socket, sys\n"
        "for path in sys.argv[1:]:\n"
        "    with socket.socket(socket.AF_UNIX) as connection:\n"
        "        connection.connect(path)\n"
        "        connection.sendall(b'show servers state\\n')\n"
        "        text = b''.join(iter(lambda: connection.recv(65536), b'')).decode()\n"
        "    rows = [line.split() for line in text.splitlines()[2:] if line]\n"
        "    print(json.dumps({row[1] + '/' + row[3]: int(row[6]) for row in rows}))\n",
        encoding="utf-8",
    )
    sockets = " ".join(balancer.socket for balancer in balancers)
    look = {
        "name": "Look",
        "ansible.builtin.shell": f"{sys.executable} {directory}/watch.py {sockets} > '{directory}/{{{{ moment }}}}'",
        "delegate_to": "balancer_1",
    }
    plays = []
    for moment, host, tasks in PLAYS:
        before = []
        if moment in DOWN or moment in UP:
            name, state = (DOWN[moment], "touch") if moment in DOWN else (UP[moment], "absent")
            before = [{"ansible.builtin.file": {"path": f"{directory}/down/{name}", "state": state}, **at_balancer()}]
        plays.append(
            {
                "name": moment,
                "hosts": host,
                "gather_facts": False,
                "check_mode": moment == "checked",
                # What the role passes over is no error.
                "any_errors_fatal": moment == "away",
                "tasks": [*before, *tasks, {**look, "vars": {"moment": moment}, "check_mode": False}],
            }
        )
    (directory / "plays.yml").write_text(yaml.safe_dump(plays, sort_keys=False), encoding="utf-8")
    inventory = {
        "all": {
            "hosts": {
                **{name: {"ansible_connection": "machine"} for name in ("web_0", "web_1")},
                **{
                    f"balancer_{number}": {
                        "ansible_connection": "machine",
                        "load_balancer_removal_haproxy_socket": balancer.socket,
                    }
                    for number, balancer in enumerate(balancers)
                },
            },
            "vars": {
                "load_balancer_removal_methods": ["haproxy"],
                "load_balancer_removal_haproxy_hosts": ["balancer_0", "balancer_1"],
                # Seconds. Longer than a moment, so that it is looked once more.
                "load_balancer_removal_connections_timeout": 5,
                "load_balancer_removal_state_directory": f"{directory}/state/{{{{ inventory_hostname }}}}",
            },
        }
    }
    (directory / "inventory.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")

    def forget() -> None:
        """As a reload makes the second balancer do, when the one host is out and the other still waited for."""
        while not over.wait(0.1):
            if (directory / "restored again").exists() and balancers[1].admin_states()["web/web_0"] == 1:
                balancers[1].ask("set server web/web_0 state ready")
                break

    over = threading.Event()
    forgetting = threading.Thread(target=forget)
    forgetting.start()
    download = balancers[0].download_from(balancers[0].web[1], balancers[0].spare_port)
    try:
        output = play(
            directory,
            "plays.yml",
            FLEET_DOWN=str(directory / "down"),
        )
    finally:
        balancers[0].web[1].released.set()
        download.finish()
        over.set()
        forgetting.join()
    parts = output.split("PLAY [")[1:]
    return Played(
        {part.partition("]")[0]: part for part in parts},
        {
            moment: [json.loads(line) for line in (directory / moment).read_text(encoding="utf-8").splitlines()]
            for moment, _host, _tasks in PLAYS
        },
        directory,
    )


def at_balancer() -> dict[str, Any]:
    """Keywords of a task that prepares something, beside the machine."""
    return {"delegate_to": "balancer_1", "name": "Prepare"}


def test_given_check_mode_when_it_is_removed_then_nothing_changes_and_the_change_is_predicted(played: Played) -> None:
    assert played.bits("checked", "web/web_0") == [0, 0]
    assert "changed: [web_0 -> balancer_1]" in played.output["checked"]


def test_given_two_balancers_when_it_is_removed_then_it_is_out_of_every_backend_of_both(played: Played) -> None:
    for place in ("web/web_0", "api/web_0", "asked/web_0"):
        assert played.bits("removed", place) == [1, 1]


def test_given_a_machine_that_is_out_when_it_is_removed_again_then_nothing_changes_and_the_record_stays(
    played: Played,
) -> None:
    assert "changed: [web_0" not in played.output["removed again"].partition("TASK [Look]")[0]
    assert played.bits("removed again", "web/web_0") == [1, 1]


def test_given_a_record_when_it_is_restored_then_each_balancer_has_the_machine_as_before(
    played: Played, balancers: list[Haproxy]
) -> None:
    assert played.bits("restored", "web/web_0") == [0, 0]
    assert played.bits("restored", "api/web_0") == [8, 0]
    assert balancers[1].ask("get weight web/web_0") == "30 (initial 100)\n\n"


def test_given_a_machine_that_is_back_when_it_is_restored_again_then_nothing_changes(played: Played) -> None:
    assert "changed: [web_0" not in played.output["restored again"].partition("TASK [Look]")[0]


def test_given_sessions_when_time_runs_out_then_a_warning_says_so_and_the_machine_stays_drained(played: Played) -> None:
    assert "Time ran out, sessions remain: balancer_0: at the deadline of" in played.output["busy"]
    assert played.bits("busy", "web/web_1") == [8, 1]


def test_given_a_balancer_that_forgets_while_others_are_waited_for_when_it_is_removed_then_it_is_taken_out_again(
    played: Played,
) -> None:
    assert played.bits("busy", "web/web_0") == [1, 1]


def test_given_an_unreachable_machine_when_it_is_restored_then_its_balancers_restore_it_anyway(
    played: Played,
) -> None:
    assert "UNREACHABLE" in played.output["away"]
    assert played.bits("away", "web/web_1") == [0, 0]


def test_given_a_balancer_that_cannot_be_reached_when_it_is_restored_then_it_is_back_in_the_other_and_that_is_named(
    played: Played,
) -> None:
    assert "FAILED balancer_0: It could not be reached: " in played.output["half back"]
    assert played.bits("half back", "web/web_0") == [1, 0]
    # By another run, when the balancer is there again.
    assert played.bits("back", "web/web_0") == [0, 0]
    assert played.bits("back", "api/web_0") == [8, 0]


def test_given_a_balancer_that_cannot_be_reached_when_it_is_removed_then_it_leaves_the_other_and_that_is_named(
    played: Played,
) -> None:
    assert "FAILED haproxy: balancer_0: It could not be reached: " in played.output["half out"]
    assert played.bits("half out", "web/web_0") == [0, 8]
    assert played.bits("back again", "web/web_0") == [0, 0]


def test_given_a_restored_machine_then_no_balancer_keeps_a_record(played: Played) -> None:
    # Of the machine that is away, what it has itself stays: it could not be reached.
    kept = [path for path in (played.directory / "state").rglob("*") if path.is_file()]
    assert sorted(path.name for path in kept) == ["haproxy.balancers", "removal.id"]


def test_given_a_server_of_a_template_that_gets_another_name_while_it_is_out_when_restored_then_only_its_machine_is_in(
    program: Path, tmp_path: Path
) -> None:
    inventory: dict[str, Any] = {
        "all": {
            "hosts": {
                "vm": {"ansible_connection": "local", "ansible_host": "127.0.36.1"},
                "balancer": {"ansible_connection": "local"},
            },
            "vars": {
                "load_balancer_removal_methods": ["haproxy"],
                "load_balancer_removal_haproxy_hosts": ["balancer"],
                "load_balancer_removal_haproxy_server": "{{ ansible_host }}",
                "load_balancer_removal_haproxy_state": "drain",
                "load_balancer_removal_state_directory": f"{tmp_path}/state/{{{{ inventory_hostname }}}}",
            },
        }
    }
    for name, task in (("remove", REMOVE), ("restore", RESTORE)):
        playbook = [{"name": name, "hosts": "vm", "gather_facts": False, "tasks": [task]}]
        (tmp_path / f"{name}.yml").write_text(yaml.safe_dump(playbook), encoding="utf-8")
    with Haproxy.of(program, TEMPLATE, ["0.0.0.0"]) as haproxy:

        def give(server: str, address: str) -> None:
            """As name resolution does."""
            haproxy.ask(f"set server web/{server} addr {address}")

        give("app1", "127.0.36.1")
        give("app2", "127.0.36.2")
        inventory["all"]["vars"]["load_balancer_removal_haproxy_socket"] = haproxy.socket
        (tmp_path / "inventory.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")

        play(tmp_path, "remove.yml")
        removed = haproxy.admin_states()
        give("app1", "127.0.36.9")
        give("app3", "127.0.36.1")
        play(tmp_path, "remove.yml")
        removed_again = haproxy.admin_states()
        output = play(tmp_path, "restore.yml")

        assert removed == {"web/app1": 8, "web/app2": 0, "web/app3": 0}
        assert removed_again == {"web/app1": 8, "web/app2": 0, "web/app3": 8}
        assert haproxy.admin_states() == {"web/app1": 8, "web/app2": 0, "web/app3": 0}
        assert "web/app1 stays in drain: it was at 127.0.36.1 when it was taken out" in " ".join(output.split())
        assert [path.name for path in (tmp_path / "state").rglob("haproxy*")] == []
