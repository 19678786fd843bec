# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for connections: until they are gone, or time is up."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.modules.connections_drained import run
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.stand_in import called

HEADER = "  sl  local_address rem_address   st\n"


class Kernel:
    """Its tables of connections, and a clock that only sleeping moves; some connections are closed at a time."""

    def __init__(self, proc: Path, *connections: str, closed_at: float = 1e9) -> None:
        self.proc = proc
        self.now = 0.0
        self.closed_at = closed_at
        self.connections = connections
        self.sleep(0)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        lines = (
            [] if self.now >= self.closed_at else [f"   0: 0400000A:0050 {one}:C350 01\n" for one in self.connections]
        )
        (self.proc / "tcp").write_text(HEADER + "".join(lines))

    def run(self, **options: Any) -> dict[str, Any]:
        given = {"ports": [80], "addresses": [], "excluded_addresses": [], "delay": 0.0, "timeout": 9.0}
        work = functools.partial(run, clock=self.clock, sleep=self.sleep, proc=str(self.proc))
        return called(work, **{**given, **options}).result


REMOTE = "0409000A" if sys.byteorder == "little" else "0A000904"  # 10.0.9.4


def test_given_clients_that_go_then_it_ends_when_they_have_gone(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, REMOTE, REMOTE, closed_at=4)
    assert kernel.run() == {"changed": False, "remaining": [], "elapsed": 4.0}


def test_given_clients_that_stay_then_what_remains_is_returned_at_the_end(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, REMOTE, REMOTE)
    assert kernel.run() == {"changed": False, "remaining": ["port 80 (2)"], "elapsed": 9.0}


def test_given_a_delay_then_the_first_look_is_after_it_and_there_is_one_although_time_is_up(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, REMOTE, closed_at=20)
    assert kernel.run(delay=20.0) == {"changed": False, "remaining": [], "elapsed": 20.0}


@pytest.mark.parametrize("excluded", ["10.0.9.4", "10.0.9.0/24"])
def test_given_an_excluded_address_or_network_then_its_connections_do_not_count(tmp_path: Path, excluded: str) -> None:
    assert Kernel(tmp_path, REMOTE).run(excluded_addresses=[excluded])["remaining"] == []


@pytest.mark.parametrize("option", ["addresses", "excluded_addresses"])
def test_given_what_is_no_address_then_it_is_refused_before_anything_is_waited_for(tmp_path: Path, option: str) -> None:
    kernel = Kernel(tmp_path, REMOTE)
    result = kernel.run(delay=5.0, **{option: ["gateway"]})
    assert (result["failed"], kernel.now) == (True, 0)
    assert (
        result["msg"] == "%s: 'gateway' is neither an IP address nor a network. Write 10.0.9.4 or 10.1.0.0/24" % option
    )


def test_given_check_mode_then_it_waits_for_nobody(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, REMOTE)
    assert (kernel.run(check_mode=True)["remaining"], kernel.now) == ([], 0)


def test_given_tables_that_cannot_be_read_then_it_fails(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    (tmp_path / "tcp").unlink()
    assert kernel.run()["failed"]
