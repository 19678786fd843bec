# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the playbooks handle the fleet of docs/fleets/windows.md, as it stands there, with its agent on Windows?"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.foghorn.azure_events.tests.integration.fleets.test_fleets import (
    completed,
    install,
    named,
    running,
    written,
)
from ansible_collections.foghorn.azure_events.tests.integration.playbooks.fleet import Fleet, Run

from tests.ports import free_port

from .conftest import DATA, PYTHON, ROOT, run, wait_for

ARCHIVE = Path(os.environ.get("WINDOWS_PYTHON_ZIP", ""))
PWSH = Path(os.environ.get("PWSH_ENGINE", "")) / "pwsh"
LONG = 20000.0  # seconds; longer than any event
# Seconds for what takes longer here than on a real machine.
SLOW = {"handle_events_poll_timeout": 120, "handle_events_first_timeout": 120}


class Page:
    """The fleet of the page, of which iis2 is off; the others are machines here."""

    def __init__(self, fleet: Fleet, files: Path) -> None:
        self.fleet = fleet
        self.files = files

    def take(self, playbook: str, *arguments: str) -> Run:
        """Run a playbook with the inventory of the page, and with where the machines are here."""
        where = ("-i", str(self.files / "inventory.yml"), "-i", str(self.fleet.path / "here.yml"))
        name = playbook if "." in playbook else str(self.files / f"{playbook}.yml")
        return self.fleet.play(name, *where, *arguments)


@pytest.fixture
def page(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """The fleet, with the agent installed by the playbook of the page."""
    if not PWSH.exists():
        pytest.skip("playbooks on Windows hosts need the engine of PowerShell: set PWSH_ENGINE")
    monkeypatch.setenv("ANSIBLE_CONNECTION_PLUGINS", str(ROOT / "tests/plugins/connection"))
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(ROOT / ".cache/collections"))
    monkeypatch.setenv("WINDOWS_VM_PWSH", str(PWSH))
    fleet = named(tmp_path / "fleet", 61, ["front1", "front2", "iis1"])
    *fronts, iis = fleet.hosts
    for host in fronts:
        install(host, "nginx.service")
    files = written(
        "windows.md",
        tmp_path / "files",
        {
            # What there is under Wine in its place.
            r"W3SVC": "Spooler",
            r"address: 0\.0\.0\.0\n    port: 9797": f"address: 127.0.0.1\n    port: {free_port()}",
            r"http://127\.0\.0\.1/(?=\n)": f"http://{iis.address}:{iis.port}/readyz",
            r"pause: 6": "pause: 1",
        },
    )
    here: dict[str, Any] = {
        host.name: {
            "ansible_connection": "machine",
            "ansible_become": False,
            "ansible_python_interpreter": sys.executable,
            "handle_events_state_directory": str(host.state),
            "load_balancer_removal_health_probe_file": str(host.marker),
            "load_balancer_removal_health_probe_url": f"http://{host.address}:{host.port}/readyz",
            "load_balancer_removal_health_probe_interval": 0.1,
        }
        for host in fronts
    }
    here["iis1"] = {
        "ansible_connection": "windows_vm",
        "ansible_shell_type": "powershell",
        "handler_agent_windows_python_archive": str(ARCHIVE),
        "handler_agent_windows_python_checksum": hashlib.sha256(ARCHIVE.read_bytes()).hexdigest(),
    }
    here["iis2"] = {"powerstate": "deallocated"}
    with running(fleet):
        for host in fleet.hosts:
            endpoint = fleet.azure.imds[host.vm.lower()]
            here[host.name] |= {"handle_events_endpoint": endpoint, "handle_events_poll_interval": 1, **SLOW}
            here[host.name] |= {"handler_agent_imds": {"endpoint": endpoint, "poll_interval": 0.25}}
        (fleet.path / "here.yml").write_text(yaml.safe_dump({"all": {"hosts": here}}))
        page = Page(fleet, files)
        installed = page.take("install", "--limit", "iis1")
        try:
            assert installed.finish() == 0, installed.output
            yield page
        finally:
            run("net", "stop", "foghorn-agent")
            shutil.rmtree(DATA)
            run(PYTHON, "-IS", program, "uninstall")


def test_given_the_fleet_of_the_page_when_both_tiers_are_hit_and_the_run_is_killed_then_the_next_brings_all_back(
    page: Page,
) -> None:
    front, _other, iis = page.fleet.hosts
    events = [page.fleet.event("Reboot", host, approval_delay=30) for host in (front, iis)]

    killed = page.take("maintain")
    killed.wait_until(lambda: all(map(page.fleet.is_approved, events)))
    killed.kill()
    again = page.take("maintain", "-e", "handle_events_break_leases=true")
    again.wait_until(lambda: "Wait until the events are over" in again.output)
    page.fleet.azure.advance(LONG)

    assert again.finish() == 0, again.output
    assert "iis: 0 of 1 in service, 1 must stay" in again.text
    assert front.is_back()
    assert "left to its agent; over; in rotation, its agent says" in again.report(iis), again.output
    assert again.changes(iis) == 0
    assert completed(page.fleet, events)


def test_given_a_windows_host_when_examined_drained_and_restored_then_its_agent_does_it(page: Page) -> None:
    iis = page.fleet.hosts[2]

    def take(playbook: str) -> Run:
        done = page.take(f"foghorn.azure_events.{playbook}", "-e", f"{playbook}_hosts=iis1")
        done.finish()
        return done

    examined = page.take(
        "foghorn.azure_events.doctor", "-e", "doctor_hosts=iis1", "-e", "doctor_endpoint={{handle_events_endpoint}}"
    )
    examined.finish()
    assert f"ok      iis1: metadata service: answers; the name of this VM is {iis.vm.lower()}" in examined.output
    assert "ok      iis1: agent: answers: in rotation, Python 3.11." in examined.output

    assert [take("drain").changes(iis) for _time in range(2)] == [1, 0]
    assert "iis1: out, its agent says" in take("status").text
    assert [take("restore").changes(iis) for _time in range(2)] == [1, 0]
    wait_for(lambda: "iis1: in rotation" in take("status").text)
