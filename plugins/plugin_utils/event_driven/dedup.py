# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Drops events that were reported before.

The same event is heard from many agents, at every poll, and from Event Grid more than once and in any order. It is
told once in each of its statuses, and never in an earlier one after a later one. Who may lie has an identity of its own
for each event, and changes nothing of what is told of others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256

from ...module_utils.scheduled_events.event import name_key

DEFAULT_CAPACITY = 50_000
"""Events: more than Azure announces to the largest subscription at a time. About 15 MB."""

# A status never goes back. Resource Graph and Event Grid know the last two; lifecycle hooks begin as active.
_ORDER = {"scheduled": 0, "active": 0, "started": 1, "completed": 2, "canceled": 2}
# For unknown statuses. Azure has added none in years.
_MOST_STATUSES = 8


class Deduplicator:
    """Remembers the furthest announced status of each event.

    If there are too many events, those that were reported least recently are forgotten. A forgotten event would be
    announced again; the receiver recognises it by its UUID.
    """

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self.capacity = capacity
        self._told: OrderedDict[bytes, tuple[int, tuple[str, ...]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._told)

    def knows(self, *identity: str) -> bool:
        """Whether any status of this event was announced."""
        return _digest(identity) in self._told

    def has_not_begun(self, *identity: str) -> bool:
        """Whether the furthest announced status says that the event is scheduled, or waits for an answer."""
        return self._told.get(_digest(identity), (-1, ()))[0] == 0

    def is_news(self, status: str, *identity: str) -> bool:
        """Whether to announce an event in this status. If so, it counts as announced from now on."""
        key = _digest(identity)
        furthest, others = self._told.get(key, (-1, ()))
        lowered = status.lower()
        rank = _ORDER.get(lowered)
        if rank is None:
            is_news = lowered not in others and len(others) < _MOST_STATUSES
            others = (*others, lowered) if is_news else others
        else:
            is_news = rank > furthest
            furthest = max(rank, furthest)
        self._told[key] = furthest, others
        self._told.move_to_end(key)
        if len(self._told) > self.capacity:
            self._told.popitem(last=False)
        return is_news


def _digest(identity: Iterable[str]) -> bytes:
    # An id takes 16 bytes, however long somebody makes it. SHA-256, because hosts in FIPS mode have no shorter digest.
    words = "\x1e".join("\x1f".join(name_key(word)) for word in identity)
    return sha256(words.encode("utf-8", "surrogatepass")).digest()[:16]
