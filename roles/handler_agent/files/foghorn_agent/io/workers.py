# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does blocking work beside the loop, one job at a time."""

import socket
import threading
from typing import Any, Callable, List

# Memory is used only for as much of it as is touched. With a small one, JSON that is nested without end, which
# anybody may send, would not raise RecursionError but end the process: Python 3.13 wants more than a megabyte.
_STACK_SIZE = 8 * 1024 * 1024  # bytes, what a main thread has


class Worker:
    """One thread that does one job after the other. It dies with the process, whatever it is waiting for.

    :param function: gives the value of a job, or raises; may wait as long as it likes
    :param name: of the thread
    """

    def __init__(self, function: Callable[[Any], Any], name: str) -> None:
        self._function = function
        self._given = threading.Semaphore(0)
        self._job: Any = None
        self._result: Any = None
        self._is_closed = False
        self.is_busy = False
        """Whether a job is under way, or its result not yet collected."""
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        usual = threading.stack_size(_STACK_SIZE)
        try:
            self._thread.start()
        finally:
            threading.stack_size(usual)

    def fileno(self) -> int:
        """What becomes readable when there is a result to collect."""
        return self._reader.fileno()

    def submit(self, job: Any) -> bool:
        """Hand over a job; False, and nothing happens, while there is another."""
        if self.is_busy:
            return False
        self.is_busy = True
        self._job = job
        self._given.release()
        return True

    def collect(self) -> List[Any]:
        """Take the result, if there is one by now: the value, or the exception that was raised instead.

        After that the worker can be given the next job.
        """
        try:
            self._reader.recv(1)
        except BlockingIOError:
            return []
        results = [self._result]
        self._result = self._job = None
        self.is_busy = False
        return results

    def close(self) -> None:
        """Take no more jobs. A job under way is left to its own end, and its result to nobody."""
        self._is_closed = True
        self._given.release()
        if not self.is_busy:
            self._thread.join()
        self._reader.close()

    def _work(self) -> None:
        while True:
            self._given.acquire()
            if self._is_closed:
                break
            try:
                self._result = self._function(self._job)
            except Exception as error:  # noqa: BLE001 - the error is the result, for the loop to judge
                self._result = error
            try:
                self._writer.send(b"\0")
            except OSError:
                break
        # Closed by the thread that writes, so that it can never write into what got the same number.
        self._writer.close()
