# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of the event source while the rulebook runs.

It reads, tells what is new, and waits. What fails is told once, and once more when it works again; a source that ended
would take its rulebook with it, so no error ends it, only a cancellation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Protocol

from ...module_utils.maintenance_policy.window import Window
from ...module_utils.scheduled_events.event import NameKey, in_order_of_urgency, name_key
from ...module_utils.scheduled_events.text import plain
from ..approval_times import is_open
from .announcement import Json, of_event
from .dedup import Deduplicator
from .hosts import HostMap
from .options import Options, Remind
from .readers import Found, Reader, Reading, open_reader

_LONGEST_BACKOFF = 300.0  # seconds
_MOST_TOLD = 20
"""The number of sources whose problems are reported one by one."""
_LONGEST_PROBLEM = 500  # characters
# Each agent of a shared event has an entry of its own for it. About 60 MB, if there are that many.
_MOST_REMEMBERED = 200_000

Tell = Callable[[str], None]


class Queue(Protocol):
    """The queue from which ansible-rulebook takes events."""

    async def put(self, event: Any, /) -> None:
        """Put an event on the queue, and wait until there is room for it."""


async def watch(
    queue: Queue,
    options: Options,
    tell: Tell,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Read and announce events until cancelled.

    :param tell: told what somebody should know, in a line
    """
    reader = open_reader(options, clock)
    try:
        await repeat(
            reader,
            queue,
            options.interval,
            options.hosts,
            tell,
            clock,
            sleep,
            options.announce_between,
            remind=options.remind,
        )
    finally:
        await reader.close()


async def repeat(
    reader: Reader,
    queue: Queue,
    interval: float,
    hosts: HostMap | None,
    tell: Tell,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    announce_between: Sequence[Window] = (),
    utc_now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    remind: Remind | None = None,
) -> None:
    """The same, with a reader that is open already.

    :param announce_between: at other times nothing is read. Each begins with everything that is announced by then, told
        or not: whatever was not done about it last night is to be done tonight, and no restart can lose it
    :param remind: when an event that has not begun is told again; None: never
    """
    memory = Deduplicator(_MOST_REMEMBERED)
    reminders = None if remind is None else Reminders(remind)
    problems = Problems(tell)
    failures = 0
    while True:
        began = clock()
        if not is_open(announce_between, utc_now().timestamp()):
            memory = Deduplicator(_MOST_REMEMBERED)
            await sleep(interval)
            continue
        try:
            reading = await reader.read()
        except Exception as error:  # noqa: BLE001 - whatever it is, the next reading may succeed
            failures += 1
            reading = Reading([], {"reading": str(error) or type(error).__name__})
        else:
            failures = 0
        problems.tell(reading.problems)
        if reminders is not None:
            reminders.look(clock())
        for announcement in news(reading.found, memory, hosts, utc_now(), reminders):
            await queue.put(announcement)
        wait = interval if not failures else min(_LONGEST_BACKOFF, interval * 2.0 ** min(failures - 1, 10))
        await sleep(max(0.0, wait - (clock() - began)))


def news(
    found: Iterable[Found],
    memory: Deduplicator,
    hosts: HostMap | None,
    now: datetime,
    reminders: Reminders | None = None,
) -> list[Json]:
    """Announce new events: the most urgent event first, and the statuses of each in their order."""
    fresh: dict[tuple[NameKey, ...], list[Found]] = {}
    for one in found:
        identity = one.identity
        # Only a receiver that knows of the event's beginning needs its later statuses.
        if one.is_finished and not memory.knows(*identity):
            continue
        # What is no news of this reporter is not announced, and must not count as announced by anybody.
        is_news = memory.is_news(one.event.event_status, *identity)
        if one.reporter:
            is_news = is_news and memory.is_news(one.event.event_status, *one.statement)
        is_due = reminders is not None and memory.has_not_begun(*identity) and reminders.is_due(one, now, is_news)
        if is_news or is_due:
            fresh.setdefault(tuple(map(name_key, identity)), []).append(one)
    announcements = []
    latest = {id(several[-1].event): several for several in fresh.values()}
    for event in in_order_of_urgency(several[-1].event for several in fresh.values()):
        for one in latest[id(event)]:
            said = one.statement if one.reporter else ()
            announcement = of_event(one.event, one.reported_by, now, one.resource_id, one.kind, said)
            if hosts is not None:
                announcement["meta"]["hosts"] = hosts(one.event.resources, one.group_id)
            announcements.append(announcement)
    return announcements


class Reminders:
    """Says when an event that has not begun is to be told again.

    Who was told of it long before may have left it alone until it is near, and so may who could not do anything then.
    """

    def __init__(self, remind: Remind) -> None:
        self._remind = remind
        self._moment = 0.0
        self._told: dict[tuple[NameKey, ...], float] = {}

    def look(self, moment: float) -> None:
        """Set the current time of a clock that only goes forward. Events that are due by now are forgotten."""
        self._moment = moment
        self._told = {key: at for key, at in self._told.items() if moment - at < self._remind.every}

    def is_due(self, found: Found, now: datetime, is_news: bool) -> bool:
        """Whether to announce the event again. If so, or if it is new, it counts as announced."""
        key = tuple(map(name_key, found.statement))
        left = found.event.seconds_until_start(now)
        is_due = is_news or (key not in self._told and (left is None or left <= self._remind.within))
        if is_due:
            self._told[key] = self._moment
        return is_due


class Problems:
    """Reports each problem once when it begins, and once when it is over."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._known: dict[str, str] = {}

    def tell(self, problems: Mapping[str, str]) -> None:
        """Compare the current problems with the earlier ones."""
        begun = [place for place in problems if place not in self._known]
        over = [place for place in self._known if place not in problems]
        for place in begun[:_MOST_TOLD]:
            self._tell("%s: %s" % (place, plain(problems[place][:_LONGEST_PROBLEM])))
        if len(begun) > _MOST_TOLD:
            self._tell("and %d more have problems" % (len(begun) - _MOST_TOLD))
        for place in over[:_MOST_TOLD]:
            self._tell("%s: works again" % place)
        if len(over) > _MOST_TOLD:
            self._tell("and %d more work again" % (len(over) - _MOST_TOLD))
        self._known = dict(problems)
