# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a host waits for the end of its events beside others, and what is said meanwhile."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Host
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import make_plan
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import Policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.progress import begin_watch
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.waiting import (
    BatchSignal,
    Poll,
    RunEndedError,
    WatchLimits,
    sleep_within_run,
    wait,
    wait_for_batch,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.waiting import Waiting as World

from .conftest import NOW, event

SILENCE = None
LOOK_EVERY = 1.0
# What is waited for, and the same later.
REBOOT, STARTED = event(event_id="E1", notice=600), event(event_id="E1", status="Started")


class Waiting:
    """A host that waits for a Reboot, with a clock that only its sleep moves."""

    def __init__(self, directory: Path, event: Event, now: float) -> None:
        self.signal = BatchSignal(str(directory / "bell"))
        self.now = now
        self.lines: list[str] = []
        self.looked_at: list[float] = []
        self._answers: Sequence[Any] = ()
        self.rings_at = float("inf")
        self.renewed_at: list[float] = []
        self.taken_over_by = ""
        self.is_relieved_at = float("inf")
        host_plan = make_plan([Host("h0", "vm_0", (event,))], Policy(), now).hosts["h0"]
        self.progress = begin_watch(host_plan, [event.event_id], False, Policy(), now)

    def wait(self, *answers: Any, policy: Policy = Policy(), **limits: Any) -> dict[str, Any]:
        """Wait, and be given these answers, the last of them again and again."""
        self._answers = answers
        self.looked_at = []
        self.progress = wait(
            self.progress,
            WatchLimits(policy, LOOK_EVERY, **limits),
            self._world,
            renew=self._renew,
            notify=self.lines.append,
        )
        return self.progress

    def wait_for_batch(self, known: Sequence[Event], *answers: Any, **limits: Any) -> None:
        """Wait for room, and be given these answers."""
        self._answers = answers
        self.looked_at = []
        wait_for_batch(known, WatchLimits(Policy(), LOOK_EVERY, **limits), self._world)

    @property
    def _world(self) -> World:
        return World(self._look, self.signal, lambda: self.now, self._sleep, lambda: self.now >= self.is_relieved_at)

    def _look(self) -> Poll:
        answer = self._answers[min(len(self.looked_at), len(self._answers) - 1)]
        self.looked_at.append(self.now)
        return answer if isinstance(answer, Poll) else Poll(answer)

    def _renew(self) -> str:
        self.renewed_at.append(self.now)
        return self.taken_over_by

    def _sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.rings_at:
            self.signal.send()


@pytest.fixture
def waiting(tmp_path: Path) -> Waiting:
    """A host that has just begun to wait."""
    return Waiting(tmp_path, REBOOT, NOW)


def test_given_an_event_that_ends_then_its_wait_ends_and_the_others_are_notified(waiting: Waiting) -> None:
    state = waiting.wait([REBOOT], [STARTED], [])

    assert (state["over"], state["restore"]) == (True, True)
    assert waiting.signal.was_sent()


def test_given_what_is_waited_for_then_it_is_reported_at_first_and_when_it_changes_and_not_each_time(
    waiting: Waiting,
) -> None:
    waiting.wait([REBOOT], [REBOOT], [STARTED], [STARTED], SILENCE, SILENCE, [STARTED], [])

    said = [line.split(" since ")[0] for line in waiting.lines]
    assert said == [
        "waits for Reboot E1 (Scheduled)",
        "waits for Reboot E1 (Started)",
        "waits for it to answer again: neither it nor its metadata service does",
        "waits for Reboot E1 (Started)",
        "over",
    ]


def test_given_a_long_wait_then_its_line_is_repeated_every_five_minutes_in_rounds_of_any_length(
    waiting: Waiting,
) -> None:
    for ends_after in (0, 250, 550):
        waiting.wait([REBOOT], until=NOW + ends_after)
        waiting.now = NOW + ends_after
    waiting.wait([])

    assert [line.split(" since ")[0] for line in waiting.lines] == ["waits for Reboot E1 (Scheduled)"] * 2 + ["over"]


def test_given_nothing_new_for_ten_thousand_polls_then_it_is_one_wait_and_the_lease_is_renewed_all_along(
    waiting: Waiting,
) -> None:
    deferred = Policy(end_timeout=20_000)
    waiting.progress["gives_up_at"] = NOW + 20_000

    state = waiting.wait(*[[REBOOT]] * 10_000, [], policy=deferred)

    assert state["over"]
    assert len(waiting.looked_at) == 10_001
    assert waiting.renewed_at == [NOW + seconds for seconds in range(0, 10_000, 60)]


def test_given_a_host_that_is_silent_then_its_lease_is_renewed_when_it_answers_again(waiting: Waiting) -> None:
    waiting.wait(SILENCE, SILENCE, [STARTED], [])

    assert waiting.renewed_at == [NOW + 2]


def test_given_a_host_that_another_run_has_taken_over_then_its_wait_ends_and_it_is_not_restored(
    waiting: Waiting,
) -> None:
    waiting.taken_over_by = "another run has taken it over"

    state = waiting.wait([REBOOT])

    assert (state["over"], state["restore"], state["lost"]) == (True, False, "another run has taken it over")
    assert len(waiting.looked_at) == 1


def test_given_an_unreachable_host_then_the_error_is_reported_once_with_the_remedy(waiting: Waiting) -> None:
    refused = Poll(SILENCE, "ssh: connect to host web1 port 22: Connection refused")
    lost = Poll(SILENCE, "ssh: connect to host web1 port 22: Connection timed out")
    changed = Poll(SILENCE, "Host key for web1 has changed and you have requested strict checking.")

    waiting.wait([STARTED], refused, lost, refused, changed, changed, [])

    _at_first, refused_line, changed_line, _over = waiting.lines
    assert "metadata service does (ssh: connect to host web1 port 22: Connection refused) since" in refused_line
    assert "; another machine answers there, or this one has a new host key" in changed_line
    assert "ssh-keygen -R 'web1'" in changed_line


def test_given_another_host_whose_wait_ends_then_this_round_ends_within_a_second(waiting: Waiting) -> None:
    waiting.rings_at = NOW + 2

    assert not waiting.wait([REBOOT])["over"]

    assert waiting.now == NOW + 2


def test_given_another_run_that_is_about_to_take_over_then_all_waits_of_the_batch_end(waiting: Waiting) -> None:
    waiting.is_relieved_at = NOW + 2

    assert not waiting.wait([REBOOT])["over"]

    assert waiting.now == NOW + 2
    assert waiting.signal.was_sent()


def test_given_a_host_that_began_when_another_had_ended_then_it_is_checked_once(waiting: Waiting) -> None:
    waiting.signal.send()

    waiting.wait([REBOOT])

    assert (waiting.looked_at, waiting.now) == ([NOW], NOW)


def test_given_others_that_are_to_be_taken_soon_then_the_round_ends_in_time(waiting: Waiting) -> None:
    waiting.wait([REBOOT], until=NOW + 3)

    assert waiting.now == NOW + 3


def test_given_others_that_were_to_be_taken_already_then_there_is_a_pause_anyway(waiting: Waiting) -> None:
    waiting.wait([REBOOT], until=NOW - 3)

    assert waiting.now == NOW + 1


def test_given_more_hosts_than_can_be_polled_side_by_side_then_rounds_stay_short(waiting: Waiting) -> None:
    waiting.wait([REBOOT], is_crowded=True)

    assert waiting.looked_at == [NOW + second for second in range(10)]
    assert waiting.now == NOW + 10
    assert not waiting.signal.was_sent()


def test_given_a_host_that_waits_for_room_when_its_event_changes_or_ends_then_all_are_notified(
    waiting: Waiting,
) -> None:
    waiting.wait_for_batch([REBOOT], [REBOOT], SILENCE, [STARTED], until=NOW + 60)

    assert waiting.now == NOW + 2
    assert waiting.signal.was_sent()


def test_given_a_host_that_waits_for_room_when_its_time_comes_then_the_wait_ends(waiting: Waiting) -> None:
    waiting.wait_for_batch([REBOOT], [REBOOT], until=NOW + 60)

    assert waiting.now == NOW + 60
    assert not waiting.signal.was_sent()


def test_given_an_event_that_does_not_end_then_the_wait_gives_up_and_the_others_are_notified(waiting: Waiting) -> None:
    waiting.now = NOW + 2400

    assert waiting.wait([STARTED])["gave_up"]
    assert waiting.signal.was_sent()
    assert waiting.lines == ["not over yet, the host keeps its state: run again"]


def _wait_as_worker(told: Any) -> None:
    sleep = sleep_within_run()
    told.send(os.getpid())
    with contextlib.suppress(RunEndedError):
        while True:
            sleep(0.01)
    told.send("ended")


def test_given_a_run_that_is_killed_then_its_workers_wait_no_longer() -> None:
    fork = multiprocessing.get_context("fork")
    heard, told = fork.Pipe(duplex=False)

    def run() -> None:
        worker = fork.Process(target=_wait_as_worker, args=(told,))
        worker.start()
        worker.join()

    killed = fork.Process(target=run)
    killed.start()
    heard.recv()
    killed.kill()
    killed.join()

    assert heard.poll(60)
    assert heard.recv() == "ended"
