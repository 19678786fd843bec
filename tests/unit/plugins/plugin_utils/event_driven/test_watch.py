# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source continues whatever happens, announces each thing once, and ends only when it is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.maintenance_policy.window import Window
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import (
    parse_event,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.approval_times import read_times
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.dedup import Deduplicator
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.options import Remind
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.readers import Found, Reader, Reading
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.watch import (
    Problems,
    Reminders,
    news,
    repeat,
)

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
PATIENCE = 60.0  # seconds


def found(
    event_id: str,
    status: str = "Scheduled",
    minutes: int = 15,
    is_finished: bool = False,
    reporter: str = "",
    resources: tuple[str, ...] = ("web_0",),
) -> Found:
    event = parse_event(
        {
            "EventId": event_id,
            "EventType": "Reboot",
            "EventStatus": status,
            "Resources": list(resources),
            "NotBefore": "2026-11-22T12:%02d:00Z" % minutes if status == "Scheduled" else "",
        }
    )
    return Found(event, "agent", is_finished=is_finished, reporter=reporter)


def told(announcements: list[Any]) -> list[tuple[str, str]]:
    seen = [one["azure_maintenance"] for one in announcements]
    return [(one["event_id"], one["event_status"]) for one in seen]


class TestNews:
    def test_given_several_sources_of_the_same_event_then_it_is_announced_once(self) -> None:
        memory = Deduplicator()

        assert told(news([found("A"), found("a"), found("A")], memory, None, NOW)) == [("A", "Scheduled")]
        assert news([found("A")], memory, None, NOW) == []

    def test_given_several_events_then_the_most_urgent_comes_first(self) -> None:
        listed = [found("late", minutes=50), found("soon", minutes=10), found("on", "Started")]

        assert [one for one, _status in told(news(listed, Deduplicator(), None, NOW))] == ["on", "soon", "late"]

    def test_given_some_are_behind_others_then_an_event_goes_forward_only(self) -> None:
        assert told(news([found("A"), found("A", "Started"), found("A")], Deduplicator(), None, NOW)) == [
            ("A", "Scheduled"),
            ("A", "Started"),
        ]
        assert told(news([found("A", "Started"), found("A")], Deduplicator(), None, NOW)) == [("A", "Started")]

    def test_given_history_then_only_the_end_of_what_was_announced_is(self) -> None:
        memory = Deduplicator()
        news([found("A")], memory, None, NOW)

        listed = [found("A", "Completed", is_finished=True), found("B", "Completed", is_finished=True)]

        assert told(news(listed, memory, None, NOW)) == [("A", "Completed")]

    def test_given_a_map_of_hosts_then_it_says_where_the_rules_run(self) -> None:
        (one,) = news([found("A")], Deduplicator(), lambda names, _group: ["host of %s" % name for name in names], NOW)

        assert one["meta"]["hosts"] == ["host of web_0"]


class TestLiars:
    """An agent may say anything of any event, before all others."""

    @pytest.mark.parametrize(
        "lie",
        [
            found("A", "Started", reporter="web_1", resources=("web_1", "web_0")),
            found("A", "Completed", reporter="web_1", resources=("web_1", "web_0")),
            found("A", "Canceled", reporter="web_1", resources=("web_1",)),
            found("A", reporter="web_1", resources=("web_1",)),
            found("A", minutes=59, reporter="web_1", resources=("web_1", "web_0")),
        ],
    )
    def test_given_a_lie_about_a_neighbours_event_when_the_neighbour_reports_it_then_it_is_announced(
        self, lie: Found
    ) -> None:
        honest = found("A", reporter="web_0")
        alone = news([honest], Deduplicator(), None, NOW)
        memory = Deduplicator()

        assert len(news([lie], memory, None, NOW)) == 1
        assert news([lie, honest], memory, None, NOW) == alone
        assert news([lie, honest], memory, None, NOW) == []

    def test_given_a_liar_that_later_says_the_truth_when_the_neighbour_reports_it_then_it_is_announced(self) -> None:
        memory = Deduplicator()
        news([found("A", minutes=59, reporter="web_1", resources=("web_1", "web_0"))], memory, None, NOW)
        truth = found("A", reporter="web_1", resources=("web_1", "web_0"))
        assert news([truth], memory, None, NOW) == []

        assert len(news([truth._replace(reporter="web_0")], memory, None, NOW)) == 1

    def test_given_a_lie_when_an_event_is_reported_again_later_then_the_neighbours_is_as_well(self) -> None:
        memory, reminders = Deduplicator(), Reminders(Remind(300, 7200))
        lie = found("A", reporter="web_1", resources=("web_1",))
        honest = found("A", reporter="web_0")
        for moment, expected in ((0.0, 2), (200.0, 0), (400.0, 2)):
            reminders.look(moment)
            assert len(news([lie, honest], memory, None, NOW, reminders)) == expected

    def test_given_members_that_say_the_same_of_a_shared_event_then_it_is_announced_once(self) -> None:
        members = ("web_0", "web_1")
        listed = [found("A", reporter=name, resources=members) for name in members]

        assert len(news(listed, Deduplicator(), None, NOW)) == 1


class TestProblems:
    def test_given_something_is_wrong_for_long_then_it_is_reported_at_its_beginning_and_at_its_end(self) -> None:
        lines: list[str] = []
        problems = Problems(lines.append)
        for wrong in ({}, {"a": "broken"}, {"a": "broken differently"}, {"a": "broken"}, {}, {}):
            problems.tell(wrong)

        assert lines == ["a: broken", "a: works again"]

    def test_given_a_whole_fleet_has_problems_then_the_log_is_not_flooded(self) -> None:
        lines: list[str] = []
        problems = Problems(lines.append)
        problems.tell({str(number): "gone" for number in range(5000)})
        problems.tell({})

        assert len(lines) == 42
        assert "4980 more" in lines[20]

    def test_given_an_error_with_another_users_text_then_it_is_one_harmless_line(self) -> None:
        lines: list[str] = []
        Problems(lines.append).tell({"a": "x\nINFO all is well\x1b[2J" + "y" * 9999})

        assert "\n" not in lines[0]
        assert "\x1b" not in lines[0]
        assert len(lines[0]) < 600


class _Run:
    """`repeat` with a reader that plays a script, and a clock that nobody waits for. It begins at noon."""

    def __init__(
        self,
        *script: Reading | Exception,
        queue_size: int = 0,
        between: list[Window] | None = None,
        remind: Remind | None = None,
    ) -> None:
        self._between = between or []
        self._remind = remind
        self.queue: asyncio.Queue[Any] = asyncio.Queue(queue_size)
        self.lines: list[str] = []
        self.slept: list[float] = []
        self.over = asyncio.Event()
        self._script = list(script)
        self._now = 0.0

    async def _read(self) -> Reading:
        if not self._script:
            self.over.set()
            await asyncio.sleep(PATIENCE)
        step = self._script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._now += seconds

    async def _close(self) -> None:
        pass

    def start(self) -> asyncio.Task[None]:
        reader = Reader(self._read, self._close)
        return asyncio.create_task(
            repeat(
                reader,
                self.queue,
                10,
                None,
                self.lines.append,
                lambda: self._now,
                self._sleep,
                self._between,
                lambda: NOW + timedelta(seconds=self._now),
                self._remind,
            )
        )

    def announced(self) -> list[tuple[str, str]]:
        return told([self.queue.get_nowait() for _number in range(self.queue.qsize())])


async def cancelled(task: asyncio.Task[None]) -> bool:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(task, PATIENCE)
    return task.cancelled()


def run(check: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(check(), PATIENCE)

    asyncio.run(bounded())


class TestRepeating:
    def test_given_readings_that_fail_in_any_way_then_it_continues_and_reports_the_failure_once(self) -> None:
        async def check() -> None:
            one = _Run(OSError("no route"), ValueError("odd"), KeyError(), Reading([found("A")]))
            task = one.start()
            await one.over.wait()

            assert not task.done()
            assert one.announced() == [("A", "Scheduled")]
            assert one.lines == ["reading: no route", "reading: works again"]
            assert await cancelled(task)

        run(check)

    def test_given_failures_one_after_the_other_then_it_waits_longer_up_to_five_minutes(self) -> None:
        async def check() -> None:
            one = _Run(*[OSError()] * 9, Reading([]))
            task = one.start()
            await one.over.wait()

            assert one.slept == [10, 20, 40, 80, 160, 300, 300, 300, 300, 10]
            assert await cancelled(task)

        run(check)

    def test_given_the_rulebook_takes_nothing_then_it_waits_and_can_be_cancelled(self) -> None:
        async def check() -> None:
            one = _Run(Reading([found("A"), found("B")]), queue_size=1)
            task = one.start()
            while not one.queue.full():
                await asyncio.sleep(0)

            assert not one.slept
            assert await cancelled(task)

        run(check)

    def test_given_an_event_that_is_far_away_when_it_comes_near_then_it_is_reported_again_until_it_begins(self) -> None:
        """A rulebook that heard of it hours ahead ignored it: without a reminder nobody would handle it."""
        far, begun = Reading([found("A", minutes=10)] * 2), Reading([found("A", "Started"), found("A", minutes=10)])

        async def check() -> None:
            # A reading every ten seconds: nine minutes until it is near, then one minute, then it has begun.
            one = _Run(*[far] * 60, *[begun] * 30, remind=Remind(every=25, within=60))
            task = one.start()
            moments = []
            while not one.over.is_set() or not one.queue.empty():
                event = await asyncio.wait_for(one.queue.get(), PATIENCE)
                moments.append(
                    (event["azure_maintenance"]["event_status"], event["azure_maintenance"]["seconds_until_start"])
                )
                await asyncio.sleep(0)

            assert moments == [("Scheduled", 600), ("Scheduled", 60), ("Scheduled", 30), ("Started", 0)]
            assert await cancelled(task)

        run(check)

    def test_given_no_reminders_are_wanted_when_an_event_comes_near_then_it_is_reported_once(self) -> None:
        async def check() -> None:
            one = _Run(*[Reading([found("A", minutes=10)])] * 60)
            task = one.start()
            await one.over.wait()

            assert one.announced() == [("A", "Scheduled")]
            assert await cancelled(task)

        run(check)

    def test_given_an_event_without_a_date_when_reminders_are_wanted_then_it_may_begin_at_any_time(self) -> None:
        event = found("A").event._replace(not_before=None)

        async def check() -> None:
            one = _Run(*[Reading([Found(event, "agent")])] * 4, remind=Remind(every=20, within=60))
            task = one.start()
            await one.over.wait()

            assert one.announced() == [("A", "Scheduled")] * 2
            assert await cancelled(task)

        run(check)

    def test_given_times_to_announce_at_then_each_begins_with_all_that_is_announced_and_nothing_is_read_between(
        self,
    ) -> None:
        content = [{"from": "12:01", "to": "12:02"}, {"from": "12:03", "to": "12:04"}]
        times = list(read_times(content, "announce_between"))

        async def check() -> None:
            one = _Run(*[Reading([found("A", minutes=50)])] * 12, between=times)
            task = one.start()
            await one.over.wait()

            assert one.announced() == [("A", "Scheduled"), ("A", "Scheduled")], "once a time"
            # From noon on: a minute, six readings, a minute, six readings, and the wait for the next day.
            assert sum(one.slept) == 24 * 3600 + 60
            assert await cancelled(task)

        run(check)
