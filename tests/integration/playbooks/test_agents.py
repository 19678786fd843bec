# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook handle_events on hosts that run the handler agent, and beside them hosts that do not."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from tests.integration.playbooks.fleet import Fleet, Host, Run

LONG = 20000.0  # seconds; longer than any event
OUT_OF_ROTATION = 503


@contextmanager
def _controller(waits_from: int) -> Iterator[str]:
    """A controller on which job 16 of template 9 runs, and from so many questions on another one waits; its URL."""
    launched = dict.fromkeys(("job_type", "inventory", "project", "playbook", "scm_branch", "limit", "extra_vars"), "")
    launched |= dict.fromkeys(("job_tags", "skip_tags", "start_at_task"), "")
    jobs = [
        {"id": number, "status": status, "job_template": 9, **launched}
        for number, status in ((16, "running"), (17, "pending"))
    ]
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer."""
            asked.append(self.path)
            body = json.dumps({"results": jobs[: 1 + (len(asked) >= waits_from)]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


class _Mixed(NamedTuple):
    """A fleet of both kinds after one run, and what was seen on the way."""

    fleet: Fleet
    events: dict[str, str]
    run: Run
    status: int
    touched: list[str]
    shared_before_its_start: list[bool]

    def host(self, number: int) -> Host:
        return self.fleet.hosts[number]

    def approvals(self, name: str) -> int:
        return len(self.fleet.record(self.events[name])["approvals"])


def has_touched(host: Host) -> bool:
    """Whether the playbook has taken the host out of rotation or left its record there."""
    return host.marker.exists() or host.state.exists()


def is_out(host: Host) -> bool:
    """Whether the host's agent has taken it out and stopped its service."""
    return host.agent is not None and host.agent.ask("/readyz") == OUT_OF_ROTATION and not host.is_serving()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Mixed]:
    """Agents on host 0, on 2, which shares its event with 3, and on 4, where it fails to restore; none on 1 and 3.

    That on 5 has nothing configured for its event.
    """
    with Fleet(tmp_path_factory.mktemp("mixed"), 33, 6) as fleet:
        hosts = fleet.hosts
        fleet.start_agent(hosts[0])
        fleet.start_agent(hosts[2])
        fleet.start_agent(hosts[4], restore=[{"command": ["/bin/false"]}])
        idle = fleet.start_agent(hosts[5], match={"event_types": ["Preempt"]})
        events = {
            # Agents are quick. Until Azure begins, the hosts can be asked.
            "agent": fleet.event("Reboot", hosts[0], approval_delay=30),
            "playbook": fleet.event("Reboot", hosts[1]),
            "both": fleet.event("Redeploy", hosts[2], hosts[3], notice=600),
            "unrestored": fleet.event("Reboot", hosts[4], approval_delay=30),
            "not configured": fleet.event("Reboot", hosts[5]),
        }
        fleet.hear(idle, "nothing is configured for Reboot")
        # The others take as long as their agents need.
        hosts[4].variables["handle_events_agent_timeout"] = 2
        run = fleet.start("handle_events", handle_events_minimum_in_service=0)
        approved = ("agent", "playbook", "unrestored", "not configured")
        run.wait_until(lambda: all(fleet.is_approved(events[name]) for name in approved))
        run.wait_until(lambda: is_out(hosts[2]) and hosts[3].marker.exists() and not hosts[3].is_serving())
        fleet.azure.advance(590)
        touched = [host.name for host in hosts[:5] if host.agent and has_touched(host)]
        shared = [is_out(hosts[2]), hosts[3].marker.exists(), not hosts[3].is_serving()]
        fleet.azure.advance(LONG)
        status = run.finish()
        yield _Mixed(fleet, events, run, status, touched, shared)


def test_given_a_host_with_an_agent_when_handled_then_the_playbook_does_nothing_to_it_but_watch(mixed: _Mixed) -> None:
    assert mixed.touched == []
    assert mixed.run.changes(mixed.host(0)) == 0
    assert mixed.approvals("agent") > 0
    assert "left to its agent; over; in rotation, its agent says" in mixed.run.report(mixed.host(0))
    assert mixed.host(0).is_serving()
    assert "left to the agent of host0" in mixed.run.output


def test_given_a_host_without_an_agent_beside_those_that_have_one_when_handled_then_it_goes_through_as_before(
    mixed: _Mixed,
) -> None:
    assert mixed.approvals("playbook") == 1
    assert mixed.host(1).is_back()
    assert "s of notice left; over; restored" in mixed.run.report(mixed.host(1))


def test_given_an_event_shared_by_both_kinds_then_nobody_approves_it_and_all_are_ready_when_it_begins(
    mixed: _Mixed,
) -> None:
    assert mixed.approvals("both") == 0
    assert mixed.shared_before_its_start == [True, True, True]
    assert mixed.host(3).is_back()
    assert mixed.host(2).is_serving()


def test_given_an_agent_that_does_not_restore_its_host_then_the_run_fails_naming_it(mixed: _Mixed) -> None:
    assert mixed.status == 2
    assert "FAILED: Its agent has not restored it within 2 s" in mixed.run.report(mixed.host(4))
    assert "FAILED" not in "".join(mixed.run.report(mixed.host(number)) for number in (0, 1, 2, 3, 5))


def test_given_an_agent_that_has_nothing_configured_for_the_event_then_its_host_is_handled_like_one_without(
    mixed: _Mixed,
) -> None:
    assert "host5 (not left to its agent, which has no policy for it)" in mixed.run.text
    assert mixed.approvals("not configured") == 1
    assert mixed.host(5).is_serving()
    assert "s of notice left; over; restored" in mixed.run.report(mixed.host(5))


def test_given_an_agent_that_does_not_count_when_handled_then_the_playbook_does_its_work(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Fleet(tmp_path_factory.mktemp("ignored"), 34, 1) as fleet, _controller(waits_from=2) as url:
        host = fleet.hosts[0]
        # It would never approve.
        fleet.start_agent(host, approve="never")
        reboot = fleet.event("Reboot", host)

        # Watching it is no reason to have the next job of the template wait.
        monkeypatch.setenv("CONTROLLER_HOST", url)
        monkeypatch.setenv("CONTROLLER_OAUTH_TOKEN", "a-token-of-this-test")
        job: dict[str, Any] = {"awx_job_id": 16, "awx_job_template_id": 9, "handle_events_controller": "c1"}
        status, ended = fleet.run("handle_events", handle_events_runs_alone=True, **job)
        assert status == 0, ended.output
        assert "Job 17 of this template waits in the queue, and this job would only wait" in ended.text
        assert "left alone: job 17 of this template, which waits in the queue, continues it" in ended.text
        monkeypatch.delenv("CONTROLLER_HOST")

        run = fleet.start("handle_events", handle_events_leave_to_agent=False)
        run.wait_until(lambda: fleet.is_approved(reboot))
        assert host.marker.exists()
        fleet.azure.advance(LONG)

        assert run.finish() == 0, run.output
        assert host.is_back()
