# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections and controllers are lost before and after any module runs; another run brings everything back.

Every host of a run has an interruption of its own, so that few runs try many. Which ones is drawn with a seed. All
are tried with INTERRUPTIONS=all in the environment, which takes a while.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.playbooks.fleet import PATIENCE, Fleet, Host, Run, published

# No other module runs on a host between the first poll and the last.
MOST_MODULES = 34
LOST = [(number, moment, "lost") for number in range(MOST_MODULES) for moment in ("before", "after")]
KILLED = [
    (number, moment, signal)
    for number in range(MOST_MODULES)
    for moment in ("before", "after")
    for signal in ("SIGINT", "SIGKILL")
]
AT_A_TIME = 3

Interruption = tuple[int, str, str]


def drawn() -> list[list[Interruption]]:
    """For each test, what happens to one host after the other."""
    lost, killed = list(LOST), list(KILLED)
    chance = random.Random(8)
    chance.shuffle(lost)
    chance.shuffle(killed)
    if os.environ.get("INTERRUPTIONS") == "all":
        groups = [lost[start : start + AT_A_TIME] for start in range(0, len(lost), AT_A_TIME)]
        return groups + [[end] for end in killed]
    # Late, so that the others come before it.
    end = next(end for end in killed if end[0] > MOST_MODULES // 2)
    return [[*lost[: AT_A_TIME - 1], end]]


def plan_interruption(fleet: Fleet, host: Host, interruption: Interruption) -> None:
    """Have this happen to a host."""
    number, moment, what = interruption
    lines = [""] * number + [f"{moment} {what}"]
    (fleet.path / "down" / f"{host.name}.faults").write_text("\n".join(lines))


def forget_interruptions(fleet: Fleet) -> None:
    """Have nothing happen any more."""
    for path in (fleet.path / "down").glob("*.faults"):
        path.unlink()


def finish(fleet: Fleet, run: Run) -> int:
    """Let time pass until a run ends, from when it waits for that: no event begins because a machine is slow."""
    limit = time.monotonic() + PATIENCE
    while run.is_running():
        if "]: waits for " in run.output:
            fleet.azure.advance(60)
        run.wait_a_little()
        # An interrupted ansible-core may wait for ever for the lock of a queue that a worker held which it has ended.
        # The operator who interrupted it then kills it.
        if time.monotonic() > limit:
            run.kill()
    return run.finish()


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """Hosts that are all hit."""
    with published(tmp_path, 37, AT_A_TIME, monkeypatch) as running:
        for host in running.hosts:
            running.event("Reboot", host, impact=0, notice=600)
        yield running


# Where Azure is asked, a list on the controller has to lead the second run to hosts that nothing is announced for.
@pytest.mark.parametrize("ask", ["machines", "azure"] if os.environ.get("INTERRUPTIONS") == "all" else ["machines"])
@pytest.mark.parametrize("interruptions", drawn(), ids=str)
def test_given_any_interruption_when_run_again_then_everything_is_back(
    fleet: Fleet, interruptions: list[Interruption], ask: str
) -> None:
    variables: dict[str, Any] = {
        "handle_events_ask": ask,
        "handle_events_out_directory": str(fleet.path / "out"),
        "handle_events_minimum_in_service": 0,
    }
    for host, interruption in zip(fleet.hosts, interruptions, strict=False):
        plan_interruption(fleet, host, interruption)
    first = fleet.start("handle_events", **variables)
    finish(fleet, first)
    out = [host.name for host in fleet.hosts if not host.is_back()]
    assert not out or first.finish() != 0, first.output
    forget_interruptions(fleet)

    second = fleet.start("handle_events", **variables)
    status = finish(fleet, second)

    assert status == 0, second.output
    assert [host.name for host in fleet.hosts if not host.is_back()] == [], first.output + second.output
