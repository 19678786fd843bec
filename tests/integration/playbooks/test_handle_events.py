# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook handle_events, run for real against the simulator."""

from __future__ import annotations

import email.utils
import http.server
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from ansible_collections.foghorn.azure_events.plugins.module_utils import claims

from tests import ansible_runs
from tests.integration.playbooks.fleet import Fleet, Host, Run

MakeFleet = Callable[[int], Fleet]

LONG = 20000.0  # seconds; longer than any event


def tasks_of_the_operator(directory: Path) -> dict[str, Any]:
    """Variables that name files of tasks, which note when they run, for which host, and whether that serves."""
    variables = {}
    for name in ("before", "after", "after_batch"):
        note = f"test -e {{{{ directory }}}}/out_of_rotation; echo {name} {{{{ inventory_hostname }}}} $?"
        task = {
            "name": "Note it",
            "ansible.builtin.shell": f"({note}) >> {directory}/noted",
            "delegate_to": "localhost",
        }
        path = directory / f"{name}.yml"
        path.write_text(yaml.safe_dump([task | {"vars": {"ansible_connection": "local"}}]))
        variables[f"handle_events_{name}_tasks"] = str(path)
    return variables


def test_given_a_reboot_when_handled_then_the_host_is_away_until_the_event_is_over(
    make_fleet: MakeFleet, tmp_path: Path
) -> None:
    fleet = make_fleet(3)
    host, other, broken = fleet.hosts
    broken.breaks_at_stop = True
    broken.variables["handle_events_group"] = "broken"
    reboot = fleet.event("Reboot", host)
    fleet.event("Reboot", broken, notice=3000)
    run = fleet.start("handle_events", **tasks_of_the_operator(tmp_path))

    run.wait_until(lambda: fleet.is_approved(reboot))
    assert host.marker.exists()
    assert not host.is_serving()

    # It has started, and the machine is rebooting.
    run.wait_until(lambda: fleet.is_down(host))
    run.wait_until(lambda: f"[{host.name}]: waits for it to answer again" in run.output)
    # It has rebooted, but the event is still listed: that is not the end.
    fleet.azure.advance(60)
    looks = fleet.looks(host)
    run.wait_until(lambda: fleet.looks(host) >= looks + 2)
    assert host.marker.exists()
    assert not host.is_serving()
    # What could not be stopped is back, as its event is far off, and that is remembered.
    assert not broken.marker.exists()
    assert broken.is_serving()
    assert broken.claimed() == {}

    # Neither another run nor somebody by hand touches it meanwhile.
    status, second = fleet.run("handle_events")
    assert status == 0, second.output
    assert re.search(
        r"left alone: handle_events of .+ is working on it, and holds its lease until", second.report(host)
    )
    # A later run does not repeat a drain that failed.
    assert re.search(
        r"left alone: its hosts were drained in vain \d+ s ago, because of host2: .*did not stop",
        second.report(broken),
    )
    status, by_hand = fleet.run("restore", "-e", f"restore_hosts={host.name}")
    assert status == 2, by_hand.output
    assert "is working on it, and holds its lease until" in by_hand.text
    assert host.marker.exists()
    assert not host.is_serving()
    assert "handle_events" in claims.read(str(host.state)).claims

    fleet.azure.advance(LONG)
    assert run.finish() == 2, run.output
    assert "restored, because a step failed and the event is far off; restored; FAILED" in run.report(broken)
    assert "FAILED" not in run.report(host)
    assert host.is_back()
    assert len(fleet.record(reboot)["approvals"]) == 1
    # While it waited it said for what, and how long at most.
    assert re.search(
        rf"\[host0\]: waits for Reboot {reboot} \(Started\) since \S+ UTC, until \S+ UTC at most", run.text
    )
    assert "RETRYING" not in run.output
    assert "s of notice left; over; restored" in run.report(host)
    assert not other.marker.exists()
    # The operator's tasks ran for no host that was not hit, while it was in rotation, each at its time.
    noted = (tmp_path / "noted").read_text().splitlines()
    assert [line for line in noted if "host0" in line] == ["before host0 1", "after host0 1", "after_batch host0 1"]
    assert [line for line in noted if "host1" in line] == []


class _SlowDeletion(http.server.BaseHTTPRequestHandler):
    """The metadata service of a machine whose deletion is approved, starts, is no longer listed, and lets it run on."""

    left: tuple[str, ...] = ("Scheduled", "Started", "Started")

    def do_GET(self) -> None:
        """Answer the name of the VM, or the document."""
        if "/instance/" in self.path:
            self._answer({"name": "gone"})
            return
        event = {"EventId": "D", "EventType": "Terminate", "Resources": ["gone"], "NotBefore": ""}
        if self.left[:1] == ("Scheduled",):
            event["NotBefore"] = email.utils.formatdate(time.time() + 900, usegmt=True)
        events = [event | {"EventStatus": status} for status in self.left[:1]]
        self._answer({"DocumentIncarnation": 1, "Events": events})
        if self.left[:1] != ("Scheduled",):
            type(self).left = self.left[1:]

    def do_POST(self) -> None:
        """Take the approval."""
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).left = self.left[1:]
        self._answer({})

    def _answer(self, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Keep quiet."""


class _Everything(NamedTuple):
    """A fleet to which everything happened in one run, and what was seen."""

    fleet: Fleet
    events: dict[str, str]
    run: Run
    status: int
    unready_at_approval: list[str]
    pid_before: str
    told: Run

    def host(self, number: int) -> Host:
        return self.fleet.hosts[number]

    def approvals(self, name: str) -> int:
        return len(self.fleet.record(self.events[name])["approvals"])


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Everything]:
    """Host 0 and 1 share a redeployment, 2 is frozen and was drained by hand, 3 does not stop, 4 is deleted."""
    with (
        Fleet(tmp_path_factory.mktemp("everything"), 32, 5) as fleet,
        http.server.ThreadingHTTPServer((fleet.hosts[4].address, 0), _SlowDeletion) as server,
    ):
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        hosts = fleet.hosts
        hosts[4].variables["handle_events_endpoint"] = f"http://{hosts[4].address}:{server.server_port}"
        events = {
            "shared": fleet.event("Redeploy", hosts[0], hosts[1]),
            "freeze": fleet.event("Freeze", hosts[2], duration=-1),
            "unstoppable": fleet.event("Reboot", hosts[3], notice=600),
        }
        hosts[2].claim("by_hand", reason="a new disk")
        hosts[2].marker.touch()
        (hosts[2].state / "health_probe.json").write_text(
            json.dumps({"means": "present", "file": str(hosts[2].marker)}) + "\n"
        )
        hosts[3].breaks_at_stop = True
        pid_before = (hosts[2].directory / "web_server.pid").read_text()

        run = fleet.start("handle_events", handle_events_minimum_in_service=0)
        run.wait_until(lambda: fleet.is_approved(events["shared"]) and fleet.is_approved(events["freeze"]))
        unready = [host.name for host in hosts[:2] if not host.marker.exists() or host.is_serving()]
        # These end long before the one that was not approved begins.
        fleet.azure.advance(300)
        fleet.azure.advance(280)
        fleet.azure.advance(15)
        fleet.azure.advance(1)
        run.wait_until(hosts[3].marker.exists)
        fleet.azure.advance(LONG)
        status = run.finish()
        _status, told = fleet.run("status")
        yield _Everything(fleet, events, run, status, unready, pid_before, told)
        server.shutdown()
        thread.join()


def test_given_a_shared_event_when_handled_then_it_is_approved_once_after_all_its_hosts_are_ready(
    everything: _Everything,
) -> None:
    assert everything.unready_at_approval == []
    assert everything.approvals("shared") == 1
    assert everything.host(0).is_back()
    assert everything.host(1).is_back()


def test_given_a_freeze_when_handled_then_its_services_continue(everything: _Everything) -> None:
    assert everything.approvals("freeze") == 1
    assert (everything.host(2).directory / "web_server.pid").read_text() == everything.pid_before


def test_given_a_host_that_was_drained_by_hand_when_its_event_is_over_then_it_stays_out_and_the_reason_is_reported(
    everything: _Everything,
) -> None:
    assert everything.host(2).marker.exists()
    assert list(everything.host(2).claimed()) == ["by_hand"]
    assert re.search(r"over; still out by hand since .+, by alice on ctl2: a new disk", everything.run.output)


def test_given_a_deletion_that_is_no_longer_listed_then_its_host_is_left_out_and_that_is_noted(
    everything: _Everything,
) -> None:
    assert everything.host(4).marker.exists()
    assert "no longer listed after it started: kept out of rotation" in everything.run.report(everything.host(4))
    claim = everything.host(4).claimed()["handle_events"]
    assert claim["left_out_at"] >= claim["since"]
    assert claim["is_final"]


def test_given_hosts_that_are_in_and_out_when_their_status_is_asked_then_it_says_for_whom_and_why(
    everything: _Everything,
) -> None:
    assert "host0: in rotation, as far as these playbooks know" in everything.told.output
    assert re.search(r"host2: out by hand since .+, by alice on ctl2: a new disk", everything.told.output)
    assert re.search(r"host4: out for maintenance since .+ on .+: Terminate D", everything.told.output)
    assert everything.told.changes(everything.host(0)) == 0


def test_given_a_service_that_does_not_stop_then_its_event_is_never_approved_and_the_run_fails_naming_it(
    everything: _Everything,
) -> None:
    assert everything.approvals("unstoppable") == 0
    assert everything.status == 2
    assert "FAILED: Stop the services: These services did not stop: web (exit status 7" in (
        everything.run.report(everything.host(3))
    )
    assert "web (exit status 7" in everything.run.output.split("TASK [Fail if any step failed]")[1]
    # Nothing but the recap comes after the report.
    assert "TASK [" not in everything.run.output.split("TASK [Show the result of each host]")[1]


def test_given_a_service_that_did_not_stop_when_its_event_is_over_then_the_host_is_restored(
    everything: _Everything,
) -> None:
    assert everything.host(3).is_back()


def test_given_a_termination_when_handled_then_the_host_is_approved_and_never_restored(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(2)
    host, left_out = fleet.hosts
    # By an earlier run.
    left_out.claim("handle_events", is_final=True, left_out_at=time.time())
    left_out.marker.touch()
    termination = fleet.event("Terminate", host)
    run = fleet.start("handle_events")
    run.wait_until(lambda: fleet.is_approved(termination))
    assert not host.is_serving()

    assert run.finish() == 0, run.output
    assert host.marker.exists()
    assert not host.is_serving()
    assert "deleted: it no longer answers" in run.report(host)
    assert "left alone: its deletion is no longer listed" in run.report(left_out)
    assert left_out.marker.exists()
    assert list(left_out.claimed()) == ["handle_events"]


def test_given_tasks_of_the_operator_that_end_the_play_or_the_run_then_the_next_run_continues_at_once(
    make_fleet: MakeFleet, tmp_path: Path
) -> None:
    fleet = make_fleet(1)
    (host,) = fleet.hosts
    # By an earlier run.
    host.claim("handle_events")
    host.marker.touch()
    (host.state / "health_probe.json").write_text(json.dumps({"means": "present", "file": str(host.marker)}) + "\n")
    (tmp_path / "after.yml").write_text(yaml.safe_dump([{"name": "End it", "ansible.builtin.meta": "end_play"}]))

    status, cut_short = fleet.run("handle_events", handle_events_after_tasks=str(tmp_path / "after.yml"))
    assert status == 2, cut_short.output
    assert "FAILED: its batch did not run, or was interrupted" in cut_short.report(host)
    assert list(host.claimed()) == ["handle_events"]

    # Which file it will be is known only when it is included.
    (tmp_path / "after.yml").write_text(yaml.safe_dump([{"ansible.builtin.include_tasks": "{{ directory }}.yml"}]))
    host.directory.with_suffix(".yml").write_text("- ansible.builtin.command: [")
    status, ended = fleet.run("handle_events", handle_events_after_tasks=str(tmp_path / "after.yml"))
    assert status == 4, ended.output
    assert "TASK [Show the result of each host]" not in ended.output

    status, run = fleet.run("handle_events")
    assert status == 0, run.output
    assert host.is_back()


def test_given_a_machine_that_a_cancelled_job_has_leased_then_the_next_job_of_its_template_brings_it_back(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(1)
    (host,) = fleet.hosts
    host.claim("handle_events")
    host.marker.touch()
    (host.state / "health_probe.json").write_text(json.dumps({"means": "present", "file": str(host.marker)}) + "\n")
    state = json.loads((host.state / claims.FILE).read_text())
    process = {"job": {"controller": "c1", "template": "9", "id": 15}}
    state["lease"] = {"id": "15", "playbook": "handle_events", "by": "alice, job 15", "until": time.time() + 900}
    state["lease"] |= {"process": process, "returning": False}
    (host.state / claims.FILE).write_text(json.dumps(state))

    status, next_job = fleet.run(
        "handle_events",
        awx_job_id=16,
        awx_job_template_id=9,
        handle_events_controller="c1",
        handle_events_runs_alone=True,
    )
    assert status == 0, next_job.output
    assert host.is_back()


def test_given_events_that_are_withdrawn_when_followed_then_their_hosts_are_restored(
    make_fleet: MakeFleet, tmp_path: Path
) -> None:
    fleet = make_fleet(2)
    evicted, spared = fleet.hosts
    spared.variables["handle_events_group"] = "spared"
    eviction = fleet.event("Preempt", evicted, notice=600)
    spared_from = fleet.event("Reboot", spared, notice=600)
    # Withdrawn when it is certain that its host is about to be drained.
    withdraw = {
        "name": "Withdraw it",
        "ansible.builtin.uri": {"url": f"{fleet.azure.control}/_simulator/events/{spared_from}", "method": "DELETE"},
        "when": f"inventory_hostname == '{spared.name}'",
    }
    (tmp_path / "before.yml").write_text(yaml.safe_dump([withdraw]))
    process = (spared.directory / "web_server.pid").read_text()
    run = fleet.start(
        "handle_events", handle_events_approve=False, handle_events_before_tasks=str(tmp_path / "before.yml")
    )
    run.wait_until(lambda: evicted.marker.exists() and not evicted.is_serving())
    fleet.azure.withdraw(eviction)

    assert run.finish() == 0, run.output
    assert evicted.is_back()
    assert fleet.record(eviction)["approvals"] == []
    assert "withdrawn; restored" in run.report(evicted)
    # It was out of rotation, and no more.
    assert spared.is_back(), run.output
    assert (spared.directory / "web_server.pid").read_text() == process
    assert "withdrawn while it was drained: no service was stopped; restored" in run.report(spared)


def test_given_an_approval_whose_answer_is_lost_with_the_machine_then_no_host_of_it_is_restored_while_it_starts(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(2)
    first, second = fleet.hosts
    # Nobody would have to be out for it, if it were not approved.
    shared = fleet.event("Redeploy", first, second, notice=3000, impact=0)
    fleet.lose_connection(first, after="scheduled_event_approve")
    run = fleet.start("handle_events", handle_events_minimum_in_service=0)
    run.wait_until(lambda: fleet.is_approved(shared))
    looks = [fleet.looks(host) for host in fleet.hosts]
    run.wait_until(lambda: all(fleet.looks(host) >= seen + 2 for host, seen in zip(fleet.hosts, looks, strict=True)))

    for host in (first, second):
        assert host.marker.exists()
        assert not host.is_serving()
        (event_id,) = claims.read(str(host.state)).claims["handle_events"]["approving"]
        assert event_id.upper() == shared.upper()
    fleet.azure.advance(LONG)

    assert run.finish() == 2, run.output
    assert first.is_back()
    assert second.is_back()
    assert "FAILED: Approve: The host could not be reached" in run.report(first)
    assert "FAILED" not in run.report(second)


def test_given_a_host_that_is_unplugged_in_the_middle_then_the_other_is_restored_and_the_run_ends_and_blames_the_host(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(2)
    lost, other = fleet.hosts
    events = [fleet.event("Reboot", host, notice=3000, impact=0) for host in fleet.hosts]
    page = fleet.path / "report.html"
    run = fleet.start(
        "handle_events",
        "--extra-vars=__handle_events_task_timeout=5",
        handle_events_minimum_in_service=0,
        handle_events_end_timeout=9,
        handle_events_report_file=str(page),
    )
    run.wait_until(lambda: all(fleet.is_approved(event) for event in events))
    fleet.unplug(lost)
    # A look that was under way has ended by then: it would see the end of the event.
    looks = fleet.looks(other)
    run.wait_until(lambda: fleet.looks(other) >= looks + 2)
    fleet.azure.advance(LONG)

    assert run.finish() == 2, run.output
    assert other.is_back()
    assert "has not answered for" in run.report(lost)
    assert "FAILED" not in run.report(other)
    assert {*re.findall(r'<g class="lane" aria-label="(\w+)">', page.read_text())} == {lost.name, other.name}


def test_given_a_minimum_in_service_when_more_are_hit_then_each_waits_for_room_but_never_until_its_event_begins(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(3)
    sooner, soonest, _other = fleet.hosts
    second = fleet.event("Reboot", sooner, notice=80)
    first = fleet.event("Reboot", soonest, notice=78)
    run = fleet.start("handle_events", handle_events_minimum_in_service=2, handle_events_urgent_within=1)
    run.wait_until(lambda: fleet.is_approved(first))
    # The event of the first is still listed, and for far longer than the second can wait.
    run.wait_until(lambda: fleet.is_approved(second) and fleet.is_down(sooner))
    assert soonest.marker.exists()
    fleet.azure.advance(LONG)

    assert run.finish() == 0, run.output
    assert sooner.is_back()
    assert soonest.is_back()
    assert "host0 would be hit before its own batch" in run.text
    assert "Batch 1 may leave 1 of 3 hosts in service, fewer than 2, because the platform takes host0" in run.text


def test_given_hosts_that_are_out_when_the_next_would_break_the_minimum_then_that_stays_in_service(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(3)
    alone, recorded, marked = fleet.hosts
    event = fleet.event("Reboot", alone, notice=3000)
    # By the playbook drain, and by somebody who did no more than that.
    (recorded.directory / "by_hand").mkdir()
    (recorded.directory / "by_hand" / "health_probe.json").write_text("{}\n")
    marked.marker.touch()

    status, run = fleet.run("handle_events", handle_events_minimum_in_service="1", handle_events_group="drained")

    assert status == 2, run.output
    assert not fleet.is_approved(event)
    assert alone.is_back()
    assert "left in service: 1 of 3 hosts of drained are in service, and 1 must stay" in run.report(alone)


def test_given_the_playbook_imported_again_and_again_then_each_starts_anew_with_the_hosts_that_are_named_below_it(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(4)
    freeze = fleet.event("Freeze", fleet.hosts[0], duration=-1)
    name = "foghorn.azure_events.handle_events"
    chosen = ("host0:host1:!retired", "host0", ["host2"])
    site = fleet.path / "site.yml"
    site.write_text(
        yaml.safe_dump([{"import_playbook": name, "vars": {"handle_events_hosts": hosts}} for hosts in chosen])
    )

    run = fleet.start(str(site))
    run.wait_until(lambda: fleet.is_approved(freeze))
    fleet.azure.advance(LONG)

    assert run.finish() == 0, run.output
    first, *later = run.output.split("PLAY [Ask every host for its events]")[1:]
    assert "Batch 1 of 1: host0" in first
    assert "approved with" in first
    assert ["Nothing is announced for these hosts." in part for part in later] == [True, True]
    assert ["Nothing had to be done." in part for part in later] == [True, True]
    assert fleet.hosts[0].is_back()
    assert [fleet.looks(host) > 0 for host in fleet.hosts] == [True, True, True, False]


def test_given_check_mode_when_run_then_it_predicts_and_changes_nothing(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(1)
    reboot = fleet.event("Reboot", fleet.hosts[0])

    status, run = fleet.run("handle_events", "--check", "--diff")

    assert status == 0, run.output
    assert not fleet.is_approved(reboot)
    assert fleet.hosts[0].is_back()
    assert "+out of rotation" in run.output
    assert "Scheduled, approved" in run.output
    assert "would be prepared; would be approved with" in run.report(fleet.hosts[0])
    assert "would be restored when it is over" in run.report(fleet.hosts[0])


def test_given_a_wrong_probe_url_that_alone_would_confirm_the_removal_then_the_event_is_not_approved(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(1)
    host = fleet.hosts[0]
    event = fleet.event("Reboot", host)
    url = f"http://{host.address}:9/readyz"

    run = fleet.start(
        "handle_events",
        graceful_shutdown_services=[],
        handle_events_before_tasks="",
        load_balancer_removal_health_probe_url=url,
        load_balancer_removal_health_probe_url_timeout=1,
    )

    run.wait_until(lambda: "waits for Reboot" in run.text)
    assert not fleet.is_approved(event)
    fleet.azure.advance(LONG)

    assert run.finish() == 2
    assert (
        "nothing confirms that the host is out of rotation, and nothing is stopped on it: correct the URL" in run.text
    )


def test_given_hosts_that_do_not_answer_when_run_then_nobody_waits_for_them_and_they_are_asked_again(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(3)
    host, silent, slow = fleet.hosts
    reboot = fleet.event("Reboot", host)
    freeze = fleet.event("Freeze", slow, duration=-1)
    fleet.take_down(silent)
    fleet.azure.fault("silence", slow.vm.lower())
    report = fleet.path / "report.json"
    run = fleet.start(
        "handle_events",
        handle_events_minimum_in_service=0,
        handle_events_first_timeout=5,
        handle_events_report_file=str(report),
    )
    run.wait_until(lambda: fleet.is_approved(reboot))
    assert not fleet.is_approved(freeze)
    fleet.azure.clear_faults()
    fleet.azure.advance(800)
    run.wait_until(lambda: fleet.is_approved(freeze))
    assert host.is_back()
    fleet.azure.advance(LONG)

    assert run.finish() == 2, run.output
    assert slow.is_back()
    assert "s of notice left; over; restored" in run.report(slow)
    assert "FAILED: Read the events" in run.report(silent)
    told = json.loads(report.read_text())["hosts"]
    assert told[host.name]["restored"]
    assert told[host.name]["approved"][0]["event_id"] == reboot
    assert told[host.name]["failures"] == []
    assert told[silent.name]["failures"][0].startswith("Read the events")
    # The one that is to blame, and no other.
    assert re.search(rf"^{host.name} .* failed=0 ", run.output, re.MULTILINE)
    assert re.search(rf"^{silent.name} .* failed=1 ", run.output, re.MULTILINE)


def test_given_invalid_variables_when_run_then_all_are_named_before_any_host_is_asked(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(2)
    fleet.hosts[1].variables["handle_events_margin"] = "soon"
    # As the README has them: below import_playbook.
    variables = {"graceful_shutdown_service": ["nginx"], "handle_events_group": "{{ mistyped }}"}
    imported = {"ansible.builtin.import_playbook": "foghorn.azure_events.handle_events", "vars": variables}
    roll = fleet.path / "roll.yml"
    roll.write_text(yaml.safe_dump([imported]))

    status, run = fleet.run(
        str(roll),
        handle_event_hosts="host0",
        handle_events_hosts="all:!hots1",
        handle_events_minimun_in_service=1,
        load_balancer_removal_methods=["haproxi"],
    )

    assert status != 0
    assert "graceful_shutdown_service: there is no such variable: did you mean graceful_shutdown_services?" in run.text
    assert "handle_events_group: " in run.text
    assert "'mistyped' is undefined" in run.text
    assert "did you mean handle_events_hosts? (host0, host1)" in run.text
    assert "handle_events_hosts: !hots1 matches no host, and the inventory has no such group" in run.text
    assert "did you mean handle_events_minimum_in_service? (host0, host1)" in run.text
    assert "handle_events_margin: expected a number, 0 or more, got " in run.text
    assert "haproxi" in run.text
    assert fleet.looks(fleet.hosts[0]) == 0


def test_given_a_tag_that_chooses_nothing_at_all_then_the_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("localhost\n")

    run = ansible_runs.run("--tags", "any", "-i", str(tmp_path / "hosts"), "foghorn.azure_events.handle_events")

    assert run.returncode == 2, run.stdout
    assert "--tags any: no task of this run is selected" in run.stdout


def test_given_a_syntax_check_then_it_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("localhost\n")
    run = ansible_runs.run(
        *("--syntax-check", "-e", "redeploy_early_hosts=all", "-i", str(tmp_path / "hosts")),
        *("foghorn.azure_events.handle_events", "foghorn.azure_events.redeploy_early"),
    )

    assert run.returncode == 0, run.stdout
