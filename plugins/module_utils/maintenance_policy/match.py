# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Decides which events a policy covers."""

from fnmatch import fnmatchcase
from typing import NamedTuple, Optional, Sequence, Tuple

from ..scheduled_events.event import EVENT_TYPES, Event
from ..scheduled_events.words import read_sources, read_statuses, read_types, unknown_types
from .reader import Section

LONGEST_NOTICE = 30 * 86400.0  # seconds: longer than the notice of any failure that Azure predicts


class Match(NamedTuple):
    """A condition. None does not restrict."""

    event_types: Optional[Tuple[str, ...]] = None
    event_sources: Optional[Tuple[str, ...]] = None
    event_statuses: Optional[Tuple[str, ...]] = None
    description: Optional[str] = None
    """A glob, without case."""
    shared: Optional[bool] = None
    no_longer_than: Optional[float] = None
    """Seconds of expected interruption, known to Azure: a duration of -1, or none at all, counts as longer."""
    longer_than: Optional[float] = None
    """Just the other events."""
    notice_below: Optional[float] = None
    """Seconds from first sight to the earliest start; an unknown start counts as none."""
    notice_above: Optional[float] = None

    def covers(self, event: Event, notice: Optional[float]) -> bool:
        """Whether a policy with this condition is for the event, first seen `notice` seconds before its start."""
        duration = event.duration_in_seconds
        known = duration if duration is not None and duration >= 0 else None
        time_left = notice or 0.0
        return (
            # A rule applies to a probable event only if it names the type.
            not (event.is_advisory and self.event_types is None)
            and _is_among(event.event_type, self.event_types)
            and _is_among(event.event_source, self.event_sources)
            and _is_among(event.event_status, self.event_statuses)
            and (self.description is None or fnmatchcase((event.description or "").lower(), self.description.lower()))
            and (self.shared is None or self.shared == event.is_shared)
            and (self.no_longer_than is None or (known is not None and known <= self.no_longer_than))
            and (self.longer_than is None or known is None or known > self.longer_than)
            and (self.notice_below is None or time_left < self.notice_below)
            and (self.notice_above is None or time_left > self.notice_above)
        )

    def names(self, event_type: str) -> bool:
        """Whether this type is among those that it names."""
        return self.event_types is not None and _is_among(event_type, self.event_types)

    def unknown_types(self, known: Sequence[str] = EVENT_TYPES) -> "list[str]":
        """The types in it that this version does not know."""
        return unknown_types(self.event_types or (), known)


def read_match(section: Section, known_types: Sequence[str] = EVENT_TYPES) -> Match:
    """Read a condition. What is wrong with it is noted in the section."""
    bounds = {
        name: None if not section.has(name) else section.seconds(name, 0.0, least=0.0, most=LONGEST_NOTICE)
        for name in ("no_longer_than", "longer_than", "notice_below", "notice_above")
    }
    for lower, upper in (("longer_than", "no_longer_than"), ("notice_above", "notice_below")):
        least, most = bounds[lower], bounds[upper]
        if least is not None and most is not None and least >= most:
            section.mistake(lower, section.content[lower], "less than %s, which is %g" % (upper, most))
    return Match(
        event_types=section.words("event_types", lambda given: read_types(given, known_types)),
        event_sources=section.words("event_sources", read_sources),
        event_statuses=section.words("event_statuses", read_statuses),
        description=section.text("description"),
        shared=section.boolean("shared"),
        **bounds,
    )


def _is_among(word: Optional[str], words: Optional[Tuple[str, ...]]) -> bool:
    return words is None or (word is not None and word.lower() in (one.lower() for one in words))
