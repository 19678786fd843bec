# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes beside the loop: a disk that hangs keeps its own thread waiting, and nobody else."""

from collections import deque
from typing import Any, Callable, Deque, Optional, Tuple

from .workers import Worker


class Disk:
    """Does one thing after the other in a thread, in the order in which they were asked for.

    :param clock: monotonic, in seconds
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._worker = Worker(lambda do: do(), "disk")
        self._waiting: Deque[Tuple[Callable[[], Any], Callable[[Any], None]]] = deque()
        self._then: Callable[[Any], None] = lambda _result: None
        self.began: Optional[float] = None
        """When what is under way began. None: there is nothing to do."""

    def fileno(self) -> int:
        """What becomes readable when there is a result to collect."""
        return self._worker.fileno()

    def do(self, job: Callable[[], Any], then: Callable[[Any], None] = lambda _result: None) -> None:
        """Have a job done, after those before it.

        :param then: is given its value, or what it raised, by `collect`
        """
        self._waiting.append((job, then))
        self._begin_next()

    def collect(self) -> None:
        """Hand on what has been done."""
        for result in self._worker.collect():
            self.began = None
            try:
                self._then(result)
            finally:
                self._begin_next()

    def close(self) -> None:
        """Do no more. A job that hangs is left to its own end."""
        self._waiting.clear()
        self._worker.close()

    def _begin_next(self) -> None:
        if self._waiting and not self._worker.is_busy:
            job, self._then = self._waiting.popleft()
            self.began = self._clock()
            self._worker.submit(job)
