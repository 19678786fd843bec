# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that cannot answer do not stop the maintenance of a group that they are not in."""

from __future__ import annotations

from pathlib import Path

from tests.integration.playbooks.fleet import Fleet

LONG = 5000.0  # seconds, after which everything that is announced is over


def test_given_a_host_that_is_off_and_one_with_windows_when_a_group_is_hit_then_it_is_handled_and_both_are_named(
    tmp_path: Path,
) -> None:
    with Fleet(tmp_path, 62, 4) as fleet:
        hit, other, off, windows = fleet.hosts
        for host in (hit, other):
            host.variables |= {"handle_events_group": "web", "handle_events_minimum_in_service": 1}
        off.variables["powerstate"] = "deallocated"
        fleet.take_down(off)
        windows.variables |= {"ansible_shell_type": "powershell", "handle_events_minimum_in_service": 4}
        event = fleet.event("Reboot", hit, notice=600, impact=0)
        run = fleet.start("handle_events")
        run.wait_until(lambda: fleet.is_approved(event))
        fleet.azure.advance(LONG)

        assert run.finish() == 0, run.output
        assert hit.is_back()
        assert "FAILED" not in run.report(hit)
        assert fleet.looks(off) == 0
    assert run.report(off) == f"{off.name}: off on purpose"
    assert "not handled: a Windows host without an agent" in run.report(windows)
