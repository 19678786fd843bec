# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One hostile document through the playbooks: nothing of it runs on the controller, and it is shown as text."""

from __future__ import annotations

import http.server
import json
import shlex
import threading
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile import hostile_document, what_was_run
from tests.integration.playbooks.fleet import Fleet, Run

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
    """A fleet of one that is told the document, and what it has approved."""
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
