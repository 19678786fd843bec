# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One hostile document through the playbooks: nothing of it runs on the controller, and it is shown as text."""

from __future__ import annotations

import http.server
import json
import os
import shlex
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile import hostile_document, what_was_run
from tests.integration.playbooks.fleet import Fleet, Host, Run

MakeFleet = Callable[[int], Fleet]
EVENT_ID = "{{ lookup('pipe', 'touch"


class Door(http.server.BaseHTTPRequestHandler):
    """A metadata service that lists the hostile document until anything is approved."""

    vm_name = ""
    listed = b""
    approved: list[str]

    def do_GET(self) -> None:
        """Answer the name of the VM, or the document."""
        self._answer(json.dumps({"name": self.vm_name}).encode() if "/instance/" in self.path else self.listed)

    def do_POST(self) -> None:
        """Note what is approved, and list nothing from now on."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.approved += [request["EventId"] for request in body["StartRequests"]]
        type(self).listed = json.dumps({"DocumentIncarnation": 8, "Events": []}).encode()
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Keep quiet."""


@pytest.fixture
def proof(tmp_path: Path) -> Path:
    """Where the document's texts would leave their files."""
    directory = tmp_path / "proof"
    directory.mkdir()
    return directory


@pytest.fixture
def hostile(make_fleet: MakeFleet, proof: Path) -> Iterator[tuple[Fleet, list[str]]]:
    """A fleet of one host that reads the document, and what it has approved."""
    fleet = make_fleet(1)
    host = fleet.hosts[0]
    vm_name = host.vm.lower()
    approved: list[str] = []
    fields = {
        "vm_name": vm_name,
        "listed": hostile_document(proof, vm_name),
        "approved": approved,
    }
    with http.server.ThreadingHTTPServer((host.address, 0), type("ThisDoor", (Door,), fields)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        host.variables["handle_events_endpoint"] = f"http://{host.address}:{server.server_port}"
        yield fleet, approved
        server.shutdown()
        thread.join()


def assert_only_shows_itself(run: Run) -> None:
    """No character of the output does anything to a terminal."""
    bad = {char for char in run.output.replace("\n", "") if unicodedata.category(char)[0] == "C"}
    assert not bad, f"a terminal would obey {sorted(map(ascii, bad))}"


def test_given_a_hostile_document_when_handled_then_nothing_of_it_runs_and_the_report_shows_it_as_text(
    hostile: tuple[Fleet, list[str]], proof: Path
) -> None:
    fleet, approved = hostile

    status, run = fleet.run("handle_events", "--check", "--diff")
    assert status == 0, run.output
    assert what_was_run(proof) == []
    assert approved == []
    assert_only_shows_itself(run)

    # Its event is announced for 2050.
    status, run = fleet.run("handle_events", handle_events_urgent_within=1, handle_events_approve_within=1e9)
    # One of the events has started already, and that is all that went wrong.
    assert status == 2, run.output
    assert run.report(fleet.hosts[0]).count("FAILED") == 1
    assert "FAILED: hit while in service" in run.report(fleet.hosts[0])
    assert what_was_run(proof) == []
    assert approved == [f"{EVENT_ID} {proof}/event_id') }}}}"]
    assert f"Reboot {EVENT_ID} {proof}/event_id') }}}}" in run.report(fleet.hosts[0])
    assert "[31m" in run.report(fleet.hosts[0])
    assert fleet.hosts[0].is_back()
    assert_only_shows_itself(run)


def test_given_an_agent_that_hands_on_hostile_text_when_rehearsed_then_nothing_of_it_runs(
    make_fleet: MakeFleet, proof: Path
) -> None:
    fleet = make_fleet(1)
    host = fleet.hosts[0]
    text = f"{{{{ lookup('pipe', 'touch {proof}/agent') }}}}"
    said: dict[str, Any] = {"vm_name": text, "in_rotation": True, "events": [{"event_id": text, "phase": text}]}
    host.agent_command.write_text(f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(json.dumps(said))}\n")
    host.agent_command.chmod(0o755)
    host.variables["rehearse_vm_name"] = ""

    status, run = fleet.run(
        "rehearse",
        *("-e", "rehearse_hosts=all", "-e", "rehearse_confirmed=true"),
        rehearse_event_type="Reboot",
        rehearse_ready_timeout=1,
    )

    assert status == 2, run.output
    assert "nobody asks the simulator for the events of host0" in run.text
    assert "'touch" in run.output
    assert what_was_run(proof) == []
    assert_only_shows_itself(run)


HOSTILE_PYTHON = """#!{python} -I
import json, os, subprocess, sys
answer = subprocess.run(["{python}", *sys.argv[1:]], stdin=sys.stdin, stdout=subprocess.PIPE, text=True)
begin = answer.stdout.find("{{")
if begin >= 0 and os.path.exists({once!r}):
    said = json.loads(answer.stdout[begin:])
    said.update({said!r})
    print(json.dumps(said))
else:
    print(answer.stdout, end="")
sys.exit(answer.returncode)
"""


def make_hostile(host: Host, proof: Path, once: Path) -> None:
    """Have a host answer, as soon as a file is there, with facts that set variables of the operator."""
    tasks = proof.parent / "evil.yml"
    tasks.write_text(
        json.dumps([{"ansible.builtin.command": f"touch {proof}/tasks", "delegate_to": "localhost", "become": False}])
    )
    command = ["touch", f"{proof}/command"]
    facts = {
        "handle_events_approve": True,
        "handle_events_minimum_in_service": "0",
        "handle_events_report_file": f"{proof}/report",
        "load_balancer_removal_methods": ["command", "haproxy"],
        "load_balancer_removal_haproxy_hosts": ["localhost"],
        "load_balancer_removal_haproxy_socket": f"{proof}/socket",
        "load_balancer_removal_commands": [
            {"name": "evil", "remove": command, "restore": command, "delegate_to": "localhost"}
        ],
        "graceful_shutdown_services": [{"name": "web", "stop_tasks": str(tasks), "start_tasks": str(tasks)}],
    } | {f"handle_events_{name}_tasks": str(tasks) for name in ("before", "after", "after_batch")}
    have_say(host, once, {"ansible_facts": facts})


def have_say(host: Host, once: Path, said: dict[str, Any]) -> None:
    """Have a host say this in each answer, as soon as a file is there."""
    python = host.directory / "python"
    python.write_text(HOSTILE_PYTHON.format(python=sys.executable, once=str(once), said=said))
    python.chmod(0o755)
    host.variables |= {"ansible_connection": "local", "ansible_python_interpreter": str(python)}


@pytest.mark.parametrize("moment", ["at the first contact", "once it is leased"])
def test_given_a_host_whose_facts_set_our_variables_when_handled_then_it_alone_is_refused_and_decides_nothing(
    make_fleet: MakeFleet, proof: Path, moment: str
) -> None:
    fleet = make_fleet(3)
    hostile, honest, _other = fleet.hosts
    make_hostile(hostile, proof, hostile.directory if moment == "at the first contact" else hostile.state)
    theirs, ours = fleet.event("Reboot", hostile), fleet.event("Reboot", honest)

    run = fleet.start("handle_events", handle_events_minimum_in_service="1")
    run.wait_until(lambda: fleet.is_approved(ours))
    fleet.azure.advance(2000)

    assert run.finish() == 2, run.output
    assert what_was_run(proof) == []
    assert not fleet.is_approved(theirs)
    assert honest.is_back()
    assert "its ansible_facts hold" in run.report(hostile)
    assert "handle_events_after_batch_tasks" in run.text


OLD_PYTHON = """#!/bin/sh
case $1 in -c) echo Welcome; echo 3.6.8 ;; *) echo 'SyntaxError: invalid syntax' >&2; exit 1 ;; esac
"""


def test_given_hosts_that_never_answer_or_cannot_when_handled_then_the_others_continue(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(5)
    hanging, honest, old, garbled, windows = fleet.hosts
    # There is no library for it.
    windows.variables |= {"ansible_connection": "ansible.builtin.psrp", "ansible_psrp_protocol": "http"}
    have_say(garbled, garbled.directory, {"scheduled": {"events": [{"event_id": 5}]}})
    fleet.unplug(hanging)
    python = old.directory / "python2"
    python.write_text(OLD_PYTHON)
    python.chmod(0o755)
    old.variables |= {"ansible_connection": "local", "ansible_python_interpreter": str(python)}
    theirs, ours = fleet.event("Reboot", hanging), fleet.event("Reboot", honest)

    # Seconds for a contact, which are more where hosts may be slow.
    run = fleet.start(
        "handle_events", *("-e", "__handle_events_asking_timeout=5"), handle_events_minimum_in_service="0"
    )
    run.wait_until(lambda: fleet.is_approved(ours))
    fleet.azure.advance(2000)

    assert run.finish() == 2, run.output
    assert not fleet.is_approved(theirs)
    assert honest.is_back()
    assert "host0: no event: FAILED: Read the events: " in run.report(hanging)
    assert "host3: no event: FAILED: Read the events: its answers cannot be read: " in run.report(garbled)
    # Enough for our modules, and not for an ansible-core after 2.16.
    assert f"{python} is Python 3.6.8, too old for ansible-core 2." in run.report(old)
    assert "set ansible_python_interpreter to a later one on this host" in run.report(old)
    assert "host4: no event: FAILED: Read the events: " in run.report(windows)


def test_given_records_that_machines_have_changed_when_restored_then_they_decide_nothing_elsewhere(
    make_fleet: MakeFleet, proof: Path
) -> None:
    fleet = make_fleet(6)
    probe, balancers, stranger, tasks, removed, other = fleet.hosts
    evil = proof.parent / "evil.yml"
    evil.write_text(json.dumps([{"ansible.builtin.command": f"touch {proof}/tasks"}]))
    (proof.parent / "evil_restore.yml").write_text(evil.read_text())
    service = {"name": "web", "stop_tasks": str(evil), "start_tasks": str(evil)}
    undo = {"restore": ["touch", f"{removed.directory}/undone"], "status": []}
    for host, name, text in (
        (probe, "health_probe.json", json.dumps({"means": f"{proof.parent}/evil", "file": str(probe.marker)})),
        (balancers, "haproxy.balancers", "evil.example.com"),
        (stranger, "command.places", "pool evil.example.com"),
        (tasks, "services.json", json.dumps([service])),
        # What names this command is not among the variables any more, and its place is still in the inventory.
        (removed, "command.places", f"pool {other.name}"),
    ):
        (host.directory / "by_hand").mkdir(exist_ok=True)
        (host.directory / "by_hand" / name).write_text(text)
    roles = ["foghorn.azure_events.graceful_shutdown", "foghorn.azure_events.load_balancer_removal"]
    play = {
        "hosts": "all",
        "gather_facts": False,
        "vars": {"load_balancer_removal_state_directory": "{{ hostvars[inventory_hostname].directory }}/by_hand"},
        "tasks": [{"ansible.builtin.include_role": {"name": role, "tasks_from": "restore"}} for role in roles],
    }
    path = fleet.path / "restore_all.yml"
    path.write_text(json.dumps([play]))
    # The place of the record is a path of the machine that is restored.
    (removed.directory / "by_hand" / f"command_{removed.name}__pool.json").write_text(json.dumps(undo))

    status, run = fleet.run(str(path))

    assert status == 2, run.output
    assert what_was_run(proof) == []
    assert "unreachable=1" not in run.output
    for host, said in (
        (probe, "was not written by this role"),
        (balancers, "load_balancer_removal_haproxy_hosts: the record on the machine names evil.example.com"),
        (stranger, "names pool evil.example.com: each line is the name of a command and a host of the inventory"),
        (tasks, "graceful_shutdown_services: services.json on the machine says that 'web' is started by tasks"),
    ):
        assert f"fatal: [{host.name}]" in run.output
        assert said in run.text, run.output
    assert (removed.directory / "undone").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_given_state_directories_that_another_user_could_change_then_no_record_in_them_is_read_or_written(
    make_fleet: MakeFleet, proof: Path
) -> None:
    fleet = make_fleet(5)
    here, delegated, balanced, leaving, left = fleet.hosts
    pool = {"name": "pool", "remove": ["touch", f"{proof}/removed"], "restore": ["true"]}
    of_method: dict[Host, dict[str, Any]] = {
        here: {"load_balancer_removal_methods": ["command"]},
        # Where the machine is away, the host that runs its commands, or the HAProxy, has the record.
        delegated: {
            "load_balancer_removal_commands": [{**pool, "delegate_to": leaving.name}],
            "load_balancer_removal_machine_is_away": True,
        },
        balanced: {
            "load_balancer_removal_methods": ["haproxy"],
            "load_balancer_removal_haproxy_hosts": [leaving.name],
            "load_balancer_removal_machine_is_away": True,
        },
        leaving: {"load_balancer_removal_commands": [pool]},
        left: {"load_balancer_removal_methods": ["haproxy"], "load_balancer_removal_haproxy_hosts": [leaving.name]},
    }
    for host, variables in of_method.items():
        theirs = host.directory / "theirs"
        theirs.mkdir()
        state = theirs / "state"
        if host not in (leaving, left):
            state.mkdir()
            undo = {"restore": ["touch", f"{proof}/restored"], "status": []}
            (state / "command.places").write_text("pool")
            (state / f"command_{host.name}__pool.json").write_text(json.dumps(undo))
            (state / f"haproxy_{host.name}__at_{leaving.name}.json").write_text("{}")
        os.chown(theirs, 12345, -1)
        host.variables.update(
            {
                "load_balancer_removal_methods": ["command"],
                **variables,
                "load_balancer_removal_state_directory": str(state),
                "way": "main" if host in (leaving, left) else "restore",
            }
        )
    role = {"name": "foghorn.azure_events.load_balancer_removal", "tasks_from": "{{ way }}"}
    play = {"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.include_role": role}]}
    path = fleet.path / "both_ways.yml"
    path.write_text(json.dumps([play]))

    status, run = fleet.run(str(path))

    assert status == 2, run.output
    for host in fleet.hosts:
        assert f"user 12345 owns {host.directory}/theirs: chown it to root" in run.text
        assert f"fatal: [{host.name}" in run.output
    assert list(proof.iterdir()) == []
    assert not (left.directory / "theirs" / "state").exists()
