# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Right before an approval the playbook handle_events sees that its hosts are still out, and their services down."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.integration.playbooks.fleet import Fleet

LONG = 5000.0  # seconds, after which everything that is announced is over


def test_given_what_is_undone_before_the_approval_then_it_is_done_once_more_and_otherwise_nothing_is_approved(
    tmp_path: Path,
) -> None:
    with Fleet(tmp_path, 61, 2) as fleet:
        put_back, restarts = fleet.hosts
        put_back.variables["stop"] = [
            "sh", "-c", f"rm -f {put_back.marker}; exec {shlex.join(put_back.service('stop'))}"
        ]  # fmt: skip
        status, start = shlex.join(restarts.service("status")), shlex.join(restarts.service("start"))
        # As a socket does when the next client comes: it runs again as soon as somebody has seen it stopped.
        starts_again = f"{status}; seen=$?; [ $seen = 0 ] || {start} >/dev/null 2>&1 </dev/null; exit $seen"
        restarts.variables["graceful_shutdown_services"] = [
            {"name": "web", "stop": restarts.service("stop"), "start": restarts.service("start")}
            | {"status": ["sh", "-c", starts_again]}
        ]
        events = [fleet.event("Reboot", host, notice=600, impact=0) for host in fleet.hosts]
        run = fleet.start("handle_events", handle_events_minimum_in_service=0)
        run.wait_until(lambda: fleet.is_approved(events[0]))
        assert put_back.marker.exists()
        run.wait_until(lambda: "Wait until the events are over" in run.output)
        fleet.azure.advance(LONG)

        assert run.finish() == 2, run.output
        assert not fleet.is_approved(events[1])
        assert "FAILED" not in run.report(put_back)
        # Where its stop is confirmed twice, it runs again before the second time.
        told = ("web ran again, although that was undone once", "still running although their stop succeeded: web")
        assert any(text in run.report(restarts) for text in told)
