# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened, for those who ask afterwards: numbered entries, the latest ones kept."""

from __future__ import annotations

import collections
import heapq
import itertools
from typing import Any, Callable

KEPT = 20000
"""Entries kept of requests, and as many of everything else."""


class Record:
    """A bounded log. Requests have their own shelf, so that many polls push nothing else out."""

    def __init__(self, wall: Callable[[], float], kept: int = KEPT) -> None:
        self._wall = wall
        self._seq = itertools.count(1)
        self._requests: collections.deque[dict[str, Any]] = collections.deque(maxlen=kept)
        self._others: collections.deque[dict[str, Any]] = collections.deque(maxlen=kept)

    def add(self, kind: str, vm: str | None = None, at: float | None = None, **details: Any) -> None:
        """Note something; ``at`` is wall-clock time, now when it is not given."""
        shelf = self._requests if kind == "request" else self._others
        shelf.append(
            {"seq": next(self._seq), "at": round(self._wall() if at is None else at, 3), "kind": kind, "vm": vm}
            | details
        )

    def after(self, seq: int = 0) -> list[dict[str, Any]]:
        """Everything kept with a number above ``seq``, in order."""
        shelves = ([entry for entry in shelf if entry["seq"] > seq] for shelf in (self._requests, self._others))
        return list(heapq.merge(*shelves, key=lambda entry: entry["seq"]))

    def tail(self, count: int) -> list[dict[str, Any]]:
        """The last entries that are not requests."""
        return list(self._others)[-count:]
